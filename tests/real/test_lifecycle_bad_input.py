"""What nobody should send, and folders that nobody should have: each gets its exact answer, and nothing is harmed."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import statistics
import sys
import time
import uuid
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest
from tests.real.test_full_disk import full_disk
from tests.support.field import FieldHost, resident_mb
from tests.support.hosting import Page, page, until
from tests.support.lifecycle_host import PATIENCE, asked, facts, listed, new, processes, prompts, told_of, watch_page
from tests.support.screens import Screen

from switchboard.page import messages

ID = "01234567-89ab-cdef-0123-456789abcdef"
DEPTH = 30_000
DEEP = "[" * DEPTH + "]" * DEPTH
NINES = "9" * 5000
ZEROS = "0" * 5000


@pytest.fixture
def host(tmp_path: Path) -> Iterator[FieldHost]:
    made = FieldHost(tmp_path)
    yield made
    made.cli("down", "--sessions", timeout=PATIENCE)
    made.clean_up()


def start(host: FieldHost) -> None:
    host.start()
    assert host.cli("config", "set", "cli", "agent").returncode == 0
    assert host.cli("project", "add", str(host.project)).returncode == 0


@pytest.fixture
async def stack() -> AsyncIterator[AsyncExitStack]:
    async with AsyncExitStack() as stack:
        yield stack


async def page_of(host: FieldHost, stack: AsyncExitStack) -> Screen:
    """Start the host, and its page."""
    start(host)
    shown = await stack.enter_async_context(watch_page(host))
    await shown.shows("Press n to start a session")
    return shown


@pytest.fixture
async def screen(stack: AsyncExitStack, host: FieldHost) -> Screen:
    """The host runs, and its page is there."""
    return await page_of(host, stack)


def put(host: FieldHost, content: str | bytes, name: str | None = None) -> str:
    """Publish a request by renaming it in; return its name without the ending."""
    name = name or str(uuid.uuid4())
    beside = host.triggers / ".beside"
    beside.write_bytes(content.encode("utf-8", "surrogatepass") if isinstance(content, str) else content)
    beside.rename(host.triggers / f"{name}.json")
    return name


async def answer(host: FieldHost, name: str) -> str:
    """The text of a result."""
    path = host.result_path(name)
    await until(path.exists, f"result of {name}", PATIENCE)
    return path.read_text("utf-8")


async def start_again(host: FieldHost, screen: Screen) -> None:
    """Start the next host, and wait for the page's return."""
    said = len(screen.raw)
    host.start()
    # Where the host has found something that a person has to see to, the page says that in place of its return.
    words = (b"connected to the host again", b"is left alone")
    await screen.until(lambda: any(one in screen.raw[said:] for one in words), "the page's return")


def left(folder: Path) -> list[str]:
    return sorted(entry.name for entry in folder.iterdir())


async def all_settled(host: FieldHost, *requests: str, markers: str = "") -> None:
    """Wait until everything is answered and cleared away, but these: it goes after its result has come."""
    folder = host.triggers / "processed"
    await until(lambda: left(host.triggers) == sorted([*requests, "processed"]), f"only {requests} to be left")
    await until(
        lambda: [name for name in left(folder) if not name.endswith(".result.json")] == ([markers] if markers else []),
        "only results to be left",
    )


# --- bodies -----------------------------------------------------------------------------------------------------------


def refused(
    reason: str | None,
    *,
    action: str = '"open"',
    version: str = "1",
    session: str = "null",
    spawned: str = '"resumed":false,',
    steps: int = 0,
    outcome: str = "refused",
) -> str:
    """The text of a refusal, with what it echoes as JSON."""
    said = json.dumps(reason, ensure_ascii=False)
    return (
        f'{{"version":{version},"action":{action},"ok":false,"outcome":"{outcome}","reason":{said},'
        f'"sessionId":{session},{spawned}"submitted":"no","wrote":false,"steps_total":{steps}}}\n'
    )


def unreadable(error: str) -> str:
    """The text of the answer to what cannot be taken for any kind of request."""
    return (
        f'{{"ok":false,"submitted":"no","steps_total":0,"error":"{error}","wrote":false,"text_written":false,'
        '"enter_written":false}\n'
    )


def to(session: str = f'"{ID}"', rest: str = "", action: str = "open") -> str:
    """A request for a session that nobody knows."""
    return f'{{"version":1,"action":"{action}","sessionId":{session}{rest}}}'


