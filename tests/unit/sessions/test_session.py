"""One session over a real terminal: what it follows, keeps, hands on to a later host, and refuses."""

from __future__ import annotations

import asyncio
import dataclasses
import os
import select
import signal
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import pytest
from tests.support.fake_clock import START
from tests.support.sessions import NOBODY, Stand, Terminal, hosted, make_label, until

from switchboard.clis.profiles import PROFILES
from switchboard.common.facts import CliStatus, ComposerView, TurnEvidence
from switchboard.common.writing import EXITED, WriteRefused
from switchboard.sessions.composer import Composer
from switchboard.sessions.keeper.ring import MAX_LABEL
from switchboard.sessions.keeper_client import ExitReport
from switchboard.sessions.labels import Label, decode_label
from switchboard.sessions.session import DRAIN_BYTES, Session

TITLE_BUSY = "\x1b]0;⠋ working\x07".encode()
TITLE_IDLE = "\x1b]0;✳ resting\x07".encode()
BUSY_BY_PROGRESS = b"\x1b]9;4;3;\x07"
PASTE_ON = b"\x1b[?2004h"


def kept(stand: Stand) -> Label:
    """What a later host would read."""
    label = decode_label(stand.session.ring.load_label())
    assert label is not None
    return label


def yes(_facts: object) -> str | None:
    return None


def report(code: int | None = 0, number: int | None = None) -> ExitReport:
    return ExitReport(code, number, START)


@contextmanager
def adopted_from(stand: Stand, profile: str = "agent") -> Iterator[Stand]:
    """The next host's session, with the label and the ring of `stand`."""
    label, ring = kept(stand), stand.session.ring
    fields = {
        one.name: getattr(label, one.name) for one in dataclasses.fields(label) if one.name not in ("key", "profile")
    }
    with hosted(profile, adopted=True, output=ring.read(0, ring.head)[1], clock=stand.clock, **fields) as successor:
        yield successor


# --- output -------------------------------------------------------------------------------------------------------


async def test_what_is_printed_is_kept_and_told() -> None:
    with hosted() as stand:
        stand.session.start()
        await stand.prints(b"hello")
        await stand.prints(b" world")
        assert stand.session.ring.read(0, 100) == (0, b"hello world")
        assert stand.seen.printed >= 2
        assert stand.seen.changed == 0


async def test_nothing_is_read_before_the_start() -> None:
    with hosted() as stand:
        stand.terminal.print(b"early")
        await asyncio.sleep(0)
        assert stand.session.ring.head == 0
        stand.session.start()
        await until(lambda: stand.session.ring.head == 5, "what was printed before")


async def test_a_title_is_a_change_and_the_busy_flag_is_stamped() -> None:
    with hosted() as stand:
        session = stand.session
        session.start()
        stand.clock.sleep(5)
        await stand.prints(TITLE_BUSY)
        assert session.screen.activity.title == "⠋ working"
        assert (session.facts.value.busy, session.facts.value.busy_changed_at) == (True, START + 5000)
        assert stand.seen.changed == 1
        stand.clock.sleep(1)
        await stand.prints("\x1b]0;⠙ still working\x07".encode())
        assert (session.facts.value.busy, session.facts.value.busy_changed_at) == (True, START + 5000)
        await stand.prints(TITLE_IDLE)
        assert (session.facts.value.busy, session.facts.value.busy_changed_at) == (False, START + 6000)
        assert stand.seen.changed == 3


async def test_the_label_has_title_busy_and_modes_as_of_their_byte() -> None:
    with hosted() as stand:
        stand.session.start()
        await stand.prints(b"abc" + PASTE_ON + TITLE_BUSY + b"\x1b[?10")
        label = kept(stand)
        assert (label.title, label.busy) == ("⠋ working", True)
        assert b"2004" in label.modes
        # The unfinished sequence at the end belongs to what a successor still has to read.
        assert label.modes_seq == stand.session.ring.head - len(b"\x1b[?10")


async def test_a_mode_alone_is_kept_and_is_no_change_of_the_list() -> None:
    with hosted() as stand:
        stand.session.start()
        await stand.prints(PASTE_ON)
        assert b"2004" in kept(stand).modes
        assert stand.seen.changed == 0


