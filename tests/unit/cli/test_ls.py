"""`switchboard ls`: the table, the JSON, and what it says when there is nothing to list."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from tests.support.answering import answering_host

from switchboard.cli.ls import main, table
from switchboard.host.instance import HostRecord, Instance
from switchboard.page.messages import Listing, ListSessions, Problem, SessionInfo

OPEN = SessionInfo(
    "0d6f3a52-0000-4000-8000-00000000000a",
    "open",
    "claude",
    "busy",
    handle=3,
    generation=1_800_000_000_000,
    name="a name",
    title="a title",
    project="/home/me/jobs/project",
    pid=4242,
)
EXITED = SessionInfo("bb", "exited", "shell", "failed", handle=4, title="a title", cwd="/srv", pid=7)
CLOSED = SessionInfo("cc", "closed", "agent", "closed")


@pytest.fixture(autouse=True)
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("SWITCHBOARD_DATA_DIR", str(tmp_path / "data"))
    return tmp_path / "data"


# --- the table ----------------------------------------------------------------------------------------------------


def test_the_layout() -> None:
    assert table([OPEN, EXITED, CLOSED]) == [
        "ID                                    STATE   STATUS  CLI     PID   GEN            PROJECT       NAME",
        "0d6f3a52-0000-4000-8000-00000000000a  open    busy    claude  4242  1800000000000  jobs/project  a name",
        "bb                                    exited  failed  shell   7                    srv           a title",
        "cc                                    closed          agent                        ?             ",
    ]


def test_columns_are_as_wide_as_what_is_in_them() -> None:
    assert table([CLOSED]) == [
        "ID  STATE   STATUS  CLI    PID  GEN  PROJECT  NAME",
        "cc  closed          agent            ?        ",
    ]


@pytest.mark.parametrize(
    ("fields", "project", "name"),
    [
        ({"project": "/a/b/c", "cwd": "/x"}, "b/c", ""),
        ({"cwd": "/x"}, "x", ""),
        ({"project": "/"}, "/", ""),
        ({"name": "n", "title": "t"}, "?", "n"),
        ({"title": "t"}, "?", "t"),
        ({"name": "x" * 100}, "?", "x" * 60),
        ({"title": "ü ✳ \u202e \x1b[2J \n"}, "?", "ü ✳ ? ?[2J ?"),
        ({"project": "/a/\x1b]0;evil\x07"}, "a/?]0;evil?", ""),
    ],
    ids=["project", "directory", "root", "name", "title", "long", "control characters", "a directory with them"],
)
def test_project_and_name(fields: dict[str, Any], project: str, name: str) -> None:
    line = table([SessionInfo("i", "open", "c", "s", **fields)])[1]
    assert line == "  ".join(["i ", "open ", "s     ", "c  ", "   ", "   ", project.ljust(7), name])


def test_an_id_is_a_file_name_and_may_hold_anything() -> None:
    """A transcript's file is named by whoever can write to its folder."""
    assert table([SessionInfo("\x1b[31m", "closed", "c", "closed")])[1].startswith("?[31m  ")


# --- the command --------------------------------------------------------------------------------------------------


async def test_what_is_asked_and_printed(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    async with answering_host(data) as host:
        code, asked = await host.answers(main, [], ListSessions, Listing(1, [OPEN, CLOSED]))
    assert (code, asked) == (0, ListSessions(1, 20))
    assert capsys.readouterr().out.splitlines() == table([OPEN, CLOSED])


async def test_how_many_closed_ones_are_asked_for(data: Path) -> None:
    async with answering_host(data) as host:
        _, asked = await host.answers(main, ["--closed", "7"], ListSessions, Listing(1, []))
    assert asked == ListSessions(1, 7)


async def test_json_has_every_field(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    async with answering_host(data) as host:
        code, _ = await host.answers(main, ["--json"], ListSessions, Listing(1, [OPEN, CLOSED]))
    assert code == 0
    printed = json.loads(capsys.readouterr().out)
    assert [row["id"] for row in printed] == [OPEN.id, CLOSED.id]
    assert set(printed[0]) == set(SessionInfo.__struct_fields__)
    assert (printed[0]["pid"], printed[1]["pid"], printed[0]["draft"]) == (4242, None, False)


@pytest.mark.parametrize(
    ("arguments", "text"),
    [([], "No sessions yet. Open one in `switchboard watch` (press n).\n"), (["--json"], "[]\n")],
    ids=["for people", "for scripts"],
)
async def test_nothing_to_list(data: Path, arguments: list[str], text: str, capsys: pytest.CaptureFixture[str]) -> None:
    async with answering_host(data) as host:
        code, _ = await host.answers(main, arguments, ListSessions, Listing(1, []))
    assert (code, capsys.readouterr().out) == (0, text)


@pytest.mark.parametrize("json_too", [False, True], ids=["for people", "for scripts"])
async def test_a_conversation_that_ended_and_is_open_again_is_listed_once(
    data: Path, json_too: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    ended = replace(OPEN, id=OPEN.id.upper(), state="exited", status="exited", handle=1)
    other = replace(EXITED, id="dd")
    listed = Listing(1, [OPEN, ended, EXITED, other, replace(EXITED, handle=5)])
    async with answering_host(data) as host:
        code, _ = await host.answers(main, ["--json"] if json_too else [], ListSessions, listed)
    printed = capsys.readouterr().out
    assert code == 0
    rows = json.loads(printed) if json_too else [{"id": line.split()[0]} for line in printed.splitlines()[1:]]
    assert [row["id"] for row in rows] == [OPEN.id, "bb", "dd", "bb"]


@pytest.mark.parametrize("number", ["-1", "10001", "x", "1.5"])
def test_a_number_that_is_none(number: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["--closed", number])
    assert ended.value.code == 2
    assert "--closed" in capsys.readouterr().err


async def test_a_host_that_refuses(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    async with answering_host(data) as host:
        code, _ = await host.answers(main, [], ListSessions, Problem("use the same version"))
    assert (code, capsys.readouterr().err) == (1, "switchboard: use the same version\n")


async def test_a_host_that_goes_away(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    async with answering_host(data) as host:
        code, _ = await host.answers(main, [], ListSessions, None)
    assert (code, capsys.readouterr().err) == (1, "switchboard: the host went away before it answered\n")


def test_without_a_host(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 1
    assert capsys.readouterr().err == "switchboard: no host is running; start one with: switchboard up\n"


def test_without_a_home(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("SWITCHBOARD_DATA_DIR", "HOME"):
        monkeypatch.delenv(name)
    assert main([]) == 1
    assert capsys.readouterr().err.startswith("switchboard: HOME is not set")


def test_a_hostile_folder_name_reaches_no_terminal() -> None:
    session = SessionInfo("id", "closed", "claude", "closed", project="/a/ev\x1b]0;pwn\x07il\nline\u202e")
    (_, row) = table([session])
    assert row.isprintable()


def test_a_host_whose_socket_was_deleted_is_no_missing_host(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    instance = Instance(str(data))
    instance.acquire()
    instance.publish(HostRecord(os.getpid(), "u", 1, "v"))
    assert main([]) == 1
    said = capsys.readouterr().err
    assert f"the host (process {os.getpid()}) runs, but its socket {data}/run/host.sock is not there" in said
    assert "sessions go on" in said
    instance.release()