def into(project: str, name: str = '"x"') -> str:
    return f'{{"version":1,"action":"open","new":{{"project":{project},"name":{name}}},"prompt":"x"}}'


NO_SPAWN: dict[str, Any] = {"spawned": ""}
KNOWN_ID: dict[str, Any] = {"session": f'"{ID}"'}
NOWHERE = refused("session not found", session=f'"{ID}"', outcome="not-found")
UNKNOWN_PROJECT = refused("unknown project", spawned='"created":false,', steps=1)
NO_JSON = unreadable("invalid JSON: Expecting value at line 1 column 1")

BODIES: dict[str, tuple[str | bytes, str]] = {
    "a session id nested 30,000 deep": (to(DEEP), refused("sessionId must be a UUID")),
    "a version nested 30,000 deep": (
        f'{{"version":{DEEP}}}',
        refused("unsupported version", version=DEEP, action="null", **NO_SPAWN),
    ),
    "an action nested 30,000 deep": (
        f'{{"version":1,"action":{DEEP}}}',
        refused("unsupported action", action=DEEP, **NO_SPAWN),
    ),
    "nothing but 30,000 brackets": (
        DEEP,
        refused("trigger must be an object", version="null", action="null", **NO_SPAWN),
    ),
    "a field nested 30,000 deep": (
        to(rest=f',"x":{DEEP}', action="stop"),
        refused("unsupported field: x", action='"stop"', **NO_SPAWN),
    ),
    "objects nested 10,000 deep": (
        '{"version":1,"action":"open","prompt":"x","new":' + '{"a":' * 10_000 + "1" + "}" * 10_001,
        refused("unsupported field: new.a", spawned='"created":false,', steps=1),
    ),
    "brackets without end": (
        '{"version":1,"action":' + "[" * 60_000 + "}",
        unreadable("invalid JSON: Expecting value at line 1 column 60023"),
    ),
    "a timeout of 5,000 digits": (
        to(rest=f',"prompt":"x","timeout_ms":{NINES}'),
        refused("invalid timeout_ms", steps=1, **KNOWN_ID),
    ),
    "a timeout that is hardly more than nothing": (
        to(rest=f',"timeout_ms":0.{ZEROS}1'),
        refused("invalid timeout_ms", **KNOWN_ID),
    ),
    "a timeout of 1e400": (to(rest=',"timeout_ms":1e400'), refused("invalid timeout_ms", **KNOWN_ID)),
    "a timeout that is an integer, in 5,000 digits": (to(rest=f',"timeout_ms":1.{ZEROS}e3'), NOWHERE),
    "a version of 5,000 digits": (
        f'{{"version":{NINES},"action":"open"}}',
        refused("unsupported version", version="null", **NO_SPAWN),
    ),
    "a version of minus 5,000 digits": (
        f'{{"version":-{NINES},"action":"open"}}',
        refused("unsupported version", version="null", **NO_SPAWN),
    ),
    "a version of 20 digits": (
        '{"version":12345678901234567890,"action":5}',
        refused("unsupported version", version="12345678901234567000", action="5", **NO_SPAWN),
    ),
    "version 1, in 5,000 digits": (
        f'{{"version":1.{ZEROS},"action":"open"}}',
        refused("open requires exactly one of sessionId or new", **NO_SPAWN),
    ),
    "a session id of 5,000 digits": (
        to(NINES, action="stop"),
        refused("sessionId must be a UUID", action='"stop"', **NO_SPAWN),
    ),
    "half a surrogate pair as prompt": (
        to(rest=',"prompt":"\\ud800"'),
        refused("session not found", outcome="not-found", steps=1, **KNOWN_ID),
    ),
    "half a surrogate pair in a project": (into('"/tmp/\\ud800"'), UNKNOWN_PROJECT),
    "half a surrogate pair as name": (into('"/nowhere"', '"\\udfff"'), UNKNOWN_PROJECT),
    "half a surrogate pair in a session id": (to(f'"{ID[:-1]}\\ud800"'), refused("sessionId must be a UUID")),
    "half a surrogate pair as directory": (to(rest=',"expectedCwd":"\\ud800"'), NOWHERE),
    "half a surrogate pair as field": (to(rest=',"\\ud800":1'), refused("unsupported field: \ufffd")),
    "half a surrogate pair as action": (
        '{"version":1,"action":"\\ud800"}',
        refused("unsupported action", action='"\ufffd"', **NO_SPAWN),
    ),
    "NUL in a project": (into('"/tmp/\\u0000"'), UNKNOWN_PROJECT),
    "a project of 60,000 characters": (into(f'"/{"x" * 60_000}"'), UNKNOWN_PROJECT),
    "a session id and a line break": (to(f'"{ID}\\n"'), refused("sessionId must be a UUID")),
    "invalid UTF-8 in a prompt": (
        b'{"version":1,"action":"open","sessionId":"%s","prompt":"\xff\xfe"}' % ID.encode(),
        refused("session not found", outcome="not-found", steps=1, **KNOWN_ID),
    ),
    "invalid UTF-8 in a field": (
        b'{"version":1,"action":"open","sessionId":"%s","pr\xffmpt":"x"}' % ID.encode(),
        refused("unsupported field: pr\ufffdmpt"),
    ),
    "invalid UTF-8 in the action": (
        b'{"version":1,"action":"op\xc3"}',
        refused("unsupported action", action='"op\ufffd"', **NO_SPAWN),
    ),
    "invalid UTF-8 outside of texts": (b"\xff" + to().encode(), NO_JSON),
    "a byte-order mark": (b"\xef\xbb\xbf" + to().encode(), NO_JSON),
    "nothing": (b"", NO_JSON),
    "a number that is none": ('{"version":NaN}', unreadable("invalid JSON: NaN is not JSON")),
    "null": ("null", refused("trigger must be an object", version="null", action="null", **NO_SPAWN)),
    "a field twice": (
        f'{{"version":2,"version":1,"action":"stop","sessionId":"{ID}"}}',
        refused("session not found", action='"stop"', outcome="not-found", **KNOWN_ID, **NO_SPAWN),
    ),
    "a field of another language": (to(rest=',"__proto__":1'), refused("unsupported field: __proto__")),
    "64 KiB": (to().ljust(64 * 1024), NOWHERE),
    "64 KiB and a byte": (to().ljust(64 * 1024 + 1), unreadable("trigger too large (max 64 KB)")),
}