async def test_who_shows_the_output_is_told_before_it_is_looked_into() -> None:
    """A person may be waiting for the echo of a key."""
    with hosted() as stand:
        titles: list[str] = []
        stand.seen.on_printed = lambda: titles.append(stand.session.screen.activity.title)
        stand.session.start()
        await stand.prints(TITLE_BUSY)
        assert (titles, stand.session.screen.activity.title) == ([""], "⠋ working")


async def test_a_fault_in_following_the_output_is_told_and_the_output_goes_on() -> None:
    with hosted() as stand:

        def fault() -> None:
            raise RuntimeError("a listener's fault")

        stand.seen.on_printed = fault
        stand.session.start()
        await stand.prints(b"one")
        assert [str(error) for error in stand.seen.failed] == ["a listener's fault"]
        stand.seen.on_printed = lambda: None
        await stand.prints(b"two")
        assert stand.session.ring.read(0, 10)[1] == b"onetwo"
        assert len(stand.seen.failed) == 1


async def test_after_detaching_the_terminal_is_somebody_elses_to_read() -> None:
    with hosted() as stand:
        stand.session.start()
        await stand.prints(b"mine")
        stand.session.detach()
        stand.terminal.print(b"theirs")
        await asyncio.sleep(0)
        assert stand.session.ring.head == 4
        assert Terminal(stand.session.holding.master).typed(6) == b"theirs"


# --- typing -------------------------------------------------------------------------------------------------------


async def test_keystrokes_reach_the_terminal_after_the_label_knows_of_them() -> None:
    with hosted() as stand:
        session = stand.session
        session.start()
        stand.clock.sleep(1)
        assert session.type(b"draft")
        assert stand.terminal.typed(5) == b"draft"
        assert session.facts.value.composer == ComposerView(5, START + 1000)
        restored = Composer()
        restored.restore(kept(stand).composer)
        assert restored.view() == ComposerView(5, START + 1000)
        assert stand.seen.changed == 1  # there is a draft now
        session.type(b"!")
        assert stand.seen.changed == 1
        session.type(b"\x15")
        assert stand.seen.changed == 2


@pytest.mark.parametrize(
    ("profile", "printed", "bracketed"),
    [
        ("codex", b"", False),
        ("codex", PASTE_ON, True),
        ("codex", PASTE_ON + b"\x1b[?2004l", False),
        ("agent", PASTE_ON, False),
    ],
    ids=["mode off", "mode on", "mode off again", "a CLI that takes plain typing"],
)
async def test_a_paste_is_bracketed_only_while_the_terminal_asks_for_it(
    profile: str, printed: bytes, bracketed: bool
) -> None:
    with hosted(profile) as stand:
        stand.session.start()
        if printed:
            await stand.prints(printed)
        typing = stand.session.typing
        assert typing.bracketed_paste is bracketed
        assert typing.enter_delay_ms == PROFILES[profile].typing.enter_delay_ms


async def test_a_delivery_is_in_the_label_until_its_enter() -> None:
    with hosted() as stand:
        session = stand.session
        session.start()
        stand.clock.sleep(2)
        async with session.line() as line:
            text = asyncio.create_task(line.write(b"hello", yes))
            await asyncio.sleep(0)
            assert (kept(stand).delivery, kept(stand).delivery_at) == (b"hello", START + 2000)
            assert stand.terminal.typed(5) == b"hello"
            await stand.clock.run(finish(text))
            stand.clock.sleep(1)
            text = asyncio.create_task(line.write(b" you", yes))
            await asyncio.sleep(0)
            assert (kept(stand).delivery, kept(stand).delivery_at) == (b"hello you", START + 2000)
            assert stand.terminal.typed(4) == b" you"
            await stand.clock.run(finish(text))
            await line.write(b"\r", yes)
            assert stand.terminal.typed(1) == b"\r"
            assert kept(stand).delivery is None
        assert session.facts.value.composer == ComposerView(0, 0)


async def finish(task: asyncio.Task[None]) -> None:
    await task


