"""Watching folders by comparing lists, for systems without inotify (door).

Something that pulses says "look now" (the `watchfiles` library, which knows each system's own way, or a timer), and
the watcher lists the folders in question and tells the differences. The library's own events are not passed on: they
do not tell a renamed file from a created one, and each system loses or merges them in its own way, while two lists
are always right about the present. What lists cannot show: an ancestor that is moved is noticed at the next pulse
only, and two writes of one size within one step of the file system's clock, with a look between them, count as one.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple, Protocol, TypeAlias

from switchboard.common.facts import Log
from switchboard.common.folder_survey import Survey, absolute, survey
from switchboard.common.folder_watch import Callback, FolderEvent, Rescan, deliver

TIMER_SECONDS = 1.0
STEP_MS = 50  # how often the library's thread looks; its own default, a compromise between delay and idle wake-ups
_DEBOUNCE_MS = 50  # how long it merges while changes keep coming
_RETRY_SECONDS = 1.0

Pulse: TypeAlias = Callable[[frozenset[str] | None], None]
"""Called on the loop with the paths that changed (entries, or a folder itself); None means anything."""


class Entry(NamedTuple):
    """What tells one state of a directory entry from another: device and inode, and stamp and size of the content."""

    device: int
    inode: int
    modified_ns: int
    size: int

    def is_same_file(self, other: Entry) -> bool:
        return self[:2] == other[:2]


class Pulses(Protocol):
    """Says when to look."""

    def follow(self, folders: frozenset[str], pulse: Pulse) -> None:
        """From now on pulse when something happens in one of these existing folders; forget the earlier ones.

        Also called with the same folders again, when one of them may be another folder of the same name by now.
        """

    async def aclose(self) -> None:
        """Stop; nothing is left running."""


class TimerPulses:
    """Looks at regular intervals: the last resort, it needs nothing of the system."""

    def __init__(self, seconds: float = TIMER_SECONDS) -> None:
        self._seconds = seconds
        self._timer: asyncio.TimerHandle | None = None

    def follow(self, folders: frozenset[str], pulse: Pulse) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if folders:
            self._arm(pulse)

    async def aclose(self) -> None:
        self.follow(frozenset(), lambda _: None)

    def _arm(self, pulse: Pulse) -> None:
        self._timer = asyncio.get_running_loop().call_later(self._seconds, self._fire, pulse)

    def _fire(self, pulse: Pulse) -> None:
        self._arm(pulse)
        pulse(None)


class WatchfilesPulses:
    """Looks when the `watchfiles` library sees a change. One task and one thread, however many folders."""

    def __init__(self, log: Log | None = None, *, step_ms: int = STEP_MS) -> None:
        self._log = log
        self._step_ms = step_ms
        self._folders: frozenset[str] = frozenset()
        self._pulse: Pulse = lambda _: None
        self._restart = asyncio.Event()
        self._reported = ""
        self._task: asyncio.Task[None] | None = None

    def follow(self, folders: frozenset[str], pulse: Pulse) -> None:
        self._folders = folders
        self._pulse = pulse
        self._restart.set()
        if folders and self._task is None:
            self._task = asyncio.create_task(self._run(), name="folder watch (watchfiles)")

    async def aclose(self) -> None:
        self._folders = frozenset()
        self._restart.set()
        if self._task is not None:
            await self._task

    async def _run(self) -> None:
        while self._folders:
            self._restart = asyncio.Event()
            try:
                await self._pulse_until(self._restart)
            except Exception as error:  # noqa: BLE001 - the library's faults come wrapped in groups, of any kind
                self._report(error)
                # Most likely a folder vanished, or has a name that the library cannot read: the lists can.
                self._pulse(None)
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(_RETRY_SECONDS):
                        await self._restart.wait()
        self._task = None

    def _report(self, error: Exception) -> None:
        """Log a fault; one that repeats is logged once."""
        while isinstance(error, ExceptionGroup):
            error = error.exceptions[0]
        if self._log is not None and str(error) != self._reported:
            self._log.warning(f"watching folders was interrupted and goes on: {error}")
        self._reported = str(error)

    async def _pulse_until(self, restart: asyncio.Event) -> None:
        # Imported here: only systems without inotify have the library, and nobody else should pay for it.
        from watchfiles import awatch

        changes = awatch(
            *self._folders,
            watch_filter=None,
            debounce=_DEBOUNCE_MS,
            step=self._step_ms,
            stop_event=restart,
            recursive=False,
        )
        # Runs after the first step of `changes`, when the library has begun (or failed to): looking shows what happened
        # before that.
        asyncio.get_running_loop().call_soon(self._pulse, None)
        async with contextlib.aclosing(changes):
            async for batch in changes:
                self._pulse(frozenset(path for _, path in batch))


class _PortableWatch:
    __slots__ = ("_owner", "callback", "closed", "entries", "path", "seen", "suffix")

    def __init__(self, owner: PortableWatcher, path: str, callback: Callback, suffix: str) -> None:
        self._owner = owner
        self.path = path
        self.callback = callback
        self.suffix = suffix
        self.closed = False
        self.seen = survey(path)
        self.entries = _list(self.seen)

    def close(self) -> None:
        if not self.closed:
            self.closed = True
            self._owner._forget(self)  # noqa: SLF001 - a watch is a handle of its watcher

    def places(self) -> frozenset[str]:
        """The folders in which something may happen that concerns this one."""
        around = {folder for folder, _ in self.seen.names}
        return frozenset(around if self.seen.target is None else around | {self.seen.target})

    def look(self) -> bool:
        """Compare with the last look and tell the differences. Return whether the path led elsewhere before."""
        before, entries_before = self.seen, self.entries
        self.seen = survey(self.path)
        self.entries = _list(self.seen)
        if self.entries is None or entries_before is None or before.folders[-1:] != self.seen.folders[-1:]:
            if self.entries is not None or entries_before is not None:
                deliver(self.callback, Rescan())
            return before != self.seen
        for event in differences(entries_before, self.entries):
            if self.closed:
                break
            if event.name.endswith(self.suffix):
                deliver(self.callback, event)
        return before != self.seen


class PortableWatcher:
    """A `FolderWatcher` for any system. It takes over `pulses` and closes it in the end."""

    def __init__(self, pulses: Pulses) -> None:
        self._pulses = pulses
        self._watches: dict[_PortableWatch, None] = {}
        self._followed: frozenset[str] = frozenset()
        self._closed = False

    def watch(self, path: str, callback: Callback, *, suffix: str = "") -> _PortableWatch:
        if self._closed:
            raise ValueError("the folder watcher is closed")
        watch = _PortableWatch(self, absolute(path), callback, suffix)
        if watch.entries is None and watch.seen.target is not None:
            os.scandir(watch.seen.target).close()  # raises what the list met
        self._watches[watch] = None
        self._refollow()
        return watch

    async def aclose(self) -> None:
        self._closed = True
        for watch in list(self._watches):
            watch.close()
        await self._pulses.aclose()

    def _forget(self, watch: _PortableWatch) -> None:
        self._watches.pop(watch, None)
        self._refollow()

    def _refollow(self, *, anew: bool = False) -> None:
        places: frozenset[str] = frozenset().union(*(watch.places() for watch in self._watches))
        if anew or places != self._followed:
            self._followed = places
            self._pulses.follow(places, self._on_pulse)

    def _on_pulse(self, changed: frozenset[str] | None) -> None:
        places = frozenset(map(os.path.dirname, changed or ())) | (changed or frozenset())
        # A system may spell a path in another way than we do; then every folder is looked at.
        everywhere = places.isdisjoint(self._followed)
        replaced = changed is not None and not changed.isdisjoint(self._followed)
        for watch in list(self._watches):
            if not watch.closed and (everywhere or not places.isdisjoint(watch.places())):
                replaced |= watch.look()
        # Whatever watches a folder stays with it when another takes its place. Lists may not show that, since a new
        # folder often gets the inode number of the deleted one; a folder that is itself named as changed does.
        self._refollow(anew=replaced)


def differences(before: Mapping[str, Entry], after: Mapping[str, Entry]) -> Iterator[FolderEvent]:
    """Return what must have happened between two lists of one folder: first what is gone, then what appeared."""
    files_before = {entry[:2]: name for name, entry in before.items()}
    files_after = {entry[:2]: name for name, entry in after.items()}
    for name, entry in before.items():
        if name not in after:
            kept = files_after.get(entry[:2])
            moved = kept is not None and (kept not in before or not before[kept].is_same_file(entry))
            yield FolderEvent(name, "gone", "moved" if moved else "deleted")
    for name, entry in after.items():
        earlier = before.get(name)
        if earlier is None or not earlier.is_same_file(entry):
            origin = files_before.get(entry[:2])
            moved = origin is not None and (origin not in after or not after[origin].is_same_file(entry))
            yield FolderEvent(name, "appeared", "moved" if moved else "created")
        elif earlier != entry:
            yield FolderEvent(name, "changed", "written")


def _list(seen: Survey) -> dict[str, Entry] | None:
    """List a folder; None when there is none or it cannot be read."""
    if seen.target is None:
        return None
    entries: dict[str, Entry] = {}
    try:
        with os.scandir(seen.target) as found:
            for entry in found:
                with contextlib.suppress(FileNotFoundError):
                    status = entry.stat(follow_symlinks=False)
                    entries[entry.name] = Entry(status.st_dev, status.st_ino, status.st_mtime_ns, status.st_size)
    except OSError:
        return None
    return entries
