"""Rows 1 to 6 of the validation table: what a request file must be before its content counts."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest
from tests.support.fake_clock import FakeClock

from switchboard.common.settings import TriggerSettings
from switchboard.delivery.desk import Desk
from switchboard.triggers.intake import Body, Intake, Skipped
from switchboard.triggers.legacy_schema import Refusal
from switchboard.triggers.partial import Arrival
from switchboard.triggers.spool import Spool

NAME = "a.json"


class Taking:
    """One file to be taken in."""

    def __init__(self, folder: Path, **env: str) -> None:
        self.spool = Spool(str(folder))
        self.path = folder / NAME
        self.clock = FakeClock()
        self.desk = Desk(self.clock, TriggerSettings(env))
        self.arrival = Arrival(tells_all=True)

    def write(self, data: str | bytes, age_ms: int = 0) -> None:
        self.path.write_bytes(data.encode() if isinstance(data, str) else data)
        self.touch(age_ms)

    def touch(self, age_ms: float = 0) -> None:
        modified = self.clock.now() * 1_000_000 - round(age_ms * 1_000_000)
        os.utime(self.path, ns=(modified, modified))

    async def take(self) -> Body | Refusal:
        return await self.clock.run(Intake(self.spool, NAME, self.arrival, self.desk).take())


@pytest.fixture
def taking(tmp_path: Path) -> Taking:
    return Taking(tmp_path)


async def test_row_1_a_file_that_is_gone_is_silent(taking: Taking) -> None:
    with pytest.raises(Skipped) as skipped:
        await taking.take()
    assert skipped.value.notice is None


def broken(monkeypatch: pytest.MonkeyPatch, function: str, error: OSError) -> None:
    """The system fails at this call for the request."""
    works = getattr(os, function)

    def fail(path: object, *rest: object, **options: object) -> object:
        if isinstance(path, int) or str(path).endswith(NAME):
            raise error
        return works(path, *rest, **options)

    monkeypatch.setattr(os, function, fail)


async def test_row_2_a_file_that_cannot_be_inspected(taking: Taking, monkeypatch: pytest.MonkeyPatch) -> None:
    denied = PermissionError(13, "Permission denied")
    broken(monkeypatch, "open", denied)
    broken(monkeypatch, "lstat", denied)
    assert await taking.take() == Refusal("trigger could not be inspected: [Errno 13] Permission denied")


@pytest.mark.parametrize("kind", ["folder", "link", "dangling link", "pipe", "socket"])
async def test_row_3_no_regular_file(taking: Taking, kind: str, tmp_path: Path) -> None:
    if kind == "folder":
        taking.path.mkdir()
    elif kind == "pipe":
        os.mkfifo(taking.path)
    elif kind == "socket":
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(str(taking.path))
    else:
        (tmp_path / "other").write_text("{}")
        taking.path.symlink_to(tmp_path / ("other" if kind == "link" else "none"))
    assert await taking.take() == Refusal("trigger must be a regular file")


@pytest.mark.parametrize(("size", "fits"), [(65_536, True), (65_537, False)])
async def test_row_4_size(taking: Taking, size: int, fits: bool) -> None:
    taking.write(b"1" + b" " * (size - 1))
    assert await taking.take() == (Body(1) if fits else Refusal("trigger too large (max 64 KB)"))


async def test_row_4_a_large_file_is_never_read(taking: Taking, monkeypatch: pytest.MonkeyPatch) -> None:
    taking.write(b" " * 70_000)
    monkeypatch.setattr(os, "read", lambda *_: pytest.fail("read"))
    await taking.take()


async def test_row_4_a_file_that_grew_between_look_and_read(taking: Taking, monkeypatch: pytest.MonkeyPatch) -> None:
    taking.write("{}")
    monkeypatch.setattr(os, "read", lambda _descriptor, size: b" " * size)
    assert await taking.take() == Refusal("trigger too large (max 64 KB)")


async def test_row_3_comes_before_row_4_and_row_4_before_row_5(taking: Taking) -> None:
    taking.write(b" " * 70_000, age_ms=10**7)
    assert await taking.take() == Refusal("trigger too large (max 64 KB)")


def too_old(age: int, limit: int = 300_000) -> Refusal:
    return Refusal(
        "not sent",
        f"trigger is {age}ms old, older than the {limit}ms staleness limit; refused rather than act on a request that "
        "may no longer target the intended session state",
    )


async def test_row_5_exactly_as_old_as_the_limit_is_not_too_old(taking: Taking) -> None:
    taking.write("1", age_ms=300_000)
    assert await taking.take() == Body(1)


async def test_a_body_carries_the_time_at_which_it_was_written(taking: Taking) -> None:
    """An action asks for the age again, when its turn has come; the file may be another one by then."""
    taking.write("1", age_ms=2000)
    taken = await taking.take()
    assert isinstance(taken, Body)
    assert taken.modified_ns == os.stat(taking.path).st_mtime_ns


async def test_row_5_a_millisecond_more_is(taking: Taking) -> None:
    taking.write("1", age_ms=300_001)
    assert await taking.take() == too_old(300_001)


@pytest.mark.parametrize(("age", "shown"), [(300_000.4, 300_000), (300_000.5, 300_001)])
async def test_row_5_the_age_is_exact_and_shown_rounded(taking: Taking, age: float, shown: int) -> None:
    taking.write("1")
    taking.touch(age)
    assert await taking.take() == too_old(shown)


async def test_row_5_the_limit_is_read_for_each_file(tmp_path: Path) -> None:
    taking = Taking(tmp_path, SWITCHBOARD_TRIGGER_MAX_AGE_MS="0")
    taking.write("1", age_ms=5)
    assert await taking.take() == too_old(5, 0)


async def test_row_5_a_stale_file_is_never_read(taking: Taking, monkeypatch: pytest.MonkeyPatch) -> None:
    taking.write("no json", age_ms=400_000)
    monkeypatch.setattr(os, "read", lambda *_: pytest.fail("read"))
    await taking.take()


async def test_row_6_invalid_json_after_one_retry(taking: Taking) -> None:
    taking.arrival.note("moved")
    taking.write('{"a":}')
    found = await taking.take()
    assert isinstance(found, Refusal)
    assert found.error.startswith("invalid JSON: ")
    assert taking.clock.now() == FakeClock().now() + 50


@pytest.mark.parametrize("text", ["\ufeff1", "NaN", "1 2", "", "{'a': 1}", "[1,]"])
async def test_row_6_what_json_parse_refuses_is_refused(taking: Taking, text: str) -> None:
    taking.arrival.note("moved")
    taking.write(text)
    assert isinstance(await taking.take(), Refusal)


async def test_row_6_invalid_utf8_reads_as_the_replacement_character(taking: Taking) -> None:
    taking.write(b'"\xff"')
    assert await taking.take() == Body("\ufffd")


async def test_row_6_an_error_of_the_disk_is_not_retried(taking: Taking, monkeypatch: pytest.MonkeyPatch) -> None:
    taking.write("1")
    broken(monkeypatch, "read", OSError(5, "Input/output error"))
    assert await taking.take() == Refusal("invalid JSON: [Errno 5] Input/output error")
    assert taking.clock.timers_set == 0


@pytest.mark.parametrize("size", [1, 70_000])
async def test_row_6_a_file_that_may_not_be_read_is_left_alone(
    taking: Taking, monkeypatch: pytest.MonkeyPatch, size: int
) -> None:
    taking.write("1" * size)
    broken(monkeypatch, "open", PermissionError(13, "Permission denied"))
    if size > 65_536:
        assert await taking.take() == Refusal("trigger too large (max 64 KB)")
    else:
        with pytest.raises(Skipped, match="may not be read"):
            await taking.take()


async def test_a_link_is_refused_even_if_it_took_the_place_of_a_file(taking: Taking, tmp_path: Path) -> None:
    taking.write("{")
    (tmp_path / "other").write_text("2")
    intake = Intake(taking.spool, NAME, taking.arrival, taking.desk)

    def swap() -> None:
        taking.path.unlink()
        taking.path.symlink_to(tmp_path / "other")

    taking.clock.call_at(taking.clock.now() + 20, swap)
    assert await taking.clock.run(intake.take()) == Refusal("trigger must be a regular file")


async def test_half_a_request_is_the_next_starts_when_we_are_closing(taking: Taking) -> None:
    taking.write("{")
    taking.desk.stop.request()
    with pytest.raises(Skipped):
        await taking.take()


async def test_a_body_of_any_depth_is_read(taking: Taking) -> None:
    taking.write("[" * 32_000 + "]" * 32_000)
    assert isinstance(await taking.take(), Body)
