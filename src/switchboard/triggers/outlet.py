"""Where results go out (driver): while none can be published, nothing new is begun, and what is done waits.

Theory of operation. The outlet is open or blocked. It is blocked when the folder of results takes no file at all (a
full disk, a folder that is none, one that may not be written). Requests that come while it is blocked stay in their
folder; those under way wait with their result until it is open, and keep their file and their session's turn meanwhile.
It is looked at again after a quarter of a second, then twice as late each time, and when a request arrives. Nothing in
the system tells that a disk has room again, so this is the one thing that is asked for repeatedly, and only while
something waits for it.

A result that only its own place refuses (a folder stands there) blocks nothing: its request is removed, because
nothing may be done twice, and it is kept in memory and tried again in the same way.

A request that cannot be answered at all is left alone, and said to be so until nothing of it is there any more.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Container

from switchboard.common.clock import Clock, Timer
from switchboard.delivery.desk import Desk
from switchboard.triggers.admission import REQUEST_SUFFIX
from switchboard.triggers.room import Room
from switchboard.triggers.say import LeftAlone, Problems, Reporter
from switchboard.triggers.spool import Spool

FIRST_LOOK_MS = 250
LAST_LOOK_MS = 10_000
ARRIVAL_LOOK_MS = 1_000
"""An arriving request makes it look again, unless the last look is not that old."""

MAX_KEPT = 64
"""Results kept, each a few hundred bytes; beyond that the oldest is given up."""


class _Looks:
    """When it is looked again: after a while, then twice as late each time."""

    def __init__(self, clock: Clock, look: Callable[[], None]) -> None:
        self._clock = clock
        self._look = look
        self._timer: Timer | None = None
        self._delay = FIRST_LOOK_MS

    @property
    def expected(self) -> bool:
        return self._timer is not None

    def later(self) -> None:
        self._cancel()
        self._timer = self._clock.call_at(self._clock.now() + self._delay, self._look)
        self._delay = min(self._delay * 2, LAST_LOOK_MS)

    def end(self) -> None:
        """Not any more; the next time it begins with a short while."""
        self._cancel()
        self._delay = FIRST_LOOK_MS

    def _cancel(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None


class Outlet:
    """Publishes what could not be published at first. `resume` is called when requests may be begun again."""

    def __init__(
        self,
        spool: Spool,
        desk: Desk,
        say: Reporter,
        resume: Callable[[], object],
        problems: Problems,
    ) -> None:
        self._spool = spool
        self._room = Room(spool.results)
        self._desk = desk
        self._say = say
        self._resume = resume
        self._problems = problems
        self._blocked = False
        self._let_go = asyncio.Event()
        """Nobody is to wait: results can be published, or the end is near."""
        self._let_go.set()
        self._kept: dict[str, tuple[bytes, str]] = {}
        self._left = LeftAlone(problems, self._is_there)
        self._looks = _Looks(desk.clock, self._look)
        self._looked_at = 0

    @property
    def blocked(self) -> bool:
        """Whether no result could be published at the last look."""
        return self._blocked

    # --- requests ---

    def is_open(self) -> bool:
        """Whether a request may be begun: whether its result could be published, as far as that can be told."""
        if not self.blocked:
            obstacle = self._room.obstacle()
            if obstacle is None:
                return True
            self._block(obstacle)
        elif self._desk.clock.now() >= self._looked_at + ARRIVAL_LOOK_MS:
            self._look()
        return not self.blocked

    def takes(self, name: str) -> bool:
        """Whether a request of that name can have a result; says so once when it cannot."""
        self._left.look()
        if self._room.takes(name.removesuffix(REQUEST_SUFFIX)):
            return True
        if name not in self._left:
            text = f"no result can be named after it, rename it to at most {self._room.longest_stem()} bytes and .json"
            self._say.warning(f"{name!r} is left alone: {text}")
            self._left.add(name, text)
        return False

    def leave(self, stem: str, why: str) -> None:
        """A request, or what is left of one, stays where it is: tell people so until it is gone. Logging is not done.

        `why` says what is wrong with it and what helps.
        """
        self._left.add(f"{stem}{REQUEST_SUFFIX}", why)

    def gone(self, name: str) -> None:
        """That name stands for no request any more."""
        self._left.look(name)

    def only(self, names: Container[str]) -> None:
        """No other names are there any more."""
        for name in [name for name in self._left if name not in names]:
            self._left.look(name)

    # --- results ---

    def published(self, stem: str) -> None:
        """A result has come into its place: an older one that is kept must not replace it."""
        if self._kept and self._replaced(stem):
            self._tell_kept()

    def is_stuck(self) -> bool:
        """A result could not be published: whether that is so for all of them."""
        if not self.blocked and (obstacle := self._obstacle()) is not None:
            self._block(obstacle)
        return self.blocked

    async def opened_again(self) -> bool:
        """A result could not be published: wait until that is worth another attempt.

        False where it is not: this process is about to end, or only the result's own place refuses it.
        """
        if self._desk.stop.requested or not self.is_stuck():
            return False
        await self._let_go.wait()
        return not (self.blocked and self._desk.stop.requested)

    def keep(self, stem: str, data: bytes, failure: OSError) -> None:
        """Keep a result that only its own place refuses."""
        self._replaced(stem)
        if len(self._kept) >= MAX_KEPT:
            self._lost(next(iter(self._kept)))
        self._kept[stem] = data, failure.strerror or str(failure)
        if not self._looks.expected:
            self._looks.later()
        self._tell_kept()

    def stop(self) -> None:
        """The end is near, and has been requested: nobody waits any more. What can be published by now still is."""
        if self.blocked:
            self._look()
        self._let_go.set()

    def close(self) -> None:
        """Publish what is kept, if it can be done now; say what is lost otherwise. Harmless when repeated."""
        self._looks.end()
        self._publish_kept()
        for stem in list(self._kept):
            self._lost(stem)

    # --- looking again ---

    def _block(self, obstacle: str) -> None:
        self._blocked = True
        if not self._desk.stop.requested:
            self._let_go.clear()
        self._looked_at = self._desk.clock.now()
        self._say.error(self._tell_obstacle(obstacle))
        self._look_later()

    def _look(self) -> None:
        self._looked_at = self._desk.clock.now()
        obstacle = self._obstacle()
        if obstacle is not None and not self.blocked:
            self._block(obstacle)
            return
        was_blocked = self.blocked
        if obstacle is not None:
            self._tell_obstacle(obstacle)
        else:
            self._blocked = False
            self._let_go.set()
            self._publish_kept()
        self._look_later()
        if was_blocked and not self.blocked:
            self._say.info("results can be published again")
            self._problems.set("results", None)
            self._resume()

    def _look_later(self) -> None:
        if self.blocked or self._kept:
            self._looks.later()
        else:
            self._looks.end()

    def _obstacle(self) -> str | None:
        """What speaks against publishing anything, found out by writing a file."""
        obstacle = self._room.obstacle()
        if obstacle is None and (failure := self._room.try_out()) is not None:
            obstacle = f"{self._spool.results} takes no file ({failure.strerror or failure})"
        return obstacle

    def _publish_kept(self) -> None:
        for stem, (data, _) in list(self._kept.items()):
            if self._publish(stem, data) is None:
                del self._kept[stem]
                self._say.info(f"{stem!r}: its result is published now")
        self._tell_kept()

    def _publish(self, stem: str, data: bytes) -> OSError | None:
        try:
            self._spool.publish(stem, data)
        except OSError as error:
            return error
        return None

    def _replaced(self, stem: str) -> bool:
        """The name has a newer result: whether one was kept for it, which nobody will read now."""
        if self._kept.pop(stem, None) is None:
            return False
        self._say.warning(f"{stem!r}: an earlier result of that name is lost, it was used again; this log has both")
        return True

    def _lost(self, stem: str) -> None:
        _, failure = self._kept.pop(stem)
        self._say.error(f"{stem!r}: its result is lost ({failure}); this log has its outcome")

    # --- what a person is told ---

    def _tell_obstacle(self, obstacle: str) -> str:
        text = f"results of triggers cannot be published, so requests wait in their folder: {obstacle}"
        self._problems.set("results", text)
        return text

    def _tell_kept(self) -> None:
        for stem, (_, failure) in self._kept.items():
            text = f"the result of trigger {stem!r} cannot be published ({failure}) and is kept in memory"
            break
        else:
            text = None
        self._problems.set("kept", text)

    def _is_there(self, name: str) -> bool:
        """Whether a request, or the marker of one, stands under that name."""
        return self._spool.has(name) or self._spool.has_marker(name.removesuffix(REQUEST_SUFFIX))
