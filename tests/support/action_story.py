"""One versioned request in a folder of its own, carried out by a host that may end at any moment (`crash_points`).

The watcher's handler, the action, its files and the delivery are the real ones; sessions, page and time are those of
`tests.support.lifecycle`. What is done to the world is written to a journal, so that nothing can be done twice unseen:
`spawn`, `text`, `enter`, `kill`. A successor finds the sessions as they were left, as a host finds those of its keeper.
"""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

from switchboard.common.clock import Instant
from switchboard.triggers import spool as spool_module
from switchboard.triggers.admission import Admission
from switchboard.triggers.handler import RequestHandler
from switchboard.triggers.intake import Intake
from switchboard.triggers.lifecycle_port import HostedTarget, Stopping
from switchboard.triggers.markers import decode_marker
from switchboard.triggers.outlet import Outlet
from switchboard.triggers.partial import Arrival
from switchboard.triggers.say import Problems, Reporter
from switchboard.triggers.v1_schema import Mode
from tests.support.crash_points import CrashPoints
from tests.support.fake_clock import START
from tests.support.lifecycle import ID, House, MemorySession

STEM = "0a1b2c3d-4e5f-6789-abcd-ef0123456789"


class ActionStory:
    """`prepare` makes what the request finds; `deeds` is what a whole action does, in order."""

    def __init__(
        self, folder: Path, body: dict[str, Any], prepare: Callable[[House], object], deeds: list[str]
    ) -> None:
        self.folder = folder
        self.prepare = prepare
        self.deeds = deeds
        self.requests = folder / "triggers"
        self.results = self.requests / "processed"
        self.journal = folder / "journal"
        self.results.mkdir(parents=True)
        request = self.requests / f"{STEM}.json"
        request.write_text(json.dumps({"version": 1, **body}))
        os.utime(request, (START / 1000, START / 1000))

    # --- in children ---

    def act(self, points: CrashPoints) -> None:
        """The host that takes the request up."""
        house = self._house(points)
        self.prepare(house)
        self._watch_the_world(house, points)
        handler = self._handler(house, points)
        asyncio.run(self._run(house, points, handler, [f"{STEM}.json"]))

    def recover(self, points: CrashPoints) -> None:
        """The host that comes after it."""
        self._keep_what_was_left()
        house = self._house(points)
        self.prepare(house)
        if "spawn" in self.lines("journal") and house.sessions.find(ID) is None:
            house.open_here()
        if "kill" in self.lines("journal"):
            house.sessions.forget(ID)
        self._watch_the_world(house, points)
        handler = self._handler(house, points)
        names = [*handler.interrupted_names(), *(n for n in house.spool.names() if n.endswith(".json"))]
        asyncio.run(self._run(house, points, handler, list(dict.fromkeys(names))))

    def _house(self, points: CrashPoints) -> House:
        house = House(self.folder)
        points.number_files(spool_module)
        return house

    def _handler(self, house: House, points: CrashPoints) -> RequestHandler:
        page = house.page
        for name in ("ready", "reattach", "open"):
            setattr(page, name, _numbered(points, getattr(page, name)))
        sessions, request_stop = house.sessions, house.sessions.request_stop

        def numbered_stop(target: HostedTarget, deadline: Instant) -> Stopping:
            stopping = request_stop(target, deadline)
            return _NumberedStopping(points, stopping)

        sessions.request_stop = numbered_stop  # type: ignore[method-assign]  # its waits are points, too
        say = Reporter(house.log)
        outlet = Outlet(house.spool, house.desk, say, lambda: None, Problems(lambda _problem: None))
        return RequestHandler(sessions, house.spool, Admission(), house.desk, say, outlet, house=house.lifecycle())

    async def _run(self, house: House, points: CrashPoints, handler: RequestHandler, names: list[str]) -> None:
        async def work() -> None:
            for name in names:
                intake = Intake(house.spool, name, Arrival(), house.desk)
                await points.awaits(handler.handle(name, intake))

        await house.clock.run(work())

    def _watch_the_world(self, house: House, points: CrashPoints) -> None:
        def do(deed: str) -> None:
            points.reach(deed)
            with self.journal.open("a") as file:
                file.write(f"{deed}\n")
            points.reach(f"anything after {deed}")

        def follow(session: MemorySession) -> None:
            react = session.on_write

            def written(data: bytes) -> None:
                do("enter" if data == b"\r" else "text")
                react(data)

            session.on_write = written

        house.reach = lambda _what: do("spawn")
        on_start = house.page.on_start

        def start(session: MemorySession) -> None:
            on_start(session)
            follow(session)

        house.page.on_start = start
        here = house.sessions.find(ID)
        if here is not None:
            follow(here)
        on_stop = house.sessions.on_stop

        def stop(session: MemorySession) -> None:
            do("kill")
            on_stop(session)

        house.sessions.on_stop = stop

    # --- afterwards ---

    def _keep_what_was_left(self) -> None:
        """Note the marker and the journal as the host left them that began the action, for `check`."""
        kept = self.folder / "before"
        kept.mkdir(exist_ok=True)
        marker = self.results / f"{STEM}.action.json"
        if marker.exists():
            for path in (marker, self.journal):
                (kept / path.name).write_bytes(path.read_bytes() if path.exists() else b"")

    def check(self, died_at: str) -> None:
        """One result, nothing left over, nothing done twice, and true only what was recorded."""
        assert sorted(path.name for path in self.results.iterdir()) == [f"{STEM}.result.json"], died_at
        assert not (self.requests / f"{STEM}.json").exists(), died_at
        result = json.loads((self.results / f"{STEM}.result.json").read_text())
        journal = self.lines("journal")
        assert len(journal) == len(set(journal)), f"{died_at}: something was done twice: {journal}"
        if result["reason"] == "interrupted by restart":
            self._check_interrupted(result, journal, died_at)
        else:
            assert journal == self.deeds, f"{died_at}: {result}"
            in_doubt = ("session stop not confirmed", "note step not finished")
            assert ("uncertain" in result) is (result["reason"] in in_doubt), died_at

    def _check_interrupted(self, result: dict[str, Any], journal: list[str], died_at: str) -> None:
        assert journal == self.lines("before/journal"), f"{died_at}: the action went on"
        marker = decode_marker((self.folder / "before" / f"{STEM}.action.json").read_bytes(), STEM)
        assert marker is not None, died_at
        recorded = {effect.value for effect in marker.effects}
        assert (result["outcome"], result["ok"], result["uncertain"]) == ("refused", False, True), died_at
        # A last text is marked with its first byte: before that nothing is done, and the next host takes it up.
        assert recorded or marker.mode is not Mode.STOP or not marker.steps_total, f"{died_at}: in doubt for nothing"
        assert result["sessionId"] == marker.session_id, died_at
        spawned = result.get("resumed", result.get("created", False))
        assert spawned is ("spawned" in recorded), died_at
        assert result["wrote"] is ("prompt-attempted" in recorded), died_at
        assert result.get("text_written", False) is bool(recorded & {"text-written", "enter-written"}), died_at
        assert result.get("enter_written", False) is ("enter-written" in recorded), died_at
        assert (result["submitted"] == "no") is ("enter-written" not in recorded), died_at
        # What was recorded was done; that a stop was asked for stands in the detail, and nobody says that it ended.
        assert "stop-requested" not in recorded or "kill" in journal, died_at
        assert result["detail"] == f"recorded before the end: {marker.phase}", died_at
        # What is said to be so, is so; and what `wrote` denies did not happen.
        claims = {"spawn": spawned, "text": result.get("text_written"), "enter": result.get("enter_written")}
        assert {deed for deed, claimed in claims.items() if claimed} <= set(journal), died_at
        assert result["wrote"] or "text" not in journal, died_at

    def lines(self, name: str) -> list[str]:
        path = self.folder / name
        return path.read_text().splitlines() if path.exists() else []


class _NumberedStopping:
    """A stop on its way; every wait of it is a point."""

    def __init__(self, points: CrashPoints, stopping: Stopping) -> None:
        self._points = points
        self._stopping = stopping

    async def finished(self) -> bool:
        ended: bool = await self._points.awaits(self._stopping.finished())
        return ended


def _numbered(
    points: CrashPoints, call: Callable[..., Coroutine[Any, Any, Any]]
) -> Callable[..., Coroutine[Any, Any, Any]]:
    async def numbered(*arguments: Any) -> Any:
        return await points.awaits(call(*arguments))

    return numbered