async def test_bodies(host: FieldHost) -> None:
    """All of them at once."""
    start(host)
    async with page(host) as shown:
        handle = await shown.open(host)
        await shown.status(handle, "idle")
        before = resident_mb(host.pid)
        names = {row: put(host, body) for row, (body, _) in BODIES.items()}
        for row, name in names.items():
            assert (row, await answer(host, name)) == (row, BODIES[row][1])
        assert resident_mb(host.pid) < before + 60
        await all_settled(host)
        assert left(host.triggers / "processed") == sorted(f"{name}.result.json" for name in names.values())
        alive = await host.result(host.ask(shown.sessions[handle].id, "hello"))
        assert alive["submitted"] == "confirmed"
        assert len(shown.sessions) == 1
    assert "Traceback" not in host.log
    assert "internal error" not in host.log


# --- texts that are no Unicode ----------------------------------------------------------------------------------------


async def test_half_a_surrogate_pair_in_what_is_done(host: FieldHost, screen: Screen) -> None:
    """It is typed, named and written down as the replacement character."""
    body = '{"version":1,"action":"open","new":{"project":"%s","name":"\\udfff name"},"prompt":"one \\ud800 end"}'
    made = json.loads(await answer(host, put(host, body % host.project)))
    assert facts(made) == ("opened", None, True, "confirmed", True, 1)
    session_id = made["sessionId"]
    assert listed(host, session_id)["name"] == "\ufffd name"
    elsewhere = json.loads(
        await answer(host, put(host, to(f'"{session_id}"', ',"prompt":"x","expectedCwd":"/\\udc80"')))
    )
    assert facts(elsewhere)[:2] == ("refused", "expectedCwd does not match this session's actual cwd")
    broken = b'{"version":1,"action":"open","sessionId":"%s","prompt":"two \xff end"}' % session_id.encode()
    assert json.loads(await answer(host, put(host, broken)))["submitted"] == "confirmed"
    note = to(f'"{session_id}"', ',"before":"three \\udfff end"', action="stop")
    stopped = json.loads(await answer(host, put(host, note)))
    assert facts(stopped) == ("closed", None, None, "confirmed", True, 1)
    assert prompts(host, session_id) == [f"{word} \ufffd end" for word in ("one", "two", "three")]


