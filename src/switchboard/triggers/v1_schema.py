"""The shape of a versioned request: one table of checks, the first that fails gives the reason.

Theory of operation. A body that has `version` or `action` is a versioned request, also one that is wrong; a body that
is no object is answered as one too. Everything else is a legacy request and none of this module's business. The checks
stand in `TABLE` in the contract's order; each may rely on what the rows above it have established, and on nothing else.
They are in ECMAScript's terms: a property is present when it is there at all (null included), texts are measured in
UTF-16 units, `1.0` is the version 1 and `"1"` is not.

A refusal also carries what its result may echo, which depends on how far the checks came: an id that was not yet
judged is not repeated, and `resumed` or `created` appears only once it is known which of the two was meant.

Nothing here knows whether a session, a project or a folder exists.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import Enum
from typing import TypeAlias

from switchboard.common.ecma import as_integer, is_integer, trim, utf16_length, utf16_sort_key
from switchboard.common.strict_json import JsonValue
from switchboard.triggers import v1_reasons as reasons

VERSION = 1
MAX_TEXT_LENGTH = 4096  # UTF-16 units, as a legacy command
MAX_NAME_LENGTH = 256  # UTF-16 units, before trimming
MAX_TIMEOUT_MS = 600_000

_REQUEST_ID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
_SESSION_ID = re.compile(r"[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}")
_NAME_CONTROLS = re.compile("[\x00-\x1f\x7f]")
_TEXT_CONTROLS = re.compile("[\r\n\x00\x1b]")


class Family(Enum):
    """Which contract answers a body."""

    LEGACY = "legacy"
    VERSIONED = "versioned"
    NO_OBJECT = "no object"
    """Answered in the versioned envelope, by the first row of the table."""


class Mode(Enum):
    """The three shapes of a versioned request."""

    RESUME = "resume"
    NEW = "new"
    STOP = "stop"

    @property
    def action(self) -> str:
        """What such a request says in `action`."""
        return "stop" if self is Mode.STOP else "open"

    @property
    def text_field(self) -> str:
        """The field with the text that is typed."""
        return "before" if self is Mode.STOP else "prompt"

    @property
    def spawn_field(self) -> str | None:
        """The field of the result that tells of a spawn; a stop has none."""
        return {Mode.RESUME: "resumed", Mode.NEW: "created"}.get(self)


@dataclass(frozen=True, slots=True)
class Subject:
    """What a result says of its request. `version` and `action`: as given, None for missing.

    `mode`: None until it is known which shape was meant. `session_id`: lower-case, None until it is known to be one.
    """

    version: JsonValue = None
    action: JsonValue = None
    mode: Mode | None = None
    session_id: str | None = None
    steps_total: int = 0


@dataclass(frozen=True, slots=True)
class OpenResume:
    """Show a session, resuming it if it is closed, and type `prompt` if there is one."""

    session_id: str
    prompt: str | None = None
    timeout_ms: int | None = None
    expected_cwd: str | None = None
    mode = Mode.RESUME

    @property
    def text(self) -> str | None:
        return self.prompt


@dataclass(frozen=True, slots=True)
class OpenNew:
    """Start a session in a project and type `prompt`.

    `project`: absolute, otherwise any text, NUL and lone surrogates included: it must be found among the known
    projects before the system is asked about it. `name`: trimmed.
    """

    project: str
    name: str
    prompt: str
    timeout_ms: int | None = None
    mode = Mode.NEW

    @property
    def session_id(self) -> None:
        """The request names no session; the host reserves an id."""
        return None

    @property
    def text(self) -> str:
        return self.prompt


@dataclass(frozen=True, slots=True)
class Stop:
    """End an open session, after a last turn with `before` if there is one."""

    session_id: str
    before: str | None = None
    timeout_ms: int | None = None
    expected_cwd: str | None = None
    mode = Mode.STOP

    @property
    def text(self) -> str | None:
        return self.before


Request: TypeAlias = OpenResume | OpenNew | Stop


@dataclass(frozen=True, slots=True)
class ShapeRefusal:
    """A request that is refused for its shape."""

    reason: str
    subject: Subject


def family(body: JsonValue) -> Family:
    """Tell which contract answers a parsed body."""
    if not isinstance(body, dict):
        return Family.NO_OBJECT
    return Family.VERSIONED if "version" in body or "action" in body else Family.LEGACY


def is_request_id(stem: str) -> bool:
    """Tell whether a file name without `.json` is a versioned request's: a lower-case UUID, to its very end."""
    return _REQUEST_ID.fullmatch(stem) is not None


