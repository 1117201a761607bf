"""A host that dies at any moment of an action: one result, nothing repeated, and true only what was recorded.

The files, markers, recovery and publishing are the real ones; the session is a journal file that each deed is written
to. The whole action with its real session is tested elsewhere, with the same harness.
"""

from __future__ import annotations

import asyncio
import json
import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.support.crash_points import DIED, CrashPoints, in_child, survive
from tests.support.fake_clock import FakeClock

from switchboard.common.strict_json import parse
from switchboard.delivery.submission import Submitted
from switchboard.triggers import spool as spool_module
from switchboard.triggers.action_files import ActionFiles, ActionMarker, Fate
from switchboard.triggers.markers import Effect, Marker, decode_marker
from switchboard.triggers.say import Reporter, Silent
from switchboard.triggers.spool import Spool
from switchboard.triggers.v1_results import Effects, Evidence, shape_refused, succeeded
from switchboard.triggers.v1_schema import Mode, ShapeRefusal, Subject, subject_of, validate

STEM = "0a1b2c3d-4e5f-6789-abcd-ef0123456789"
ID = "01234567-89ab-cdef-0123-456789abcdef"
RESERVED = "fedcba98-7654-3210-fedc-ba9876543210"
SAY = Reporter(Silent())

RESUME = {"version": 1, "action": "open", "sessionId": ID, "prompt": "x"}
SHOW = {"version": 1, "action": "open", "sessionId": ID}
NEW = {"version": 1, "action": "open", "new": {"project": "/p", "name": "n"}, "prompt": "x"}
NOTE = {"version": 1, "action": "stop", "sessionId": ID, "before": "x"}
STOP = {"version": 1, "action": "stop", "sessionId": ID}
WRONG = {"version": 1, "action": "open", "sessionId": ID, "prompt": ""}

STORIES: dict[str, tuple[dict[str, Any], list[str]]] = {
    "resume with a prompt": (RESUME, ["spawn", "text", "enter"]),
    "open here with a prompt": (RESUME, ["text", "enter"]),
    "resume alone": (SHOW, ["spawn"]),
    "open here alone": (SHOW, []),
    "new": (NEW, ["spawn", "text", "enter"]),
    "stop after a note": (NOTE, ["text", "enter", "turn", "kill"]),
    "stop": (STOP, ["kill"]),
    "refused": (WRONG, []),
}
"""Request and deeds."""


class Host:
    """Carries out the requests of one folder, as the real handler does, up to the session."""

    def __init__(self, folder: Path, deeds: list[str], points: CrashPoints) -> None:
        self.spool = Spool(str(folder))
        self.files = ActionFiles(self.spool, FakeClock(), SAY)
        self.deeds = deeds
        self.points = points
        self.journal = folder / "journal"

    async def start(self) -> None:
        names = [*self.files.interrupted_names(), *(name[:-5] for name in self.spool.names() if name.endswith(".json"))]
        for stem in dict.fromkeys(names):
            assert await self.handle(stem) is Fate.DONE

    async def handle(self, stem: str) -> Fate:
        fate = await self.files.look_up(stem)
        if fate is not Fate.WORK:
            return fate
        _, content = self.spool.read(f"{stem}.json", lambda _look: None)
        assert isinstance(content, bytes)
        request = validate(parse(content.decode()), stem)
        fate = await self.files.admit(stem)
        if fate is not Fate.WORK:
            return fate
        if isinstance(request, ShapeRefusal):
            return await self.files.settle(stem, shape_refused(request))
        return await self.files.settle(stem, self.carry_out(stem, subject_of(request)))

    def carry_out(self, stem: str, subject: Subject) -> Any:
        assert subject.mode is not None
        reserved = RESERVED if subject.mode is Mode.NEW else None
        marker = Marker(stem, subject.mode, subject.session_id or reserved, 1_800_000_300_000, subject.steps_total)
        state = ActionMarker.begin(self.spool, marker, SAY)
        if "spawn" in self.deeds:
            self.do("spawn")
            state.record(Effect.SPAWNED)
        typed = Evidence()
        if subject.steps_total:
            state.attempt()
            self.do("text")
            state.record(Effect.TEXT_WRITTEN)
            self.do("enter")
            state.record(Effect.ENTER_WRITTEN, enter_at=1_800_000_000_000)
            typed = Evidence(Submitted.CONFIRMED, True, True, True)
        if "turn" in self.deeds:
            self.do("turn")
            state.record(Effect.NOTE_FINISHED, Submitted.CONFIRMED)
        if "kill" in self.deeds:
            self.do("kill")
            state.record(Effect.STOP_REQUESTED)
        return succeeded(subject, Effects(reserved, "spawn" in self.deeds, typed))

    def do(self, deed: str) -> None:
        """A deed: once it is in the journal it has happened."""
        self.points.reach(deed)
        with self.journal.open("a") as file:
            file.write(f"{deed}\n")
        self.points.reach(f"anything after {deed}")


