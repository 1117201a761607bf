"""The journal in the labels of sessions, for a host that comes after a killed one."""

from __future__ import annotations

import asyncio
import dataclasses
from collections.abc import Iterator
from contextlib import contextmanager
from typing import cast

import pytest
from tests.support.sessions import Stand, hosted

from switchboard.common.facts import ComposerView
from switchboard.delivery.hosted import HostedJournal
from switchboard.sessions.labels import Label, decode_label
from switchboard.sessions.registry import Registry

# --- the journal --------------------------------------------------------------------------------------------------


def journal(*stands: Stand) -> HostedJournal:
    return HostedJournal(cast("Registry", [stand.session for stand in stands]))


def yes(_facts: object) -> None:
    return None


def kept(stand: Stand) -> Label:
    label = decode_label(stand.session.ring.load_label())
    assert label is not None
    return label


@contextmanager
def successor(stand: Stand) -> Iterator[Stand]:
    """The session as the next host adopts it."""
    label = kept(stand)
    fields = {
        one.name: getattr(label, one.name) for one in dataclasses.fields(label) if one.name not in ("key", "profile")
    }
    with hosted(adopted=True, clock=stand.clock, **fields) as made:
        yield made


async def _end(task: asyncio.Task[None]) -> None:
    await task


@pytest.mark.parametrize(
    ("pieces", "left"),
    [((), {}), ((b"text",), {"a.json": False}), ((b"text", b"\r"), {"a.json": True}), ((b"\x1b",), {"a.json": True})],
    ids=["nothing written", "text without its Enter", "text and Enter", "Escape"],
)
async def test_what_a_killed_host_leaves(pieces: tuple[bytes, ...], left: dict[str, bool]) -> None:
    with hosted() as stand:
        stand.session.start()
        with journal(stand).working(stand.session, "a.json"):
            async with stand.session.line() as line:
                for data in pieces:
                    writing = asyncio.create_task(line.write(data, yes))
                    await asyncio.sleep(0)
                    assert stand.terminal.typed(len(data)) == data
                    await stand.clock.run(_end(writing))
                with successor(stand) as adopted:
                    assert journal(adopted).left() == left
                    journal(adopted).settle("a.json")
                    assert journal(adopted).left() == {}
        assert kept(stand).request is None
        assert journal(stand).left() == {}


@pytest.mark.parametrize("end", ["killed meanwhile", "not taken", "seen"])
async def test_a_text_in_the_box_or_in_doubt_has_its_enter(end: str) -> None:
    """What a later host says of the request is what was written, whatever has become of it."""
    with hosted() as stand:
        stand.session.start()
        with journal(stand).working(stand.session, "a.json"):
            async with stand.session.line() as line:
                writing = asyncio.create_task(line.write(b"text", yes))
                await asyncio.sleep(0)
                assert stand.terminal.typed(4) == b"text"
                await stand.clock.run(_end(writing))
                stand.session.unproven(b"text", 17)
                await line.write(b"\r", yes)
            if end == "not taken":
                stand.session.untaken(b"text", 17)
            elif end == "seen":
                stand.session.settled()
            with successor(stand) as adopted:
                assert journal(adopted).left() == {"a.json": True}
                assert adopted.session.interrupted == (None if end == "seen" else b"text")


async def test_what_people_type_is_nobodys_request() -> None:
    with hosted() as stand:
        stand.session.start()
        with journal(stand).working(stand.session, "a.json"):
            stand.session.type(b"x")
            assert stand.terminal.typed(1) == b"x"
            assert kept(stand).request is None


async def test_a_request_is_settled_alone() -> None:
    with hosted(request="a.json") as one, hosted(request="b.json") as two:
        both = journal(one, two)
        both.settle("a.json")
        assert both.left() == {"b.json": True}


async def test_a_text_that_was_not_taken_is_a_draft_once_also_for_the_next_host() -> None:
    with hosted() as stand:
        stand.session.start()
        stand.session.untaken(b"hello", 17)
        assert stand.session.interrupted == b"hello"
        assert stand.session.label.delivery_at == 17
        assert stand.session.facts.value.composer == ComposerView(5, stand.clock.now())
        with successor(stand) as adopted:
            assert adopted.session.facts.value.composer == ComposerView(5, stand.clock.now())
            assert adopted.session.interrupted == b"hello"
        stand.session.submitted_after_all()
        assert stand.session.interrupted is None
        with successor(stand) as adopted:
            composer = adopted.session.facts.value.composer
            assert composer is not None
            assert composer.pending == 0
