"""Taking a request from its file (driver): the guards before its content counts for anything.

In the contract's order: what cannot be inspected, is no regular file, is too large or too old is refused unread; what
does not parse is read again as `partial` says.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field

from switchboard.common.clock import Clock, Instant
from switchboard.common.folder_watch import FolderEvent
from switchboard.common.settings import TriggerSettings
from switchboard.common.strict_json import JsonSyntaxError, JsonValue, decode_utf8, parse
from switchboard.delivery import reasons
from switchboard.delivery.desk import Desk
from switchboard.triggers.legacy_schema import Refusal
from switchboard.triggers.partial import Arrival, Patience
from switchboard.triggers.spool import MAX_REQUEST_BYTES, Look, Spool

_NS_PER_MS = 1_000_000


@dataclass(frozen=True, slots=True)
class Body:
    """What a request file holds, parsed. `modified_ns`: when it was written, as seen when it was read."""

    value: JsonValue
    modified_ns: int = field(default=0, compare=False)


class Skipped(Exception):
    """There is nothing to answer: the file is gone, unreadable for us, or left for the next start.

    `notice`: what a person should know of it, if anything.
    """

    def __init__(self, notice: str | None = None) -> None:
        super().__init__(notice)
        self.notice = notice


class Intake:
    """One file on its way in. `note` is told of the folder events of its name meanwhile."""

    def __init__(self, spool: Spool, name: str, arrival: Arrival, desk: Desk) -> None:
        self._spool = spool
        self._name = name
        self._arrival = arrival
        self._desk = desk
        self._patience: Patience | None = None
        self._changed: asyncio.Future[None] | None = None
        self._identity = spool.identity(name)

    def is_replaced(self) -> bool:
        """Whether another file stands there than the one that was offered, or seen here the last time."""
        before, self._identity = self._identity, self._spool.identity(self._name)
        return before is not None and self._identity not in (before, None)

    def note(self, event: FolderEvent) -> None:
        """Something happened to the file."""
        if event.kind != "gone":
            self._arrival.note(event.how)
        self.wake()

    def wake(self) -> None:
        """Look again now, if a look is awaited."""
        if self._changed is not None and not self._changed.done():
            self._changed.set_result(None)

    async def take(self) -> Body | Refusal:
        """Return the request's content, or why it is refused. Raises `Skipped`."""
        while True:
            try:
                look, content = self._spool.read(self._name, self._judge)
            except FileNotFoundError:
                raise Skipped from None
            except OSError as error:
                return self._closed_to_us(error)
            if isinstance(content, Refusal):
                return content
            if len(content) > MAX_REQUEST_BYTES:
                return Refusal(reasons.TOO_LARGE)
            try:
                return Body(parse(decode_utf8(content)), look.modified_ns)
            except JsonSyntaxError as error:
                again_at = self._next_look(look)
                if again_at is None:
                    return Refusal(reasons.invalid_json(str(error)))
            await self._look_again(again_at)

    def _judge(self, look: Look) -> Refusal | None:
        """The guards that need no content."""
        if not look.regular:
            return Refusal(reasons.NOT_REGULAR)
        if look.size > MAX_REQUEST_BYTES:
            return Refusal(reasons.TOO_LARGE)
        return stale(look.modified_ns, self._desk.clock, self._desk.settings)

    def _closed_to_us(self, error: OSError) -> Refusal:
        """What to say of an entry that cannot be opened or read: a link, a socket, another user's file."""
        try:
            refusal = self._judge(self._spool.look(self._name))
        except FileNotFoundError:
            raise Skipped from None
        except OSError as unseen:
            return Refusal(reasons.not_inspected(str(unseen)))
        if refusal is None and isinstance(error, PermissionError):
            raise Skipped("it may not be read: change its owner or mode, then rename it in again")
        return refusal or Refusal(reasons.invalid_json(str(error)))

    def _next_look(self, look: Look) -> Instant | None:
        now = self._desk.clock.now()
        if self._patience is None:
            self._patience = Patience(now, linked=look.links > 1)
        return self._patience.next_look(now, look.modified_ns // _NS_PER_MS, look.size, self._arrival)

    async def _look_again(self, when: Instant) -> None:
        """Return at `when`, or as soon as something happens to the file."""
        if self._desk.stop.requested:
            raise Skipped  # half a request is the next start's
        changed: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._changed = changed
        timer = self._desk.clock.call_at(when, self.wake)
        try:
            await changed
        finally:
            self._changed = None
            timer.cancel()


def stale(modified_ns: int, clock: Clock, settings: TriggerSettings) -> Refusal | None:
    """Refuse a request whose file is older than the limit; exactly as old as it is not too old."""
    limit = settings.max_age_ms
    age_ns = clock.now() * _NS_PER_MS - modified_ns
    if age_ns <= limit * _NS_PER_MS:
        return None
    age = (age_ns + _NS_PER_MS // 2) // _NS_PER_MS
    return Refusal(reasons.NOT_SENT, reasons.stale(str(age), str(limit)))
