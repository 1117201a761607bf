"""`switchboard watch`: the terminal page (driver).

Connects the person's terminal, the pure model of the page, and the host. Nothing here waits in a loop: input, messages,
signals and the terminal's readiness are callbacks of the event loop, and at rest no timer runs.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import time
from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from switchboard.common.clock import Clock, Timer
from switchboard.page import messages
from switchboard.page.local_client import HostUnavailable
from switchboard.page.local_connection import LocalConnection
from switchboard.page.messages import HostMessage, OpenSession, PageMessage
from switchboard.page.terminal.commands import Do, Leave, Refuse, Send, Show, ShowList, Tell
from switchboard.page.terminal.display import Display, Place
from switchboard.page.terminal.keys import HOLD_MS, Key, ListKeys
from switchboard.page.terminal.listing import Frame, page_rows, picture
from switchboard.page.terminal.look import look_of
from switchboard.page.terminal.model import Model, Where
from switchboard.page.terminal.passing import Command, Passed, Passing, Who
from switchboard.page.terminal.returning import Returning, Waiting
from switchboard.page.terminal.screen import Picture
from switchboard.page.terminal.tty import NotATerminal, Tty
from switchboard.page.terminal.viewing import Viewing

NEEDS_TERMINAL = "switchboard watch needs a terminal"
NEEDS_CURSOR = (
    "switchboard watch needs a terminal that can move its cursor, and TERM is {term}; "
    "use `switchboard ls` here, or set TERM to what your terminal is"
)

_LEAVING = (signal.SIGTERM, signal.SIGHUP, signal.SIGINT)
_HUNG_UP = 128 + signal.SIGHUP


async def run(
    socket_path: str,
    session_id: str | None,
    *,
    stdin_fd: int,
    stdout_fd: int,
    env: Mapping[str, str],
    clock: Clock,
    version: str = "",
    explain: Callable[[Exception], str] = str,
) -> int:
    """Show the host's sessions until the person leaves; return the exit code.

    `session_id`: begin with this session (an id, the start of one, or a name). `env` gives TERM, NO_COLOR, the locale,
    HOME and PWD. `explain` says what to tell a person when the host cannot be reached. What goes wrong is written to
    standard error in one line, with the terminal back as it was: no host, no terminal, another version of the host
    (code 1); a signal (128 and its number).
    """
    if env.get("TERM", "") in {"", "dumb"}:
        return _fail(NEEDS_CURSOR.format(term=repr(env["TERM"]) if env.get("TERM") else "not set"))
    app = App(session_id, env, clock, lambda page: Returning(socket_path, version, page, clock, explain))
    try:
        terminal = Tty(stdin_fd, stdout_fd, app.on_input, app.on_drained)
        code, text = await app.run(terminal)
    except NotATerminal:
        return _fail(NEEDS_TERMINAL)
    except HostUnavailable as error:
        return _fail(f"switchboard watch: {error}")
    return _fail(f"switchboard watch: {text}", code) if text else code


def _fail(text: str, code: int = 1) -> int:
    print(text, file=sys.stderr)
    return code


def _folder(env: Mapping[str, str]) -> str:
    try:
        return env.get("PWD") or os.getcwd()
    except OSError:
        return env.get("HOME", "/")  # the working directory has been deleted


class App:
    """One run of the page. Listener of its connection, and told when there is one again."""

    def __init__(
        self,
        session_id: str | None,
        env: Mapping[str, str],
        clock: Clock,
        returning: Callable[[Waiting], Returning],
    ) -> None:
        self._returning = returning(self)
        self._clock = clock
        self._model = Model(Where(_folder(env), env.get("HOME", "/")), session_id)
        self._viewing = Viewing()
        self._display = Display(look_of(env), self._viewing)
        self._typing = (ListKeys(), Passing())
        self._hold: Timer | None = None
        self._connection: LocalConnection | None = None
        self._drawing = False
        self._ended: asyncio.Future[tuple[int, str]] = asyncio.get_running_loop().create_future()

    async def run(self, terminal: Tty) -> tuple[int, str]:
        """Return the exit code and what to say after the terminal is restored. Raises `HostUnavailable`."""
        self._tty = self._display.tty = terminal
        self._connection = await self._returning.connect()
        loop = asyncio.get_running_loop()
        loop.set_exception_handler(self._failed)
        try:
            self._signals(loop)
            terminal.enter()
            return await self._ended
        finally:
            self._signals(None)
            self._display.leave()
            loop.set_exception_handler(None)
            if self._hold is not None:
                self._hold.cancel()
            await self._returning.end()
            if self._connection is not None:
                await self._connection.leave(self._clock)

    # --- the connection (`Listener`)

    def message(self, message: HostMessage) -> None:
        match message:
            case messages.Attached():
                first, answers = self._viewing.attached(message)
                self._display.output(first)
                self._say(answers)
            case messages.Resync():
                self._display.output(self._viewing.resync(message))
            case messages.Size():
                self._viewing.sized(message)
                if message.free and message.session == self._viewing.handle:
                    self._say(self._viewing.freed(*self._tty.size()))
            case _:
                if isinstance(message, messages.Welcome):
                    self._returning.refusals = 0
                self._do(self._model.receive(message))

    def output(self, session: int, seq: int, data: bytes) -> None:
        self._display.output(self._viewing.output(session, seq, data))

    def congested(self, full: bool) -> None:
        self._tty.read(not full)

    def lost(self, reason: str | None) -> None:
        self._connection = None
        self._viewing.lost()
        if self._ended.done():
            return
        if reason is not None:
            self._do([Leave(1, reason)])
            return
        self._tty.read(True)
        if self._model.link.refused:
            self._returning.refusals += 1
        self._do(self._model.lost())
        self._returning.begin()

    # --- the way back (`Waiting`)

    def back(self, connection: LocalConnection) -> None:
        self._connection = connection

    def stuck(self, why: str) -> None:
        self._do(self._model.stuck(why))

    def given_up(self, error: OSError) -> None:
        self._do([Leave(1, f"the host has gone, and its folder cannot be watched for its return: {error}")])

    # --- the terminal

    def on_input(self, data: bytes) -> None:
        """The person typed, or the terminal hung up (empty)."""
        if not data:
            self._end(_HUNG_UP)
            return
        if self._hold is not None:
            self._hold.cancel()
            self._hold = None
        self._typed(data)
        if any(reader.held for reader in self._typing):
            self._hold = self._clock.call_at(self._clock.now() + HOLD_MS, self._flush)

    def on_drained(self) -> None:
        """The terminal has taken everything that had to wait."""
        self._say(self._viewing.recover())
        self._soon()

    def _flush(self) -> None:
        self._hold = None
        listed, passing = self._typing
        self._keys(listed.flush())
        self._pass(passing.flush())

    def _typed(self, data: bytes) -> None:
        listed, passing = self._typing
        if self._model.shown is None:
            self._keys(listed.feed(data))
        else:
            self._pass(passing.feed(data))

    def _keys(self, keys: list[Key]) -> None:
        rows = page_rows(self._tty.size()[1])
        for at, key in enumerate(keys):
            self._do(self._model.press(key, rows))
            if self._model.shown is not None:
                # Typed after the key that shows a session, so meant for the session.
                self._typed(b"".join(k.raw for k in keys[at + 1 :]))
                return

    def _pass(self, read: list[Passed | Command]) -> None:
        for part in read:
            if isinstance(part, Command):
                self._do(self._model.prefixed(part.key) if self._model.shown is not None else [])
            elif self._model.shown is None:
                self._typed(part.data)
            else:
                self._type(part.data, part.who)

    def _type(self, data: bytes, who: Who) -> None:
        session = self._model.catalog.find(self._model.shown)
        if who is not Who.PERSON:
            answers = self._viewing.owner and (who is Who.REPORT or self._viewing.queried)
            if answers and self._connection is not None and session is not None:
                self._connection.type(session.handle or 0, data)
        elif self._connection is None or not self._model.link.listed:
            self._do([Refuse("not connected to the host: what you type goes nowhere")])
        elif session is None or session.state != "open" or session.handle is None:
            self._do([Refuse("this session has ended: what you type goes nowhere")])
        else:
            self._say(self._viewing.typed(*self._tty.size()))
            self._connection.type(session.handle, data)

    # --- signals

    def _signals(self, loop: asyncio.AbstractEventLoop | None) -> None:
        """Take the signals over (None: give them back)."""
        handlers = {number: (self._end, (128 + number,)) for number in _LEAVING}
        callbacks: dict[signal.Signals, tuple[Any, tuple[int, ...]]] = {
            **handlers,
            signal.SIGWINCH: (self._resized, ()),
            signal.SIGTSTP: (self._stopped, ()),
            signal.SIGCONT: (self._continued, ()),
        }
        for number, (callback, arguments) in callbacks.items():
            if loop is not None:
                loop.add_signal_handler(number, callback, *arguments)
            else:
                asyncio.get_running_loop().remove_signal_handler(number)

    def _resized(self) -> None:
        if self._viewing.handle is not None:
            self._say([messages.Focus(self._viewing.handle, *self._tty.size())])
            self._viewing.owner = True
        self._display.repaint()
        self._soon()

    def _stopped(self) -> None:
        """Somebody stops this process (not by a key: those are the session's): lend the terminal to the shell."""
        self._display.leave()
        os.kill(os.getpid(), signal.SIGSTOP)
        self._tty.enter()

    def _continued(self) -> None:
        """This process was stopped, and a shell may have used the terminal: everything is shown anew."""
        self._tty.again()
        self._viewing.hide()
        self._do([ShowList() if self._model.shown is None else Show(self._model.shown)])

    # --- what is to be done

    def _do(self, todo: list[Do]) -> None:
        for command in todo:
            match command:
                case Send(message):
                    self._say([self._sized(message)])
                case Show(handle):
                    self._show(handle)
                case ShowList():
                    self._say(self._viewing.hide())
                    self._display.to_list()
                case Tell(text):
                    self._display.tell(text)
                case Refuse(why):
                    self._display.bell()
                    self._display.tell(why)
                case Leave(code, text):
                    self._end(code, text)
        self._soon()

    def _show(self, handle: int) -> None:
        size = self._tty.size()
        if self._viewing.handle == handle and self._display.place is Place.SESSION:
            self._say(self._viewing.again(*size))
            return
        self._display.to_session()
        self._say(self._viewing.show(handle, *size))

    def _sized(self, message: PageMessage) -> PageMessage:
        """A session opened from here is as large as this terminal from its first byte."""
        if not isinstance(message, OpenSession):
            return message
        columns, rows = self._tty.size()
        return msgspec.structs.replace(message, columns=columns, rows=rows)

    def _say(self, said: list[PageMessage]) -> None:
        if self._connection is not None:
            for message in said:
                self._connection.send(message)

    def _end(self, code: int, text: str = "") -> None:
        if not self._ended.done():
            self._ended.set_result((code, text))

    def _failed(self, _loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        """A callback failed: the terminal is restored before anybody hears of it."""
        if not self._ended.done():
            self._ended.set_exception(context.get("exception") or RuntimeError(context["message"]))

    # --- drawing

    def _soon(self) -> None:
        """Draw in the next turn of the loop, however much changes in this one."""
        if not self._drawing:
            self._drawing = True
            asyncio.get_running_loop().call_soon(self._draw)

    def _draw(self) -> None:
        self._drawing = False
        if self._ended.done():
            return
        if self._display.place is Place.NOTHING:
            if self._connection is not None and not self._model.link.listed:
                return  # the host's list is on its way, and may lead to a session at once
            self._do([ShowList()])
        if self._display.place is Place.LIST and not self._display.busy:
            self._display.draw(self._picture)
        if self._model.link.listed and self._connection is not None:
            self._connection.ready()

    def _picture(self, columns: int, rows: int) -> Picture:
        now = self._clock.now()
        return picture(self._model, Frame(columns, rows, now, time.localtime(now / 1000).tm_gmtoff, self._display.look))
