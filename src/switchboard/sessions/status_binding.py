"""Brings what CLIs publish to the sessions they run in (driver).

A descriptor belongs to a session when its writer is the session's process or descends from it. The first one that
carries the session's id makes its writer the session's *writer*; from then on only that process speaks for the session,
whatever other CLIs a tool of it may start, and when it goes on under another id (`/clear`), so does the session.

A descriptor appears before its first status. Until that one the session counts as starting, for `SILENT_MS` at most.
What runs inside a session whose own program publishes nothing is the business of `Guests`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial
from weakref import WeakKeyDictionary

from switchboard.clis.descriptors import BACKGROUND, Descriptor, DescriptorChange
from switchboard.clis.process_end import WatchEnd
from switchboard.clis.procfs import ProcFs
from switchboard.clis.status_reader import StatusReader
from switchboard.common.clock import Clock, Timer
from switchboard.sessions.guests import Guests
from switchboard.sessions.registry import Registry
from switchboard.sessions.session import Session

SILENT_MS = 30_000
"""A CLI that has had a descriptor for so long, and shown no status in it, is one that shows none.

Claude Code shows it 5 to 250 ms after its descriptor; a loaded machine may take some seconds for that.
"""


class StatusBinding:
    """Connects the status readers (by profile name) to the registry's sessions."""

    def __init__(
        self,
        registry: Registry,
        readers: Mapping[str, StatusReader],
        processes: ProcFs,
        clock: Clock,
        watch_end: WatchEnd,
    ) -> None:
        self._registry = registry
        self._readers = readers
        self._processes = processes
        self._clock = clock
        self._guests = Guests(registry, readers, processes, watch_end)
        self._silent: WeakKeyDictionary[Session, Timer] = WeakKeyDictionary()
        """Those that have shown a descriptor and no status yet."""
        for name, reader in readers.items():
            reader.on_change(partial(self._changed, name))

    def take_up(self, session: Session) -> None:
        """Look what is published for a session that was just added."""
        if session.label.sandbox:
            return  # the numbers in its descriptors are those of its own namespace: `SandboxStatus` speaks for it
        if not session.profile.publishes:
            self._guests.take_up(session)
            return
        reader = self._readers.get(session.profile.name)
        if reader is None or session.exit is not None:
            return
        writer = session.label.writer
        found = reader.by_pid(writer[0]) if writer is not None else None
        if found is None or _identity(found) != writer:
            # No writer is known, or it has ended (its number may be another process's by now).
            found = reader.owned_by(session.pid)
        if found is None:
            return
        self._apply(session, found)
        if session.label.writer == _identity(found) and found.status.status is None:
            session.observed_start()  # of an adopted one it is not known whether there has ever been one
            self._expect_status(session)

    def background_job(self, session_id: str) -> str | None:
        """Return the job id of a live background process that owns the session; None when there is none."""
        for reader in self._readers.values():
            job = reader.background_job(session_id)
            if job is not None:
                return job
        return None

    def close(self) -> None:
        """Wait for nothing any more."""
        self._guests.close()
        for timer in self._silent.values():
            timer.cancel()
        self._silent.clear()

    def _changed(self, profile: str, change: DescriptorChange) -> None:
        self._guests.changed(profile, change)
        sessions = [s for s in self._registry if s.profile.name == profile and s.exit is None]
        if change.after is None:
            assert change.before is not None
            owner = _by_writer(sessions, change.before)
            if owner is not None:
                owner.observed_status(None)
                self._expect_status(owner)
            return
        owner = _by_writer(sessions, change.after) or self._nearest(sessions, change.after.pid)
        if owner is not None and not owner.label.sandbox:
            self._apply(owner, change.after)

    def _nearest(self, sessions: Iterable[Session], pid: int) -> Session | None:
        found: tuple[int, Session] | None = None
        for session in sessions:
            distance = self._processes.distance(pid, session.pid)
            if distance is not None and (found is None or distance < found[0]):
                found = (distance, session)
        return found[1] if found else None

    def _apply(self, session: Session, descriptor: Descriptor) -> None:
        writer = session.label.writer
        if descriptor.kind == BACKGROUND:
            return
        if writer != _identity(descriptor):
            if writer is not None and self._processes.is_same(*writer):
                return  # another CLI, run by the session's own
            # A fork's CLI makes its own id, so the first one that shows itself is it; later ones carry the id.
            first_of_fork = session.label.launch == "fork" and writer is None
            if descriptor.key != session.key and not first_of_fork:
                return
            session.observed_writer(*_identity(descriptor))
        if descriptor.key != session.key:
            session.rekeyed(descriptor.key)
        session.observed_status(descriptor.status)
        self._expect_status(session)

    def _expect_status(self, session: Session) -> None:
        """See to it that a session whose CLI has a descriptor does not count as starting for ever."""
        facts = session.facts.value
        if not facts.starting or facts.status is None:
            timer = self._silent.pop(session, None)
            if timer is not None:
                timer.cancel()
        elif session not in self._silent:
            until = self._clock.now() + SILENT_MS
            self._silent[session] = self._clock.call_at(until, partial(self._silent_for_long, session))

    def _silent_for_long(self, session: Session) -> None:
        self._silent.pop(session, None)
        if session.exit is None:
            session.observed_silence()


def _identity(descriptor: Descriptor) -> tuple[int, str]:
    return descriptor.pid, descriptor.proc_start or ""


def _by_writer(sessions: Iterable[Session], descriptor: Descriptor) -> Session | None:
    for session in sessions:
        if session.label.writer == _identity(descriptor) and not session.label.sandbox:
            return session
    return None
