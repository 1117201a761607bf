from __future__ import annotations

import pytest

from switchboard.agent.faults import KNOWN, FaultError, Faults, FaultSwitch, describe_faults, parse_faults


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("", {}),
        (" , ", {}),
        ("no-busy-edge", {"no-busy-edge": 1}),
        ("swallow-enter=3", {"swallow-enter": 3}),
        ("late-descriptor = 250 , idle-blip", {"late-descriptor": 250, "idle-blip": 10}),
        ("idle-blip=10,idle-blip=12", {"idle-blip": 12}),
    ],
)
def test_what_is_understood(text: str, values: dict[str, int]) -> None:
    assert parse_faults(text) == Faults(values)


@pytest.mark.parametrize("text", ["nonsense", "idle-blip=x", "idle-blip=-1", "idle-blip=600001", "idle-blip=1.5"])
def test_what_is_refused(text: str) -> None:
    with pytest.raises(FaultError):
        parse_faults(text)


def test_an_unknown_fault_is_answered_with_those_that_exist() -> None:
    with pytest.raises(FaultError, match=r"known: .*swallow-enter"):
        parse_faults("swallow-entre")


def test_a_fault_is_spent() -> None:
    switch = FaultSwitch(parse_faults("swallow-enter=2"))
    assert [switch.spend("swallow-enter") for _ in range(3)] == [True, True, False]


def test_faults_change_while_the_agent_runs() -> None:
    switch = FaultSwitch(Faults())
    switch.change("idle-blip=5")
    switch.change("no-title")
    assert str(switch()) == "idle-blip=5, no-title"
    switch.change("idle-blip=0")
    assert "idle-blip" not in switch()
    switch.change("off")
    assert switch() == Faults()
    assert str(switch()) == "none"


def test_every_fault_is_described() -> None:
    text = describe_faults(Faults({"idle-blip": 3}))
    assert text.startswith("In force: idle-blip=3\n")
    assert all(f"  {name}" in text for name in KNOWN)
