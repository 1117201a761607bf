"""The host as a real process: sessions outlive it, triggers are answered, several pages, bad input."""

import asyncio
import json
import os
import signal
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest
from tests.support.hosting import RunningHost, page, until

from switchboard.common.frames import BINARY, TEXT, encode_frame
from switchboard.page import messages


@pytest.fixture
def host(tmp_path: Path) -> Iterator[RunningHost]:
    made = RunningHost(tmp_path).start()
    yield made
    made.clean_up()


async def test_a_trigger_is_delivered_and_proven(host: RunningHost) -> None:
    async with page(host) as shown:
        handle = await shown.open(host)
        info = await shown.status(handle, "idle")
        result = await host.result(host.trigger({"sessionId": info.id, "command": "hello there", "wait": "idle"}))
        assert result["ok"] is True
        assert result["submitted"] == "confirmed"
        assert result["confirm_source"] == "descriptor"
        await shown.printed(handle, b"hello there")
        activity = await shown.heard(
            lambda message: isinstance(message, messages.TriggerActivity) and message.step == "done", "the trigger"
        )
        assert (activity.ok, activity.submitted, activity.session_id) == (True, "confirmed", info.id)
        (listed,) = [session for session in host.sessions() if session["state"] == "open"]
        assert listed["id"] == info.id
        assert listed["cwd"] == str(host.project)
        assert (listed["cli"], listed["pid"], listed["generation"]) == ("agent", info.pid, info.generation)


async def test_a_killed_host_leaves_sessions_drafts_and_output_to_the_next(host: RunningHost) -> None:
    async with page(host) as shown:
        handle = await shown.open(host)
        before = await shown.status(handle, "idle")
        shown.type(handle, b"[stream] [slow 2s] long answer\r")
        await shown.status(handle, "busy")
        shown.type(handle, b"half a dr")
        await shown.once(lambda: shown.sessions[handle].draft, "the draft")
        host.kill()
    host.start()
    async with page(host) as shown:
        after = shown.sessions[handle]
        assert (after.pid, after.generation, after.id) == (before.pid, before.generation, before.id)
        assert after.draft
        shown.say(messages.Attach(handle))
        shown.say(messages.Focus(handle, 120, 40))
        await shown.status(handle, "idle")
        refused = await host.result(
            host.trigger({"sessionId": after.id, "command": "not now", "wait": "idle", "timeout_ms": 800})
        )
        assert refused["reason"] == "9 byte(s) of input are sitting unsubmitted in the composer"
        shown.type(handle, b"\x15")
        done = await host.result(host.trigger({"sessionId": after.id, "command": "now then", "wait": "idle"}))
        assert done["submitted"] == "confirmed"
        assert shown.gaps == []


async def test_output_has_no_gap_over_kills_of_the_host(host: RunningHost) -> None:
    script = (
        "i=0; while [ $i -lt 40000 ]; do i=$((i+1)); echo line-$i; [ $((i % 400)) = 0 ] && sleep 0.02; done; read x"
    )
    async with page(host) as shown:
        handle = await shown.open(host, "shell")
        shown.type(handle, f"clear; sh -c '{script}'\r".encode())
        await shown.printed(handle, b"line-500\r\n")
        host.kill()
        text = bytes(shown.output[handle])
        position = shown.next_seq[handle]
    for target in (15000, 30000, 40000):
        host.start()
        async with page(host) as shown:
            shown.next_seq[handle] = position
            shown.say(messages.Attach(handle, position))
            await shown.printed(handle, f"line-{target}\r\n".encode())
            assert shown.gaps == []
            host.kill()
            text += bytes(shown.output[handle])
            position = shown.next_seq[handle]
    body = text[text.index(b"line-1\r\n") :]
    assert body == b"".join(b"line-%d\r\n" % number for number in range(1, 40001))
    host.start()


async def test_a_terminated_host_ends_at_once_and_its_sessions_go_on(host: RunningHost) -> None:
    async with page(host) as shown:
        handle = await shown.open(host)
        info = await shown.status(handle, "idle")
        assert host.terminate() < 5
        await shown.once(lambda: shown.ended, "the end of the connection")
    assert not (host.data / "host.json").exists()
    assert os.path.exists(f"/proc/{info.pid}")
    host.start()
    record = json.loads((host.data / "host.json").read_text())
    assert host.process is not None
    assert record["pid"] == host.process.pid
    assert (host.data / "host.json").stat().st_mode & 0o777 == 0o600


