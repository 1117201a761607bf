"""Processes described in files, laid out as /proc lays them out, for `ProcFs(root, probe)`."""

from __future__ import annotations

import shutil
from pathlib import Path

from switchboard.clis.procfs import ProcFs


class FakeProcesses:
    """A /proc below `root`. Processes exist from `add` to `end`; `hidden` ones refuse a signal."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.probes: list[int] = []
        self.hidden: set[int] = set()
        self._living: set[int] = set()

    def door(self) -> ProcFs:
        return ProcFs(str(self.root), self._probe)

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
        if namespace is not None:
            (folder / "ns").mkdir(exist_ok=True)
            link = folder / "ns" / "pid"
            link.unlink(missing_ok=True)
            link.symlink_to(namespace)
        self._living.add(pid)

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
