"""Processes described in files, laid out as /proc lays them out, for `ProcFs(root, probe)`."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

from switchboard.clis.namespaces import ProcessSeen
from switchboard.clis.procfs import ProcFs


class FakeProcesses:
    """A /proc below `root`. Processes exist from `add` to `end`; `hidden` ones refuse a signal.

    `listings`: how often all processes were listed. `before_look` is called with the number of each process that is
    about to be looked at closely.
    """

    def __init__(self, root: Path) -> None:
        self.root = root
        self.probes: list[int] = []
        self.hidden: set[int] = set()
        self.listings = 0
        self.before_look: Callable[[int], None] = lambda _pid: None
        self._living: set[int] = set()

    def door(self) -> ProcFs:
        return _Watched(self, str(self.root), self._probe, str(self.root / "machine-id"))

    def machine(
        self,
        *,
        machine_id: str | None = "m1",
        boot_id: str = "boot-1",
        namespace: str = "pid:[4026531836]",
        init_start: str = "1",
        mount: str = "rw",
    ) -> None:
        """What the host sees of its own place. Process 1 is the first of its namespace."""
        (self.root / "machine-id").unlink(missing_ok=True)
        if machine_id is not None:
            (self.root / "machine-id").write_text(f"{machine_id}\n")
        random = self.root / "sys" / "kernel" / "random"
        random.mkdir(parents=True, exist_ok=True)
        (random / "boot_id").write_text(f"{boot_id}\n")
        link = self.root / "self" / "ns" / "pid"
        link.parent.mkdir(parents=True, exist_ok=True)
        link.unlink(missing_ok=True)
        link.symlink_to(namespace)
        (self.root / "self" / "mountinfo").write_text(
            f"21 1 0:20 / /sys rw - sysfs sysfs rw\n22 1 0:21 / /proc rw,nosuid - proc proc {mount}\n"
        )
        self.add(1, parent=0, start=init_start, name="init", namespace=namespace)

    def add(
        self,
        pid: int,
        *,
        parent: int = 1,
        start: str = "1000",
        state: str = "S",
        threads: int = 1,
        name: str = "claude",
        ns_pids: tuple[int, ...] | None = None,
        namespace: str | None = "pid:[4026531836]",
    ) -> None:
        folder = self.root / str(pid)
        folder.mkdir(parents=True, exist_ok=True)
        numbers = [0] * 15 + [threads, 0]
        middle = " ".join(str(number) for number in numbers)
        (folder / "stat").write_text(f"{pid} ({name}) {state} {parent} {middle} {start} 0 0\n")
        mapped = "\t".join(str(number) for number in (ns_pids or (pid,)))
        (folder / "status").write_text(f"Name:\t{name}\nPid:\t{pid}\nNSpid:\t{mapped}\n")
        (folder / "ns").mkdir(exist_ok=True)
        link = folder / "ns" / "pid"
        link.unlink(missing_ok=True)
        if namespace is not None:
            link.symlink_to(namespace)
        self._living.add(pid)

    def sandboxed(self, pid: int = 8000, number: int = 2, start: str = "9000", **options: Any) -> None:
        """A process that calls itself `number` in a PID namespace below ours."""
        options = {"ns_pids": (pid, number), "namespace": "pid:[4026532999]", **options}
        self.add(pid, start=start, **options)

    def unreadable(self, pid: int, name: str) -> None:
        """Reading that file of a process fails from now on, whoever asks."""
        (self.root / str(pid) / name).unlink()
        (self.root / str(pid) / name).mkdir()

    def end(self, pid: int) -> None:
        shutil.rmtree(self.root / str(pid))
        self._living.discard(pid)

    def _probe(self, pid: int, signal: int) -> None:
        assert signal == 0
        self.probes.append(pid)
        if pid in self.hidden:
            raise PermissionError
        if pid not in self._living:
            raise ProcessLookupError


class _Watched(ProcFs):
    """The real door, whose looks are noticed."""

    def __init__(self, fake: FakeProcesses, *places: Any) -> None:
        super().__init__(*places)
        self._fake = fake

    def numbers(self) -> list[int]:
        self._fake.listings += 1
        return sorted(super().numbers())

    def seen(self, pid: int) -> ProcessSeen | None:
        self._fake.before_look(pid)
        return super().seen(pid)