async def test_down_with_sessions_ends_them_as_stop_would(host: RunningHost) -> None:
    async with page(host) as shown:
        handle = await shown.open(host)
        info = await shown.status(handle, "idle")
        descriptor = host.root / "agent" / "sessions" / f"{info.pid}.json"
        assert descriptor.exists()
        ended = host.cli("down", "--sessions")
        assert ended.returncode == 0, ended.stderr
    assert host.process is not None
    host.process.wait(10)
    assert not descriptor.exists()
    assert not os.path.exists(f"/proc/{info.pid}")


async def test_a_killed_keeper_costs_no_session(host: RunningHost) -> None:
    async with page(host) as shown:
        handle = await shown.open(host)
        info = await shown.status(handle, "idle")
        keeper = int((host.data / "run" / "keeper.lock").read_text())
        os.kill(keeper, signal.SIGKILL)
        await shown.heard(lambda message: isinstance(message, messages.Notice), "a notice")
        result = await host.result(host.trigger({"sessionId": info.id, "command": "still there?", "wait": "idle"}))
        assert result["submitted"] == "confirmed"
        second = await shown.open(host)
        await shown.status(second, "idle")
        assert shown.sessions[handle].state == "open"
        # Its exit is seen by the new keeper, too.
        done = await shown.ask(lambda number: messages.StopSession(number, handle))
        assert done.ok, done
        host.kill()
    host.start()
    async with page(host) as shown:
        assert [info.state for info in shown.sessions.values()] == ["open"]


async def test_two_pages_see_everything_and_one_decides_the_size(host: RunningHost) -> None:
    async with page(host) as one, page(host) as two:
        await one.heard(lambda message: isinstance(message, messages.Role), "the role")
        assert not any(isinstance(message, messages.Role) for message in two.said)
        handle = await one.open(host, "shell")
        await two.once(lambda: handle in two.sessions, "the session")
        two.say(messages.Attach(handle))
        one.type(handle, b"stty size; echo over-$((1+1))\r")
        await two.printed(handle, b"over-2")
        assert b"40 120" in two.output[handle]
        two.say(messages.Focus(handle, 60, 20))
        await one.heard(lambda message: isinstance(message, messages.Size) and not message.owner, "the new size")
        two.type(handle, b"stty size; echo now-$((1+2))\r")
        await one.printed(handle, b"now-3")
        assert b"20 60" in one.output[handle]
        # Typing takes the size back.
        one.type(handle, b"stty size; echo again-$((1+3))\r")
        await one.printed(handle, b"again-4")
        assert one.output[handle].count(b"40 120") == 2


async def test_the_next_ready_page_takes_over_the_renderer_role(host: RunningHost) -> None:
    async with page(host) as two:
        async with page(host, ready=False) as one:
            await two.heard(lambda message: isinstance(message, messages.Role), "the role")
            one.say(messages.Ready())
        async with page(host) as three:
            two.say(messages.Bye())
            await three.heard(lambda message: isinstance(message, messages.Role) and message.renderer, "the role")


async def test_only_the_page_that_owns_the_size_answers_queries(host: RunningHost) -> None:
    async with page(host) as owner, page(host) as other:
        handle = await owner.open(host, "shell")
        other.say(messages.Attach(handle))
        await other.once(lambda: handle in other.next_seq, "the attachment")
        owner.type(handle, b"cat -v\r")
        await owner.printed(handle, b"cat -v\r\n")
        other.type(handle, b"\x1b[24;80R\x1b[?62;c")
        owner.type(handle, b"\x1b[12;34R\r")
        await owner.printed(handle, b"^[[12;34R")
        assert b"24;80" not in owner.output[handle]
        assert b"62" not in owner.output[handle]


async def test_a_replay_asks_nothing(host: RunningHost) -> None:
    async with page(host) as first:
        handle = await first.open(host, "shell")
        first.type(handle, b"printf 'a\\033[6nb\\033[cc\\033]11;?\\007d'; echo; echo done-$((2+2))\r")
        await first.printed(handle, b"done-4")
        assert b"a\x1b[6nb\x1b[cc\x1b]11;?\x07d" in first.output[handle]
        async with page(host) as second:
            second.say(messages.Attach(handle))
            await second.printed(handle, b"done-4")
            assert b"\x1b[6n" not in second.output[handle]
            assert b"\x1b[c" not in second.output[handle]
            assert b"\x1b]11;?" not in second.output[handle]
            assert second.next_seq[handle] == first.next_seq[handle]


