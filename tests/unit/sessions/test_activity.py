"""What titles and notifications say, row by row of the legacy trigger contract."""

from __future__ import annotations

import pytest
from tests.support.recorded_streams import AGENT_START, AGENT_TURN

from switchboard.clis.profiles import PROFILES
from switchboard.sessions.activity import MAX_TEXT, TITLE_RULES, TerminalActivity
from switchboard.sessions.sequences import SequenceReader
from switchboard.sessions.vocabulary import Bell, ModeChanged, Osc, Query, TerminalReset

QUIET = TerminalActivity()
BUSY = TerminalActivity(busy=True)


def titled(title: str, rule: str, start: TerminalActivity) -> bool:
    return start.after(Osc(0, title), TITLE_RULES[rule]).busy


# Title, then the verdict for an agent and for a plain terminal: True busy, False idle, None no decision.
TITLES: list[tuple[str, str, bool | None, bool | None]] = [
    ("resting glyph", "✳ Claude Code", False, False),
    ("resting glyph alone", "✳", False, False),
    ("resting glyph as an emoji", "✳\ufe0f Claude Code", False, False),
    ("first braille pattern", "\u2800 x", True, True),
    ("braille spinner", "⠂ fix the bug", True, True),
    ("another braille spinner", "⠐ fix the bug", True, True),
    ("last braille pattern", "\u28ff x", True, True),
    ("before the braille patterns", "\u27ff x", True, None),
    ("after the braille patterns", "\u2900 x", True, None),
    ("first half circle", "◐ fix the bug", True, True),
    ("second half circle", "◑ fix the bug", True, True),
    ("last half circle", "\u25d3 x", True, True),
    ("before the half circles", "\u25cf x", True, None),
    ("after the half circles", "\u25d4 x", True, None),
    ("spinner glyph without text", "⠂", True, True),
    ("spinner glyph glued to text", "⠂x", True, True),
    ("another symbol, space, text", "✽ Thinking", True, None),
    ("an emoji, space, text", "😀 work", True, None),
    ("another symbol alone", "✽", None, None),
    ("another symbol and a space", "✽ ", None, None),
    ("another symbol and blanks", "✽   ", None, None),
    ("a word beyond ASCII", "Überblick", None, None),
    ("words beyond ASCII", "Überblick der Lage", None, None),
    ("ASCII", "bash", None, None),
    ("ASCII with a space", "~ work", None, None),
    ("a glyph that is not first", "x ✳ ⠂", None, None),
    ("a blank before the glyph", " ✳ x", None, None),
    ("empty", "", None, None),
]


@pytest.mark.parametrize(("title", "agent", "plain"), [row[1:] for row in TITLES], ids=[row[0] for row in TITLES])
@pytest.mark.parametrize("before", [QUIET, BUSY], ids=["was idle", "was busy"])
def test_titles(title: str, agent: bool | None, plain: bool | None, before: TerminalActivity) -> None:
    for rule, verdict in (("claude", agent), ("plain", plain)):
        assert titled(title, rule, before) is (before.busy if verdict is None else verdict)


@pytest.mark.parametrize("number", [1, 2, 8, 10, None])
def test_only_osc_0_speaks(number: int | None) -> None:
    assert QUIET.after(Osc(number, "⠂ busy"), TITLE_RULES["claude"]) is QUIET


# OSC 9 payload, then the flag after it for an agent and for a plain terminal, from idle and from busy.
PROGRESS = [
    ("normal", "4;1;50", (True, True), (True, True)),
    ("error", "4;2;", (True, True), (True, True)),
    ("indeterminate", "4;3;", (True, True), (True, True)),
    ("indeterminate without an end", "4;3", (True, True), (True, True)),
    ("removed", "4;0;", (False, True), (False, False)),
    ("removed without an end", "4;0", (False, True), (False, False)),
    ("paused", "4;4;10", (False, True), (False, True)),
    ("unknown state", "4;12;10", (False, True), (False, True)),
    ("no state", "4", (False, True), (False, True)),
    ("empty state", "4;", (False, True), (False, True)),
]


