"""The line editor and what is shown around it (driver of prompt_toolkit).

One prompt_toolkit application runs from the beginning to the end. The usual way, a prompt per line, leaves raw mode
between two prompts and to print above one, and an Enter that arrives just then is lost as a line feed.

The application reads nothing itself: `box` decides what a key means and hands the editing keys on.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import TextIO

from prompt_toolkit.application import Application
from prompt_toolkit.application.current import set_app
from prompt_toolkit.buffer import Buffer
from prompt_toolkit.data_structures import Size
from prompt_toolkit.filters import Condition
from prompt_toolkit.formatted_text import FormattedText
from prompt_toolkit.input import Input
from prompt_toolkit.input.ansi_escape_sequences import ANSI_SEQUENCES
from prompt_toolkit.key_binding import KeyPress
from prompt_toolkit.keys import Keys
from prompt_toolkit.layout import ConditionalContainer, HSplit, Layout, Window
from prompt_toolkit.layout.controls import BufferControl, FormattedTextControl
from prompt_toolkit.layout.dimension import Dimension
from prompt_toolkit.output.color_depth import ColorDepth
from prompt_toolkit.output.vt100 import Vt100_Output
from prompt_toolkit.styles import Style

from switchboard.agent.history import History
from switchboard.agent.view import View, above_box, footer

BOX_ROWS = 10
REDRAW_S = 0.03
"""The least time between two drawings: keys that come in a burst are drawn together."""

_STYLE = Style.from_dict(
    {
        "quiet": "ansibrightblack",
        "working": "ansiyellow",
        "title": "bold",
        "chosen": "bold reverse",
        "rule": "ansibrightblack",
    }
)


def key_sequences() -> dict[str, tuple[str, ...]]:
    """The line editor's names for control characters and escape sequences."""
    return {
        sequence: tuple(key.value for key in (keys if isinstance(keys, tuple) else (keys,)))
        for sequence, keys in ANSI_SEQUENCES.items()
    }


class _NoInput(Input):
    """The application's own input: nothing ever comes."""

    def fileno(self) -> int:
        return 0

    def typeahead_hash(self) -> str:
        return "agent"

    def read_keys(self) -> list[KeyPress]:
        return []

    @property
    def closed(self) -> bool:
        return False

    def raw_mode(self) -> AbstractContextManager[None]:
        return nullcontext()

    def cooked_mode(self) -> AbstractContextManager[None]:
        return nullcontext()

    def attach(self, input_ready_callback: Callable[[], None]) -> AbstractContextManager[None]:
        return nullcontext()

    def detach(self) -> AbstractContextManager[None]:
        return nullcontext()


class _Output(Vt100_Output):
    """The terminal, with bracketed paste on all the time: the renderer would switch it off for each line printed."""

    def enable_bracketed_paste(self) -> None:
        """Already on."""

    def disable_bracketed_paste(self) -> None:
        """Stays on until the terminal is left."""


