"""Session descriptors: the small file in which a running CLI says who it is and what it does (pure).

A CLI writes `<pid>.json` into its sessions folder and rewrites it in place whenever its state changes: no heartbeat,
no atomic replacement, no documentation. A reader can meet an empty file, half of one, or the tail of an older and
longer one, and has to treat that as "not known yet" rather than as news.
"""

from __future__ import annotations

from dataclasses import dataclass

from switchboard.common.ecma import as_integer
from switchboard.common.facts import CliStatus
from switchboard.common.strict_json import JsonSyntaxError, JsonValue, decode_utf8, parse

STATUSES = frozenset({"busy", "idle", "waiting", "shell"})
"""The statuses that mean something here; `waiting` is a dialog, `shell` is idle with a background shell."""

BACKGROUND = "bg"
"""The `kind` of a job without a terminal of its own."""

_MAX_PID = 2**31 - 1  # the kernel's type; a larger number names no process and would overflow a probe
_MAX_INSTANT = 8_640_000_000_000_000  # the last millisecond that a JavaScript Date can hold


class DescriptorUnreadable(ValueError):
    """The bytes are not JSON: a write is under way, or the file is damaged."""


@dataclass(frozen=True, slots=True)
class Descriptor:
    """One descriptor as its CLI wrote it.

    `pid` is the number in the writer's own PID namespace. `status` is None when the file has no status yet, and its
    own status is None when that is a word unknown here. `proc_start` is the writer's start identity (on Linux field 22
    of its stat file), kept as text. `kind` is `interactive` or `bg`; `started_at` is in wall milliseconds.
    """

    pid: int
    session_id: str
    status: CliStatus
    proc_start: str | None = None
    pid_domain: str | None = None
    kind: str | None = None
    job_id: str | None = None
    cwd: str | None = None
    started_at: int | None = None
    name: str | None = None
    bridge_session_id: str | None = None
    version: str | None = None

    @property
    def key(self) -> str:
        """The session id as it is compared: lower-case."""
        return self.session_id.lower()

    @property
    def keys(self) -> frozenset[str]:
        """Every id by which its session may be asked for, lower case."""
        return frozenset(text.lower() for text in (self.session_id, self.bridge_session_id) if text)

    @property
    def identity(self) -> tuple[int, str | None, str | None, str | None, frozenset[str]]:
        """What stays as it is while one process keeps one conversation, whatever its status does."""
        return self.pid, self.proc_start, self.pid_domain, self.kind, self.keys

    def same_process(self, other: Descriptor) -> bool:
        """Tell whether both were written by one process: the number alone is given out again.

        A start that one of them does not record decides nothing.
        """
        undecided = self.proc_start is None or other.proc_start is None
        return self.pid == other.pid and (undecided or self.proc_start == other.proc_start)


@dataclass(frozen=True, slots=True)
class DescriptorChange:
    """What became of one descriptor. `before` is None for a new process, `after` is None for one that is gone."""

    before: Descriptor | None
    after: Descriptor | None

    @property
    def rekeyed(self) -> bool:
        """Whether the same process now has another conversation, as after `/clear`."""
        return self.before is not None and self.after is not None and self.before.key != self.after.key


def is_descriptor_name(name: str) -> bool:
    """Tell whether a file of that name is a descriptor: `<digits>.json` and nothing else.

    The folder also holds keys (`<pid>.<hash>.key`) and files of older versions (`pid-<n>.json`).
    """
    stem = name.removesuffix(".json")
    return stem != name and stem.isascii() and stem.isdigit()


def pid_of_name(name: str) -> int:
    """Return the number in a descriptor's file name."""
    return int(name.removesuffix(".json")[:20])  # 20 digits are beyond every pid; int() of 5,000 would raise


def parse_descriptor(data: bytes) -> Descriptor | None:
    """Return the descriptor in `data`; None when it is JSON but names no process or no session.

    Raises `DescriptorUnreadable` when it is not JSON.
    """
    try:
        body = parse(decode_utf8(data))
    except JsonSyntaxError as error:
        raise DescriptorUnreadable(str(error)) from None
    if not isinstance(body, dict):
        return None
    pid = as_integer(body.get("pid"))
    session_id = _text(body, "sessionId")
    if pid is None or not 0 < pid <= _MAX_PID or session_id is None:
        return None
    status = _text(body, "status")
    return Descriptor(
        pid=pid,
        session_id=session_id,
        status=CliStatus(
            status=status if status in STATUSES else None,
            updated_at=_instant(body, "statusUpdatedAt"),
            waiting_for=_text(body, "waitingFor"),
            cli_version=_text(body, "version"),
        ),
        proc_start=_identity(body),
        pid_domain=_text(body, "pidDomain"),
        kind=_text(body, "kind"),
        job_id=_text(body, "jobId"),
        cwd=_text(body, "cwd"),
        started_at=_instant(body, "startedAt"),
        name=_text(body, "name"),
        bridge_session_id=_text(body, "bridgeSessionId"),
        version=_text(body, "version"),
    )


def claimed_sessions(data: bytes) -> frozenset[str]:
    """Return the ids, lower case, that a JSON text claims as its session's, whatever else is wrong with it.

    For files that are no proper descriptor and yet may be somebody's. Empty when the text is no JSON object.
    """
    try:
        body = parse(decode_utf8(data))
    except JsonSyntaxError:
        return frozenset()
    if not isinstance(body, dict):
        return frozenset()
    return frozenset(text.lower() for field in ("sessionId", "bridgeSessionId") if (text := _text(body, field)))


def _text(body: dict[str, JsonValue], field: str) -> str | None:
    value = body.get(field)
    return value if isinstance(value, str) and value else None


def _instant(body: dict[str, JsonValue], field: str) -> int | None:
    """Return a stamp; anything that is no whole millisecond of a possible date is unusable, so None."""
    value = as_integer(body.get(field))
    return value if value is not None and 0 <= value <= _MAX_INSTANT else None


def _identity(body: dict[str, JsonValue]) -> str | None:
    value = body.get("procStart")
    number = as_integer(value)
    return str(number) if number is not None else _text(body, "procStart")