@pytest.mark.parametrize(("payload", "agent", "plain"), [row[1:] for row in PROGRESS], ids=[row[0] for row in PROGRESS])
def test_progress(payload: str, agent: tuple[bool, bool], plain: tuple[bool, bool]) -> None:
    for rule, expected in (("claude", agent), ("plain", plain)):
        results = [start.after(Osc(9, payload), TITLE_RULES[rule]) for start in (QUIET, BUSY)]
        assert tuple(result.busy for result in results) == expected
        assert [result.notifications for result in results] == [0, 0]


NOTIFICATIONS = [
    ("Claude needs your permission to use Bash", True, False),
    ("Claude Code needs your attention", True, False),
    ("APPROVAL required", True, False),
    ("Claude wants to enter plan mode", True, False),
    ("This needs your eyes", True, False),
    ("Claude is waiting for your input", False, True),
    ("WAITING FOR YOUR INPUT", False, True),
    ("permission asked, waiting for your input", True, True),
    ("Build finished", False, False),
    ("4 files changed", False, False),
    ("41;1", False, False),
    ("", False, False),
]


@pytest.mark.parametrize(("text", "attention", "waiting"), NOTIFICATIONS)
@pytest.mark.parametrize("before", [QUIET, BUSY], ids=["was idle", "was busy"])
def test_notifications(text: str, attention: bool, waiting: bool, before: TerminalActivity) -> None:
    after = before.after(Osc(9, text), TITLE_RULES["claude"])
    assert (after.attention, after.waiting) == (attention, waiting)
    assert (after.notification, after.notifications) == (text, 1)
    assert after.busy is before.busy


def test_the_same_notification_again_is_news() -> None:
    rule = TITLE_RULES["claude"]
    assert QUIET.after(Osc(9, "Done"), rule).after(Osc(9, "Done"), rule).notifications == 2


def test_only_changes_are_new_values() -> None:
    rule = TITLE_RULES["claude"]
    working = QUIET.after(Osc(0, "◐ fix"), rule)
    assert working.after(Osc(0, "◐ fix"), rule) is working
    assert working.after(Osc(9, "4;3;"), rule) is working
    assert working.after(Osc(9, "4;0;"), rule) is working
    for event in (Bell(), Query(b"\x05"), ModeChanged((25,), True, True), TerminalReset(soft=False), Osc(7, "x")):
        assert working.after(event, rule) is working


def test_attention_lasts_until_it_is_seen() -> None:
    rule = TITLE_RULES["claude"]
    asking = QUIET.after(Osc(9, "needs your approval"), rule)
    for event in (Osc(0, "◐ x"), Osc(9, "other"), Osc(0, "✳ x")):
        asking = asking.after(event, rule)
        assert asking.attention
    assert not asking.seen().attention


def test_waiting_ends_with_the_next_work() -> None:
    rule = TITLE_RULES["claude"]
    waiting = QUIET.after(Osc(9, "Claude is waiting for your input"), rule)
    assert waiting.after(Osc(0, "✳ x"), rule).waiting
    assert not waiting.after(Osc(0, "◐ x"), rule).waiting
    assert not waiting.seen().waiting


def test_nothing_is_left_of_an_ended_process() -> None:
    rule = TITLE_RULES["claude"]
    activity = QUIET.after(Osc(9, "needs your approval"), rule).after(Osc(0, "◐ x"), rule)
    ended = activity.ended()
    assert (ended.busy, ended.attention, ended.waiting, ended.title) == (False, False, False, "◐ x")


def test_texts_are_cut_and_printable() -> None:
    rule = TITLE_RULES["claude"]
    assert QUIET.after(Osc(0, "x" * 500), rule).title == "x" * MAX_TEXT
    assert QUIET.after(Osc(0, "a\nb\tc\x85d\u202ee\x7f"), rule).title == "a b c d e"
    assert QUIET.after(Osc(9, "y" * 500 + " permission"), rule).notification == "y" * MAX_TEXT
    assert not QUIET.after(Osc(9, "y" * 500 + " permission"), rule).attention


