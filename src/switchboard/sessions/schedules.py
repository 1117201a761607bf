"""Which scheduled runs go on now (pure). The scheduler registers them; whoever opens a session asks."""

from __future__ import annotations

from collections.abc import Callable

from switchboard.clis.liveness import ScheduledRun


class Schedules:
    """The running scheduled runs of one host. Two runs of one session are two entries."""

    def __init__(self) -> None:
        self._runs: list[ScheduledRun] = []

    def track(self, run: ScheduledRun) -> Callable[[], None]:
        """Register a run; return what takes it off again, to be called on its exit. Harmless when repeated."""
        entry = [run]
        self._runs.append(run)

        def ended() -> None:
            for one in entry:
                # By identity: an equal run may have been registered twice.
                self._runs = [other for other in self._runs if other is not one]
            entry.clear()

        return ended

    def find(self, session_id: str) -> ScheduledRun | None:
        """Return a run of that session that goes on, the one registered first; letter case does not count."""
        key = session_id.lower()
        return next((run for run in self._runs if run.session_id.lower() == key), None)

    @property
    def running(self) -> tuple[ScheduledRun, ...]:
        """Every run that goes on, in the order of registration."""
        return tuple(self._runs)
