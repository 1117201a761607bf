"""What the running CLIs of one sessions folder publish, kept current (driver).

A file is read as soon as it changes. The baseline waits for 150 ms of quiet first; here a submission is proven by the
CLI's reaction, so every trigger would pay for that wait, and an idle of 10 ms between two queued turns has to be seen
to be distrusted. Telling a blip from rest is the business of the waits, which look at the status' own stamp. Only a
burst is slowed down: after `BURST` reads within 150 ms the rest is read at the end of that time, and because each state
carries its stamp, it is never mistaken for the one before.

A file that is half-written says nothing: what was known stays, and the event that ends the write reads it again. A
file that is gone or may not be read, a process that has ended, and a process number that was given out again all end
the entry. Files of killed CLIs stay behind for ever, so a folder of more than `SEED_FILES` is not read as a whole when
it is first seen: then only files named after a living process are.

Lookups ask the system again when the last look is 5 s old: that finds killed processes, which write nothing any more,
and makes up for events that a file system did not send. Nothing runs while nothing changes and nobody asks.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass

from switchboard.clis.descriptor_files import MAX_FILES, descriptor_names, read_descriptor
from switchboard.clis.descriptors import (
    BACKGROUND,
    Descriptor,
    DescriptorChange,
    DescriptorUnreadable,
    is_descriptor_name,
    pid_of_name,
)
from switchboard.clis.procfs import ProcFs
from switchboard.common.clock import Clock
from switchboard.common.facts import CliStatus, Log
from switchboard.common.folder_watch import FolderEvent, FolderWatcher, Rescan, Watch

SEED_FILES = 200
"""So many files are read when a folder is first seen."""

BURST = 256
"""So many reads are made at once before the rest waits."""

BURST_MS = 150
"""How long it waits."""

PROBE_MS = 5_000
"""A lookup trusts what it knows for so long."""


@dataclass(slots=True)
class _Entry:
    descriptor: Descriptor
    probed_at: int


class _Pace:
    """Allows `BURST` reads in each window of `BURST_MS`."""

    __slots__ = ("_count", "_until")

    def __init__(self) -> None:
        self._until = 0
        self._count = 0

    def take(self, now: int) -> int | None:
        """Allow one read (None), or return the instant until which the next has to wait."""
        if not self._until - BURST_MS <= now < self._until:
            self._until, self._count = now + BURST_MS, 0
        self._count += 1
        return None if self._count <= BURST else self._until


class StatusReader:
    """The current descriptors of one folder, which need not exist yet. Belongs to one event loop."""

    def __init__(self, folder: str, watcher: FolderWatcher, clock: Clock, processes: ProcFs, log: Log) -> None:
        self._folder = folder
        self._watcher = watcher
        self._clock = clock
        self._processes = processes
        self._log = log
        self._entries: dict[str, _Entry] = {}
        self._unread: set[str] = set()
        self._scheduled = False
        self._pace = _Pace()
        self._callbacks: list[Callable[[DescriptorChange], None]] = []
        self._watch: Watch | None = None

    def start(self) -> None:
        """Watch the folder, then read what is there: in this order nothing is missed.

        Raises OSError when the folder exists and cannot be watched.
        """
        if self._watch is None:
            self._watch = self._watcher.watch(self._folder, self._on_event)
            self._list()
            while self._unread:
                self._update(self._unread.pop())

    def close(self) -> None:
        """Stop watching. What was known stays readable; nothing is reported any more."""
        if self._watch is not None:
            self._watch.close()
            self._watch = None
        self._unread.clear()
        self._callbacks.clear()

    def on_change(self, callback: Callable[[DescriptorChange], None]) -> Callable[[], None]:
        """Call back after each change, also of status alone; return what ends that.

        A process that took over another one's number is reported as two changes: one gone, one new.
        """
        self._callbacks.append(callback)

        def end() -> None:
            if callback in self._callbacks:
                self._callbacks.remove(callback)

        return end

    def get(self, session_id: str) -> CliStatus | None:
        """Return the status a session's CLI publishes; None when no live one publishes any for that id.

        Its `status` is None when the CLI has published no known status yet.
        """
        descriptor = self.descriptor(session_id)
        return descriptor.status if descriptor else None

    def descriptor(self, session_id: str, trust_ms: int = PROBE_MS) -> Descriptor | None:
        """Return the descriptor of a live process with that session id, in any letter case.

        Two processes can share an id; then the lower process number counts. Use `owned_by` for a session of one's own.
        `trust_ms`: how old the last look at the process may be, 0 asks the system now.
        """
        key = session_id.lower()
        return self._first(lambda descriptor: descriptor.key == key, trust_ms)

    def by_pid(self, pid: int) -> Descriptor | None:
        """Return the descriptor that a live process has written itself."""
        return self._first(lambda descriptor: descriptor.pid == pid)

    def owned_by(self, pid: int) -> Descriptor | None:
        """Return the descriptor of the live writer that is `pid` or descends from it; None when there is none.

        The nearest descendant counts: a CLI that a tool of the session has started lies further down.
        """
        nearest: tuple[int, Descriptor] | None = None
        for descriptor in self.all():
            distance = self._processes.distance(descriptor.pid, pid)
            if distance is not None and (nearest is None or distance < nearest[0]):
                nearest = (distance, descriptor)
        return nearest[1] if nearest else None

    def background_job(self, session_id: str) -> str | None:
        """Return the job id when a live background process owns that session, empty when it names no job.

        Asks the system now: a trigger is refused on the strength of this answer.
        """
        key = session_id.lower()
        found = self._first(
            lambda descriptor: descriptor.kind == BACKGROUND and key in (descriptor.key, _bridge_key(descriptor)),
            trust_ms=0,
        )
        return None if found is None else found.job_id or ""

    def all(self) -> list[Descriptor]:
        """Return the descriptors of all live processes in order of their number."""
        for name in list(self._entries):
            self._probe(name, PROBE_MS)
        return sorted((entry.descriptor for entry in self._entries.values()), key=lambda descriptor: descriptor.pid)

    def _first(self, wanted: Callable[[Descriptor], bool], trust_ms: int = PROBE_MS) -> Descriptor | None:
        names = [name for name, entry in self._entries.items() if wanted(entry.descriptor)]
        for name in sorted(names, key=pid_of_name):
            self._probe(name, trust_ms)
            entry = self._entries.get(name)
            if entry is not None and wanted(entry.descriptor):
                return entry.descriptor
        return None

    def _probe(self, name: str, trust_ms: int) -> None:
        """Look again when the last look is too old; changes are reported after the caller has its answer."""
        if not 0 <= self._clock.now() - self._entries[name].probed_at < trust_ms:
            self._update(name, later=True)

    def _on_event(self, event: FolderEvent | Rescan) -> None:
        if isinstance(event, Rescan):
            self._list()
        elif is_descriptor_name(event.name):
            self._unread.add(event.name)
        self._schedule()

    def _list(self) -> None:
        """Note what has to be read: everything known, and what the folder holds now."""
        self._unread.update(self._entries)
        try:
            names = descriptor_names(self._folder)
        except FileNotFoundError:
            return
        except OSError as error:
            self._log.warning(f"cannot list {self._folder}: {error.strerror}")
            return
        if len(names) > SEED_FILES:
            names = [name for name in names if self._processes.is_alive(pid_of_name(name))]
        if len(names) > SEED_FILES:
            self._log.warning(f"{self._folder} holds {len(names)} sessions; each is read when it next changes")
            return
        self._unread.update(names)

    def _schedule(self) -> None:
        if self._unread and not self._scheduled and self._watch is not None:
            self._scheduled = True
            # One loop turn later: the two or three events of one rewrite arrive together and cost one read.
            asyncio.get_running_loop().call_soon(self._read_changed)

    def _read_changed(self) -> None:
        self._scheduled = False
        try:
            while self._unread:
                wait_until = self._pace.take(self._clock.now())
                if wait_until is not None:
                    self._scheduled = True
                    self._clock.call_at(wait_until, self._read_changed)
                    return
                self._update(self._unread.pop())
        finally:
            self._schedule()  # a callback that raised must not keep the other files unread

    def _update(self, name: str, *, later: bool = False) -> None:
        """Read one file and report what changed, one loop turn `later` if asked."""
        known = self._entries.get(name)
        before = known.descriptor if known else None
        try:
            after = read_descriptor(self._folder, name)
        except DescriptorUnreadable:
            after = before
        except OSError:
            after = None
        if after is not None and not self._processes.is_same(after.pid, after.proc_start):
            after = None
        if after is None:
            self._entries.pop(name, None)
        elif known is not None or len(self._entries) < MAX_FILES:
            self._entries[name] = _Entry(after, self._clock.now())
        else:
            return
        if before == after:
            return
        if before is not None and after is not None and not before.same_process(after):
            changes = [DescriptorChange(before, None), DescriptorChange(None, after)]
        else:
            changes = [DescriptorChange(before, after)]
        if later:
            asyncio.get_running_loop().call_soon(self._report, changes)
        else:
            self._report(changes)

    def _report(self, changes: list[DescriptorChange]) -> None:
        for change in changes:
            for callback in tuple(self._callbacks):
                callback(change)


def _bridge_key(descriptor: Descriptor) -> str | None:
    return descriptor.bridge_session_id.lower() if descriptor.bridge_session_id else None
