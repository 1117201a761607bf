"""The reader of terminal sequences: recorded streams, every way of cutting them, and hostile ones."""

from __future__ import annotations

import random
import re
import time
import tracemalloc
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support.recorded_streams import STREAMS

from switchboard.sessions import sequences
from switchboard.sessions.sequences import MAX_CONTROL, Located, SequenceReader
from switchboard.sessions.vocabulary import MAX_PAYLOAD, Bell, ModeChanged, Osc, Query, TerminalEvent


def read(*pieces: bytes) -> list[TerminalEvent]:
    reader = SequenceReader()
    return [event for piece in pieces for event in reader.feed(piece)]


def locate(*pieces: bytes) -> list[Located]:
    """The events with their places; a row of bells ends where its piece ends, so only its start is compared."""
    reader = SequenceReader()
    places = [place for piece in pieces for place in reader.locate(piece)]
    return [(start, start + 1 if event == Bell() else end, event) for start, end, event in places]


def cut(data: bytes, places: list[int]) -> list[bytes]:
    edges = [0, *sorted({place % (len(data) + 1) for place in places}), len(data)]
    return [data[start:end] for start, end in pairwise(edges)]


@pytest.mark.parametrize("name", STREAMS)
class TestStreams:
    def test_whole(self, name: str) -> None:
        data, says = STREAMS[name]
        assert read(data) == says

    def test_every_cut(self, name: str) -> None:
        data, _ = STREAMS[name]
        whole = locate(data)
        for place in range(len(data) + 1):
            assert locate(data[:place], data[place:]) == whole, data[:place]

    def test_every_two_cuts_near_each_other(self, name: str) -> None:
        data, says = STREAMS[name]
        for place in range(len(data)):
            for width in (1, 2, 3):
                assert read(data[:place], data[place : place + width], data[place + width :]) == says

    def test_byte_by_byte(self, name: str) -> None:
        data, says = STREAMS[name]
        assert read(*(data[index : index + 1] for index in range(len(data)))) == says

    def test_places(self, name: str) -> None:
        """Each event's bytes, read alone, say the same; what is left says nothing."""
        data, _ = STREAMS[name]
        position, rest = 0, []
        for start, end, event in SequenceReader().locate(data):
            assert position <= start < end <= len(data)
            piece = data[start:end] + (b"\x1b[m" if data[end : end + 1] == b"\x1b" else b"")
            assert read(piece) == [event]
            rest.append(data[position:start])
            position = end
        rest.append(data[position:])
        assert [event for event in read(b"\x1b[m".join(rest)) if not isinstance(event, Bell)] == []


@given(st.lists(st.sampled_from([data for data, _ in STREAMS.values()]), max_size=4), st.lists(st.integers(0, 5000)))
@settings(max_examples=200, deadline=None)
def test_streams_at_any_cuts(streams: list[bytes], places: list[int]) -> None:
    data = b"".join(streams)
    assert locate(*cut(data, places)) == locate(data)


PARTS = [bytes([byte]) for byte in b"\x05\x07\x18\x1a\x1b\x9b\x9c\x9d\xc2[]P_\\?>=!$;:0149hlmncutpqcZ \r\nx"]
PARTS += [
    b"\x1b[",
    b"\x1b]",
    b"\x1b\\",
    b"\xc2\x9c",
    b"\xc2\x9d",
    b"\xc2\x9b",
    b"0;",
    b"?25h",
    b"\x1bP",
    b"10;?",
    b"\x07\x07",
]


@given(st.lists(st.sampled_from(PARTS), max_size=40).map(b"".join), st.lists(st.integers(0, 200), max_size=12))
@settings(max_examples=1500, deadline=None)
def test_any_output_at_any_cuts(data: bytes, places: list[int]) -> None:
    assert locate(*cut(data, places)) == locate(data)


CALM = (b"\x1b[38;5;20m\x1b[1mword\x1b[0m \x1b7\x1b[7G\x1b[K" * 80, b"\x1b[31mred\x1b[m " * 300)
"""Large pieces that say nothing, which is known without a search for each of their sequences."""