# --- bad input --------------------------------------------------------------------------------------------------


def frame(body: bytes, kind: int = TEXT) -> bytes:
    return encode_frame(kind, body)


HELLO = frame(messages.encode(messages.Hello(messages.PROTOCOL, "terminal")))


@pytest.mark.parametrize(
    ("name", "data", "text"),
    [
        ("http", b"GET / HTTP/1.1\r\nHost: x\r\n\r\n", "not a frame of this protocol"),
        ("no-hello", frame(b'{"type":"ready"}'), "the first message must be hello"),
        ("binary-first", frame(b"\1\0\0\0\1x", BINARY), "the first message must be hello"),
        ("old-protocol", frame(b'{"type":"hello","protocol":0,"kind":"terminal"}'), "page protocol 2"),
        ("not-json", HELLO + frame(b"{"), "not a message of this protocol"),
        ("not-utf8", HELLO + frame(b'{"type":"\xff"}'), "not a message of this protocol"),
        ("unknown-type", HELLO + frame(b'{"type":"format-disk"}'), "not a message of this protocol"),
        ("unknown-field", HELLO + frame(b'{"type":"ready","x":1}'), "not a message of this protocol"),
        ("wrong-type", HELLO + frame(b'{"type":"attach","session":"1"}'), "not a message of this protocol"),
        ("deep", HELLO + frame(b"[" * 100_000), "not a message of this protocol"),
        ("enormous", HELLO + b"\x7f\xff\xff\xff\1", "over the limit"),
        ("short-binary", HELLO + frame(b"\1", BINARY), "not a terminal-input frame"),
        ("long-input", HELLO + frame(b"\1\0\0\0\1" + b"x" * 70_000, BINARY), "terminal input of more than 65536 bytes"),
        ("hello-twice", HELLO + HELLO, "hello was said already"),
        ("size", HELLO + frame(b'{"type":"focus","session":1,"columns":100000,"rows":1}'), "not a message"),
    ],
    ids=lambda value: value if isinstance(value, str) and " " not in value else "",
)
async def test_nonsense_from_a_page_is_refused_and_harms_no_session(
    host: RunningHost, name: str, data: bytes, text: str
) -> None:
    async with page(host) as good:
        handle = await good.open(host, "shell")
        reader, writer = await asyncio.open_unix_connection(host.socket)
        writer.write(data)
        async with asyncio.timeout(20):
            said = await reader.read()
        writer.close()
        await writer.wait_closed()
        assert text in said.decode("utf-8", "replace"), name
        good.type(handle, b"echo well-$((40+2))\r")
        await good.printed(handle, b"well-42")


async def test_unknown_sessions_and_directories_are_refused_with_a_remedy(host: RunningHost) -> None:
    async with page(host) as shown:
        shown.say(messages.Attach(99))
        await shown.heard(lambda message: isinstance(message, messages.SessionGone), "no such session")
        shown.type(99, b"x")
        await shown.heard(lambda message: isinstance(message, messages.Notice), "nothing was typed")
        for fields, reason in (
            ({"cwd": "/no/such/folder"}, "project directory does not exist"),
            ({"cwd": "relative"}, "project must be an absolute path"),
            ({"profile": "nonesuch"}, "unknown CLI"),
            ({"profile": "codex"}, "session open failed"),
            ({"mode": "resume"}, "missing session id"),
            (
                {"mode": "resume", "session_id": "0d6f3a52-0000-4000-8000-00000000000a", "cwd": None},
                "no readable transcript",
            ),
        ):
            given = {"mode": "new", "profile": "agent", "cwd": str(host.project), **fields}
            done = await shown.ask(partial(messages.OpenSession, **given))
            assert (done.ok, done.reason) == (False, reason)
            assert done.detail
        done = await shown.ask(lambda number: messages.StopSession(number, 99))
        assert (done.ok, done.reason) == (False, "session not found")


