"""The one schema of what a page and the host say to each other.

A connection carries two kinds of frame: JSON messages (the structs below, told apart by their `type`) and binary
frames with terminal bytes. The local socket wraps both in `switchboard.common.frames`; a WebSocket carries them as text
and binary messages.

Conversation: the page sends `hello`; the host answers `welcome` with the epoch of this connection, then `sessions`;
the page sends `ready` once it has drawn them. The first ready page holds the renderer role (`role`). Commands
(`switchboard ls`) connect with kind `command`: they are no page and never hold the role.

Requests of versioned triggers reach the page that holds the renderer role as `session_action`. The page does what a
person's click would have done, without selecting, focusing or showing anything: it has the session's row and terminal,
where something is to be started it sends `open` with the permit, and then it answers `session_action_result`. What it
answers is compared with the host's own session before it is believed.

Validation is strict: an unknown field, a wrong type or an oversized text is refused with `problem`, and the connection
is closed. Nothing of a refused message takes effect.
"""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec

# One name for all of it.
from switchboard.page.action_messages import SessionAction as SessionAction
from switchboard.page.action_messages import SessionActionResult as SessionActionResult
from switchboard.page.byte_frames import MAX_INPUT as MAX_INPUT
from switchboard.page.byte_frames import MessageError as MessageError
from switchboard.page.byte_frames import decode_input as decode_input
from switchboard.page.byte_frames import decode_output as decode_output
from switchboard.page.byte_frames import encode_input as encode_input
from switchboard.page.byte_frames import encode_inputs as encode_inputs
from switchboard.page.byte_frames import encode_output as encode_output
from switchboard.page.session_row import ExitStatus as ExitStatus
from switchboard.page.session_row import SessionInfo as SessionInfo
from switchboard.page.wire_types import Columns, Handle, Path, Permit, RequestId, Rows, SessionKey, well_formed
from switchboard.page.wire_types import Message as _Message

PROTOCOL = 2
"""Version of this schema. A page with another one is told so and closed."""

MAX_MESSAGE = 256 * 1024
"""Largest frame a page may send, in bytes. Terminal input above `MAX_INPUT` is cut into several frames by the page."""

ProblemKind = Literal["final", "passing"]
FINAL: ProblemKind = "final"
PASSING: ProblemKind = "passing"

# --- what a page says --------------------------------------------------------------------------------------------


class Hello(_Message, tag="hello", frozen=True):
    """First message of a connection."""

    protocol: int
    kind: Literal["terminal", "browser", "command"]
    version: Annotated[str, msgspec.Meta(max_length=64)] = ""


class Ready(_Message, tag="ready", frozen=True):
    """The page has registered its handlers and drawn its first list."""


class Pong(_Message, tag="pong", frozen=True):
    """Answer to `ping`, with its number."""

    number: RequestId


class Confirm(_Message, tag="confirm", frozen=True):
    """Answer `confirmed` with this number once everything that was typed before has been taken, or refused aloud."""

    number: RequestId


class Attach(_Message, tag="attach", frozen=True):
    """Show me this session's output from byte number `from_seq` on (null: what the ring still holds).

    The host answers `attached`, then sends output frames. A first stretch that was printed before the attachment is
    a replay: terminal queries are taken out of it.
    """

    session: Handle
    from_seq: Annotated[int, msgspec.Meta(ge=0)] | None = None


class Detach(_Message, tag="detach", frozen=True):
    """No more output of this session, please."""

    session: Handle


class Focus(_Message, tag="focus", frozen=True):
    """A person uses this session in this page now: its size decides, and its terminal answers queries.

    `free`: nobody does so just now. The page only shows the session, and has the size unless another page has it by
    then; `size` says which. `before`, with `free`: it had the size when its last connection was lost, so it has it also
    from a page that merely took it because it was free.
    """

    session: Handle
    columns: Columns
    rows: Rows
    free: bool = False
    before: bool = False


class OpenSession(_Message, tag="open", frozen=True):
    """Open a session: `new` in `cwd`, `resume` or `fork` of `session_id`, or a plain `shell` in `cwd`.

    `force` is a person's answer to "it is live elsewhere, open anyway?". `permit`: that of the `session_action` which
    asks for it, with its `mode` and its `tab_key` as `session_id`; null for what people do. With a permit, the size is
    all else that counts: CLI, directory and name are those that the host issued it for.
    """

    request: RequestId
    mode: Literal["new", "resume", "fork", "shell"]
    profile: Annotated[str, msgspec.Meta(max_length=64)] = "agent"
    session_id: SessionKey | None = None
    cwd: Path | None = None
    name: Annotated[str, msgspec.Meta(max_length=256)] | None = None
    columns: Columns = 120
    rows: Rows = 40
    force: bool = False
    permit: Permit | None = None


class StopSession(_Message, tag="stop", frozen=True):
    """End this session as a person asks for it; `force`: by SIGKILL, after an ordinary stop did not do."""

    request: RequestId
    session: Handle
    force: bool = False


class Rename(_Message, tag="rename", frozen=True):
    """Give the session a display name; an empty one clears it."""

    request: RequestId
    session: Handle
    name: Annotated[str, msgspec.Meta(max_length=256)]


class ListSessions(_Message, tag="list", frozen=True):
    """Answer with `listing`: open sessions, and up to `closed` closed ones, newest first."""

    request: RequestId
    closed: Annotated[int, msgspec.Meta(ge=0, le=10_000)] = 50


class Shutdown(_Message, tag="shutdown", frozen=True):
    """Stop the host; with `sessions`, end every session as Stop would first."""

    request: RequestId
    sessions: bool = False


