"""What a terminal sends, in pieces and as keys of the list."""

import pytest

from switchboard.page.terminal.keys import MAX_HELD, Key, Kind, ListKeys, Piece, Splitter

STREAM = (
    b"hi\xc3\xa4\x1b[A\x1bOP\x1b[1;5C\r\x1b[?62;22c\x1b]11;rgb:0/0/0\x1b\\\x1b]52;c;x\x07\x1bP1$r0m\x1b\\\x1b_Gi=1\x1b\\"
    b"\x1b[200~pas\x1bted\x1d\r\x1b[20\x1b[201~\x1bx\x1b[<0;3;4M\x1b\x1b[B\x03end"
)
PIECES = [
    (Kind.TEXT, b"hi\xc3\xa4"),
    (Kind.CSI, b"\x1b[A"),
    (Kind.SS3, b"\x1bOP"),
    (Kind.CSI, b"\x1b[1;5C"),
    (Kind.CONTROL, b"\r"),
    (Kind.CSI, b"\x1b[?62;22c"),
    (Kind.STRING, b"\x1b]11;rgb:0/0/0\x1b\\"),
    (Kind.STRING, b"\x1b]52;c;x\x07"),
    (Kind.STRING, b"\x1bP1$r0m\x1b\\"),
    (Kind.STRING, b"\x1b_Gi=1\x1b\\"),
    (Kind.PASTE_MARK, b"\x1b[200~"),
    (Kind.PASTE, b"pas\x1bted\x1d\r\x1b[20"),
    (Kind.PASTE_MARK, b"\x1b[201~"),
    (Kind.ALT, b"\x1bx"),
    (Kind.CSI, b"\x1b[<0;3;4M"),
    (Kind.CONTROL, b"\x1b"),
    (Kind.CSI, b"\x1b[B"),
    (Kind.CONTROL, b"\x03"),
    (Kind.TEXT, b"end"),
]


def joined(pieces: list[Piece]) -> list[tuple[Kind, bytes]]:
    """Neighbouring text and paste content as one: how they are cut depends on how they were read."""
    out: list[tuple[Kind, bytes]] = []
    for piece in pieces:
        if out and out[-1][0] is piece.kind and piece.kind in {Kind.TEXT, Kind.PASTE}:
            out[-1] = (piece.kind, out[-1][1] + piece.data)
        else:
            out.append((piece.kind, piece.data))
    return out


def test_pieces() -> None:
    assert joined(Splitter().feed(STREAM)) == PIECES


@pytest.mark.parametrize("at", range(len(STREAM) + 1))
def test_every_split_gives_the_same_pieces(at: int) -> None:
    splitter = Splitter()
    assert joined(splitter.feed(STREAM[:at]) + splitter.feed(STREAM[at:])) == PIECES


def test_byte_by_byte() -> None:
    splitter = Splitter()
    assert joined([piece for i in range(len(STREAM)) for piece in splitter.feed(STREAM[i : i + 1])]) == PIECES


@pytest.mark.parametrize(
    ("held", "piece"),
    [
        pytest.param(b"\x1b", Piece(Kind.CONTROL, b"\x1b"), id="Escape"),
        pytest.param(b"\x1b[", Piece(Kind.ALT, b"\x1b["), id="Alt and ["),
        pytest.param(b"\x1b]", Piece(Kind.ALT, b"\x1b]"), id="Alt and ]"),
        pytest.param(b"\x1bO", Piece(Kind.ALT, b"\x1bO"), id="Alt and O"),
        pytest.param(b"\x1b]11;rg", Piece(Kind.STRING, b"\x1b]11;rg"), id="an answer cut off"),
    ],
)
def test_what_gets_no_rest(held: bytes, piece: Piece) -> None:
    splitter = Splitter()
    assert splitter.feed(b"a" + held) == [Piece(Kind.TEXT, b"a")]
    assert splitter.held
    assert splitter.flush() == [piece]
    assert not splitter.held
    assert splitter.flush() == []


