"""Processes as /proc shows them (door): identity, ancestry, namespaces, and whether one is alive.

Everything is best effort: a process can go between two reads, and another user's details may be hidden. What cannot be
read is None, never a guess, so that callers can tell "no" from "unknown".
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass

from switchboard.clis.liveness import EvidenceUnavailable, ProcessFacts, Vantage
from switchboard.clis.namespaces import ProcessSeen

MAX_ANCESTRY = 64
"""No chain of parents is followed further."""

MAX_PROCESSES = 50_000
"""A look at all processes goes no further: that would take a quarter of a second."""

PROCESSES_A_TURN = 500
"""So many are looked at (2 ms) before the loop gets a turn."""

_LINKS_SKIPPED = 15  # of so many processes after one whose namespace is refused, it is not asked for

_MAX_PID = 2**31 - 1  # beyond it the kernel call overflows
_READ_BYTES = 65_536  # a stat or status file is about one page


@dataclass(frozen=True, slots=True)
class ProcessStat:
    """The fields of a stat file that matter here. `start` is field 22, ticks since boot, as text."""

    state: str
    parent: int
    threads: int
    start: str

    @property
    def ended(self) -> bool:
        """Whether it waits to be collected, all its threads with it."""
        return self.state in ("Z", "X") and self.threads <= 1


def parse_stat(data: bytes) -> ProcessStat | None:
    """Read a stat file; None when it is none.

    The second field is the command's name in parentheses, and a name may itself contain parentheses, blanks and line
    ends: the fields are counted from the last closing one.
    """
    fields = data[data.rfind(b")") + 1 :].split()
    try:
        return ProcessStat(fields[0].decode(), int(fields[1]), int(fields[17]), fields[19].decode())
    except (IndexError, ValueError):
        return None


def parse_ns_pids(data: bytes) -> tuple[int, ...] | None:
    """Read the numbers of a process out of its status file; None when they are not there."""
    for line in data.splitlines():
        if line.startswith(b"NSpid:"):
            numbers = line.split()[1:]
            return tuple(map(int, numbers)) if numbers and all(n.isdigit() for n in numbers) else None
    return None


class ProcFs:
    """One /proc. `root` and the signal `probe` are arguments so that tests can describe processes in files."""

    __slots__ = ("_machine_id", "_probe", "_root")

    def __init__(
        self,
        root: str = "/proc",
        probe: Callable[[int, int], None] = os.kill,
        machine_id: str = "/etc/machine-id",
    ) -> None:
        self._root = root
        self._probe = probe
        self._machine_id = machine_id

    def start(self, pid: int) -> str | None:
        """Return the start identity of a process: with the pid it names that process and no later one."""
        found = self._stat(pid)
        return found.start if found else None

    def parent(self, pid: int) -> int | None:
        """Return the pid of the parent (0 for the first process of a namespace), None when unknown."""
        found = self._stat(pid)
        return found.parent if found else None

    def is_alive(self, pid: int) -> bool:
        """Tell whether the process exists. One that may not be signalled is alive.

        A signal still reaches a process that has ended and waits to be collected; that one is dead here, unless other
        threads of it go on after its first one has ended.
        """
        found = self._stat(pid)
        return self._reaches_signal(pid) if found is None else not found.ended

    def facts(self, pid: int) -> ProcessFacts:
        """Return what is to be seen of a process at this moment, ended ones that wait to be collected included."""
        found = self._stat(pid)
        if found is None and not self._reaches_signal(pid):
            return ProcessFacts(exists=False)
        if found is None:
            return ProcessFacts(exists=True)
        return ProcessFacts(
            exists=True,
            start=found.start,
            ns_pids=self.ns_pids(pid),
            namespace=self.pid_namespace(pid),
            ended=found.ended,
            ancestry=tuple(self._line_of(pid)),
        )

    def vantage(self) -> Vantage:
        """Return from where this host looks at processes."""
        machine_id = _contents(self._machine_id)
        return Vantage(
            machine_id.decode("ascii", "replace").strip() or None if machine_id is not None else None,
            self.boot_id(),
            self.own_namespace(),
            self.start(1),
            self._shows_everyone(),
        )

    def own_namespace(self) -> str | None:
        """Return the PID namespace of this host."""
        try:
            return os.readlink(f"{self._root}/self/ns/pid")
        except OSError:
            return None

    def is_same(self, pid: int, start: str | None) -> bool:
        """Tell whether the process is alive and still the one that started at `start`.

        What cannot be decided (no start recorded, or none to compare it with) counts as the same.
        """
        found = self._stat(pid)
        if found is None:
            return self._reaches_signal(pid)
        return not found.ended and (not start or found.start == start)

    def distance(self, pid: int, of: int, limit: int = MAX_ANCESTRY) -> int | None:
        """Return how many parents lie between a process and its ancestor `of`: 0 for itself, None when none is."""
        for steps in range(limit + 1):
            if pid == of:
                return steps
            parent = self.parent(pid)
            if not parent:
                return None
            pid = parent
        return None

    def is_descendant(self, pid: int, of: int, limit: int = MAX_ANCESTRY) -> bool:
        """Tell whether a process is `of` itself or descends from it."""
        return self.distance(pid, of, limit) is not None

    def boot_id(self) -> str | None:
        """Return the identity of this boot of the machine."""
        data = self._read("sys/kernel/random/boot_id")
        return data.decode("ascii", "replace").strip() or None if data is not None else None

    def pid_namespace(self, pid: int) -> str | None:
        """Return the PID namespace of a process as the kernel names it (`pid:[…]`).

        None when the process is gone or belongs to another user.
        """
        try:
            return os.readlink(f"{self._root}/{pid}/ns/pid")
        except OSError:
            return None

    def ns_pids(self, pid: int) -> tuple[int, ...] | None:
        """Return the numbers of a process from the outermost visible PID namespace to its own; None when unknown."""
        return parse_ns_pids(self._read(f"{pid}/status") or b"")

    def numbers(self) -> list[int]:
        """Return the numbers of all processes that are shown. Raises `EvidenceUnavailable`."""
        try:
            return [int(name) for name in os.listdir(self._root) if name.isdecimal()]
        except OSError as error:
            raise EvidenceUnavailable(f"{self._root} cannot be listed ({error.strerror})") from error

    def seen(self, pid: int) -> ProcessSeen | None:
        """Return what is to be seen of a process at this moment, without its ancestry; None when there is none.

        All of it is of one process, even where the number is given out again meanwhile.
        """
        try:
            folder = os.open(f"{self._root}/{pid}", os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
        except _GONE:
            return None
        except OSError:
            return ProcessSeen(pid)
        # What is opened through a process's folder is never of the next process with its number: it fails instead.
        try:
            found = parse_stat(_part("stat", folder))
            ns_pids = parse_ns_pids(_part("status", folder))
            namespace = _link_of("ns/pid", folder)
        except _GONE:
            return None
        finally:
            os.close(folder)
        if found is None:
            return ProcessSeen(pid, ns_pids, namespace=namespace)
        return ProcessSeen(pid, ns_pids, found.start, namespace, found.ended)

    def ancestry(self, pid: int, start: str) -> tuple[tuple[int, str], ...]:
        """Return (number, start) of a process and its ancestors, nearest first, as far as they can be read.

        Empty when the process is not the one that started at `start`.
        """
        line = tuple(self._line_of(pid))
        return line if line[:1] == ((pid, start),) else ()

    def outside(self, namespace: str, starts: Collection[str] | None) -> Iterator[ProcessSeen | None]:
        """Look at every process now, for those of other PID namespaces that started at one of `starts` (None: any).

        Yields them, together with those that cannot be looked at, and None wherever the loop may have a turn. What ends
        meanwhile is left out. A process that is ours can be among them if its namespace is hidden. Raises
        `EvidenceUnavailable` when not every process can be looked at.

        The order is the cheapest one. A link of our own namespace is enough to pass a process by (4 us); the start
        takes more (6 us), the numbers still more (8 us), and both can be read of everybody's processes. A refused
        link is paid in vain, and processes of one user mostly stand together: so it is not tried again at once.
        """
        yield None
        numbers = self.numbers()
        if len(numbers) > MAX_PROCESSES:
            raise EvidenceUnavailable(f"there are too many processes to look at ({len(numbers)})")
        wanted = None if starts is None else frozenset(start.encode("utf-8", "replace") for start in starts)
        skip = 0
        for count, pid in enumerate(numbers, 1):
            if count % PROCESSES_A_TURN == 0:
                yield None
            if skip:
                skip -= 1
            else:
                link = _link_of(f"{self._root}/{pid}/ns/pid")
                if link == namespace:
                    continue
                skip = _LINKS_SKIPPED if link is None else 0
            if wanted is not None and _started_otherwise(f"{self._root}/{pid}/stat", wanted):
                continue
            process = self.seen(pid)
            if process is not None and process.namespace != namespace:
                yield process

    def _reaches_signal(self, pid: int) -> bool:
        """Whether the system knows a process of that number; one that may not be signalled is one."""
        if not 0 < pid <= _MAX_PID:
            return False
        try:
            self._probe(pid, 0)
        except ProcessLookupError:
            return False
        except PermissionError:
            pass
        return True

    def _line_of(self, pid: int) -> Iterator[tuple[int, str]]:
        """Return number and start of a process and its ancestors, as far as they can be read."""
        for _ in range(MAX_ANCESTRY):
            found = self._stat(pid)
            if found is None:
                return
            yield pid, found.start
            if not found.parent:
                return
            pid = found.parent

    def _shows_everyone(self) -> bool:
        """Whether /proc is mounted without an option that hides the processes of other users."""
        shown = False
        for line in (self._read("self/mountinfo") or b"").decode("utf-8", "replace").splitlines():
            place, _, rest = line.partition(" - ")
            kind, _, options = rest.partition(" ")
            if kind == "proc" and place.split()[4:5] == ["/proc"]:  # the last one covers those before it
                hiding = [
                    word for word in f"{options} {place}".replace(",", " ").split() if word.startswith("hidepid=")
                ]
                shown = all(word in ("hidepid=0", "hidepid=off") for word in hiding)
        return shown

    def _stat(self, pid: int) -> ProcessStat | None:
        data = self._read(f"{pid}/stat")
        return parse_stat(data) if data is not None else None

    def _read(self, name: str) -> bytes | None:
        return _contents(f"{self._root}/{name}")


_GONE = (FileNotFoundError, ProcessLookupError)
"""There is no such process, or it ended after its file had been opened."""


def _contents(path: str) -> bytes | None:
    try:
        return _bytes(path)
    except OSError:
        return None


def _bytes(path: str, folder: int | None = None) -> bytes:
    file = os.open(path, os.O_RDONLY | os.O_CLOEXEC, dir_fd=folder)
    try:
        return os.read(file, _READ_BYTES)
    finally:
        os.close(file)


def _part(name: str, folder: int) -> bytes:
    """Return a file of a process, nothing when it may not be read. Raises one of `_GONE` when the process is gone."""
    try:
        return _bytes(name, folder)
    except _GONE:
        raise
    except OSError:
        return b""


def _link_of(path: str, folder: int | None = None) -> str | None:
    try:
        return os.readlink(path, dir_fd=folder)
    except OSError:
        return None


def _started_otherwise(path: str, starts: Collection[bytes]) -> bool:
    """Whether a stat file shows for certain that its process did not start at one of these, or that it has ended."""
    try:
        data = _bytes(path)
    except _GONE:
        return True
    except OSError:
        return False
    fields = data[data.rfind(b")") + 1 :].split(None, 20)  # as `parse_stat`, without the rest of it
    return len(fields) > 20 and fields[19] not in starts
