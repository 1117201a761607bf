"""One page's connection: the order of what it is sent, and how little a page that does not read may cost."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass

import pytest
from tests.support.pages import Wire
from tests.support.sessions import House, Stand, hosted, house, prints

from switchboard.page.connection import MAX_QUEUED, OUTPUT_BYTES, PageConnection
from switchboard.page.messages import (
    Attached,
    Done,
    Notice,
    Resync,
    SessionChanged,
    SessionGone,
    Size,
    TriggerActivity,
)
from switchboard.sessions.replay import STEP_BYTES
from switchboard.sessions.session import Session

TITLE = "\x1b]0;⠋ one\x07".encode()
PASTE_ON = b"\x1b[?2004h"


@dataclass
class Rig:
    """A page's connection with its sender running."""

    wire: Wire
    page: PageConnection
    sender: asyncio.Task[None]
    home: House

    async def settle(self) -> None:
        await self.home.clock.settle()


@pytest.fixture
async def rig() -> AsyncIterator[Rig]:
    wire = Wire()
    page = PageConnection(wire, "epoch", "terminal")
    with house() as home:
        sender = asyncio.create_task(page.run(), name="sender")
        yield Rig(wire, page, sender, home)
        sender.cancel()
        await asyncio.gather(sender, return_exceptions=True)


