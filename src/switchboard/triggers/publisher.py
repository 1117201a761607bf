"""Publishing results and removing requests (driver): the last thing that happens to a request, and only once."""

from __future__ import annotations

import json

from switchboard.common.clock import sleep_until
from switchboard.common.ecma import to_well_formed
from switchboard.common.strict_json import dump
from switchboard.delivery.desk import Desk
from switchboard.triggers.outlet import Outlet
from switchboard.triggers.results import Result
from switchboard.triggers.spool import Spool

RETRY_DELAYS_MS = (10, 20, 40, 80, 160)
"""A rename can fail for a moment (network file systems, scanners that hold the folder); then it counts as failed."""


_ENCODER = json.JSONEncoder(ensure_ascii=False, allow_nan=False, check_circular=False, separators=(",", ":"))


def encode(result: Result) -> bytes:
    """Return a result as it is written: one JSON object and a newline."""
    if isinstance(result.get("sessionId"), str):
        # Nothing of the request's own making is in it beside texts, so that Python's fast encoder says the same.
        return to_well_formed(_ENCODER.encode(result)).encode() + b"\n"
    return dump(result) + b"\n"


class Publisher:
    """Writes results into a spool."""

    def __init__(self, spool: Spool, desk: Desk, outlet: Outlet) -> None:
        self._spool = spool
        self._desk = desk
        self._outlet = outlet

    async def publish(self, stem: str, result: Result) -> OSError | None:
        """Publish a result, trying again a few times, and as long as none can be published at all.

        Returns the last error when it could not be: its own place refuses it, or this process is about to end.
        """
        data = encode(result)
        failure = await self._try(stem, data)
        while failure is not None and await self._outlet.opened_again():
            failure = await self._try(stem, data)
        return failure

    def publish_at_once(self, stem: str, result: Result) -> OSError | None:
        """Publish while being cancelled: one attempt, no waiting."""
        return self._attempt(stem, encode(result))

    async def _try(self, stem: str, data: bytes) -> OSError | None:
        failure = self._attempt(stem, data)
        for delay in RETRY_DELAYS_MS:
            if failure is None:
                break
            await sleep_until(self._desk.clock, self._desk.clock.now() + delay)
            failure = self._attempt(stem, data)
        return failure

    def gives_up(self) -> bool:
        """A result could not be published: whether this process ends without being able to publish any."""
        return self._desk.stop.requested and self._outlet.is_stuck()

    def request_removed(self, stem: str, result: Result, failure: OSError | None) -> None:
        """The request is removed, with a result or without one, which is kept then."""
        if failure is None:
            self._outlet.published(stem)
        else:
            self._outlet.keep(stem, encode(result), failure)

    def _attempt(self, stem: str, data: bytes) -> OSError | None:
        try:
            self._spool.publish(stem, data)
        except OSError as error:
            return error
        return None
