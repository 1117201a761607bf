"""Reading what proves an owner: from real files and a described /proc, twice, and never half."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.support.fake_clock import START, FakeClock
from tests.support.fake_procfs import FakeProcesses

from switchboard.clis import descriptor_files
from switchboard.sessions import sandbox_evidence as module
from switchboard.sessions.sandbox_evidence import WRITING_MS, SandboxEvidence
from switchboard.sessions.sandbox_proof import Conversation, NotProven, Pinned, ProvenOwner

KEY = "0d6f3a52-0000-4000-8000-00000000000a"
SPACE = "pid:[4026532001]"
PINNED = Pinned(7, 99, 100, "10")
MINE = Conversation(KEY)


class Rig:
    """A terminal's process 100, a sandbox in it whose first process is 200, and its CLI, 300, which is 2 in there."""

    def __init__(self, root: Path) -> None:
        self.folder = root / "own"
        self.folder.mkdir()
        (root / "proc").mkdir()
        self.running = FakeProcesses(root / "proc")
        self.running.machine()
        self.running.add(100, start="10")
        self.running.add(200, parent=100, start="20", ns_pids=(200, 1), namespace=SPACE)
        self.cli()
        self.evidence = SandboxEvidence(self.running.door(), FakeClock())
        self.publish()

    def cli(self, pid: int = 300, inner: int = 2, start: str = "30", **fields: Any) -> None:
        given = {"parent": 200, "ns_pids": (pid, inner), "namespace": SPACE, **fields}
        self.running.add(pid, start=start, **given)

    def publish(self, name: str = "2.json", **fields: Any) -> None:
        body = {"pid": 2, "sessionId": KEY, "procStart": "30", "status": "idle", "statusUpdatedAt": START}
        (self.folder / name).write_text(json.dumps({**body, **fields}))

    def half(self, name: str = "2.json", ago: int = 0) -> None:
        (self.folder / name).write_text('{"pid": 2')
        os.utime(self.folder / name, ns=(0, (START - ago) * 1_000_000))

    def prove(self, conversation: Conversation = MINE, pinned: Pinned = PINNED) -> ProvenOwner | NotProven:
        return self.evidence.prove(pinned, conversation, str(self.folder))

    def owner(self) -> ProvenOwner:
        found = self.prove()
        assert isinstance(found, ProvenOwner), found
        return found

    def again(self, owner: ProvenOwner, pinned: Pinned = PINNED) -> ProvenOwner | NotProven:
        return self.evidence.again(owner, pinned, str(self.folder))


@pytest.fixture
def rig(tmp_path: Path) -> Rig:
    return Rig(tmp_path)


def test_the_owner_with_all_that_it_is_bound_to(rig: Rig) -> None:
    owner = rig.owner()
    assert (owner.identity, owner.namespace, owner.descriptor.pid) == ((300, "30"), SPACE, 2)
    assert owner.line == ((300, "30"), (200, "20"), (100, "10"))
    assert (owner.pinned, owner.terminal_namespace) == (PINNED, "pid:[4026531836]")
    assert rig.again(owner) == owner


def test_the_line_ends_at_the_terminal(rig: Rig) -> None:
    """A host may itself run in a terminal of another one."""
    rig.running.add(50, start="5")
    rig.running.add(100, parent=50, start="10")
    assert rig.owner().line[-1] == (100, "10")


def test_nothing_is_published(rig: Rig) -> None:
    (rig.folder / "2.json").unlink()
    found = rig.prove()
    assert isinstance(found, NotProven)
    assert found.empty
    rig.folder.rmdir()
    found = rig.prove()
    assert isinstance(found, NotProven)
    assert found.empty


def test_what_is_published_is_read_anew(rig: Rig) -> None:
    owner = rig.owner()
    rig.publish(status="busy", statusUpdatedAt=START + 5)
    now = rig.again(owner)
    assert isinstance(now, ProvenOwner)
    assert (now.descriptor.status.status, now.descriptor.status.updated_at) == ("busy", START + 5)


Change = Callable[[Rig], object]

