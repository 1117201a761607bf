"""A page that only measures: a blocking WebSocket that looks at heads of frames, so that it is never what is slow."""

from __future__ import annotations

import base64
import json
import os
import socket
import struct
from collections.abc import Callable, Iterable

from switchboard.page import messages

PATIENCE = 60.0
BUFFER = 1 << 20

OUTPUT_HEAD = len(messages.encode_output(0, 0, b""))
STDOUT = b'["stdout", "'


class Client:
    """One connection. `keys` makes the frame body for keystrokes: (opcode, body)."""

    def __init__(
        self, port: int, headers: Iterable[tuple[str, str]], keys: Callable[[bytes], tuple[int, bytes]]
    ) -> None:
        self._keys = keys
        self._socket = socket.create_connection(("127.0.0.1", port), timeout=PATIENCE)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._held = b""
        fixed = [
            ("Host", f"127.0.0.1:{port}"),
            ("Origin", f"http://127.0.0.1:{port}"),
            ("Upgrade", "websocket"),
            ("Connection", "Upgrade"),
            ("Sec-WebSocket-Version", "13"),
            ("Sec-WebSocket-Key", base64.b64encode(os.urandom(16)).decode()),
        ]
        lines = ["GET /ws HTTP/1.1", *(f"{name}: {value}" for name, value in [*fixed, *headers])]
        self._socket.sendall(("\r\n".join(lines) + "\r\n\r\n").encode())
        while b"\r\n\r\n" not in self._held:
            self._more()
        head, _, self._held = self._held.partition(b"\r\n\r\n")
        assert b" 101 " in head, head

    def _more(self) -> None:
        data = self._socket.recv(BUFFER)
        if not data:
            raise ConnectionError("the server has closed the connection")
        self._held = self._held + data if self._held else data

    def send(self, opcode: int, body: bytes) -> None:
        size = len(body)
        sized = bytes([0x80 | size]) if size < 126 else b"\xfe" + struct.pack(">H", size)
        self._socket.sendall(bytes([0x80 | opcode]) + sized + b"\0\0\0\0" + body)

    def type(self, data: bytes) -> None:
        self.send(*self._keys(data))

    def frame(self) -> tuple[int, bytes]:
        """The next frame: (opcode, body)."""
        while True:
            held = self._held
            if len(held) >= 2:
                size, start = held[1] & 0x7F, 2
                if size == 126 and len(held) >= 4:
                    size, start = struct.unpack_from(">H", held, 2)[0], 4
                elif size == 127 and len(held) >= 10:
                    size, start = struct.unpack_from(">Q", held, 2)[0], 10
                elif size >= 126:
                    size = 1 << 62
                if len(held) >= start + size:
                    self._held = held[start + size :]
                    return held[0] & 0x0F, held[start : start + size]
            self._more()

    def until(self, mark: bytes) -> int:
        """Read frames until `mark` has come; return how many bytes they had."""
        total, tail = 0, b""
        while True:
            opcode, body = self.frame()
            total += len(body)
            if opcode == 9:
                self.send(10, body)
            elif opcode == 1 and body.startswith(b'{"type":"ping"'):
                self.send(1, messages.encode(messages.Pong(json.loads(body)["number"])))
            # A mark is the last that is printed, perhaps in two frames, or begins a message.
            tail = tail[-len(mark) :] + _printed(opcode, body)[-256:]
            if mark in tail or body.startswith(mark):
                return total

    def close(self) -> None:
        self._socket.close()


def _printed(opcode: int, body: bytes) -> bytes:
    """What a frame says without what is around it, ours or terminado's."""
    if opcode == 2:
        return body[OUTPUT_HEAD:]
    return body[len(STDOUT) : -2] if body.startswith(STDOUT) else body


def page(port: int, cookie: str, key: str) -> tuple[Client, Callable[[int], None]]:
    """Our page, greeted; the second value shows a session in it, and lets it type there."""
    shown = [0]
    client = Client(
        port,
        [("Cookie", cookie), ("Sec-WebSocket-Protocol", f"switchboard.1, key.{key}")],
        lambda data: (2, messages.encode_input(shown[0], data)),
    )
    client.send(1, messages.encode(messages.Hello(messages.PROTOCOL, "browser")))
    client.until(b'{"type":"sessions"')

    def show(handle: int) -> None:
        shown[0] = handle
        client.send(1, messages.encode(messages.Attach(handle)))
        client.send(1, messages.encode(messages.Focus(handle, 80, 24)))

    return client, show


def terminado(port: int) -> Client:
    """The same of terminado's page."""
    return Client(port, [], lambda data: (1, json.dumps(["stdin", data.decode()]).encode()))
