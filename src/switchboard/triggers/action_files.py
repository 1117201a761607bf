"""The files of versioned requests (driver): looked up first, marked while they are carried out, answered once.

The order is the whole safety of it. Marker before deed; result, then the request away, then the marker away. Whatever
moment a host ends at, the next one finds a result, or a marker, or an untouched request, and knows what to do.

Nothing is awaited between a look and what follows from it, except the pauses in which publishing is tried again; and
within those the name is still taken, so that nobody else works on it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from enum import Enum
from functools import partial

from switchboard.common.clock import Clock, sleep_until
from switchboard.common.strict_json import JsonSyntaxError, decode_utf8, parse
from switchboard.delivery.submission import Submitted
from switchboard.triggers.markers import Effect, Marker, decode_marker, encode_marker
from switchboard.triggers.publisher import RETRY_DELAYS_MS, encode
from switchboard.triggers.recovery import Claim, Found, Stage, Step, decide, found_in, interrupted
from switchboard.triggers.results import Result
from switchboard.triggers.say import Reporter
from switchboard.triggers.spool import Spool
from switchboard.triggers.v1_schema import is_request_id


class Fate(Enum):
    """What the caller has to do with a name."""

    WORK = "work"
    """Go on with the request."""
    DONE = "done"
    """Nothing: it has its result, and its files are gone."""
    RETAIN = "retain"
    """Never take the name again while this host runs: something could not be written or removed."""


class MarkerNotSavedError(Exception):
    """A marker could not be written. Nothing may be done then. `str` is the system's message."""


class ActionMarker:
    """The marker of one action that this host carries out.

    It goes away with the result (`ActionFiles.settle`), never before.
    """

    def __init__(self, spool: Spool, marker: Marker, say: Reporter) -> None:
        self._spool = spool
        self._say = say
        self.state = marker
        """What is recorded; also what could not be written after `begin`."""

    @classmethod
    def begin(cls, spool: Spool, marker: Marker, say: Reporter) -> ActionMarker:
        """Claim an action: immediately before the page is asked, a byte is typed or a stop is initiated.

        Raises `MarkerNotSavedError`, and then nothing of that may happen; also when there is a marker already.
        """
        try:
            spool.create_marker(marker.request, encode_marker(marker))
        except OSError as error:
            raise MarkerNotSavedError(str(error)) from error
        return cls(spool, marker, say)

    def attempt(self) -> None:
        """The first byte of the text is about to be written. Raises `MarkerNotSavedError`: then it must not be."""
        self._advance(Effect.PROMPT_ATTEMPTED)
        try:
            self._spool.update_marker(self.state.request, encode_marker(self.state))
        except OSError as error:
            raise MarkerNotSavedError(str(error)) from error

    def record(self, effect: Effect, submitted: Submitted = Submitted.NO, enter_at: int | None = None) -> None:
        """Something was done, and seen. Where that cannot be written the action goes on: it is too late to refuse.

        Raises `IllegalEffect` for an effect out of order, and changes nothing then.
        """
        self._advance(effect, submitted, enter_at)
        try:
            self._spool.update_marker(self.state.request, encode_marker(self.state))
        except OSError as error:
            self._say.warning(f"{self.state.request}: that it was {effect.value} could not be recorded ({error})")

    def _advance(self, effect: Effect, submitted: Submitted = Submitted.NO, enter_at: int | None = None) -> None:
        self.state = self.state.after(effect, submitted, enter_at)


async def _at_once() -> bool:
    return False