@given(st.lists(st.sampled_from((*PARTS, *CALM, *CALM)), max_size=12), st.lists(st.integers(0, 20_000), max_size=6))
@settings(max_examples=300, deadline=None)
def test_what_is_said_among_much_that_says_nothing(parts: list[bytes], places: list[int]) -> None:
    data = b"".join(parts)
    small = locate(*(data[start : start + 1000] for start in range(0, len(data), 1000)))
    assert locate(*cut(data, places)) == locate(data) == small


def test_a_piece_that_says_nothing_is_not_searched(monkeypatch: pytest.MonkeyPatch) -> None:
    searched = []
    calm = sequences._ESCAPE

    class Counting:
        def search(self, data: bytes, position: int) -> re.Match[bytes] | None:
            searched.append(len(data) - position)
            return calm.search(data, position)

    monkeypatch.setattr(sequences, "_ESCAPE", Counting())
    assert read(CALM[1], CALM[1]) == []
    assert sum(searched) < 20
    assert read(CALM[1] + b"\x1b[?25l", CALM[1]) == [ModeChanged((25,), private=True, on=False)]


@given(st.lists(st.sampled_from(PARTS), max_size=30).map(b"".join), st.data())
@settings(max_examples=500, deadline=None)
def test_a_new_reader_goes_on_from_what_was_undecided(data: bytes, draw: st.DataObject) -> None:
    place = draw.draw(st.integers(0, len(data)))
    first = SequenceReader()
    before = first.feed(data[:place])
    after = SequenceReader().feed(data[place - first.undecided :])
    # Whether a bell goes on a row that has rung is the one thing that is forgotten.
    assert [event for event in before + after if event != Bell()] == [event for event in read(data) if event != Bell()]


def test_nothing_is_undecided_between_sequences() -> None:
    reader = SequenceReader()
    for data, undecided in [
        (b"text", 0),
        (b"\x1b", 1),
        (b"[", 2),
        (b"?25", 5),
        (b"h", 0),
        (b"\x1b]0;ti", 6),
        (b"tle", 9),
        (b"\x1b", 10),
        (b"\\", 0),
        (b"\xc2", 1),
        (b"\xb7", 0),
        (b"\x1b[38;5", 6),
        (b"m", 0),
        (b"\x1b]0;" + b"x" * 10_000, 10_004),
        (b"\x07", 0),
        (b"\x1b[" + b"1" * 10_000, 10_002),
        (b"m", 0),
        (b"\x1b(", 0),
    ]:
        reader.feed(data)
        assert reader.undecided == undecided, data[:20]


def test_bells_in_a_row_ring_once() -> None:
    assert read(b"\x07\x07", b"\x07", b"\x07\x07x\x07") == [Bell(), Bell()]
    assert read(b"\x1b]0;t\x07\x07") == [Osc(0, "t"), Bell()]
    assert read(b"\x1b]0;t\x07", b"\x07") == [Osc(0, "t"), Bell()]
    assert read(b"\x07", b"", b"\x07") == [Bell()]


@pytest.mark.parametrize("size", [1, 7, 4000, 100_000])
def test_a_long_payload_is_cut_to_the_bound(size: int) -> None:
    data = b"\x1b]0;" + b"x" * 50_000 + b"\x07\x1b]0;next\x07"
    pieces = [data[start : start + size] for start in range(0, len(data), size)]
    assert read(*pieces) == [Osc(0, "x" * (MAX_PAYLOAD - 2)), Osc(0, "next")]


