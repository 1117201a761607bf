"""The environment of a session's processes: what is scrubbed, what stays, what the terminal says of itself."""

import pytest

from switchboard.sessions.environment import HOST_ONLY, SESSION_MARKERS, TERMINAL, child_environment


@pytest.mark.parametrize("name", sorted(SESSION_MARKERS | HOST_ONLY))
def test_markers_of_an_outer_session_are_removed(name: str) -> None:
    assert name not in child_environment({name: "1", "HOME": "/h"})


@pytest.mark.parametrize("name", ["ELECTRON_RUN_AS_NODE", "ELECTRON_X", "GOOGLE_API_KEY", "GOOGLE_API_KEY_2"])
def test_prefixes_are_removed(name: str) -> None:
    assert name not in child_environment({name: "1"})


@pytest.mark.parametrize(
    "name",
    [
        "HOME",
        "PATH",
        "ANTHROPIC_API_KEY",
        "CLAUDE_CODE_USE_BEDROCK",
        "CLAUDE_CODE_OAUTH_TOKEN",
        "CLAUDE_CODE_DISABLE_TERMINAL_TITLE",
        "CLAUDE_CONFIG_DIR",
        "SSH_AUTH_SOCK",
    ],
)
def test_settings_and_credentials_stay(name: str) -> None:
    assert child_environment({name: "value"})[name] == "value"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("TERM", "xterm-256color"),
        ("COLORTERM", "truecolor"),
        ("TERM_PROGRAM", "iTerm.app"),
        ("TERM_PROGRAM_VERSION", "3.6.6"),
        ("FORCE_COLOR", "3"),
        ("ITERM_SESSION_ID", "1"),
    ],
)
def test_the_terminal_says_what_it_is_whatever_the_host_ran_in(name: str, value: str) -> None:
    assert child_environment({name: "other"})[name] == value
    assert name in TERMINAL


def test_the_launch_wins() -> None:
    assert child_environment({"A": "1", "TERM": "dumb"}, {"A": "2", "TERM": "vt100"}) == TERMINAL | {
        "A": "2",
        "TERM": "vt100",
    }
