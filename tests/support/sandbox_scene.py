"""A layout made on the disk, a real sandbox over it, and an attack from inside.

    with on_disk(layout(Random(1), "/tmp/base"), "self") as scene:
        scene.withstands(scene.protection())

Layouts with mounts of the host need a mount namespace of their own. So this is a program too:

    unshare --user --map-root-user --mount python -m tests.support.sandbox_scene FOLDER SEED…
"""

from __future__ import annotations

import contextlib
import json
import os
import socket
import stat
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from random import Random

from switchboard.sandbox.control import protect_control
from switchboard.sandbox.host_files import RealHostFiles
from switchboard.sandbox.mounts import FLAGS, Mount, arguments, ordered
from tests.support import sandbox_attack
from tests.support.sandbox_layouts import Layout, layout
from tests.support.sandbox_model import control_of, launch

NOBODY = 65_534
ATTACK = Path(sandbox_attack.__file__).read_text("utf-8")
PYTHON = "/usr/bin/python3" if os.path.exists("/usr/bin/python3") else os.path.realpath(sys.executable)
"""One that every user may start: the tests' own may lie in somebody's home directory."""

SYSTEM = [
    Mount("ro", "/usr", "/usr"),
    *(Mount("symlink", f"/{name}", f"usr/{name}") for name in ("bin", "lib", "lib64", "sbin")),
    Mount("dev", "/dev"),
    Mount("proc", "/proc"),
    Mount("tmpfs", "/tmp"),
    *([] if PYTHON.startswith("/usr/") else [Mount("ro", sys.base_prefix, sys.base_prefix)]),
]


@dataclass
class Outcome:
    """What succeeded, as what was tried and where; and what was to be seen, as device and number."""

    done: list[tuple[str, str]]
    seen: set[tuple[int, int]]


@dataclass
class Scene:
    """A layout on the disk, with a listener in each hidden directory, and who attacks it."""

    made: Layout
    user: str
    listeners: list[socket.socket]

    def run(self, what: str, extra: list[Mount]) -> Outcome:
        options, _ = arguments(ordered([*SYSTEM, *self.made.mounts, *extra]))
        ahead = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"] if self.user == "nobody" else []
        command = ["bwrap", *FLAGS, *options, "--chdir", "/", "--", PYTHON, "-I", "-c", ATTACK, what, self.made.base]
        ended = subprocess.run([*ahead, *command], capture_output=True, text=True, check=False, timeout=100)
        assert ended.returncode == 0, ended.stderr
        told = json.loads(ended.stdout)
        return Outcome([(what, path) for what, path in told["done"]], {(one, two) for one, two in told["seen"]})

    def protection(self) -> list[Mount]:
        return protect_control([*SYSTEM, *self.made.mounts], self.made.control, RealHostFiles())

    def writable_directories(self, extra: list[Mount]) -> set[tuple[int, int]]:
        """Where the model says that a project's work must land."""
        inside = launch(self.made.tree(), [*SYSTEM[-1:], *self.made.mounts, *extra])
        found = {place.node for place in inside.reached if place.mount.writable and place.mount.host}
        return {_identity(node.path()) for node in found if node.kind == "directory"}

    def unseen(self) -> set[tuple[int, int]]:
        """What must not be seen inside."""
        control = self.made.control
        found = control_of(self.made.tree(), control.triggers, control.hidden, control.own)
        return {_identity(node.path()) for node in found.unseen - found.kept - found.own}

    def landed(self) -> set[tuple[int, int]]:
        return {_identity(above) for above, _, files in os.walk(self.made.base) if "landed" in files}

    def snapshot(self) -> dict[str, tuple[object, ...]]:
        """Everything in the control directories, and which directories they are, by the host's own names."""
        control = self.made.control
        found: dict[str, tuple[object, ...]] = {}
        for path in (control.triggers, f"{control.triggers}/processed", *control.hidden):
            if os.path.isdir(path):
                found[path] = (os.path.realpath(path), *_state(path, follow=True))
                for above, folders, files in os.walk(os.path.realpath(path)):
                    folders[:] = [name for name in folders if f"{above}/{name}" != control.own]
                    found |= {f"{above}/{name}": _state(f"{above}/{name}") for name in (*folders, *files)}
        return found

    def was_reached(self) -> bool:
        for listener in self.listeners:
            with contextlib.suppress(BlockingIOError):
                listener.accept()[0].close()
                return True
        return False

    def withstands(self, extra: list[Mount]) -> list[tuple[str, str]]:
        """Work and attack: the work lands where the model says, and nothing of the host's control changes.

        Returns what succeeded.
        """
        before, unseen = self.snapshot(), self.unseen()
        assert not self.run("work", extra).seen & unseen
        assert self.landed() == self.writable_directories(extra)
        assert self.snapshot() == before
        succeeded = self.run("attack", extra).done
        assert self.snapshot() == before
        assert not self.was_reached()
        assert not [what for what, _ in succeeded if "mount" in what or what == "uncovered"]
        return succeeded


def _identity(path: str) -> tuple[int, int]:
    status = os.lstat(path)
    return status.st_dev, status.st_ino


def _state(path: str, *, follow: bool = False) -> tuple[object, ...]:
    status = os.stat(path, follow_symlinks=follow)
    content = Path(path).read_text("utf-8") if stat.S_ISREG(status.st_mode) else None
    return status.st_mode, status.st_ino, status.st_uid, status.st_nlink, content


@contextlib.contextmanager
def on_disk(made: Layout, user: str) -> Iterator[Scene]:
    made.on_disk()
    with contextlib.ExitStack() as open_ones:
        listeners = []
        for path in {os.path.realpath(path) for path in made.control.hidden if os.path.isdir(path)}:
            listener = open_ones.enter_context(socket.socket(socket.AF_UNIX))
            folder = os.open(path, os.O_RDONLY)
            # Addresses of sockets are short; the directory's descriptor makes one of any depth short enough.
            listener.bind(f"/proc/self/fd/{folder}/host.sock")
            os.close(folder)
            listener.listen()
            listener.setblocking(False)
            listeners.append(listener)
        if user == "nobody":
            for above, folders, files in os.walk(made.base):
                for name in (".", *folders, *files):
                    os.lchown(f"{above}/{name}", NOBODY, NOBODY)
        yield Scene(made, user, listeners)


if __name__ == "__main__":
    for number in map(int, sys.argv[2:]):
        with on_disk(layout(Random(number), f"{sys.argv[1]}/{number}"), "self") as attacked:
            attacked.withstands(attacked.protection())
        print(number, flush=True)
