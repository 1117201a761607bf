"""Going back to the host when the connection has ended (driver).

A host that has gone is waited for without a timer: the socket's folder tells. One that is there and does not serve this
page just now is asked again after a pause, which grows.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Protocol

from switchboard.common.clock import Clock, sleep_until
from switchboard.common.folder_watch import open_folder_watcher
from switchboard.page.local_client import HostUnavailable
from switchboard.page.local_connection import Listener, LocalConnection, connect, connect_when_back

FIRST_MS, LAST_MS = 200, 8_000
"""The shortest and the longest pause after a refusal that passes, as in the browser page."""


class Waiting(Listener, Protocol):
    """The page that goes back."""

    def back(self, connection: LocalConnection) -> None:
        """There is a connection again."""

    def stuck(self, why: str) -> None:
        """The host is there and cannot be reached; `why` says what helps."""

    def given_up(self, error: OSError) -> None:
        """Nothing would tell of the host's return."""


def pause_ms(refusals: int) -> int:
    """Return how long to wait after so many refusals in a row; 0 after none."""
    return min(LAST_MS, FIRST_MS * 2 ** min(refusals - 1, 10)) if refusals else 0


class Returning:
    """One page's way to the host at `socket_path`.

    `explain` says what to tell a person of a failed attempt: the error's own words, unless more is known.
    """

    def __init__(
        self, socket_path: str, version: str, page: Waiting, clock: Clock, explain: Callable[[Exception], str]
    ) -> None:
        self.refusals = 0
        """How often in a row the host was there and did not serve this page."""
        self._path = socket_path
        self._version = version
        self._page = page
        self._clock = clock
        self._explain = explain
        self._task: asyncio.Task[None] | None = None

    async def connect(self) -> LocalConnection:
        """Connect now. Raises `HostUnavailable`, with what helps as its text."""
        try:
            return await connect(self._path, self._page, version=self._version)
        except HostUnavailable as error:
            raise HostUnavailable(self._explain(error)) from None

    def begin(self) -> None:
        """Go back; the page is told when it is done."""
        self._task = asyncio.create_task(self._return(self._task), name="watch: wait for the host")

    async def end(self) -> None:
        """Wait for the host no longer."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait([self._task])

    async def _return(self, before: asyncio.Task[None] | None) -> None:
        if before is not None:
            await asyncio.wait([before])  # it may not have put its watcher away yet
        if pause := pause_ms(self.refusals):
            await sleep_until(self._clock, self._clock.now() + pause)
        watcher = open_folder_watcher()
        try:
            connection = await connect_when_back(
                self._path,
                self._page,
                watcher=watcher,
                clock=self._clock,
                version=self._version,
                missed=self._missed,
            )
            self._page.back(connection)
        except OSError as error:
            self._page.given_up(error)
        finally:
            await watcher.aclose()

    def _missed(self, error: HostUnavailable) -> None:
        if (said := self._explain(error)) != str(error):
            self._page.stuck(said)