def filled(stand: Stand, size: int) -> bytes:
    """Output of that size in the session's ring; returns it."""
    data = b"".join(b"%08d" % number for number in range(size // 8))
    stand.session.ring.append(data)
    return data


# --- messages -----------------------------------------------------------------------------------------------------


async def test_messages_come_in_their_order(rig: Rig) -> None:
    for number in range(10):
        rig.page.post(Notice("info", str(number)))
    await rig.settle()
    assert [notice.text for notice in rig.wire.messages(Notice)] == [str(number) for number in range(10)]


async def test_many_changes_of_a_session_are_one_message_with_the_last_state(rig: Rig) -> None:
    one, two = await rig.home.opens(session_id="one"), await rig.home.opens(session_id="two")
    for number in range(100):
        one.label.name = f"name {number}"
        rig.page.session_changed(one)
        rig.page.session_changed(two)
    await rig.settle()
    infos = {changed.session.id: changed.session.name for changed in rig.wire.messages(SessionChanged)}
    assert infos == {"one": "name 99", "two": None}
    assert len(rig.wire.sent) == 2
    rig.page.session_changed(one)
    await rig.settle()
    assert len(rig.wire.sent) == 3


async def test_a_session_that_has_left_the_list_does_not_come_back(rig: Rig) -> None:
    session = await rig.home.opens()
    rig.page.attach(session, None, owner=False)
    rig.page.session_changed(session)
    rig.page.session_removed(session)
    rig.page.session_printed(session)
    await rig.settle()
    assert [type(said) for said in rig.wire.sent] == [Attached, SessionGone]
    assert rig.page.streams == {}


async def test_closing_sends_what_is_queued_and_ends_the_connection(rig: Rig) -> None:
    rig.page.post(Notice("info", "last"))
    rig.page.close()
    await rig.settle()
    assert rig.sender.done()
    assert rig.wire.ended
    assert [notice.text for notice in rig.wire.messages(Notice)] == ["last"]


async def test_closing_before_the_sender_runs_loses_nothing() -> None:
    wire = Wire()
    page = PageConnection(wire, "epoch", "terminal")
    page.post(Notice("error", "the only word"))
    page.close()
    await page.run()
    assert [notice.text for notice in wire.messages(Notice)] == ["the only word"]
    assert wire.ended


async def test_a_page_that_is_gone_ends_the_sender(rig: Rig) -> None:
    rig.wire.broken = BrokenPipeError("gone")
    rig.page.post(Notice("info", "x"))
    with pytest.raises(BrokenPipeError):
        await rig.sender


# --- output -------------------------------------------------------------------------------------------------------


async def test_a_new_session_is_shown_from_its_first_byte_and_goes_on_live(rig: Rig) -> None:
    session = await rig.home.opens()
    terminal = rig.home.terminal(session)
    await prints(session, terminal, b"before ")
    rig.page.attach(session, None, owner=True)
    await rig.settle()
    assert rig.wire.sent == [
        Attached(session.handle, seq=0, live_seq=7, lost=0, columns=100, rows=30, owner=True, modes=""),
        (session.handle, 0, b"before "),
    ]
    await prints(session, terminal, b"after")
    rig.page.session_printed(session)
    await rig.settle()
    assert rig.wire.sent[2:] == [(session.handle, 7, b"after")]


async def test_what_is_printed_while_nothing_waits_is_sent_at_once(rig: Rig) -> None:
    with hosted() as stand:
        rig.page.attach(stand.session, None, owner=False)
        await rig.settle()
        before = len(rig.wire.sent)
        for seq, text in enumerate((b"k", b"e", b"y")):
            stand.session.ring.append(text)
            rig.page.session_printed(stand.session)
            assert rig.wire.sent[before + seq :] == [(1, seq, text)]
        await rig.settle()
        assert rig.wire.text(1) == b"key", "and not once more"


async def test_what_is_printed_behind_a_message_comes_after_it(rig: Rig) -> None:
    with hosted() as stand:
        rig.page.attach(stand.session, None, owner=False)
        await rig.settle()
        rig.page.post(Notice("info", "first"))
        stand.session.ring.append(b"second")
        rig.page.session_printed(stand.session)
        assert rig.wire.output(1) == []
        rig.page.session_changed(stand.session)
        await rig.settle()
        assert rig.wire.sent[-1] == (1, 0, b"second")
        assert rig.wire.messages(Notice)


async def test_what_is_printed_while_a_replay_is_sent_comes_after_it(rig: Rig) -> None:
    with hosted(capacity=512 * 1024) as stand:
        replay = filled(stand, 300_000)
        rig.page.attach(stand.session, None, owner=False)
        stand.session.ring.append(b"live")
        rig.page.session_printed(stand.session)
        assert rig.wire.output(1) == []
        await rig.settle()
        assert rig.wire.text(1) == replay + b"live"


async def test_what_is_printed_while_a_page_is_behind_waits(rig: Rig) -> None:
    with hosted() as stand:
        rig.page.attach(stand.session, None, owner=False)
        await rig.settle()
        rig.wire.hold()
        for text in (b"one ", b"two ", b"three"):
            stand.session.ring.append(text)
            rig.page.session_printed(stand.session)
            await rig.settle()
        assert rig.wire.output(1) == []
        rig.wire.let_go()
        await rig.settle()
        assert rig.wire.text(1) == b"one two three"


async def test_output_that_the_ring_has_lost_is_told_of_before_what_follows(rig: Rig) -> None:
    with hosted(capacity=4096) as stand:
        rig.page.attach(stand.session, None, owner=False)
        await rig.settle()
        data = filled(stand, 10_000)
        rig.page.session_printed(stand.session)
        await rig.settle()
        (resync,) = rig.wire.messages(Resync)
        assert rig.wire.text(1) == data[resync.seq :]


async def test_a_replay_full_of_bells_lets_others_go_on(rig: Rig) -> None:
    with hosted(capacity=512 * 1024) as stand:
        stand.session.ring.append(b"a\x07" * 100_000)
        rig.page.attach(stand.session, None, owner=False)
        turns = 0
        while not rig.wire.output(1):
            await asyncio.sleep(0)
            turns += 1
        assert turns > 200_000 // STEP_BYTES
        await rig.settle()
        assert rig.wire.text(1) == b"a\0" * 100_000


async def test_output_of_a_session_that_is_not_shown_is_not_sent(rig: Rig) -> None:
    session = await rig.home.opens()
    await prints(session, rig.home.terminal(session), b"text")
    rig.page.session_printed(session)
    await rig.settle()
    assert rig.wire.sent == []


@pytest.mark.parametrize(
    ("asked", "printed", "seq", "lost", "modes"),
    [
        (None, 1000, 0, 0, False),
        (0, 1000, 0, 0, False),
        (600, 1000, 600, 0, False),
        (1000, 1000, 1000, 0, False),
        (5000, 1000, 1000, 0, False),
        (None, 10_000, 5904, 0, True),
        (0, 10_000, 5904, 5904, True),
        (5904, 10_000, 5904, 0, False),
        (9000, 10_000, 9000, 0, False),
    ],
    ids=[
        "what is held: all",
        "from the first byte",
        "from the middle",
        "nothing new",
        "from beyond the end",
        "what is held: the rest",
        "from what is gone",
        "from what is just still held",
        "from the middle of the rest",
    ],
)
async def test_where_a_page_joins(rig: Rig, asked: int | None, printed: int, seq: int, lost: int, modes: bool) -> None:
    """Modes are told where the bytes that set them are not sent and the page cannot know them."""
    with hosted(capacity=4096) as stand:
        stand.session.screen.feed(PASTE_ON)
        data = filled(stand, printed)
        rig.page.attach(stand.session, asked, owner=False)
        await rig.settle()
        (attached,) = rig.wire.messages(Attached)
        assert (attached.seq, attached.lost, attached.live_seq) == (seq, lost, printed)
        assert ("2004" in attached.modes) is modes
        assert rig.wire.text(1) == data[seq:]


async def test_a_replay_asks_nothing_and_what_is_live_does(rig: Rig) -> None:
    session = await rig.home.opens()
    terminal = rig.home.terminal(session)
    await prints(session, terminal, b"a\x1b[6nb\x07c")
    rig.page.attach(session, None, owner=True)
    await rig.settle()
    await prints(session, terminal, b"d\x1b[6ne\x07f")
    rig.page.session_printed(session)
    await rig.settle()
    assert rig.wire.text(session.handle) == b"a\0\0\0\0b\0c" + b"d\x1b[6ne\x07f"


async def test_long_output_comes_in_pieces_that_know_their_place(rig: Rig) -> None:
    with hosted(capacity=512 * 1024) as stand:
        data = filled(stand, 200_000)
        rig.page.attach(stand.session, None, owner=False)
        await rig.settle()
        live = filled(stand, 4 * OUTPUT_BYTES)
        rig.page.session_printed(stand.session)
        await rig.settle()
        position = 0
        for seq, piece in rig.wire.output(1):
            assert seq == position
            assert len(piece) <= OUTPUT_BYTES
            position += len(piece)
        assert rig.wire.text(1) == data + live


async def test_a_query_across_two_pieces_of_a_replay_is_taken_out(rig: Rig) -> None:
    with hosted(capacity=256 * 1024) as stand:
        stand.session.ring.append(b"x" * (OUTPUT_BYTES - 2) + b"\x1b[6n" + b"y" * 100)
        rig.page.attach(stand.session, None, owner=False)
        await rig.settle()
        assert b"\x1b" not in rig.wire.text(1)
        assert rig.wire.text(1).endswith(b"y" * 100)


async def test_several_sessions_take_turns(rig: Rig) -> None:
    with hosted(handle=1) as one, hosted(handle=2) as two:
        rig.page.attach(one.session, None, owner=False)
        rig.page.attach(two.session, None, owner=False)
        await rig.settle()
        rig.wire.hold()
        filled(one, 8000)
        filled(two, 800)
        rig.page.session_printed(one.session)
        await rig.settle()
        rig.wire.let_go()
        await rig.settle()
        assert (len(rig.wire.text(1)), len(rig.wire.text(2))) == (8000, 800)


async def test_attaching_again_keeps_the_size_that_the_page_has(rig: Rig) -> None:
    session = await rig.home.opens()
    rig.page.attach(session, None, owner=True)
    stream = rig.page.streams[session.handle]
    stream.columns, stream.rows = 70, 20
    rig.page.attach(session, 0, owner=False)
    again = rig.page.streams[session.handle]
    assert (again.columns, again.rows) == (70, 20)


# --- pages that do not read ---------------------------------------------------------------------------------------


async def test_a_page_that_does_not_read_costs_little(rig: Rig) -> None:
    rig.wire.hold()
    with hosted(capacity=4096) as stand:
        rig.page.attach(stand.session, None, owner=False)
        for number in range(10_000):
            rig.page.post(Notice("info", str(number)))
            rig.page.session_changed(stand.session)
            filled(stand, 80)
            rig.page.session_printed(stand.session)
        await rig.settle()
        assert rig.wire.waiting == 1
        assert len(rig.page._queue) <= MAX_QUEUED
        assert len(rig.page._changed) == 1
        rig.wire.let_go()
        await rig.settle()
        assert len(rig.wire.messages(SessionChanged)) == 1
        texts = [notice.text for notice in rig.wire.messages(Notice)]
        assert texts[-1] == "9999", "the newest are kept"
        assert len(texts) <= MAX_QUEUED


async def test_what_a_page_waits_for_outlives_notices(rig: Rig) -> None:
    rig.wire.hold()
    rig.page.post(Notice("info", "being sent"))
    await rig.settle()
    rig.page.post(Done(1, ok=True))
    rig.page.post(Size(1, 80, 24, owner=False))
    for number in range(2 * MAX_QUEUED):
        rig.page.post(Notice("info", str(number)))
        rig.page.post(TriggerActivity(str(number), 0, "received"))
    rig.page.post(Done(2, ok=True))
    assert len(rig.page._queue) == MAX_QUEUED
    rig.wire.let_go()
    await rig.settle()
    assert [done.request for done in rig.wire.messages(Done)] == [1, 2]
    assert len(rig.wire.messages(Size)) == 1


async def test_even_answers_are_bounded(rig: Rig) -> None:
    rig.wire.hold()
    for number in range(2 * MAX_QUEUED):
        rig.page.post(Done(number, ok=True))
    await rig.settle()
    assert len(rig.page._queue) <= MAX_QUEUED


async def test_a_page_that_falls_behind_is_told_where_the_output_goes_on(rig: Rig) -> None:
    with hosted(capacity=4096) as stand:
        stand.session.start()
        rig.page.attach(stand.session, None, owner=False)
        await stand.prints(b"start")
        rig.page.session_printed(stand.session)
        await rig.settle()
        rig.wire.hold()
        rig.page.post(Notice("info", "held"))
        await rig.settle()
        stand.session.screen.feed(PASTE_ON)
        data = b"start" + filled(stand, 40_000)
        rig.page.session_printed(stand.session)
        rig.wire.let_go()
        await rig.settle()
        (resync,) = rig.wire.messages(Resync)
        assert (resync.session, resync.seq, resync.lost) == (1, stand.session.ring.tail, stand.session.ring.tail - 5)
        assert "2004" in resync.modes
        at = rig.wire.sent.index(resync)
        rest = [said for said in rig.wire.sent[at + 1 :] if isinstance(said, tuple)]
        assert rest[0][1] == resync.seq
        assert b"".join(said[2] for said in rest) == data[resync.seq :]


async def test_a_replay_that_falls_behind_still_asks_nothing(rig: Rig) -> None:
    with hosted(capacity=4096) as stand:
        filled(stand, 3000)
        stand.session.ring.append(b"\x1b[6nold")
        rig.wire.hold()
        rig.page.post(Notice("info", "held"))
        rig.page.attach(stand.session, None, owner=True)
        await rig.settle()
        filled(stand, 2000)
        stand.session.ring.append(b"\x1b[6nnew")
        rig.wire.let_go()
        await rig.settle()
        assert rig.wire.messages(Resync)
        assert b"\0\0\0\0old" in rig.wire.text(1)
        assert rig.wire.text(1).endswith(b"\x1b[6nnew")


async def test_what_a_late_page_missed_is_not_replayed_as_old(rig: Rig) -> None:
    """After a resync the rest is what the terminal says now, queries included."""
    with hosted(capacity=4096) as stand:
        filled(stand, 1000)
        rig.page.attach(stand.session, None, owner=True)
        rig.wire.hold()
        rig.page.post(Notice("info", "held"))
        await rig.settle()
        filled(stand, 8000)
        stand.session.ring.append(b"\x1b[6n")
        rig.wire.let_go()
        await rig.settle()
        assert rig.wire.text(1).endswith(b"\x1b[6n")


async def test_a_session_that_goes_while_another_ones_output_is_sent(rig: Rig) -> None:
    """Its ring is unmapped: looking at it would end the page's connection."""
    first, second = await rig.home.opens(session_id="one"), await rig.home.opens(session_id="two")
    for session in (first, second):
        rig.page.attach(session, None, owner=False)
        await prints(session, rig.home.terminal(session), b"text")
        rig.page.session_printed(session)
    await rig.settle()
    rig.wire.hold()
    for session in (first, second):
        session.ring.append(b"more")
        rig.page.session_printed(session)
    await rig.settle()
    assert rig.wire.waiting == 1
    home_listens(rig)
    rig.home.keeper.exits(second.handle)
    rig.home.registry.remove(second)
    rig.wire.let_go()
    await rig.settle()
    assert not rig.sender.done()
    assert rig.wire.text(first.handle) == b"textmore"
    assert rig.wire.text(second.handle) == b"text"
    assert [gone.session for gone in rig.wire.messages(SessionGone)] == [second.handle]


def home_listens(rig: Rig) -> None:
    class Listener:
        def session_changed(self, session: Session) -> None:
            rig.page.session_changed(session)

        def session_printed(self, session: Session) -> None:
            rig.page.session_printed(session)

        def session_removed(self, session: Session) -> None:
            rig.page.session_removed(session)

    rig.home.registry.listen(Listener())
