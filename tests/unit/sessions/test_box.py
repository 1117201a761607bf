"""Texts whose Enter is out and of which nothing is known yet: what this host shows, and what a later one makes of them.

Each story is played on the session itself. `successor` is the host that comes when this one is killed in that moment.
"""

from __future__ import annotations

import asyncio
import dataclasses
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager

import pytest
from tests.support.fake_clock import START
from tests.support.sessions import Stand, hosted

from switchboard.common.facts import CliStatus, CompactBoundary, PromptEntry, TurnEvidence
from switchboard.sessions.gate import GateLine
from switchboard.sessions.keeper.ring import MAX_LABEL
from switchboard.sessions.labels import Label, decode_label

ENTER_AT = START + 5
LATER = ENTER_AT + 3000


def yes(_facts: object) -> None:
    return None


def kept(stand: Stand) -> Label:
    """What a later host would read."""
    label = decode_label(stand.session.ring.load_label())
    assert label is not None
    return label


@contextmanager
def successor(stand: Stand, profile: str = "agent") -> Iterator[Stand]:
    """The session as the next host adopts it."""
    label = kept(stand)
    fields = {
        one.name: getattr(label, one.name) for one in dataclasses.fields(label) if one.name not in ("key", "profile")
    }
    with hosted(profile, adopted=True, clock=stand.clock, **fields) as made:
        made.session.start()
        yield made


def pending(stand: Stand) -> int:
    composer = stand.session.facts.value.composer
    assert composer is not None
    return composer.pending


def later_host(stand: Stand) -> tuple[int, bytes | None]:
    """How many characters the next host finds in the box, and what it takes for left there by a delivery."""
    with successor(stand) as made:
        return pending(made), made.session.interrupted


async def end(task: asyncio.Task[None]) -> None:
    await task


async def write(stand: Stand, line: GateLine, data: bytes) -> None:
    """Write text or a key, and let the program read it."""
    writing = asyncio.create_task(line.write(data, yes))
    await asyncio.sleep(0)
    assert stand.terminal.typed(len(data)) == data
    await stand.clock.run(end(writing))


async def deliver(stand: Stand, text: bytes = b"hello", *, held: bytes = b"", announced: bool = True) -> None:
    """Type a text and its Enter as a delivery does. `held`: what a person types between the two."""
    async with stand.session.line() as line:
        await write(stand, line, text)
        if held:
            stand.session.type(held)
        if announced:
            stand.session.unproven(text, ENTER_AT)
        await line.write(b"\r", yes)
    assert stand.terminal.typed(1 + len(held)) == b"\r" + held


def shows(*prompts: tuple[int, str], compactions: tuple[CompactBoundary, ...] = ()) -> TurnEvidence:
    return TurnEvidence(True, None, None, 0, tuple(PromptEntry(*prompt) for prompt in prompts), compactions)


@pytest.fixture
async def stand() -> AsyncIterator[Stand]:
    with hosted() as made:
        made.session.start()
        yield made


# --- while the effect is looked for -----------------------------------------------------------------------------------


async def test_a_text_in_doubt_is_a_draft_for_a_later_host_alone(stand: Stand) -> None:
    await deliver(stand)
    assert (pending(stand), stand.session.interrupted) == (0, None)
    assert (stand.seen.changed, stand.seen.interrupted) == (0, 0)
    assert (kept(stand).delivery, kept(stand).delivery_at, kept(stand).entered) == (b"hello", ENTER_AT, True)
    assert later_host(stand) == (5, b"hello")


def idle(stand: Stand, since: int = START - 9000) -> None:
    stand.session.observed_status(CliStatus("idle", since))


@pytest.mark.parametrize(
    ("text", "word", "at", "left"),
    [
        pytest.param(b"/compact", "busy", 0, 0, id="compact, busy at its Enter"),
        pytest.param(b"/compact", "idle", 9000, 0, id="compact that was refused"),
        pytest.param(b"/compact", "idle", 10_001, 8, id="too late to be its effect"),
        pytest.param(b"/compact", "idle", -1, 8, id="before its Enter"),
        pytest.param(b"/compact", "shell", 5, 8, id="a background job"),
        pytest.param(b"/model x", "waiting", 5, 0, id="a command that asks"),
        pytest.param(b"!ls", "busy", 5, 0, id="a shell command"),
        pytest.param(b"/clear", "busy", 5, 6, id="clear moves no status"),
        pytest.param(b"hello", "busy", 5, 5, id="a prompt is shown by its transcript alone"),
    ],
)
async def test_what_a_cli_at_rest_does_right_after_a_command_shows_the_next_host_that_it_took_it(
    stand: Stand, text: bytes, word: str, at: int, left: int
) -> None:
    idle(stand)
    await deliver(stand, text)
    with successor(stand) as made:
        assert (pending(made), made.session.interrupted) == (len(text), text)
        made.session.observed_status(CliStatus(word, ENTER_AT + at))
        assert (pending(made), made.session.interrupted) == (left, text if left else None)


