"""A person's home, a project and programs, made for a sandbox to be planned or started in.

    rig = Rig(folder)
    rig.write(".claude/settings.json", "{}")             # below the home directory
    plan = rig.plan()                                    # as it would be made, with what is missing created
    assert rig.access(plan, rig.home / ".claude/settings.json") == ("ro", …)
    ended = rig.start('echo "$@"', arguments=["a"])      # the real command; its `claude` runs that script

With `fake_bwrap()` the command finds a bubblewrap that writes down what it is called with.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from switchboard.sandbox.bwrap import make
from switchboard.sandbox.host_files import RealHostFiles
from switchboard.sandbox.mounts import Mount, view
from switchboard.sandbox.plan import Plan, build
from switchboard.sandbox.policy import CLIS, PythonPlace, SandboxRequest
from switchboard.sandbox.request import request_from
from switchboard.sandbox.system import find_program

SOURCE = Path(__file__).parents[2] / "src"
SYSTEM_PATH = "/usr/bin:/bin"
NOBODY = 65_534

FAKE_BWRAP = """\
#!/bin/bash
for argument in "$@"; do printf '%s\\0' "$argument"; done >>"$0.calls"
printf '\\x1e' >>"$0.calls"
cat <&9 >>"$0.files"
printf '%s' "{errors}" >&2
if [ "${{!#}}" = /bin/true ]; then exit {preflight}; fi
while [ $# -gt 0 ]; do
  if [ "$1" = --info-fd ]; then printf '{{"child-pid": %s}}' "$$" >&"$2"; fi
  if [ "$1 $3" = "--file /.switchboard-sandbox" ]; then cat <&"$2" >/dev/null || exit 1; fi
  shift
done
env -0 >"$0.environment"
exit {code}
"""

FAKED = """\
import sys
from switchboard.sandbox import making, start
start.Expected.trouble = lambda *_given: None
sys.exit(making.module_main(sys.argv[1:]))
"""
"""A bubblewrap that mounts nothing has no mounts to be looked at."""

CLAUDE = """\
#!/bin/bash
eval "$RUN"
"""


@dataclass(frozen=True)
class Ended:
    """How the command ended."""

    code: int
    out: str
    errors: str


def as_user(user: str) -> dict[str, object]:
    """Arguments of `subprocess` that start a program as `self` or `nobody`."""
    if user == "self":
        return {}
    assert os.geteuid() == 0, "only root can start a program as somebody else"
    return {"user": NOBODY, "group": NOBODY, "extra_groups": ()}


@cache
def python_for(user: str) -> str:
    """An interpreter without a virtual environment that this user can run."""
    candidates = [getattr(sys, "_base_executable", sys.executable), "/usr/bin/python3", "/usr/local/bin/python3"]
    check = "import sys; sys.exit(sys.version_info < (3, 11))"
    for candidate in candidates:
        try:
            done = subprocess.run([candidate, "-I", "-c", check], check=False, capture_output=True, **as_user(user))  # type: ignore[call-overload]  # the arguments of one user
        except OSError:
            continue
        if done.returncode == 0:
            return candidate
    raise AssertionError(f"no Python 3.11 that {user} can run among {candidates}: install one for everybody")


class Rig:
    """All paths are real. `user`: who starts the command: `self`, or `nobody` (which root can become)."""

    def __init__(self, folder: Path, user: str = "self") -> None:
        self.folder = folder.resolve()
        self.user = user
        self.home = self.folder / "home"
        self.project = self.folder / "project"
        self.programs = self.folder / "programs"
        for path in (self.home / ".claude", self.project, self.programs):
            path.mkdir(parents=True)
        self.claude = self.programs / "claude"
        self.program(self.claude, CLAUDE)

    # --- making things ---

    def program(self, path: Path, text: str) -> Path:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        path.chmod(0o755)
        return path

    def write(self, path: str | Path, text: str = "host\n") -> Path:
        """Make a file; a relative path is one below the home directory."""
        where = self.home / path
        where.parent.mkdir(parents=True, exist_ok=True)
        where.write_text(text)
        return where

    def directory(self, path: str | Path) -> Path:
        where = self.home / path
        where.mkdir(parents=True, exist_ok=True)
        return where

    def link(self, path: str | Path, target: str | Path) -> Path:
        where = self.home / path
        where.parent.mkdir(parents=True, exist_ok=True)
        where.symlink_to(target)
        return where

    def repository(self, path: Path) -> Path:
        path.mkdir(parents=True, exist_ok=True)
        self.git(path, "init", "-q", "-b", "main")
        return path / ".git"

    def git(self, path: Path, *arguments: str) -> str:
        named = ["-c", "user.name=A", "-c", "user.email=a@example.com", "-c", "protocol.file.allow=always"]
        done = subprocess.run(
            ["git", *named, *arguments], cwd=path, check=True, capture_output=True, text=True, env=self.environment()
        )
        return done.stdout.strip()

    # --- planning ---

    def environment(self, **more: str) -> dict[str, str]:
        path = f"{self.programs}:{SYSTEM_PATH}"
        return {"HOME": str(self.home), "PATH": path, "LC_ALL": "C.UTF-8", **more}

    def request(self, cwd: Path | None = None, cli: str = "claude", **environment: str) -> SandboxRequest:
        package = str(SOURCE / "switchboard")
        return request_from(
            self.environment(**environment),
            CLIS[cli],
            [],
            cwd=str(cwd or self.project),
            user=os.getuid(),
            temporary=str(self.folder / "temporary"),
            python=PythonPlace(sys.executable, sys.prefix, sys.base_prefix, package),
        )

    def first_plan(self, cwd: Path | None = None, **environment: str) -> Plan:
        request = self.request(cwd, **environment)
        return build(request, self.files())

    def plan(self, cwd: Path | None = None, **environment: str) -> Plan:
        """The last of the plans: what is missing has been created."""
        for _ in range(4):
            plan = self.first_plan(cwd, **environment)
            if not plan.missing:
                return plan
            make(plan.missing)
        raise AssertionError(plan.missing)

    def files(self) -> RealHostFiles:
        return RealHostFiles(find_program("git", self.environment(), RealHostFiles()))

    # --- starting ---

    def fake_bwrap(self, *, preflight: int = 0, code: int = 0, errors: str = "") -> None:
        self.program(self.programs / "bwrap", FAKE_BWRAP.format(preflight=preflight, code=code, errors=errors))

    def calls(self) -> list[list[str]]:
        """What the fake was called with, each time."""
        text = (self.programs / "bwrap.calls").read_text() if (self.programs / "bwrap.calls").exists() else ""
        return [call.split("\0")[:-1] for call in text.split("\x1e") if call]

    def command(self, *, faked: bool = False) -> list[str]:
        """The command itself, from a copy that any user can read, run by an interpreter that any user has."""
        copy = self.folder / "product"
        if not copy.exists():
            for room in ("common", "sandbox", "agent"):
                shutil.copytree(SOURCE / "switchboard" / room, copy / "switchboard" / room)
            shutil.copy(SOURCE / "switchboard/__init__.py", copy / "switchboard")
        way = ["-c", FAKED] if faked else ["-m", "switchboard.sandbox"]
        return [python_for(self.user), "-B", "-P", *way]

    def hand_over(self) -> None:
        """Everything belongs to the user who starts the command."""
        if self.user == "self":
            return
        for folder, _, files in os.walk(self.folder):
            for path in (folder, *(os.path.join(folder, name) for name in files)):
                os.chown(path, NOBODY, NOBODY, follow_symlinks=False)

    def start(
        self,
        script: str = "",
        *,
        arguments: list[str] | None = None,
        cwd: Path | None = None,
        options: list[str] | None = None,
        faked: bool | None = None,
        **environment: str,
    ) -> Ended:
        """Run the command to its end; its `claude` runs `script` with bash.

        `faked`: whether the bubblewrap that it finds mounts nothing; None: the rig's own does, no other.
        """
        command = self.command(faked=(self.programs / "bwrap").exists() if faked is None else faked)
        self.hand_over()
        command = [*command, *(options or []), "--", *(arguments or [])]
        done = subprocess.run(  # type: ignore[call-overload]  # the arguments of one user
            command,
            cwd=cwd or self.project,
            env=self.environment(**{"PYTHONPATH": str(self.folder / "product"), "RUN": script, **environment}),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
            **as_user(self.user),
        )
        return Ended(done.returncode, done.stdout, done.stderr)


# --- reading plans --------------------------------------------------------------------------------------------------


def access(plan: Plan, path: Path | str) -> tuple[str, str | None]:
    """What a path is inside, and which path of the host it shows."""
    seen = view(plan.mounts, str(path))
    return seen.access, seen.host


def mount_at(plan: Plan, path: Path | str) -> Mount | None:
    """The last mount made right there."""
    return next((mount for mount in reversed(plan.mounts) if mount.destination == str(path)), None)


def position(plan: Plan, path: Path | str) -> int:
    """When the mount right there is made."""
    return max(at for at, mount in enumerate(plan.mounts) if mount.destination == str(path))


def snapshot(folder: Path) -> dict[str, str]:
    """Every path below a folder with what is there."""
    found = {}
    for path in sorted(folder.rglob("*")):
        name = str(path.relative_to(folder))
        if path.is_symlink():
            found[name] = f"-> {path.readlink()}"
        elif path.is_dir():
            found[name] = "/"
        else:
            found[name] = path.read_bytes().decode("utf-8", "replace")
    return found
