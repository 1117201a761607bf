"""What a benchmark finds, as values, and how it is told: a table for people, JSON for programs."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal


@dataclass(frozen=True, slots=True)
class Aim:
    """What a figure should be. `of`: the number that is judged; `more` is ours minus the peer's."""

    of: Literal["value", "ratio", "more"]
    sense: Literal["at most", "at least"]
    limit: float

    def __str__(self) -> str:
        sign = "<=" if self.sense == "at most" else ">="
        what = {"value": "", "ratio": "ratio ", "more": "peer + "}[self.of]
        return f"{what}{sign} {self.limit:g}"


@dataclass(frozen=True, slots=True)
class Figure:
    """One measured number. `peer` is the same of something else in the same run, `against` says of what.

    `least` and `most` are the extremes of the rounds behind a median. `ratio` is the median of the rounds' own ratios
    where rounds were paired, else the ratio of the two numbers.
    """

    name: str
    value: float | None
    unit: str
    peer: float | None = None
    against: str = ""
    ratio: float | None = None
    least: float | None = None
    most: float | None = None
    aim: Aim | None = None
    note: str = ""

    @property
    def met(self) -> bool | None:
        """Whether the aim is met; None when there is none, or nothing to judge."""
        if self.aim is None:
            return None
        more = None if self.value is None or self.peer is None else self.value - self.peer
        judged = {"value": self.value, "ratio": self.ratio, "more": more}[self.aim.of]
        if judged is None:
            return None
        return judged <= self.aim.limit if self.aim.sense == "at most" else judged >= self.aim.limit

    def as_json(self) -> dict[str, Any]:
        """Return everything, the judgement included."""
        return asdict(self) | {"aim": None if self.aim is None else str(self.aim), "met": self.met}


def single(
    name: str,
    value: float,
    unit: str,
    peer: float | None = None,
    against: str = "",
    aim: Aim | None = None,
) -> Figure:
    """A figure that was measured once."""
    return Figure(name, value, unit, peer, against, value / peer if peer else None, aim=aim)


def paired(
    name: str, ours: Sequence[float], peers: Sequence[float], unit: str, against: str, aim: Aim | None = None
) -> Figure:
    """A figure of several rounds, each of which measured both sides one right after the other."""
    ratio = statistics.median(mine / theirs for mine, theirs in zip(ours, peers, strict=True))
    return Figure(
        name,
        statistics.median(ours),
        unit,
        statistics.median(peers),
        against,
        ratio,
        min(ours),
        max(ours),
        aim,
    )


def alone(name: str, ours: Sequence[float], unit: str, note: str) -> Figure:
    """A figure of several rounds for which no peer was to be had; `note` says why."""
    return Figure(name, statistics.median(ours), unit, least=min(ours), most=max(ours), note=note)


def table(chapters: dict[str, list[Figure]]) -> str:
    """Return the figures as lines for people."""
    heads = ("", "ours", "peer", "ratio", "aim", "")
    rows: list[tuple[str, ...]] = []
    notes: dict[str, list[str]] = {}
    for title, figures in chapters.items():
        rows.append((title.upper(), "", "", "", "", ""))
        for figure in figures:
            rows.append(
                (
                    f"  {figure.name}" + (f" (beside {figure.against})" if figure.against else ""),
                    _number(figure.value, figure.unit) + _extremes(figure),
                    _number(figure.peer, figure.unit),
                    _number(figure.ratio),
                    str(figure.aim or ""),
                    {True: "met", False: "MISSED", None: ""}[figure.met],
                )
            )
            if figure.note:
                notes.setdefault(figure.note, []).append(figure.name)
    widths = [max(len(row[column]) for row in [heads, *rows]) for column in range(len(heads))]
    lines = [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in [heads, *rows]
    ]
    told = [f"{'; '.join(names)}: {note}" for note, names in notes.items()]
    return "\n".join([*lines, "", *told] if told else lines)


def _number(value: float | None, unit: str = "") -> str:
    if value is None:
        return "-" if unit else ""
    digits = 0 if abs(value) >= 1000 else 1 if abs(value) >= 100 else 2 if abs(value) >= 1 else 3
    return f"{value:.{digits}f} {unit}".rstrip()


def _extremes(figure: Figure) -> str:
    if figure.least is None or figure.most is None:
        return ""
    return f" ({_number(figure.least)}..{_number(figure.most)})"
