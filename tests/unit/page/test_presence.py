"""Whether a page is there or to be expected: each row of the rule, to the millisecond."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from switchboard.common.clock import FOREVER
from switchboard.page.presence import RETURN_MS, START_MS, Expected, Outlook, Presence, Ready

NOW = 1_000_000

Story = Callable[[Presence], Presence]


def loaded(presence: Presence, epoch: str) -> Presence:
    return presence.connected(epoch, NOW).ready(epoch).role(epoch)


def left(presence: Presence, epoch: str, *, at: int = NOW) -> Presence:
    return presence.role(None).ended(epoch, on_purpose=True, now=at)


def lost(presence: Presence, epoch: str, *, at: int = NOW) -> Presence:
    return presence.role(None).ended(epoch, on_purpose=False, now=at)


@pytest.mark.parametrize(
    ("story", "after", "outlook"),
    [
        pytest.param(lambda p: p, 0, "absent", id="no page ever, and none was to be opened"),
        pytest.param(lambda p: p.connected("a", NOW), 10**9, Expected(FOREVER), id="connected and still loading"),
        pytest.param(lambda p: loaded(p, "a"), 10**9, Ready("a"), id="ready"),
        pytest.param(lambda p: loaded(p, "a").connected("b", NOW), 0, Ready("a"), id="ready, and another one loads"),
        pytest.param(lambda p: left(loaded(p, "a"), "a"), 0, "absent", id="the last one left on purpose"),
        pytest.param(lambda p: lost(loaded(p, "a"), "a"), 0, Expected(NOW + RETURN_MS), id="ended uncleanly"),
        pytest.param(
            lambda p: lost(loaded(p, "a"), "a"),
            RETURN_MS - 1,
            Expected(NOW + RETURN_MS),
            id="ended just under 10 s ago",
        ),
        pytest.param(lambda p: lost(loaded(p, "a"), "a"), RETURN_MS, "absent", id="ended uncleanly 10 s ago"),
        pytest.param(
            lambda p: lost(p.connected("a", NOW), "a"),
            0,
            Expected(NOW + RETURN_MS),
            id="ended uncleanly while it loaded",
        ),
        pytest.param(lambda p: left(p.connected("a", NOW), "a"), 0, "absent", id="left while it loaded"),
        pytest.param(
            lambda p: lost(loaded(p, "a"), "a").connected("b", NOW), 10**9, Expected(FOREVER), id="it is back"
        ),
        pytest.param(
            lambda p: left(loaded(lost(loaded(p, "a"), "a"), "b"), "b"), 0, "absent", id="it came back and left"
        ),
        pytest.param(
            lambda p: left(lost(lost(p.connected("a", NOW).connected("b", NOW), "a"), "b").connected("c", NOW), "c"),
            0,
            Expected(NOW + RETURN_MS),
            id="two were lost and one came back",
        ),
        pytest.param(
            lambda p: left(lost(p.connected("a", NOW).connected("b", NOW), "a"), "b", at=NOW + 1),
            1,
            Expected(NOW + RETURN_MS),
            id="one is lost and another leaves",
        ),
        pytest.param(
            lambda p: (
                lost(p.connected("a", NOW).connected("b", NOW), "b")
                .connected("c", NOW)
                .ended("a", on_purpose=True, now=NOW)
            ),
            0,
            Expected(FOREVER),
            id="one that loads outlasts those that leave",
        ),
        pytest.param(lambda p: p.told_to_open(NOW), 0, Expected(NOW + START_MS), id="the host opens a page"),
        pytest.param(
            lambda p: p.told_to_open(NOW), START_MS - 1, Expected(NOW + START_MS), id="opened just under 30 s ago"
        ),
        pytest.param(lambda p: p.told_to_open(NOW), START_MS, "absent", id="opened 30 s ago and never came"),
        pytest.param(lambda p: left(loaded(p.told_to_open(NOW), "a"), "a"), 1, "absent", id="opened, came and left"),
        pytest.param(
            lambda p: lost(loaded(p.told_to_open(NOW - START_MS), "a"), "a"),
            0,
            Expected(NOW + RETURN_MS),
            id="a late one that was lost",
        ),
        pytest.param(
            lambda p: left(lost(p.told_to_open(NOW - START_MS).connected("a", NOW), "a").connected("b", NOW), "b"),
            0,
            "absent",
            id="a page that comes is not taken for one that is given up",
        ),
    ],
)
def test_outlook(story: Story, after: int, outlook: Outlook) -> None:
    assert story(Presence()).outlook(NOW + after) == outlook


def test_what_nobody_waits_for_any_more_is_forgotten() -> None:
    presence = Presence()
    for second in range(100):
        presence = presence.connected(f"{second}", NOW).ended(f"{second}", on_purpose=False, now=NOW + second * 1000)
    assert len(presence.expected) <= RETURN_MS // 1000
