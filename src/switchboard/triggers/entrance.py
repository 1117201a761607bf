"""The way requests come in (driver): their folder is made and watched, or awaited while it cannot be used.

Theory of operation. A folder that cannot be used when the host starts (a file stands there, a link leads nowhere, it
may not be written) is looked at again when something happens to its name, or to that of its results, in the folders
around; and after a quarter of a second, then twice as late each time, because a changed mode, owner or mount is told by
no event. What happens leads to a look a moment later, not at once: who moves away what stands there is mostly about to
put the folder in its place.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress

from switchboard.common.clock import Clock, Timer
from switchboard.common.folder_watch import Callback, FolderWatcher, Watch, open_folder_watcher
from switchboard.common.portable_watch import PortableWatcher
from switchboard.triggers.admission import REQUEST_SUFFIX
from switchboard.triggers.say import Problems, Reporter
from switchboard.triggers.spool import Spool, SpoolError

FIRST_LOOK_MS = 250
LAST_LOOK_MS = 10_000


class Entrance:
    """Opens a spool's folder of requests. `shared`: a folder watcher to use; without one, the system's best is opened.

    `problems`: told under the topic `folder` why it cannot be opened, and that it goes on by itself.
    """

    def __init__(
        self, spool: Spool, clock: Clock, say: Reporter, problems: Problems, shared: FolderWatcher | None
    ) -> None:
        self._spool = spool
        self._clock = clock
        self._say = say
        self._problems = problems
        self._shared = shared
        self._own: FolderWatcher | None = None
        self._watch: Watch | None = None
        self._outposts: list[Watch] = []
        self._timer: Timer | None = None
        self._delay = FIRST_LOOK_MS
        self._problem: str | None = None

    @property
    def tells_all(self) -> bool:
        """A watcher that compares listings misses writes between two of them."""
        return not isinstance(self._shared or self._own, PortableWatcher)

    def open(self, on_event: Callback, opened: Callable[[], None]) -> None:
        """Watch the folder, now or as soon as that can be done; then `opened` is called, once."""
        problem = self._try(on_event)
        if problem is None:
            self._stop_waiting()
            self._problems.set("folder", None)
            self._say.info(f"watching {self._spool.folder}")
            opened()
            return
        if problem != self._problem:
            self._problem = problem
            self._say.error(problem)
            self._problems.set("folder", f"{problem}. It is looked at again by itself, every 10 s at the latest")

        def look() -> None:
            self.open(on_event, opened)

        self._await(look)

    def close(self) -> None:
        """Nothing is told from now on. Harmless when repeated."""
        self._stop_waiting()
        if self._watch is not None:
            self._watch.close()
            self._watch = None

    async def aclose(self) -> None:
        """Release what this object has opened."""
        self.close()
        if self._own is not None:
            await self._own.aclose()
            self._own = None

    def _watcher(self) -> FolderWatcher:
        if self._shared is not None:
            return self._shared
        if self._own is None:
            self._own = open_folder_watcher(self._say)
        return self._own

    def _try(self, on_event: Callback) -> str | None:
        """Make and watch the folder; return what is in the way."""
        try:
            self._spool.prepare()
            self._watch = self._watcher().watch(self._spool.folder, on_event, suffix=REQUEST_SUFFIX)
        except SpoolError as error:
            return str(error)
        except OSError as error:
            return f"the triggers folder {self._spool.folder} cannot be watched: {error.strerror or error}"
        return None

    def _await(self, look: Callable[[], None]) -> None:
        """Call `look` when it is time, or shortly after something has happened where the folder should be."""

        def soon(_event: object) -> None:
            self._delay = FIRST_LOOK_MS
            self._look_at(look)

        if not self._outposts:
            for path in (self._spool.folder, self._spool.results):
                around, name = os.path.split(path)
                with suppress(OSError):  # then the looks by the clock must do
                    self._outposts.append(self._watcher().watch(around, soon, suffix=name))
        self._look_at(look)

    def _look_at(self, look: Callable[[], None]) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = self._clock.call_at(self._clock.now() + self._delay, look)
        self._delay = min(self._delay * 2, LAST_LOOK_MS)

    def _stop_waiting(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        while self._outposts:
            self._outposts.pop().close()
