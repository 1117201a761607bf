"""How long a host takes to answer, measured beside the test in a process of its own, and cleared of the machine's load.

Run as a program, it is a page of its own that asks, waits for the answer, pauses for 5 ms, and asks again: either for
the list of sessions, or for the echo of a key in a session. A busy machine lets both sides wait for a processor; the
kernel counts that time (`schedstat`), so it can be told from a host that did not answer because it did something else.
"""

from __future__ import annotations

import asyncio
import json
import os
import select
import socket
import sys
import time
from collections import deque
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from switchboard.common.frames import BINARY, TEXT, FrameReader, encode_frame
from switchboard.page import messages

PAUSE_S = 0.005


@dataclass
class Trips:
    """What was measured, in milliseconds, one entry for each round trip.

    `wall`: from question to answer. `own`: the same without the time that the host, or the one who asked, was ready to
    run and had no processor. `cpu`: processor time of the host meanwhile.
    """

    wall: list[float] = field(default_factory=list)
    own: list[float] = field(default_factory=list)
    cpu: list[float] = field(default_factory=list)

    def part(self, share: float) -> float:
        """The round trip time (`own`) that this share of them stays within."""
        return sorted(self.own)[min(len(self.own) - 1, int(len(self.own) * share))]

    def __str__(self) -> str:
        return (
            f"{len(self.own)} round trips: median {self.part(0.5):.1f} ms, 99 % {self.part(0.99):.1f} ms, "
            f"longest {self.part(1):.1f} ms (on the wall {max(self.wall):.1f} ms, processor {max(self.cpu):.1f} ms)"
        )


@asynccontextmanager
async def round_trips(path: str, host: int, echo: int | None = None) -> AsyncIterator[Trips]:
    """Measure while entered, over the socket at `path` of the host with that process id.

    `echo`: the handle of a session that echoes keys; without one, lists are asked for. The result is filled in when
    the block ends.
    """
    trips = Trips()
    arguments = [path, str(host), *([] if echo is None else [str(echo)])]
    meter = await asyncio.create_subprocess_exec(
        sys.executable, "-m", __name__, *arguments, stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE
    )
    assert meter.stdout is not None
    assert await meter.stdout.readline() == b"ready\n"
    try:
        yield trips
    finally:
        said, _ = await meter.communicate(b"")
    measured = json.loads(said)
    trips.wall, trips.own, trips.cpu = measured["wall"], measured["own"], measured["cpu"]


# --- the program ------------------------------------------------------------------------------------------------------


def _times(pid: int) -> tuple[float, float]:
    """Processor time, and time spent ready without a processor, of a process's first thread."""
    with open(f"/proc/{pid}/task/{pid}/schedstat", "rb") as file:
        used, waited, _ = file.read().split()
    return int(used) / 1e6, int(waited) / 1e6


class _Meter:
    def __init__(self, path: str, host: int, echo: int | None) -> None:
        self.host = host
        self.echo = echo
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.connect(path)
        self.frames = FrameReader(64 * 1024 * 1024)
        self.come: deque[tuple[int, bytes]] = deque()
        self.asked = 0
        self.say(messages.Hello(messages.PROTOCOL, "terminal"))
        self.receive(lambda binary, body: not binary and b'"type":"sessions"' in body)
        if echo is not None:
            self.say(messages.Attach(echo))
            self.say(messages.Focus(echo, 120, 40))
            self.receive(lambda binary, body: not binary and b'"type":"attached"' in body)

    def say(self, message: messages.PageMessage) -> None:
        self.socket.sendall(encode_frame(TEXT, messages.encode(message)))

    def receive(self, wanted: Callable[[bool, bytes], bool]) -> None:
        """Read until a frame is the wanted one; what came behind it is for the next time."""
        while True:
            while self.come:
                kind, body = self.come.popleft()
                if kind == TEXT and b'"type":"ping"' in body:
                    ping = messages.decode_from_host(body)
                    assert isinstance(ping, messages.Ping)
                    self.say(messages.Pong(ping.number))
                elif wanted(kind == BINARY, body):
                    return
            data = self.socket.recv(1 << 18)
            assert data, "the host has closed the connection"
            self.come += self.frames.feed(data)

    def trip(self) -> None:
        self.asked += 1
        if self.echo is None:
            self.say(messages.ListSessions(self.asked, closed=0))
            self.receive(lambda binary, body: not binary and f'"request":{self.asked},'.encode() in body)
        else:
            key = b"%c" % (97 + self.asked % 26)
            self.socket.sendall(encode_frame(BINARY, messages.encode_input(self.echo, key)))
            self.receive(lambda binary, body: binary and key in body[-1:])

    def run(self) -> dict[str, list[float]]:
        measured: dict[str, list[float]] = {"wall": [], "own": [], "cpu": []}
        own = os.getpid()
        while not select.select([0], [], [], PAUSE_S)[0]:
            host_before, own_before, begin = _times(self.host), _times(own), time.monotonic()
            self.trip()
            wall = (time.monotonic() - begin) * 1000
            host_after, own_after = _times(self.host), _times(own)
            waited = host_after[1] - host_before[1] + own_after[1] - own_before[1]
            measured["wall"].append(round(wall, 2))
            measured["own"].append(round(max(0.0, wall - waited), 2))
            measured["cpu"].append(round(host_after[0] - host_before[0], 2))
        return measured


def main(path: str, host: str, echo: str | None = None) -> None:
    meter = _Meter(path, int(host), None if echo is None else int(echo))
    meter.trip()
    print("ready", flush=True)
    print(json.dumps(meter.run()))


if __name__ == "__main__":
    main(*sys.argv[1:])
