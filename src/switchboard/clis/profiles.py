"""The programs that sessions run, as data: how each is started, how it takes text, what it publishes (pure).

A profile is a value, not a class of its own: everything that differs between two CLIs stands in a field, so the rest
of the house never asks which CLI it is talking to. Every figure was measured in a real terminal; none is a documented
interface of the CLI concerned.

A profile whose CLI publishes no descriptor gives no proof that no dialog is open, and in every CLI measured a prompt
typed into an open approval approves it. Such a profile (`publishes` is false) gets legacy triggers only.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from switchboard.common.facts import Typing
from switchboard.common.settings import agent_home, claude_config_dir

Environment = Mapping[str, str]
Kind = Literal["agent", "shell", "attach"]

SESSION_ID = "{session_id}"
"""Stands in an argument list of a profile where the session's id goes."""

PYTHON = "{python}"
"""Stands in a program of a profile for the interpreter that runs this host."""

SHELL_PROGRAM = "{shell}"
"""Stands in a program of a profile for the person's shell."""


class UnsupportedStart(ValueError):
    """This CLI cannot be started in that way. The message names both."""


@dataclass(frozen=True, slots=True)
class Starts:
    """Arguments after the program for each kind of start, with `SESSION_ID` where the id goes; None: cannot.

    `new` without `SESSION_ID` means that the CLI makes its own id, which the host learns later or never. `takes_flags`:
    it knows the flags of saved launch settings (permission mode and so on), which are Claude Code's. `sandbox`: what
    the sandbox command calls it, None: there is no sandbox that it is known to work in.
    """

    new: tuple[str, ...] | None = ()
    resume: tuple[str, ...] | None = None
    fork: tuple[str, ...] | None = None
    takes_flags: bool = False
    sandbox: Literal["claude", "agent"] | None = None


@dataclass(frozen=True, slots=True)
class CliProfile:
    """One program that sessions run.

    `title_rule`: the name of the rule that reads busy and idle from its terminal titles. `program`: what to run, and
    its fixed first arguments; the variable named by `program_variable` replaces it. `home`: finds the folder in which
    it publishes descriptors and transcripts in the shapes of Claude Code, None when it publishes nothing.
    `login_shell`: whether it is started through the person's login shell, with the files that shell reads.
    `environment`: variables it is given. `cautions`: what a person should know, in sentences that `switchboard doctor`
    can print.
    """

    name: str
    title: str
    kind: Kind
    typing: Typing
    title_rule: str
    program: tuple[str, ...]
    starts: Starts
    program_variable: str | None = None
    home: Callable[[Environment], str] | None = None
    login_shell: bool = False
    environment: tuple[tuple[str, str], ...] = ()
    cautions: tuple[str, ...] = ()

    @property
    def publishes(self) -> bool:
        """Whether it writes descriptors and transcripts."""
        return self.home is not None

    @property
    def takes_session_id(self) -> bool:
        """Whether a new session can be given its id."""
        return self.starts.new is not None and SESSION_ID in self.starts.new

    def command(self, env: Environment, python: str) -> tuple[str, ...]:
        """Return the program and its fixed first arguments; `python` is the interpreter that runs this host."""
        override = env.get(self.program_variable, "") if self.program_variable else ""
        if override:
            return (override,)
        values = {PYTHON: python, SHELL_PROGRAM: env.get("SHELL") or "/bin/sh"}
        return tuple(values.get(part, part) for part in self.program)

    def new(self, command: Sequence[str], session_id: str, extra: Sequence[str] = ()) -> list[str]:
        """Return the argument list of a fresh session with that id (where the CLI takes one)."""
        return self._start("start a new session", self.starts.new, command, session_id, extra)

    def resume(self, command: Sequence[str], session_id: str, extra: Sequence[str] = ()) -> list[str]:
        """Return the argument list that continues that session, to be run in its recorded directory."""
        return self._start("resume a session", self.starts.resume, command, session_id, extra)

    def fork(self, command: Sequence[str], session_id: str, extra: Sequence[str] = ()) -> list[str]:
        """Return the argument list that continues a copy of that session under an id which the CLI makes."""
        return self._start("fork a session", self.starts.fork, command, session_id, extra)

    def config_folder(self, env: Environment) -> str | None:
        """Return the folder with its `sessions` and `projects`, None when it publishes nothing.

        Raises `SettingsError` when the environment has neither the folder's variable nor a home directory.
        """
        return None if self.home is None else self.home(env)

    def sessions_dir(self, env: Environment) -> str | None:
        """Return the folder of its descriptors, None when it publishes nothing."""
        folder = self.config_folder(env)
        return None if folder is None else f"{folder}/sessions"

    def jobs_dir(self, env: Environment) -> str | None:
        """Return the folder in which its background jobs are recorded, None when it publishes nothing."""
        folder = self.config_folder(env)
        return None if folder is None else f"{folder}/jobs"

    def projects_dir(self, env: Environment) -> str | None:
        """Return the folder that holds one folder of transcripts per project, None when it publishes nothing."""
        folder = self.config_folder(env)
        return None if folder is None else f"{folder}/projects"

    def _start(
        self,
        verb: str,
        arguments: tuple[str, ...] | None,
        command: Sequence[str],
        session_id: str,
        extra: Sequence[str],
    ) -> list[str]:
        if arguments is None:
            raise UnsupportedStart(f"{self.title} cannot {verb}")
        if SESSION_ID in arguments and (not session_id or session_id.startswith("-")):
            # An id that looks like an option would be read as one.
            raise UnsupportedStart(f"{self.title} cannot {verb} without a proper id")
        return [*command, *(session_id if part == SESSION_ID else part for part in arguments), *extra]