def validate(body: JsonValue, stem: str) -> Request | ShapeRefusal:
    """Check a body that is not a legacy one. `stem`: its file name without `.json`. Never raises."""
    look = _Look(body, stem)
    for row in TABLE:
        reason = row.fails(look)
        if reason is not None:
            return ShapeRefusal(reason, _subject(look, row.name))
    return _request(look)


def subject_of(request: Request) -> Subject:
    """What a result says of a request whose shape is right."""
    mode = request.mode
    return Subject(VERSION, mode.action, mode, request.session_id, 0 if request.text is None else 1)


class _Look:
    """One body under examination. `mode` is right once the rows above `unsupported field` have passed.

    `text`: what is to be typed, in the field that is named so for this mode; `has_text`: whether there has to be one.
    """

    __slots__ = ("body", "fields", "has_text", "mode", "new", "stem", "text")

    def __init__(self, body: JsonValue, stem: str) -> None:
        self.body = body
        self.stem = stem
        self.fields: dict[str, JsonValue] = body if isinstance(body, dict) else {}
        new = self.fields.get("new")
        self.new: dict[str, JsonValue] = new if isinstance(new, dict) else {}
        if self.fields.get("action") == "stop":
            self.mode = Mode.STOP
        else:
            self.mode = Mode.NEW if "new" in self.fields else Mode.RESUME
        field = self.mode.text_field
        self.text = self.fields.get(field)
        self.has_text = self.mode is Mode.NEW or field in self.fields


@dataclass(frozen=True, slots=True)
class Row:
    """One check: `fails` returns the reason, or None."""

    name: str
    fails: Callable[[_Look], str | None]


_FIELDS = {
    Mode.RESUME: frozenset({"version", "action", "sessionId", "prompt", "timeout_ms", "expectedCwd"}),
    Mode.NEW: frozenset({"version", "action", "new", "prompt", "timeout_ms"}),
    Mode.STOP: frozenset({"version", "action", "sessionId", "before", "timeout_ms", "expectedCwd"}),
}
_NEW_FIELDS = frozenset({"project", "name"})


def _object(look: _Look) -> str | None:
    return None if isinstance(look.body, dict) else reasons.NO_OBJECT


def _version(look: _Look) -> str | None:
    version = look.fields.get("version")
    return None if is_integer(version) and version == VERSION else reasons.BAD_VERSION


def _action(look: _Look) -> str | None:
    action = look.fields.get("action")
    return None if isinstance(action, str) and action in ("open", "stop") else reasons.BAD_ACTION


def _file_name(look: _Look) -> str | None:
    return None if is_request_id(look.stem) else reasons.BAD_FILE_NAME


def _open_target(look: _Look) -> str | None:
    if look.mode is Mode.STOP or ("sessionId" in look.fields) != ("new" in look.fields):
        return None
    return reasons.ONE_TARGET


def _stop_target(look: _Look) -> str | None:
    return reasons.NO_SESSION_ID if look.mode is Mode.STOP and "sessionId" not in look.fields else None


def _disallowed(look: _Look) -> Iterator[str]:
    allowed = _FIELDS[look.mode]
    yield from (name for name in look.fields if name not in allowed)
    if look.mode is Mode.NEW:
        yield from (f"new.{name}" for name in look.new if name not in _NEW_FIELDS)


def _unsupported_field(look: _Look) -> str | None:
    path = min(_disallowed(look), key=utf16_sort_key, default=None)
    return None if path is None else reasons.unsupported_field(path)


def _session_id(look: _Look) -> str | None:
    if look.mode is Mode.NEW:
        return None
    session_id = look.fields.get("sessionId")
    return None if isinstance(session_id, str) and _SESSION_ID.fullmatch(session_id) else reasons.BAD_SESSION_ID


def _new(look: _Look) -> str | None:
    return reasons.NEW_SHAPE if look.mode is Mode.NEW and not isinstance(look.fields["new"], dict) else None


def _new_project(look: _Look) -> str | None:
    if look.mode is not Mode.NEW:
        return None
    project = look.new.get("project")
    return None if isinstance(project, str) and project.startswith("/") else reasons.PROJECT_PATH


def _new_name(look: _Look) -> str | None:
    if look.mode is not Mode.NEW:
        return None
    name = look.new.get("name")
    return None if isinstance(name, str) and trim(name) else reasons.NAME_EMPTY


