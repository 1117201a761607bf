"""The registry's sessions as what versioned actions work on (driver)."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from switchboard.clis.procfs import ProcFs
from switchboard.common.clock import Clock, Instant
from switchboard.sessions.registry import Registry
from switchboard.sessions.sandbox_status import SandboxStatus, SessionProof
from switchboard.sessions.saved import remote_triggers
from switchboard.sessions.session import Session
from switchboard.sessions.stop import Stopping, request_stop
from switchboard.store.sqlite import Store


class LifecycleSessions:
    """`switchboard.triggers.lifecycle_port.HostedSessions` over the registry.

    `background_job` tells whether a live background process owns a session that is not open here.
    """

    def __init__(
        self,
        registry: Registry,
        processes: ProcFs,
        store: Store,
        clock: Clock,
        background_job: Callable[[str], str | None],
        proofs: SandboxStatus,
    ) -> None:
        self._clock = clock
        self._registry = registry
        self._processes = processes
        self._store = store
        self._background_job = background_job
        self._proofs = proofs
        registry.outlived = self.outlived  # legacy deliveries ask the session itself

    def find(self, session_id: str) -> Session | None:
        """Return the open session of that id, or of one that had that id before."""
        return self._registry.find(session_id)

    def lock_key(self, session_id: str) -> str:
        """Return the key of the session's queue: its terminal's number, or the id where nothing is open."""
        session = self._registry.find(session_id)
        return session_id.lower() if session is None else f"#{session.handle}"

    def background_job(self, session_id: str) -> str | None:
        """Return the job id when a background process owns the session."""
        return self._background_job(session_id)

    def holds(self, target: object, key: str, generation: int) -> bool:
        """Whether that very object still stands under `key` with that generation, its owner alive."""
        found = self._registry.find(key)
        if found is None or found is not target or (found.key, found.generation) != (key, generation):
            return False
        return not self.outlived(found)

    def outlived(self, session: Session) -> bool:
        """Whether the process that owned its conversation has ended, as far as one was ever seen.

        A shell that the CLI was started through may outlive it, and would carry out what is meant for the CLI.
        """
        writer = session.writer
        return writer is not None and bool(writer[1]) and not self._processes.is_same(*writer)

    def proof(self, target: object) -> SessionProof | None:
        """Return what proves who owns the conversation of a sandboxed session; None where that needs no proof."""
        assert isinstance(target, Session)
        return self._proofs.proof(target)

    def remote(self, session_id: str) -> bool:
        """Whether another machine lists the session. Raises `StoreError` when that cannot be read."""
        return bool(self._store.remote_hosts(session_id))

    def remote_hosts(self, session_id: str) -> Sequence[str]:
        """Return the machines that list the session, none while triggers may not go to any. Raises `StoreError`."""
        return self._store.remote_hosts(session_id) if remote_triggers(self._store) else ()

    def request_stop(self, target: object, deadline: Instant) -> Stopping:
        """Ask the session to end, as every Stop does; its exit is the confirmation. Raises `StopError`."""
        assert isinstance(target, Session)
        return request_stop(target, self._processes, self._clock, deadline)
