"""The crash harness: it numbers what changes something, ends a process there, and notices what it is for."""

from __future__ import annotations

import asyncio
import os
import types
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.support.crash_points import DIED, CrashPoints, in_child, survive


def module() -> types.ModuleType:
    """A module that works with files."""
    made = types.ModuleType("made")
    vars(made)["os"] = os
    return made


class Counter:
    """Adds one to a number in a file, in one step or in two."""

    def __init__(self, folder: Path, *, careful: bool) -> None:
        self.folder = folder
        self.careful = careful
        folder.mkdir()

    def act(self, points: CrashPoints) -> None:
        made = module()
        points.number_files(made)
        place = f"{self.folder}/count"
        beside = f"{place}.tmp" if self.careful else place
        descriptor = made.os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        made.os.write(descriptor, b"12")
        made.os.close(descriptor)
        if self.careful:
            made.os.rename(beside, place)

    def recover(self, points: CrashPoints) -> None:
        if not (self.folder / "count").exists():
            self.act(points)

    def check(self, died_at: str) -> None:
        assert (self.folder / "count").read_bytes() == b"12", died_at


def stories(folder: Path, *, careful: bool) -> Callable[[], Counter]:
    numbers = iter(range(1000))
    return lambda: Counter(folder / str(next(numbers)), careful=careful)


def test_a_careful_story_survives(tmp_path: Path) -> None:
    points = survive(stories(tmp_path, careful=True), and_recovery=True)
    assert points == ["open count.tmp", "write", "write the other half", "close", "rename count.tmp count"]


def test_a_careless_one_is_caught_where_it_fails(tmp_path: Path) -> None:
    with pytest.raises(AssertionError, match="1: before write"):
        survive(stories(tmp_path, careful=False))


def test_reading_is_no_point(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("text")

    def work(points: CrashPoints) -> None:
        made = module()
        points.number_files(made)
        descriptor = made.os.open(str(tmp_path / "a"), os.O_RDONLY)
        assert made.os.read(descriptor, 10) == b"text"
        assert made.os.path.exists(tmp_path)

    assert in_child(work).reached == ()


def test_waits_are_points() -> None:
    async def inner() -> int:
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        return 5

    def work(points: CrashPoints) -> None:
        async def outer() -> None:
            assert await points.awaits(inner()) == 5
            points.reach("the end")

        asyncio.run(outer())

    waits = ("wait", "go on after a wait")
    assert in_child(work).reached == (*waits, *waits, "the end")
    ending = in_child(work, 2)
    assert (ending.code, ending.reached) == (DIED, (*waits, "wait"))


def test_nothing_is_cleaned_up_at_the_end(tmp_path: Path) -> None:
    def work(points: CrashPoints) -> None:
        try:
            points.reach("now")
        finally:
            (tmp_path / "tidy").touch()

    assert in_child(work, 0).code == DIED
    assert not (tmp_path / "tidy").exists()
    assert in_child(work).code == 0
    assert (tmp_path / "tidy").exists()


def test_what_goes_wrong_in_a_child_is_told_here() -> None:
    def work(points: CrashPoints) -> None:
        raise ValueError("a clear message")

    with pytest.raises(AssertionError, match="a clear message"):
        in_child(work)


def test_work_that_is_not_the_same_each_time_is_noticed(tmp_path: Path) -> None:
    class Fickle(Counter):
        def act(self, points: CrashPoints) -> None:
            for _ in range(3 - len(self.folder.name)):
                points.reach("somewhere")
            super().act(points)

    names = iter(["a", "bb", "ccc"])
    with pytest.raises(AssertionError, match="the work is not the same each time"):
        survive(lambda: Fickle(tmp_path / next(names), careful=True))


def test_a_careless_recovery_is_caught(tmp_path: Path) -> None:
    class Careless(Counter):
        def recover(self, points: CrashPoints) -> None:
            if not (self.folder / "count").exists():
                self.careful = False
                self.act(points)

    numbers = iter(range(1000))

    def make() -> Careless:
        return Careless(tmp_path / str(next(numbers)), careful=True)

    survive(make)
    with pytest.raises(AssertionError, match="then 1: before write"):
        survive(make, and_recovery=True)
