"""What a hostile program in a sandbox tries. Runs inside, on nothing but Python's own library, and stands alone.

    python3 -c THIS_SOURCE work|attack FOLDER

`work`: make one file in every directory that is seen below FOLDER. `attack`: everything else that could change what
the host has, or reach its sockets. Prints, as JSON, what succeeded (`done`: a list of `[what, path]`) and which things
of the host were there to be seen (`seen`: a list of `[device, number]`).
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import re
import socket
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator

RENAME_EXCHANGE = 2
AT_FDCWD = -100

IN_A_NAMESPACE = """
umount "$1"; umount -l "$1"; mount -o remount,bind,rw "$1"
echo harmed >"$1/new.json"; echo harmed >>"$1/file"
if [ -e "$1/host.sock" ]; then echo seen; fi
name=$(basename "$1"); mkdir -p /tmp/peek
if mount --bind "$(dirname "$1")" /tmp/peek; then
  echo harmed >"/tmp/peek/$name/new.json"; echo harmed >>"/tmp/peek/$name/file"
  if [ -e "/tmp/peek/$name/host.sock" ]; then echo seen; fi
fi
"""

done: list[tuple[str, str]] = []


def attempt(what: str, path: str, act: Callable[[], object]) -> bool:
    try:
        act()
    except OSError:
        return False
    done.append((what, path))
    return True


def directories(top: str) -> Iterator[str]:
    """Every directory at and below a path, the deepest first, no link followed."""
    for above, _, _ in os.walk(top, topdown=False):
        yield above


def write(path: str, flags: int = os.O_WRONLY | os.O_CREAT | os.O_TRUNC) -> None:
    descriptor = os.open(path, flags, 0o644)
    try:
        os.write(descriptor, b"harmed\n")
    finally:
        os.close(descriptor)


def work(top: str) -> None:
    for folder in directories(top):
        path = f"{folder}/landed"
        attempt("made", folder, lambda path=path: write(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL))


def connect(path: str) -> None:
    """By its name alone, from its directory: addresses of sockets are short."""
    here = os.open(".", os.O_RDONLY)
    with socket.socket(socket.AF_UNIX) as caller:
        try:
            os.chdir(os.path.dirname(path))
            caller.connect(os.path.basename(path))
            caller.send(b"harmed")
        finally:
            os.fchdir(here)
            os.close(here)


def exchange(one: str, other: str) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.renameat2(AT_FDCWD, os.fsencode(one), AT_FDCWD, os.fsencode(other), RENAME_EXCHANGE) != 0:
        raise OSError(ctypes.get_errno(), "renameat2")


def on_files(folder: str, room: str) -> None:
    """Files, links and sockets of one directory; `room`: a directory that may be written."""
    for entry in sorted(os.scandir(folder), key=lambda entry: entry.name):
        path = entry.path
        if entry.is_dir(follow_symlinks=False):
            continue
        if stat.S_ISSOCK(entry.stat(follow_symlinks=False).st_mode):
            attempt("connected", path, lambda path=path: connect(path))
        elif entry.is_file(follow_symlinks=False):
            attempt("appended", path, lambda path=path: write(path, os.O_WRONLY | os.O_APPEND))
            attempt("truncated", path, lambda path=path: os.truncate(path, 0))
            attempt("mode", path, lambda path=path: os.chmod(path, 0o666))
        other = f"{room}/hard link"
        if attempt("hard link", path, lambda path=path, other=other: os.link(path, other, follow_symlinks=False)):
            attempt("through a hard link", path, lambda other=other: write(other))
            os.unlink(other)
        attempt("unlinked", path, lambda path=path: os.unlink(path))


def on_directory(folder: str, room: str) -> None:
    attempt("created", folder, lambda: write(f"{folder}/new.json"))
    write(f"{room}/prepared.json")
    attempt("renamed in", folder, lambda: os.rename(f"{room}/prepared.json", f"{folder}/in.json"))
    attempt("linked in", folder, lambda: os.symlink(room, f"{folder}/link"))
    with contextlib.suppress(FileExistsError):
        os.symlink(folder, f"{room}/to here")
    attempt("through a link", folder, lambda: write(f"{room}/to here/through.json"))
    os.unlink(f"{room}/to here")
    attempt("mode of", folder, lambda: os.chmod(folder, 0o777))
    on_files(folder, room)


def on_name(folder: str, rooms: list[str]) -> None:
    """Put something else in a directory's place."""
    for room in rooms:
        os.makedirs(f"{room}/prepared", exist_ok=True)
        attempt("exchanged", folder, lambda room=room: exchange(f"{room}/prepared", folder))
    if attempt("renamed", folder, lambda: os.rename(folder, f"{folder}.moved")):
        attempt("replaced by a directory", folder, lambda: os.mkdir(folder))
        attempt("filled", folder, lambda: write(f"{folder}/new.json"))
        return
    for number, room in enumerate(rooms):
        attempt("moved away", folder, lambda room=room, number=number: os.rename(folder, f"{room}/moved{number}"))
    attempt("removed", folder, lambda: os.rmdir(folder))


def mount_points(top: str) -> list[str]:
    with open("/proc/self/mountinfo", encoding="utf-8", errors="surrogateescape") as file:
        points = [re.sub(r"\\([0-7]{3})", lambda code: chr(int(code[1], 8)), line.split(" ")[4]) for line in file]
    return sorted({point for point in points if point.startswith(top)}, key=lambda point: point.count("/"))


def on_mounts(top: str) -> None:
    """Take the protection itself away, as this user and as the root of a namespace of one's own."""
    for point in reversed(mount_points(top)):
        for command in (["umount", point], ["umount", "--lazy", point], ["mount", "-o", "remount,bind,rw", point]):
            ended = subprocess.run(command, capture_output=True, check=False)
            if ended.returncode == 0:
                done.append((" ".join(command[:-1]), point))
        ended = subprocess.run(
            ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c", IN_A_NAMESPACE, "sh", point],
            capture_output=True,
            check=False,
        )
        if b"seen" in ended.stdout:
            done.append(("uncovered", point))


def attack(top: str) -> None:
    os.makedirs("/tmp/room")
    on_mounts(top)
    # From a directory of each writable mount: nothing is renamed or linked from one mount to another.
    writable = [point for point in mount_points(top) if os.path.isdir(point) and os.access(point, os.W_OK)]
    rooms = ["/tmp/room", *writable[:5]]
    for room in rooms:
        for folder in list(directories(top)):
            on_directory(folder, room)
    # Last, because afterwards nothing has its old name, and the deepest first for the same reason.
    for folder in list(directories(top)):
        with contextlib.suppress(OSError):
            on_name(folder, rooms)


def seen(top: str) -> list[tuple[int, int]]:
    """Device and number of everything below a directory, and of itself."""
    found = []
    for above, folders, files in os.walk(top):
        for name in (".", *folders, *files):
            status = os.lstat(os.path.join(above, name))
            found.append((status.st_dev, status.st_ino))
    return found


if __name__ == "__main__":
    before = seen(sys.argv[2])
    {"work": work, "attack": attack}[sys.argv[1]](sys.argv[2])
    names = [(what, os.fsencode(path).decode("utf-8", "backslashreplace")) for what, path in done]
    print(json.dumps({"done": names, "seen": before}))
