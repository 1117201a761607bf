"""The schema: every message comes back as it was, and what is none is refused before anything happens."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest
from aiohttp import WSMsgType
from aiohttp.http_websocket import WebSocketWriter

from switchboard.page import messages
from switchboard.page.byte_frames import binary_head
from switchboard.page.messages import (
    MAX_INPUT,
    MessageError,
    decode_from_host,
    decode_from_page,
    decode_input,
    decode_output,
    encode,
    encode_input,
    encode_inputs,
    encode_output,
)

INFO = messages.SessionInfo("an-id", "open", "agent", "busy", handle=3, title="⠋ ü", exit=messages.ExitStatus(signal=9))

FROM_PAGE: list[tuple[str, messages.PageMessage]] = [
    ('{"type":"hello","protocol":1,"kind":"terminal","version":""}', messages.Hello(1, "terminal")),
    ('{"type":"ready"}', messages.Ready()),
    ('{"type":"pong","number":7}', messages.Pong(7)),
    ('{"type":"confirm","number":7}', messages.Confirm(7)),
    ('{"type":"attach","session":3,"from_seq":null}', messages.Attach(3)),
    ('{"type":"attach","session":3,"from_seq":9}', messages.Attach(3, 9)),
    ('{"type":"detach","session":3}', messages.Detach(3)),
    ('{"type":"focus","session":3,"columns":80,"rows":24,"free":false,"before":false}', messages.Focus(3, 80, 24)),
    (
        '{"type":"focus","session":3,"columns":80,"rows":24,"free":true,"before":true}',
        messages.Focus(3, 80, 24, free=True, before=True),
    ),
    (
        (
            '{"type":"open","request":1,"mode":"fork","profile":"claude","session_id":"x","cwd":"/a","name":"n",'
            '"columns":80,"rows":24,"force":true,"permit":null}'
        ),
        messages.OpenSession(1, "fork", "claude", "x", "/a", "n", 80, 24, force=True),
    ),
    (
        (
            '{"type":"open","request":1,"mode":"resume","profile":"agent","session_id":"x","cwd":null,"name":null,'
            '"columns":120,"rows":40,"force":false,"permit":"p"}'
        ),
        messages.OpenSession(1, "resume", session_id="x", permit="p"),
    ),
    ('{"type":"stop","request":1,"session":3,"force":false}', messages.StopSession(1, 3)),
    ('{"type":"rename","request":1,"session":3,"name":"ü"}', messages.Rename(1, 3, "ü")),
    ('{"type":"list","request":1,"closed":50}', messages.ListSessions(1)),
    ('{"type":"shutdown","request":1,"sessions":true}', messages.Shutdown(1, sessions=True)),
    ('{"type":"address","request":1}', messages.Address(1)),
    (
        (
            '{"type":"session_action_result","permit":"p","epoch":"e","mode":"reattach","ok":true,"requested_id":"a",'
            '"tab_key":"b","generation":7,"reason":null,"error":null}'
        ),
        messages.SessionActionResult("p", "e", "reattach", True, "a", "b", 7),
    ),
    (
        (
            '{"type":"session_action_result","permit":"p","epoch":"e","mode":"new","ok":false,"requested_id":null,'
            '"tab_key":"b","generation":null,"reason":"r","error":"x"}'
        ),
        messages.SessionActionResult("p", "e", "new", False, None, "b", None, "r", "x"),
    ),
    ('{"type":"bye"}', messages.Bye()),
]

FROM_HOST: list[tuple[str, messages.HostMessage]] = [
    (
        '{"type":"welcome","protocol":1,"version":"1.0","epoch":"e","pid":5}',
        messages.Welcome(1, "1.0", "e", 5),
    ),
    ('{"type":"role","renderer":true}', messages.Role(True)),
    ('{"type":"sessions","sessions":[]}', messages.Sessions([])),
    ('{"type":"gone","session":3}', messages.SessionGone(3)),
    (
        (
            '{"type":"attached","session":3,"seq":5,"live_seq":9,"lost":0,"columns":80,"rows":24,"owner":true,'
            '"free":false,"modes":""}'
        ),
        messages.Attached(3, 5, 9, 0, 80, 24, True),
    ),
    (
        '{"type":"resync","session":3,"seq":5,"lost":4,"modes":"\\u001b[?2004h"}',
        messages.Resync(3, 5, 4, "\x1b[?2004h"),
    ),
    ('{"type":"size","session":3,"columns":80,"rows":24,"owner":false,"free":false}', messages.Size(3, 80, 24, False)),
    ('{"type":"listing","request":2,"sessions":[]}', messages.Listing(2, [])),
    (
        '{"type":"done","request":2,"ok":false,"reason":"r","detail":"d","session":null}',
        messages.Done(2, False, "r", "d"),
    ),
    (
        (
            '{"type":"trigger","name":"n","at":5,"step":"done","action":"","session_id":null,"ok":true,"submitted":null,'
            '"error":null,"reason":null,"outcome":"opened","uncertain":false,"detail":null,"target":"t"}'
        ),
        messages.TriggerActivity("n", 5, "done", ok=True, outcome="opened", target="t"),
    ),
    (
        (
            '{"type":"session_action","permit":"p","epoch":"e","mode":"resume","requested_id":"a","tab_key":"a",'
            '"generation":null,"deadline":9,"profile":"claude","project":"/p","cwd":"/p/w","name":null}'
        ),
        messages.SessionAction("p", "e", "resume", "a", "a", None, 9, "claude", "/p", "/p/w"),
    ),
    ('{"type":"address_is","request":2,"url":"http://127.0.0.1:1/#t"}', messages.AddressIs(2, "http://127.0.0.1:1/#t")),
    ('{"type":"notice","level":"info","text":"t"}', messages.Notice("info", "t")),
    ('{"type":"problem","text":"t","kind":"final"}', messages.Problem("t")),
    ('{"type":"confirmed","number":7}', messages.Confirmed(7)),
    ('{"type":"ping","number":7}', messages.Ping(7)),
]


def kind(row: object) -> str:
    return type(row).__name__ if isinstance(row, msgspec.Struct) else ""


@pytest.mark.parametrize(("text", "message"), FROM_PAGE, ids=kind)
def test_what_a_page_says(text: str, message: messages.PageMessage) -> None:
    assert json.loads(encode(message)) == json.loads(text)
    assert decode_from_page(text.encode()) == message
    assert decode_from_page(encode(message)) == message


@pytest.mark.parametrize(("text", "message"), FROM_HOST, ids=kind)
def test_what_the_host_says(text: str, message: messages.HostMessage) -> None:
    assert json.loads(encode(message)) == json.loads(text)
    assert decode_from_host(text.encode()) == message
    assert decode_from_host(encode(message)) == message


def test_every_message_is_in_the_table() -> None:
    for union, table in ((messages.PageMessage, FROM_PAGE), (messages.HostMessage, FROM_HOST)):
        named = {type(message) for _, message in table} | {messages.SessionChanged}
        assert set(union.__args__) <= named


def test_a_session_comes_back_as_it_was() -> None:
    changed = messages.SessionChanged(INFO)
    assert decode_from_host(encode(changed)) == changed
    assert decode_from_host(encode(messages.Sessions([INFO, INFO]))) == messages.Sessions([INFO, INFO])


def test_a_page_of_an_earlier_version_may_leave_out_what_has_a_default() -> None:
    assert decode_from_page(b'{"type":"open","request":1,"mode":"new"}') == messages.OpenSession(1, "new")


@pytest.mark.parametrize(
    "frame",
    [
        b"",
        b"{",
        b"null",
        b"[]",
        b"{}",
        b'{"type":"format-disk"}',
        b'{"type":"ready","x":1}',
        b'{"type":"pong"}',
        b'{"type":"pong","number":"7"}',
        b'{"type":"pong","number":-1}',
        b'{"type":"pong","number":9007199254740992}',
        b'{"type":"attach","session":0}',
        b'{"type":"attach","session":4294967296}',
        b'{"type":"attach","session":1,"from_seq":-1}',
        b'{"type":"focus","session":1,"columns":1,"rows":24}',
        b'{"type":"focus","session":1,"columns":1001,"rows":24}',
        b'{"type":"focus","session":1,"columns":80,"rows":0}',
        b'{"type":"focus","session":1,"columns":80,"rows":1001}',
        b'{"type":"open","request":1,"mode":"restore"}',
        b'{"type":"list","request":1,"closed":10001}',
        b'{"type":"hello","protocol":1,"kind":"robot"}',
        b'{"type":"\xff"}',
        b'{"type":"rename","request":1,"session":1,"name":"\xff"}',
        b'{"type":"welcome","protocol":1,"version":"","epoch":"","pid":1}',
        b"[" * 100_000,
        b'{"type":"rename","request":1,"session":1,"name":' + b"[" * 100_000,
    ],
    ids=lambda frame: frame[:60].decode("latin-1"),
)
def test_what_is_no_message_of_a_page(frame: bytes) -> None:
    with pytest.raises(MessageError, match=r"^not a message of this protocol: "):
        decode_from_page(frame)


@pytest.mark.parametrize(
    ("field", "longest"),
    [("profile", 64), ("session_id", 128), ("cwd", 4096), ("name", 256)],
)
def test_texts_are_bounded(field: str, longest: int) -> None:
    def frame(length: int) -> bytes:
        body: dict[str, Any] = {"type": "open", "request": 1, "mode": "new", field: "x" * length}
        return json.dumps(body).encode()

    assert getattr(decode_from_page(frame(longest)), field) == "x" * longest
    with pytest.raises(MessageError):
        decode_from_page(frame(longest + 1))


def test_a_refusal_does_not_quote_what_was_said() -> None:
    """It can hold what a person has typed."""
    with pytest.raises(MessageError) as refused:
        decode_from_page(b'{"type":"rename","request":1,"session":1,"name":"secret","more":"secret"}')
    assert "secret" not in str(refused.value)


@pytest.mark.parametrize("frame", [b"", b"{}", b'{"type":"ready"}', b'{"type":"role","renderer":1}', b"[" * 100_000])
def test_what_is_no_message_of_the_host(frame: bytes) -> None:
    with pytest.raises(MessageError, match=r"^not a message of this protocol: "):
        decode_from_host(frame)


def test_terminal_bytes_are_not_touched() -> None:
    data = bytes(range(256))
    assert encode_input(7, b"ab") == b"\x01\x00\x00\x00\x07ab"
    assert decode_input(encode_input(2**32 - 1, data)) == (2**32 - 1, data)
    assert encode_output(7, 5, b"ab") == b"\x02\x00\x00\x00\x07\x00\x00\x00\x00\x00\x00\x00\x05ab"
    assert decode_output(encode_output(7, 2**63, data)) == (7, 2**63, data)
    assert decode_output(encode_output(7, 1, memoryview(data)[5:])) == (7, 1, data[5:])


@pytest.mark.parametrize(
    ("frame", "text"),
    [
        (b"", "not a terminal-input frame"),
        (b"\x01\x00\x00\x00", "not a terminal-input frame"),
        (b"\x02\x00\x00\x00\x01x", "not a terminal-input frame"),
        (encode_input(1, b"x" * (MAX_INPUT + 1)), "terminal input of more than 65536 bytes in one frame"),
    ],
    ids=["empty", "short", "output", "long"],
)
def test_what_is_no_input(frame: bytes, text: str) -> None:
    with pytest.raises(MessageError, match=f"^{text}$"):
        decode_input(frame)


def test_the_longest_input() -> None:
    assert decode_input(encode_input(1, b"x" * MAX_INPUT)) == (1, b"x" * MAX_INPUT)
    assert decode_input(encode_input(1, b"")) == (1, b"")


@pytest.mark.parametrize(
    ("size", "pieces"),
    [(0, []), (1, [1]), (MAX_INPUT, [MAX_INPUT - 1, 1]), (2 * MAX_INPUT + 3, [MAX_INPUT, MAX_INPUT, 3])],
    ids=["nothing", "a key", "exactly one frame", "more"],
)
def test_only_frames_that_are_followed_by_another_are_full(size: int, pieces: list[int]) -> None:
    typed = bytes(number % 251 for number in range(size))
    decoded = [decode_input(frame)[1] for frame in encode_inputs(1, typed)]
    assert [len(piece) for piece in decoded] == pieces
    assert b"".join(decoded) == typed


@pytest.mark.parametrize("frame", [b"", b"\x02\x00\x00\x00\x01\x00\x00\x00", b"\x01" + bytes(20)])
def test_what_is_no_output(frame: bytes) -> None:
    with pytest.raises(MessageError, match=r"^not a terminal-output frame$"):
        decode_output(frame)


@pytest.mark.parametrize("size", [0, 1, 125, 126, 1000, 65535, 65536, 200_000])
def test_the_head_of_a_frame_is_the_one_that_the_library_writes(size: int) -> None:
    written: list[bytes] = []
    transport = SimpleNamespace(write=written.append, is_closing=lambda: False)
    library = WebSocketWriter(SimpleNamespace(), transport)  # type: ignore[arg-type]  # what of them it uses
    library._write_websocket_frame(b"x" * size, WSMsgType.BINARY, 0)
    assert binary_head(size) + b"x" * size == b"".join(written)


def test_half_a_surrogate_pair_ends_no_connection() -> None:
    """Ids and reasons come from request files, and a page that cannot be told of one would be told of none."""
    told = messages.TriggerActivity("n", 1, "done", session_id="\ud800", reason="unsupported field: \udfff", ok=False)
    back = messages.decode_from_host(messages.encode(told))
    assert isinstance(back, messages.TriggerActivity)
    assert (back.session_id, back.reason, back.ok) == ("\ufffd", "unsupported field: \ufffd", False)
    row = messages.SessionInfo("id", "open", "agent", "idle", name="a\ud83d\ude00b\ud83d")
    listed = messages.decode_from_host(messages.encode(messages.Listing(1, [row])))
    assert isinstance(listed, messages.Listing)
    assert listed.sessions[0].name == "a\U0001f600b\ufffd"
