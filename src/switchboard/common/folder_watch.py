"""Being told what happens to the entries of one folder.

The kernel's word is used as a hint that is nearly always enough, never as the truth: whatever could have been missed
(a queue that overflowed, a folder that was deleted, replaced, moved away or created) arrives as `Rescan`, and whoever
watches then lists the folder. So the order that loses nothing is: watch first, then list, then list again on each
`Rescan`. An entry can be told twice (by the list and by an event), so handling one twice must be harmless.

A folder is meant by its path, not by its inode. While the path names no folder, the nearest existing ancestor is
watched for its return; symbolic links on the way are followed, and watched for being pointed elsewhere.

Only the entries themselves are watched: not what happens inside sub-folders, nor what another machine does to a
network file system. A file that is written under one of its names (hard links) has changed under that name only.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, Protocol, TypeAlias

from switchboard.common.facts import Log

Kind: TypeAlias = Literal["appeared", "changed", "gone"]
How: TypeAlias = Literal["created", "moved", "written", "closed", "deleted"]


@dataclass(frozen=True, slots=True)
class FolderEvent:
    """Something happened to the entry `name` of a watched folder (a file, a link, a sub-folder, anything).

    `appeared`: the name now means another file than before. `created`: it was made here, perhaps by a writer who is
    not finished, or linked here (an inode with several links tells that). `moved`: a rename put it here, so that
    its content was complete before, and any earlier entry of this name is replaced.
    `changed`: the same file, `written` to (also truncated), or `closed` after having been open for writing.
    `gone`: `deleted`, or `moved` away (also within the folder).

    Watchers that compare lists (see `portable_watch`) merge what happens quickly, never say `closed`, and say
    `created` where they cannot tell.
    """

    name: str
    kind: Kind
    how: How


@dataclass(frozen=True, slots=True)
class Rescan:
    """Anything may have happened, the folder's disappearance and return included: list it (it may be missing)."""


Callback: TypeAlias = Callable[[FolderEvent | Rescan], None]
"""Called on the event loop. It may watch and close; an exception goes to the loop's handler and harms nobody else."""


class Watch(Protocol):
    """One watched folder."""

    def close(self) -> None:
        """Stop it: the callback is not called again. Harmless when repeated."""


class FolderWatcher(Protocol):
    """Watches any number of folders. Belongs to the event loop on which it was opened."""

    def watch(self, path: str, callback: Callback, *, suffix: str = "") -> Watch:
        """Tell `callback` what happens in the folder `path` from now on; the folder need not exist.

        Only entries whose name ends in `suffix` are told of: where others come and go all the time (files that are
        renamed when they are complete), each of them would cost as much as the one that is waited for.
        A relative path is taken from the working directory of this moment. Raises OSError (with a text that names the
        remedy) when the folder exists and cannot be watched: unreadable, or a limit of the system is reached.
        """

    async def aclose(self) -> None:
        """Stop every watch and release what it took: no file descriptor and no task is left."""


def open_folder_watcher(log: Log | None = None) -> FolderWatcher:
    """Return this system's best watcher: inotify on Linux, else the `watchfiles` library.

    Where inotify cannot be had (most often: too many programs of this user watch files) the reason is logged, and
    folders are compared once a second instead.
    """
    # Imported here: each implementation imports the types above, and no system needs both.
    from switchboard.common.portable_watch import PortableWatcher, TimerPulses, WatchfilesPulses

    if sys.platform != "linux":
        return PortableWatcher(WatchfilesPulses(log))
    from switchboard.common.inotify import InotifyWatcher

    try:
        return InotifyWatcher(log)
    except OSError as error:
        if log is not None:
            log.warning(f"{error.strerror or error}; until the next start, folders are compared once a second")
        return PortableWatcher(TimerPulses())


def deliver(callback: Callback, event: FolderEvent | Rescan) -> None:
    """Call a subscriber so that its failure is reported and the events of others still arrive."""
    try:
        callback(event)
    except Exception as error:  # noqa: BLE001 - a subscriber's fault, whatever it is, goes to the loop's handler
        asyncio.get_running_loop().call_exception_handler(
            {"message": "the callback of a folder watch failed", "exception": error}
        )