# --- files ------------------------------------------------------------------------------------------------------------


NOT_REGULAR = unreadable("trigger must be a regular file")
BAD_NAME = refused("trigger filename must be a lowercase UUID", spawned="", steps=1)


async def test_files(host: FieldHost, screen: Screen) -> None:
    """Each as one that could be taken for a request to the session that is open; one of them is."""
    session_id = (await new(host))["sessionId"]
    await all_settled(host)
    before = set(left(host.triggers / "processed"))
    body = to(f'"{session_id}"', ',"prompt":"do it"')
    outside = host.root / "outside"
    outside.write_text(body)
    outside.chmod(0o600)
    file = {row: str(uuid.uuid4()) for row in ("hard link", "link", "link that leads nowhere", "pipe", "folder")}
    expected = {file[row]: NOT_REGULAR for row in file if row != "hard link"}
    for name in (str(uuid.uuid4()).upper(), f"{ID}\n", f"\n{ID}", f"{ID}.action", ID[:-1], f"{ID} ", "name"):
        expected[put(host, body, name)] = BAD_NAME
    place = {row: host.triggers / f"{name}.json" for row, name in file.items()}
    os.link(outside, place["hard link"])
    place["link"].symlink_to(outside)
    place["link that leads nowhere"].symlink_to(host.root / "nothing")
    os.mkfifo(place["pipe"])
    place["folder"].mkdir()
    no_request = host.triggers / f"{ID}.json\n"
    no_request.write_text(body)

    for name, text in expected.items():
        assert (name, await answer(host, name)) == (name, text)
    done = json.loads(await answer(host, file["hard link"]))
    assert facts(done) == ("opened", None, False, "confirmed", True, 1)
    # What cannot be removed is not taken again: a folder.
    await all_settled(host, f"{file['folder']}.json", no_request.name)
    assert set(left(host.triggers / "processed")) - before == {
        f"{name}.result.json" for name in (*expected, file["hard link"])
    }
    assert (outside.read_text(), outside.stat().st_mode & 0o777) == (body, 0o600)
    assert not (host.root / "nothing").exists()
    assert prompts(host, session_id) == ["hello", "do it"]


async def waiting(shown: Page, name: str) -> None:
    """Pages are told that a request waits for its session's turn."""
    await shown.heard(
        lambda message: (
            isinstance(message, messages.TriggerActivity) and (message.name, message.step) == (name, "waiting")
        ),
        "that it waits",
    )


REPLACEMENTS: dict[str, Callable[[FieldHost, str, str], object]] = {
    "another request": lambda host, name, session: put(host, to(f'"{session}"', action="stop"), name),
    "a legacy request": lambda host, name, session: host.trigger({"sessionId": session, "command": "never"}, name),
    "nonsense": lambda host, name, _: put(host, "{", name),
    "a link": lambda host, name, _: replaced(host, name).symlink_to(host.root / "outside"),
    "a folder": lambda host, name, _: replaced(host, name).mkdir(),
    "nothing": lambda host, name, _: replaced(host, name),
}


def replaced(host: FieldHost, name: str) -> Path:
    path = host.triggers / f"{name}.json"
    path.unlink()
    return path


async def test_requests_that_are_replaced_while_they_wait(host: FieldHost, screen: Screen) -> None:
    """What was read first counts, and what stands under its name then goes away with it."""
    session_id = (await new(host))["sessionId"]
    outside = host.root / "outside"
    outside.write_text(to(f'"{session_id}"', action="stop"))
    async with page(host, ready=False) as shown:
        put(host, to(f'"{session_id}"', ',"prompt":"[slow 2s] first"'))
        names = {by: put(host, to(f'"{session_id}"', f',"prompt":"not {by}"')) for by in REPLACEMENTS}
        for by, name in names.items():
            await waiting(shown, name)
            REPLACEMENTS[by](host, name, session_id)
        for name in names.values():
            result = json.loads(await answer(host, name))
            assert facts(result) == ("opened", None, False, "confirmed", True, 1)
    assert prompts(host, session_id) == ["hello", "[slow 2s] first", *(f"not {by}" for by in names)]
    assert listed(host, session_id)["state"] == "open"
    await all_settled(host, f"{names['a folder']}.json")
    assert outside.read_text() == to(f'"{session_id}"', action="stop")


