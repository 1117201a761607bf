"""Publishing: the retries, and what is written."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.support.fake_clock import FakeClock

from switchboard.common.settings import TriggerSettings
from switchboard.delivery.desk import Desk
from switchboard.triggers.outlet import Outlet
from switchboard.triggers.publisher import Publisher
from switchboard.triggers.results import Result
from switchboard.triggers.say import Problems, Reporter, Silent
from switchboard.triggers.spool import Spool


class Failing(Spool):
    """Fails so many times, then works."""

    def __init__(self, folder: Path, failures: int, clock: FakeClock) -> None:
        super().__init__(str(folder))
        self.prepare()
        self.failures = failures
        self.clock = clock
        self.tries: list[int] = []

    def publish(self, stem: str, data: bytes) -> None:
        self.tries.append(self.clock.now())
        if len(self.tries) <= self.failures:
            raise OSError(16, "Device or resource busy")
        super().publish(stem, data)


def publisher(folder: Path, failures: int) -> tuple[Failing, Publisher]:
    clock = FakeClock()
    spool = Failing(folder, failures, clock)
    desk = Desk(clock, TriggerSettings({}))
    outlet = Outlet(spool, desk, Reporter(Silent()), lambda: None, Problems(lambda _problem: None))
    return spool, Publisher(spool, desk, outlet)


@pytest.mark.parametrize(("failures", "at"), [(0, [0]), (1, [0, 10]), (5, [0, 10, 30, 70, 150, 310])])
async def test_it_is_tried_again_after_10_20_40_80_160_ms(tmp_path: Path, failures: int, at: list[int]) -> None:
    spool, publishing = publisher(tmp_path, failures)
    assert await spool.clock.run(publishing.publish("a", {"ok": True})) is None
    assert [moment - spool.tries[0] for moment in spool.tries] == at
    assert Path(spool.results, "a.result.json").read_text() == '{"ok":true}\n'


async def test_then_it_counts_as_failed(tmp_path: Path) -> None:
    spool, publishing = publisher(tmp_path, 6)
    failure = await spool.clock.run(publishing.publish("a", {}))
    assert failure is not None
    assert len(spool.tries) == 6


async def test_at_once_means_one_attempt(tmp_path: Path) -> None:
    _spool, publishing = publisher(tmp_path, 1)
    assert publishing.publish_at_once("a", {}) is not None
    assert publishing.publish_at_once("a", {}) is None


@pytest.mark.parametrize(
    ("result", "text"),
    [
        ({"command": "né\ud800"}, '{"command":"né\ufffd"}\n'),
        ({"sessionId": 1.0}, '{"sessionId":1}\n'),
        ({"sessionId": {"a": [1e21]}}, '{"sessionId":{"a":[1e+21]}}\n'),
    ],
)
async def test_results_are_written_as_javascript_writes_them(tmp_path: Path, result: Result, text: str) -> None:
    spool, publishing = publisher(tmp_path, 0)
    await publishing.publish("a", result)
    assert Path(spool.results, "a.result.json").read_bytes() == text.encode()
    json.loads(text)
