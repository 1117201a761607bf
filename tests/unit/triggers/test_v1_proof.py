"""The feed through which versioned actions see a sandboxed session: what it shows is as proven as it is new."""

from __future__ import annotations

import pytest
from tests.support.fake_clock import START, FakeClock

from switchboard.common.clock import FOREVER
from switchboard.common.facts import CliStatus, Facts
from switchboard.common.feed import Feed
from switchboard.triggers.v1_proof import SAMPLE_MS, SEARCH_MS, ProvenFeed

IDLE = CliStatus("idle", START)


class Proof:
    """What is found at each look: `status` when `why` is None."""

    def __init__(self, base: Feed[Facts]) -> None:
        self.base = base
        self.why: str | None = None
        self.status: CliStatus | None = IDLE
        self.writing = False
        self.looks: list[bool] = []

    def look(self, *, thorough: bool = False) -> str | None:
        self.looks.append(thorough)
        if not self.writing:
            self.base.publish(Facts(proven=self.status if self.why is None else None, busy=self.base.value.busy))
        return self.why


class Rig:
    def __init__(self) -> None:
        self.base: Feed[Facts] = Feed(Facts(status=CliStatus("busy", 1)))
        self.proof = Proof(self.base)
        self.feed = ProvenFeed(self.base, self.proof)
        self.clock = FakeClock()


@pytest.fixture
def rig() -> Rig:
    return Rig()


def test_it_shows_the_proven_status_and_no_other(rig: Rig) -> None:
    rig.base.publish(Facts(status=CliStatus("busy", 1)))
    assert rig.feed.value == Facts(status=IDLE, proven=IDLE)
    rig.proof.why = "no"
    rig.base.publish(Facts(status=CliStatus("busy", 1), busy=True))
    assert rig.feed.value.status is None
    assert rig.feed.value.busy, "all else is as it is"


def test_each_reading_looks(rig: Rig) -> None:
    assert rig.feed.value.status == IDLE
    rig.proof.status = CliStatus("busy", START + 1)
    assert rig.feed.value.status == CliStatus("busy", START + 1)
    assert rig.proof.looks == [False, False]


def test_before_a_write_it_looks_thoroughly(rig: Rig) -> None:
    assert rig.feed.proven_now().status == IDLE
    assert rig.feed.unproven() is None
    assert rig.proof.looks == [True, True]


def test_while_the_descriptor_is_written_the_status_is_for_looking_at_only(rig: Rig) -> None:
    assert rig.feed.value.status == IDLE
    rig.proof.why, rig.proof.writing = "half", True
    assert (rig.feed.value.status, rig.feed.writing) == (IDLE, True)
    assert rig.feed.proven_now().status is None


def test_whether_it_was_ever_proven(rig: Rig) -> None:
    rig.proof.why = "no"
    assert rig.feed.value.status is None
    assert not rig.feed.was_proven
    rig.proof.why = None
    assert rig.feed.value.status == IDLE
    rig.proof.why = "no"
    assert rig.feed.value.status is None
    assert rig.feed.was_proven


def test_nothing_is_published_through_it(rig: Rig) -> None:
    with pytest.raises(TypeError):
        rig.feed.publish(Facts())


async def test_a_wait_is_woken_by_the_session_and_by_a_bell(rig: Rig) -> None:
    for wake in (lambda: rig.base.publish(Facts(busy=True, proven=IDLE)), rig.feed.poke):
        rig.clock.call_at(rig.clock.now() + 5, wake)
        before = rig.clock.now()
        await rig.clock.run(rig.feed.changed(rig.feed.value, rig.clock, FOREVER))
        assert rig.clock.now() == before + 5


async def test_a_wait_ends_at_once_when_a_look_finds_something_else(rig: Rig) -> None:
    seen = rig.feed.value
    rig.proof.why = "no"
    await rig.clock.run(rig.feed.changed(seen, rig.clock, FOREVER))
    assert rig.clock.now() == START


@pytest.mark.parametrize(("why", "pause"), [(None, SAMPLE_MS), ("no", SEARCH_MS)])
async def test_a_wait_returns_for_the_next_sample(rig: Rig, why: str | None, pause: int) -> None:
    rig.proof.why = why
    await rig.clock.run(rig.feed.changed(rig.feed.value, rig.clock, FOREVER))
    assert rig.clock.now() == START + pause
    await rig.clock.run(rig.feed.changed(rig.feed.value, rig.clock, rig.clock.now() + 7))
    assert rig.clock.now() == START + pause + 7