@pytest.mark.parametrize("shift", range(4))
def test_a_character_that_the_bound_breaks_is_dropped(shift: int) -> None:
    title = "a" * shift + "😀" * 2000
    (event,) = read(b"\x1b]0;" + title.encode() + b"\x07")
    assert event == Osc(0, title[: shift + (MAX_PAYLOAD - 2 - shift) // 4])


def test_a_payload_of_exactly_the_bound_is_whole() -> None:
    title = "a" * (MAX_PAYLOAD - 3) + "é"
    (event,) = read(b"\x1b]0;" + title.encode()[: MAX_PAYLOAD - 2] + b"\x07")
    assert event == Osc(0, "a" * (MAX_PAYLOAD - 3) + "\ufffd")


@pytest.mark.parametrize("length", [MAX_CONTROL - 1, MAX_CONTROL, MAX_CONTROL + 1, MAX_CONTROL * 3])
def test_a_control_sequence_beyond_the_bound_says_nothing(length: int) -> None:
    sequence = b"\x1b[?" + b"0" * (length - 6) + b"25h"
    assert len(sequence) == length
    expected = [] if length > MAX_CONTROL else [ModeChanged((999_999_999,), private=True, on=True)]
    for places in ([], [MAX_CONTROL - 1], [MAX_CONTROL], [MAX_CONTROL + 1], [length - 1], [100, 5000]):
        assert read(*cut(sequence + b"\x1b[?1h", places)) == [*expected, ModeChanged((1,), private=True, on=True)]


def test_what_breaks_an_overlong_control_sequence_counts() -> None:
    start = b"\x1b[" + b"1;" * 5000
    assert read(start, b"\x07") == read(start + b"\x07") == [Bell()]
    assert read(start, b"\x1b[6n") == read(start + b"\x1b[6n") == [Query(b"\x1b[6n")]


def test_memory_stays_bounded() -> None:
    """A string, then a control sequence, that never end: 32 MB each, of which less than 1 MB is kept."""
    reader = SequenceReader()
    piece = b"x" * 65_536
    digits = b"1;" * 32_768
    tracemalloc.start()
    reader.feed(b"\x1b]0;")
    for _ in range(512):
        assert reader.feed(piece) == []
    reader.feed(b"\x18\x1b[")
    for _ in range(512):
        assert reader.feed(digits) == []
    kept, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert kept < 1_000_000
    assert reader.feed(b"h\x07") == [Bell()]


# Speed, in processor time. The bounds are a twentieth of what is measured: a loaded machine passes, and a reader that
# looks at every byte fails.


def screens(number: int) -> bytes:
    """Frames of an agent that draws its whole screen in true colour, ten bytes of text for each colour."""
    source = random.Random(1)
    out = []
    for frame in range(number):
        out.append(b"\x1b[?2026h\x1b[?25l\x1b[H")
        for row in range(40):
            out.append(b"\x1b[%d;1H" % (row + 1))
            for _ in range(12):
                red, green, blue = (source.randrange(256) for _ in range(3))
                out.append(b"\x1b[38;2;%d;%d;%dmself._v \xe2\x80\xa6\x1b[0m" % (red, green, blue))
        out.append(b"\x1b[K\x1b[?25h\x1b[?2026l\x1b]0;\xe2\x97\x90 %d\x07" % frame)
    return b"".join(out)


@pytest.mark.parametrize(
    ("name", "data", "megabytes_per_second"),
    [
        ("plain text", b"The quick brown fox jumps over the lazy dog.\r\n" * 100_000, 50),
        ("text beyond ASCII", "Žluťoučký kůň · 漢字 ✓\r\n".encode() * 50_000, 20),
        ("a drawing agent", screens(60), 10),
        ("a coloured listing", CALM[1] * 1000, 20),
        ("an image", b"\x1bPq" + b"#0;2;0;0;0~~@@vv@@~~$" * 100_000 + b"\x1b\\", 20),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_speed(name: str, data: bytes, megabytes_per_second: int) -> None:
    reader = SequenceReader()
    started = time.process_time()
    for start in range(0, len(data), 65_536):
        reader.feed(data[start : start + 65_536])
    seconds = time.process_time() - started
    assert len(data) / 1e6 / max(seconds, 1e-6) > megabytes_per_second, name


@pytest.mark.parametrize(
    "unit",
    [b"\x1b]", b"\x1b]0;x\x07", b"\xc2\x9d1\x07", b"\x1bP\xc2", b"\x1b[1;", b"\x1b[?", b"\xc2", b"\x1b", b"\x07x"],
)
def test_hostile_output_takes_linear_time(unit: bytes) -> None:
    data = unit * (200_000 // len(unit))
    started = time.process_time()
    read(data)
    read(*(data[start : start + 100] for start in range(0, len(data), 100)))
    assert time.process_time() - started < 20
