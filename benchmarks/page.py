"""Chapter: from a terminal to a browser page, beside terminado and beside a bare reader of the same terminal.

Throughput: one shell prints a file; the time from the command to the last byte at the page. Echo: a key until it is
seen at the page. Both over loopback, the page's side a blocking socket that does nothing else.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import pty
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.support.hosting import RunningHost
from tests.support.hosting import page as local_page
from tests.support.web import log_in, port_of

from benchmarks.figures import Aim, Figure, paired, single
from benchmarks.page_client import Client, page, terminado
from switchboard.page import messages

SIDE = Path(__file__).with_name("terminado_side.py")

LIMIT_AIM = Aim("ratio", "at least", 0.85)
PEER_AIM = Aim("ratio", "at least", 1.6)
ECHO_AIM = Aim("ratio", "at most", 0.6)
STUCK_AIM = Aim("value", "at most", 20)
STALL_AIM = Aim("value", "at most", 50)

MARK = b"t-h-e-e-n-d"
SAY_MARK = "printf '\\nt-h-e%s\\n' -e-n-d"
"""What is typed does not have the mark itself, because the terminal echoes it."""


@dataclass(frozen=True)
class Corpus:
    name: str
    line: bytes

    def write(self, folder: Path, size: int) -> tuple[Path, int]:
        """Write about `size` bytes; return the file, and how many bytes a terminal makes of it."""
        path = folder / self.name.split()[0]
        lines = size // len(self.line)
        path.write_bytes(self.line * lines)
        return path, lines * (len(self.line) + self.line.count(b"\n"))


PLAIN = Corpus("plain text", b"the quick brown fox jumps over the lazy dog and looks back once more, then on.\n")
ANSI = Corpus(
    "ANSI-heavy text",
    b"".join(b"\x1b[38;5;%dm\x1b[1mword\x1b[0m \x1b[%dG\x1b[4%dm+\x1b[m" % (n, n, n % 8) for n in range(16, 24))
    + b"\x1b[K\n",
)

BELLS = Corpus("bells", b"a\a" * 40 + b"\n")
KEPT_BYTES = 512 * 1024
"""What is kept of a session's output."""


def measure(rounds: int, size: int, keys: int) -> list[Figure]:
    """Return the figures of `rounds` rounds with `size` bytes each, and of `keys` keys."""
    with tempfile.TemporaryDirectory(prefix="bench-page-") as folder, _ours(Path(folder)) as ours, _peer() as theirs:
        figures = []
        for corpus in (PLAIN, ANSI):
            figures += _throughput(corpus, rounds, size, ours, theirs, Path(folder))
        figures += _echo(keys, ours, theirs)
        figures.append(_beside_a_dense_replay(keys, ours, Path(folder)))
        figures.append(_beside_one_that_never_reads(keys, ours))
    return figures


# --- throughput -------------------------------------------------------------------------------------------------------


def _throughput(corpus: Corpus, rounds: int, size: int, ours: Ours, theirs: Client, folder: Path) -> list[Figure]:
    path, printed = corpus.write(folder, size)
    rates: dict[str, list[float]] = {"ours": [], "terminado": [], "bare": []}
    sides: list[tuple[str, Callable[[], float]]] = [
        ("bare", lambda: _bare(path)),
        ("ours", lambda: _print(ours.client, path)),
        ("terminado", lambda: _print(theirs, path)),
    ]
    for number in range(-1, rounds):
        # Who begins changes: the first finds the machine as the round before left it.
        for side, work in sides[:: 1 if number % 2 else -1]:
            seconds = work()
            if number >= 0:
                rates[side].append(printed / seconds / 1e6)
    return [
        paired(
            f"{corpus.name} to the page",
            rates["ours"],
            rates["bare"],
            "MB/s",
            "a bare reader",
            LIMIT_AIM if corpus is PLAIN else None,
        ),
        paired(f"{corpus.name} to the page", rates["ours"], rates["terminado"], "MB/s", "terminado", PEER_AIM),
    ]


def _print(client: Client, path: Path) -> float:
    client.type(f"cat {path}; {SAY_MARK}\r".encode())
    begin = time.perf_counter()
    client.until(MARK)
    return time.perf_counter() - begin