async def test_a_delivery_without_its_enter_is_a_draft_once_and_not_twice() -> None:
    with hosted() as stand:
        stand.session.start()
        async with stand.session.line() as line:
            text = asyncio.create_task(line.write(b"hello", yes))
            await asyncio.sleep(0)
            stand.terminal.typed(5)
            await stand.clock.run(finish(text))
        assert stand.session.facts.value.composer == ComposerView(5, stand.clock.now())
        assert kept(stand).delivery is None
        with adopted_from(stand) as successor:
            composer = successor.session.facts.value.composer
            assert composer is not None
            assert composer.pending == 5


# --- size, name, attention ----------------------------------------------------------------------------------------


async def test_a_new_size_reaches_the_program_and_the_label() -> None:
    with hosted() as stand:
        stand.session.start()
        stand.session.resize(77, 33)
        assert stand.terminal.size() == (77, 33)
        assert (kept(stand).columns, kept(stand).rows) == (77, 33)
        assert stand.seen.changed == 1
        stand.session.resize(77, 33)
        assert stand.seen.changed == 1


async def test_a_look_ends_the_call_for_attention() -> None:
    with hosted() as stand:
        stand.session.start()
        await stand.prints(b"\x1b]9;needs your approval\x07")
        assert stand.session.screen.activity.attention
        changes = stand.seen.changed
        stand.session.seen()
        assert not stand.session.screen.activity.attention
        assert stand.seen.changed == changes + 1
        stand.session.seen()
        assert stand.seen.changed == changes + 1


async def test_a_name_is_kept_and_an_empty_one_clears_it() -> None:
    with hosted() as stand:
        stand.session.start()
        stand.session.rename("a name")
        assert kept(stand).name == "a name"
        stand.session.rename("")
        assert kept(stand).name is None
        assert stand.seen.changed == 2


# --- identities ---------------------------------------------------------------------------------------------------


async def test_identities() -> None:
    with hosted(handle=9, pid=4242, key="the-id", generation=3, cwd="/srv/x") as stand:
        session = stand.session
        assert (session.handle, session.pid, session.key, session.generation) == (9, 4242, "the-id", 3)
        assert session.cwd == "/srv/x"


async def test_a_session_goes_on_under_another_id_and_remembers_the_old_ones() -> None:
    with hosted(key="one") as stand:
        stand.session.start()
        for key in ("two", "one", "three"):
            stand.session.rekeyed(key)
        assert stand.session.key == "three"
        assert stand.session.label.past == ["one", "two"]
        assert kept(stand).key == "three"
        assert stand.seen.changed == 3
        for number in range(150):
            stand.session.rekeyed(f"id-{number}")
        assert stand.session.label.past == [f"id-{number}" for number in range(49, 149)]


async def test_the_writer_is_kept() -> None:
    with hosted() as stand:
        stand.session.start()
        stand.session.observed_writer(12, "345")
        assert kept(stand).writer == (12, "345")


async def test_a_session_starts_until_its_cli_publishes() -> None:
    with hosted("claude") as stand:
        session = stand.session
        session.start()
        assert session.facts.value.starting
        session.observed_status(None)
        assert session.facts.value.starting
        session.observed_status(CliStatus(None, None))
        assert session.facts.value.starting
        session.observed_status(CliStatus("idle", 5))
        assert not session.facts.value.starting
        assert session.facts.value.status == CliStatus("idle", 5)
        session.observed_status(None)
        assert (session.facts.value.starting, session.facts.value.status) == (False, None)
        assert stand.seen.changed == 4


@pytest.mark.parametrize(
    ("profile", "writer", "starting"),
    [("claude", None, True), ("claude", (1, "2"), False), ("shell", None, False), ("codex", None, False)],
)
async def test_who_counts_as_starting(profile: str, writer: tuple[int, str] | None, starting: bool) -> None:
    with hosted(profile, adopted=True, writer=writer) as stand:
        assert stand.session.facts.value.starting is starting


async def test_the_transcript_is_followed_through_the_registry() -> None:
    with hosted() as stand:

        @contextmanager
        def follow(session: Session) -> Iterator[None]:
            session.observed_transcript(EVIDENCE)
            yield
            session.observed_transcript(None)

        stand.seen.transcript = follow
        with stand.session.transcript():
            assert stand.session.facts.value.transcript == EVIDENCE
        assert stand.session.facts.value.transcript is None