def through_login_shell(shell: str, cwd: str, argv: Sequence[str], prefix: str = "") -> list[str]:
    """Return the argument list that runs `argv` from a login and interactive shell, in `cwd`.

    The directory is entered again after the profile files, because some of them change it. `exec` leaves no shell
    behind: an interactive shell would ignore the signal that ends the session. With a `prefix` the shell stays, because
    the prefix may be a function of the profile files, or set a variable, and `exec` takes neither. `prefix` must have
    passed its setting's check: it is not quoted.
    """
    command = f"{prefix} {shlex.join(argv)}" if prefix else f"exec {shlex.join(argv)}"
    return [shell, "-l", "-i", "-c", f"cd {shlex.quote(cwd)} && {command}"]


# What Claude Code finds in one read of over 800 characters turns into a paste, and then the transcript no longer shows
# the text as it was sent. The gate waits until each piece has been read; now and then the CLI still handles two pieces
# at once, so a piece is small: with 512 bytes one prompt in 80 became a paste, with 256 none in 140.
_PLAIN = Typing(enter_delay_ms=50, chunk_bytes=256, chunk_gap_ms=2)

# A bracketed paste goes out whole, up to what a terminal takes at once: 4,096 characters of three bytes and the two
# markers are less than this.
_PASTE_BYTES = 16_384
_PASTE = Typing(enter_delay_ms=50, chunk_bytes=_PASTE_BYTES, bracketed_paste=True)
_BURST_PASTE = Typing(enter_delay_ms=50, chunk_bytes=_PASTE_BYTES, bracketed_paste=True, composer_rule="burst")
_SLOW_PASTE = Typing(enter_delay_ms=200, chunk_bytes=_PASTE_BYTES, bracketed_paste=True, composer_rule="burst")

# At a shell's prompt anything may run. One more Enter answers what an installer asks (`[Y/n]`), and a busy terminal may
# be anybody's doing.
_AT_A_PROMPT = Typing(recovery_enter=False, flag_proves=False, backslashes_pair=True, composer_rule="plain")

CLAUDE = CliProfile(
    name="claude",
    title="Claude Code",
    kind="agent",
    typing=_PLAIN,
    title_rule="claude",
    program=("claude",),
    program_variable="SWITCHBOARD_CLAUDE",
    starts=Starts(
        new=("--session-id", SESSION_ID),
        resume=("--resume", SESSION_ID),
        fork=("--resume", SESSION_ID, "--fork-session"),
        takes_flags=True,
        sandbox="claude",
    ),
    home=claude_config_dir,
)

AGENT = CliProfile(
    name="agent",
    title="Switchboard agent",
    kind="agent",
    typing=Typing(),
    title_rule="claude",
    # The agent of this installation, whatever PATH says and whatever the project has under our name (-P).
    program=(PYTHON, "-P", "-m", "switchboard.cli.main", "agent"),
    starts=Starts(
        new=("--session-id", SESSION_ID),
        resume=("--resume", SESSION_ID),
        fork=("--resume", SESSION_ID, "--fork-session"),
        sandbox="agent",
    ),
    home=agent_home,
)

SHELL = CliProfile(
    name="shell",
    title="Terminal",
    kind="shell",
    typing=_AT_A_PROMPT,
    title_rule="plain",
    program=(SHELL_PROGRAM,),
    starts=Starts(new=("-l", "-i")),
)

ATTACH = CliProfile(
    name="attach",
    title="Claude Code background job",
    kind="attach",
    typing=_PLAIN,
    title_rule="claude",
    program=("claude",),
    program_variable="SWITCHBOARD_CLAUDE",
    # The id that `claude attach` takes is the job's, not the conversation's.
    starts=Starts(new=("attach", SESSION_ID)),
)

CODEX = CliProfile(
    name="codex",
    title="Codex",
    kind="agent",
    typing=_BURST_PASTE,
    title_rule="codex",
    program=("codex",),
    # Without --no-daemon the session runs in a detached process that outlives its terminal and keeps its lock.
    starts=Starts(new=("--no-daemon",), resume=("resume", "--no-daemon", SESSION_ID)),
)

GEMINI = CliProfile(
    name="gemini",
    title="Gemini CLI",
    kind="agent",
    # It still draws a paste when Enter comes 50 ms later, and then keeps the text in its box.
    typing=_SLOW_PASTE,
    title_rule="gemini",
    program=("gemini",),
    starts=Starts(new=("--session-id", SESSION_ID), resume=("--resume", SESSION_ID)),
    # By default it starts itself again as a child and then ignores SIGTERM and SIGHUP.
    environment=(("GEMINI_CLI_NO_RELAUNCH", "true"),),
    cautions=(
        (
            "Gemini CLI deletes the transcript of a resumed session at its next start in that project "
            "unless its setting general.sessionRetention.enabled is false."
        ),
    ),
)

OPENCODE = CliProfile(
    name="opencode",
    title="opencode",
    kind="agent",
    typing=_PASTE,
    title_rule="plain",
    program=("opencode",),
    starts=Starts(resume=("--session", SESSION_ID)),
)

PROFILES: Mapping[str, CliProfile] = {
    profile.name: profile for profile in (CLAUDE, AGENT, SHELL, ATTACH, CODEX, GEMINI, OPENCODE)
}
"""Every profile by its name."""
