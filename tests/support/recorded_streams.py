"""Output as agents and shells really print it, written down by hand from what was seen, with what it says.

Pure data. The streams hold what makes reading hard: titles with characters of several bytes, both ends of OSC, queries,
mode lists, images, strings that hold the start of other sequences, and sequences that end in the middle.
"""

from __future__ import annotations

from switchboard.sessions.vocabulary import (
    Bell,
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
)


def on(*modes: int) -> ModeChanged:
    return ModeChanged(modes, private=True, on=True)


def off(*modes: int) -> ModeChanged:
    return ModeChanged(modes, private=True, on=False)


AGENT_START = (
    b"\x1b[?2004h\x1b[?1004h\x1b[?2031h\x1b[>0q\x1b[c\x1b[?u\x1b]7501;?\x1b\\"
    b"\x1b[?1049h\x1b[?1000h\x1b[?1002h\x1b[?1003h\x1b[?1006h\x1b[>1u\x1b[>4;2m"
    b"\x1b]0;\xe2\x9c\xb3 Claude Code\x07"
    b"\x1b[?2026h\x1b[?25l\x1b[H\x1b[2J\x1b[38;2;215;119;87m\xe2\x95\xad\xe2\x94\x80\xe2\x94\x80\xe2\x95\xae\x1b[39m\r\n"
    b"\x1b[1mWelcome\x1b[22m \x1b[48;5;237m > \x1b[49m\x1b[7m \x1b[27m\x1b[K\x1b[12;3H\x1b[?25h\x1b[?2026l"
)
AGENT_START_SAYS: list[TerminalEvent] = [
    on(2004),
    on(1004),
    on(2031),
    Query(b"\x1b[>0q"),
    Query(b"\x1b[c"),
    Query(b"\x1b[?u"),
    Query(b"\x1b]7501;?\x1b\\"),
    on(1049),
    on(1000),
    on(1002),
    on(1003),
    on(1006),
    KeyboardPushed(1),
    ModifyOtherKeys(2),
    Osc(0, "✳ Claude Code"),
    on(2026),
    off(25),
    on(25),
    off(2026),
]

AGENT_TURN = (
    b"\x1b]0;\xe2\x97\x90 fix the bug\x07\x1b]9;4;3;\x07"
    b"\x1b[?2026h\x1b[3A\x1b[2K\xc2\xb7 Thinking\xe2\x80\xa6 (3s)\x1b[?2026l"
    b"\x1b]0;\xe2\x97\x91 fix the bug\x07\x1b]8;id=1;https://example.org/?a;b=?\x1b\\link\x1b]8;;\x1b\\"
    b"\x1b]9;Claude needs your permission to use Bash\x07\x07\x07\x1b]9;4;0;\x07\x1b]0;\xe2\x9c\xb3 fix the bug\x07\x07"
    b"\x1b]52;c;aGVsbG8=\x07\x1b]777;notify;Done;really?\x07"
)
AGENT_TURN_SAYS: list[TerminalEvent] = [
    Osc(0, "◐ fix the bug"),
    Osc(9, "4;3;"),
    on(2026),
    off(2026),
    Osc(0, "◑ fix the bug"),
    Osc(8, "id=1;https://example.org/?a;b=?"),
    Osc(8, ";"),
    Osc(9, "Claude needs your permission to use Bash"),
    Bell(),
    Osc(9, "4;0;"),
    Osc(0, "✳ fix the bug"),
    Bell(),
    Osc(52, "c;aGVsbG8="),
    Osc(777, "notify;Done;really?"),
]

AGENT_LEAVES = (
    b"\x1b[<1u\x1b[>4m\x1b[?1003l\x1b[?1002l\x1b[?1000l\x1b[?1006l\x1b[?1049l\x1b[?2031l\x1b[?1004l\x1b[?2004l\x1b[?25h"
    b"\x1b]0;\x07\x1b[0 q"
)
AGENT_LEAVES_SAYS: list[TerminalEvent] = [
    KeyboardPopped(1),
    ModifyOtherKeys(0),
    off(1003),
    off(1002),
    off(1000),
    off(1006),
    off(1049),
    off(2031),
    off(1004),
    off(2004),
    on(25),
    Osc(0, ""),
    CursorStyled(0),
]

