"""Bubblewrap: trying a plan out, making what is missing on the host, and becoming the sandbox (door)."""

from __future__ import annotations

import errno
import os
import signal
import stat
from collections.abc import Iterable, Mapping, Sequence
from typing import NoReturn

from switchboard.sandbox.mounts import FIRST_FILE, Refusal
from switchboard.sandbox.plan import Plan
from switchboard.sandbox.policy import Missing
from switchboard.sandbox.run import run

NO_NAMESPACES = (
    "unprivileged user namespaces seem to be off. Look at `sysctl kernel.unprivileged_userns_clone "
    "user.max_user_namespaces kernel.apparmor_restrict_unprivileged_userns`: the first has to be 1, the second more "
    "than 0, the third 0, or AppArmor needs a profile for bwrap"
)
_ABOUT_NAMESPACES = ("namespace", "uid map", "Operation not permitted", "Permission denied", "loopback")


def try_out(bwrap: str, plan: Plan, environment: Mapping[str, str]) -> None:
    """Make the sandbox once around a program that does nothing. Raises `Refusal` when it cannot be made."""
    options, contents = plan.options()
    files = private_files(contents)
    try:
        said = run([bwrap, *options, "/bin/true"], environment, files)
    except OSError as error:
        raise Refusal(f"bwrap failed to set up the sandbox: {bwrap}: {error.strerror}") from error
    finally:
        for descriptor in files.values():
            os.close(descriptor)
    if said.code != 0:
        text = " ".join(said.errors.decode("utf-8", "replace").split()) or f"it ended with {said.code}"
        hint = f"; {NO_NAMESPACES}" if any(word in text for word in _ABOUT_NAMESPACES) else ""
        raise Refusal(f"bwrap failed to set up the sandbox: {text}{hint}")


def make(missing: Iterable[Missing]) -> None:
    """Create directories and empty files. Raises `Refusal` for one that cannot be."""
    for item in missing:
        try:
            if item.kind == "directory":
                _make_directory(item.path, 0o700 if item.private else 0o777)
            else:
                os.close(os.open(item.path, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_NOFOLLOW, 0o644))
        except FileExistsError:
            continue  # the next plan says what it is
        except OSError as error:
            raise Refusal(f"could not create {item.path}: {error.strerror}") from error


def _make_directory(path: str, mode: int) -> None:
    above = os.path.dirname(path)
    if not os.path.lexists(above):
        _make_directory(above, mode)
    os.mkdir(path, mode)


def become(bwrap: str, plan: Plan, environment: Mapping[str, str]) -> NoReturn:
    """Replace this process by the sandbox. Raises `Refusal` when that fails."""
    options, contents = plan.options()
    files = private_files(contents)
    close_others(files.values())
    for number, descriptor in files.items():
        os.dup2(descriptor, number, inheritable=True)
    for number in (signal.SIGPIPE, signal.SIGXFSZ):
        signal.signal(number, signal.SIG_DFL)  # Python ignores them, and the CLI would inherit that
    try:
        os.execve(bwrap, [bwrap, *options, *plan.command], dict(environment))
    except OSError as error:
        raise Refusal(f"{bwrap} cannot be run: {error.strerror}") from error


def private_files(contents: Sequence[bytes]) -> dict[int, int]:
    """Return descriptors to read these contents from, by the number at which bubblewrap expects each."""
    files: dict[int, int] = {}
    for at, content in enumerate(contents):
        first = os.memfd_create(f"private-{at}")
        # Above those numbers, so that none is overwritten on its way to another.
        descriptor = _moved_up(first, FIRST_FILE + len(contents))
        os.write(descriptor, content)
        os.lseek(descriptor, 0, os.SEEK_SET)
        files[FIRST_FILE + at] = descriptor
    return files


def _moved_up(descriptor: int, at_least: int) -> int:
    import fcntl

    higher = fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, at_least)
    os.close(descriptor)
    return higher


def close_others(kept: Iterable[int]) -> None:
    """Close what was inherited beside the terminal: a directory or socket that is open is within reach inside.

    Pipes stay: a shell passes the output of a command that way (`--mcp-config <(…)`).
    """
    keep = set(kept)
    for name in os.listdir("/proc/self/fd"):
        descriptor = int(name)
        if descriptor < 3 or descriptor in keep:
            continue
        try:
            if not stat.S_ISFIFO(os.fstat(descriptor).st_mode):
                os.close(descriptor)
        except OSError as error:
            if error.errno != errno.EBADF:  # that of the listing itself
                raise
