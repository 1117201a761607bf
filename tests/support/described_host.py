"""A host described by its paths, for the parts of a sandbox plan.

    host = Described({"/p/.git/config": "text", "/p/dir/": "", "/p/link": Link("dir")})

A path that ends in a slash is a directory; those above a path are made. It answers like `RealHostFiles`.
"""

from __future__ import annotations

import posixpath
from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from switchboard.sandbox.git_answers import Repository
from switchboard.sandbox.host_files import MARKERS, UNSEARCHED, Found


@dataclass(frozen=True)
class Link:
    target: str


@dataclass(frozen=True)
class Socket:
    """A socket or a pipe."""


Entry = str | Link | Socket | None


class Described:
    """`programs`: paths that may be executed. `locked`: directories in which nothing can be made. `git`: by marker."""

    def __init__(
        self,
        entries: Mapping[str, Entry],
        *,
        programs: AbstractSet[str] = frozenset(),
        locked: AbstractSet[str] = frozenset(),
        git: Mapping[str, Repository | str] | None = None,
    ) -> None:
        self.entries: dict[str, Entry] = {"/": None}
        for path, what in entries.items():
            plain = path.rstrip("/") or "/"
            self.entries[plain] = None if path.endswith("/") else what
            while plain != "/":
                plain = posixpath.dirname(plain)
                self.entries.setdefault(plain, None)
        self.programs = programs
        self.locked = locked
        self._git = git

    def look(self, path: str) -> Found | None:
        at = self._real(path, follow=False)
        if at is None or at not in self.entries:
            return None
        what = self.entries[at]
        kind = {type(None): "directory", str: "file", Link: "link", Socket: "other"}[type(what)]
        return Found(kind, (1, sorted(self.entries).index(at)))  # type: ignore[arg-type]  # one of the four

    def _real(self, path: str, *, follow: bool, links: int = 0) -> str | None:
        here = "/"
        names = [name for name in path.split("/") if name not in ("", ".")]
        for at, name in enumerate(names):
            here = posixpath.dirname(here) if name == ".." else posixpath.join(here, name)
            what = self.entries.get(here)
            if isinstance(what, Link) and (follow or at < len(names) - 1):
                if links > 40:
                    return None
                rest = "/".join(names[at + 1 :])
                onward = posixpath.join(posixpath.dirname(here), what.target, rest)
                return self._real(onward.rstrip("/"), follow=follow, links=links + 1)
        return here

    def readlink(self, path: str) -> str:
        what = self.entries[self._real(path, follow=False) or ""]
        assert isinstance(what, Link)
        return what.target

    def mountinfo(self) -> str:
        return "1 0 8:1 / / rw - ext4 /dev/disk rw\n"

    def names(self, path: str) -> list[str]:
        above = self._real(path, follow=True)
        return sorted(
            posixpath.basename(entry) for entry in self.entries if entry != "/" and posixpath.dirname(entry) == above
        )

    def read(self, path: str, limit: int) -> bytes:
        what = self.entries[self._real(path, follow=True) or ""]
        if not isinstance(what, str):
            raise IsADirectoryError(21, "Is a directory")
        return what.encode("utf-8", "surrogateescape")[:limit]

    def may_write(self, path: str) -> bool:
        return self._real(path, follow=True) not in self.locked

    def is_program(self, path: str) -> bool:
        return self._real(path, follow=True) in self.programs

    def is_socket(self, path: str) -> bool:
        return isinstance(self.entries.get(self._real(path, follow=True) or ""), Socket)

    def _below(self, folder: str, without: AbstractSet[str]) -> list[str]:
        found = []
        waiting = [folder]
        while waiting:
            at = waiting.pop()
            for name in self.names(at):
                path = posixpath.join(at, name)
                found.append(path)
                if self.entries[path] is None and name not in without and path not in without:
                    waiting.append(path)
        return found

    def markers(self, folder: str) -> list[str]:
        found = [path for path in self._below(folder, UNSEARCHED) if posixpath.basename(path) in MARKERS]
        return sorted(found, key=lambda path: (path.count("/"), path))

    def links(self, folder: str, without: AbstractSet[str]) -> list[str]:
        return sorted(path for path in self._below(folder, without) if isinstance(self.entries[path], Link))

    def git(self, marker: str) -> Repository | str | None:
        return None if self._git is None else self._git.get(marker, "no repository")
