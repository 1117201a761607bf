"""Reading processes out of files laid out as /proc is."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.fake_procfs import FakeProcesses

from switchboard.clis import procfs
from switchboard.clis.liveness import EvidenceUnavailable, ProcessFacts, Vantage
from switchboard.clis.namespaces import ProcessSeen
from switchboard.clis.procfs import MAX_ANCESTRY, ProcessStat, parse_stat

FIELDS = b" S 7" + b" 0" * 15 + b" 3 0 4242 0"


@pytest.fixture
def processes(tmp_path: Path) -> FakeProcesses:
    return FakeProcesses(tmp_path)


@pytest.mark.parametrize(
    "name", [b"claude", b"a b", b") R 1 (", b"((", b"\n) S 9 9", b"", b"\xff\xfe"], ids=lambda name: repr(name)
)
def test_3_3_fields_are_counted_after_the_last_parenthesis(name: bytes) -> None:
    assert parse_stat(b"12 (" + name + b")" + FIELDS) == ProcessStat("S", 7, 3, "4242")


@pytest.mark.parametrize("data", [b"", b"12", b"12 (x)", b"12 (x) S", b"12 (x) S x" + FIELDS, b"garbage"])
def test_what_is_no_stat_file(data: bytes) -> None:
    assert parse_stat(data) is None


@given(st.binary(max_size=200))
def test_any_bytes_are_taken(data: bytes) -> None:
    parse_stat(data)


def test_start_and_parent(processes: FakeProcesses) -> None:
    processes.add(5, parent=3, start="777", name="odd) name")
    door = processes.door()
    assert (door.start(5), door.parent(5)) == ("777", 3)
    assert (door.start(6), door.parent(6)) == (None, None)


@pytest.mark.parametrize(
    ("state", "threads", "alive"),
    [
        pytest.param("R", 1, True, id="running"),
        pytest.param("S", 1, True, id="sleeping"),
        pytest.param("T", 1, True, id="stopped"),
        pytest.param("Z", 1, False, id="ended and not collected"),
        pytest.param("Z", 0, False, id="ended and not collected, threads gone"),
        pytest.param("Z", 3, True, id="first thread ended, others go on"),
        pytest.param("X", 0, False, id="dead"),
    ],
)
def test_alive(processes: FakeProcesses, state: str, threads: int, alive: bool) -> None:
    processes.add(5, state=state, threads=threads)
    assert processes.door().is_alive(5) is alive


def test_3_2_a_process_that_may_not_be_signalled_is_alive(processes: FakeProcesses) -> None:
    processes.hidden.add(5)
    assert processes.door().is_alive(5)
    assert processes.door().is_same(5, "1000")


def test_no_such_process(processes: FakeProcesses) -> None:
    processes.add(5)
    processes.end(5)
    assert not processes.door().is_alive(5)


@pytest.mark.parametrize("pid", [0, -1, -5, 2**31, 10**30])
def test_a_number_that_names_no_process_is_never_signalled(processes: FakeProcesses, pid: int) -> None:
    assert not processes.door().is_alive(pid)
    assert processes.probes == []


@pytest.mark.parametrize(
    ("recorded", "same"),
    [
        pytest.param("1000", True, id="3.3 equal"),
        pytest.param("1001", False, id="3.3 decided mismatch"),
        pytest.param("01000", False, id="3.3 compared as text"),
        pytest.param(None, True, id="3.3 undecidable stays live"),
        pytest.param("", True, id="3.3 an empty one decides nothing"),
    ],
)
def test_same_process(processes: FakeProcesses, recorded: str | None, same: bool) -> None:
    processes.add(5, start="1000")
    assert processes.door().is_same(5, recorded) is same


def test_3_3_undecidable_without_a_start_to_compare_with(processes: FakeProcesses) -> None:
    processes.add(5)
    (processes.root / "5" / "stat").write_text("?")
    assert processes.door().is_same(5, "1000")


def test_3_4_descendants_and_their_distance(processes: FakeProcesses) -> None:
    for pid, parent in ((1, 0), (10, 1), (11, 10), (12, 11), (20, 1)):
        processes.add(pid, parent=parent)
    door = processes.door()
    assert [door.distance(pid, 10) for pid in (10, 11, 12, 20, 1, 99)] == [0, 1, 2, None, None, None]
    assert door.is_descendant(12, 10)
    assert door.is_descendant(10, 10)
    assert not door.is_descendant(10, 12)


def test_3_4_a_chain_of_parents_is_followed_64_steps(processes: FakeProcesses) -> None:
    for pid in range(2, 80):
        processes.add(pid, parent=pid - 1)
    processes.add(1, parent=0)
    door = processes.door()
    assert door.is_descendant(66, 2)
    assert not door.is_descendant(67, 2)
    assert MAX_ANCESTRY == 64


def test_parents_that_go_round_in_a_circle_end(processes: FakeProcesses) -> None:
    processes.add(5, parent=6)
    processes.add(6, parent=5)
    assert not processes.door().is_descendant(5, 1)


def test_namespaces(processes: FakeProcesses) -> None:
    processes.add(500, ns_pids=(500, 2), namespace="pid:[77]")
    processes.add(501, namespace=None)
    door = processes.door()
    assert door.ns_pids(500) == (500, 2)
    assert door.pid_namespace(500) == "pid:[77]"
    assert door.pid_namespace(501) is None
    assert door.ns_pids(9) is None
    (processes.root / "501" / "status").write_text("Name:\tx\n")
    assert door.ns_pids(501) is None
    for garbage in ("NSpid:\tx\n", "NSpid:\n", "NSpid:\t501\t-2\n"):
        (processes.root / "501" / "status").write_text(garbage)
        assert door.ns_pids(501) is None


def test_boot_id(processes: FakeProcesses) -> None:
    door = processes.door()
    assert door.boot_id() is None
    folder = processes.root / "sys" / "kernel" / "random"
    folder.mkdir(parents=True)
    (folder / "boot_id").write_text("1234-5678\n")
    assert door.boot_id() == "1234-5678"
    (folder / "boot_id").write_text("\n")
    assert door.boot_id() is None


def test_facts_of_a_process(processes: FakeProcesses) -> None:
    processes.add(400, start="8000")
    processes.add(500, parent=400, start="9000")
    assert processes.door().facts(500) == ProcessFacts(
        exists=True,
        start="9000",
        ns_pids=(500,),
        namespace="pid:[4026531836]",
        ancestry=((500, "9000"), (400, "8000")),
    )
    assert processes.door().facts(501) == ProcessFacts(exists=False)
    assert processes.door().facts(2**40) == ProcessFacts(exists=False)
    processes.hidden.add(502)
    assert processes.door().facts(502) == ProcessFacts(exists=True)


@pytest.mark.parametrize(
    ("state", "threads", "ended"), [("S", 1, False), ("Z", 1, True), ("X", 1, True), ("Z", 2, False)]
)
def test_facts_of_a_process_that_has_exited(processes: FakeProcesses, state: str, threads: int, ended: bool) -> None:
    processes.add(500, state=state, threads=threads)
    assert processes.door().facts(500).ended is ended


def test_from_where_we_look(processes: FakeProcesses) -> None:
    assert processes.door().vantage() == Vantage(None, None, None, None, unfiltered=False)
    processes.machine(init_start="7")
    assert processes.door().vantage() == Vantage("m1", "boot-1", "pid:[4026531836]", "7", unfiltered=True)
    assert processes.door().vantage().initial
    processes.machine(namespace="pid:[4026532000]")
    assert not processes.door().vantage().initial


@pytest.mark.parametrize(
    ("options", "shown"),
    [
        ("rw", True),
        ("rw,hidepid=0", True),
        ("rw,hidepid=off,gid=5", True),
        ("rw,hidepid=1", False),
        ("rw,hidepid=ptraceable", False),
    ],
)
def test_whether_everyone_is_shown(processes: FakeProcesses, options: str, shown: bool) -> None:
    processes.machine(mount=options)
    assert processes.door().vantage().unfiltered is shown


# --- all processes --------------------------------------------------------------------------------------------------

OURS = "pid:[4026531836]"
BOX = "pid:[4026532999]"


def outside(processes: FakeProcesses, *starts: str) -> list[ProcessSeen]:
    return [one for one in processes.door().outside(OURS, starts or None) if one is not None]


def test_all_numbers(processes: FakeProcesses) -> None:
    processes.machine()
    processes.add(500)
    assert processes.door().numbers() == [1, 500]
    processes.root = processes.root / "nowhere"
    with pytest.raises(EvidenceUnavailable, match="nowhere cannot be listed"):
        processes.door().numbers()


def test_one_look_at_a_process(processes: FakeProcesses) -> None:
    processes.add(400, start="8000")
    processes.sandboxed(8000, parent=400, state="Z")
    door = processes.door()
    assert door.seen(8000) == ProcessSeen(8000, (8000, 2), "9000", BOX, ended=True)
    assert door.ancestry(8000, "9000") == ((8000, "9000"), (400, "8000"))
    assert door.ancestry(8000, "9001") == ()
    assert door.seen(8001) is None


@pytest.mark.parametrize(
    ("broken", "seen"),
    [
        pytest.param(lambda at: (at / "stat").write_text("?"), ProcessSeen(8000, (8000, 2), None, BOX), id="stat"),
        pytest.param(lambda at: (at / "status").write_text("?"), ProcessSeen(8000, None, "9000", BOX), id="status"),
        pytest.param(
            lambda at: (at / "ns" / "pid").unlink(), ProcessSeen(8000, (8000, 2), "9000", None), id="namespace"
        ),
        pytest.param(lambda at: (at / "stat").unlink(), None, id="ended before its stat was read"),
        pytest.param(lambda at: (at / "status").unlink(), None, id="ended before its status was read"),
    ],
)
def test_a_look_at_a_process_of_which_something_is_missing(
    processes: FakeProcesses, broken: Callable[[Path], object], seen: ProcessSeen | None
) -> None:
    processes.sandboxed(8000)
    broken(processes.root / "8000")
    assert processes.door().seen(8000) == seen


@pytest.mark.parametrize(
    ("name", "seen"),
    [("stat", ProcessSeen(8000, (8000, 2), None, BOX)), ("status", ProcessSeen(8000, None, "9000", BOX))],
)
def test_a_file_that_may_not_be_read_is_unknown(processes: FakeProcesses, name: str, seen: ProcessSeen) -> None:
    processes.sandboxed(8000)
    processes.unreadable(8000, name)
    assert processes.door().seen(8000) == seen
    assert outside(processes, "9000") == [seen]


def test_a_process_whose_folder_is_closed(processes: FakeProcesses) -> None:
    (processes.root / "8000").write_text("no folder")
    assert processes.door().seen(8000) == ProcessSeen(8000)


def test_processes_of_other_namespaces(processes: FakeProcesses) -> None:
    processes.machine()
    processes.add(500, start="9000")
    processes.sandboxed(8000, start="9000")
    processes.sandboxed(8001, 3, start="9001")
    assert [one.pid for one in outside(processes, "9000")] == [8000]
    assert [one.pid for one in outside(processes, "9000", "9001")] == [8000, 8001]
    assert [one.pid for one in outside(processes)] == [8000, 8001]
    assert outside(processes, "1", "900", "90000") == []


def test_others_are_told_by_their_start_before_they_are_looked_at_closely(processes: FakeProcesses) -> None:
    """Namespaces of other users' processes are hidden from us: that must cost little, and hide nothing."""
    processes.machine()
    for pid in range(100, 200):
        processes.add(pid, namespace=None, start="7")
    processes.sandboxed(300)
    looked: list[int] = []
    processes.before_look = looked.append
    assert [one.pid for one in outside(processes, "9000")] == [300]
    assert looked == [300]


