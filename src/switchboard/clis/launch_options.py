"""From saved settings to what a start is given: flags, prefix, shell (pure).

The same for every kind of start: by hand, by a trigger, restored, scheduled. Flags belong to Claude Code; another CLI
gets none of them, but the prefix and the shell are the same for all.
"""

from __future__ import annotations

from dataclasses import dataclass

from switchboard.clis.launch_settings import LaunchDefaults
from switchboard.clis.profiles import CliProfile

NO_WORKTREE = "the directory is in no git repository, so the session has no worktree of its own"


@dataclass(frozen=True, slots=True)
class LaunchOptions:
    """What a start is given beside its id and directory.

    `arguments`: flags after the id. `prefix`: stands before the command, in a shell. `shell`: the program to go
    through, None to start the CLI itself. `folders`: further directories that it may use. `worktree`: the name of the
    git worktree that it makes for itself, as far as that is known before. `warnings`: what was left out, in sentences
    for people.
    """

    arguments: tuple[str, ...] = ()
    prefix: str = ""
    shell: str | None = None
    sandbox: bool = False
    warnings: tuple[str, ...] = ()
    folders: tuple[str, ...] = ()
    worktree: str = ""


NO_OPTIONS = LaunchOptions()
"""Nothing beside the CLI itself."""


def launch_options(
    defaults: LaunchDefaults, profile: CliProfile, *, fresh: bool, in_git: bool, login_shell: str, spare_name: str
) -> LaunchOptions:
    """Return the options of one start.

    `fresh`: a new session; a resumed or forked one goes on where it was, so it gets no worktree. `in_git`: whether its
    directory is in a git repository. `login_shell`: the person's shell. `spare_name`: for a worktree in a sandbox that
    nobody has named: the sandbox has to know where the transcript goes before the CLI makes up a name of its own.
    """
    arguments: list[str] = []
    worktree = ""
    warnings: list[str] = []
    if profile.starts.takes_flags:
        if defaults.skip_permissions:
            arguments.append("--dangerously-skip-permissions")
        elif defaults.permission_mode:
            arguments += ["--permission-mode", defaults.permission_mode]
        if defaults.worktree and fresh and in_git:
            worktree = defaults.worktree_name or (spare_name if defaults.sandbox else "")
            arguments += ["--worktree", *([worktree] if worktree else [])]
        elif defaults.worktree and fresh:
            warnings.append(NO_WORKTREE)
        if defaults.chrome:
            arguments.append("--chrome")
        for folder in defaults.add_dirs:
            arguments += ["--add-dir", folder]
    return LaunchOptions(
        tuple(arguments),
        defaults.prefix,
        _shell(defaults, profile, login_shell),
        defaults.sandbox,
        tuple(warnings),
        defaults.add_dirs,
        worktree,
    )


def _shell(defaults: LaunchDefaults, profile: CliProfile, login_shell: str) -> str | None:
    if defaults.shell.startswith("/"):
        return defaults.shell
    if defaults.shell == "login" or defaults.prefix or profile.login_shell:
        return login_shell
    return None