CHANGES: dict[str, Change] = {
    "ended": lambda rig: rig.running.end(300),
    "waits to be collected": lambda rig: rig.cli(state="Z"),
    "started again": lambda rig: rig.cli(start="31"),
    "another number": lambda rig: rig.cli(inner=3),
    "another namespace": lambda rig: rig.cli(namespace="pid:[4026532002]"),
    "namespace unreadable": lambda rig: (rig.running.root / "300" / "ns" / "pid").unlink(),
    "numbers unreadable": lambda rig: (rig.running.root / "300" / "status").write_text(""),
    "adopted": lambda rig: rig.cli(parent=1),
    "its parent is another process": lambda rig: rig.running.add(200, parent=100, start="21"),
    "the terminal's process is another one": lambda rig: rig.running.add(100, start="11"),
    "the terminal's namespace is another one": lambda rig: rig.running.add(100, start="10", namespace="pid:[9]"),
    "descriptor gone": lambda rig: (rig.folder / "2.json").unlink(),
    "descriptor of another session": lambda rig: rig.publish(sessionId="x"),
    "descriptor of another process": lambda rig: rig.publish(procStart="31"),
    "descriptor of a job": lambda rig: rig.publish(kind="bg"),
    "another file": lambda rig: rig.publish("9.json", pid=9),
    "half a file for long": lambda rig: rig.half(ago=WRITING_MS),
    "half a file of the future": lambda rig: rig.half(ago=-1),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_a_proof_does_not_outlast_any_part_of_it(rig: Rig, change: Change) -> None:
    owner = rig.owner()
    change(rig)
    found = rig.again(owner)
    assert isinstance(found, NotProven)
    assert not found.writing


@pytest.mark.parametrize("field", ["handle", "generation", "pid", "start"])
def test_nor_its_terminal(rig: Rig, field: str) -> None:
    owner = rig.owner()
    other = {"handle": 8, "generation": 100, "pid": 101, "start": "11"}[field]
    assert isinstance(rig.again(owner, replace(PINNED, **{field: other})), NotProven)  # type: ignore[arg-type]  # by name


def test_a_descriptor_that_is_being_written_leaves_the_rest_as_proven_as_it_is(rig: Rig) -> None:
    owner = rig.owner()
    rig.half(ago=WRITING_MS - 1)
    found = rig.again(owner)
    assert isinstance(found, NotProven)
    assert (found.writing, found.passing) == (True, True)
    rig.running.end(300)
    found = rig.again(owner)
    assert isinstance(found, NotProven)
    assert not found.writing, "its process has ended"


def test_what_changes_while_it_is_looked_at_is_looked_at_again(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    reads = 0
    read = descriptor_files.read_raw

    def reading(folder: str, name: str) -> Any:
        nonlocal reads
        reads += 1
        if reads == 2:
            rig.publish(sessionId=KEY.upper(), pid=2, kind="interactive")
        return read(folder, name)

    monkeypatch.setattr(module, "read_raw", reading)
    owner = rig.owner()
    assert (owner.descriptor.kind, reads) == ("interactive", 4)


def test_what_never_stands_still_is_not_proven(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    read = descriptor_files.read_raw
    kinds = iter("abcdefghijkl")

    def reading(folder: str, name: str) -> Any:
        rig.publish(kind=next(kinds))
        return read(folder, name)

    monkeypatch.setattr(module, "read_raw", reading)
    found = rig.prove()
    assert isinstance(found, NotProven)
    assert found.passing


def test_whoever_ends_while_it_is_looked_at_is_not_proven(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    decide = module.decide

    def deciding(*arguments: Any) -> Any:
        found = decide(*arguments)
        if isinstance(found, ProvenOwner):
            rig.running.end(300)
        return found

    monkeypatch.setattr(module, "decide", deciding)
    assert isinstance(rig.prove(), NotProven)


@pytest.mark.parametrize("limit", [2, 3])
def test_a_folder_that_is_stuffed_proves_nothing(rig: Rig, monkeypatch: pytest.MonkeyPatch, limit: int) -> None:
    """Whatever else lies there: a sandbox can write as many files as it likes, and reading them takes time."""
    monkeypatch.setattr(module, "MAX_FILES", limit)
    for number in range(2):
        (rig.folder / f"x{number}").write_text("")
    assert isinstance(rig.prove(), ProvenOwner) is (limit == 3)


def test_a_folder_that_cannot_be_read_proves_nothing(rig: Rig) -> None:
    found = rig.evidence.prove(PINNED, MINE, str(rig.folder / "2.json"))
    assert isinstance(found, NotProven)
    assert not found.empty


def test_a_terminal_whose_process_was_never_seen_proves_nothing(rig: Rig) -> None:
    rig.running.add(100, start="")
    assert isinstance(rig.prove(pinned=replace(PINNED, start="")), NotProven)


def test_processes_that_ended_meanwhile_are_nobody(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    """A second one of the same figures, whose ancestors cannot be read any more because it is gone."""
    rig.cli(301)
    door = rig.running.door()
    ancestry = type(door).ancestry

    def gone(processes: Any, pid: int, start: str) -> Any:
        if pid == 301 and (rig.running.root / "301").exists():
            rig.running.end(301)
        return ancestry(processes, pid, start)

    monkeypatch.setattr(type(door), "ancestry", gone)
    assert rig.owner().pid == 300


def test_whether_a_process_lives(rig: Rig) -> None:
    assert rig.evidence.lives((300, "30"))
    assert not rig.evidence.lives((300, "31"))
