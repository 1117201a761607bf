"""Shows what the agent is doing wherever that is shown: descriptor, window title, progress (driver)."""

from __future__ import annotations

from collections.abc import Callable

from switchboard.agent import titles
from switchboard.agent.activity import Activity, status_of
from switchboard.agent.publisher import Publisher
from switchboard.common.clock import Clock, Timer


class Presence:
    """Title and progress follow the descriptor's status. While a turn runs a timer turns the title's glyph over."""

    def __init__(
        self,
        publisher: Publisher,
        clock: Clock,
        control: Callable[[str], None],
        on_tick: Callable[[], None],
        *,
        has_titles: Callable[[], bool],
        has_progress: bool,
    ) -> None:
        self._publisher = publisher
        self._clock = clock
        self._control = control
        self._on_tick = on_tick
        self._has_titles = has_titles
        self._has_progress = has_progress
        self._shown: tuple[str, str] | None = None
        self._tick = 0
        self._timer: Timer | None = None

    def show(self, activity: Activity, dialog: str | None, jobs: int, *, anew: bool = False) -> None:
        """The agent is doing this now; `anew`: even if it was before, it has begun again."""
        status, waiting_for = status_of(activity, dialog, jobs)
        self._publisher.show(status, waiting_for, anew=anew)
        busy = status == "busy"
        if busy and self._timer is None:
            self._tick = 0
            self._turn_over(self._clock.now())
        elif not busy and self._timer is not None:
            self._timer.cancel()
            self._timer = None
        shown = (status, self._name)  # the name changes with the conversation
        if self._has_titles() and self._shown != shown:
            self._announce(status, "" if self._shown is None else self._shown[0])
        self._shown = shown

    def stop(self) -> None:
        """Set no title any more."""
        if self._timer is not None:
            self._timer.cancel()

    def _announce(self, status: str, before: str) -> None:
        if status != "busy":
            self._control(titles.idle_title(self._name))
        if self._has_progress and (status == "busy") != (before == "busy"):
            self._control(titles.progress(status == "busy"))
        if self._has_progress and status == "waiting":
            self._control(titles.notification("Switchboard agent needs your permission"))

    @property
    def _name(self) -> str:
        return self._publisher.descriptor.name

    def _turn_over(self, now: int) -> None:
        if self._has_titles():
            self._control(titles.busy_title(self._name, self._tick))
        if self._tick:
            self._on_tick()
        self._tick += 1
        following = now + titles.TICK_MS
        self._timer = self._clock.call_at(following, lambda: self._turn_over(following))
