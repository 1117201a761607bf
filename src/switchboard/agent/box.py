"""The box a person types into: from reads of the terminal to what they make the agent do (driver)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from switchboard.agent.commands import matching
from switchboard.agent.faults import FaultSwitch
from switchboard.agent.keyboard import Deed, Keyboard, Situation
from switchboard.agent.keystrokes import Key, Keystrokes, Paste, Stroke, Text, is_long
from switchboard.agent.prompt_text import expand_pastes, normalise, placeholder
from switchboard.agent.stage import Stage
from switchboard.common.clock import Clock, Timer

ESCAPE_MS = 50
"""How long a lone Escape may be the beginning of a sequence."""


class Editor(Protocol):
    """The part of the screen that this needs."""

    @property
    def box(self) -> str: ...
    def fill(self, text: str) -> None: ...
    def insert(self, text: str) -> None: ...
    def edit(self, names: tuple[str, ...]) -> None: ...
    def take(self) -> str: ...
    def recall(self, step: int) -> None: ...
    def redraw(self, *, clear: bool = False) -> None: ...


class Owner(Protocol):
    """Whom the box works for."""

    @property
    def busy(self) -> bool: ...
    @property
    def queued(self) -> bool: ...
    def submit(self, text: str) -> None: ...
    def interrupt(self) -> None: ...
    def unqueue(self) -> str: ...
    def leave(self, code: int) -> None: ...


class Box:
    """Feeds reads to the editor, to an open dialog, and to its owner."""

    def __init__(
        self, editor: Editor, stage: Stage, owner: Owner, keystrokes: Keystrokes, clock: Clock, faults: FaultSwitch
    ) -> None:
        self._editor = editor
        self._stage = stage
        self._owner = owner
        self._keystrokes = keystrokes
        self._clock = clock
        self._faults = faults
        self._keyboard = Keyboard()
        self._pastes: list[str] = []
        self._text_at = 0
        self._timer: Timer | None = None
        self._deeds = self._table()

    def on_read(self, text: str, at: int) -> None:
        """Take what one read of the terminal gave; '' when the terminal is gone."""
        if not text:
            self._owner.leave(0)
            return
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self._take(self._keystrokes.read(text, at), at)
        if self._keystrokes.held:
            self._timer = self._clock.call_at(self._clock.now() + ESCAPE_MS, self._flush)

    def _flush(self) -> None:
        self._timer = None
        self._take(self._keystrokes.flush(), self._clock.now())

    def _take(self, strokes: list[Stroke], at: int) -> None:
        for stroke in strokes:
            match stroke:
                case Text(text):
                    self._text(text, at)
                case Paste(text, continues):
                    self._paste(text, at, continues=continues)
                case Key(names):
                    self._key(names, at)
        self._editor.redraw()

    def _text(self, text: str, at: int) -> None:
        if self._stage.dialog_open:
            self._stage.typed(text)
            return
        self._stage.notice("")
        self._text_at = at
        self._editor.insert(text)

    def _paste(self, text: str, at: int, *, continues: bool) -> None:
        if self._stage.dialog_open:
            return
        self._text_at = at
        if continues and self._pastes:
            # The rest of the paste before: the placeholder that stands for it changes with it.
            number, before = len(self._pastes), self._pastes[-1]
            self._pastes[-1] = before + text
            old, new = placeholder(number, before), placeholder(number, before + text)
            self._editor.fill(new.join(self._editor.box.rsplit(old, 1)))
        elif is_long(text):
            self._pastes.append(text)
            self._editor.insert(placeholder(len(self._pastes), text))
        else:
            self._editor.insert(text)

    def _key(self, names: tuple[str, ...], at: int) -> None:
        situation = Situation(self._editor.box, self._owner.busy, self._stage.dialog_open, self._owner.queued)
        self._keyboard, deed = self._keyboard.pressed(names, situation, at)
        if deed is not Deed.WARN and not situation.dialog:
            self._stage.notice("")
        if deed is Deed.EDIT:
            self._editor.edit(names)
        elif deed is not Deed.NOTHING:
            if names == ("c-m",) and self._swallowed(at):
                return
            self._deeds[deed]()

    def _swallowed(self, at: int) -> bool:
        return self._faults.spend("swallow-enter") or at - self._text_at < self._faults().get("deaf-after-text")

    def _table(self) -> dict[Deed, Callable[[], None]]:
        editor, stage, owner = self._editor, self._stage, self._owner
        return {
            Deed.SUBMIT: self._submit,
            Deed.NEWLINE: lambda: editor.insert("\n"),
            Deed.BREAK_LINE: lambda: editor.fill(editor.box[:-1] + "\n"),
            Deed.CLEAR: lambda: editor.fill(""),
            Deed.INTERRUPT: owner.interrupt,
            Deed.WARN: lambda: stage.notice("Press Ctrl-C again to leave"),
            Deed.LEAVE: lambda: owner.leave(0),
            Deed.COMPLETE: self._complete,
            Deed.PREVIOUS: lambda: editor.recall(-1),
            Deed.NEXT: lambda: editor.recall(1),
            Deed.UNQUEUE: lambda: editor.fill(owner.unqueue()),
            Deed.CHOOSE: stage.choose,
            Deed.CANCEL: stage.cancel,
            Deed.OPTION_UP: lambda: stage.move(-1),
            Deed.OPTION_DOWN: lambda: stage.move(1),
            Deed.REDRAW: lambda: editor.redraw(clear=True),
        }

    def _submit(self) -> None:
        text = normalise(expand_pastes(self._editor.take(), tuple(self._pastes)))
        self._pastes.clear()
        self._owner.submit(text)

    def _complete(self) -> None:
        candidates = matching(self._editor.box)
        if len(candidates) == 1:
            self._editor.fill(f"{candidates[0]} ")
