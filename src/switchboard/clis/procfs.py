"""Processes as /proc shows them (door): identity, ancestry, namespaces, and whether one is alive.

Everything is best effort: a process can go between two reads, and another user's details may be hidden. What cannot be
read is None, never a guess, so that callers can tell "no" from "unknown".
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from switchboard.clis.liveness import ProcessFacts, Vantage

MAX_ANCESTRY = 64
"""No chain of parents is followed further."""

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
        for line in (self._read(f"{pid}/status") or b"").splitlines():
            if line.startswith(b"NSpid:"):
                numbers = line.split()[1:]
                return tuple(int(number) for number in numbers) if all(n.isdigit() for n in numbers) else None
        return None

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


def _contents(path: str) -> bytes | None:
    # Reading can fail after opening has worked (ESRCH) when the process ends in between.
    try:
        file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        return os.read(file, _READ_BYTES)
    except OSError:
        return None
    finally:
        os.close(file)