class ActionFiles:
    """Looks up, answers and clears away the files of versioned requests in one spool.

    `opened_again`: asked when a result could not be published; true once that is worth another attempt, false where it
    is not. `leave(stem, why)`: told of each name that is retained. `ended(stem, result)`: told of each request that
    ends in here, whose result another host has published, or this one in its place.
    """

    def __init__(
        self,
        spool: Spool,
        clock: Clock,
        say: Reporter,
        opened_again: Callable[[], Awaitable[bool]] = _at_once,
        leave: Callable[[str, str], None] = lambda _stem, _why: None,
        ended: Callable[[str, Result], None] = lambda _stem, _result: None,
    ) -> None:
        self._spool = spool
        self._clock = clock
        self._say = say
        self._opened_again = opened_again
        self._leave = leave
        self._ended = ended

    def interrupted_names(self) -> list[str]:
        """The stems of markers that an earlier host left. For the start only: later ones are this host's own."""
        try:
            return [stem for stem in self._spool.marker_stems() if is_request_id(stem)]
        except OSError as error:
            self._say.error(f"{self._spool.results} cannot be searched for interrupted actions ({error})")
            return []

    async def look_up(self, stem: str) -> Fate:
        """Before anything else of a request, its file included: see whether its action was done or begun before.

        `stem` may be any name; only a versioned one can have a history. An interrupted action is answered here.
        """
        return await self._carry_out(stem, Stage.NAMED) if is_request_id(stem) else Fate.WORK

    async def admit(self, stem: str) -> Fate:
        """After a body was read that is no legacy one: whether its action may be begun at all."""
        return await self._carry_out(stem, Stage.VERSIONED) if is_request_id(stem) else Fate.WORK

    async def settle(self, stem: str, result: Result) -> Fate:
        """Publish a result where there is none, then remove the request, then the marker.

        Publishing that fails is tried again after 10, 20, 40, 80 and 160 ms, and where no result can be published at
        all, as soon as one can; else request and marker stay, and the next host finds them. A result that is there
        already is never replaced: it stands for this one too. When cancelled, one last attempt is made at once.
        """
        data = encode(result)
        try:
            failure = await self._try(stem, data)
            while not _is_final(failure) and await self._opened_again():
                failure = await self._try(stem, data)
        except asyncio.CancelledError:
            self._conclude(stem, self._attempt(stem, data))
            raise
        return self._conclude(stem, failure)

    async def _try(self, stem: str, data: bytes) -> OSError | None:
        failure = self._attempt(stem, data)
        for delay in RETRY_DELAYS_MS:
            if _is_final(failure):
                break
            await sleep_until(self._clock, self._clock.now() + delay)
            failure = self._attempt(stem, data)
        return failure

    def settle_at_once(self, stem: str, result: Result) -> Fate:
        """Publish while being cancelled: one attempt, no waiting; then as `settle`."""
        return self._conclude(stem, self._attempt(stem, encode(result)))

    async def _carry_out(self, stem: str, stage: Stage) -> Fate:
        found = self._found(stem)
        claim, marker = self._claim(stem)
        steps = decide(found, claim, stage)
        if steps[0] is Step.WORK:
            return Fate.WORK
        if steps[0] is Step.LEAVE:
            why = (
                f"its result ({found.value}) and its marker ({claim.value}) in {self._spool.results} do not let it be "
                "answered; look at them, then send it under a new name"
            )
            self._ended(stem, {"ok": False, "error": f"left alone: {why}"})
            return self._retain(stem, why)
        if steps[0] is Step.PUBLISH_INTERRUPTED:
            self._say.warning(f"{stem}: was interrupted by a restart; it is answered, and not repeated")
            result = interrupted(marker)
            fate = await self.settle(stem, result)
            if self._found(stem) is Found.TERMINAL:
                self._ended(stem, result)
            return fate
        self._say.warning(f"{stem}: has its result already; the request is removed")
        if claim is not Claim.NONE or stage is Stage.VERSIONED:
            # Somebody has been told that it is under way, and perhaps never of its end.
            self._ended(stem, self._published(stem))
        return self._clear(stem)

    def _retain(self, stem: str, why: str) -> Fate:
        """Say why a name is never taken again while this host runs."""
        self._say.error(f"{stem}: left alone: {why}")
        self._leave(stem, why)
        return Fate.RETAIN

    def _found(self, stem: str) -> Found:
        try:
            return found_in(self._spool.read_result(stem))
        except OSError:
            return Found.UNREADABLE

    def _published(self, stem: str) -> Result:
        """The result that was found to be one."""
        try:
            value = parse(decode_utf8(self._spool.read_result(stem) or b""))
        except (OSError, JsonSyntaxError):
            value = None  # it was one a moment ago
        return value if isinstance(value, dict) else {}

    def _claim(self, stem: str) -> tuple[Claim, Marker | None]:
        try:
            content = self._spool.read_marker(stem)
        except OSError:
            return Claim.UNREADABLE, None
        return (Claim.NONE, None) if content is None else (Claim.MADE, decode_marker(content, stem))

    def _attempt(self, stem: str, data: bytes) -> OSError | None:
        try:
            if is_request_id(stem):
                self._spool.publish_new(stem, data)
            else:
                # Nothing can have been done under such a name, so there is no result of an action to protect.
                self._spool.publish(stem, data)
        except OSError as error:
            return error
        return None

    def _conclude(self, stem: str, failure: OSError | None) -> Fate:
        if failure is None:
            return self._clear(stem)
        if isinstance(failure, FileExistsError) and self._found(stem) in (Found.TERMINAL, Found.OTHER):
            self._say.error(f"{stem}: another result appeared in its place; that one counts")
            return self._clear(stem)
        return self._retain(
            stem,
            f"its result could not be published ({failure}); it is not carried out again; make room for it in "
            f"{self._spool.results}, and the next start sees to it",
        )

    def _clear(self, stem: str) -> Fate:
        """Remove what is left beside, the request, and last the marker, by which this would be found again.

        Each is tried even when the one before could not be removed: the result keeps the action from being repeated.
        """
        removals: list[tuple[str, Callable[[], object]]] = [("request", partial(self._spool.remove, f"{stem}.json"))]
        if is_request_id(stem):
            removals.insert(0, ("unfinished file", partial(self._spool.remove_leftovers, stem)))
            removals.append(("marker", partial(self._spool.remove_marker, stem)))
        fate = Fate.DONE
        for what, remove in removals:
            try:
                remove()
            except OSError as error:
                fate = self._retain(
                    stem, f"its {what} cannot be removed ({error}); it has its result, nothing is repeated"
                )
        return fate


def _is_final(failure: OSError | None) -> bool:
    """Whether another attempt could change nothing."""
    return failure is None or isinstance(failure, FileExistsError)