def _new_name_length(look: _Look) -> str | None:
    if look.mode is not Mode.NEW:
        return None
    return reasons.NAME_TOO_LONG if utf16_length(_text(look.new["name"])) > MAX_NAME_LENGTH else None


def _new_name_controls(look: _Look) -> str | None:
    if look.mode is not Mode.NEW:
        return None
    return reasons.NAME_CONTROLS if _NAME_CONTROLS.search(_text(look.new["name"])) else None


def _prompt(look: _Look) -> str | None:
    if not look.has_text or (isinstance(look.text, str) and trim(look.text)):
        return None
    return reasons.text_empty(look.mode.text_field)


def _prompt_length(look: _Look) -> str | None:
    if not look.has_text or utf16_length(_text(look.text)) <= MAX_TEXT_LENGTH:
        return None
    return reasons.text_too_long(look.mode.text_field)


def _prompt_controls(look: _Look) -> str | None:
    if not look.has_text or _TEXT_CONTROLS.search(_text(look.text)) is None:
        return None
    return reasons.text_controls(look.mode.text_field)


def _timeout(look: _Look) -> str | None:
    if "timeout_ms" not in look.fields:
        return None
    timeout = as_integer(look.fields["timeout_ms"])
    return None if timeout is not None and 1 <= timeout <= MAX_TIMEOUT_MS else reasons.BAD_TIMEOUT


def _expected_cwd(look: _Look) -> str | None:
    if "expectedCwd" not in look.fields:
        return None
    cwd = look.fields["expectedCwd"]
    return None if isinstance(cwd, str) and cwd else reasons.EXPECTED_CWD_SHAPE


TABLE = (
    Row("object", _object),
    Row("version", _version),
    Row("action", _action),
    Row("file name", _file_name),
    Row("open target", _open_target),
    Row("stop target", _stop_target),
    Row("unsupported field", _unsupported_field),
    Row("sessionId", _session_id),
    Row("new", _new),
    Row("new.project", _new_project),
    Row("new.name", _new_name),
    Row("new.name length", _new_name_length),
    Row("new.name controls", _new_name_controls),
    Row("text", _prompt),
    Row("text length", _prompt_length),
    Row("text controls", _prompt_controls),
    Row("timeout_ms", _timeout),
    Row("expectedCwd", _expected_cwd),
)
"""The checks, in the contract's order."""

_ORDER = {row.name: place for place, row in enumerate(TABLE)}


def _subject(look: _Look, failed: str) -> Subject:
    """What may be echoed of a request that was refused by the row `failed`."""
    place = _ORDER[failed]
    mode = look.mode if place > _ORDER["stop target"] else None
    judged = mode in (Mode.RESUME, Mode.STOP) and place > _ORDER["sessionId"]
    return Subject(
        VERSION if place > _ORDER["version"] else look.fields.get("version"),
        look.fields.get("action"),
        mode,
        _text(look.fields["sessionId"]).lower() if judged else None,
        _steps_total(look, shape_known=place > _ORDER["action"]),
    )


def _steps_total(look: _Look, *, shape_known: bool) -> int:
    """1 when a text was given that could have been typed, wherever the request failed.

    Of a version or action that is not known, either field counts: there is no telling which one it has.
    """
    names = (look.mode.text_field,) if shape_known else ("prompt", "before")
    return int(any(_could_be_typed(look.fields.get(name)) for name in names))


def _could_be_typed(text: JsonValue) -> bool:
    return (
        isinstance(text, str)
        and bool(trim(text))
        and utf16_length(text) <= MAX_TEXT_LENGTH
        and _TEXT_CONTROLS.search(text) is None
    )


def _request(look: _Look) -> Request:
    """The request, once every row has passed."""
    fields = look.fields
    timeout = as_integer(fields.get("timeout_ms"))
    if look.mode is Mode.NEW:
        return OpenNew(_text(look.new["project"]), trim(_text(look.new["name"])), _text(look.text), timeout)
    session_id = _text(fields["sessionId"]).lower()
    text = None if look.text is None else _text(look.text)
    cwd = None if "expectedCwd" not in fields else _text(fields["expectedCwd"])
    return (Stop if look.mode is Mode.STOP else OpenResume)(session_id, text, timeout, cwd)


def _text(value: JsonValue) -> str:
    """A value that an earlier row has found to be text."""
    assert isinstance(value, str)
    return value
