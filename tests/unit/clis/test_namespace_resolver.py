"""Looking for writers in other PID namespaces, over files laid out as /proc is."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.support.fake_procfs import FakeProcesses

from switchboard.clis import procfs
from switchboard.clis.descriptors import Descriptor
from switchboard.clis.liveness import Resolved, Unproven
from switchboard.clis.namespace_resolver import NOT_DONE, NamespaceResolver, NamespaceSearch, maps_to_nobody
from switchboard.common.facts import CliStatus

BOX = "pid:[4026532999]"


@pytest.fixture
def processes(tmp_path: Path) -> FakeProcesses:
    (tmp_path / "proc").mkdir()
    made = FakeProcesses(tmp_path / "proc")
    made.machine()
    return made


def descriptor(pid: int = 2, start: str | None = "9000") -> Descriptor:
    return Descriptor(pid, "a", CliStatus(None, None), start)


def searched(processes: FakeProcesses, *wanted: Descriptor) -> NamespaceSearch:
    door = processes.door()
    search = NamespaceResolver(door).search(wanted or (descriptor(),), door.vantage())
    for _turn in search.run():
        pass
    return search


def test_a_writer_with_its_ancestry(processes: FakeProcesses) -> None:
    processes.add(300, start="7000")
    processes.sandboxed(7999, 1, parent=300, start="8990")
    processes.sandboxed(8000, parent=7999)
    found = searched(processes).found(descriptor())
    assert found == Resolved(8000, "9000", ((8000, "9000"), (7999, "8990"), (300, "7000"), (1, "1")), BOX)


def test_one_look_serves_several_descriptors(processes: FakeProcesses) -> None:
    processes.sandboxed(8000)
    processes.sandboxed(8100, 5, start="9100", namespace="pid:[4026533000]")
    search = searched(processes, descriptor(), descriptor(5, "9100"), descriptor(7, "9200"))
    assert getattr(search.found(descriptor()), "pid", None) == 8000
    assert getattr(search.found(descriptor(5, "9100")), "pid", None) == 8100
    assert isinstance(search.found(descriptor(7, "9200")), Unproven)
    assert processes.listings == 1


def test_what_was_not_looked_for_is_not_absent(processes: FakeProcesses) -> None:
    assert searched(processes).found(descriptor(start="9001")) == Unproven("its writer has not been looked for")
    assert searched(processes).found(descriptor(start=None)) == Unproven("its writer has not been looked for")


def test_a_look_that_was_not_finished_proves_nothing(processes: FakeProcesses) -> None:
    processes.sandboxed(8000)
    door = processes.door()
    search = NamespaceResolver(door).search([descriptor()], door.vantage())
    assert search.found(descriptor()) == Unproven(NOT_DONE)
    next(search.run())
    assert search.found(descriptor()) == Unproven(NOT_DONE)


def test_without_our_own_namespace_nothing_is_looked_at(processes: FakeProcesses) -> None:
    (processes.root / "self" / "ns" / "pid").unlink()
    assert searched(processes).found(descriptor()) == Unproven("our own PID namespace cannot be read")
    assert processes.listings == 0


def test_a_scan_that_was_cut_short(processes: FakeProcesses, monkeypatch: pytest.MonkeyPatch) -> None:
    processes.sandboxed(8000)
    monkeypatch.setattr(procfs, "MAX_PROCESSES", 1)
    found = searched(processes).found(descriptor())
    assert isinstance(found, Unproven)
    assert "too many processes" in found.why


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(lambda processes: processes.end(8000), id="it ends"),
        pytest.param(lambda processes: processes.sandboxed(8000, start="9001"), id="its number is given out again"),
        pytest.param(lambda processes: processes.sandboxed(8000, 3), id="another number inside"),
        pytest.param(lambda processes: processes.sandboxed(8000, namespace="pid:[4026533000]"), id="another namespace"),
        pytest.param(lambda processes: processes.sandboxed(8000, state="Z"), id="it exits"),
        pytest.param(lambda processes: processes.unreadable(8000, "status"), id="it is hidden from us"),
    ],
)
def test_what_changes_while_it_is_looked_at_is_unproven(
    processes: FakeProcesses, change: Callable[[FakeProcesses], object]
) -> None:
    processes.sandboxed(8000)
    search = searched(processes)
    assert isinstance(search.found(descriptor()), Resolved)
    change(processes)
    assert search.found(descriptor()) == Unproven("process 8000 has ended or changed while it was looked at")


@pytest.mark.parametrize(
    ("prepare", "nobodys"),
    [
        pytest.param(lambda _processes: None, True, id="no process"),
        pytest.param(lambda processes: processes.sandboxed(8000), False, id="its writer"),
        pytest.param(lambda processes: processes.sandboxed(8000, 9), True, id="another number"),
        pytest.param(lambda processes: processes.add(2, start="9000"), True, id="a process of ours"),
        pytest.param(
            lambda processes: (processes.root / "self" / "ns" / "pid").unlink(), False, id="we do not know where we are"
        ),
    ],
)
def test_what_nobody_elsewhere_may_have_written(
    processes: FakeProcesses, prepare: Callable[[FakeProcesses], object], nobodys: bool
) -> None:
    prepare(processes)
    assert searched(processes).is_nobodys(descriptor()) is nobodys


def test_before_all_have_been_looked_at_it_may_be_somebodys(processes: FakeProcesses) -> None:
    door = processes.door()
    assert not NamespaceSearch(door, [descriptor()], door.vantage()).is_nobodys(descriptor())


# --- folders of ended sandboxes -------------------------------------------------------------------------------------


class Folder:
    def __init__(self, path: Path) -> None:
        self.path = path
        path.mkdir()

    def put(self, pid: int = 2, **fields: object) -> Path:
        path = self.path / f"{pid}.json"
        path.write_text(json.dumps({"pid": pid, "sessionId": "a", "procStart": "9000", **fields}))
        return path


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    return Folder(tmp_path / "sessions")


def test_an_empty_folder_is_nobodys_without_a_look(processes: FakeProcesses, folder: Folder) -> None:
    (folder.path / "2.abc.key").write_text("")
    assert maps_to_nobody(processes.door(), str(folder.path))
    assert maps_to_nobody(processes.door(), str(folder.path / "nowhere"))
    assert processes.listings == 0


def nothing(_processes: FakeProcesses, _folder: Folder) -> None:
    """Only the descriptor is there."""


def writer(processes: FakeProcesses, _folder: Folder) -> None:
    processes.sandboxed(8000)


def exited(processes: FakeProcesses, _folder: Folder) -> None:
    processes.sandboxed(8000, state="Z")


def later(processes: FakeProcesses, _folder: Folder) -> None:
    processes.sandboxed(8000, start="9001")


def hidden(processes: FakeProcesses, _folder: Folder) -> None:
    processes.sandboxed(8000)
    processes.unreadable(8000, "stat")


def namespace_hidden(processes: FakeProcesses, _folder: Folder) -> None:
    processes.sandboxed(8000, namespace=None)


def native(processes: FakeProcesses, _folder: Folder) -> None:
    processes.add(2, start="9000")


def native_other(processes: FakeProcesses, _folder: Folder) -> None:
    processes.add(2, start="1")


def native_exited(processes: FakeProcesses, _folder: Folder) -> None:
    processes.add(2, start="9000", state="Z")


def native_hidden(processes: FakeProcesses, _folder: Folder) -> None:
    processes.hidden.add(2)


def filtered(processes: FakeProcesses, _folder: Folder) -> None:
    processes.machine(mount="rw,hidepid=2")


def own_hidden(processes: FakeProcesses, _folder: Folder) -> None:
    (processes.root / "self" / "ns" / "pid").unlink()


def second(processes: FakeProcesses, folder: Folder) -> None:
    folder.put(3, procStart="9100")
    processes.sandboxed(8000, 3, start="9100")


def torn(processes: FakeProcesses, folder: Folder) -> None:
    (folder.path / "3.json").write_text("{")
    processes.add(3)


def torn_kept(processes: FakeProcesses, folder: Folder) -> None:
    (folder.path / "3.json").write_text("{")
    processes.sandboxed(8000, 3, start="5")


def startless_kept(processes: FakeProcesses, folder: Folder) -> None:
    folder.put(3, procStart=None)
    processes.sandboxed(8000, 3, start="5")


def a_link(_processes: FakeProcesses, folder: Folder) -> None:
    (folder.path / "3.json").symlink_to("nowhere")


def a_link_kept(processes: FakeProcesses, folder: Folder) -> None:
    a_link(processes, folder)
    processes.sandboxed(8000, 3, start="5")


def a_number_beyond_all(_processes: FakeProcesses, folder: Folder) -> None:
    (folder.path / f"{'9' * 200}.json").write_text("{")


def many(processes: FakeProcesses, folder: Folder) -> None:
    for number in range(10_000, 11_001):
        (folder.path / f"{number}.json").write_text("{}")
    processes.sandboxed(8000, 3, start="5")


def many_kept(processes: FakeProcesses, folder: Folder) -> None:
    many(processes, folder)
    processes.sandboxed(8001, 10_500, start="5")


def no_folder(_processes: FakeProcesses, folder: Folder) -> None:
    (folder.path / "2.json").unlink()
    folder.path.rmdir()
    folder.path.write_text("")


def rewritten(processes: FakeProcesses, folder: Folder) -> None:
    processes.sandboxed(8000, 9)
    processes.before_look = lambda _pid: folder.put(2, procStart="9200")


def appeared(processes: FakeProcesses, folder: Folder) -> None:
    processes.sandboxed(8000, 9)
    processes.before_look = lambda _pid: folder.put(4)


@pytest.mark.parametrize(
    ("prepare", "nobodys"),
    [
        pytest.param(nothing, True, id="no process fits"),
        pytest.param(writer, False, id="its writer lives"),
        pytest.param(exited, True, id="its writer has exited"),
        pytest.param(later, True, id="its number was given out again inside"),
        pytest.param(hidden, False, id="a process cannot be looked at"),
        pytest.param(namespace_hidden, False, id="a process whose namespace is hidden fits"),
        pytest.param(native, True, id="a process of ours fits"),
        pytest.param(native_other, True, id="a process of ours has the number"),
        pytest.param(native_exited, True, id="a process of ours fits and has exited"),
        pytest.param(native_hidden, True, id="a process of ours has the number and hides its start"),
        pytest.param(filtered, False, id="/proc hides processes"),
        pytest.param(own_hidden, False, id="our own namespace is unreadable"),
        pytest.param(second, False, id="the writer of another descriptor lives"),
        pytest.param(torn, True, id="damaged, and no sandbox has that number"),
        pytest.param(torn_kept, False, id="damaged, and a sandbox has that number"),
        pytest.param(startless_kept, False, id="without a start, and a sandbox has that number"),
        pytest.param(a_link, True, id="unreadable, and no sandbox has that number"),
        pytest.param(a_link_kept, False, id="unreadable, and a sandbox has that number"),
        pytest.param(a_number_beyond_all, True, id="a number that no process has"),
        pytest.param(many, True, id="too many to be read, and no sandbox has such a number"),
        pytest.param(many_kept, False, id="too many to be read, and a sandbox has such a number"),
        pytest.param(no_folder, False, id="a folder that cannot be listed"),
        pytest.param(rewritten, False, id="written anew meanwhile"),
        pytest.param(appeared, False, id="another one appeared meanwhile"),
    ],
)
def test_whose_folder_it_is(
    processes: FakeProcesses, folder: Folder, prepare: Callable[[FakeProcesses, Folder], None], nobodys: bool
) -> None:
    folder.put()
    prepare(processes, folder)
    assert maps_to_nobody(processes.door(), str(folder.path)) is nobodys


def test_a_scan_cut_short_spares_the_folder(
    processes: FakeProcesses, folder: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder.put()
    monkeypatch.setattr(procfs, "MAX_PROCESSES", 0)
    assert not maps_to_nobody(processes.door(), str(folder.path))