EDITOR = (
    b"\x1b[?1049h\x1b[22;0;0t\x1b[?1h\x1b=\x1b[?2004h\x1b[?7;25h\x1b[4l\x1b[>4;2m\x1b[1;40r\x1b]11;?\x07\x1b]10;?\x1b\\"
    b"\x1bP+q436f;6b62\x1b\\\x1bP$q q\x1b\\\x1b[?12$p\x1b[6n\x1b[?6n\x1b[5n\x1b[>c\x1b[=c\x1b[18t\x1b[14t\x1b[2 q"
    b"\x1b]4;1;?;2;?\x07\x1b]52;c;?\x07\x1b(B\x1b)0\x1b#8\x1b[m~\r\n~\x1b[38:2::1:2:3mx\x1b[=5;1u\x1b[=2;2u"
    b"\x1b[?1l\x1b>\x1b[!p\x1b[23;0;0t\x1b[?1049l\x1bc"
)
EDITOR_SAYS: list[TerminalEvent] = [
    on(1049),
    on(1),
    on(66),
    on(2004),
    on(7, 25),
    ModeChanged((4,), private=False, on=False),
    ModifyOtherKeys(2),
    Query(b"\x1b]11;?\x1b\\"),
    Query(b"\x1b]10;?\x1b\\"),
    Query(b"\x1bP+q436f;6b62\x1b\\"),
    Query(b"\x1bP$q q\x1b\\"),
    Query(b"\x1b[?12$p"),
    Query(b"\x1b[6n"),
    Query(b"\x1b[?6n"),
    Query(b"\x1b[5n"),
    Query(b"\x1b[>c"),
    Query(b"\x1b[=c"),
    Query(b"\x1b[18t"),
    Query(b"\x1b[14t"),
    CursorStyled(2),
    Query(b"\x1b]4;1;?;2;?\x1b\\"),
    Query(b"\x1b]52;c;?\x1b\\"),
    KeyboardSet(5, 1),
    KeyboardSet(2, 2),
    off(1),
    off(66),
    TerminalReset(soft=True),
    off(1049),
    TerminalReset(soft=False),
]

IMAGES_AND_ODDITIES = (
    b"\x1bPq#0;2;0;0;0#1~~@@vv@@~~$\x07-\xc2\x9b6n\x1b\\"  # BEL and C1 inside DCS are payload
    b"\x1b_Gi=31,s=1,v=1,a=q,t=d,f=24;AAAA\x1b\\\x1b_Ga=T,f=100,q=2,i=9;iVBOR\x1b\\\x1b_other\x1b\\\x1b^private\x1b\\"
    b"\xc2\x9d0;C1 title\xc2\x9c\xc2\x9b6n\xc2\x9a\x05"  # the same by their C1 characters
    b"\x1b]0;cut by CAN\x18\x1b]0;cut by SUB\x1a\x1b]0;cut by ESC\x1b[31m"
    b"\x1b]10;?\x1b[0c"  # ended by the next sequence, and some terminals answer
    b"\x1b]0;caf\xc3\xa9 \xf0\x9f\x98\x80 \xc2\xb7 \xe2\x9c\x93\x1b\\"
    b"\x1b[12\r\x1b[?2\x1b[?9l\x1b\x1b[5n"  # broken sequences before whole ones
    b"\x1b]L title without a number\x07\x1b]2;not ours\x07\x1b]0\x07\x1b]\x07\xc2\xa0\xc2"
)
IMAGES_AND_ODDITIES_SAYS: list[TerminalEvent] = [
    Query(b"\x1b_Gi=31,s=1,v=1,a=q,t=d,f=24;AAAA\x1b\\"),
    Osc(0, "C1 title"),
    Query(b"\x1b[6n"),
    Query(b"\x1bZ"),
    Query(b"\x05"),
    Query(b"\x1b]10;?\x1b\\"),
    Query(b"\x1b[0c"),
    Osc(0, "café 😀 · ✓"),
    off(9),
    Query(b"\x1b[5n"),
    Osc(None, "L title without a number"),
    Osc(2, "not ours"),
    Osc(0, ""),
    Osc(None, ""),
]

STREAMS: dict[str, tuple[bytes, list[TerminalEvent]]] = {
    "an agent starts": (AGENT_START, AGENT_START_SAYS),
    "an agent works": (AGENT_TURN, AGENT_TURN_SAYS),
    "an agent leaves": (AGENT_LEAVES, AGENT_LEAVES_SAYS),
    "an editor": (EDITOR, EDITOR_SAYS),
    "images and oddities": (IMAGES_AND_ODDITIES, IMAGES_AND_ODDITIES_SAYS),
}
