"""From saved settings to flags, prefix and shell."""

from __future__ import annotations

from dataclasses import replace

import pytest

from switchboard.clis.launch_options import NO_WORKTREE, LaunchOptions, launch_options
from switchboard.clis.launch_settings import LaunchDefaults
from switchboard.clis.profiles import AGENT, CLAUDE, CODEX, CliProfile

NOTHING = LaunchDefaults("claude", None, False, False, "", False, False, "", (), "auto")


def options(
    profile: CliProfile = CLAUDE, *, fresh: bool = True, in_git: bool = True, **wanted: object
) -> LaunchOptions:
    defaults = replace(NOTHING, **wanted)  # type: ignore[arg-type] # the fields of one row
    return launch_options(defaults, profile, fresh=fresh, in_git=in_git, login_shell="/bin/zsh", spare_name="spare")


@pytest.mark.parametrize(
    ("wanted", "arguments"),
    [
        pytest.param({}, [], id="7.3 null mode: no flag"),
        pytest.param({"permission_mode": "plan"}, ["--permission-mode", "plan"], id="7.3 permissionMode"),
        pytest.param(
            {"permission_mode": "plan", "skip_permissions": True},
            ["--dangerously-skip-permissions"],
            id="7.3 dangerouslySkipPermissions replaces permissionMode",
        ),
        pytest.param({"worktree": True}, ["--worktree"], id="7.3 worktree"),
        pytest.param({"worktree": True, "worktree_name": "w"}, ["--worktree", "w"], id="7.3 worktree with a name"),
        pytest.param({"worktree_name": "w"}, [], id="7.3 a name without a worktree"),
        pytest.param({"chrome": True}, ["--chrome"], id="7.3 chrome"),
        pytest.param({"add_dirs": ("/a", "/b c")}, ["--add-dir", "/a", "--add-dir", "/b c"], id="7.3 addDirs"),
    ],
)
def test_flags(wanted: dict[str, object], arguments: list[str]) -> None:
    assert list(options(**wanted).arguments) == arguments
    assert options(AGENT, **wanted).arguments == ()
    assert options(CODEX, **wanted).arguments == ()


@pytest.mark.parametrize(
    ("fresh", "in_git", "arguments", "warnings"),
    [
        (True, True, ("--worktree",), ()),
        (True, False, (), (NO_WORKTREE,)),
        (False, True, (), ()),
        (False, False, (), ()),
    ],
    ids=["fresh", "8.41 outside git: dropped with a warning", "resumed", "resumed outside git"],
)
def test_a_worktree_is_for_fresh_starts_in_a_repository(
    fresh: bool, in_git: bool, arguments: tuple[str, ...], warnings: tuple[str, ...]
) -> None:
    found = options(fresh=fresh, in_git=in_git, worktree=True)
    assert (found.arguments, found.warnings) == (arguments, warnings)


@pytest.mark.parametrize(
    ("wanted", "shell"),
    [
        ({}, None),
        ({"shell": "login"}, "/bin/zsh"),
        ({"shell": "/bin/dash"}, "/bin/dash"),
        ({"prefix": "x"}, "/bin/zsh"),
        ({"prefix": "x", "shell": "/bin/dash"}, "/bin/dash"),
    ],
)
def test_the_shell_to_go_through(wanted: dict[str, object], shell: str | None) -> None:
    assert options(**wanted).shell == shell
    assert options(**wanted).prefix == wanted.get("prefix", "")


def test_a_profile_may_need_the_login_shell() -> None:
    assert options(replace(CLAUDE, login_shell=True)).shell == "/bin/zsh"


@pytest.mark.parametrize(
    ("wanted", "fresh", "in_git", "name"),
    [
        ({"worktree": True, "worktree_name": "w"}, True, True, "w"),
        ({"worktree": True, "worktree_name": "w", "sandbox": True}, True, True, "w"),
        ({"worktree": True, "sandbox": True}, True, True, "spare"),
        ({"worktree": True}, True, True, ""),
        ({"worktree": True, "sandbox": True}, False, True, ""),
        ({"worktree": True, "sandbox": True}, True, False, ""),
        ({"worktree_name": "w", "sandbox": True}, True, True, ""),
    ],
    ids=["named", "named, sandbox", "sandbox", "no sandbox", "resumed", "outside git", "no worktree"],
)
def test_the_name_of_a_worktree_as_far_as_it_is_known(
    wanted: dict[str, object], fresh: bool, in_git: bool, name: str
) -> None:
    found = options(fresh=fresh, in_git=in_git, **wanted)
    assert found.worktree == name
    assert name == "" or found.arguments == ("--worktree", name)


def test_the_sandbox_is_passed_on() -> None:
    assert options(sandbox=True).sandbox is True


@pytest.mark.parametrize("profile", [CLAUDE, AGENT])
def test_so_are_further_directories_whether_or_not_the_cli_has_a_flag_for_them(profile: CliProfile) -> None:
    assert options(profile, add_dirs=("/a", "/b c")).folders == ("/a", "/b c")