EVIDENCE = TurnEvidence(True, 1, 1, 1)


# --- the end ------------------------------------------------------------------------------------------------------


async def test_the_last_words_are_read_and_nothing_is_written_any_more() -> None:
    with hosted() as stand:
        session = stand.session
        session.start()
        await stand.prints(TITLE_BUSY + b"\x1b]9;needs your approval\x07")
        stand.terminal.print(b"last words")
        stand.terminal.close()
        await until(lambda: b"last words" in session.ring.read(0, 1000)[1], "the last words")
        session.exited(report(3))
        assert session.exit == report(3)
        facts = session.facts.value
        assert (facts.present, facts.busy, facts.status, facts.starting) == (False, False, None, False)
        assert not session.screen.activity.attention
        assert session.may_write() == EXITED
        assert not session.type(b"x")
        assert not session.is_alive()
        changes = stand.seen.changed
        session.exited(report(4))
        assert session.exit == report(3)
        assert stand.seen.changed == changes


async def test_what_stands_in_the_terminal_when_the_exit_is_told_is_read() -> None:
    with hosted() as stand:
        stand.session.start()
        stand.terminal.print(b"not read yet")
        poll_readable(stand.session.holding.master)
        stand.session.exited(report())
        assert stand.session.ring.read(0, 100)[1] == b"not read yet"


def poll_readable(descriptor: int) -> None:
    poller = select.poll()
    poller.register(descriptor, select.POLLIN)
    assert poller.poll(20_000)


async def test_a_grandchild_that_prints_without_end_does_not_hold_the_exit(monkeypatch: pytest.MonkeyPatch) -> None:
    assert DRAIN_BYTES == 1024 * 1024
    monkeypatch.setattr("switchboard.sessions.session.DRAIN_BYTES", 4096)
    with hosted() as stand:

        def endless(_descriptor: int, parts: list[memoryview]) -> int:
            parts[0][:100] = b"y" * 100
            return 100

        stand.session.start()
        monkeypatch.setattr(os, "readv", endless)
        stand.session.exited(report())
        assert 4096 <= stand.session.ring.head < 3 * 4096


async def test_a_delivery_under_way_fails_with_the_session() -> None:
    with hosted() as stand:
        session = stand.session
        session.start()
        async with session.line() as line:
            # More than a terminal takes at once: the rest waits for room.
            task = asyncio.create_task(line.write(b"x" * 200_000, yes))
            await asyncio.sleep(0)
            assert not task.done()
            session.exited(report())
            with pytest.raises(BrokenPipeError, match="has exited"):
                await task
            with pytest.raises(WriteRefused, match=EXITED):
                await line.write(b"\r", yes)


async def test_a_session_that_had_exited_before_it_was_adopted() -> None:
    with hosted(adopted=True, ended=report(None, signal.SIGKILL), output=b"old ") as stand:
        stand.terminal.print(b"and last")
        poll_readable(stand.session.holding.master)
        stand.session.start()
        assert stand.session.exit == report(None, signal.SIGKILL)
        assert stand.session.ring.read(0, 100)[1] == b"old and last"


async def test_closing_lets_everything_go() -> None:
    before = len(os.listdir("/proc/self/fd"))
    with hosted() as stand:
        stand.session.start()
        master = stand.session.holding.master
        stand.session.close()
        assert not asyncio.get_running_loop().remove_reader(master), "the loop still looks at it"
        assert stand.session.holding.mapping.closed
        with pytest.raises(OSError, match="Bad file"):
            os.fstat(master)
    assert len(os.listdir("/proc/self/fd")) == before