# --- markers and results that somebody else has put there -------------------------------------------------------------

PRECIOUS = "not to be touched"


def a_marker(request: str, session_id: str, effects: list[str], **fields: Any) -> str:
    marker = {"version": 1, "action": "open", "mode": "resume", "request": request, "sessionId": session_id}
    marker |= {"deadline": 1, "steps_total": 1, "phase": "claimed", "effects": effects, "submitted": "no"}
    return json.dumps(marker | {"enter_at": None} | fields)


MARKERS: dict[str, Callable[[Path, str, str], object]] = {
    "bytes": lambda path, *_: path.write_bytes(b"\xff{]"),
    "empty": lambda path, *_: path.touch(),
    "3 MB of brackets": lambda path, *_: path.write_bytes(b"[" * 3_000_000),
    "30,000 deep": lambda path, *_: path.write_text(DEEP),
    "another request's": lambda path, _, session: path.write_text(a_marker(ID, session, [])),
    "effects in no order": lambda path, name, session: path.write_text(a_marker(name, session, ["enter-written"])),
    "effects nobody knows": lambda path, name, session: path.write_text(a_marker(name, session, ["done"])),
    "a session that is none": lambda path, name, _: path.write_text(a_marker(name, "../../x", [])),
    "a deadline of 5,000 digits": lambda path, name, session: path.write_text(
        a_marker(name, session, []).replace('"deadline": 1', f'"deadline": {NINES}')
    ),
    "a folder": lambda path, *_: path.mkdir(),
    "a pipe": lambda path, *_: os.mkfifo(path),
    "a link": lambda path, *_: path.symlink_to("../../outside"),
    "a link that leads nowhere": lambda path, *_: path.symlink_to("../../nothing"),
}

UNREADABLE_MARKER = (
    '{"version":null,"action":null,"ok":false,"outcome":"refused","reason":"interrupted by restart","sessionId":null,'
    '"submitted":"no","wrote":false,"steps_total":0,"uncertain":true,'
    '"detail":"the marker of the action could not be read"}\n'
)


@pytest.mark.parametrize("when", ["while the host runs", "before it starts"])
@pytest.mark.parametrize("requests", [True, False], ids=["with its request", "without"])
async def test_markers(host: FieldHost, screen: Screen, when: str, requests: bool) -> None:
    """Whatever stands in a marker's place says that something may have been done: it is not done again."""
    session_id = (await new(host))["sessionId"]
    (host.root / "outside").write_text(PRECIOUS)
    folder = host.triggers / "processed"
    await all_settled(host)
    earlier = left(folder)
    if when == "before it starts":
        host.terminate()
    names = {row: str(uuid.uuid4()) for row in MARKERS}
    for row, name in names.items():
        MARKERS[row](folder / f"{name}.action.json", name, session_id)
        if requests:
            put(host, to(f'"{session_id}"', ',"prompt":"never"'), name)
    if when == "before it starts":
        await start_again(host, screen)
    if requests or when == "before it starts":
        for row, name in names.items():
            assert (row, await answer(host, name)) == (row, UNREADABLE_MARKER)
    # A request that comes later finds nothing of them in its way.
    assert (await asked(host, {"action": "open", "sessionId": session_id, "prompt": "afterwards"}))["ok"]
    assert prompts(host, session_id) == ["hello", "afterwards"]
    if requests or when == "before it starts":
        # A folder cannot be removed.
        await all_settled(host, markers=f"{names['a folder']}.action.json")
        assert len(left(folder)) == len(earlier) + len(names) + 2
    else:
        assert set(left(folder)) >= {f"{name}.action.json" for name in names.values()}, "they are nobody's business"
    assert (host.root / "outside").read_text() == PRECIOUS
    assert not (host.root / "nothing").exists()


A_RESULT = '{"version":1,"action":"stop","ok":true,"outcome":"closed"}'