@pytest.mark.parametrize("since", [None, ENTER_AT - 49], ids=["in a turn", "in a blip between two turns"])
async def test_what_a_working_cli_does_shows_nothing(stand: Stand, since: int | None) -> None:
    stand.session.observed_status(CliStatus("busy", START - 9000) if since is None else CliStatus("idle", since))
    await deliver(stand, b"/compact")
    with successor(stand) as made:
        made.session.observed_status(CliStatus("idle", ENTER_AT + 5))
        assert made.session.interrupted == b"/compact"


async def test_what_a_delivery_says_is_left_is_not_ended_by_a_status(stand: Stand) -> None:
    """It has looked for the effect, and seen none."""
    idle(stand)
    await deliver(stand, b"/compact")
    stand.session.untaken(b"/compact", ENTER_AT)
    stand.session.observed_status(CliStatus("busy", ENTER_AT + 5000))
    assert (pending(stand), stand.session.interrupted) == (8, b"/compact")


async def test_entries_of_an_earlier_time_show_it_as_well(stand: Stand) -> None:
    await deliver(stand)
    with successor(stand) as made:
        made.session.observed_entries(shows((ENTER_AT - 1, "hello")))
        assert made.session.interrupted == b"hello"
        made.session.observed_entries(shows((ENTER_AT, "hello")))
        assert (made.session.interrupted, pending(made)) == (None, 0)
        assert made.session.facts.value.transcript is None


async def test_there_is_no_moment_at_which_a_later_host_knows_of_nothing(stand: Stand) -> None:
    """The keeper's copy after each write to the label, from the first byte to the end of the doubt."""
    found = []
    store = stand.session.ring.store_label

    def stored(label: bytes) -> None:
        store(label)
        found.append((kept(stand).delivery, kept(stand).entered))

    stand.session.ring.store_label = stored  # type: ignore[method-assign]  # every write is looked at
    await deliver(stand, held=b"x")
    assert found[0] == (b"hello", False)
    assert set(found[1:]) == {(b"hello", True)}


async def test_a_text_that_nobody_announced_is_forgotten_with_its_enter(stand: Stand) -> None:
    await deliver(stand, announced=False)
    assert later_host(stand) == (0, None)


@pytest.mark.parametrize("profile", ["shell", "codex", "gemini"])
async def test_where_nothing_is_recorded_nothing_is_kept(profile: str) -> None:
    """No later host could ever see that it was taken: the session would be locked until a person comes."""
    with hosted(profile) as stand:
        stand.session.start()
        await deliver(stand)
        with successor(stand, profile) as made:
            assert pending(made) == 0


async def test_an_announcement_whose_enter_is_refused_means_nothing(stand: Stand) -> None:
    async with stand.session.line() as line:
        await write(stand, line, b"hello")
        stand.session.unproven(b"hello", ENTER_AT)
    assert (pending(stand), later_host(stand)) == (5, (5, None))
    stand.session.type(b"\x15")
    assert stand.terminal.typed(1) == b"\x15"
    await deliver(stand, b"/help", announced=False)
    assert later_host(stand) == (0, None)


async def test_a_text_that_was_left_to_people_and_got_its_enter_is_in_doubt(stand: Stand) -> None:
    async with stand.session.line() as line:
        await write(stand, line, b"hello")
        line.release()
        assert (pending(stand), later_host(stand)) == (5, (5, None))
        stand.session.unproven(b"hello", ENTER_AT)
        await line.write(b"\r", yes)
    assert (pending(stand), later_host(stand)) == (0, (5, b"hello"))


async def test_the_second_enter_changes_nothing(stand: Stand) -> None:
    await deliver(stand)
    async with stand.session.line() as line:
        await line.write(b"\r", yes)
    assert (pending(stand), later_host(stand)) == (0, (5, b"hello"))


async def test_an_escape_changes_nothing(stand: Stand) -> None:
    await deliver(stand)
    async with stand.session.line() as line:
        await write(stand, line, b"\x1b")
    assert later_host(stand) == (5, b"hello")


async def test_the_next_delivery_takes_its_place(stand: Stand) -> None:
    await deliver(stand)
    stand.clock.sleep(1)
    async with stand.session.line() as line:
        writing = asyncio.create_task(line.write(b"next", yes))
        await asyncio.sleep(0)
        label = kept(stand)
        assert (label.delivery, label.delivery_at, label.entered) == (b"next", stand.clock.now(), False)
        assert later_host(stand) == (4, b"next")
        stand.terminal.typed(4)
        await stand.clock.run(end(writing))
        await line.write(b"\r", yes)
    assert later_host(stand) == (0, None)


