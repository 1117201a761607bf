"""The keeper process: forks the children, holds their terminals, reaps their exits (driver; one thread, no asyncio).

While a host is connected the keeper leaves the terminals alone and only reaps. When the host is gone it reads every
terminal into its ring, so that no child blocks, until the next host comes. It ends itself once it holds nothing and
nobody is connected.
"""

from __future__ import annotations

import base64
import contextlib
import mmap
import os
import selectors
import signal
import socket
import sys
import time
from dataclasses import dataclass
from typing import Any

from switchboard.common.frames import FrameError, FrameReader
from switchboard.common.peers import peer_is_us
from switchboard.sessions.keeper import protocol
from switchboard.sessions.keeper.child import SpawnError, make_ring, spawn, start_identity
from switchboard.sessions.keeper.folder import clear, listen, take_lock
from switchboard.sessions.keeper.ring import Ring

READ_BYTES = 16 * 1024
"""One read of a terminal; the kernel hands out at most 4 KiB at a time."""

SEND_SECONDS = 5.0
"""A host that does not take a message for so long is given up."""

EXITED_SECONDS = 60.0
"""Sessions that ended while no host was there are kept so long for one that comes back: exit status and last words."""

FIRST_HOST_SECONDS = 30.0
"""A keeper that no host has connected to by then ends itself."""


@dataclass
class Held:
    """One session in the keeper's hands. `exit` is None while the process runs."""

    handle: int
    pid: int
    start: str
    started_at: int
    master: int
    memory: int
    ours: bool = True
    exit: dict[str, Any] | None = None
    mapping: mmap.mmap | None = None
    ring: Ring | None = None
    watched: bool = False

    def describe(self, kind: str) -> protocol.Message:
        """Return the message that hands this session over."""
        return {
            "type": kind,
            "handle": self.handle,
            "pid": self.pid,
            "start": self.start,
            "started_at": self.started_at,
            "exit": self.exit,
            "fds": 2,
        }

    def map(self) -> Ring:
        """Map the ring for reading the terminal ourselves."""
        if self.ring is None:
            self.mapping = mmap.mmap(self.memory, 0)
            self.ring = Ring(self.mapping)
            self.ring.recover()
        return self.ring

    def unmap(self) -> None:
        """Drop the mapping: while a host reads, the keeper's memory stays small."""
        if self.ring is not None and self.mapping is not None:
            self.ring.release()
            self.mapping.close()
        self.ring = self.mapping = None

    def close(self) -> None:
        self.unmap()
        os.close(self.master)
        os.close(self.memory)


