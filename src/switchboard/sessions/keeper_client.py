"""The host's end of the keeper (door): start it, take over its sessions, have children forked."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import mmap
import os
import socket
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from switchboard.common.frames import FrameError, FrameReader
from switchboard.common.peers import peer_is_us
from switchboard.sessions.keeper import protocol
from switchboard.sessions.keeper.ring import Ring
from switchboard.sessions.keeper_start import START_SECONDS, dial, start_keeper, what_helps
from switchboard.sessions.keeper_start import KeeperError as KeeperError  # whoever uses the client meets these
from switchboard.sessions.keeper_start import KeeperGoneError as KeeperGoneError

T = TypeVar("T")

RING_BYTES = 512 * 1024
"""Output held per session. With 50 full rings this is 25 MB of the memory that host and keeper share."""

CONNECT_ATTEMPTS = 3

SPAWN_SECONDS = 10.0
"""A program is forked and executed within milliseconds; a keeper that says nothing for so long is stopped or stuck."""


@dataclass(frozen=True, slots=True)
class ExitReport:
    """How a child ended: exit code or signal number (both None when nobody could see it), and when."""

    code: int | None
    signal: int | None
    at: int


@dataclass(slots=True)
class Holding:
    """A session as the keeper hands it over. The host owns the descriptor `master` and the mapping from here on."""

    handle: int
    pid: int
    start: str
    started_at: int
    exit: ExitReport | None
    master: int
    ring: Ring
    mapping: mmap.mmap
    memory: int

    def close(self) -> None:
        """Close our descriptors and unmap the ring; the keeper's copies are its own."""
        self.ring.release()
        self.mapping.close()
        os.close(self.master)
        os.close(self.memory)


