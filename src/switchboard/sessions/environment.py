"""The environment of a session's processes (pure)."""

from __future__ import annotations

from collections.abc import Mapping

SESSION_MARKERS = frozenset(
    {
        "CLAUDECODE",
        "CLAUDE_CODE_ENTRYPOINT",
        "CLAUDE_CODE_SSE_PORT",
        "CLAUDE_CODE_CHILD_SESSION",
        "CLAUDE_CODE_SESSION_ID",
        "CLAUDE_PID",
        "CLAUDE_CODE_MESSAGING_SOCKET",
        "CLAUDE_CODE_MESSAGING_TOKEN",
        "CLAUDE_CODE_BRIDGE_SESSION_ID",
        "CLAUDE_CODE_EXECPATH",
        "CLAUDE_CODE_SESSION_ATTENDED",
        "CLAUDE_EFFORT",
        "AI_AGENT",
    }
)
"""Set by an agent CLI for its children. A host started from inside a session would pass them on, and the CLI would then
write neither descriptor nor transcript. A person's settings and credentials are not in this list."""

HOST_ONLY = frozenset(
    {
        "NODE_OPTIONS",
        "ORIGINAL_XDG_CURRENT_DESKTOP",
        "WT_SESSION",
        # The host's own terminal is not the session's.
        "TERM_SESSION_ID",
        "TMUX",
        "TMUX_PANE",
        "STY",
        "COLUMNS",
        "LINES",
        "VTE_VERSION",
        "KITTY_WINDOW_ID",
        "WINDOWID",
    }
)
HOST_ONLY_PREFIXES = ("ELECTRON_", "GOOGLE_API_KEY", "LC_TERMINAL")

TERMINAL = {
    "TERM": "xterm-256color",
    "COLORTERM": "truecolor",
    # Makes Claude Code report activity through OSC 9;4; the version is one that it accepts.
    "TERM_PROGRAM": "iTerm.app",
    "TERM_PROGRAM_VERSION": "3.6.6",
    "FORCE_COLOR": "3",
    "ITERM_SESSION_ID": "1",
}
"""What the terminal of a session says of itself."""


def child_environment(host: Mapping[str, str], extra: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return the whole environment of a session: the host's, without what is not the session's, plus the terminal's.

    `extra` (from the CLI's profile or the launch) wins over everything.
    """
    kept = {
        name: value
        for name, value in host.items()
        if name not in SESSION_MARKERS and name not in HOST_ONLY and not name.startswith(HOST_ONLY_PREFIXES)
    }
    return kept | TERMINAL | dict(extra or {})
