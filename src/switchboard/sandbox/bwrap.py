"""Bubblewrap: trying a plan out, making what is missing on the host, and what a sandbox is given open (door)."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress

from switchboard.sandbox.mounts import FIRST_FILE, Refusal
from switchboard.sandbox.plan import Plan
from switchboard.sandbox.policy import Missing
from switchboard.sandbox.run import run

NO_NAMESPACES = (
    "unprivileged user namespaces seem to be off. Look at `sysctl kernel.unprivileged_userns_clone "
    "user.max_user_namespaces kernel.apparmor_restrict_unprivileged_userns`: the first has to be 1, the second more "
    "than 0, the third 0, or AppArmor needs a profile for bwrap"
)
_WAY = os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW
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
    """Create directories and empty files. Raises `Refusal` for one that cannot be.

    Their paths are real ones. Should a link stand on one by now, it has been put there since, and is not followed.
    """
    for item in missing:
        try:
            _make(item)
        except FileExistsError:
            continue  # the next plan says what it is
        except OSError as error:
            raise Refusal(f"could not create {item.path}: {error.strerror}") from error


def _make(item: Missing) -> None:
    *above, name = [part for part in item.path.split("/") if part]
    mode = 0o700 if item.private else 0o777
    here = os.open("/", _WAY)
    try:
        for part in above:
            try:
                deeper = os.open(part, _WAY, dir_fd=here)
            except FileNotFoundError:
                with suppress(FileExistsError):
                    os.mkdir(part, mode, dir_fd=here)
                deeper = os.open(part, _WAY, dir_fd=here)
            os.close(here)
            here = deeper
        if item.kind == "directory":
            os.mkdir(name, mode, dir_fd=here)
        else:
            os.close(os.open(name, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_NOFOLLOW, 0o644, dir_fd=here))
    finally:
        os.close(here)


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
