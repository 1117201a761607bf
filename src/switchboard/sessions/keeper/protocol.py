"""What the host and the keeper say to each other (pure; frozen as version 1).

Frames of `switchboard.common.frames`, kind TEXT, each a JSON object with a `type`. Descriptors travel as SCM_RIGHTS
with the first byte of the frame that names them; `fds` in the message says how many belong to it.

The host says

- `hello {protocol}`: answered by `welcome {protocol, pid, sessions}` and then one `session` per session held. From here
  on the host is the reader of every terminal, until the connection ends.
- `spawn {request, argv, cwd, env, columns, rows, capacity, label, deadline}`: fork a child on a new terminal; `env` is
  its whole environment, `label` the first label (base64). `deadline`, in wall milliseconds, may be missing: at it or
  later nothing is started (an older keeper does not know it, an older host does not say it). Answered by `spawned` or
  `failed`.
- `adopt {handle, pid, start, started_at}` with 2 descriptors: take over a session whose keeper died.
- `forget {handle}`: close the terminal and drop the session.

The keeper says

- `session {handle, pid, start, started_at, exit, fds:2}`, and `spawned` with the same and the `request`: the
  descriptors are the terminal's master and the ring's memory. `start` is the start identity of the process (field
  22 of its stat file), `exit` null or `{code, signal, at}`.
- `failed {request, reason}`: nothing was started.
- `exited {handle, code, signal, at}`: the child was reaped. Code and signal are null when it was not our child.
- `refused {reason}`: another host is connected, or the protocol is unknown; the connection closes.
"""

from __future__ import annotations

import json
from typing import Any

from switchboard.common.frames import TEXT, FrameError, encode_frame

PROTOCOL = 1
MAX_FRAME = 4 * 1024 * 1024
"""Environments and argument lists are bounded by the kernel well below this."""

Message = dict[str, Any]


def encode(message: Message) -> bytes:
    """Return the frame of a message."""
    return encode_frame(TEXT, json.dumps(message, separators=(",", ":")).encode("utf-8", "surrogatepass"))


def decode(frame: tuple[int, bytes]) -> Message:
    """Return the message of a frame. Raises `FrameError`."""
    kind, body = frame
    try:
        message = json.loads(body)
    except (ValueError, RecursionError):
        raise FrameError("not a message of the keeper's protocol") from None
    if kind != TEXT or not isinstance(message, dict) or not isinstance(message.get("type"), str):
        raise FrameError("not a message of the keeper's protocol")
    return message