class Keeper:
    """The loop. `listener` is the bound socket, `folder` a private directory for memory without memfd."""

    def __init__(self, listener: socket.socket, folder: str) -> None:
        self._folder = folder
        self._selector = selectors.DefaultSelector()
        self._listener = listener
        self._sessions: dict[int, Held] = {}
        self._next_handle = 1
        self._host: HostConnection | None = None
        self._stopping = False
        self._end_by: float | None = time.monotonic() + FIRST_HOST_SECONDS
        self._woken, self._wake = socket.socketpair()
        for end in (self._woken, self._wake, listener):
            end.setblocking(False)
        self._selector.register(listener, selectors.EVENT_READ, self._accept)
        self._selector.register(self._woken, selectors.EVENT_READ, self._signalled)

    def run(self) -> None:
        """Serve until nothing is held and nobody is connected."""
        signal.set_wakeup_fd(self._wake.fileno(), warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.signal(signal.SIGTERM, self._on_terminate)
        for ignored in (signal.SIGHUP, signal.SIGINT, signal.SIGPIPE):
            signal.signal(ignored, signal.SIG_IGN)
        while not self._stopping:
            self._set_end()
            left = None if self._end_by is None else self._end_by - time.monotonic()
            if left is not None and left <= 0:
                break
            for key, _ in self._selector.select(left):
                key.data()
        for held in self._sessions.values():
            held.close()

    def _set_end(self) -> None:
        """Say until when to wait for a host: for ever while a session runs."""
        if self._host is not None or any(held.exit is None for held in self._sessions.values()):
            self._end_by = None
        elif self._end_by is None:
            self._end_by = time.monotonic() + (EXITED_SECONDS if self._sessions else 0.0)

    def _on_terminate(self, *_: object) -> None:
        # Closing the masters hangs up every child.
        self._stopping = True

    # --- children ---

    def _signalled(self) -> None:
        with contextlib.suppress(BlockingIOError):
            while self._woken.recv(4096):
                pass
        self._reap()

    def _reap(self) -> None:
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            for held in self._sessions.values():
                if held.pid == pid and held.ours and held.exit is None:
                    code = os.waitstatus_to_exitcode(status)
                    self._exited(held, code if code >= 0 else None, -code if code < 0 else None)

    def _exited(self, held: Held, code: int | None, number: int | None) -> None:
        held.exit = {"code": code, "signal": number, "at": time.time_ns() // 1_000_000}
        if self._host is not None:
            self._host.send({"type": "exited", "handle": held.handle, **held.exit})

    def _spawn(self, message: protocol.Message) -> None:
        host = self._host
        assert host is not None
        request = message["request"]
        memory = None
        try:
            memory = make_ring(int(message["capacity"]), self._folder, base64.b64decode(message["label"]))
            argv, env, size = list(message["argv"]), dict(message["env"]), (message["columns"], message["rows"])
            pid, master = spawn(argv, message["cwd"], env, *size, message.get("deadline"))
        except (SpawnError, OSError, ValueError, TypeError, KeyError) as error:
            if memory is not None:
                os.close(memory)
            host.send({"type": "failed", "request": request, "reason": str(error) or type(error).__name__})
            return
        held = Held(self._next_handle, pid, start_identity(pid), time.time_ns() // 1_000_000, master, memory)
        self._next_handle += 1
        self._sessions[held.handle] = held
        host.send({**held.describe("spawned"), "request": request}, (master, memory))

    def _adopt(self, message: protocol.Message, descriptors: list[int]) -> None:
        """Take over from a keeper that died: the process is not our child, so its exit is seen through its pidfd."""
        if len(descriptors) != 2:
            raise FrameError("adopt needs two descriptors")
        master, memory = descriptors
        handle, pid, start, begun = (message[name] for name in ("handle", "pid", "start", "started_at"))
        held = Held(int(handle), int(pid), str(start), int(begun), master=master, memory=memory, ours=False)
        self._sessions[held.handle] = held
        self._next_handle = max(self._next_handle, held.handle + 1)
        try:
            pidfd = os.pidfd_open(held.pid)
        except (OSError, AttributeError):
            self._exited(held, None, None)
            return

        def gone() -> None:
            self._selector.unregister(pidfd)
            os.close(pidfd)
            if held.handle in self._sessions:
                self._exited(held, None, None)

        self._selector.register(pidfd, selectors.EVENT_READ, gone)
        if start_identity(held.pid) != held.start:
            gone()

    def _forget(self, handle: int) -> None:
        held = self._sessions.pop(handle, None)
        if held is not None:
            self._unwatch(held)
            held.close()

    # --- terminals, while no host reads them ---

    def _watch(self, held: Held) -> None:
        if not held.watched:
            try:
                held.map()
            except ValueError as error:  # a host has spoiled it: one child may block now, and all the others must not
                print(f"keeper: session {held.handle} is not read: {error}", file=sys.stderr, flush=True)
                return
            self._selector.register(held.master, selectors.EVENT_READ, lambda: self._drain(held))
            held.watched = True

    def _unwatch(self, held: Held) -> None:
        if held.watched:
            self._selector.unregister(held.master)
            held.watched = False
        held.unmap()

    def _drain(self, held: Held) -> None:
        if not held.watched:
            return  # since it was found readable, a host has taken it over: two readers would spoil the ring
        ring = held.map()
        try:
            ring.commit(os.readv(held.master, ring.claim(READ_BYTES)))
        except BlockingIOError:
            return
        except OSError:
            # EIO: every process that had the terminal open is gone. The exit comes by SIGCHLD.
            self._selector.unregister(held.master)
            held.watched = False

    # --- the host ---

    def _accept(self) -> None:
        try:
            connection, _ = self._listener.accept()
        except OSError:
            return
        if not peer_is_us(connection):
            connection.close()
            return
        if self._host is not None:
            # A host that was killed may have left bytes before its end of stream: look before refusing.
            self._host.receive()
        if self._host is not None:
            with contextlib.suppress(OSError):
                connection.sendall(protocol.encode({"type": "refused", "reason": "another host is connected"}))
            connection.close()
            return
        self._host = HostConnection(self, connection)
        self._selector.register(connection, selectors.EVENT_READ, self._host.receive)

    def greet(self, message: protocol.Message) -> None:
        """Hand everything over to the host that has just introduced itself."""
        host = self._host
        assert host is not None
        if message.get("protocol") != protocol.PROTOCOL:
            host.send({"type": "refused", "reason": f"this keeper speaks protocol {protocol.PROTOCOL}"})
            self.host_gone()
            return
        self._reap()
        for held in self._sessions.values():
            self._unwatch(held)
        host.send(
            {"type": "welcome", "protocol": protocol.PROTOCOL, "pid": os.getpid(), "sessions": len(self._sessions)}
        )
        for held in list(self._sessions.values()):
            host.send(held.describe("session"), (held.master, held.memory))

    def act(self, message: protocol.Message, descriptors: list[int]) -> None:
        """Carry out one message of the host. Raises `FrameError` for one that makes no sense."""
        match message["type"]:
            case "spawn":
                self._spawn(message)
            case "forget":
                self._forget(int(message["handle"]))
            case "adopt":
                self._adopt(message, descriptors)
            case kind:
                raise FrameError(f"unknown message {kind}")

    def host_gone(self) -> None:
        """The connection ended: from here on the terminals are ours to read."""
        host, self._host = self._host, None
        if host is None:
            return
        self._selector.unregister(host.socket)
        host.socket.close()
        # Also those that have exited: what they printed last may still be in the terminal.
        for held in list(self._sessions.values()):
            self._watch(held)


class HostConnection:
    """The connected host: frames in, frames and descriptors out."""

    def __init__(self, keeper: Keeper, connection: socket.socket) -> None:
        self.socket = connection
        self._keeper = keeper
        self._frames = FrameReader(protocol.MAX_FRAME)
        self._descriptors: list[int] = []
        self._greeted = False
        connection.setblocking(False)

    def send(self, message: protocol.Message, descriptors: tuple[int, ...] = ()) -> None:
        """Send a message; a host that does not take it is given up (its end of stream follows)."""
        data = protocol.encode(message)
        # Sends block, with a bound: the host reads promptly or is dead, and queueing would need a second machine.
        self.socket.settimeout(SEND_SECONDS)
        try:
            sent = socket.send_fds(self.socket, [data], list(descriptors)) if descriptors else 0
            self.socket.sendall(data[sent:])
        except OSError:
            with contextlib.suppress(OSError):
                self.socket.shutdown(socket.SHUT_RDWR)
        finally:
            self.socket.setblocking(False)

    def receive(self) -> None:
        """Read what has come and act on it; an end of stream or nonsense ends the connection."""
        try:
            data, descriptors, _, _ = socket.recv_fds(self.socket, 65536, 16, socket.MSG_DONTWAIT)
        except (BlockingIOError, InterruptedError):
            return
        except OSError:
            data, descriptors = b"", []
        self._descriptors += descriptors
        if not data:
            self._close()
            return
        try:
            for frame in self._frames.feed(data):
                if self.socket.fileno() >= 0:  # the frame before may have ended the connection
                    self._handle(protocol.decode(frame))
        except Exception as error:  # noqa: BLE001 - whatever a host makes of us must not end the sessions
            print(f"keeper: dropped the host: {error}", file=sys.stderr, flush=True)
            self._close()

    def _handle(self, message: protocol.Message) -> None:
        count = message.get("fds", 0)
        taken, self._descriptors = self._descriptors[:count], self._descriptors[count:]
        if not self._greeted:
            if message["type"] != "hello":
                raise FrameError("the first message must be hello")
            self._greeted = True
            self._keeper.greet(message)
        else:
            self._keeper.act(message, taken)

    def _close(self) -> None:
        for descriptor in self._descriptors:
            os.close(descriptor)
        self._descriptors = []
        if self.socket.fileno() >= 0:  # else it is gone already, and the keeper may have another host by now
            self._keeper.host_gone()


def main(folder: str) -> int:
    """Run a keeper on `<folder>/keeper.sock` until it is done; ended by SIGALRM when another keeper lives there.

    The first line on standard output is for the host that starts it: `ready`, or `failed` and why.
    """
    try:
        take_lock(folder)
        listener = listen(folder)
    except OSError as error:
        print(f"failed {error.filename or folder}: {error.strerror or error}", flush=True)
        return 1
    with listener:
        print("ready", flush=True)
        sys.stdout.close()
        Keeper(listener, folder).run()
        clear(folder)
    return 0