class Screen:
    """What is on the screen: printed lines, the view above the box, the box, the foot."""

    def __init__(self, stdout: TextIO, now: Callable[[], int], term: str | None) -> None:
        self._now = now
        self._view = View()
        self._output = _Output(stdout, lambda: _size(stdout), term=term, enable_cpr=False)
        self._output.write_raw("\x1b[?2004h")
        self._buffer = Buffer(multiline=True)
        self._history = History()
        self._app: Application[int] = Application(
            layout=Layout(self._layout()),
            style=_STYLE,
            include_default_pygments_style=False,
            input=_NoInput(),
            output=self._output,
            color_depth=ColorDepth.DEPTH_4_BIT,
            erase_when_done=True,
            min_redraw_interval=REDRAW_S,
            terminal_size_polling_interval=None,  # SIGWINCH tells; polling would wake an idle process twice a second
        )
        # A key that may begin a longer one waits for the next key, not for a second that wakes an idle process.
        self._app.timeoutlen = None  # type: ignore[assignment]  # documented, but annotated as a float

    # -- what is shown

    def show(self, view: View) -> None:
        """Show this around the box from now on."""
        self._view = view
        self._app.invalidate()

    def redraw(self, *, clear: bool = False) -> None:
        """Draw again; `clear`: on an empty screen."""
        if clear:
            self._app.renderer.clear()
        self._app.invalidate()

    def print(self, text: str) -> None:
        """Add lines above the box."""
        if self._app.is_running:
            self._app.renderer.erase()
        self._output.write_raw(text.replace("\n", "\r\n") + "\r\n")
        self._output.flush()
        self._app.invalidate()

    def control(self, sequence: str) -> None:
        """Send a sequence that does not move the cursor."""
        self._output.write_raw(sequence)
        self._output.flush()

    # -- the box

    @property
    def box(self) -> str:
        """The text in the box."""
        return self._buffer.text

    def fill(self, text: str) -> None:
        """Replace the box's text; the cursor goes to its end."""
        self._buffer.text = text
        self._buffer.cursor_position = len(text)

    def insert(self, text: str) -> None:
        """Put text where the cursor is."""
        self._buffer.insert_text(text)

    def edit(self, names: tuple[str, ...]) -> None:
        """Let the line editor handle a key."""
        with set_app(self._app):
            for name in names:
                key: Keys | str = name if len(name) == 1 else Keys(name)
                self._app.key_processor.feed(KeyPress(key, name if len(name) == 1 else ""))
            self._app.key_processor.process_keys()
        self._app.invalidate()

    def take(self) -> str:
        """Empty the box into the history, and return what it held."""
        text = self._buffer.text
        self._buffer.reset()
        self._history = self._history.added(text)
        self._app.invalidate()
        return text

    def recall(self, step: int) -> None:
        """Move a line up (-1) or down (1), or to the prompt before or after when there is no such line."""
        document = self._buffer.document
        if step < 0 and document.cursor_position_row > 0:
            self._buffer.cursor_up()
        elif step > 0 and document.cursor_position_row < document.line_count - 1:
            self._buffer.cursor_down()
        else:
            self._history, text = self._history.moved(step, self._buffer.text)
            if text is not None:
                self.fill(text)

    def remember(self, prompt: str) -> None:
        """Put an earlier prompt into the history."""
        self._history = self._history.added(prompt)

    # -- its life

    async def run(self) -> int:
        """Show everything until `leave`; return the exit code given there."""
        return await self._app.run_async(handle_sigint=False, set_exception_handler=False)

    def leave(self, code: int) -> None:
        """End; a second time does nothing."""
        if self._app.is_running and not self._app.is_done:
            self._app.exit(result=code)

    def _layout(self) -> HSplit:
        no_dialog = Condition(lambda: self._view.dialog is None)
        above = FormattedTextControl(lambda: FormattedText(above_box(self._view, self._now())))
        foot = FormattedTextControl(lambda: FormattedText(footer(self._view, self._buffer.text)))
        box = Window(
            BufferControl(self._buffer),
            wrap_lines=True,
            dont_extend_height=True,
            height=Dimension(min=1, max=BOX_ROWS),
            get_line_prefix=lambda line, wrapped: "> " if line == 0 and not wrapped else "  ",
        )
        return HSplit(
            [
                ConditionalContainer(
                    Window(above, wrap_lines=True, dont_extend_height=True),
                    Condition(lambda: bool(above_box(self._view, 0))),
                ),
                ConditionalContainer(Window(height=1, char="\u2500", style="class:rule"), no_dialog),
                ConditionalContainer(box, no_dialog),
                Window(foot, height=1),
            ]
        )


def _size(stdout: TextIO) -> Size:
    try:
        columns, rows = os.get_terminal_size(stdout.fileno())
    except OSError:
        columns, rows = 0, 0
    # A terminal that was never given a size says 0 x 0.
    return Size(rows=rows or 24, columns=columns or 80)
