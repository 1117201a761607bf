"""Making a sandbox and running Claude Code, or the built-in agent, in it (driver).

Nothing is created on the host before the plan has been tried out, and nothing is ever run outside of the sandbox: every
failure ends here, with exit code 125. After that this process waits for the sandbox, and ends with its exit code. It
stays in the terminal's foreground with it, and what ends the one ends the other.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from typing import NoReturn

import switchboard
from switchboard.sandbox.bwrap import make, try_out
from switchboard.sandbox.host_files import RealHostFiles
from switchboard.sandbox.mounts import Refusal
from switchboard.sandbox.outside import find_outside
from switchboard.sandbox.plan import Plan, build
from switchboard.sandbox.policy import CLIS, PythonPlace, SandboxRequest
from switchboard.sandbox.request import DEBUG, RUNTIME, inner_environment, request_from
from switchboard.sandbox.start import start

FAILED = 125
PASSES = 3
"""Making one thing may show that another is missing: a directory for something in it. More levels there are not."""

TIOCSTI = "/proc/sys/dev/tty/legacy_tiocsti"

USAGE = """usage: claude-sandbox [ARGUMENT …]
       python -m switchboard.sandbox [--cli claude|agent] [--] [ARGUMENT …]

Runs claude (or Switchboard's agent) in a sandbox made with bubblewrap. Every argument is the CLI's. The working
directory is writable, and the CLI's own state; the rest of the home directory is not visible."""


def module_main(argv: Sequence[str]) -> int:
    """`python -m switchboard.sandbox`: may name the CLI first."""
    arguments = list(argv)
    name = "claude"
    if arguments[:1] == ["--cli"]:
        name = arguments[1] if len(arguments) > 1 else ""
        arguments = arguments[2:]
    elif arguments[:1] and arguments[0].startswith("--cli="):
        name = arguments.pop(0).removeprefix("--cli=")
    if arguments[:1] == ["--"]:
        arguments = arguments[1:]
    if name not in CLIS:
        return say(f"--cli takes {' or '.join(CLIS)}\n{USAGE}")
    return guarded(name, arguments)


def guarded(name: str, arguments: list[str]) -> int:
    """Run a CLI in a sandbox and end with the sandbox's exit code. Returns only when that fails: 125, and says why."""
    try:
        _run(name, arguments, os.environ)
    except Refusal as refusal:
        return say(str(refusal))
    except KeyboardInterrupt:
        return 130
    except Exception as error:  # noqa: BLE001 -- whatever it is, the answer is that nothing was started
        return say(f"unexpected {type(error).__name__}: {error}")


def _run(name: str, arguments: list[str], environment: Mapping[str, str]) -> NoReturn:
    request = request_from(
        environment,
        CLIS[name],
        arguments,
        cwd=_cwd(),
        user=os.getuid(),
        temporary=_temporary(environment),
        python=_python(),
    )
    files = RealHostFiles()
    bwrap, git = (find_outside(program, request, files) for program in ("bwrap", "git"))
    if bwrap is None:
        raise Refusal("bwrap not found in PATH; install bubblewrap (Debian: apt-get install bubblewrap)")
    inner = inner_environment(environment)
    searched: dict[str, list[str]] = {}
    tried = build(request, RealHostFiles(git, searched))
    _warn([*tried.warnings, *_terminal_warnings()])
    try_out(bwrap, tried, inner)
    plan = _complete(request, git, searched)
    if plan.mounts != tried.mounts:
        try_out(bwrap, plan, inner)
        plan = _complete(request, git, searched, passes=1)
    if environment.get(DEBUG) == "1":
        _explain(bwrap, plan)
    sys.stderr.flush()
    start(bwrap, plan, inner)


def _complete(
    request: SandboxRequest, git: str | None, searched: dict[str, list[str]], passes: int = PASSES + 1
) -> Plan:
    """Build the plan again until nothing is missing on the host any more, making what is."""
    for last in range(passes):
        plan = build(request, RealHostFiles(git, searched))
        if not plan.missing:
            return plan
        if last < passes - 1:
            make(plan.missing)
    names = ", ".join(missing.path for missing in plan.missing)
    raise Refusal(f"could not prepare the mount points: {names} is still missing")


def _cwd() -> str:
    try:
        return os.getcwd()
    except OSError as error:
        raise Refusal(f"the working directory is gone: {error.strerror}") from error


def _temporary(environment: Mapping[str, str]) -> str:
    """As Python's `tempfile` finds it, without its cost; asked for only when nobody names the socket's folder."""
    if environment.get(RUNTIME):
        return "/tmp"  # noqa: S108 -- not used then
    import tempfile

    return os.path.realpath(tempfile.gettempdir())


def _python() -> PythonPlace:
    kept = ("site-packages", "dist-packages")
    packages = tuple(path for path in sys.path if os.path.basename(path) in kept and os.path.isabs(path))
    package = os.path.dirname(os.path.abspath(switchboard.__file__))
    searched = tuple(path for path in sys.path if os.path.isabs(path))
    return PythonPlace(sys.executable, sys.prefix, sys.base_prefix, package, packages, searched)


def _terminal_warnings() -> list[str]:
    """A terminal that takes typed text from whoever has it open lets a sandbox type outside of itself."""
    try:
        with open(TIOCSTI, encoding="ascii") as file:
            dangerous = file.read().strip() == "1"
    except OSError:
        return []
    if not dangerous:
        return []
    return ["dev.tty.legacy_tiocsti=1: a sandbox can type into its terminal (sysctl -w dev.tty.legacy_tiocsti=0)"]


def _explain(bwrap: str, plan: Plan) -> None:
    lines = [bwrap, *(_line(mount.access, mount.source, mount.destination, mount.why) for mount in plan.mounts)]
    sys.stderr.write("".join(f"claude-sandbox: {line}\n" for line in [*lines, f"in {plan.cwd}: {list(plan.command)}"]))


def _line(access: str, source: str | None, destination: str, why: str) -> str:
    shown = destination if source in (None, destination) else f"{destination} <- {source}"
    return f"{access:<7} {shown}{f'  ({why})' if why else ''}"


def _warn(texts: Sequence[str]) -> None:
    for text in texts:
        _write(f"warning: {text}")


def say(text: str) -> int:
    """Write a line about what went wrong, and return the exit code for that."""
    _write(text)
    return FAILED


def _write(text: str) -> None:
    try:
        sys.stderr.write(f"claude-sandbox: {text}\n")
        sys.stderr.flush()
    except (OSError, ValueError):
        pass  # nobody reads it