RESULTS: dict[str, tuple[Callable[[Path], object], bool]] = {
    # what stands there already, and whether it can be taken for the first result of that name
    "of another versioned request": (lambda path: path.write_text(A_RESULT), True),
    "with an outcome nobody knows": (lambda path: path.write_text('{"outcome":"eaten"}'), True),
    "of a legacy request": (lambda path: path.write_text('{"ok":true,"submitted":"confirmed"}'), True),
    "with 3 MB of space": (lambda path: path.write_text(A_RESULT.ljust(3_000_000)), True),
    "bytes": (lambda path: path.write_bytes(b"\xff{]"), False),
    "empty": (lambda path: path.touch(), False),
    "30,000 deep": (lambda path: path.write_text(DEEP), False),
    "3 MB of brackets": (lambda path: path.write_text('{"a":' * 600_000), False),
    "a folder": (lambda path: path.mkdir(), False),
    "a pipe": (lambda path: os.mkfifo(path), False),
    "a link": (lambda path: path.symlink_to("../../outside"), False),
    "a link to a result": (lambda path: path.symlink_to("../../elsewhere"), False),
    "a link that leads nowhere": (lambda path: path.symlink_to("../../nothing"), False),
}


def standing(path: Path) -> tuple[int, int, int, bytes]:
    """What stands there, exactly."""
    status = path.lstat()
    return status.st_mode, status.st_ino, status.st_mtime_ns, path.read_bytes() if path.is_file() else b""


@pytest.mark.parametrize("when", ["while the host runs", "before it starts"])
async def test_results(host: FieldHost, screen: Screen, when: str) -> None:
    """What is there is never replaced, and the request is not done: it is a repetition, or nobody could be answered."""
    session_id = (await new(host))["sessionId"]
    (host.root / "outside").write_text(PRECIOUS)
    (host.root / "elsewhere").write_text(A_RESULT)
    folder = host.triggers / "processed"
    if when == "before it starts":
        host.terminate()
    names = {row: str(uuid.uuid4()) for row in RESULTS}
    before = {}
    for row, name in names.items():
        place = folder / f"{name}.result.json"
        RESULTS[row][0](place)
        before[row] = standing(place)
        put(host, to(f'"{session_id}"', ',"prompt":"never"'), name)
    if when == "before it starts":
        await start_again(host, screen)
    assert (await asked(host, {"action": "open", "sessionId": session_id, "prompt": "afterwards"}))["ok"]
    assert prompts(host, session_id) == ["hello", "afterwards"]
    assert {row: standing(folder / f"{name}.result.json") for row, name in names.items()} == before
    unanswered = [f"{name}.json" for row, name in names.items() if not RESULTS[row][1]]
    await all_settled(host, *unanswered)
    for row, name in names.items():
        assert (row, f"{name}: left alone" in host.log) == (row, not RESULTS[row][1])
    assert (host.root / "outside").read_text() == PRECIOUS
    assert (host.root / "elsewhere").read_text() == A_RESULT


# --- the folder of results --------------------------------------------------------------------------------------------


async def told(shown: Page, level: str, *words: str) -> None:
    """Pages are told of the folder, or that it is well again."""
    await shown.heard(
        lambda message: (
            isinstance(message, messages.Notice)
            and message.level == level
            and all(word in message.text for word in words)
        ),
        f"{level}: {words}",
    )


async def test_on_a_full_disk_nothing_is_begun_and_everything_answered_once_there_is_room(
    host: FieldHost, screen: Screen
) -> None:
    session_id = (await new(host))["sessionId"]
    await all_settled(host)
    before = left(host.triggers / "processed")
    async with page(host, ready=False) as shown:
        with full_disk(host):
            unmarked = put(host, to(f'"{session_id}"', ',"prompt":"first"'))
            stop = put(host, to(f'"{session_id}"', action="stop"))
            unknown = put(host, to())
            await told(shown, "error", "cannot be published")
            later = put(host, to("7"))
            # The folder is looked at again and again: this page comes between two looks.
            async with page(host, ready=False) as another:
                await told(another, "error", "cannot be published")
            assert left(host.triggers) == sorted(
                [*(f"{one}.json" for one in (unmarked, stop, unknown, later)), "processed"]
            )
            assert left(host.triggers / "processed") == before
            assert listed(host, session_id)["state"] == "open"
        await told(shown, "info")
    first = json.loads(await answer(host, unmarked))
    assert facts(first) == ("refused", "action state could not be saved", False, "no", False, 1)
    assert first["error"] == "[Errno 27] File too large"
    assert "uncertain" not in first
    assert facts(json.loads(await answer(host, stop))) == ("closed", None, None, "no", False, 0)
    assert await answer(host, unknown) == NOWHERE
    assert await answer(host, later) == refused("sessionId must be a UUID")
    await all_settled(host)
    assert len(left(host.triggers / "processed")) == len(before) + 4
    assert prompts(host, session_id) == ["hello"]


