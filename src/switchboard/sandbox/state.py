"""The CLI's own folder inside: an empty one, into which each entry comes back as what it may be (pure)."""

from __future__ import annotations

import posixpath
import re

from switchboard.sandbox.mounts import Mount, Refusal, is_below
from switchboard.sandbox.path_walk import Walk
from switchboard.sandbox.planning import Planning
from switchboard.sandbox.policy import PROJECTS, SESSIONS, Missing, cli_folder, settings_file
from switchboard.sandbox.roots import is_marked

LONGEST_NAME = 200
"""A longer folder name is cut by the CLI and ends in a hash, which is the CLI's to know."""

MAX_SETTINGS = 64 * 1024 * 1024
_FOLDER_NAME = re.compile(r"[A-Za-z0-9-]+")
_OTHER = re.compile(r"[^A-Za-z0-9]")


class State:
    """Adds the folder of the CLI to a table, and later protects what its entries lead to."""

    def __init__(self, planning: Planning) -> None:
        self._request = planning.request
        self._table = planning.table
        self._files = planning.files
        self._findings = planning.findings
        self._protection = planning.protection
        self._folder = cli_folder(planning.request.cli, planning.request)
        self._real = self._folder
        self._links: list[str] = []
        self._directories: list[str] = []
        self._sources: list[str] = [self._folder]

    def add(self) -> None:
        """Add all its mounts. Raises `Refusal` for a folder that cannot be shown as it has to be."""
        cli = self._request.cli
        self._add_settings()
        way = self._protection.check_chain(self._folder)
        self._real = way.real
        if way.found is None and cli.first_run:
            raise Refusal(f"{self._folder} does not exist; run {cli.title} once outside the sandbox first")
        if way.found is not None and way.found.kind != "directory":
            raise Refusal(f"{self._folder} is not a directory")
        if is_below(self._request.home, self._folder):
            raise Refusal(f"{cli.home_variable} names {self._folder}, which contains $HOME; give {cli.title} its own")
        self._table.add(Mount("tmpfs", self._folder, why=f"{cli.title}'s own folder"))
        if way.found is None:
            self._findings.lacks(Missing(self._real, private=True))
        names = self._files.names(self._real) if way.found is not None else []
        for name in names:
            if f"{self._folder}/{name}" != settings_file(cli, self._request):
                self._add_entry(name)
        for name in cli.made:
            if name not in names and not (name == SESSIONS and self._request.control.own is not None):
                self._findings.lacks(Missing(f"{self._real}/{name}", private=True))
        self._add_sessions()
        self._add_project_folder(PROJECTS in names)
        for name in cli.folders:
            self._add_folder(name)

    def protect(self) -> None:
        """Protect what read-only entries lead to. Called when everything writable is in the table."""
        for source in self._sources:
            self._protection.check_chain(source)
        for link in self._links:
            self._protection.keep_link(link)
        for folder in self._directories:
            self._protection.keep_links_below(folder)

    # --- entries ---

    def _add_entry(self, name: str) -> None:
        cli, path = self._request.cli, f"{self._real}/{name}"
        there = self._files.look(path)
        if there is None or (name == SESSIONS and self._request.control.own is not None):
            return
        if name in cli.private:
            if there.kind == "directory":
                self._mount("tmpfs", name)
        elif there.kind == "link" and (name in cli.state or name == PROJECTS):
            self._add_linked_state(name, path)
        elif there.kind == "link":
            self._table.add(Mount("symlink", f"{self._folder}/{name}", self._files.readlink(path)))
            self._links.append(path)
        elif there.kind != "other":  # a socket or pipe would be open to whoever sees it
            self._mount("rw" if name in cli.state else "ro", name, path)
            if there.kind == "directory" and name not in cli.state and name != PROJECTS:
                self._directories.append(path)

    def _mount(self, access: str, name: str, source: str | None = None) -> None:
        destination = f"{self._folder}/{name}"
        if access == "tmpfs":
            self._table.add(Mount("tmpfs", destination))
        else:
            self._table.add(Mount("rw" if access == "rw" else "ro", destination, source))

    def _add_linked_state(self, name: str, path: str) -> None:
        """State kept elsewhere: bound from there. A link that leads nowhere stays one."""
        way = self._protection.check_chain(path)
        if way.found is None:
            self._table.add(Mount("symlink", f"{self._folder}/{name}", self._files.readlink(path)))
            self._findings.warn(f"{path} links to {way.real}, which does not exist")
            return
        self._refuse_target(path, way, "file" if "." in name else "directory", name)
        self._mount("ro" if name == PROJECTS else "rw", name, way.real)
        self._sources.append(path)

    def _refuse_target(self, path: str, way: Walk, kind: str, name: str) -> None:
        """Raise `Refusal` for a link to what must not become writable."""
        assert way.found is not None
        why = ""
        if is_below(self._request.home, way.real) or is_below(self._protection.home, way.real):
            why = "which contains $HOME"
        elif way.found.kind != kind:
            why = f"which is not a {kind}"
        elif is_marked(way.real) and (".git" in way.real.split("/") or posixpath.basename(way.real) != name):
            why = "which is at or inside a .claude or .git directory"
        if why:
            raise Refusal(f"{path} links to {way.real}, {why}")

    # --- what is made for this session ---

    def _add_settings(self) -> None:
        path = settings_file(self._request.cli, self._request)
        if path is None:
            return
        way = self._protection.check_chain(path)
        try:
            content = b"{}" if way.found is None else self._files.read(way.real, MAX_SETTINGS)
        except OSError as error:
            raise Refusal(f"{path} cannot be read ({error.strerror})") from error
        self._table.add(Mount("file", path, content=content, why="a copy, dropped at the end"))

    def _add_sessions(self) -> None:
        """This start's own folder for descriptors, in the shared one's place: two sandboxes use the same numbers."""
        own = self._request.control.own
        if own is None:
            return
        there = self._files.look(own)
        if there is None or there.kind != "directory":
            raise Refusal(f"SWITCHBOARD_SANDBOX_SESSIONS_DIR: {own} is not a directory")
        self._mount("rw", SESSIONS, self._protection.check_chain(own).real)

    def _add_project_folder(self, has_projects: bool) -> None:
        name = self._request.project_folder
        if name is None:
            name = derived_name(self._request.cwd)
        elif not _FOLDER_NAME.fullmatch(name):
            raise Refusal("SWITCHBOARD_SANDBOX_PROJECT_FOLDER is not a project folder name (A-Z, a-z, 0-9 and '-')")
        projects = self._protection.check_chain(f"{self._real}/{PROJECTS}").real if has_projects else None
        path = f"{projects or f'{self._real}/{PROJECTS}'}/{name}"
        there = self._files.look(path)
        if there is None:
            self._findings.lacks(Missing(path, private=True))
        elif there.kind == "link":
            raise Refusal(f"{path}, this session's transcript folder, is a symbolic link")
        elif there.kind != "directory":
            raise Refusal(f"{path}, this session's transcript folder, is not a directory")
        else:
            self._mount("rw", f"{PROJECTS}/{name}", path)

    def _add_folder(self, name: str) -> None:
        path = posixpath.join(self._request.home, name)
        way = self._protection.check_chain(path)
        if way.found is None:
            # No link is followed to make something; one that leads nowhere is not made to lead somewhere.
            leads_nowhere = bool(way.links) and self._protection.check_chain(way.links[-1]).found is None
            self._findings.lacks(Missing(path if leads_nowhere else way.real, private=True))
            return
        if way.links:
            self._refuse_target(path, way, "directory", posixpath.basename(name))
        elif way.found.kind != "directory":
            raise Refusal(f"{path} is not a directory")
        self._table.add(Mount("rw", path, way.real))
        self._sources.append(path)


def derived_name(cwd: str) -> str:
    """Return the name of the folder with a directory's transcripts. Raises `Refusal` where only the CLI knows it."""
    name = _OTHER.sub(lambda found: "--" if ord(found[0]) > 0xFFFF else "-", cwd)
    if len(name) > LONGEST_NAME:
        raise Refusal(
            f"the transcript folder of '{cwd}' has a name of more than {LONGEST_NAME} characters, which cannot be "
            "derived; set SWITCHBOARD_SANDBOX_PROJECT_FOLDER to it"
        )
    return name
