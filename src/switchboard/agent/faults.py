"""Misbehaviour on request (pure): what `SWITCHBOARD_AGENT_FAULTS` and `/fault` ask for.

Each fault reproduces something that the measured CLI, or a neighbouring tool in the field, has been seen to do, so that
a test and a newcomer can watch the product cope. A specification is a comma list of `name` or `name=value`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

KNOWN: Mapping[str, tuple[int | None, str]] = {
    # name: (value when none is given, None for a plain switch; what it does)
    "slow-start": (2000, "wait that many ms before the terminal is read and the descriptor appears"),
    "exit-at-start": (1, "print a line of garbage and exit with that code"),
    "trust-dialog": (None, "ask at the start whether the folder is trusted; Enter picks 'No, exit'"),
    "no-descriptor": (None, "never publish a descriptor"),
    "late-descriptor": (1500, "publish the descriptor that many ms after the box can be typed into"),
    "half-written-descriptor": (200, "leave every change of the descriptor half written for that many ms"),
    "no-busy-edge": (None, "never publish busy: a turn leaves the status as it was"),
    "stuck-busy": (None, "stay busy in the descriptor after a turn"),
    "idle-blip": (10, "publish idle for that many ms in the middle of each turn and between queued turns"),
    "swallow-enter": (1, "ignore the next that many Enters"),
    "deaf-after-text": (100, "ignore an Enter that comes less than that many ms after text"),
    "slow-read": (5, "read 64 bytes, then sleep that many ms"),
    "late-transcript": (2000, "write transcript rows that many ms late"),
    "no-transcript": (None, "write no transcript rows"),
    "no-turn-duration": (None, "leave out the row that closes a turn"),
    "no-title": (None, "set no terminal title and no progress"),
    "ignore-sigterm": (None, "do not react to SIGTERM"),
}

MAX_VALUE = 600_000
_NUMBER = re.compile(r"[0-9]{1,7}")


class FaultError(ValueError):
    """The text names no fault. The message lists those that exist."""


@dataclass(frozen=True, slots=True)
class Faults:
    """The faults in force, each with its number (milliseconds, a count or an exit code)."""

    values: Mapping[str, int] = field(default_factory=dict)

    def __contains__(self, name: str) -> bool:
        return name in self.values

    def get(self, name: str) -> int:
        """The fault's number, 0 while it is not in force."""
        return self.values.get(name, 0)

    def spend(self, name: str) -> Faults:
        """Count a fault down by one; at zero it is over."""
        left = self.values[name] - 1
        rest = {key: value for key, value in self.values.items() if key != name}
        return Faults(rest | {name: left} if left > 0 else rest)

    def merged(self, other: Faults) -> Faults:
        """These faults with `other`'s added or changed; a number of 0 removes one."""
        return Faults({key: value for key, value in {**self.values, **other.values}.items() if value > 0})

    def __str__(self) -> str:
        shown = (name if KNOWN[name][0] is None else f"{name}={value}" for name, value in sorted(self.values.items()))
        return ", ".join(shown) or "none"


def parse_faults(text: str) -> Faults:
    """Read a comma list of faults. Raises `FaultError` with the remedy."""
    values: dict[str, int] = {}
    for part in filter(None, (piece.strip() for piece in text.split(","))):
        name, _, given = (piece.strip() for piece in part.partition("="))
        if name not in KNOWN:
            raise FaultError(f"unknown fault '{name}'; known: {', '.join(KNOWN)}")
        default = KNOWN[name][0]
        if given and (not _NUMBER.fullmatch(given) or int(given) > MAX_VALUE):
            raise FaultError(f"fault '{name}' takes a whole number from 0 to {MAX_VALUE}, not '{given}'")
        values[name] = int(given) if given else 1 if default is None else default
    return Faults(values)


class FaultSwitch:
    """The faults as they are at this moment; `/fault` changes them while the agent runs."""

    def __init__(self, faults: Faults) -> None:
        self._faults = faults

    def __call__(self) -> Faults:
        """The faults in force now."""
        return self._faults

    def change(self, text: str) -> None:
        """`off` removes all; anything else is added to what there is. Raises `FaultError`."""
        self._faults = Faults() if text == "off" else self._faults.merged(parse_faults(text))

    def spend(self, name: str) -> bool:
        """Whether the fault strikes now; if so, it is counted down."""
        if name not in self._faults:
            return False
        self._faults = self._faults.spend(name)
        return True


def describe_faults(faults: Faults) -> str:
    """What there is, and what is in force."""
    lines = [f"In force: {faults}", "Known (/fault name=number, 0 or off removes):"]
    for name, (default, meaning) in KNOWN.items():
        lines.append(f"  {name if default is None else f'{name}={default}'}: {meaning}")
    return "\n".join(lines)