async def test_the_longest_text_and_the_longest_draft_fit_into_the_label(stand: Stand) -> None:
    await deliver(stand, b"\xf0\x9f\x98\x80" * 1000)
    stand.session.type("ü".encode() * 20_000)
    assert stand.seen.failed == []
    assert len(stand.session.ring.load_label()) < MAX_LABEL
    assert kept(stand).delivery == b"\xf0\x9f\x98\x80" * 1000


# --- how it ends while this host lives --------------------------------------------------------------------------------

ENDS: dict[str, tuple[Callable[[Stand], object], tuple[int, bytes | None]]] = {
    "seen": (lambda stand: stand.session.settled(), (0, None)),
    "not taken": (lambda stand: stand.session.untaken(b"hello", ENTER_AT), (5, b"hello")),
    "shown by the transcript": (lambda stand: stand.session.observed_transcript(shows((ENTER_AT, "hello"))), (0, None)),
    "an earlier one of the same text": (
        lambda stand: stand.session.observed_transcript(shows((ENTER_AT - 1, "hello"))),
        (5, b"hello"),
    ),
    "another text": (lambda stand: stand.session.observed_transcript(shows((LATER, "hullo"))), (5, b"hello")),
    "no transcript": (lambda stand: stand.session.observed_transcript(None), (5, b"hello")),
    "a new id": (lambda stand: stand.session.rekeyed("another"), (5, b"hello")),
}


@pytest.mark.parametrize(("happens", "found"), ENDS.values(), ids=ENDS.keys())
async def test_the_end_of_the_doubt(
    stand: Stand, happens: Callable[[Stand], object], found: tuple[int, bytes | None]
) -> None:
    await deliver(stand)
    happens(stand)
    assert later_host(stand) == found
    assert stand.seen.failed == []


async def test_an_end_without_a_doubt_writes_nothing(stand: Stand) -> None:
    stand.session.ring.store_label = lambda label: pytest.fail("written")  # type: ignore[method-assign]  # must not be
    stand.session.settled()


async def test_a_text_that_was_not_taken_is_what_it_always_was(stand: Stand) -> None:
    await deliver(stand)
    stand.session.untaken(b"hello", ENTER_AT)
    assert (pending(stand), stand.session.interrupted) == (5, b"hello")
    assert (stand.seen.interrupted, kept(stand).entered) == (1, True)
    stand.session.observed_transcript(shows((LATER, "hello")))
    assert (pending(stand), later_host(stand)) == (0, (0, None))


async def test_a_text_that_was_not_taken_joins_the_draft_that_was_typed_meanwhile(stand: Stand) -> None:
    await deliver(stand)
    stand.session.type(b"abc")
    stand.session.untaken(b"hello", ENTER_AT)
    assert (pending(stand), stand.session.interrupted, stand.seen.interrupted) == (8, None, 0)
    assert later_host(stand) == (8, None)


@pytest.mark.parametrize(
    ("keys", "left"),
    [
        pytest.param(b"\x15", 0, id="Ctrl+U"),
        pytest.param(b"\x03", 0, id="Ctrl+C"),
        pytest.param(b"\x7f" * 5, 0, id="deleted"),
        pytest.param(b"\x15abc", 3, id="cleared, then text"),
        pytest.param(b"\r", 5, id="Enter, which can be swallowed too"),
        pytest.param(b"\x7f\x7f", 5, id="deleted in part"),
    ],
)
async def test_what_a_person_cleared_meanwhile_is_not_left(stand: Stand, keys: bytes, left: int) -> None:
    await deliver(stand)
    stand.session.type(keys)
    stand.session.untaken(b"hello", ENTER_AT)
    assert (pending(stand), later_host(stand)[0]) == (left, left)


async def test_the_same_text_again_is_left_again(stand: Stand) -> None:
    await deliver(stand)
    stand.session.type(b"\x15")
    assert stand.terminal.typed(1) == b"\x15"
    await deliver(stand)
    stand.session.untaken(b"hello", ENTER_AT)
    assert pending(stand) == 5


@pytest.mark.parametrize(("text", "over"), [(b"/clear", True), (b" /clear x", True), (b"/clearly", False)])
async def test_clear_is_shown_by_a_new_id(stand: Stand, text: bytes, over: bool) -> None:
    await deliver(stand, text)
    stand.session.rekeyed("another")
    assert later_host(stand)[1] == (None if over else text)


@pytest.mark.parametrize(
    ("at", "manual", "over"),
    [(ENTER_AT, True, True), (ENTER_AT - 1, True, False), (ENTER_AT, False, False)],
    ids=["asked for", "before", "by itself"],
)
async def test_compact_is_shown_by_its_boundary(stand: Stand, at: int, manual: bool, over: bool) -> None:
    evidence = shows(compactions=(CompactBoundary("u", at, manual),))
    await deliver(stand)
    stand.session.observed_transcript(evidence)
    assert later_host(stand) == (5, b"hello")  # it says nothing of a prompt
    await deliver(stand, b"/compact")
    stand.session.observed_transcript(evidence)
    assert later_host(stand) == ((0, None) if over else (8, b"/compact"))