@pytest.mark.parametrize(
    ("pid", "answer", "alive"),
    [(os.getpid(), None, True), (NOBODY, None, False), (1, PermissionError, True)],
    ids=["a process", "none", "somebody else's"],
)
async def test_liveness(pid: int, answer: type[OSError] | None, alive: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if answer is not None:

        def refuse(_pid: int, _number: int) -> None:
            raise answer

        monkeypatch.setattr(os, "kill", refuse)
    with hosted(pid=pid) as stand:
        assert stand.session.is_alive() is alive


# --- the next host ------------------------------------------------------------------------------------------------


async def test_a_later_host_knows_draft_title_busy_and_modes() -> None:
    with hosted() as stand:
        stand.session.start()
        stand.session.type(b"draft")
        await stand.prints(PASTE_ON + TITLE_IDLE + BUSY_BY_PROGRESS + b"text")
        with adopted_from(stand) as successor:
            session = successor.session
            assert session.facts.value.composer == ComposerView(5, START)
            assert session.facts.value.busy  # by the progress report; the title says idle
            assert session.screen.activity.title == "✳ resting"
            assert session.screen.modes.bracketed_paste


async def test_what_was_printed_while_nobody_followed_is_followed_now() -> None:
    with hosted() as stand:
        stand.session.start()
        await stand.prints(TITLE_BUSY + b"\x1b[?20")
        stand.session.detach()
        stand.session.ring.append(b"04h" + TITLE_IDLE)
        with adopted_from(stand) as successor:
            assert successor.session.screen.modes.bracketed_paste
            assert successor.session.screen.activity.title == "✳ resting"
            assert not successor.session.facts.value.busy


async def test_a_ring_that_has_moved_on_is_followed_from_where_it_begins() -> None:
    with hosted(adopted=True, capacity=4096, output=TITLE_BUSY + b"x" * 10_000 + TITLE_IDLE, modes_seq=5) as stand:
        assert stand.session.screen.activity.title == "✳ resting"


@pytest.mark.parametrize(
    ("composer", "pending"), [(None, 0), ({}, 1), ([], 1), ("nonsense", 1)], ids=["nothing typed", "{}", "[]", "text"]
)
async def test_a_draft_that_cannot_be_read_counts_as_one(composer: object, pending: int) -> None:
    with hosted(adopted=True, composer=composer) as stand:
        view = stand.session.facts.value.composer
        assert view is not None
        assert view.pending == pending


@pytest.mark.parametrize(("profile", "left"), [("agent", 5), ("claude", 5), ("codex", 5), ("shell", 0)])
async def test_what_a_line_break_does_is_the_profiles(profile: str, left: int) -> None:
    with hosted(profile) as stand:
        stand.session.start()
        stand.session.type(b"row1\n")
        assert stand.session.facts.value.composer == ComposerView(left, START)
        with adopted_from(stand, profile) as successor:
            successor.session.start()
            assert successor.session.facts.value.composer == ComposerView(left, START)
            successor.session.type(b"row2\n")
            assert successor.session.facts.value.composer == ComposerView(2 * left, START)
            successor.session.type(b"\r")
            assert successor.session.facts.value.composer == ComposerView(0, START)


async def test_a_new_session_ignores_what_only_an_adopted_one_knows() -> None:
    with hosted(adopted=False, delivery=b"text", title="⠋ x") as stand:
        assert stand.session.facts.value.composer == ComposerView(0, 0)
        assert stand.session.screen.activity.title == ""


async def test_an_interrupted_delivery_counts_until_a_person_clears_it() -> None:
    with hosted(adopted=True, delivery=b"hello", delivery_at=START - 10) as stand:
        session = stand.session
        session.start()
        assert session.facts.value.composer == ComposerView(5, START)
        assert session.interrupted == b"hello"
        assert session.label.delivery_at == START - 10
        session.type(b"\x1b[I")  # the terminal says that it has the focus: nobody has typed
        assert session.interrupted == b"hello"
        with adopted_from(stand) as successor:
            assert successor.session.facts.value.composer == ComposerView(5, START)
            assert successor.session.interrupted == b"hello"
        session.type(b"\x15")
        assert session.interrupted is None
        with adopted_from(stand) as successor:
            assert successor.session.facts.value.composer == ComposerView(0, START)
            assert successor.session.interrupted is None


async def test_an_interrupted_delivery_that_a_person_goes_on_with_is_counted_once() -> None:
    with hosted(adopted=True, delivery=b"hello") as stand:
        stand.session.start()
        stand.session.type(b"!")
        with adopted_from(stand) as successor:
            assert successor.session.facts.value.composer == ComposerView(6, START)


async def test_an_interrupted_delivery_that_was_submitted_after_all_leaves_an_empty_box() -> None:
    with hosted(adopted=True, delivery=b"hello") as stand:
        stand.session.start()
        stand.session.submitted_after_all()
        assert stand.session.facts.value.composer == ComposerView(0, START)
        assert stand.session.interrupted is None
        assert stand.seen.changed == 1
        assert kept(stand).delivery is None
        with adopted_from(stand) as successor:
            assert successor.session.facts.value.composer == ComposerView(0, START)


async def test_a_text_that_was_not_taken_is_what_an_interrupted_delivery_leaves() -> None:
    with hosted() as stand:
        session = stand.session
        session.start()
        stand.clock.sleep(3)
        session.untaken(b"hello", START + 1000)
        assert session.interrupted == b"hello"
        assert session.facts.value.composer == ComposerView(5, START + 3000)
        assert (stand.seen.interrupted, stand.seen.changed) == (1, 1)
        assert (kept(stand).delivery, kept(stand).delivery_at) == (b"hello", START + 1000)
        with adopted_from(stand) as successor:
            assert successor.session.facts.value.composer == ComposerView(5, START + 3000)
        session.submitted_after_all()
        assert session.interrupted is None


async def test_a_text_that_was_not_taken_joins_a_draft_that_only_a_person_ends() -> None:
    with hosted() as stand:
        session = stand.session
        session.start()
        session.type(b"abc")
        session.untaken(b"hello", START)
        assert session.facts.value.composer == ComposerView(8, START)
        assert (session.interrupted, stand.seen.interrupted, kept(stand).delivery) == (None, 0, None)
        with adopted_from(stand) as successor:
            assert successor.session.facts.value.composer == ComposerView(8, START)


async def test_a_new_id_is_stamped() -> None:
    with hosted() as stand:
        assert stand.session.facts.value.rekeyed_at == 0
        stand.clock.sleep(3)
        stand.session.rekeyed("another")
        assert stand.session.facts.value.rekeyed_at == START + 3000


async def test_the_label_names_the_request_from_its_first_byte_until_it_is_answered() -> None:
    with hosted() as stand:
        stand.session.start()
        with stand.session.working_for("a.json"):
            assert kept(stand).request is None
            async with stand.session.line() as line:
                text = asyncio.create_task(line.write(b"hello", yes))
                await asyncio.sleep(0)
                assert kept(stand).request == "a.json"
                stand.terminal.typed(5)
                await stand.clock.run(finish(text))
                await line.write(b"\r", yes)
            assert kept(stand).request == "a.json"
            with adopted_from(stand) as successor:
                assert successor.session.label.request == "a.json"
        assert kept(stand).request is None
        stand.session.type(b"x")
        assert kept(stand).request is None


async def test_the_label_goes_on_naming_a_request_that_ends_without_an_answer() -> None:
    with hosted() as stand:
        stand.session.start()
        with suppress(LookupError), stand.session.working_for("a.json"):
            async with stand.session.line() as line:
                text = asyncio.create_task(line.write(b"hello", yes))
                await asyncio.sleep(0)
                stand.terminal.typed(5)
                await stand.clock.run(finish(text))
                await line.write(b"\r", yes)
            raise LookupError
        assert kept(stand).request == "a.json"
        stand.session.answered()
        assert kept(stand).request is None


async def test_a_session_that_ends_meanwhile_is_left_alone() -> None:
    """Its ring may be gone by the time at which the request is answered."""
    with hosted() as stand:
        stand.session.start()
        with stand.session.working_for("a.json"):
            stand.session.exited(report())
            stand.session.close()


# --- a label that is too long -------------------------------------------------------------------------------------


async def test_a_label_that_is_too_long_is_told_and_harms_nobody_who_types() -> None:
    with hosted() as stand:
        stand.session.start()
        stand.session.rename("known")
        stand.session.rekeyed("x" * MAX_LABEL)
        assert len(stand.seen.failed) == 1
        assert "over the limit" in str(stand.seen.failed[0])
        assert stand.session.type(b"on")
        assert stand.terminal.typed(2) == b"on"
        assert kept(stand).name == "known"


async def test_the_label_of_a_session_is_there_from_its_start() -> None:
    with hosted(name="given") as stand:
        stand.session.start()
        assert kept(stand) == make_label(name="given")
