"""What git says of a repository, read from its answers (pure).

Two questions are asked: where the repository's parts are, and which settings hold with the file that each comes from.
Everything that decides which programs git runs has to be found: the hooks directory in effect, wherever it is, and each
file that settings are read from, which need not lie in the repository (`include.path`).
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from switchboard.sandbox.run import Said

GIT_PLACES = frozenset(
    {
        *("GIT_DIR", "GIT_WORK_TREE", "GIT_COMMON_DIR", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY", "GIT_NAMESPACE"),
        *("GIT_CONFIG", "GIT_PREFIX", "GIT_CEILING_DIRECTORIES", "GIT_DISCOVERY_ACROSS_FILESYSTEM", "GIT_TRACE"),
    }
)
"""Variables that would make git speak of another repository than the one it is asked about."""

NEWLINE = "contains a newline"


@dataclass(frozen=True, slots=True)
class Repository:
    """The parts of a repository, all paths absolute, as git spells them.

    `folder`, `common`: its own directory and the one that linked worktrees share. `hooks`: the directory in effect.
    `settings`: files that settings are read from, and those that would be if they existed. `per_worktree`: whether
    `config.worktree` is read.
    """

    folder: str
    common: str
    hooks: str
    settings: tuple[str, ...] = ()
    per_worktree: bool = False


def repository(where: str, home: str, places: Said, settings: Said) -> Repository | str:
    """Return the repository as git describes it from the directory `where`, or why it cannot be known."""
    for said in (places, settings):
        if said.code != 0:
            text = said.errors.decode("utf-8", "surrogateescape").strip().splitlines()
            return text[0] if text else f"git ended with {said.code}"
    lines = places.out.decode("utf-8", "surrogateescape").removesuffix("\n").split("\n")
    if len(lines) != 3:
        return f"one of its paths {NEWLINE}"
    folder, common, hooks = (posixpath.join(where, line) for line in lines)
    files: dict[str, None] = {}
    per_worktree = False
    for origin, key, value in _settings(settings.out, where):
        if origin is not None:
            files[origin] = None
        if key == "include.path" or (key.startswith("includeif.") and key.endswith(".path")):
            files.update((path, None) for path in _included(origin, value, home))
        if key == "extensions.worktreeconfig":
            per_worktree = value.lower() in ("", "true", "yes", "on", "1")
    return Repository(folder, common, hooks, tuple(files), per_worktree)


def _settings(text: bytes, where: str) -> Iterator[tuple[str | None, str, str]]:
    """Yield each setting: the file it comes from, None for another origin; its key; its value."""
    parts = text.decode("utf-8", "surrogateescape").split("\0")
    for origin, setting in zip(parts[0::2], parts[1::2], strict=False):
        key, _, value = setting.partition("\n")
        kind, _, name = origin.partition(":")
        yield (posixpath.join(where, name) if kind == "file" else None), key, value


def _included(origin: str | None, value: str, home: str) -> Iterator[str]:
    """The file that an `include` names. Git's other abbreviations (`~user`, `%(prefix)`) lead out of a sandbox."""
    if value.startswith("/"):
        yield value
    elif value.startswith("~/"):
        yield posixpath.join(home, value[2:])
    elif origin is not None and value and not value.startswith(("~", "%(")):
        yield posixpath.join(posixpath.dirname(origin), value)
