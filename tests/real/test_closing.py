"""An ordered end of a host fits into its five seconds, whatever hangs at that moment."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.support.field import FieldHost
from tests.support.hosting import page, until
from tests.support.web import log_in, port_of, web_page

from switchboard.common.frames import TEXT, encode_frame
from switchboard.host.instance import read_record
from switchboard.page import messages


@pytest.fixture
def host(tmp_path: Path) -> Iterator[FieldHost]:
    made = FieldHost(tmp_path)
    made.start()
    yield made
    made.clean_up()


async def test_a_delivery_a_browser_page_and_a_terminal_page_hang_all_at_once(host: FieldHost) -> None:
    credential = await log_in(host)
    terminal, silent = socket.socket(socket.AF_UNIX), socket.socket(socket.AF_UNIX)
    async with page(host) as shown, web_page(port_of(host), credential, reads=False) as browser:
        noisy = await shown.open(host, profile="shell")
        _, session, script = await host.open_script(shown, "slow", read_bytes=1, read_pause_ms=200)
        terminal.connect(host.socket)
        for message in (messages.Hello(messages.PROTOCOL, "terminal"), messages.Attach(noisy)):
            terminal.sendall(encode_frame(TEXT, messages.encode(message)))
        silent.connect(host.socket)
        browser.say(messages.Attach(noisy))
        shown.type(noisy, b"yes\r")
        # So much that the two who do not read have their buffers full.
        await shown.once(lambda: shown.next_seq.get(noisy, 0) > 8_000_000, "much output")
        name = host.ask(session, "x" * 200)
        await until(lambda: script.received, "the first byte of the prompt")
        took = await asyncio.to_thread(host.terminate)
    assert took < 5
    assert read_record(str(host.data)) is None, "it did not end in order"
    result = await host.result(name)
    assert (result["ok"], result["error"], result["wrote"]) == (False, "interrupted", True)
    terminal.close()
    silent.close()
