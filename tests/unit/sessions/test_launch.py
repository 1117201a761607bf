"""One launch plan for every kind of start."""

import pytest

from switchboard.clis.profiles import PROFILES, UnsupportedStart
from switchboard.sessions.launch import LaunchPlan, LaunchRequest, Mode, plan_launch

ID = "0d6f3a52-0000-4000-8000-00000000000a"


def plan(mode: Mode, profile: str, **environment: str) -> LaunchPlan:
    return plan_launch(LaunchRequest(mode, PROFILES[profile], ID, "/srv/p", environment, "/venv/python", 90, 20))


@pytest.mark.parametrize(
    ("mode", "profile", "argv"),
    [
        ("new", "claude", ("claude", "--session-id", ID)),
        ("schedule", "claude", ("claude", "--session-id", ID)),
        ("resume", "claude", ("claude", "--resume", ID)),
        ("restore", "claude", ("claude", "--resume", ID)),
        ("fork", "claude", ("claude", "--resume", ID, "--fork-session")),
        ("new", "agent", ("/venv/python", "-m", "switchboard.cli.main", "agent", "--session-id", ID)),
        ("resume", "agent", ("/venv/python", "-m", "switchboard.cli.main", "agent", "--resume", ID)),
        ("shell", "shell", ("/bin/zsh", "-l", "-i")),
    ],
)
def test_argument_lists(mode: Mode, profile: str, argv: tuple[str, ...]) -> None:
    made = plan(mode, profile, SHELL="/bin/zsh")
    assert made.argv == argv
    assert (made.cwd, made.columns, made.rows) == ("/srv/p", 90, 20)
    assert made.environment["TERM"] == "xterm-256color"


def test_an_override_names_the_executable() -> None:
    assert plan("new", "claude", SWITCHBOARD_CLAUDE="/opt/c").argv[0] == "/opt/c"


def test_a_profile_gives_its_variables() -> None:
    assert plan("new", "gemini", GEMINI_CLI_NO_RELAUNCH="false").environment["GEMINI_CLI_NO_RELAUNCH"] == "true"


@pytest.mark.parametrize(("mode", "profile"), [("fork", "gemini"), ("resume", "shell")])
def test_a_start_that_a_cli_does_not_have_is_refused(mode: Mode, profile: str) -> None:
    with pytest.raises(UnsupportedStart):
        plan(mode, profile)
