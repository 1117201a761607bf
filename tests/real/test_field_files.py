"""Reported from the field: request files read half-written, and a folder whose files cannot be deleted."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.support.field import FAST, FieldHost, voluntary_switches
from tests.support.hosting import page, until

from switchboard.page import messages


@pytest.fixture
def host(tmp_path: Path) -> Iterator[FieldHost]:
    made = FieldHost(tmp_path, FAST)
    made.start()
    yield made
    made.clean_up()


def requests(host: FieldHost) -> list[str]:
    return sorted(entry.name for entry in host.triggers.iterdir() if entry.is_file())


def results(host: FieldHost) -> list[str]:
    return sorted(entry.name for entry in (host.triggers / "processed").iterdir())


# --- half-written requests --------------------------------------------------------------------------------------------

# Writers of all kinds: `path`, then the pieces; half a second passes between one and the next.
WRITERS = {
    "one-open-file": """
with open(path, "w") as file:
    for piece in pieces:
        file.write(piece); file.flush(); time.sleep(0.5)
""",
    "appended": """
open(path, "w").close(); time.sleep(0.5)
for piece in pieces:
    with open(path, "a") as file:
        file.write(piece)
    time.sleep(0.5)
""",
    "rewritten": """
for count in range(len(pieces) + 1):
    with open(path, "w") as file:
        file.write("".join(pieces[:count]))
    time.sleep(0.5)
""",
    "at-an-offset": """
file = os.open(path, os.O_WRONLY | os.O_CREAT, 0o644)
os.ftruncate(file, sum(map(len, pieces))); time.sleep(0.5)
at = 0
for piece in pieces:
    os.pwrite(file, piece.encode(), at); at += len(piece); time.sleep(0.5)
""",
    "linked": """
with open(path + ".tmp", "w") as file:
    file.write("".join(pieces))
os.link(path + ".tmp", path); os.unlink(path + ".tmp")
""",
    "renamed": """
with open(path + ".tmp", "w") as file:
    file.write("".join(pieces))
os.rename(path + ".tmp", path)
""",
    "renamed-while-it-is-written": """
file = open(path + ".tmp", "w")
file.write("".join(pieces)); file.flush()
os.rename(path + ".tmp", path)
time.sleep(0.5); file.close()
""",
    "renamed-twice": """
for _ in range(2):
    with open(path + ".tmp", "w") as file:
        file.write("".join(pieces))
    os.rename(path + ".tmp", path)
""",
}


async def test_06_a_half_written_request_is_handled_exactly_once(host: FieldHost) -> None:
    async with page(host) as shown:
        _, session_id, cli = await host.open_script(shown)
        writers = []
        for kind, program in WRITERS.items():
            body = json.dumps({"sessionId": session_id, "command": f"written {kind}"})
            third = len(body) // 3
            pieces = [body[:third], body[third : 2 * third], body[2 * third :]]
            text = f"import os, sys, time\npath, *pieces = sys.argv[1:]\n{program}"
            path = host.triggers / f"{kind}.json"
            writers.append(await asyncio.create_subprocess_exec(sys.executable, "-c", text, str(path), *pieces))
        for kind in WRITERS:
            result = await host.result(kind)
            assert (result.get("command"), result["ok"]) == (f"written {kind}", True), result
        assert [await writer.wait() for writer in writers] == [0] * len(writers)
        await until(lambda: not requests(host), "an empty folder")
        # "Renamed twice" replaces a request that may have been handled before: then it is a new one.
        once = [text for text in cli.submitted if text != "written renamed-twice"]
        assert sorted(once) == sorted(f"written {kind}" for kind in WRITERS if kind != "renamed-twice")
        assert 1 <= cli.submitted.count("written renamed-twice") <= 2
        assert len(results(host)) == len(WRITERS)


async def test_06_a_request_replaced_while_it_waits_is_handled_once(host: FieldHost) -> None:
    async with page(host) as shown:
        handle, session_id, cli = await host.open_script(shown)
        shown.type(handle, b"a draft")
        await shown.once(lambda: shown.sessions[handle].draft, "the draft")
        names = [host.trigger({"sessionId": session_id, "command": "first"}, name) for name in ("held", "queued")]
        for name in names:
            await shown.heard(lambda said, name=name: _received(said, name), f"{name} to be taken")  # type: ignore[misc]  # a bound default
            host.trigger({"sessionId": session_id, "command": "replaced"}, name)
        shown.type(handle, b"\x15")
        for name in names:
            result = await host.result(name)
            assert (result["ok"], result["command"]) == (True, "first"), result
        await until(lambda: not requests(host), "an empty folder")
        assert cli.submitted == ["first", "first"]
        assert results(host) == ["held.result.json", "queued.result.json"]


def _received(said: messages.HostMessage, name: str) -> bool:
    return isinstance(said, messages.TriggerActivity) and (said.name, said.step) == (name, "received")


# --- a folder whose files cannot be deleted ---------------------------------------------------------------------------


class BoundHost(FieldHost):
    """A host that is held to the permissions of its folders, also when root runs it."""

    launcher = ("setpriv", "--bounding-set=-dac_override,-dac_read_search,-fowner") if os.geteuid() == 0 else ()


async def test_11_files_that_cannot_be_deleted_cost_one_line_each_and_no_time(tmp_path: Path) -> None:
    host = BoundHost(tmp_path, FAST)
    host.start()
    count = 20
    try:
        async with page(host) as shown:
            handle, session_id, cli = await host.open_script(shown)
            shown.type(handle, b"a draft")
            await shown.once(lambda: shown.sessions[handle].draft, "the draft")
            held = [host.ask(session_id, f"held {number}") for number in range(count)]
            host.triggers.chmod(0o555)
            shown.type(handle, b"\x15")
            for name in held:
                assert (await host.result(name))["ok"]
            assert cli.submitted == [f"held {number}" for number in range(count)]
            await until(lambda: host.log.count("cannot be removed") == count, "the log")
            log, written = host.log, _stamps(host)
            # Whatever happens to the files or the folder, they are not looked at again.
            for name in held:
                os.utime(host.triggers / f"{name}.json")
            host.triggers.rename(host.triggers.with_name("away"))
            host.triggers.with_name("away").rename(host.triggers)
            # A request that comes now shows that the folder has been listed again.
            host.triggers.chmod(0o755)
            later = host.ask(session_id, "one more")
            assert (await host.result(later))["ok"]
            switches = await _switches_in_a_second(host.pid)
            assert switches <= 10
            assert sorted(requests(host)) == sorted(f"{name}.json" for name in held)
            assert cli.submitted == [*(f"held {number}" for number in range(count)), "one more"]
            after = _stamps(host)
            after.pop(f"{later}.result.json")
            assert after == written
            assert host.log.removeprefix(log).count("\n") <= 2
    finally:
        host.clean_up()


def _stamps(host: FieldHost) -> dict[str, int]:
    return {name: os.stat(host.triggers / "processed" / name).st_mtime_ns for name in results(host)}


async def _switches_in_a_second(pid: int) -> int:
    """How often a process wakes up by itself while nothing happens."""
    before = voluntary_switches(pid)
    watched = await asyncio.create_subprocess_exec("sleep", "1")
    await watched.wait()
    return voluntary_switches(pid) - before
