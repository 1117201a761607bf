"""Whether the process at the other end of a socket is our own user's."""

from __future__ import annotations

import os
import socket
import struct
import sys
from collections.abc import Iterator

import pytest

from switchboard.common.peers import peer_is_us


@pytest.fixture
def pair() -> Iterator[tuple[socket.socket, socket.socket]]:
    one, two = socket.socketpair()
    yield one, two
    one.close()
    two.close()


def test_a_process_of_ours_is(pair: tuple[socket.socket, socket.socket]) -> None:
    assert all(peer_is_us(end) for end in pair)


def test_another_users_is_not(pair: tuple[socket.socket, socket.socket], monkeypatch: pytest.MonkeyPatch) -> None:
    us = os.geteuid()
    monkeypatch.setattr(os, "geteuid", lambda: us + 1)
    assert not peer_is_us(pair[0])


def test_a_connection_over_the_network_has_nobody_we_know() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server, socket.create_connection(server.getsockname()) as client:
        assert not peer_is_us(client)


def test_a_socket_that_cannot_be_asked_is_nobodys() -> None:
    closed = socket.socket(socket.AF_UNIX)
    closed.close()
    assert not peer_is_us(closed)


class ElsewhereSocket:
    """A connection on a system whose answer begins with a version and the user: (version, user, groups…)."""

    def __init__(self, answer: bytes | None) -> None:
        self._answer = answer

    def getsockopt(self, level: int, option: int, size: int) -> bytes:
        assert (level, option, size) == (0, 1, 76)
        if self._answer is None:
            raise OSError("not connected")
        return self._answer


@pytest.mark.parametrize(
    ("offset", "answers", "ours"), [(0, True, True), (1, True, False), (0, False, False)], ids=["ours", "not", "silent"]
)
def test_on_a_system_without_peer_credentials_in_linux_form(
    offset: int, answers: bool, ours: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "platform", "darwin")
    answer = struct.pack("II68x", 0, os.geteuid() + offset) if answers else None
    assert peer_is_us(ElsewhereSocket(answer)) is ours  # type: ignore[arg-type]  # all that is asked of it