@pytest.mark.parametrize("end", ["there is room again", "it is killed"])
async def test_a_disk_that_is_full_in_the_middle_of_an_action(host: FieldHost, stack: AsyncExitStack, end: str) -> None:
    """What is done is done; the result waits for room, or says what could be recorded while there was some."""
    host.environment["SWITCHBOARD_SUBMIT_ENTER_DELAY_MS"] = "2000"
    screen = await page_of(host, stack)
    session_id = (await new(host))["sessionId"]
    await until(lambda: listed(host, session_id)["status"] == "idle", "idle", PATIENCE)
    folder, name = host.triggers / "processed", str(uuid.uuid4())
    full = stack.enter_context(contextlib.ExitStack())

    def text_is_out(entry: str) -> bool:
        marker = folder / f"{name}.action.json"
        return entry == marker.name and "text-written" in json.loads(marker.read_bytes())["effects"]

    async with page(host, ready=False) as shown:
        async with told_of(folder, text_is_out, lambda: full.enter_context(full_disk(host))):
            put(host, to(f'"{session_id}"', ',"prompt":"just once"'), name)
        await told(shown, "error", "cannot be published")
        assert prompts(host, session_id) == ["hello", "just once"]
        assert left(host.triggers) == [f"{name}.json", "processed"]
        if end == "it is killed":
            host.kill()
        full.close()
        if end == "it is killed":
            await start_again(host, screen)
    result = json.loads(await answer(host, name))
    if end == "it is killed":
        assert facts(result) == ("refused", "interrupted by restart", False, "no", True, 1)
        assert (result["text_written"], result["enter_written"], result["uncertain"]) == (True, False, True)
    else:
        assert facts(result) == ("opened", None, False, "confirmed", True, 1)
    assert (await asked(host, {"action": "open", "sessionId": session_id, "prompt": "afterwards"}))["ok"]
    assert prompts(host, session_id) == ["hello", "just once", "afterwards"]
    await all_settled(host)


BOUND_BY_PERMISSIONS = """
import ctypes, os, sys
if os.geteuid() == 0:
    for overrides_permissions in (1, 2):  # linux/capability.h: CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH
        if ctypes.CDLL(None).prctl(24, overrides_permissions, 0, 0, 0):  # PR_CAPBSET_DROP
            sys.exit("this capability cannot be dropped")
os.execv(sys.argv[1], sys.argv[1:])
"""
"""Starts a program that permissions bind, also when root does it."""


async def test_folders_that_can_only_be_read(host: FieldHost, stack: AsyncExitStack) -> None:
    host.launcher = (sys.executable, "-c", BOUND_BY_PERMISSIONS)
    screen = await page_of(host, stack)
    session_id = (await new(host))["sessionId"]
    folder = host.triggers / "processed"
    await all_settled(host)
    before = left(folder)
    async with page(host, ready=False) as shown:
        folder.chmod(0o555)
        names = [put(host, to(f'"{session_id}"', ',"prompt":"first"')), put(host, to()), put(host, to("7"))]
        await told(shown, "error", str(folder), "cannot be written")
        assert left(folder) == before
        assert prompts(host, session_id) == ["hello"]
        folder.chmod(0o755)
        await told(shown, "info")
        results = [await answer(host, name) for name in names]
        assert facts(json.loads(results[0])) == ("opened", None, False, "confirmed", True, 1)
        assert results[1:] == [NOWHERE, refused("sessionId must be a UUID")]

        # The folder of requests: they are done and answered, and cannot be removed.
        put(host, to(f'"{session_id}"', ',"prompt":"[slow 1s] second"'))
        third = put(host, to(f'"{session_id}"', ',"prompt":"third"'))
        await waiting(shown, third)
        host.triggers.chmod(0o555)
        done = await answer(host, third)
        assert facts(json.loads(done)) == ("opened", None, False, "confirmed", True, 1)
        await told(shown, "error", "is left alone: its request cannot be removed")
        await until(lambda: f"{third}: left alone: its request cannot be removed" in host.log, "the log to say so")
        assert f"{third}.json" in left(host.triggers)
    host.terminate()
    host.triggers.chmod(0o755)
    await start_again(host, screen)
    await all_settled(host)
    assert (await asked(host, {"action": "open", "sessionId": session_id, "prompt": "afterwards"}))["ok"]
    assert await answer(host, third) == done
    assert prompts(host, session_id) == ["hello", "first", "[slow 1s] second", "third", "afterwards"]