async def test_a_cli_that_exits_at_once_is_shown_with_what_it_said(host: RunningHost) -> None:
    broken = host.root / "claude-broken"
    broken.write_text("#!/bin/sh\nprintf 'gar\\033]bage\\377\\n'; exit 4\n")
    broken.chmod(0o755)
    host.terminate()
    host.environment["SWITCHBOARD_CLAUDE"] = str(broken)
    host.start()
    async with page(host) as shown:
        handle = await shown.open(host, profile="claude")
        info = await shown.status(handle, "failed")
        assert info.exit == messages.ExitStatus(code=4)
        await shown.printed(handle, b"gar")
        result = await host.result(host.trigger({"sessionId": info.id, "command": "hello"}))
        assert result["error"] == "session not found"


async def test_a_second_host_says_who_runs(host: RunningHost) -> None:
    second = host.cli("up", "--no-open")
    assert second.returncode == 1
    assert "a host is running already" in second.stderr
    assert "switchboard down" in second.stderr
    assert "Traceback" not in second.stderr
    assert host.sessions() == []


async def test_exit_codes_of_send_and_result(host: RunningHost) -> None:
    async with page(host) as shown:
        handle = await shown.open(host)
        info = await shown.status(handle, "idle")
        good = host.cli("send", info.id, "hello", "--wait", "idle")
        assert good.returncode == 0, good.stderr
        name = next(path.name for path in (host.triggers / "processed").iterdir()).removesuffix(".result.json")
        assert host.cli("result", name).stdout == good.stdout
        assert host.cli("send", "nobody", "hello").returncode == 1
        assert host.cli("send", info.id, "hello", "--expected-cwd", "/elsewhere").returncode == 1
        assert host.cli("send", info.id).returncode == 2
        assert host.cli("send", info.id, "x", "--chain", "/no/such/file").returncode == 2
        assert host.cli("result", "nothing").returncode == 4
        await shown.status(handle, "idle")
        chain = host.root / "chain.json"
        chain.write_text(json.dumps(["one", {"command": "two", "timeout_ms": 20000}]))
        chained = host.cli("send", info.id, "--chain", str(chain), "--wait", "idle")
        assert json.loads(chained.stdout)["submitted"] == "confirmed"
        escaped = host.cli("send", info.id, "--key", "Escape")
        assert json.loads(escaped.stdout)["submitted"] == "assumed"


async def test_a_request_without_a_host_stays_and_is_said_to(host: RunningHost) -> None:
    host.terminate()
    waited = host.cli("send", "anyone", "hello", "--bound", "0.3")
    assert waited.returncode == 4
    assert "stays" in waited.stderr
    (left,) = host.triggers.glob("*.json")
    host.start()
    await until(lambda: not left.exists(), "the request's end")
    assert host.cli("result", left.stem).returncode == 1


async def test_the_folder_for_sockets_is_private_and_a_deep_data_directory_works(tmp_path: Path) -> None:
    host = RunningHost(tmp_path)
    host.data = tmp_path / ("deep" * 30) / "data"
    host.environment["SWITCHBOARD_DATA_DIR"] = str(host.data)
    host.start()
    try:
        assert len(host.socket) < 100
        assert os.stat(os.path.dirname(host.socket)).st_mode & 0o777 == 0o700
        assert os.stat(host.socket).st_mode & 0o777 == 0o600
        assert host.sessions() == []
    finally:
        host.terminate()


async def test_a_fork_is_a_session_of_its_own(host: RunningHost) -> None:
    async with page(host) as shown:
        first = await shown.open(host)
        info = await shown.status(first, "idle")
        await host.result(host.trigger({"sessionId": info.id, "command": "hello", "wait": "idle"}))
        await shown.status(first, "idle")
        second = await shown.open(host, mode="fork", session_id=info.id, force=True)
        forked = await shown.once(lambda: (now := shown.sessions[second]).status == "idle" and now, "the fork")
        assert forked.id != info.id
        assert shown.sessions[first].id == info.id
        result = await host.result(host.trigger({"sessionId": forked.id, "command": "only here", "wait": "idle"}))
        assert result["submitted"] == "confirmed"
        await shown.printed(second, b"only here")
        assert b"only here" not in shown.output[first]


