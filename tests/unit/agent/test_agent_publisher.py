"""The descriptor says what is so, except where it was told not to."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.support.hand_clock import HandClock

from switchboard.agent.descriptor import Descriptor, Identity
from switchboard.agent.descriptor_files import DescriptorFile
from switchboard.agent.faults import FaultSwitch, parse_faults
from switchboard.agent.publisher import Publisher

CLOCK = 1_000_000


class Rig:
    def __init__(self, folder: Path, faults: str = "") -> None:
        self.path = folder / "sessions" / "7.json"
        self.clock = HandClock(CLOCK)
        self.faults = FaultSwitch(parse_faults(faults))
        descriptor = Descriptor(Identity(7, "42", None), "s", "/c", CLOCK, "1")
        self.publisher = Publisher(DescriptorFile(str(self.path)), descriptor, self.clock, self.faults)

    @property
    def text(self) -> str | None:
        return self.path.read_text("utf-8") if self.path.exists() else None

    @property
    def fields(self) -> dict[str, Any]:
        fields: dict[str, Any] = json.loads(self.path.read_text("utf-8"))
        return fields

    @property
    def status(self) -> object:
        return self.fields.get("status")


@pytest.fixture
def rig(tmp_path: Path) -> Rig:
    return Rig(tmp_path)


def test_it_appears_without_a_status_and_then_says_idle(rig: Rig) -> None:
    rig.publisher.appear()
    assert rig.status is None
    rig.clock.run(5)
    rig.publisher.show("idle")
    assert (rig.status, rig.fields["statusUpdatedAt"]) == ("idle", CLOCK + 5)


def test_a_status_moves_only_when_it_changes_or_begins_anew(rig: Rig) -> None:
    rig.publisher.appear()
    rig.publisher.show("busy")
    rig.clock.run(5)
    rig.publisher.show("busy")
    assert rig.fields["statusUpdatedAt"] == CLOCK
    rig.publisher.show("busy", anew=True)
    assert rig.fields["statusUpdatedAt"] == CLOCK + 5


def test_waiting_says_what_for(rig: Rig) -> None:
    rig.publisher.appear()
    rig.publisher.show("waiting", "permission prompt")
    assert (rig.status, rig.fields["waitingFor"]) == ("waiting", "permission prompt")
    rig.publisher.show("busy")
    assert "waitingFor" not in rig.fields


def test_another_conversation(rig: Rig) -> None:
    rig.publisher.appear()
    rig.publisher.show("idle")
    rig.clock.run(9)
    rig.publisher.rekey("t")
    assert (rig.fields["sessionId"], rig.fields["statusUpdatedAt"], rig.fields["updatedAt"]) == ("t", CLOCK, CLOCK + 9)


def test_it_goes_and_stays_away(rig: Rig) -> None:
    rig.publisher.appear()
    rig.publisher.close()
    rig.publisher.show("busy")
    assert rig.text is None


def test_a_folder_that_cannot_be_written_is_a_failure_to_report(tmp_path: Path) -> None:
    (tmp_path / "sessions").write_text("in the way")
    rig = Rig(tmp_path)
    rig.publisher.appear()
    assert isinstance(rig.publisher.failure, OSError)


def test_no_descriptor(tmp_path: Path) -> None:
    rig = Rig(tmp_path, "no-descriptor")
    rig.publisher.appear()
    rig.publisher.show("idle")
    assert rig.text is None


def test_a_late_descriptor(tmp_path: Path) -> None:
    rig = Rig(tmp_path)
    rig.publisher.appear_later(1500)
    rig.publisher.show("idle")
    rig.clock.run(1499)
    assert rig.text is None
    rig.clock.run(1)
    assert rig.status is None
    rig.clock.run(10)
    assert (rig.status, rig.fields["statusUpdatedAt"]) == ("idle", CLOCK)


def test_a_half_written_descriptor(tmp_path: Path) -> None:
    rig = Rig(tmp_path)
    rig.publisher.appear()
    rig.faults.change("half-written-descriptor=200")
    rig.publisher.show("idle")
    with pytest.raises(json.JSONDecodeError):
        _ = rig.fields
    rig.clock.run(199)
    with pytest.raises(json.JSONDecodeError):
        _ = rig.fields
    rig.clock.run(1)
    assert rig.status == "idle"


def test_no_busy_edge(tmp_path: Path) -> None:
    rig = Rig(tmp_path, "no-busy-edge")
    rig.publisher.appear()
    rig.publisher.show("idle")
    rig.clock.run(5)
    rig.publisher.show("busy", anew=True)
    rig.publisher.show("idle")
    assert (rig.status, rig.fields["statusUpdatedAt"]) == ("idle", CLOCK)
    # a dialog is still told, and so is its end
    rig.publisher.show("waiting", "permission prompt")
    assert rig.status == "waiting"
    rig.publisher.show("busy")
    assert (rig.status, rig.fields["statusUpdatedAt"]) == ("idle", CLOCK + 5)


def test_stuck_busy(tmp_path: Path) -> None:
    rig = Rig(tmp_path, "stuck-busy")
    rig.publisher.appear()
    rig.publisher.show("idle")
    rig.publisher.show("busy")
    rig.publisher.show("idle")
    assert rig.status == "busy"
    rig.publisher.show("waiting", "permission prompt")
    assert rig.status == "waiting"
