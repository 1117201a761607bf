from __future__ import annotations

import pytest

from switchboard.agent.directives import (
    Ask,
    Directive,
    Exit,
    Fail,
    Pause,
    Print,
    Query,
    Say,
    Stream,
    duration_ms,
    parse_directives,
)


@pytest.mark.parametrize(
    ("text", "directive"),
    [
        ("[slow 3s]", Pause(3000)),
        ("[slow]", Pause(3000)),
        ("[slow 250ms]", Pause(250)),
        ("[slow 0]", Pause(0)),
        ("[print 2000 lines]", Print(2000)),
        ("[print 1]", Print(1)),
        ("[print forever]", Print(None)),
        ("[ask touch x]", Ask("touch x")),
        ("[ask rm -rf 'a b']", Ask("rm -rf 'a b'")),
        ("[stream]", Stream(2000)),
        ("[stream 5s]", Stream(5000)),
        ("[say Hello, world.]", Say("Hello, world.")),
        ("[error]", Fail("Connection error.")),
        ("[error 529 overloaded]", Fail("529 overloaded")),
        ("[query]", Query()),
        ("[exit]", Exit(0)),
        ("[exit 3]", Exit(3)),
        ("[crash]", Exit(None)),
    ],
)
def test_directives(text: str, directive: Directive) -> None:
    assert parse_directives(text) == ((directive,), "")


@pytest.mark.parametrize(
    "text",
    [
        "[x]",
        "[slow soon]",
        "[print all]",
        "[ask]",
        "[say ]",
        "[exit 300]",
        "[Slow 3s]",
        "a[0] = b",
        "[crash now]",
        "[]",
    ],
)
def test_anything_else_in_brackets_is_text(text: str) -> None:
    assert parse_directives(text) == ((), text)


def test_directives_among_text_keep_their_order() -> None:
    directives, rest = parse_directives("Please [slow 1s] do\nthis [ask ls] and [x]")
    assert directives == (Pause(1000), Ask("ls"))
    assert rest == "Please do this and [x]"


@pytest.mark.parametrize(
    ("text", "ms"),
    [
        ("3s", 3000),
        ("3 s", 3000),
        ("1.5m", 90_000),
        ("20", 20_000),
        ("7ms", 7),
        ("999m", 3_600_000),
        ("x", None),
        ("-1", None),
    ],
)
def test_durations(text: str, ms: int | None) -> None:
    assert duration_ms(text) == ms
