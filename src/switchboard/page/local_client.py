"""One question to the host over its Unix socket, for commands (door).

Synchronous and without asyncio, because scripts call these commands in loops and pay for every import. A page holds a
connection instead: `switchboard.page.local_connection`.
"""

from __future__ import annotations

import contextlib
import errno
import socket
import time

from switchboard.common.frames import TEXT, FrameError, FrameReader, encode_frame
from switchboard.common.peers import peer_is_us
from switchboard.page.messages import (
    PROTOCOL,
    Address,
    AddressIs,
    Bye,
    Done,
    Hello,
    Listing,
    ListSessions,
    MessageError,
    OpenSession,
    PageMessage,
    Ping,
    Pong,
    Problem,
    Rename,
    Shutdown,
    StopSession,
    decode_from_host,
    encode,
)

MAX_HOST_FRAME = 64 * 1024 * 1024
"""Largest frame taken from the host, in bytes: a listing of 10,000 closed sessions with long names stays below it."""

_CHUNK = 256 * 1024

Request = OpenSession | StopSession | Rename | ListSessions | Shutdown | Address
Answer = Done | Listing | AddressIs


class HostUnavailable(ConnectionError):
    """Nobody answers at that socket. The text says what to do."""


class HostForeign(HostUnavailable):
    """Whoever is behind that socket, it is not ours to use."""


class HostSilent(TimeoutError):
    """The host took the connection and gave no answer in time. Whether it did what was asked is unknown."""


class HostRefused(Exception):
    """The host does not go on with this connection; the text is its reason."""


def unavailable(socket_path: str, error: OSError) -> HostUnavailable:
    """Return what to tell a person when connecting failed with `error`."""
    if error.errno in {errno.EACCES, errno.EPERM}:
        return HostForeign(f"the host's socket {socket_path} belongs to somebody else: {error.strerror}")
    if error.errno in {errno.ENOENT, errno.ECONNREFUSED, errno.ENOTDIR}:
        return HostUnavailable("no host is running; start one with: switchboard up")
    return HostUnavailable(f"cannot reach the host at {socket_path}: {error.strerror or error}")


def refuse_stranger(connection: socket.socket, socket_path: str) -> None:
    """Raise `HostForeign` when the process behind the socket is another user's."""
    if not peer_is_us(connection):
        raise HostForeign(f"the process behind {socket_path} belongs to another user; nothing was sent to it")


def request(socket_path: str, message: Request, timeout: float, *, version: str = "") -> Answer:
    """Ask the host one thing and return its answer.

    `timeout`: seconds for everything together. Raises `HostUnavailable` (nothing was asked), `HostSilent` and
    `HostRefused`. A host that goes away before it answers counts as silent, except after `shutdown`, where going away
    is the answer.
    """
    deadline = time.monotonic() + timeout
    with contextlib.closing(socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)) as connection:
        connection.settimeout(timeout)
        try:
            connection.connect(socket_path)
        except OSError as error:
            raise unavailable(socket_path, error) from None
        refuse_stranger(connection, socket_path)
        try:
            # A host that refuses the hello may be gone before the question is out: its reason can be read all the same.
            with contextlib.suppress(BrokenPipeError, ConnectionResetError):
                _send(connection, Hello(PROTOCOL, "command", version))
                _send(connection, message)
            answer = _answer(connection, message.request, deadline)
        except TimeoutError:
            raise HostSilent(f"the host did not answer within {timeout:g} s") from None
        except (FrameError, MessageError) as error:
            raise HostRefused(f"the host does not speak this version's language: {error}") from None
        except OSError:
            answer = None
        if answer is None and isinstance(message, Shutdown):
            return Done(message.request, ok=True)
        if answer is None:
            raise HostSilent("the host went away before it answered")
        with contextlib.suppress(OSError):
            _send(connection, Bye())
        return answer


def _send(connection: socket.socket, message: PageMessage) -> None:
    connection.sendall(encode_frame(TEXT, encode(message)))


def _answer(connection: socket.socket, number: int, deadline: float) -> Answer | None:
    reader = FrameReader(MAX_HOST_FRAME)
    while True:
        left = deadline - time.monotonic()
        if left <= 0:
            raise TimeoutError
        connection.settimeout(left)
        data = connection.recv(_CHUNK)
        if not data:
            return None
        for kind, body in reader.feed(data):
            said = decode_from_host(body) if kind == TEXT else None
            if isinstance(said, Answer) and said.request == number:
                return said
            if isinstance(said, Problem):
                raise HostRefused(said.text)
            if isinstance(said, Ping):
                _send(connection, Pong(said.number))
