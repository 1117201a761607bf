"""Terminals at their edges: opened a thousand times, stopped, half closed, ended or left in the middle of a prompt."""

from __future__ import annotations

import asyncio
import os
import re
import signal
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest
from tests.support.field import FAST, FieldHost, descriptors, voluntary_switches
from tests.support.hosting import page, until

from switchboard.delivery import reasons
from switchboard.page import messages
from switchboard.sessions.registry import MAX_EXITED


@pytest.fixture
def host(tmp_path: Path) -> Iterator[FieldHost]:
    made = FieldHost(tmp_path, FAST)
    made.start()
    yield made
    made.clean_up()


# --- a thousand times -------------------------------------------------------------------------------------------------

CYCLES = 1000
AT_ONCE = 10


async def test_a_thousand_sessions_leave_no_descriptor(host: FieldHost) -> None:
    host.terminate()
    host.environment["SHELL"] = "/bin/true"
    host.start()
    empty = descriptors(host.keeper_pid)
    async with page(host, kind="command") as shown:
        wanted = partial(messages.OpenSession, mode="shell", cwd=str(host.project))

        async def cycle(count: int) -> None:
            for _ in range(count // AT_ONCE):
                done = await asyncio.gather(*(shown.ask(wanted) for _ in range(AT_ONCE)))
                assert all(each.ok for each in done), done
                shown.said.clear()
            await until(lambda: descriptors(host.keeper_pid) == empty, "a keeper that holds nothing")

        # The last ones stay readable; from then on each new one costs an old one its place.
        await cycle(MAX_EXITED + AT_ONCE)
        before = descriptors(host.pid)
        await cycle(CYCLES)
        await until(lambda: descriptors(host.pid) == before, f"{before} descriptors of the host")


# --- stopped ----------------------------------------------------------------------------------------------------------


async def test_a_stopped_program_loses_nothing_and_holds_up_nobody(host: FieldHost) -> None:
    async with page(host) as shown:
        handle, session_id, cli = await host.open_script(shown)
        _, other_id, quick = await host.open_script(shown, "quick")
        pid = shown.sessions[handle].pid
        os.kill(pid, signal.SIGSTOP)
        try:
            # A prompt is written into the terminal, which takes it; nobody claims that it was read.
            stopped = await host.result(host.ask(session_id, "are you there", timeout_ms=500))
            assert (stopped["ok"], stopped["submitted"], stopped["wrote"]) == (False, "no", True), stopped
            await shown.once(lambda: shown.sessions[handle].draft, "the text in the box")
            pieces = [b"%05d" % number + b"x" * 60_000 for number in range(20)]
            for piece in pieces:
                shown.type(handle, piece)
            await shown.ask(messages.ListSessions)  # answered after all of them
            assert sum(isinstance(said, messages.Notice) for said in shown.said) == 1, "told, and told once"
            typed_at = time.monotonic()
            result = await host.result(host.ask(other_id, "hello", wait="idle"))
            assert result["submitted"] == "confirmed", result
        finally:
            os.kill(pid, signal.SIGCONT)
        # After a pause it is another input, which is taken again.
        await until(lambda: time.monotonic() - typed_at > 1.2, "a pause")
        shown.type(handle, b"END")
        await until(lambda: cli.received.endswith(b"END"), "what was typed last")
        whole, received = b"are you there" + b"".join(pieces), cli.received.removesuffix(b"END")
        assert whole.startswith(received), "a beginning, without a hole"
        assert len(b"are you there" + b"".join(pieces[:10])) < len(received) < len(whole)
        assert quick.received == b"hello\r"


# --- half closed ------------------------------------------------------------------------------------------------------


async def test_a_grandchild_that_holds_the_terminal_does_not_keep_a_session_open(host: FieldHost) -> None:
    async with page(host) as shown:
        handle = await shown.open(host, "shell")
        session_id = shown.sessions[handle].id
        shown.type(handle, b"(trap '' HUP; sleep 1000) & echo held-by-$!; exit 3\r")
        info = await shown.status(handle, "failed")
        assert info.exit == messages.ExitStatus(code=3)
        found = await shown.once(lambda: re.search(rb"held-by-(\d+)\r\n", shown.output[handle]), "who holds it")
        holder = int(found[1])
        try:
            os.kill(holder, 0)
            result = await host.result(host.ask(session_id, "hello"))
            assert (result["error"], result["wrote"]) == (reasons.NOT_FOUND, False)
        finally:
            for pid in (holder, *_children(holder)):
                os.kill(pid, signal.SIGKILL)


def _children(pid: int) -> list[int]:
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


async def test_a_program_that_closes_its_terminal_is_still_a_session_and_costs_nothing(host: FieldHost) -> None:
    async with page(host) as shown:
        handle = await shown.open(host, "shell")
        info = shown.sessions[handle]
        shown.type(handle, b"echo my-$((40+2)); exec sleep 1000 <&- >&- 2>&-\r")
        await shown.printed(handle, b"my-42")
        await until(lambda: not _has_terminal(info.pid), "a closed terminal")
        before = voluntary_switches(host.pid)
        second = await asyncio.create_subprocess_exec("sleep", "1")
        await second.wait()
        assert voluntary_switches(host.pid) - before <= 10
        assert shown.sessions[handle].state == "open"
        os.kill(info.pid, signal.SIGKILL)
        ended = await shown.status(handle, "failed")
        assert ended.exit == messages.ExitStatus(signal=9)


def _has_terminal(pid: int | None) -> bool:
    return any(os.readlink(descriptor).startswith("/dev/pts") for descriptor in Path(f"/proc/{pid}/fd").iterdir())


# --- in the middle of a prompt ----------------------------------------------------------------------------------------


async def test_a_session_that_exits_while_a_prompt_is_typed(host: FieldHost) -> None:
    async with page(host) as shown:
        handle, session_id, cli = await host.open_script(shown, exit_on_text=7)
        for payload in ({"command": "x" * 4000}, {"chain": [{"command": "y" * 4000}, {"command": "z"}]}):
            name = host.ask(session_id, **payload)
            result = await host.result(name)
            assert result["ok"] is False
            if "command" in payload:
                assert (result["error"], result["submitted"], result["wrote"]) == (reasons.EXITED, "no", True), result
            else:
                assert (result["error"], result["wrote"]) == (reasons.NOT_FOUND, False), result
        info = await shown.status(handle, "failed")
        assert info.exit == messages.ExitStatus(code=7)
        assert b"\r" not in cli.received


async def test_a_host_killed_between_a_text_and_its_enter(tmp_path: Path) -> None:
    host = FieldHost(tmp_path, FAST)
    host.environment["SWITCHBOARD_SUBMIT_ENTER_DELAY_MS"] = "60000"
    host.start()
    try:
        async with page(host) as shown:
            handle, session_id, cli = await host.open_script(shown)
            name = host.ask(session_id, "left behind")
            await until(lambda: cli.received == b"left behind", "the text")
            host.kill()
        del host.environment["SWITCHBOARD_SUBMIT_ENTER_DELAY_MS"]
        host.start()
        async with page(host) as shown:
            assert shown.sessions[handle].draft
            # It is not typed again, and what became of it is said.
            result = await host.result(name)
            assert (result["ok"], result["submitted"], result["wrote"]) == (False, "no", True), result
            assert (result["error"], result["reason"]) == (reasons.INTERRUPTED, reasons.RESTARTED)
            refused = await host.result(host.ask(session_id, "not now", timeout_ms=300))
            assert refused["reason"] == reasons.composer_pending("11")
            # Somebody presses Enter at the program itself: the transcript shows the prompt, and the way is free.
            cli.tell((0, "enter", None))
            result = await host.result(host.ask(session_id, "now then", wait="idle"))
            assert result["submitted"] == "confirmed", result
            assert cli.submitted == ["left behind", "now then"]
            assert cli.received == b"left behindnow then\r"
    finally:
        host.clean_up()


async def test_a_host_killed_while_it_waits_for_the_effect(tmp_path: Path) -> None:
    host = FieldHost(tmp_path, FAST | {"SWITCHBOARD_SUBMIT_VERIFY_MS": "60000"})
    host.start()
    try:
        async with page(host) as shown:
            _, session_id, cli = await host.open_script(shown, swallow=1)
            name = host.ask(session_id, "swallowed")
            await until(lambda: cli.received == b"swallowed\r", "the prompt")
            host.kill()
        host.start()
        result = await host.result(name)
        assert (result["ok"], result["submitted"], result["wrote"]) == (False, "assumed", True), result
        assert (result["error"], result["reason"]) == (reasons.INTERRUPTED, reasons.RESTARTED)
        assert cli.received == b"swallowed\r"
    finally:
        host.clean_up()


async def test_a_request_that_only_waited_when_the_host_was_killed_is_carried_out(host: FieldHost) -> None:
    async with page(host) as shown:
        handle, session_id, cli = await host.open_script(shown)
        shown.type(handle, b"a draft")
        await shown.once(lambda: shown.sessions[handle].draft, "the draft")
        name = host.ask(session_id, "when you are done")
        await shown.heard(lambda said: isinstance(said, messages.TriggerActivity), "the request to be taken")
        host.kill()
    host.start()
    async with page(host) as shown:
        shown.type(handle, b"\x15")
        result = await host.result(name)
        assert result["submitted"] == "confirmed", result
        assert cli.received == b"a draft\x15when you are done\r"