def _bare(path: Path) -> float:
    """The same shell and file, and a reader that does nothing but read."""
    pid, master = pty.fork()
    if pid == 0:
        os.execv("/bin/sh", ["/bin/sh"])
    try:
        os.write(master, f"cat {path}; {SAY_MARK}\n".encode())
        begin = time.perf_counter()
        tail = b""
        while MARK not in tail:
            tail = (tail + os.read(master, 65536))[-256:]
        return time.perf_counter() - begin
    finally:
        os.close(master)
        os.waitpid(pid, 0)


# --- echo -------------------------------------------------------------------------------------------------------------


def _echo(keys: int, ours: Ours, theirs: Client) -> list[Figure]:
    times: dict[bool, list[float]] = {True: [], False: []}
    for client in (ours.client, theirs):
        client.type(b"stty raw -echo; printf 't-h-e%s' -e-n-d; exec cat\r")
        client.until(MARK)
    for number in range(keys + 20):
        # Who begins changes: the second finds processor and caches awake.
        for is_ours in (True, False) if number % 2 else (False, True):
            took = _key(ours.client if is_ours else theirs, number)
            if number >= 20:
                times[is_ours].append(took)
        time.sleep(0.005)
    mine, peers = times[True], times[False]
    return [
        single(
            f"echo of a key, p{cut}",
            _percentile(mine, cut),
            "ms",
            _percentile(peers, cut),
            "terminado",
            ECHO_AIM if cut == 50 else None,
        )
        for cut in (50, 99)
    ]


def _key(client: Client, number: int) -> float:
    word = b"%04d" % number
    begin = time.perf_counter()
    client.type(word)
    client.until(word)
    return (time.perf_counter() - begin) * 1e3


def _percentile(values: list[float], cut: int) -> float:
    return statistics.quantiles(values, n=100, method="inclusive")[cut - 1]


def _beside_a_dense_replay(keys: int, ours: Ours, folder: Path) -> Figure:
    """Another page joins a session whose kept output is bells, each of which its replay must not ring again."""
    path, _ = BELLS.write(folder, KEPT_BYTES)
    loud = ours.open()
    page, show = ours.connect()
    show(loud)
    page.type(f"cat {path}; {SAY_MARK}\r".encode())
    page.until(MARK)
    page.close()
    times = []
    for _ in range(5):
        joining, show = ours.connect()
        show(loud)
        times += [_key(ours.client, number) for number in range(keys // 5)]
        joining.close()
    return single("echo, longest, while a replay of bells is made", max(times), "ms", aim=STALL_AIM)


def _beside_one_that_never_reads(keys: int, ours: Ours) -> Figure:
    """The session in use is `cat` by now; another one prints without end to a page that takes nothing."""
    loud = ours.open()
    stuck, show = ours.connect()
    show(loud)
    stuck.type(b"yes all work and no play makes a dull terminal\r")
    time.sleep(2)
    times = []
    for number in range(keys):
        times.append(_key(ours.client, number))
        time.sleep(0.005)
    stuck.close()
    return single("echo, p99, beside a page that never reads `yes`", _percentile(times, 99), "ms", aim=STUCK_AIM)


# --- the two servers --------------------------------------------------------------------------------------------------


class Ours:
    """A host, and a page that shows a shell."""

    def __init__(self, host: RunningHost) -> None:
        self._host = host
        self._port = port_of(host)
        self._credential = asyncio.run(log_in(host))
        self.client, show = self.connect()
        show(self.open())
        self.client.until(b'{"type":"size"')

    def connect(self) -> tuple[Client, Callable[[int], None]]:
        found = self._credential
        return page(self._port, f"{found.name}={found.cookie}", found.key)

    def open(self) -> int:
        """Open a shell; return its handle."""

        async def opened() -> int:
            async with local_page(self._host) as shown:
                done = await shown.ask(
                    lambda number: messages.OpenSession(number, "shell", cwd=str(self._host.project))
                )
                assert done.ok, done
                return int(done.session.handle)

        return asyncio.run(opened())


@contextmanager
def _ours(folder: Path) -> Iterator[Ours]:
    host = RunningHost(folder / "host").start()
    try:
        yield Ours(host)
    finally:
        host.cli("down", "--sessions")
        host.clean_up()


@contextmanager
def _peer() -> Iterator[Client]:
    process = subprocess.Popen([sys.executable, str(SIDE)], stdout=subprocess.PIPE)
    try:
        assert process.stdout is not None
        client = terminado(int(process.stdout.readline()))
        client.until(b"setup")
        yield client
        client.close()
    finally:
        process.terminate()
        process.wait()
        with contextlib.suppress(AttributeError):
            process.stdout.close()  # type: ignore[union-attr]  # it is a pipe
