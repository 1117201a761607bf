"""Linux's inotify, read directly on the event loop (door).

One inotify descriptor serves every watch. The kernel keeps one watch per inode and descriptor, whichever path it was
asked by, so what it calls a watch is a `_Node` here, shared by all who are interested in that folder: as the folder
whose entries they follow, as a place where a name matters to them, or as an ancestor that must not move.

How a folder is followed: survey its path; ask the kernel to watch every place where the path's meaning could change;
survey again. If both agree, nothing was missed between looking and watching, and every later change arrives as an
event of one of those places. Such an event leads to another round, and when the kernel's watch of the target is no
longer the same one, the subscriber gets `Rescan`. Comparing inode numbers instead would miss a folder that was
deleted and created anew: file systems like to reuse the number.

Reading the descriptor from a thread, or through a library that awaits it, was rejected: a direct reader brings the
event to the callback within the loop turn that `rename` caused.
"""

from __future__ import annotations

import asyncio
import ctypes
import errno
import os
import struct

from switchboard.common.facts import Log
from switchboard.common.folder_survey import Survey, absolute, survey
from switchboard.common.folder_watch import Callback, FolderEvent, How, Kind, Rescan, deliver

# <sys/inotify.h>
IN_MODIFY = 0x2
IN_CLOSE_WRITE = 0x8
IN_MOVED_FROM = 0x40
IN_MOVED_TO = 0x80
IN_CREATE = 0x100
IN_DELETE = 0x200
IN_DELETE_SELF = 0x400
IN_MOVE_SELF = 0x800
IN_UNMOUNT = 0x2000
IN_Q_OVERFLOW = 0x4000
IN_IGNORED = 0x8000
IN_ONLYDIR = 0x0100_0000
IN_DONT_FOLLOW = 0x0200_0000
IN_EXCL_UNLINK = 0x0400_0000  # nothing about files that are unlinked and still open
IN_MASK_ADD = 0x2000_0000  # an inode that is watched already keeps what was asked before

_KIND_OF_EVENT = 0xFFF
_SELF = IN_MOVE_SELF | IN_DELETE_SELF
_NAMES = _SELF | IN_CREATE | IN_DELETE | IN_MOVED_FROM | IN_MOVED_TO
_CONTENT = _NAMES | IN_MODIFY | IN_CLOSE_WRITE | IN_EXCL_UNLINK
_ALWAYS = IN_ONLYDIR | IN_DONT_FOLLOW | IN_MASK_ADD

_MEANING: dict[int, tuple[Kind, How]] = {
    IN_CREATE: ("appeared", "created"),
    IN_MOVED_TO: ("appeared", "moved"),
    IN_MODIFY: ("changed", "written"),
    IN_CLOSE_WRITE: ("changed", "closed"),
    IN_DELETE: ("gone", "deleted"),
    IN_MOVED_FROM: ("gone", "moved"),
}

_HEADER = struct.Struct("iIII")
_READ_SIZE = 65_536  # about 1,000 events with names of usual length; an event needs 272 bytes at most
_ATTEMPTS = 8  # rounds of survey and watch while somebody keeps changing the path under us

_REMEDIES = {
    errno.EMFILE: "no inotify instance or file descriptor is left: end programs that watch files, or raise "
    "fs.inotify.max_user_instances (sysctl) or the limit of open files (ulimit -n)",
    errno.ENFILE: "the system has no file descriptor left",
    errno.ENOSPC: "no inotify watch is left: end programs that watch many files, or raise "
    "fs.inotify.max_user_watches (sysctl)",
}

_libc = ctypes.CDLL(None, use_errno=True)


class _Node:
    """A folder that the kernel watches for us."""

    __slots__ = ("content", "named", "suffixes", "users")

    def __init__(self) -> None:
        self.content: list[_InotifyWatch] = []
        self.suffixes: tuple[bytes, ...] = ()
        self.named: dict[str, list[_InotifyWatch]] = {}
        self.users: set[_InotifyWatch] = set()


