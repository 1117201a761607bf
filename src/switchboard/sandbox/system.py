"""The machine as a sandbox sees it: programs, settings and name resolution, read-only; nothing else of it (pure)."""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from switchboard.sandbox.mounts import Mount, is_below
from switchboard.sandbox.path_walk import MAX_LINKS, Unresolved, walk
from switchboard.sandbox.table import Table

if TYPE_CHECKING:
    from switchboard.sandbox.host_files import PlanFiles
    from switchboard.sandbox.policy import SandboxRequest

READ_ONLY = ("/usr", "/etc")
BESIDE_USR = ("/lib", "/lib32", "/lib64", "/libx32", "/bin", "/sbin")
"""Links into `/usr` on most machines, directories of their own on some."""

KERNEL = ("/proc/sys", "/proc/sysrq-trigger", "/proc/irq", "/proc/bus")
"""What root may write without any capability, and what acts on the whole machine. Bubblewrap covers some of it only."""

RESOLVER = ("resolv.conf", "hosts", "nsswitch.conf", "host.conf", "gai.conf")
"""Files in `/etc` by which names are resolved; often links to what a service writes."""


def add_system(table: Table, files: PlanFiles, request: SandboxRequest) -> None:
    """Add what every sandbox has."""
    table.add(Mount("dev", "/dev"))
    table.add(Mount("proc", "/proc"))
    for path in KERNEL:
        if files.look(path) is not None:
            table.add(Mount("ro", path, path))
    table.add(Mount("tmpfs", "/tmp"))  # noqa: S108 -- a mount of its own
    table.add(Mount("dir", "/var"))
    for path in READ_ONLY:
        table.add(Mount("ro", path, walk(path, files).real))
    for path in BESIDE_USR:
        there = files.look(path)
        if there is not None and there.kind == "link":
            table.add(Mount("symlink", path, files.readlink(path)))
        elif there is not None:
            table.add(Mount("ro", path, path))
    for name in RESOLVER:
        _add_resolver(table, files, f"/etc/{name}")
    if request.podman:
        _add_podman(table, files, request)


def _add_resolver(table: Table, files: PlanFiles, path: str) -> None:
    """Add what a link leads to outside of `/etc` and `/usr`, under each name that it passes on the way.

    In `/run` services put a new file in the old one's place, so there it is the directory that is shown.
    """
    try:
        real = walk(path, files)
    except Unresolved:
        return  # it does not resolve on the host either
    if real.found is None or real.found.kind != "file":
        return
    folder = posixpath.dirname(real.real)
    if is_below(folder, "/run") and folder != "/run":
        _show(table, folder, folder)
    else:
        _show(table, real.real, real.real)
    for _ in range(MAX_LINKS):
        there = files.look(path)
        if there is None or there.kind != "link":
            break
        path = posixpath.normpath(posixpath.join(posixpath.dirname(path), files.readlink(path)))
        _show(table, path, real.real)


def _show(table: Table, destination: str, source: str) -> None:
    if not any(is_below(destination, path) for path in READ_ONLY) and table.view(destination).host is None:
        table.add(Mount("ro", destination, source, why="name resolution"))


def _add_podman(table: Table, files: PlanFiles, request: SandboxRequest) -> None:
    """Show the socket's directory. Whoever reaches that socket can have any of this user's directories mounted."""
    runtime = request.environment.get("XDG_RUNTIME_DIR") or f"/run/user/{request.user}"
    folder = posixpath.join(runtime, "podman")
    if find_program("podman", request.environment, files) is None or not files.is_socket(f"{folder}/podman.sock"):
        return
    table.add(Mount("ro", folder, walk(folder, files).real, why="podman's socket"))


def find_program(
    name: str, environment: Mapping[str, str], files: PlanFiles, allowed: Callable[[str], bool] = lambda _path: True
) -> str | None:
    """Return the first program of that name in `PATH`; only directories with an absolute path count.

    `allowed`: whether the one at a path may be taken.
    """
    for folder in environment.get("PATH", "").split(":"):
        candidate = posixpath.join(folder, name)
        if folder.startswith("/") and files.is_program(candidate) and allowed(candidate):
            return candidate
    return None