class KeeperClient:
    """A connection to the keeper of one folder. Belongs to one event loop.

    `on_exit(handle, report)` is called when a child was reaped, `on_lost()` when the keeper has gone.
    """

    def __init__(self, on_exit: Callable[[int, ExitReport], None], on_lost: Callable[[], None]) -> None:
        self._on_exit = on_exit
        self._on_lost = on_lost
        self._folder = ""
        self._socket: socket.socket | None = None
        self._frames = FrameReader(protocol.MAX_FRAME)
        self._descriptors: list[int] = []
        self._requests: dict[int, asyncio.Future[protocol.Message]] = {}
        self._next_request = 1
        self._handed_over: asyncio.Future[list[Holding]] | None = None
        self._holdings: list[Holding] = []
        self._expected = -1
        self.pid: int | None = None

    @property
    def connected(self) -> bool:
        """Whether the keeper is there."""
        return self._socket is not None

    async def connect(self, folder: str) -> list[Holding]:
        """Connect to the keeper of `folder`, starting one if there is none; return what it holds.

        Raises `KeeperError`.
        """
        self._folder = folder
        for _ in range(CONNECT_ATTEMPTS):
            connection = dial(folder)
            if connection is None:
                await start_keeper(folder)
                connection = dial(folder)
            if connection is None:
                continue
            if not peer_is_us(connection):
                connection.close()
                raise KeeperError(f"{folder}/keeper.sock belongs to another user's process; remove it and try again")
            try:
                return await self._shake_hands(connection)
            except TimeoutError:
                text = f"the session keeper did not answer within {START_SECONDS:g} s; {what_helps(folder)}"
                raise KeeperError(text) from None
            except KeeperGoneError:
                # A killed keeper's socket can still take a connection for a moment: look again.
                continue
        raise KeeperError(f"the session keeper cannot be reached; see {folder}/keeper.log")

    async def _shake_hands(self, connection: socket.socket) -> list[Holding]:
        connection.setblocking(False)
        self._socket = connection
        self._frames = FrameReader(protocol.MAX_FRAME)
        self._expected = -1
        loop = asyncio.get_running_loop()
        self._handed_over = loop.create_future()
        loop.add_reader(connection, self._readable)
        with contextlib.suppress(KeeperGoneError):  # its answer may have come before it closed: that decides
            self._send({"type": "hello", "protocol": protocol.PROTOCOL})
        try:
            async with asyncio.timeout(START_SECONDS):
                return await self._handed_over
        except BaseException:
            # Half a hand-over is none: the next attempt gets everything.
            for holding in self._result(self._handed_over) or self._holdings:
                holding.close()
            self._holdings = []
            self._drop(None)
            raise

    async def spawn(
        self,
        argv: Sequence[str],
        cwd: str,
        env: Mapping[str, str],
        columns: int,
        rows: int,
        label: bytes,
        deadline: int,
    ) -> Holding:
        """Have a child forked on a new terminal. Raises `KeeperError` with the reason when it did not start.

        `deadline`: a wall instant in milliseconds. At it or later it is not started any more, also by a keeper that
        was stopped when it was asked, and that nobody waits for by then.
        """
        request = self._next_request
        self._next_request += 1
        answer: asyncio.Future[protocol.Message] = asyncio.get_running_loop().create_future()
        self._requests[request] = answer
        try:
            self._send(
                {
                    "type": "spawn",
                    "request": request,
                    "argv": list(argv),
                    "cwd": cwd,
                    "env": dict(env),
                    "columns": columns,
                    "rows": rows,
                    "capacity": RING_BYTES,
                    "label": base64.b64encode(label).decode("ascii"),
                    "deadline": deadline,
                }
            )
            async with asyncio.timeout(SPAWN_SECONDS):
                message = await answer
        except (asyncio.CancelledError, TimeoutError) as ended:
            if (late := self._result(answer)) is not None and "holding" in late:
                self._give_up(late["holding"])
            if isinstance(ended, TimeoutError):
                text = f"the session keeper has not started it within {SPAWN_SECONDS:g} s; {what_helps(self._folder)}"
                raise KeeperError(text) from None
            raise
        finally:
            self._requests.pop(request, None)
        if message["type"] == "failed":
            raise KeeperError(str(message["reason"]))
        holding: Holding = message["holding"]
        return holding

    def forget(self, handle: int) -> None:
        """Have the keeper close its copy of the terminal: the child is hung up if it still runs."""
        if self.connected:
            self._send({"type": "forget", "handle": handle})

    def adopt(self, holding: Holding) -> None:
        """Give a session that the previous keeper held to this one."""
        self._send(
            {
                "type": "adopt",
                "handle": holding.handle,
                "pid": holding.pid,
                "start": holding.start,
                "started_at": holding.started_at,
                "fds": 2,
            },
            [holding.master, holding.memory],
        )

    def close(self) -> None:
        """Leave: the keeper reads the terminals from here on. Descriptors handed over stay the caller's to close."""
        self._drop(None)

    # --- frames ---

    def _send(self, message: protocol.Message, descriptors: Sequence[int] = ()) -> None:
        if self._socket is None:
            raise KeeperGoneError("the session keeper is gone; new sessions cannot be opened until it is back")
        data = protocol.encode(message)
        # The keeper reads at once (it does nothing else); a bounded blocking send keeps the order simple.
        self._socket.settimeout(5.0)
        try:
            sent = socket.send_fds(self._socket, [data], list(descriptors)) if descriptors else 0
            self._socket.sendall(data[sent:])
        except OSError as error:
            # What it said last is still to be read; the end of the stream follows.
            raise KeeperGoneError(f"the session keeper is gone ({error.strerror}); try again") from None
        finally:
            if self._socket is not None:
                self._socket.setblocking(False)

    def _readable(self) -> None:
        assert self._socket is not None
        try:
            data, descriptors, _, _ = socket.recv_fds(self._socket, 65536, 16)
        except (BlockingIOError, InterruptedError):
            return
        except OSError:
            data, descriptors = b"", []
        for descriptor in descriptors:
            os.set_inheritable(descriptor, False)
        self._descriptors += descriptors
        try:
            for frame in self._frames.feed(data):
                self._act(protocol.decode(frame))
        except (FrameError, LookupError, TypeError, ValueError):
            data = b""
        if not data:
            self._lost()

    def _act(self, message: protocol.Message) -> None:
        kind = message["type"]
        if kind == "welcome":
            self.pid = message["pid"]
            self._expected = message["sessions"]
            self._maybe_handed_over()
        elif kind == "session":
            self._holdings.append(self._take(message))
            self._maybe_handed_over()
        elif kind == "spawned":
            holding = self._take(message)
            answer = self._requests.get(message["request"])
            if answer is None or answer.done():
                self._give_up(holding)
            else:
                answer.set_result({**message, "holding": holding})
        elif kind == "failed":
            answer = self._requests.get(message["request"])
            if answer is not None and not answer.done():
                answer.set_result(message)
        elif kind == "exited":
            self._on_exit(message["handle"], ExitReport(message["code"], message["signal"], message["at"]))
        elif kind == "refused":
            if self._handed_over is not None and not self._handed_over.done():
                self._handed_over.set_exception(KeeperError(f"the session keeper refused: {message['reason']}"))
            self._lost()

    def _give_up(self, holding: Holding) -> None:
        """Nobody waits for it any more: a terminal that nobody shows must not go on."""
        with contextlib.suppress(KeeperGoneError):
            self.forget(holding.handle)
        holding.close()

    def _take(self, message: protocol.Message) -> Holding:
        master, memory = self._descriptors[0], self._descriptors[1]
        del self._descriptors[:2]
        mapping = mmap.mmap(memory, 0)
        ring = Ring(mapping)
        ring.recover()
        ended = message["exit"]
        report = None if ended is None else ExitReport(ended["code"], ended["signal"], ended["at"])
        return Holding(
            message["handle"], message["pid"], message["start"], message["started_at"], report, master, ring, mapping,
            memory,
        )  # fmt: skip

    def _maybe_handed_over(self) -> None:
        if len(self._holdings) == self._expected and self._handed_over is not None and not self._handed_over.done():
            self._handed_over.set_result(self._holdings)
            self._holdings = []

    def _lost(self) -> None:
        was_connected = self.connected and self._result(self._handed_over) is not None
        self._drop(KeeperGoneError("the session keeper has gone; try again"))
        if was_connected:
            self._on_lost()

    @staticmethod
    def _result(future: asyncio.Future[T] | None) -> T | None:
        """Return what a future holds, None when that is nothing, or a failure."""
        if future is None or not future.done() or future.cancelled() or future.exception() is not None:
            return None
        return future.result()

    def _drop(self, error: KeeperError | None) -> None:
        if self._socket is not None:
            asyncio.get_running_loop().remove_reader(self._socket)
            self._socket.close()
            self._socket = None
        for descriptor in self._descriptors:
            os.close(descriptor)
        self._descriptors = []
        waiting = [*self._requests.values()]
        if self._handed_over is not None:
            waiting.append(self._handed_over)  # type: ignore[arg-type]  # both are failed alike
        for future in waiting:
            if not future.done():
                if error is None:
                    future.cancel()
                else:
                    future.set_exception(error)
        self._requests = {}
