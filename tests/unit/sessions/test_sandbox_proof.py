"""Who owns a sandboxed conversation: one row for each thing that must hold, and for each that must not matter."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from switchboard.clis.descriptors import Descriptor
from switchboard.clis.liveness import Vantage
from switchboard.clis.namespaces import ProcessSeen
from switchboard.common.facts import CliStatus
from switchboard.sessions.sandbox_proof import Conversation, NotProven, Pinned, ProvenOwner, Published, decide

KEY, OTHER = "0d6f3a52-0000-4000-8000-00000000000a", "0d6f3a52-0000-4000-8000-00000000000b"
HERE, SPACE, SPACE_2 = "pid:[1]", "pid:[2]", "pid:[3]"
VANTAGE = Vantage("m1", "boot", HERE, "1", unfiltered=True)
PINNED = Pinned(7, 99, 100, "10")
TOP = (100, "10")
OUTER = (200, "20")


def process(pid: int = 300, inner: int = 2, start: str = "30", **fields: Any) -> ProcessSeen:
    line = ((pid, start), OUTER, TOP)
    return ProcessSeen(
        **{"pid": pid, "ns_pids": (pid, inner), "start": start, "namespace": SPACE, "ancestry": line} | fields
    )


def file(pid: int = 2, start: str | None = "30", key: str = KEY, name: str | None = None, **fields: Any) -> Published:
    descriptor = Descriptor(pid, key, CliStatus("idle", 1), start, **{"kind": "interactive"} | fields)
    return Published(f"/own/{name or pid}.json", pid, descriptor)


def damaged(pid: int = 2, **fields: Any) -> Published:
    return Published(f"/own/{pid}.json", pid, **fields)


def nested(pid: int = 301, start: str = "40", under: tuple[int, str] = (300, "30"), **fields: Any) -> ProcessSeen:
    return process(pid, 9, start, **{"ancestry": ((pid, start), under, OUTER, TOP)} | fields)


MINE = Conversation(KEY)
OWNED = Conversation(KEY, (300, "30"))
FORK = Conversation(KEY, any_key=True)
SHOWN_FORK = Conversation(KEY, (400, "1"), any_key=True)

PROVEN: dict[str, tuple[Conversation, list[Published], list[ProcessSeen]]] = {
    "the only one": (MINE, [file()], [process()]),
    "in another letter case": (MINE, [file(key=KEY.upper())], [process()]),
    "under another id, once it is known": (OWNED, [file(key=OTHER)], [process()]),
    "first of a fork": (FORK, [file(key=OTHER)], [process()]),
    "deeper": (MINE, [file()], [process(ancestry=((300, "30"), (250, "25"), OUTER, TOP))]),
    "two namespaces down": (MINE, [file()], [process(ns_pids=(300, 5, 2))]),
    "beside one that it started": (MINE, [file(), file(9, "40", OTHER)], [process(), nested()]),
    "beside one that it started, with its id": (MINE, [file(), file(9, "40")], [process(), nested()]),
    "beside a job": (MINE, [file(), file(9, "40", kind="bg")], [process(), process(301, 9, "40")]),
    "beside another conversation": (MINE, [file(), file(9, "40", OTHER)], [process(), process(301, 9, "40")]),
    "beside a file of one that ended": (MINE, [file(), file(9, "40")], [process()]),
    "beside half a file of one that ended": (MINE, [file(), damaged(9, trouble="?")], [process()]),
    "beside one that waits to be collected": (
        MINE,
        [file(), file(9, "40")],
        [process(), process(301, 9, "40", ended=True)],
    ),
    "beside others of its number": (MINE, [file()], [process(), process(301, 2, "31")]),
    "beside others of its start": (MINE, [file()], [process(), process(301, 9, "30")]),
    "as its own domain says": (MINE, [file(pid_domain=f"linux:m1:{SPACE}")], [process()]),
}


@pytest.mark.parametrize(("conversation", "files", "seen"), PROVEN.values(), ids=PROVEN)
def test_proven(conversation: Conversation, files: list[Published], seen: list[ProcessSeen]) -> None:
    found = decide(PINNED, conversation, files, seen, VANTAGE)
    assert isinstance(found, ProvenOwner), found
    assert (found.identity, found.namespace, found.terminal_namespace) == ((300, "30"), SPACE, HERE)
    assert (found.pinned, found.published, found.beside) == (PINNED, files[0], tuple(files[1:]))
    assert found.line[0] == (300, "30")
    assert found.line[-1] == TOP
    assert found.descriptor is files[0].descriptor


NOT_PROVEN: dict[str, tuple[Conversation, list[Published], list[ProcessSeen]]] = {
    "nothing published": (MINE, [], [process()]),
    "no process": (MINE, [file()], []),
    "another number": (MINE, [file()], [process(inner=3)]),
    "another start": (MINE, [file()], [process(start="31")]),
    "one number only": (MINE, [file()], [process(ns_pids=(2,))]),
    "our namespace": (MINE, [file()], [process(namespace=HERE)]),
    "numbers unreadable": (MINE, [file()], [process(ns_pids=None)]),
    "start unreadable": (MINE, [file()], [process(start=None)]),  # type: ignore[arg-type]  # as an unreadable stat gives
    "namespace unreadable": (MINE, [file()], [process(namespace=None)]),
    "nobody knows from whom it descends": (MINE, [file()], [process(ancestry=())]),
    "it waits to be collected": (MINE, [file()], [process(ended=True)]),
    "no start recorded": (MINE, [file(start=None)], [process()]),
    "two processes": (MINE, [file()], [process(), process(301)]),
    "a second one, hidden": (MINE, [file()], [process(), process(301, namespace=None)]),
    "a second one of unknown descent": (MINE, [file()], [process(), process(301, ancestry=())]),
    "two files of it": (MINE, [file(), file(name="3")], [process()]),
    "two owners": (MINE, [file(), file(9, "40")], [process(), process(301, 9, "40")]),
    "two owners, one known": (OWNED, [file(), file(9, "40")], [process(), process(301, 9, "40")]),
    "two firsts of a fork": (
        FORK,
        [file(key=OTHER), file(9, "40", OTHER)],
        [process(), process(301, 9, "40")],
    ),
    "another id": (MINE, [file(key=OTHER)], [process()]),
    "another id, of a fork that has shown itself": (
        Conversation(KEY, (400, "1"), any_key=True),
        [file(key=OTHER)],
        [process()],
    ),
    "a job": (MINE, [file(kind="bg")], [process()]),
    "started by another": (MINE, [file(key=OTHER), file(9, "40")], [process(), nested()]),
    "started by a job": (MINE, [file(key=OTHER, kind="bg"), file(9, "40")], [process(), nested()]),
    "started by the owner, which shows nothing": (OWNED, [file(9, "40")], [nested()]),
    "another one has its id while the owner lives": (OWNED, [file(9, "40")], [process(301, 9, "40")]),
    "the owner lives, and has another file's start": (OWNED, [file(start="31")], [process()]),
    "another domain": (MINE, [file(pid_domain=f"linux:m1:{SPACE_2}")], [process()]),
    "its file cannot be read": (MINE, [damaged(trouble="cannot be read (no)")], [process()]),
    "its file is being written": (MINE, [damaged(writing=True)], [process()]),
    "a file beside it, of a living process": (MINE, [file(), damaged(9)], [process(), process(301, 9, "40")]),
    "a file without a start, of a living process": (MINE, [file(), file(9, None)], [process(), process(301, 9, "40")]),
}


@pytest.mark.parametrize(("conversation", "files", "seen"), NOT_PROVEN.values(), ids=NOT_PROVEN)
def test_not_proven(conversation: Conversation, files: list[Published], seen: list[ProcessSeen]) -> None:
    found = decide(PINNED, conversation, files, seen, VANTAGE)
    assert isinstance(found, NotProven), found
    assert found.why
    assert found.empty is (not files)
    assert not found.writing, "that is for an owner who was proven"


@pytest.mark.parametrize(
    "vantage",
    [replace(VANTAGE, unfiltered=False), replace(VANTAGE, namespace=None)],
    ids=["/proc hides others", "our namespace unknown"],
)
def test_a_vantage_from_which_not_all_is_seen_proves_nothing(vantage: Vantage) -> None:
    assert isinstance(decide(PINNED, MINE, [file()], [process()], vantage), NotProven)


@pytest.mark.parametrize(
    ("changes", "may"),
    [
        ({}, True),
        ({"line": ((300, "30"), TOP)}, True),
        ({"pid": 301}, True),
        ({"start": "31", "namespace": SPACE_2}, True),
        ({"namespace": SPACE_2}, False),
        ({"descriptor": file(9).descriptor}, False),
    ],
)
def test_no_process_changes_its_place(changes: dict[str, Any], may: bool) -> None:
    found = decide(PINNED, MINE, [file()], [process()], VANTAGE)
    assert isinstance(found, ProvenOwner)
    assert replace(found, **changes).may_follow(found) is may


def test_what_a_file_is_known_again_by() -> None:
    assert file().identity == file(cwd="/elsewhere").identity
    different = [file(), file(key=OTHER), file(start="31"), file(9), file(name="3"), file(kind="bg"), damaged()]
    assert len({repr(one.identity) for one in different}) == len(different)


@pytest.mark.parametrize(
    ("case", "stands"),
    [
        ("two owners", (300, 301)),
        ("two files of it", (300,)),
        ("started by the owner, which shows nothing", (300,)),
        ("another one has its id while the owner lives", (300,)),
        ("another id", ()),
    ],
)
def test_whose_end_would_change_it(case: str, stands: tuple[int, ...]) -> None:
    found = decide(PINNED, *NOT_PROVEN[case], VANTAGE)
    assert isinstance(found, NotProven)
    assert found.stands == stands
