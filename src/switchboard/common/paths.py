"""Where files of a host lie (pure)."""

from __future__ import annotations

import posixpath

MAX_SOCKET_PATH = 100
"""Unix socket addresses end at 107 bytes on Linux and 103 on macOS."""


def runtime_folder(data_dir: str, uid: int, temporary: str) -> str:
    """Return the folder of a host's sockets: inside its data directory, or a short one when that lies too deep.

    `data_dir` absolute; `temporary` the system's folder for temporary files. Commands and host compute the same.
    """
    inside = posixpath.join(data_dir, "run")
    if len(f"{inside}/host.sock.new".encode("utf-8", "surrogateescape")) <= MAX_SOCKET_PATH:
        return inside
    # Needed for deep folders alone, and it takes longer to load than the rest of this module's users.
    import hashlib

    name = hashlib.sha256(data_dir.encode("utf-8", "surrogateescape")).hexdigest()[:16]
    return posixpath.join(temporary, f"switchboard-{uid}", name)


def host_socket(runtime: str) -> str:
    """Return the path of the socket that pages and commands connect to."""
    return f"{runtime}/host.sock"


def normalise_directory(path: str) -> str:
    """Return the path normalised and without one trailing separator, as working directories are compared.

    Symbolic links are not resolved and letter case counts. A bare root stays.
    """
    normal = posixpath.normpath(path) if path else path
    # POSIX lets two leading slashes stand; for a comparison of directories they are one.
    return normal[1:] if normal.startswith("//") else normal


def short_title(path: str) -> str:
    """Return the last two segments of a project path, as lists show it."""
    parts = [part for part in path.split("/") if part]
    return "/".join(parts[-2:]) or "/"