class Address(_Message, tag="address", frozen=True):
    """Answer with `address_is`: where a browser finds the page, with a ticket that is good for one use."""

    request: RequestId


class Bye(_Message, tag="bye", frozen=True):
    """Last message of a page that leaves on purpose. Without it, an ended connection counts as an unclean end."""


PageMessage = (
    Hello
    | Ready
    | Pong
    | Confirm
    | Attach
    | Detach
    | Focus
    | OpenSession
    | StopSession
    | Rename
    | ListSessions
    | Shutdown
    | Address
    | SessionActionResult
    | Bye
)


# --- what the host says ------------------------------------------------------------------------------------------


class Welcome(_Message, tag="welcome", frozen=True):
    """The connection is accepted; `epoch` is unique for it."""

    protocol: int
    version: str
    epoch: str
    pid: int


class Role(_Message, tag="role", frozen=True):
    """Whether this page holds the renderer role now."""

    renderer: bool


class Sessions(_Message, tag="sessions", frozen=True):
    """All sessions, closed ones last; replaces what was known."""

    sessions: list[SessionInfo]


class SessionChanged(_Message, tag="session", frozen=True):
    """One session is new or has changed (same `handle`)."""

    session: SessionInfo


class SessionGone(_Message, tag="gone", frozen=True):
    """This session has left the list."""

    session: Handle


class Attached(_Message, tag="attached", frozen=True):
    """Output follows in frames that carry this handle; the first byte sent is number `seq`.

    `lost`: bytes between what was asked for and `seq` that the ring no longer holds. `live_seq`: bytes before it are
    replay. `owner`: this page's size is in force; `free`: no page's is. `modes`: control sequences to write to a
    cleared terminal first, because what set them is no longer held.
    """

    session: Handle
    seq: int
    live_seq: int
    lost: int
    columns: int
    rows: int
    owner: bool
    free: bool = False
    modes: str = ""


class Resync(_Message, tag="resync", frozen=True):
    """This page read too slowly: output jumps to byte number `seq`. Clear the terminal and write `modes` to it."""

    session: Handle
    seq: int
    lost: int
    modes: str = ""


class Size(_Message, tag="size", frozen=True):
    """The session's terminal size is now this. `owner`: it is this page's; `free`: it was a page's that has gone."""

    session: Handle
    columns: int
    rows: int
    owner: bool
    free: bool = False


class Listing(_Message, tag="listing", frozen=True):
    """Answer to `list`."""

    request: RequestId
    sessions: list[SessionInfo]


class Done(_Message, tag="done", frozen=True):
    """The outcome of a request. `reason` is a stable text, `detail` says what to do."""

    request: RequestId
    ok: bool
    reason: str | None = None
    detail: str | None = None
    session: SessionInfo | None = None


class AddressIs(_Message, tag="address_is", frozen=True):
    """Answer to `address`. `url` ends in a ticket: show it to the person who asked, and write it nowhere."""

    request: RequestId
    url: str


class TriggerActivity(_Message, tag="trigger", frozen=True):
    """A trigger file arrived, made progress, or has its result.

    `outcome` (opened, closed, refused, not-found), `uncertain` (it may have taken effect although it did not succeed)
    and `detail` (for a person) are those of a versioned request's result. `target`: what its session is called at this
    step, null where the host knows no such session; the id may be one that the session had before.
    """

    name: str
    at: int
    step: Literal["received", "waiting", "opening", "writing", "stopping", "done"]
    action: str = ""
    session_id: str | None = None
    ok: bool | None = None
    submitted: str | None = None
    error: str | None = None
    reason: str | None = None
    outcome: str | None = None
    uncertain: bool = False
    detail: str | None = None
    target: str | None = None


class Notice(_Message, tag="notice", frozen=True):
    """Something a person should know (the keeper was lost, the host is closing)."""

    level: Literal["info", "warning", "error"]
    text: str


class Problem(_Message, tag="problem", frozen=True):
    """What this connection sent is refused; the connection closes.

    `kind`: `final`, the same would be refused again; `passing`, a later connection may be served.
    """

    text: str
    kind: ProblemKind = "final"


class Confirmed(_Message, tag="confirmed", frozen=True):
    """Answer to `confirm`, with its number."""

    number: RequestId


class Ping(_Message, tag="ping", frozen=True):
    """Answer `pong` with this number within 10 s, or lose the connection."""

    number: RequestId


HostMessage = (
    Welcome
    | Role
    | Sessions
    | SessionChanged
    | SessionGone
    | Attached
    | Resync
    | Size
    | Listing
    | Done
    | AddressIs
    | SessionAction
    | TriggerActivity
    | Notice
    | Problem
    | Confirmed
    | Ping
)

_page_decoder = msgspec.json.Decoder(PageMessage)
_host_decoder = msgspec.json.Decoder(HostMessage)
_encoder = msgspec.json.Encoder()


def encode(message: PageMessage | HostMessage) -> bytes:
    """Return the JSON of a message. What is no text (half a surrogate pair) goes as U+FFFD."""
    try:
        return _encoder.encode(message)
    except UnicodeEncodeError:
        return _encoder.encode(well_formed(msgspec.to_builtins(message)))


def decode_from_page(frame: bytes) -> PageMessage:
    """Return the message a page sent. Raises `MessageError`."""
    try:
        return _page_decoder.decode(frame)
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError) as error:
        raise MessageError(f"not a message of this protocol: {error}") from None


def decode_from_host(frame: bytes) -> HostMessage:
    """Return the message the host sent. Raises `MessageError`."""
    try:
        return _host_decoder.decode(frame)
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError) as error:
        raise MessageError(f"not a message of this protocol: {error}") from None
