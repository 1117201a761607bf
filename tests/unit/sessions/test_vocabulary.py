"""What each sequence means, one row for each."""

from __future__ import annotations

import pytest

from switchboard.sessions.vocabulary import (
    CursorStyled,
    KeyboardPopped,
    KeyboardPushed,
    KeyboardSet,
    ModeChanged,
    ModifyOtherKeys,
    Osc,
    Query,
    TerminalEvent,
    TerminalReset,
    read_control,
    read_escape,
    read_string,
)

QUERIES = [
    ("DA1", "c"),
    ("DA1 with 0", "0c"),
    ("DA2", ">c"),
    ("DA2 with 0", ">0c"),
    ("DA3", "=c"),
    ("DSR", "5n"),
    ("cursor position", "6n"),
    ("extended cursor position", "?6n"),
    ("printer", "?15n"),
    ("colour scheme", "?996n"),
    ("XTVERSION", ">q"),
    ("XTVERSION with 0", ">0q"),
    ("kitty keyboard flags", "?u"),
    ("DECRQM, ANSI", "4$p"),
    ("DECRQM, private", "?2026$p"),
    ("DECREQTPARM", "x"),
    ("DECRQCRA", "1;1;1;1;10;10*y"),
    ("DECRQPSR", "1$w"),
    ("DECRQTSR", "1$u"),
    ("DECRQUPSS", "&u"),
    ("DECRQDE", '"v'),
    ("DECRQLP", "'|"),
    ("colour stack", "#R"),
    ("graphics limits", "?1;1;0S"),
    ("modifyOtherKeys", "?4m"),
    ("window state", "11t"),
    ("window position", "13t"),
    ("text area position", "13;2t"),
    ("window size in pixels", "14t"),
    ("window size in pixels, whole", "14;2t"),
    ("screen size in pixels", "15t"),
    ("cell size", "16t"),
    ("size in characters", "18t"),
    ("screen in characters", "19t"),
    ("icon label", "20t"),
    ("title", "21t"),
    ("kitty cursors", "> q"),
]


@pytest.mark.parametrize("sequence", [row[1] for row in QUERIES], ids=[row[0] for row in QUERIES])
def test_control_sequences_that_ask(sequence: str) -> None:
    assert read_control(sequence.encode()) == Query(b"\x1b[" + sequence.encode())


CONTROLS: list[tuple[str, TerminalEvent | None]] = [
    ("?25h", ModeChanged((25,), private=True, on=True)),
    ("?25l", ModeChanged((25,), private=True, on=False)),
    ("?1000;1006h", ModeChanged((1000, 1006), private=True, on=True)),
    ("?1000;;1006h", ModeChanged((1000, 0, 1006), private=True, on=True)),
    ("?1049:5h", ModeChanged((1049,), private=True, on=True)),
    ("?h", ModeChanged((0,), private=True, on=True)),
    ("4h", ModeChanged((4,), private=False, on=True)),
    ("20l", ModeChanged((20,), private=False, on=False)),
    (">1u", KeyboardPushed(1)),
    (">u", KeyboardPushed(0)),
    ("<u", KeyboardPopped(1)),
    ("<0u", KeyboardPopped(1)),
    ("<3u", KeyboardPopped(3)),
    ("=5u", KeyboardSet(5, 1)),
    ("=5;2u", KeyboardSet(5, 2)),
    ("=5;3u", KeyboardSet(5, 3)),
    (">4;2m", ModifyOtherKeys(2)),
    (">4m", ModifyOtherKeys(0)),
    (">m", ModifyOtherKeys(0)),
    (">4n", ModifyOtherKeys(0)),
    (">1;2m", None),
    (">2n", None),
    ("2 q", CursorStyled(2)),
    (" q", CursorStyled(0)),
    ("!p", TerminalReset(soft=True)),
    ('61"p', None),
    ("22;0t", None),
    ("23;0t", None),
    ("8;24;80t", None),
    ("m", None),
    ("H", None),
    ("u", None),
    ("$x", None),
    ("1?h", None),
    ("1$2p", None),
    ("?1;2c", None),
    (">4;1;2t", None),
]


@pytest.mark.parametrize(("sequence", "event"), CONTROLS, ids=[row[0] for row in CONTROLS])
def test_control_sequences(sequence: str, event: TerminalEvent | None) -> None:
    assert read_control(sequence.encode()) == event