def test_a_recorded_turn() -> None:
    reader = SequenceReader()
    rule = TITLE_RULES["claude"]
    activity = QUIET
    seen = []
    for event in [*reader.feed(AGENT_START), *reader.feed(AGENT_TURN)]:
        after = activity.after(event, rule)
        if after is not activity:
            seen.append((after.busy, after.title, after.attention))
        activity = after
    assert seen == [
        (False, "✳ Claude Code", False),
        (True, "◐ fix the bug", False),
        (True, "◑ fix the bug", False),
        (True, "◑ fix the bug", True),
        (False, "✳ fix the bug", True),
    ]


# Other CLIs, as measured.

CODEX = [
    ("spinner", Osc(0, "⠹ hello one | cx1"), True, False),
    ("plain title", Osc(0, "hello one | cx1"), False, False),
    ("dialog title", Osc(0, "[ ! ] Action Required | cx1"), True, True),
    ("dialog title, other phase", Osc(0, "[ . ] Action Required | cx1"), True, True),
    ("idle", Osc(7501, "state=idle:app=codex"), False, False),
    ("working", Osc(7501, "state=working:app=codex"), True, False),
    ("done", Osc(7501, "state=done:app=codex"), False, False),
    ("error", Osc(7501, "state=error:app=codex"), False, False),
    ("blocked", Osc(7501, "state=blocked:app=codex:kind=permission"), True, True),
]


@pytest.mark.parametrize(("event", "busy", "attention"), [row[1:] for row in CODEX], ids=[row[0] for row in CODEX])
@pytest.mark.parametrize("before", [QUIET, BUSY], ids=["was idle", "was busy"])
def test_codex(event: Osc, busy: bool, attention: bool, before: TerminalActivity) -> None:
    after = before.after(event, TITLE_RULES["codex"])
    assert (after.busy, after.attention) == (busy, attention)


@pytest.mark.parametrize("payload", ["", "state", "state=", "state=dancing", "app=codex", "state=working:id=build/1"])
def test_state_reports_that_say_nothing(payload: str) -> None:
    for before in (QUIET, BUSY):
        assert before.after(Osc(7501, payload), TITLE_RULES["codex"]) is before


@pytest.mark.parametrize("rule", ["claude", "plain", "gemini"])
def test_state_reports_of_others_are_not_believed(rule: str) -> None:
    assert QUIET.after(Osc(7501, "state=working"), TITLE_RULES[rule]) is QUIET


GEMINI = [
    ("ready", "◇  Ready (gm1)                    ", False, False),
    ("working", "✦  Working… (gm1)", True, False),
    ("dialog", "✋  Action Required (gm1)", True, True),
]


@pytest.mark.parametrize(("title", "busy", "attention"), [row[1:] for row in GEMINI], ids=[row[0] for row in GEMINI])
@pytest.mark.parametrize("before", [QUIET, BUSY], ids=["was idle", "was busy"])
def test_gemini(title: str, busy: bool, attention: bool, before: TerminalActivity) -> None:
    after = before.after(Osc(0, title), TITLE_RULES["gemini"])
    assert (after.busy, after.attention) == (busy, attention)


def test_every_profile_has_its_rule() -> None:
    assert {profile.title_rule for profile in PROFILES.values()} <= TITLE_RULES.keys()


@pytest.mark.parametrize(
    ("rule", "title", "name"),
    [
        ("claude", "✳ fix the build", "fix the build"),
        ("claude", "◐ fix the build", "fix the build"),
        ("claude", "⠂ fix the build", "fix the build"),
        ("claude", "plain words", "plain words"),
        ("claude", "✳", ""),
        ("claude", "", ""),
        ("plain", "me@here: ~/src", "me@here: ~/src"),
        ("codex", "⠋ a thread | folder", "a thread | folder"),
    ],
)
def test_a_name_is_the_title_without_the_glyph_of_the_state(rule: str, title: str, name: str) -> None:
    assert TITLE_RULES[rule].name(title) == name