class _InotifyWatch:
    """A subscriber: `target` and `places` are kernel watches, the folder's own and all those that it needs."""

    __slots__ = ("_owner", "callback", "closed", "path", "places", "suffix", "target")

    def __init__(self, owner: InotifyWatcher, path: str, callback: Callback, suffix: str) -> None:
        self._owner = owner
        self.path = path
        self.callback = callback
        self.suffix = suffix
        self.closed = False
        self.target: int | None = None
        self.places: frozenset[int] = frozenset()

    def close(self) -> None:
        if not self.closed:
            self.closed = True
            self._owner._release(self)  # noqa: SLF001 - a watch is a handle of its watcher


class InotifyWatcher:
    """The `FolderWatcher` of Linux. Raises OSError, its text naming the remedy, when inotify cannot be had."""

    def __init__(self, log: Log | None = None) -> None:
        self._log = log
        self._loop = asyncio.get_running_loop()
        self._nodes: dict[int, _Node] = {}
        self._watches: dict[_InotifyWatch, None] = {}  # in the order of their beginning
        self._fd = _check(_libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC))
        self._loop.add_reader(self._fd, self._on_readable)

    def watch(self, path: str, callback: Callback, *, suffix: str = "") -> _InotifyWatch:
        if self._fd < 0:
            raise ValueError("the folder watcher is closed")
        watch = _InotifyWatch(self, absolute(path), callback, suffix)
        self._watches[watch] = None
        try:
            self._place(watch)
        except BaseException:
            watch.close()
            raise
        return watch

    async def aclose(self) -> None:
        if self._fd < 0:
            return
        self._loop.remove_reader(self._fd)
        os.close(self._fd)
        self._fd = -1
        self._nodes.clear()
        for watch in list(self._watches):
            watch.close()

    def _on_readable(self) -> None:
        try:
            data = os.read(self._fd, _READ_SIZE)
        except BlockingIOError:
            return
        # Written out flat: this is the first stretch of a trigger's way, and most events are of no interest.
        at, size = 0, len(data)
        while at < size:
            place, mask, _, length = _HEADER.unpack_from(data, at)
            begin, at = at + _HEADER.size, at + _HEADER.size + length
            node = self._nodes.get(place)
            if node is not None:
                name = data[begin:at].rstrip(b"\0")
                if not name:
                    self._folder_changed(place, node, mask)
                elif node.named or name.endswith(node.suffixes):
                    self._entry_changed(node, mask, os.fsdecode(name))
                else:
                    continue
                if self._fd < 0:
                    return  # a callback closed us
            elif mask & IN_Q_OVERFLOW:
                self._overflowed()
            # else: the rest of what the kernel had queued for a watch that we gave up

    def _entry_changed(self, node: _Node, mask: int, name: str) -> None:
        meaning = _MEANING.get(mask & _KIND_OF_EVENT)
        if meaning is not None and node.content:
            event = FolderEvent(name, *meaning)
            for watch in tuple(node.content):
                if not watch.closed and name.endswith(watch.suffix):
                    deliver(watch.callback, event)
        if mask & _NAMES and name in node.named:
            for watch in tuple(node.named[name]):
                self._follow(watch)

    def _folder_changed(self, place: int, node: _Node, mask: int) -> None:
        if mask & IN_IGNORED:
            del self._nodes[place]  # the folder or its file system is gone, and the kernel's watch with it
        for watch in sorted(node.users, key=lambda user: user.path):
            self._follow(watch)

    def _overflowed(self) -> None:
        if self._log is not None:
            self._log.warning("the kernel dropped file events (its queue was full); listing every watched folder")
        for watch in list(self._watches):
            if not watch.closed:
                self._follow(watch, lost=True)

    def _follow(self, watch: _InotifyWatch, *, lost: bool = False) -> None:
        """Find out what the path means now; tell the subscriber when that, or any event, was lost."""
        if watch.closed:
            return
        before = watch.target
        try:
            self._place(watch)
        except OSError as error:
            if self._log is not None:
                self._log.warning(f"cannot watch {watch.path} any longer: {error.strerror or error}")
        if lost or watch.target != before:
            deliver(watch.callback, Rescan())

    def _place(self, watch: _InotifyWatch) -> None:
        """Put the kernel's watches where this one needs them, and take up those that it needs no more.

        Raises OSError when the target cannot be watched; it is then watched for by name only.
        """
        used: dict[int, set[str]] = {}  # every place asked for in any round, with the names that matter there
        target: int | None = None
        failure: OSError | None = None
        for _ in range(_ATTEMPTS):
            seen = survey(watch.path)
            used, failure = self._guard(seen), None
            try:
                target = None if seen.target is None else self._ask(seen.target, _CONTENT)
            except OSError as error:
                target, failure = None, error
            if survey(watch.path) == seen:
                break
        else:
            self._loop.call_soon(self._follow, watch)
        self._register(watch, target, used)
        if failure is not None and failure.errno not in (errno.ENOENT, errno.ENOTDIR):
            raise failure

    def _guard(self, seen: Survey) -> dict[int, set[str]]:
        """Watch what surrounds a target. What cannot be watched (an unreadable ancestor) is done without."""
        places: dict[int, set[str]] = {}
        for folder, mask, name in [
            *((folder, _NAMES, name) for folder, name in seen.names),
            *((folder, _SELF, "") for folder, _, _ in seen.folders),
        ]:
            try:
                names = places.setdefault(self._ask(folder, mask), set())
            except OSError:
                continue
            if name:
                names.add(name)
        return places

    def _ask(self, folder: str, mask: int) -> int:
        """Have the kernel watch a folder for (at least) this; return the number by which its events come."""
        place = _check(_libc.inotify_add_watch(self._fd, os.fsencode(folder), mask | _ALWAYS), folder)
        self._nodes.setdefault(place, _Node())
        return place

    def _register(self, watch: _InotifyWatch, target: int | None, names: dict[int, set[str]]) -> None:
        self._unregister(watch)
        watch.target = target
        watch.places = frozenset(names) if target is None else frozenset(names) | {target}
        for place in watch.places:
            node = self._nodes[place]
            node.users.add(watch)
            for name in names.get(place, ()):
                node.named.setdefault(name, []).append(watch)
        if target is not None:
            self._nodes[target].content.append(watch)
            self._note_suffixes(self._nodes[target])
        self._sweep()

    def _unregister(self, watch: _InotifyWatch) -> None:
        for place in watch.places:
            node = self._nodes.get(place)
            if node is None:
                continue
            node.users.discard(watch)
            node.content = [other for other in node.content if other is not watch]
            self._note_suffixes(node)
            for name, others in list(node.named.items()):
                node.named[name] = [other for other in others if other is not watch]
                if not node.named[name]:
                    del node.named[name]
        watch.places = frozenset()

    def _note_suffixes(self, node: _Node) -> None:
        """What names in the folder anybody wants to hear of, so that the others cost next to nothing."""
        node.suffixes = tuple({os.fsencode(watch.suffix) for watch in node.content})

    def _sweep(self) -> None:
        """Give up the kernel watches that nobody uses; their remaining events find no node."""
        for place in [place for place, node in self._nodes.items() if not node.users]:
            del self._nodes[place]
            _libc.inotify_rm_watch(self._fd, place)  # fails, harmlessly, when the folder is gone already

    def _release(self, watch: _InotifyWatch) -> None:
        self._watches.pop(watch, None)
        self._unregister(watch)
        if self._fd >= 0:
            self._sweep()


def _check(result: int, path: str | None = None) -> int:
    if result >= 0:
        return result
    number = ctypes.get_errno()
    raise OSError(number, _REMEDIES.get(number, os.strerror(number)), path)