async def test_results_behind_a_link(host: FieldHost, screen: Screen) -> None:
    """A folder behind a link is a folder; where the link leads to none, requests wait."""
    session_id = (await new(host))["sessionId"]
    folder = host.triggers / "processed"
    elsewhere = host.root / "elsewhere"
    folder.rename(elsewhere)
    folder.symlink_to(elsewhere)
    linked = await asked(host, {"action": "open", "sessionId": session_id, "prompt": "linked"})
    assert facts(linked) == ("opened", None, False, "confirmed", True, 1)
    async with page(host, ready=False) as shown:
        for target, obstacle in ((host.root / "nothing", "leads nowhere"), (host.root / "outside", "cannot be used")):
            (host.root / "outside").write_text(PRECIOUS)
            folder.unlink()
            folder.symlink_to(target)
            shown.said.clear()
            name = put(host, to(f'"{session_id}"', f',"prompt":"{obstacle}"'))
            await told(shown, "error", str(folder), obstacle)
            assert left(host.triggers) == sorted([f"{name}.json", "processed"])
            folder.unlink()
            folder.symlink_to(elsewhere)
            assert facts(json.loads(await answer(host, name))) == ("opened", None, False, "confirmed", True, 1)
    assert prompts(host, session_id) == ["hello", "linked", "leads nowhere", "cannot be used"]
    assert not (host.root / "nothing").exists()
    assert (host.root / "outside").read_text() == PRECIOUS
    assert folder.is_symlink()


# --- 2,000 requests at once -------------------------------------------------------------------------------------------

HALF = 1_000
BOUND_S = 60.0
"""They take a few seconds; beyond this something is wrong, however busy the machine is."""


async def echo_ms(shown: Page, handle: int) -> float:
    """How long a keystroke takes from the page to the terminal and back."""
    seen = len(shown.output[handle])
    begin = time.perf_counter()
    shown.type(handle, b"x")
    await shown.once(lambda: len(shown.output[handle]) > seen, "the echo", PATIENCE)
    return (time.perf_counter() - begin) * 1000


async def test_two_thousand_at_once(host: FieldHost, screen: Screen) -> None:
    session_id = (await new(host))["sessionId"]
    await until(lambda: listed(host, session_id)["status"] == "idle", "idle")
    async with page(host) as shown:
        handle = await shown.open(host, profile="shell")
        shown.type(handle, b"stty -icanon; cat > /dev/null; echo on''ly\r")
        await shown.printed(handle, b"on''ly")
        before = resident_mb(host.pid)
        bodies = [to(), to(f'"{session_id}"')] * HALF
        beside = host.triggers / "beside"
        beside.mkdir()
        names = [str(uuid.uuid4()) for _ in bodies]
        for name, body in zip(names, bodies, strict=True):
            (beside / name).write_text(body)
        begin = time.monotonic()
        for name in names:
            (beside / name).rename(host.triggers / f"{name}.json")
        places = [host.result_path(name) for name in names]
        echoes = []
        while not all(place.exists() for place in places):
            echoes.append(await echo_ms(shown, handle))
            assert time.monotonic() < begin + BOUND_S
            await asyncio.sleep(0.02)
        grown = resident_mb(host.pid) - before
        assert grown < 50
        assert statistics.quantiles(echoes, n=20)[-1] < 100, "of 20 echoes, 19 take less"
    opened = refused(None, session=f'"{session_id}"', outcome="opened").replace('"ok":false', '"ok":true')
    for name, expected in zip(names, [NOWHERE, opened] * HALF, strict=True):
        assert host.result_path(name).read_text() == expected
    beside.rmdir()
    await all_settled(host)
    assert len(processes(session_id)) == 1
    assert (await asked(host, {"action": "open", "sessionId": session_id, "prompt": "afterwards"}))["ok"]
    assert prompts(host, session_id) == ["hello", "afterwards"]