async def test_clear_goes_on_under_a_new_id_and_the_old_one_still_reaches_it(host: RunningHost) -> None:
    async with page(host) as shown:
        handle = await shown.open(host)
        before = await shown.status(handle, "idle")
        shown.type(handle, b"/clear\r")
        after = await shown.once(lambda: (now := shown.sessions[handle]).id != before.id and now, "the new id")
        assert (after.pid, after.generation) == (before.pid, before.generation)
        result = await host.result(host.trigger({"sessionId": before.id.upper(), "command": "hi", "wait": "idle"}))
        assert result["submitted"] == "confirmed"
        host.kill()
    host.start()
    async with page(host) as shown:
        assert shown.sessions[handle].id == after.id
        result = await host.result(host.trigger({"sessionId": before.id, "command": "ho", "wait": "idle"}))
        assert result["submitted"] == "confirmed"


async def test_a_closed_session_is_listed_and_resumed_in_its_directory(host: RunningHost) -> None:
    async with page(host) as shown:
        handle = await shown.open(host, name="My session")
        info = await shown.status(handle, "idle")
        await host.result(host.trigger({"sessionId": info.id, "command": "remember me", "wait": "idle"}))
        await shown.status(handle, "idle")
        assert (await shown.ask(lambda number: messages.StopSession(number, handle))).ok
        # Its terminal is listed as ended until it is removed, and the conversation only once.
        (ended,) = [one for one in host.sessions() if one["id"] == info.id]
        assert ended["state"] == "exited"
        assert (await shown.ask(lambda number: messages.StopSession(number, handle))).ok
        (closed,) = [one for one in host.sessions() if one["state"] == "closed"]
        assert (closed["id"], closed["cwd"], closed["name"]) == (info.id, str(host.project), "My session")
        again = await shown.open(host, mode="resume", session_id=info.id.upper(), cwd=None)
        resumed = await shown.status(again, "idle")
        assert (resumed.id, resumed.name, resumed.cwd) == (info.id, "My session", str(host.project))
        assert resumed.generation > info.generation
        twice = await shown.ask(lambda number: messages.OpenSession(number, "resume", "agent", session_id=info.id))
        assert twice.session.handle == again


ATTACHABLE = """#!/usr/bin/env python3
import os, sys, termios, tty
tty.setraw(0)
print("ARGS", *sys.argv[1:], end="\\r\\n", flush=True)
while (data := os.read(0, 100)) and b"\\x1a" not in data:
    print("GOT", repr(data), end="\\r\\n", flush=True)
print("DETACHED", end="\\r\\n", flush=True)
"""


async def test_a_background_job_is_attached_to_and_stop_detaches(host: RunningHost) -> None:
    program = host.root / "claude-attachable"
    program.write_text(ATTACHABLE)
    program.chmod(0o755)
    host.terminate()
    host.environment["SWITCHBOARD_CLAUDE"] = str(program)
    host.start()
    session_id = "0d6f3a52-0000-4000-8000-0000000000bb"
    folder = host.root / "claude" / "sessions"
    folder.mkdir(parents=True)
    start = Path(f"/proc/{os.getpid()}/stat").read_text().rpartition(")")[2].split()[19]
    (folder / f"{os.getpid()}.json").write_text(
        json.dumps(
            {
                "pid": os.getpid(),
                "sessionId": session_id,
                "procStart": start,
                "kind": "bg",
                "jobId": "job7",
                "status": "busy",
            }
        )
    )
    async with page(host) as shown:
        unattached = await host.result(host.trigger({"sessionId": session_id, "command": "hello"}))
        assert (unattached["error"], unattached["jobId"]) == ("background session, not attached here", "job7")
        handle = await shown.open(host, profile="attach", session_id=session_id)
        await shown.printed(handle, b"ARGS attach job7")
        delivered = await host.result(host.trigger({"sessionId": session_id, "command": "hello"}))
        assert delivered["ok"] is True
        await shown.printed(handle, b"GOT b'hello'")
        stopped = await shown.ask(lambda number: messages.StopSession(number, handle))
        assert stopped.ok, stopped
        await shown.printed(handle, b"DETACHED")
        missing = await shown.ask(
            lambda number: messages.OpenSession(number, "new", "attach", session_id="nobody", cwd=str(host.project))
        )
        assert (missing.ok, missing.reason) == (False, "session not found")