def test_a_hidden_namespace_is_no_reason_to_pass_by(processes: FakeProcesses) -> None:
    for pid in range(100, 120):
        processes.sandboxed(pid, namespace=None)
    assert [one.pid for one in outside(processes, "9000")] == list(range(100, 120))


@pytest.mark.parametrize("stat", ["", "?", "8000 (x) S 1", "8000 (a b c d e f g h i j k l m n o p q r s t u v) S 1"])
def test_a_start_that_cannot_be_told_is_no_reason_to_pass_by(processes: FakeProcesses, stat: str) -> None:
    processes.sandboxed(8000)
    (processes.root / "8000" / "stat").write_text(stat)
    assert outside(processes, "9000") == [ProcessSeen(8000, (8000, 2), None, BOX)]


def test_what_has_ended_meanwhile_is_left_out(processes: FakeProcesses) -> None:
    processes.sandboxed(8000)
    processes.sandboxed(8001)
    processes.sandboxed(8002)
    (processes.root / "8000" / "stat").unlink()
    processes.before_look = lambda pid: processes.end(pid) if pid == 8001 else None
    assert [one.pid for one in outside(processes, "9000")] == [8002]


def test_a_start_that_is_no_text_of_this_world(processes: FakeProcesses) -> None:
    processes.sandboxed(8000)
    assert outside(processes, "\ud800") == []


def test_the_loop_has_its_turns(processes: FakeProcesses, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(procfs, "PROCESSES_A_TURN", 10)
    for pid in range(100, 200):
        processes.add(pid)
    turns = list(processes.door().outside(OURS, ("9000",)))
    assert turns == [None] * 11
    assert processes.listings == 1


def test_too_many_processes(processes: FakeProcesses, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(procfs, "MAX_PROCESSES", 3)
    for pid in range(100, 104):
        processes.add(pid)
    with pytest.raises(EvidenceUnavailable, match="too many processes"):
        outside(processes, "9000")
