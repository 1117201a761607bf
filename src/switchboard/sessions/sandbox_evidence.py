"""Reads what can prove who owns a sandboxed conversation (driver): the session's descriptors, and the processes.

Each proof is read twice: first everything, then, once there is an owner, its descriptor and its process again. What is
not the same then was changing while it was looked at, and the look starts over.
"""

from __future__ import annotations

import os
from collections.abc import Collection
from dataclasses import replace

from switchboard.clis.descriptor_files import MAX_FILES, few_names, read_raw
from switchboard.clis.descriptors import is_descriptor_name, pid_of_name
from switchboard.clis.liveness import EvidenceUnavailable, Vantage
from switchboard.clis.namespaces import ProcessSeen
from switchboard.clis.procfs import ProcFs
from switchboard.common.clock import Clock
from switchboard.sessions.sandbox_proof import Conversation, NotProven, Pinned, ProvenOwner, Published, decide

ROUNDS = 3
"""So often a look starts over at once."""

WRITING_MS = 2_000
"""A CLI rewrites its descriptor in place within microseconds; a busy machine may stretch that."""


class SandboxEvidence:
    """What one /proc shows of sandboxed sessions."""

    def __init__(self, processes: ProcFs, clock: Clock) -> None:
        self._processes = processes
        self._clock = clock

    def lives(self, process: tuple[int, str]) -> bool:
        """Whether that process, by number and start, is alive."""
        return self._processes.is_same(*process)

    def prove(self, pinned: Pinned, conversation: Conversation, folder: str) -> ProvenOwner | NotProven:
        """Look at everything now: a millisecond on an ordinary machine, 25 ms where 5,000 processes run."""
        found: ProvenOwner | NotProven = NotProven("it changed while it was looked at", passing=True)
        for _ in range(ROUNDS):
            found = self._look(pinned, conversation, folder)
            if isinstance(found, NotProven):
                return found
            again = self.again(found, pinned, folder)
            if isinstance(again, ProvenOwner):
                return again
        return NotProven("it changed while it was looked at", passing=True)

    def again(self, owner: ProvenOwner, pinned: Pinned, folder: str) -> ProvenOwner | NotProven:
        """Look whether all that a proof is bound to is as it was, without looking for others: a fraction of `prove`.

        That there was no other one stays true: whoever starts later has another start, and nobody is adopted into a
        terminal's descent. Returns the owner with what it publishes now.
        """
        if pinned != owner.pinned:
            return NotProven("its terminal is another one now")
        trouble = self._process_trouble(owner)
        if trouble is not None:
            return NotProven(trouble, passing=True)
        files = self._files(folder)
        if isinstance(files, NotProven):
            return files
        mine = next((file for file in files if file.path == owner.published.path), None)
        if mine is not None and mine.writing:
            return NotProven("its descriptor is being written", passing=True, writing=True)
        beside = tuple(file for file in files if file is not mine)
        same = [file.identity for file in beside] == [file.identity for file in owner.beside]
        if mine is None or mine.descriptor is None or mine.identity != owner.published.identity or not same:
            return NotProven("its descriptors are others now", passing=True)
        return replace(owner, descriptor=mine.descriptor, published=mine, beside=beside)

    def _process_trouble(self, owner: ProvenOwner) -> str | None:
        processes, pid = self._processes, owner.pid
        now = processes.seen(pid)
        if now is None or now.ended or now.start != owner.start:
            return f"process {pid}, which owned the conversation, has ended"
        if not now.fits(owner.descriptor.pid, owner.start) or now.ns_pids is None or now.namespace != owner.namespace:
            return f"process {pid} cannot be recognised any more"
        line = processes.ancestry(pid, owner.start)[: len(owner.line)]
        if line != owner.line or processes.pid_namespace(owner.pinned.pid) != owner.terminal_namespace:
            return f"process {pid} does not descend from this terminal any more as it did"
        return None

    def _look(self, pinned: Pinned, conversation: Conversation, folder: str) -> ProvenOwner | NotProven:
        files = self._files(folder)
        if isinstance(files, NotProven):
            return files
        if not files:
            return decide(pinned, conversation, (), (), self._processes.vantage())
        terminal = self._processes.seen(pinned.pid)
        if terminal is None or not pinned.start or terminal.start != pinned.start:
            return NotProven("the process in its terminal is not the one that was started there", passing=True)
        vantage = self._processes.vantage()
        if terminal.namespace is None or terminal.namespace != vantage.namespace:
            return NotProven("the PID namespace of its terminal cannot be read, or is not the host's")
        starts = [file.descriptor.proc_start for file in files if file.descriptor is not None]
        known = [start for start in starts if start is not None]
        try:
            below = self._below(pinned, vantage, known if len(known) == len(files) else None)
        except EvidenceUnavailable as error:
            return NotProven(str(error), passing=True)
        return decide(pinned, conversation, files, below, vantage)

    def _below(self, pinned: Pinned, vantage: Vantage, starts: Collection[str] | None) -> list[ProcessSeen]:
        """Return who may run below the terminal in another PID namespace. Raises `EvidenceUnavailable`."""
        assert vantage.namespace is not None
        top = (pinned.pid, pinned.start)
        found = []
        for process in self._processes.outside(vantage.namespace, starts):
            if process is None:
                continue
            line = () if process.start is None else self._processes.ancestry(process.pid, process.start)
            if top in line:
                found.append(replace(process, ancestry=line[: line.index(top) + 1]))
            elif not self._is_whole(line) and self._processes.seen(process.pid) is not None:
                found.append(process)
        return found

    def _is_whole(self, line: tuple[tuple[int, str], ...]) -> bool:
        """Whether a line of ancestors goes up to a process that has none."""
        return bool(line) and self._processes.parent(line[-1][0]) == 0

    def _files(self, folder: str) -> list[Published] | NotProven:
        try:
            names = few_names(folder, MAX_FILES)
        except FileNotFoundError:
            return []
        except OSError as error:
            return NotProven(f"{folder} cannot be read ({error.strerror})", passing=True)
        if names is None:
            return NotProven(f"{folder} holds too many files to be looked at")
        wanted = sorted(filter(is_descriptor_name, names))
        return [file for name in wanted if (file := self._file(folder, name)) is not None]

    def _file(self, folder: str, name: str) -> Published | None:
        raw = read_raw(folder, name)
        if raw is None:
            return None
        path, descriptor = os.path.join(folder, name), raw.descriptor
        if descriptor is not None:
            return Published(path, descriptor.pid, descriptor)
        if raw.torn:
            young = 0 <= self._clock.now() - raw.modified_at < WRITING_MS
            return Published(path, pid_of_name(name), trouble="is no complete JSON", writing=young)
        return Published(path, pid_of_name(name), trouble=raw.problem and f"cannot be read ({raw.problem})")
