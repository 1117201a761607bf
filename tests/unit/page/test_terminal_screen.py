"""Pictures as bytes, judged by a terminal emulator."""

import pyte
import pytest

from switchboard.page.terminal.look import Look, Style
from switchboard.page.terminal.screen import Picture, Span, cells_of, notice, paint, row

COLUMNS, ROWS = 12, 4


class Terminal:
    def __init__(self) -> None:
        self.screen = pyte.Screen(COLUMNS, ROWS)
        self._stream = pyte.ByteStream(self.screen)

    def take(self, data: bytes) -> list[str]:
        self._stream.feed(data)
        return [line.rstrip() for line in self.screen.display]


def test_the_first_picture_replaces_everything() -> None:
    terminal = Terminal()
    terminal.take(b"old\r\nold\r\nold\r\nold")
    picture = Picture((row("top"), (), row("third")))
    assert terminal.take(paint(picture, None, COLUMNS, ROWS, Look())) == ["top", "", "third", ""]
    assert terminal.screen.cursor.hidden


def test_the_next_picture_writes_only_what_differs() -> None:
    terminal = Terminal()
    before = Picture((row("one"), row("two"), row("three")))
    after = Picture((row("one"), row("2")))
    terminal.take(paint(before, None, COLUMNS, ROWS, Look()))
    data = paint(after, before, COLUMNS, ROWS, Look())
    assert terminal.take(data) == ["one", "2", "", ""]
    assert b"one" not in data


def test_the_same_picture_writes_no_row() -> None:
    picture = Picture((row("one"),))
    assert b"one" not in paint(picture, picture, COLUMNS, ROWS, Look())


def test_full_rows_keep_their_last_character() -> None:
    terminal = Terminal()
    picture = Picture(tuple(row("x" * COLUMNS) for _ in range(ROWS)))
    assert terminal.take(paint(picture, None, COLUMNS, ROWS, Look())) == ["x" * COLUMNS] * ROWS


def test_rows_and_columns_beyond_the_screen_are_cut() -> None:
    terminal = Terminal()
    picture = Picture(tuple(row(f"{n}", "y" * 50) for n in range(9)))
    assert terminal.take(paint(picture, None, COLUMNS, ROWS, Look())) == [f"{n}yyyyyyyyyy…" for n in range(4)]


@pytest.mark.parametrize(("place", "at"), [((1, 3), (1, 3)), ((9, 99), (ROWS - 1, COLUMNS - 1))])
def test_the_cursor_stands_where_it_is_asked(place: tuple[int, int], at: tuple[int, int]) -> None:
    terminal = Terminal()
    terminal.take(paint(Picture((row("a"),), place), None, COLUMNS, ROWS, Look()))
    assert (terminal.screen.cursor.y, terminal.screen.cursor.x) == at
    assert not terminal.screen.cursor.hidden


def test_styles_end_with_their_span() -> None:
    terminal = Terminal()
    terminal.take(paint(Picture((row(Span("ab", Style.WAITING), "cd"),)), None, COLUMNS, ROWS, Look()))
    cells = [terminal.screen.buffer[0][n] for n in range(4)]
    assert [(cell.data, cell.reverse, cell.bold, cell.fg) for cell in cells] == [
        ("a", True, True, "brown"),
        ("b", True, True, "brown"),
        ("c", False, False, "default"),
        ("d", False, False, "default"),
    ]


def test_no_color() -> None:
    data = paint(
        Picture((row(Span("ab", Style.IDLE), Span("c", Style.WAITING)),)), None, COLUMNS, ROWS, Look(color=False)
    )
    assert b"ab" in data
    assert b"\x1b[1;7mc" in data
    assert not any(b"\x1b[%d" % n in data for n in (*range(30, 38), *range(90, 98)))


def test_nothing_a_program_says_is_obeyed() -> None:
    terminal = Terminal()
    assert terminal.take(paint(Picture((row("a\x1b[2Jb\x9b\x07"),)), None, COLUMNS, ROWS, Look())) == [
        "a [2Jb",
        "",
        "",
        "",
    ]


def test_ascii() -> None:
    data = paint(Picture((row("é · x…"),)), None, COLUMNS, ROWS, Look(unicode=False))
    assert data.isascii()
    assert b"? - x." in data


def test_a_notice_leaves_the_cursor_and_the_last_row_alone() -> None:
    terminal = Terminal()
    terminal.take(b"\x1b[31mprompt\r\nline $ ")
    shown = terminal.take(notice("gone", COLUMNS, Look()))
    assert shown == ["prompt gone", "line $", "", ""]
    assert (terminal.screen.cursor.y, terminal.screen.cursor.x) == (1, 7)
    assert terminal.screen.cursor.attrs.fg == "red"


@pytest.mark.parametrize("columns", [1, 2, 3, 5, 40])
def test_a_notice_fits_any_width(columns: int) -> None:
    screen = pyte.Screen(columns, 3)
    pyte.ByteStream(screen).feed(notice("a long notice for you", columns, Look()))
    assert screen.display[1].strip() == ""


def test_cells_of() -> None:
    assert cells_of(row("ab", "日")) == 4