# --- people who type meanwhile ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("keys", "here", "later"),
    [
        pytest.param(b"abc", 3, (8, b"hello"), id="text"),
        pytest.param(b"abc\x7f\x7f\x7f", 0, (5, b"hello"), id="text that is taken back"),
        pytest.param(b"\x1b[I", 0, (5, b"hello"), id="a report of the terminal"),
        pytest.param(b"\r", 0, (0, None), id="Enter"),
        pytest.param(b"\x15", 0, (0, None), id="Ctrl+U"),
        pytest.param(b"abc\r", 0, (0, None), id="text and Enter"),
        pytest.param(b"\x7f" * 5, 0, (0, None), id="the text itself is taken back"),
        pytest.param(b"\rabc", 3, (3, None), id="Enter, then text"),
    ],
)
@pytest.mark.parametrize("held", [True, False], ids=["held", "afterwards"])
async def test_what_people_type(
    stand: Stand, held: bool, keys: bytes, here: int, later: tuple[int, bytes | None]
) -> None:
    await deliver(stand, held=keys if held else b"")
    if not held:
        stand.session.type(keys)
    assert (pending(stand), later_host(stand)) == (here, later)
    stand.session.settled()
    assert (pending(stand), later_host(stand)) == (here, (here, None))


# --- the next host ----------------------------------------------------------------------------------------------------


async def test_the_next_host_is_killed_too(stand: Stand) -> None:
    await deliver(stand)
    stand.session.type(b"abc")
    with successor(stand) as made:
        assert later_host(made) == (8, b"hello")


async def test_a_persons_draft_stays_when_the_text_is_seen_to_have_been_taken(stand: Stand) -> None:
    await deliver(stand)
    stand.session.type(b"abc")
    with successor(stand) as made:
        changes = made.seen.changed
        made.session.observed_transcript(shows((ENTER_AT, "hello")))
        assert (pending(made), made.session.interrupted) == (3, None)
        assert made.seen.changed == changes  # it is a draft as before
        assert later_host(made) == (3, None)


async def test_the_text_alone_is_gone_when_it_is_seen_to_have_been_taken(stand: Stand) -> None:
    await deliver(stand)
    with successor(stand) as made:
        made.session.observed_transcript(shows((ENTER_AT - 1, "hello")))
        assert pending(made) == 5
        made.session.observed_transcript(shows((LATER, "hello")))
        assert (pending(made), made.seen.changed, later_host(made)) == (0, 1, (0, None))


@pytest.mark.parametrize("keys", [b"\r", b"\x15"], ids=["Enter", "Ctrl+U"])
async def test_a_person_clears_it(stand: Stand, keys: bytes) -> None:
    await deliver(stand)
    with successor(stand) as made:
        made.session.type(keys)
        assert (pending(made), made.session.interrupted, later_host(made)) == (0, None, (0, None))


async def test_a_person_goes_on_with_it_and_it_is_counted_once(stand: Stand) -> None:
    await deliver(stand)
    with successor(stand) as made:
        made.session.type(b"!")
        assert (pending(made), later_host(made)) == (6, (6, None))


async def test_a_draft_that_cannot_be_read_stays_occupied() -> None:
    with hosted(adopted=True, composer=["nonsense"], delivery=b"hello", delivery_at=ENTER_AT, entered=True) as stand:
        stand.session.start()
        stand.session.observed_transcript(shows((ENTER_AT, "hello")))
        assert pending(stand) > 0


@pytest.mark.parametrize(
    ("entered", "left"), [(True, 0), (False, 6)], ids=["with its Enter", "without: it can have done nothing"]
)
async def test_clear_is_shown_by_a_new_id_also_later(entered: bool, left: int) -> None:
    with hosted(adopted=True, delivery=b"/clear", delivery_at=ENTER_AT, entered=entered) as stand:
        stand.session.start()
        stand.session.rekeyed("another")
        assert pending(stand) == left


async def test_a_second_enter_into_a_cleared_box_puts_nothing_in_doubt(stand: Stand) -> None:
    await deliver(stand)
    stand.session.type(b"\x15")
    assert stand.terminal.typed(1) == b"\x15"
    async with stand.session.line() as line:
        stand.session.unproven(b"hello", LATER)
        await line.write(b"\r", yes)
    assert stand.terminal.typed(1) == b"\r"
    assert later_host(stand) == (0, None)
    stand.session.untaken(b"hello", LATER)
    assert (pending(stand), later_host(stand)) == (0, (0, None))
