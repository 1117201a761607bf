"""Everything typed in a session is the session's, except the prefix and the key after it."""

import pytest

from switchboard.page.terminal.passing import Command, Passed, Passing, Who

Read = Passed | Command


def person(data: bytes) -> Passed:
    return Passed(data)


def report(data: bytes) -> Passed:
    return Passed(data, Who.REPORT)


def answer(data: bytes) -> Passed:
    return Passed(data, Who.ANSWER)


@pytest.mark.parametrize(
    "typed",
    [
        pytest.param(b"hello\r", id="text"),
        pytest.param("häß日本".encode(), id="utf-8"),
        pytest.param(bytes(b for b in range(256) if b != 0x1D and b != 0x1B), id="every byte but the prefix and ESC"),
        pytest.param(b"\x03\x04\x1a\x1c\x11\x13", id="keys that end or stop programs elsewhere"),
        pytest.param(b"\x1b[A\x1bOP\x1b[1;5C\x1bb\x1b[3~\x1b[13;2u", id="special keys"),
        pytest.param(b"\x1b[1;2R", id="F3 with shift"),
        pytest.param(b"\x1b[97;5u\x1b[27;5;105~", id="encoded keys"),
        pytest.param(b"\x1b[200~a\x1dlb\rx\x1b[201~", id="a paste with the prefix in it"),
        pytest.param(b"\x1b[<0;10;5M\x1b[<0;10;5m\x1b[<64;1;1M", id="clicks and the wheel"),
        pytest.param(b"\x1b[I", id="a person comes to this window"),
        pytest.param(b"\x1b", id="Escape, at once"),
    ],
)
def test_passes(typed: bytes) -> None:
    assert Passing().feed(typed) == [person(typed)]


@pytest.mark.parametrize(
    "said",
    [
        pytest.param(b"\x1b[?62;22c", id="device attributes"),
        pytest.param(b"\x1b[>41;354;0c", id="secondary attributes"),
        pytest.param(b"\x1b[24;80R", id="cursor position"),
        pytest.param(b"\x1b[1;9R", id="cursor position in row 1"),
        pytest.param(b"\x1b[2;2R", id="cursor position in column 2"),
        pytest.param(b"\x1b[?24;80R", id="cursor position, DEC"),
        pytest.param(b"\x1b[?2026;2$y", id="mode report"),
        pytest.param(b"\x1b[?1u", id="keyboard flags"),
        pytest.param(b"\x1b[8;24;80t", id="window size"),
        pytest.param(b"\x1b[0n", id="status"),
        pytest.param(b"\x1b]11;rgb:0000/0000/0000\x1b\\", id="colour"),
        pytest.param(b"\x1bP>|xterm(380)\x1b\\", id="name and version"),
        pytest.param(b"\x1b_Gi=31;OK\x1b\\", id="graphics"),
    ],
)
def test_answers(said: bytes) -> None:
    assert Passing().feed(said) == [answer(said)]


@pytest.mark.parametrize(
    "said",
    [
        pytest.param(b"\x1b[O", id="focus leaves"),
        pytest.param(b"\x1b[<35;10;5M", id="the mouse moves"),
        pytest.param(b"\x1b[<32;10;5M", id="the mouse drags"),
        pytest.param(b"\x1b[?997;1n", id="another colour scheme"),
        pytest.param(b"\x1b[48;24;80;480;640t", id="another size"),
    ],
)
def test_reports(said: bytes) -> None:
    assert Passing().feed(said) == [report(said)]


@pytest.mark.parametrize(
    ("typed", "read"),
    [
        pytest.param(b"\x1dl", [Command("l")], id="prefix and key"),
        pytest.param(b"ab\x1dlcd", [person(b"ab"), Command("l"), person(b"cd")], id="between text"),
        pytest.param(b"\x1d\x1d", [person(b"\x1d")], id="twice sends it"),
        pytest.param(b"\x1d\x1dx", [person(b"\x1dx")], id="twice, then text"),
        pytest.param(b"\x1dn\x1dp", [Command("n"), Command("p")], id="two commands"),
        pytest.param(b"\x1d\x1b[A", [Command("")], id="a key without a name"),
        pytest.param(b"\x1d\r", [Command("")], id="Enter"),
        pytest.param("\x1däx".encode(), [Command("ä"), person(b"x")], id="a character of two bytes"),
        pytest.param(b"\x1d?", [Command("?")], id="help"),
        pytest.param(b"\x1d\x1b[24;80Rl", [answer(b"\x1b[24;80R"), Command("l")], id="an answer in between"),
        pytest.param(b"\x1d\x1b[<35;1;1Ml", [report(b"\x1b[<35;1;1M"), Command("l")], id="the mouse in between"),
        # Keyboard encodings that a session may have switched on.
        pytest.param(b"\x1b[93;5ul", [Command("l")], id="encoded prefix"),
        pytest.param(b"\x1b[93;5u\x1b[108u", [Command("l")], id="encoded prefix and key"),
        pytest.param(b"\x1b[93;133ul", [Command("l")], id="with num lock"),
        pytest.param(b"\x1b[93::93;5:1ul", [Command("l")], id="with alternates and event"),
        pytest.param(
            b"\x1b[93;5:1u\x1b[93;5:3u\x1b[108;1:1u\x1b[108;1:3u",
            [Command("l"), person(b"\x1b[108;1:3u")],
            id="with releases",
        ),
        pytest.param(b"\x1b[93;5u\x1b[57441;2u\x1b[47;2u", [Command("?")], id="Shift goes down first"),
        pytest.param(b"\x1b[27;5;93~l", [Command("l")], id="the other encoding"),
        pytest.param(b"\x1b[93;5u\x1b[93;5u", [person(b"\x1b[93;5u")], id="encoded twice sends it as it came"),
        pytest.param(b"\x1b[93;6u", [person(b"\x1b[93;6u")], id="with shift it is another key"),
        pytest.param(b"\x1b[93u", [person(b"\x1b[93u")], id="the bracket alone is a key"),
    ],
)
def test_prefix(typed: bytes, read: list[Read]) -> None:
    assert Passing().feed(typed) == read


def test_the_prefix_is_remembered_between_reads() -> None:
    passing = Passing()
    assert passing.feed(b"a\x1d") == [person(b"a")]
    assert passing.feed(b"l") == [Command("l")]


@pytest.mark.parametrize("at", range(1, 6))
def test_an_encoded_prefix_may_be_split(at: int) -> None:
    """Behind the ESC, which is let go at once because it may be the Escape key."""
    typed = b"\x1b[93;5u"
    passing = Passing()
    if at == 1:
        assert passing.feed(b"\x1b") == [person(b"\x1b")]
        return
    assert passing.feed(typed[:at]) == []
    assert passing.held
    assert passing.feed(typed[at:] + b"l") == [Command("l")]


def test_what_gets_no_rest_is_passed() -> None:
    passing = Passing()
    assert passing.feed(b"\x1b[") == []
    assert passing.flush() == [person(b"\x1b[")]
