"""What host and page say to each other about a session that a versioned trigger opens (pure).

Both are part of the schema in `switchboard.page.messages`.
"""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec

from switchboard.page.wire_types import Generation, Message, Permit, SessionKey, Text

ActionMode = Literal["resume", "new", "reattach"]


class SessionAction(Message, tag="session_action", frozen=True):
    """Have this session as your own pages' opening would give it, and select nothing. Answer `session_action_result`.

    `reattach`: the session is open; have its row and terminal, and start nothing. `resume` and `new`: ask for the start
    with `open`, this `permit`, this `mode` and `tab_key` as its `session_id`; then have what was opened. `requested_id`
    is what the trigger named, which the session may have had as an earlier id (null for `new`); `tab_key` is the `id`
    of the session in the list. `generation` (of a reattached session only) must be the listed one's. `profile`,
    `project`, `cwd` and `name` are for a row that shows before the start; null where they do not matter. `deadline`
    (wall milliseconds): from then on an answer is ignored and the permit opens nothing.
    """

    permit: str
    epoch: str
    mode: ActionMode
    requested_id: str | None
    tab_key: str
    generation: int | None
    deadline: int
    profile: str | None = None
    project: str | None = None
    cwd: str | None = None
    name: str | None = None


class SessionActionResult(Message, tag="session_action_result", frozen=True):
    """How a `session_action` ended in this page, once: `permit` to `tab_key` are those of the action.

    `ok`: the page has the session's row and terminal. `generation` is then that of the session it has; otherwise null.
    `reason` and `error` say why not, for a person.
    """

    permit: Permit
    epoch: Annotated[str, msgspec.Meta(max_length=64)]
    mode: ActionMode
    ok: bool
    requested_id: SessionKey | None
    tab_key: SessionKey
    generation: Generation | None
    reason: Text | None = None
    error: Text | None = None