def test_an_eager_escape_is_let_go_at_once() -> None:
    splitter = Splitter(eager_escape=True)
    assert splitter.feed(b"\x1b") == [Piece(Kind.CONTROL, b"\x1b")]
    assert not splitter.held


def test_the_end_of_a_paste_may_take_long() -> None:
    splitter = Splitter()
    splitter.feed(b"\x1b[200~x\x1b[20")
    assert not splitter.held
    assert splitter.flush() == []
    assert joined(splitter.feed(b"1~")) == [(Kind.PASTE_MARK, b"\x1b[201~")]


def test_an_endless_sequence_is_not_held() -> None:
    splitter = Splitter()
    data = b"\x1b]52;" + b"x" * MAX_HELD
    assert splitter.feed(data) == [Piece(Kind.STRING, data)]
    assert not splitter.held


@pytest.mark.parametrize(
    ("typed", "keys"),
    [
        pytest.param(b"\x1b[A", ["up"], id="up"),
        pytest.param(b"\x1bOA", ["up"], id="up, application cursor keys"),
        pytest.param(b"\x1b[1;2A", ["up"], id="up with shift"),
        pytest.param(b"\x10", ["up"], id="ctrl-p"),
        pytest.param(b"\x1b[B\x1bOB\x0e", ["down", "down", "down"], id="down"),
        pytest.param(b"\x1b[5~\x1b[6~", ["pageup", "pagedown"], id="pages"),
        pytest.param(b"\x1b[H\x1b[1~\x1b[7~\x1bOH", ["home"] * 4, id="home"),
        pytest.param(b"\x1b[F\x1b[4~\x1b[8~\x1bOF", ["end"] * 4, id="end"),
        pytest.param(b"\r\n\x1bOM", ["enter"] * 3, id="enter"),
        pytest.param(b"\x7f\x08", ["backspace"] * 2, id="backspace"),
        pytest.param(b"\x1b[3~", ["delete"], id="delete"),
        pytest.param(b"\x03\x15\x17\x0c", ["ctrl-c", "ctrl-u", "ctrl-w", "ctrl-l"], id="control keys"),
        pytest.param(
            b"\x1b[?62c\x1b[24;80R\x1b]11;x\x07\x1bP>|t\x1b\\\x1b[I\x1b[O\x1b[0n", [], id="answers are no keys"
        ),
        pytest.param(b"\x1b[<0;1;1M\x1b[<64;1;1M\x1b[M", [], id="the mouse is no key"),
        pytest.param(b"\x1bq\x1b[15~\x00\x1d", [], id="keys without a use"),
    ],
)
def test_names(typed: bytes, keys: list[str]) -> None:
    assert [key.name for key in ListKeys().feed(typed)] == keys


def test_text_comes_by_character() -> None:
    assert ListKeys().feed("jä".encode()) == [Key("text", "j"), Key("text", "ä")]


def test_escape_is_known_after_a_while() -> None:
    keys = ListKeys()
    assert keys.feed(b"\x1b") == []
    assert keys.held
    assert keys.flush() == [Key("escape")]


def test_a_paste_is_one_key() -> None:
    keys = ListKeys()
    assert keys.feed(b"\x1b[200~x\rq") == []
    assert keys.feed(b"y\x1b[201~n") == [Key("paste", "x\rqy"), Key("text", "n")]


def test_a_huge_paste_is_not_held() -> None:
    keys = ListKeys()
    keys.feed(b"\x1b[200~")
    for _ in range(10):
        keys.feed(b"x" * 4096)
    assert len(keys.feed(b"\x1b[201~")[0].text) == 8192


def test_raw_bytes_come_along() -> None:
    typed = "jä".encode() + b"\r\x1b[A\x1b[200~p\x1b[201~"
    assert b"".join(key.raw for key in ListKeys().feed(typed)) == typed