def test_numbers_and_their_count_are_bounded() -> None:
    assert read_control(b"?" + b"9" * 4000 + b"h") == ModeChanged((999_999_999,), private=True, on=True)
    event = read_control(b"?" + b"1;" * 2000 + b"2h")
    assert event == ModeChanged((1,) * 32, private=True, on=True)


@pytest.mark.parametrize(
    ("letter", "event"),
    [
        ("c", TerminalReset(soft=False)),
        ("Z", Query(b"\x1bZ")),
        ("=", ModeChanged((66,), private=True, on=True)),
        (">", ModeChanged((66,), private=True, on=False)),
        ("7", None),
        ("M", None),
    ],
)
def test_escapes(letter: str, event: TerminalEvent | None) -> None:
    assert read_escape(ord(letter)) == event


STRINGS: list[tuple[str, str, TerminalEvent | bool | None]] = [
    ("title", "]0;a title", Osc(0, "a title")),
    ("title with semicolons", "]0;a;b;?", Osc(0, "a;b;?")),
    ("title that asks", "]2;?", Osc(2, "?")),
    ("leading zeros", "]00;x", Osc(0, "x")),
    ("no semicolon", "]104", Osc(104, "")),
    ("no number", "]Pff0000", Osc(None, "Pff0000")),
    ("no number, semicolon", "]x;y", Osc(None, "x;y")),
    ("nothing", "]", Osc(None, "")),
    ("enormous number", "]99999999999;x", Osc(None, "99999999999;x")),
    ("directory", "]7;file://host/a?b", Osc(7, "file://host/a?b")),
    ("link", "]8;;?", Osc(8, ";?")),
    ("notification", "]9;?", Osc(9, "?")),
    ("progress", "]9;4;1;50", Osc(9, "4;1;50")),
    ("clipboard write", "]52;c;QQ==", Osc(52, "c;QQ==")),
    ("set colour", "]11;#000000", Osc(11, "#000000")),
    ("prompt mark", "]133;A;?", Osc(133, "A;?")),
    ("program state", "]7501;state=idle:app=codex", Osc(7501, "state=idle:app=codex")),
    ("palette query", "]4;1;?", True),
    ("palette query among others", "]4;1;#fff;2;?", True),
    ("special colour query", "]5;0;?", True),
    ("foreground query", "]10;?", True),
    ("background query", "]11;?", True),
    ("cursor colour query", "]12;?", True),
    ("several colour queries", "]10;?;?", True),
    ("highlight query", "]17;?", True),
    ("kitty colours query", "]21;foreground=?;cursor=#fff", True),
    ("pointer shape query", "]22;?pointer", True),
    ("font query", "]50;?", True),
    ("clipboard query", "]52;c;?", True),
    ("allowed operations", "]60", True),
    ("disallowed operations", "]61;allowColorOps", True),
    ("kitty notification query", "]99;i=1:p=?;", True),
    ("program state query", "]7501;?", True),
    ("iTerm cell size", "]1337;ReportCellSize", True),
    ("iTerm variable", "]1337;ReportVariable=bmFtZQ==", True),
    ("iTerm image", "]1337;File=inline=1:AAAA", Osc(1337, "File=inline=1:AAAA")),
    ("kitty clipboard read", "]5522;type=read;Lg==", True),
    ("DECRQSS", "P$qm", True),
    ("XTGETTCAP", "P+q544e", True),
    ("kitty remote control", 'P@kitty-cmd{"cmd":"ls"}', True),
    ("sixel", "Pq#0;1", None),
    ("tmux passthrough", "Ptmux;x", None),
    ("kitty graphics query", "_Gi=31,a=q;AAAA", True),
    ("kitty graphics with an id", "_Gf=100,i=3;AAAA", True),
    ("kitty graphics, silent", "_Gf=100,i=3,q=2;AAAA", None),
    ("kitty graphics without an id", "_Gf=100;i=3", None),
    ("other APC", "_hello", None),
    ("PM", "^?", None),
    ("SOS", "X?", None),
]


@pytest.mark.parametrize(("string", "event"), [row[1:] for row in STRINGS], ids=[row[0] for row in STRINGS])
def test_strings(string: str, event: TerminalEvent | bool | None) -> None:
    raw = b"\x1b" + string.encode()
    assert read_string(raw) == (Query(raw + b"\x1b\\") if event is True else event)
