"""Output is cut only where a terminal stands between two sequences."""

import pytest

from switchboard.page.terminal.cutter import MAX_KEPT, Cutter

STREAM = (
    b"text\x1b[31;1mred\x1b[0m\r\n\x1b]0;title\x07\x1b]8;;http://x\x1b\\link\x1bP1$qm\x1b\\\x1b(B\x1b7\x1b8\x1bM\x1b=\x1b#8"
    b"\x1b_app\x1b\\\x1b[?2004h\x1b[>4;1m" + "日本ä€😀".encode() + b"\x1b[38:2::1:2:3m\x1b[1 q\x1b\\end"
)


def wholes(data: bytes) -> set[int]:
    """Where `data` may be cut, found by asking for each prefix how much of it is whole."""
    cutter = Cutter()
    places = {0}
    for length in range(1, len(data) + 1):
        cutter.restart()
        places.add(len(cutter.feed(data[:length])))
    return places


@pytest.mark.parametrize("at", range(len(STREAM) + 1))
def test_nothing_is_lost_at_any_split(at: int) -> None:
    cutter = Cutter()
    first = cutter.feed(STREAM[:at])
    assert cutter.kept == at - len(first)
    assert first + cutter.feed(STREAM[at:]) == STREAM
    assert cutter.kept == 0


@pytest.mark.parametrize(
    ("whole", "rest"),
    [
        pytest.param(b"a", b"\x1b", id="ESC"),
        pytest.param(b"a", b"\x1b[", id="CSI"),
        pytest.param(b"a", b"\x1b[?2004", id="CSI with parameters"),
        pytest.param(b"a", b"\x1b[1 ", id="CSI with an intermediate"),
        pytest.param(b"a", b"\x1b]0;tit", id="title"),
        pytest.param(b"a", b"\x1b]0;tit\x1b", id="title, half a terminator"),
        pytest.param(b"a", b"\x1bP1$q", id="DCS"),
        pytest.param(b"a", b"\x1bP a\x07b", id="BEL does not end a DCS"),
        pytest.param(b"a", b"\x1b_x", id="APC"),
        pytest.param(b"a", b"\x1b(", id="character set"),
        pytest.param(b"a\x1b[0m", b"\xc3", id="first of two bytes"),
        pytest.param(b"a", b"\xe6\x97", id="two of three bytes"),
        pytest.param(b"a", b"\xf0\x9f\x98", id="three of four bytes"),
        pytest.param(b"a\x1b", b"\x1b", id="ESC ESC"),
        pytest.param(b"a\x1b[3\x1b[0m", b"", id="a sequence that another cuts short"),
        pytest.param(b"\x1b]0;t\x1b[0m", b"", id="a title that another cuts short"),
        pytest.param(b"\x1b]0;t\x18", b"", id="cancelled"),
        pytest.param(b"\x80\xbf\xff", b"", id="no UTF-8"),
        pytest.param(b"\xe6\x97\xa5", b"", id="a whole character"),
        pytest.param(b"a\x1b\xc3\xa4", b"", id="ESC before another character"),
    ],
)
def test_where_it_is_cut(whole: bytes, rest: bytes) -> None:
    cutter = Cutter()
    assert cutter.feed(whole + rest) == whole
    assert cutter.kept == len(rest)


def test_no_cut_lies_inside_a_sequence_or_character() -> None:
    inside = {STREAM.index(b"\x1b[31;1m") + n for n in range(1, 7)}
    inside |= {STREAM.index(b"\x1b]8") + n for n in range(1, 14)}
    inside |= {STREAM.index("😀".encode()) + n for n in range(1, 4)}
    assert not wholes(STREAM) & inside


def test_a_huge_sequence_is_written_as_it_comes() -> None:
    cutter = Cutter()
    picture = b"\x1b_G" + b"A" * (MAX_KEPT + 1)
    assert cutter.feed(picture) == picture
    assert cutter.feed(b"AAA\x1b[not one") == b"AAA\x1b[not one"
    assert cutter.feed(b"A\x1b") == b"A"
    assert cutter.feed(b"\\after\x1b[3") == b"\x1b\\after"
    assert cutter.feed(b"1m") == b"\x1b[31m"


@pytest.mark.parametrize(
    ("stretches", "written"),
    [
        pytest.param([b"31mred\r\nnext"], b"\nnext", id="from the line end"),
        pytest.param([b"31mred\x1b[0mx"], b"\x1b[0mx", id="from a sequence"),
        pytest.param([b"31m", b"red", b"\nnext"], b"\nnext", id="in a later stretch"),
        pytest.param([b"x" * 5000], b"x" * 5000, id="not found: all of it"),
        pytest.param([b"\x80\xa5\nx"], b"\nx", id="not in the middle of a character"),
    ],
)
def test_output_that_begins_anywhere(stretches: list[bytes], written: bytes) -> None:
    cutter = Cutter()
    cutter.restart(anywhere=True)
    assert b"".join(cutter.feed(stretch) for stretch in stretches) == written


def test_restart_forgets_what_was_kept() -> None:
    cutter = Cutter()
    cutter.feed(b"a\x1b[3")
    cutter.restart()
    assert cutter.kept == 0
    assert cutter.feed(b"1m") == b"1m"


def test_it_is_quick() -> None:
    """Bounded work per byte: a pattern that goes back over its input would not end here."""
    cutter = Cutter()
    data = (b"\x1b[31mx\x1b[0m\x1b" * 20_000) + b"\x1b]0;" + b"y" * 30_000
    assert len(cutter.feed(data)) + cutter.kept == len(data)