class Story:
    """One request in a folder of its own."""

    def __init__(self, folder: Path, body: dict[str, Any], deeds: list[str]) -> None:
        self.folder = folder
        self.results = folder / "processed"
        self.results.mkdir()
        self.deeds = deeds
        (folder / f"{STEM}.json").write_text(json.dumps(body))

    def act(self, points: CrashPoints) -> None:
        host = Host(self.folder, self.deeds, points)
        points.number_files(spool_module)
        asyncio.run(host.handle(STEM))

    def recover(self, points: CrashPoints) -> None:
        self.keep_what_was_left()
        host = Host(self.folder, self.deeds, points)
        points.number_files(spool_module)
        asyncio.run(host.start())

    def keep_what_was_left(self) -> None:
        """Note the marker and the journal as the host left them that began the action, for `check`."""
        kept = self.folder / "before"
        kept.mkdir(exist_ok=True)
        marker = self.results / f"{STEM}.action.json"
        if marker.exists():
            for path in (marker, self.folder / "journal"):
                (kept / path.name).write_bytes(path.read_bytes() if path.exists() else b"")

    def check(self, died_at: str) -> None:
        left = sorted(path.name for path in self.results.iterdir())
        assert left == [f"{STEM}.result.json"], died_at
        assert not (self.folder / f"{STEM}.json").exists(), died_at
        result = json.loads((self.results / left[0]).read_text())
        journal = self.lines("journal")
        assert len(journal) == len(set(journal)), f"{died_at}: something was done twice: {journal}"
        if result["reason"] == "interrupted by restart":
            self.check_interrupted(result, journal, died_at)
        else:
            self.check_whole(result, journal, died_at)

    def check_interrupted(self, result: dict[str, Any], journal: list[str], died_at: str) -> None:
        assert journal == self.lines("before/journal"), f"{died_at}: the action went on"
        marker = decode_marker((self.folder / "before" / f"{STEM}.action.json").read_bytes(), STEM)
        assert marker is not None, died_at
        recorded = {effect.value for effect in marker.effects}
        assert (result["outcome"], result["ok"], result["uncertain"]) == ("refused", False, True), died_at
        assert result["sessionId"] == marker.session_id, died_at
        spawned = result.get("resumed", result.get("created", False))
        assert spawned is ("spawned" in recorded), died_at
        assert result["wrote"] is ("prompt-attempted" in recorded), died_at
        assert result.get("text_written", False) is bool(recorded & {"text-written", "enter-written"}), died_at
        assert result.get("enter_written", False) is ("enter-written" in recorded), died_at
        assert (result["submitted"] == "no") is ("enter-written" not in recorded), died_at
        # What is said to be so, is so; and what `wrote` denies did not happen.
        claims = {"spawn": spawned, "text": result.get("text_written"), "enter": result.get("enter_written")}
        assert {deed for deed, claimed in claims.items() if claimed} <= set(journal), died_at
        assert result["wrote"] or "text" not in journal, died_at

    def check_whole(self, result: dict[str, Any], journal: list[str], died_at: str) -> None:
        if result["reason"] == "prompt must be a non-empty string":
            assert journal == []
            return
        assert result["ok"], died_at
        assert "uncertain" not in result, died_at
        assert journal == self.deeds, died_at

    def lines(self, name: str) -> list[str]:
        path = self.folder / name
        return path.read_text().splitlines() if path.exists() else []


def maker(folder: Path, body: dict[str, Any], deeds: list[str]) -> Callable[[], Story]:
    return lambda: Story(Path(tempfile.mkdtemp(dir=folder)), body, deeds)


FILE_OPERATIONS = {
    "resume with a prompt": 5,
    "open here with a prompt": 4,
    "resume alone": 2,
    "open here alone": 1,
    "new": 5,
    "stop after a note": 6,
    "stop": 2,
    "refused": 0,
}
"""How often each story writes its marker."""


@pytest.mark.parametrize("story", STORIES)
def test_a_host_may_die_anywhere(story: str, tmp_path: Path) -> None:
    body, deeds = STORIES[story]
    points = survive(maker(tmp_path, body, deeds))
    markers = [point for point in points if point == f"open {STEM}.action.json.tmp"]
    assert len(markers) == FILE_OPERATIONS[story]
    assert points.count(f"link {STEM}.result.json.tmp {STEM}.result.json") == 1
    assert points[-2:] == [f"unlink {STEM}.json", f"unlink {STEM}.action.json"]


@pytest.mark.parametrize("story", ["refused", "open here alone"])
def test_and_its_successor_may_die_anywhere_too(story: str, tmp_path: Path) -> None:
    body, deeds = STORIES[story]
    survive(maker(tmp_path, body, deeds), and_recovery=True)


def test_a_result_that_was_published_never_changes(tmp_path: Path) -> None:
    """Three more hosts find a result with everything else still there."""
    body, deeds = STORIES["new"]
    story = maker(tmp_path, body, deeds)()
    whole = in_child(maker(tmp_path, body, deeds)().act)
    after_publication = whole.reached.index(f"unlink {STEM}.json")
    assert in_child(story.act, after_publication).code == DIED
    result = story.results / f"{STEM}.result.json"
    before = result.read_bytes()
    for _ in range(3):
        (story.folder / f"{STEM}.json").write_text(json.dumps({**body, "prompt": "something else"}))
        in_child(story.recover)
        assert result.read_bytes() == before
        assert result.stat().st_nlink == 1
    assert story.lines("journal") == deeds


def test_no_half_file_is_ever_visible(tmp_path: Path) -> None:
    """At whatever point, what stands in the place of the result or the marker is whole."""
    body, deeds = STORIES["resume with a prompt"]
    make = maker(tmp_path, body, deeds)
    points = in_child(make().act).reached
    for number in range(len(points)):
        story = make()
        in_child(story.act, number)
        for path in story.results.glob("*.json"):
            assert isinstance(json.loads(path.read_text()), dict), points[number]
            assert os.stat(path).st_size > 50
