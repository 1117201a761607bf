"""The modes a terminal is in, as far as a page must reproduce them.

A page that joins late shows a terminal that was not there when the session set its modes. `TerminalModes` follows the
output and says how to bring a fresh terminal to where the session's terminal stands, and how to leave it again.

Modes that exclude each other are one value here: the mouse report (the last one set; resetting any of them turns the
mouse off, as in xterm), its encoding, the screen. Kitty keyboard flags are a stack for each screen. Synchronised output
(2026) is not kept: a page that began with it would show nothing until the session's next frame.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Final

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

_WRAP, _CURSOR = 7, 25
_ON_AT_FIRST: Final = frozenset({_WRAP, _CURSOR})

_KEPT_PRIVATE: Final = frozenset(
    {
        1,  # cursor keys send SS3
        5,  # reverse video
        6,  # origin at the scrolling region
        _WRAP,
        12,  # blinking cursor
        _CURSOR,  # visible
        45,  # reverse wraparound
        66,  # keypad sends SS3
        67,  # backarrow sends BS
        1004,  # focus reports
        1007,  # wheel sends arrow keys on the alternate screen
        1036,  # Meta sends ESC
        2004,  # bracketed paste
        2027,  # grapheme clusters
        2031,  # colour scheme reports
        2048,  # size reports
        9001,  # win32 input
    }
)
_KEPT_ANSI: Final = frozenset({4, 20})  # insert, newline

_MOUSE: Final = frozenset({9, 1000, 1001, 1002, 1003})
_MOUSE_ENCODINGS: Final = frozenset({1005, 1006, 1015, 1016})
_ALTERNATE: Final = frozenset({47, 1047, 1049})

_SOFT_RESET: Final = frozenset({1, 6, 66})
"""What DECSTR turns off; it also turns wrap and the cursor on and insert mode off. Terminals differ on the rest."""

MAX_KEYBOARD_STACK: Final = 16
"""Entries of a kitty keyboard stack; the oldest goes first. Terminals keep about as many."""

_MAX_NUMBER: Final = 0xFFFF
"""Flags and levels beyond it are no terminal's."""


