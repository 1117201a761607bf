"""Title, progress and descriptor tell the same story."""

from __future__ import annotations

from pathlib import Path

from tests.support.hand_clock import HandClock

from switchboard.agent.activity import Activity
from switchboard.agent.descriptor import Descriptor, Identity
from switchboard.agent.descriptor_files import DescriptorFile
from switchboard.agent.faults import Faults, FaultSwitch
from switchboard.agent.presence import Presence
from switchboard.agent.publisher import Publisher

NAME = "c-ab"
IDLE, FIRST, SECOND = (f"\x1b]0;{glyph} {NAME}\x07" for glyph in "\u2733\u25d0\u25d1")
ON, OFF = "\x1b]9;4;3;\x07", "\x1b]9;4;0;\x07"


class Rig:
    def __init__(self, tmp_path: Path, *, titles: bool = True, progress: bool = False) -> None:
        self.sent: list[str] = []
        self.ticks = 0
        self.clock = HandClock()
        descriptor = Descriptor(Identity(7, None, None), "abcd", "/c", 0, "1")
        self.publisher = Publisher(
            DescriptorFile(str(tmp_path / "7.json")), descriptor, self.clock, FaultSwitch(Faults())
        )
        self.presence = Presence(
            self.publisher,
            self.clock,
            self.sent.append,
            self.tick,
            has_titles=lambda: titles,
            has_progress=progress,
        )

    def tick(self) -> None:
        self.ticks += 1

    def show(self, activity: Activity, dialog: str | None = None, jobs: int = 0) -> list[str]:
        self.sent.clear()
        self.presence.show(activity, dialog, jobs)
        return self.sent


def test_a_turn_with_a_dialog(tmp_path: Path) -> None:
    rig = Rig(tmp_path)
    assert rig.show(Activity.IDLE) == [IDLE]
    assert rig.show(Activity.TURN) == [FIRST]
    rig.clock.run(960)
    rig.clock.run(960)
    assert rig.sent == [FIRST, SECOND, FIRST]
    assert rig.ticks == 2
    assert rig.show(Activity.TURN, "permission prompt") == [IDLE]
    assert rig.show(Activity.TURN) == [FIRST]
    assert rig.show(Activity.IDLE) == [IDLE]
    assert rig.publisher.descriptor.status == "idle"


def test_nothing_ticks_at_rest_or_in_a_dialog(tmp_path: Path) -> None:
    rig = Rig(tmp_path)
    rig.show(Activity.IDLE)
    assert not rig.clock.armed
    rig.show(Activity.TURN)
    assert rig.clock.armed
    rig.show(Activity.TURN, "permission prompt")
    assert not rig.clock.armed
    rig.show(Activity.TURN)
    rig.presence.stop()
    assert not rig.clock.armed


def test_the_same_again_says_nothing(tmp_path: Path) -> None:
    rig = Rig(tmp_path)
    rig.show(Activity.IDLE)
    assert rig.show(Activity.IDLE) == []


def test_another_conversation_has_another_name(tmp_path: Path) -> None:
    rig = Rig(tmp_path)
    rig.show(Activity.IDLE)
    rig.publisher.rekey("ef01")
    assert rig.show(Activity.IDLE) == ["\x1b]0;\u2733 c-ef\x07"]


def test_progress_and_notifications_for_terminals_that_know_them(tmp_path: Path) -> None:
    rig = Rig(tmp_path, progress=True)
    assert rig.show(Activity.IDLE) == [IDLE]
    assert rig.show(Activity.TURN) == [FIRST, ON]
    assert rig.show(Activity.TURN, "permission prompt") == [
        IDLE,
        OFF,
        "\x1b]9;Switchboard agent needs your permission\x07",
    ]
    assert rig.show(Activity.TURN) == [FIRST, ON]
    assert rig.show(Activity.IDLE, jobs=1) == [IDLE, OFF]


def test_without_titles(tmp_path: Path) -> None:
    rig = Rig(tmp_path, titles=False, progress=True)
    assert rig.show(Activity.IDLE) == []
    assert rig.show(Activity.TURN) == []
    rig.clock.run(960)
    assert rig.sent == []
    assert rig.publisher.descriptor.status == "busy"
