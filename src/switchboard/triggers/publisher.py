"""Publishing results and removing requests (driver): the last thing that happens to a request, and only once."""

from __future__ import annotations

from switchboard.common.clock import sleep_until
from switchboard.common.strict_json import dump
from switchboard.delivery.desk import Desk
from switchboard.triggers.results import Result
from switchboard.triggers.spool import Spool

RETRY_DELAYS_MS = (10, 20, 40, 80, 160)
"""A rename can fail for a moment (network file systems, scanners that hold the folder); then it counts as failed."""


class Publisher:
    """Writes results into a spool."""

    def __init__(self, spool: Spool, desk: Desk) -> None:
        self._spool = spool
        self._desk = desk

    async def publish(self, stem: str, result: Result) -> OSError | None:
        """Publish a result, trying again a few times. Returns the last error when it could not be."""
        data = dump(result) + b"\n"
        failure = self._attempt(stem, data)
        for delay in RETRY_DELAYS_MS:
            if failure is None:
                break
            await sleep_until(self._desk.clock, self._desk.clock.now() + delay)
            failure = self._attempt(stem, data)
        return failure

    def publish_at_once(self, stem: str, result: Result) -> OSError | None:
        """Publish while being cancelled: one attempt, no waiting."""
        return self._attempt(stem, dump(result) + b"\n")

    def _attempt(self, stem: str, data: bytes) -> OSError | None:
        try:
            self._spool.publish(stem, data)
        except OSError as error:
            return error
        return None
