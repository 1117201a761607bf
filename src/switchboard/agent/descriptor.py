"""What the agent says about itself while it lives (pure), in the shape of the measured CLI's descriptor."""

from __future__ import annotations

from dataclasses import dataclass, replace

from switchboard.agent.layout import encode_folder
from switchboard.common.strict_json import JsonValue, dump


@dataclass(frozen=True, slots=True)
class Identity:
    """Who this process is: `started`, its kernel start tick as text; `domain`, the machine and PID namespace.

    Both are None where the machine does not tell.
    """

    pid: int
    started: str | None
    domain: str | None


@dataclass(frozen=True, slots=True)
class Descriptor:
    """One state of the descriptor file. Instants are wall milliseconds; `status` None: just started."""

    identity: Identity
    session_id: str
    cwd: str
    started_at: int
    version: str
    status: str | None = None
    waiting_for: str | None = None
    updated_at: int | None = None
    status_updated_at: int | None = None

    @property
    def name(self) -> str:
        """A short name for people: the folder, and enough of the id to tell two sessions in it apart."""
        folder = self.cwd.rstrip("/").rpartition("/")[2] or "root"
        return f"{encode_folder(folder)[:40]}-{self.session_id[:2]}"

    def with_status(self, status: str, waiting_for: str | None, now: int) -> Descriptor:
        """The same process in another state, or in the same state entered anew."""
        return replace(self, status=status, waiting_for=waiting_for, updated_at=now, status_updated_at=now)

    def rekeyed(self, session_id: str, now: int) -> Descriptor:
        """The same process with another conversation; its status has not moved."""
        return replace(self, session_id=session_id, updated_at=now)

    def encode(self) -> bytes:
        """The file's content."""
        fields: dict[str, JsonValue] = {
            "pid": self.identity.pid,
            "sessionId": self.session_id,
            "cwd": self.cwd,
            "startedAt": self.started_at,
            "procStart": self.identity.started,
            "version": self.version,
            "peerProtocol": 1,
            "kind": "interactive",
            "entrypoint": "cli",
            "pidDomain": self.identity.domain,
            "name": self.name,
            "nameSource": "derived",
            "status": self.status,
            "waitingFor": self.waiting_for,
            "updatedAt": self.updated_at,
            "statusUpdatedAt": self.status_updated_at,
        }
        return dump({key: value for key, value in fields.items() if value is not None})
