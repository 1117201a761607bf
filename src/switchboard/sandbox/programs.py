"""The program that a sandbox runs, and what it needs to be seen for that: read-only (pure)."""

from __future__ import annotations

import posixpath
from typing import TYPE_CHECKING

from switchboard.sandbox.mounts import Mount, Refusal, is_below
from switchboard.sandbox.outside import find_inside
from switchboard.sandbox.path_walk import MAX_LINKS, Unresolved, Walk, walk
from switchboard.sandbox.planning import Planning

if TYPE_CHECKING:
    from switchboard.sandbox.policy import PythonPlace

PROGRAM_VARIABLE = "SWITCHBOARD_CLAUDE"
FIRST_LINE = 4_096

PARTS = ("bin", "lib", "lib64", "pyvenv.cfg")
"""Of a Python installation or environment: what lies beside them in the same directory may be a project."""


class Programs:
    """Adds what programs need. Called when everything writable is in the table."""

    def __init__(self, planning: Planning) -> None:
        self._request = planning.request
        self._table = planning.table
        self._files = planning.files
        self._findings = planning.findings
        self._protection = planning.protection
        self._homes = (planning.request.home, planning.protection.home)

    def command(self) -> list[str]:
        """Add the CLI's program and return what is to be run, without the session's arguments."""
        if self._request.python is not None:
            self._keep_ourselves(self._request.python)
        if self._request.cli.name == "agent":
            assert self._request.python is not None
            return self._agent(self._request.python)
        return self._claude()

    def _keep_ourselves(self, python: PythonPlace) -> None:
        """Make read-only what of Switchboard lies where the session works: it starts the next one, outside."""
        places = [python.base_prefix, python.prefix, *python.packages, *python.searched, python.package]
        for path in dict.fromkeys(places):
            way = self._way(path)
            if way.found is None:
                continue
            if not self._table.holds(way.real):
                self._protection.keep(way.real, why="Switchboard itself")
            elif way.real in self._searched(python):
                raise Refusal(
                    f"Switchboard imports modules from {way.real}, where the session is to work; "
                    "install it elsewhere, and start it with `python -P` when by hand"
                )
            else:
                for name in PARTS:
                    inner = self._files.look(f"{way.real}/{name}")
                    if inner is not None and inner.kind in ("directory", "file"):
                        self._protection.keep(f"{way.real}/{name}", why="Switchboard itself")

    def _searched(self, python: PythonPlace) -> set[str]:
        return {self._way(path).real for path in (*python.packages, *python.searched)}

    # --- Claude Code ---

    def _claude(self) -> list[str]:
        environment = self._request.environment
        named = environment.get(PROGRAM_VARIABLE) or "claude"
        if "/" in named:
            found: str | None = posixpath.join(self._request.cwd, named)
        else:
            found = find_inside(named, self._request, self._files)
        if found is None:
            raise Refusal(
                f"{named} not found in PATH (outside of the directories that the session works in); "
                f"install it, or name it with {PROGRAM_VARIABLE}"
            )
        real = self._way(found).real
        if not self._files.is_program(real):
            raise Refusal(f"resolved claude is not an executable file: {real}")
        self._show_program(real)
        for spot in self._table.writable(real):
            # In the CLI's own writable state, which may bring new versions: this one stays what it is.
            self._table.add(Mount("ro", spot, real, why="the running program"))
            self._protection.guard(spot)
        node = find_inside("node", self._request, self._files)
        if node is not None:
            self._show_program(node)
        self._show_interpreter(real)
        nvm = environment.get("NVM_DIR") or posixpath.join(self._request.home, ".nvm")
        if nvm.startswith("/") and self._is_directory(nvm):
            self._show(nvm)
        return [real]

    def _show_interpreter(self, program: str) -> None:
        """Add what the first line of a script names: an interpreter, or one that `env` finds."""
        try:
            line = self._files.read(program, FIRST_LINE).split(b"\n", 1)[0].decode("utf-8", "surrogateescape")
        except OSError:
            return  # not for this user to read, so no script that could be run
        words = line.removeprefix("#!").split()
        if not line.startswith("#!") or not words:
            return
        interpreter: str | None = words[0]
        if posixpath.basename(words[0]) == "env":
            names = [word for word in words[1:] if not word.startswith("-") and "=" not in word]
            interpreter = find_inside(names[0], self._request, self._files) if names else None
        if interpreter is None or not self._files.is_program(interpreter):
            self._findings.warn(f"the interpreter that {program} names ({' '.join(words)}) was not found")
        else:
            self._show_program(interpreter)

    # --- the built-in agent ---

    def _agent(self, python: PythonPlace) -> list[str]:
        for path in (python.base_prefix, python.prefix, *python.packages, python.package):
            if self._holds_home(path):
                raise Refusal(f"Python's {path} contains $HOME, so it cannot be shown; install Switchboard elsewhere")
            if self._is_directory(path):
                self._show(path)
        self._show_program(python.executable)
        # Not from the working directory: what lies there is the session's to write.
        return [python.executable, "-P", "-m", "switchboard.agent"]

    # --- showing ---

    def _show_program(self, path: str) -> None:
        """Add the directories of a program under each name that it has on the way to itself."""
        for _ in range(MAX_LINKS):
            folder = posixpath.dirname(path)
            if self._holds_home(folder) or self._table.holds(self._way(folder).real):
                self._show(path)
            else:
                self._show(folder)
            at = posixpath.join(self._way(folder).real, posixpath.basename(path))
            there = self._files.look(at)
            if there is None or there.kind != "link":
                if at != path:
                    self._show_program(at)
                return
            path = posixpath.normpath(posixpath.join(posixpath.dirname(at), self._files.readlink(at)))

    def _show(self, path: str) -> None:
        """Make a directory or file of the host visible at its path, and read-only wherever it is."""
        real = self._way(path).real
        if real == "/":
            return
        if not self._table.holds(real) and not self._is_own_state(real):
            self._protection.keep(real, why="program")
        seen = self._table.view(path)
        if seen.host is None and not self._is_linked(path):
            self._table.add(Mount("ro", path, real, why="program"))
            self._protection.guard(path)

    def _is_own_state(self, real: str) -> bool:
        return any(
            is_below(real, posixpath.join(home, name)) for home in self._homes for name in self._request.cli.folders
        )

    def _is_linked(self, path: str) -> bool:
        """Tell whether a path leads through a link that the plan makes, such as `/bin`."""
        links = {mount.destination for mount in self._table.mounts if mount.access == "symlink"}
        while path != "/" and path not in links:
            path = posixpath.dirname(path)
        return path != "/"

    def _holds_home(self, path: str) -> bool:
        return any(is_below(home, path) for home in self._homes)

    def _is_directory(self, path: str) -> bool:
        found = self._way(path).found
        return found is not None and found.kind == "directory"

    def _way(self, path: str) -> Walk:
        try:
            return walk(path, self._files)
        except Unresolved as why:
            raise Refusal(f"{path}: {why}") from why
