"""Whether pages answer (driver): what each was asked last, and which of its answers have come."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from switchboard.common.clock import Clock, Instant
from switchboard.common.feed import Feed
from switchboard.page.messages import Ping


class Pulse:
    """The pings of one page, numbered from 1. `post` sends them."""

    def __init__(self, post: Callable[[Ping], None]) -> None:
        self._post = post
        self._asked = 0
        self._answered = Feed(0)

    def ask(self) -> int:
        """Send a ping, and return its number."""
        self._asked += 1
        self._post(Ping(self._asked))
        return self._asked

    def answer(self, number: int) -> None:
        """A pong has come. Who answers a later ping has got the earlier ones; what nobody asked for is nothing."""
        if self._answered.value < number <= self._asked:
            self._answered.publish(number)

    def beats(self, number: int) -> bool:
        """Return whether this ping, or a later one, was answered."""
        return self._answered.value >= number

    async def beats_by(self, number: int, clock: Clock, until: Instant) -> bool:
        """Return true as soon as this ping is answered, false if it is not at the instant `until`."""
        while not self.beats(number):
            if clock.now() >= until:
                return False
            await self._answered.changed(self._answered.value, clock, until)
        return True


async def first_or_others(pulses: Sequence[Pulse], clock: Clock, until: Instant) -> list[bool]:
    """Ask all at once; return who has answered as soon as the first has, or at the instant `until`."""
    numbers = [pulse.ask() for pulse in pulses]
    await pulses[0].beats_by(numbers[0], clock, until)
    return [pulse.beats(number) for pulse, number in zip(pulses, numbers, strict=True)]
