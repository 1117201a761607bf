"""CLIs that a person has started inside a session whose own program publishes nothing (driver).

In a plain terminal somebody runs Claude Code: what is typed there goes into it, into its dialogs, too. So the nearest
CLI below the session that publishes a status speaks for it as long as it runs. It is a guest: the session keeps its id
and its profile, and nothing of the guest is written down.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from weakref import WeakKeyDictionary

from switchboard.clis.descriptors import BACKGROUND, Descriptor, DescriptorChange
from switchboard.clis.process_end import WatchEnd
from switchboard.clis.procfs import MAX_ANCESTRY, ProcFs
from switchboard.clis.status_reader import StatusReader
from switchboard.common.facts import CliStatus
from switchboard.sessions.registry import Registry
from switchboard.sessions.session import Session

_HELD_FIRST = ("waiting", "busy", "shell", "idle")
"""Of two guests at one distance, the one that holds more back speaks."""

_Identity = tuple[str, int, str]
"""Profile, process number, start identity."""


@dataclass(slots=True)
class _Guest:
    distance: int
    status: CliStatus
    unwatch: Callable[[], None]

    def rank(self) -> tuple[int, int]:
        assert self.status.status is not None
        return self.distance, _HELD_FIRST.index(self.status.status)


class Guests:
    """Who is a guest in which session, by what the readers (by profile name) report."""

    def __init__(
        self, registry: Registry, readers: Mapping[str, StatusReader], processes: ProcFs, watch_end: WatchEnd
    ) -> None:
        self._registry = registry
        self._readers = readers
        self._processes = processes
        self._watch_end = watch_end
        self._of: WeakKeyDictionary[Session, dict[_Identity, _Guest]] = WeakKeyDictionary()

    def take_up(self, session: Session) -> None:
        """Look who runs in a session that was just added."""
        for name, reader in self._readers.items():
            for descriptor in reader.all():
                if self._host_of(descriptor)[0] is session:
                    self._seen(name, descriptor)

    def changed(self, profile: str, change: DescriptorChange) -> None:
        """A descriptor has changed."""
        if change.after is None:
            assert change.before is not None
            self._gone(_identity(profile, change.before))
        elif all(session.profile.publishes for session in self._registry):
            return  # the rule, and then no ancestry has to be looked up
        else:
            self._seen(profile, change.after)

    def close(self) -> None:
        """Wait for nobody's end any more."""
        for guests in self._of.values():
            for guest in guests.values():
                guest.unwatch()
        self._of.clear()

    def _seen(self, profile: str, descriptor: Descriptor) -> None:
        identity = _identity(profile, descriptor)
        for session, guests in list(self._of.items()):
            if identity in guests:  # it stays one when its parent ends
                guests[identity].status = descriptor.status
                self._tell(session)
                return
        host, distance = self._host_of(descriptor)
        if host is None or host.profile.publishes or descriptor.kind == BACKGROUND:
            return
        unwatch = self._watch_end(descriptor.pid, partial(self._gone, identity))
        if not self._processes.is_same(descriptor.pid, descriptor.proc_start):
            unwatch()
            return
        self._of.setdefault(host, {})[identity] = _Guest(distance, descriptor.status, unwatch)
        self._tell(host)

    def _gone(self, identity: _Identity) -> None:
        for session, guests in list(self._of.items()):
            guest = guests.pop(identity, None)
            if guest is not None:
                guest.unwatch()
                self._tell(session)

    def _tell(self, session: Session) -> None:
        if session.exit is not None:
            return
        speaking = [guest for guest in self._of[session].values() if guest.status.status is not None]
        status = min(speaking, key=_Guest.rank).status if speaking else None
        if status != session.facts.value.status:
            session.observed_status(status)

    def _host_of(self, descriptor: Descriptor) -> tuple[Session | None, int]:
        """Return the nearest session that the process is or descends from, and how many parents lie between."""
        hosts = {session.pid: session for session in self._registry if session.exit is None}
        pid: int | None = descriptor.pid
        for distance in range(MAX_ANCESTRY + 1):
            if not pid:
                break
            if pid in hosts:
                return hosts[pid], distance
            pid = self._processes.parent(pid)
        return None, 0


def _identity(profile: str, descriptor: Descriptor) -> _Identity:
    return profile, descriptor.pid, descriptor.proc_start or ""
