"""Widths, clipping, ages and paths of the terminal page."""

import pytest

from switchboard.page.terminal import text

ZWJ = "\u200d"


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        pytest.param("plain", "plain", id="plain"),
        pytest.param("a\x1b[31mb", "a [31mb", id="escape"),
        pytest.param("a\nb\tc\rd", "a b c d", id="line ends and tabs"),
        pytest.param("a\x9bb", "a b", id="8-bit control"),
        pytest.param("evil\u202egnp", "evil gnp", id="direction override"),
        pytest.param("a\u2028b", "a b", id="line separator"),
        pytest.param("a\ud800b", "a b", id="lone surrogate"),
        pytest.param("\U0001f469" + ZWJ + "\U0001f4bb", "\U0001f469" + ZWJ + "\U0001f4bb", id="joined emoji stays"),
        pytest.param("Größe 日本", "Größe 日本", id="other scripts stay"),
    ],
)
def test_plain(given: str, shown: str) -> None:
    assert text.plain(given) == shown


@pytest.mark.parametrize(
    ("given", "cells", "shown"),
    [
        pytest.param("abc", 3, "abc", id="fits"),
        pytest.param("abcd", 3, "ab…", id="cut"),
        pytest.param("日本語", 6, "日本語", id="wide fits"),
        pytest.param("日本語", 5, "日本…", id="wide cut"),
        pytest.param("日本語", 4, "日…", id="a wide character is never halved"),
        pytest.param("e\u0301e\u0301e\u0301", 2, "e\u0301…", id="accents stay with their letter"),
        pytest.param("abc", 0, "", id="no room"),
        pytest.param("abc", 1, "…", id="room for the mark only"),
        pytest.param("abc", -3, "", id="less than no room"),
    ],
)
def test_clip(given: str, cells: int, shown: str) -> None:
    assert text.clip(given, cells) == shown
    assert text.width(shown) <= max(0, cells)


@pytest.mark.parametrize(
    ("given", "cells", "shown"),
    [("/a/b/c", 6, "/a/b/c"), ("/a/b/c", 4, "…b/c"), ("日本語", 4, "…語"), ("abc", 1, "…"), ("abc", 0, "")],
)
def test_clip_start(given: str, cells: int, shown: str) -> None:
    assert text.clip_start(given, cells) == shown


@pytest.mark.parametrize(("given", "shown"), [("ab", "ab  "), ("abcde", "abc…"), ("日本", "日本"), ("日", "日  ")])
def test_pad_fills_exactly(given: str, shown: str) -> None:
    assert text.pad(given, 4) == shown


@pytest.mark.parametrize(
    ("given", "cells", "most", "lines"),
    [
        pytest.param("", 10, 3, [""], id="nothing"),
        pytest.param("one two three", 8, 3, ["one two", "three"], id="between words"),
        pytest.param("one two three four", 8, 2, ["one two", "three f…"], id="the last line is cut"),
        pytest.param("verylongword x", 6, 3, ["veryl…", "x"], id="a long word is cut"),
    ],
)
def test_wrap(given: str, cells: int, most: int, lines: list[str]) -> None:
    assert text.wrap(given, cells, most) == lines


@pytest.mark.parametrize(
    ("path", "title"),
    [("/home/me/jobs/shop", "jobs/shop"), ("/jobs", "jobs"), ("/", "/"), ("/a/b/", "a/b"), ("", "")],
)
def test_last_segments(path: str, title: str) -> None:
    assert text.last_segments(path) == title


SECOND, MINUTE, HOUR, DAY = 1000, 60_000, 3_600_000, 86_400_000


@pytest.mark.parametrize(
    ("passed", "shown"),
    [
        (0, "now"),
        (9_999, "now"),
        (10 * SECOND, "10s"),
        (59_999, "59s"),
        (MINUTE, "1m"),
        (HOUR - 1, "59m"),
        (HOUR, "1h"),
        (DAY - 1, "23h"),
        (DAY, "1d"),
        (999 * DAY, "999d"),
        (1000 * DAY, "old"),
        (-5 * MINUTE, "now"),
    ],
)
def test_age(passed: int, shown: str) -> None:
    now = 1_800_000_000_000
    assert text.age(now - passed, now) == shown
    assert len(shown) <= 4


def test_the_age_of_nothing_is_empty() -> None:
    assert text.age(None, 5) == ""


@pytest.mark.parametrize(
    ("now", "offset", "shown"),
    [
        (0, 0, "00:00"),
        (59 * MINUTE, 0, "00:59"),
        (0, -3600, "23:00"),
        (23 * HOUR, 2 * 3600, "01:00"),
        (0, 19800, "05:30"),
    ],
)
def test_clock_time(now: int, offset: int, shown: str) -> None:
    assert text.clock_time(now, offset) == shown


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("/x/y", "/x/y"),
        ("~", "/home/me"),
        ("~/shop", "/home/me/shop"),
        ("shop", "/jobs/shop"),
        ("", "/jobs"),
        ("../other/./x/", "/other/x"),
        ("../../..", "/"),
        ("~other", "/jobs/~other"),
    ],
)
def test_absolute(typed: str, meant: str) -> None:
    assert text.absolute(typed, "/jobs", "/home/me") == meant


def test_ascii_keeps_the_width() -> None:
    assert text.ascii_only("a · b … é日") == "a - b . ??"


def test_count() -> None:
    assert [text.count(n, "session", "sessions") for n in (0, 1, 2)] == ["0 sessions", "1 session", "2 sessions"]
