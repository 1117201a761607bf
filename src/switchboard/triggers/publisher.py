"""Publishing results and removing requests (driver): the last thing that happens to a request, and only once."""

from __future__ import annotations

import json

from switchboard.common.clock import sleep_until
from switchboard.common.ecma import to_well_formed
from switchboard.common.strict_json import dump
from switchboard.delivery.desk import Desk
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

    def __init__(self, spool: Spool, desk: Desk) -> None:
        self._spool = spool
        self._desk = desk

    async def publish(self, stem: str, result: Result) -> OSError | None:
        """Publish a result, trying again a few times. Returns the last error when it could not be."""
        data = encode(result)
        failure = self._attempt(stem, data)
        for delay in RETRY_DELAYS_MS:
            if failure is None:
                break
            await sleep_until(self._desk.clock, self._desk.clock.now() + delay)
            failure = self._attempt(stem, data)
        return failure

    def publish_at_once(self, stem: str, result: Result) -> OSError | None:
        """Publish while being cancelled: one attempt, no waiting."""
        return self._attempt(stem, encode(result))

    def _attempt(self, stem: str, data: bytes) -> OSError | None:
        try:
            self._spool.publish(stem, data)
        except OSError as error:
            return error
        return None