@dataclass(frozen=True, slots=True)
class TerminalModes:
    """The modes as they stand. A new value is a terminal after power-on.

    `private`, `ansi`: the modes that are on. `mouse`, `mouse_encoding`, `alternate`: the private mode that is in force,
    None when none is. `keyboard`, `alternate_keyboard`: the stacks of kitty keyboard flags, the current ones last.
    """

    private: frozenset[int] = _ON_AT_FIRST
    ansi: frozenset[int] = frozenset()
    mouse: int | None = None
    mouse_encoding: int | None = None
    alternate: int | None = None
    keyboard: tuple[int, ...] = (0,)
    alternate_keyboard: tuple[int, ...] = (0,)
    modify_other_keys: int = 0
    cursor_style: int = 0

    @property
    def bracketed_paste(self) -> bool:
        """Pastes are wrapped in markers."""
        return 2004 in self.private

    @property
    def focus_reports(self) -> bool:
        """The terminal reports when it gains and loses focus."""
        return 1004 in self.private

    def after(self, event: TerminalEvent) -> TerminalModes:
        """Return the modes after an event of the output; equal ones when nothing has changed."""
        return self if isinstance(event, (Bell, Osc, Query)) else _step(self, event)

    def restore(self) -> bytes:
        """Return what brings a fresh terminal to these modes.

        Written before the text of a replay: a screen that is entered afterwards would be empty. The modes of that text
        then end where they stand now. A reader that is fed these bytes comes to equal modes, so they also store them.
        """
        out = [_keyboard(self.keyboard)]
        if self.alternate is not None:
            out += [_private([self.alternate], "h"), _keyboard(self.alternate_keyboard)]
        out += [_ansi(self.ansi, "h"), _private(_ON_AT_FIRST - self.private, "l")]
        out += [_private(self.private - _ON_AT_FIRST, "h")]
        out += [_private([mode], "h") for mode in (self.mouse, self.mouse_encoding) if mode is not None]
        if self.modify_other_keys:
            out.append(f"\x1b[>4;{self.modify_other_keys}m")
        if self.cursor_style:
            out.append(f"\x1b[{self.cursor_style} q")
        return "".join(out).encode("ascii")

    def leave(self) -> bytes:
        """Return what brings a terminal in these modes back to what a shell expects, with its own screen in view.

        Modes that a shell would suffer from are turned off even where they are not known to be on. The rest is touched
        only where it was changed, so that nothing is sent that an old terminal might misread.
        """
        out = ["\x18"]  # ends a sequence that was cut
        if self.alternate is not None:
            out.append(_keyboard_left(self.alternate_keyboard))
        out += [_private(_MOUSE - {1001}, "l"), _private(_MOUSE_ENCODINGS, "l")]
        out.append(_private((self.private | {1, 1004, 2004, 2031}) - _ON_AT_FIRST - {66}, "l"))
        out.append(_ansi(self.ansi | {4}, "l"))
        if self.modify_other_keys:
            out.append("\x1b[>4m")
        # Setting the scrolling region moves the cursor, hence the brackets. Then plain colours and plain letters.
        out.append("\x1b7\x1b[r\x1b8\x1b[m\x1b(B\x0f\x1b>")
        if self.alternate is not None:
            out.append(_private([self.alternate], "l"))
        out.append(_keyboard_left(self.keyboard))
        out.append(_private(_ON_AT_FIRST, "h"))
        if self.cursor_style:
            out.append("\x1b[0 q")
        return "".join(out).encode("ascii")

    def _after(self, event: TerminalEvent) -> TerminalModes:
        match event:
            case ModeChanged(modes, private, on):
                return self._switched_private(modes, on) if private else self._switched_ansi(modes, on)
            case TerminalReset(soft):
                return self._soft_reset() if soft else TerminalModes()
            case KeyboardPushed(flags):
                return self._with_stack((*self._stack, min(flags, _MAX_NUMBER))[-MAX_KEYBOARD_STACK:])
            case KeyboardPopped(count):
                return self._with_stack(self._stack[:-count] or (0,))
            case KeyboardSet(flags, how):
                return self._with_stack((*self._stack[:-1], _combined(self._stack[-1], flags, how)))
            case ModifyOtherKeys(level):
                return replace(self, modify_other_keys=min(level, _MAX_NUMBER))
            case CursorStyled(style):
                return replace(self, cursor_style=min(style, _MAX_NUMBER))
        return self

    @property
    def _stack(self) -> tuple[int, ...]:
        return self.keyboard if self.alternate is None else self.alternate_keyboard

    def _with_stack(self, stack: tuple[int, ...]) -> TerminalModes:
        if self.alternate is None:
            return replace(self, keyboard=stack)
        return replace(self, alternate_keyboard=stack)

    def _switched_ansi(self, modes: tuple[int, ...], on: bool) -> TerminalModes:
        kept = _KEPT_ANSI.intersection(modes)
        return replace(self, ansi=self.ansi | kept if on else self.ansi - kept)

    def _switched_private(self, modes: tuple[int, ...], on: bool) -> TerminalModes:
        after = self
        for mode in modes:
            if mode in _KEPT_PRIVATE:
                after = replace(after, private=after.private | {mode} if on else after.private - {mode})
            elif mode in _MOUSE:
                after = replace(after, mouse=mode if on else None)
            elif mode in _MOUSE_ENCODINGS:
                after = replace(after, mouse_encoding=mode if on else None)
            elif mode in _ALTERNATE and on != (after.alternate is not None):
                # A screen's keyboard stack is its own. Programs leave theirs empty, so the next one starts afresh.
                after = replace(after, alternate=mode if on else None, alternate_keyboard=(0,))
        return after

    def _soft_reset(self) -> TerminalModes:
        private = (self.private - _SOFT_RESET) | _ON_AT_FIRST
        return replace(self, private=private, ansi=self.ansi - {4}, cursor_style=0)


@lru_cache(maxsize=1024)
def _step(modes: TerminalModes, event: TerminalEvent) -> TerminalModes:
    # Programs go round between few modes (the cursor is hidden for each frame), some thousands of times a second.
    after = modes._after(event)  # noqa: SLF001  # the method's cache, kept outside because it outlives each value
    return modes if after == modes else after


def _combined(current: int, flags: int, how: int) -> int:
    result = {1: flags, 2: current | flags, 3: current & ~flags}.get(how, current)
    return min(result, _MAX_NUMBER)


def _private(modes: Iterable[int], final: str) -> str:
    numbers = ";".join(map(str, sorted(modes)))
    return f"\x1b[?{numbers}{final}" if numbers else ""


def _ansi(modes: Iterable[int], final: str) -> str:
    numbers = ";".join(map(str, sorted(modes)))
    return f"\x1b[{numbers}{final}" if numbers else ""


def _keyboard(stack: tuple[int, ...]) -> str:
    first, *pushed = stack
    return (f"\x1b[={first};1u" if first else "") + "".join(f"\x1b[>{flags}u" for flags in pushed)


def _keyboard_left(stack: tuple[int, ...]) -> str:
    first, *pushed = stack
    return (f"\x1b[<{len(pushed)}u" if pushed else "") + ("\x1b[=0;1u" if first else "")
