"""Which process of another PID namespace wrote a descriptor, one row for each thing that may be seen."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from switchboard.clis.descriptors import Descriptor
from switchboard.clis.liveness import INITIAL_PID_NAMESPACE, Resolved, Unproven, Vantage
from switchboard.clis.namespaces import ProcessSeen, keeps, resolve
from switchboard.common.facts import CliStatus

OURS = INITIAL_PID_NAMESPACE
BOX = "pid:[4026532999]"
OTHER_BOX = "pid:[4026533000]"
VANTAGE = Vantage("m1", "boot-1", OURS, "1", unfiltered=True)
LINE = ((8000, "9000"), (7999, "8990"), (300, "7000"))


def descriptor(**fields: object) -> Descriptor:
    known: dict[str, object] = {"pid": 2, "session_id": "a", "status": CliStatus("idle", 1), "proc_start": "9000"}
    return Descriptor(**(known | fields))  # type: ignore[arg-type] # the fields of one row


RAW = descriptor()
WRITER = ProcessSeen(8000, (8000, 2), "9000", BOX, ancestry=LINE)
FOUND = Resolved(8000, "9000", LINE, BOX)


@pytest.mark.parametrize(
    ("raw", "seen", "vantage", "found"),
    [
        pytest.param(RAW, [WRITER], VANTAGE, FOUND, id="7 another number here, namespace and start match"),
        pytest.param(RAW, [], VANTAGE, "no process", id="7 zero matches: unknown, even after a complete scan"),
        pytest.param(
            RAW,
            [WRITER, replace(WRITER, pid=8100, ns_pids=(8100, 2), namespace=OTHER_BOX)],
            VANTAGE,
            "8000 and 8100",
            id="7 another sandbox with the same number and start: never the first",
        ),
        pytest.param(
            RAW,
            [WRITER, replace(WRITER, pid=8100, ns_pids=(8100, 2), namespace=OTHER_BOX, start="9001")],
            VANTAGE,
            FOUND,
            id="7 another sandbox with the same number",
        ),
        pytest.param(RAW, [replace(WRITER, start="9001")], VANTAGE, "no process", id="7 start differs"),
        pytest.param(RAW, [replace(WRITER, start="09000")], VANTAGE, "no process", id="7 starts are compared as text"),
        pytest.param(RAW, [replace(WRITER, ns_pids=(8000, 3))], VANTAGE, "no process", id="7 NSpid differs"),
        pytest.param(
            RAW, [replace(WRITER, pid=2, ns_pids=(2,), namespace=OURS)], VANTAGE, "no process", id="7 a process of ours"
        ),
        pytest.param(
            RAW, [replace(WRITER, pid=2, ns_pids=(2,), namespace=None)], VANTAGE, "no process", id="7 ours, hidden"
        ),
        # --- nested sandboxes
        pytest.param(
            RAW,
            [replace(WRITER, ns_pids=(8000, 14, 2), namespace=OTHER_BOX)],
            VANTAGE,
            replace(FOUND, namespace=OTHER_BOX),
            id="7 three levels: the innermost number counts",
        ),
        pytest.param(
            RAW,
            [replace(WRITER, ns_pids=(8000, 2, 14))],
            VANTAGE,
            "no process",
            id="7 the number in between is nothing",
        ),
        pytest.param(
            RAW,
            [WRITER, ProcessSeen(8050, (8050, 9, 2), "9050", OTHER_BOX)],
            VANTAGE,
            FOUND,
            id="7 a sandbox within the sandbox counts anew, with a later start",
        ),
        pytest.param(
            RAW,
            [WRITER, ProcessSeen(8050, (8050, 2, 1), "9000", OTHER_BOX)],
            VANTAGE,
            FOUND,
            id="7 a process within has that number outside, and does not know it",
        ),
        # --- evidence that cannot be read
        pytest.param(RAW, [replace(WRITER, namespace=None)], VANTAGE, "8000 cannot", id="7 ns/pid unreadable"),
        pytest.param(RAW, [replace(WRITER, ns_pids=None)], VANTAGE, "8000 cannot", id="7 NSpid unreadable"),
        pytest.param(RAW, [replace(WRITER, start=None)], VANTAGE, "8000 cannot", id="7 start unreadable"),
        pytest.param(RAW, [WRITER, ProcessSeen(66)], VANTAGE, "66 cannot", id="7 another process is all unreadable"),
        pytest.param(
            RAW,
            [WRITER, ProcessSeen(66, (66, 5))],
            VANTAGE,
            FOUND,
            id="7 an unreadable one whose number differs cannot be it",
        ),
        pytest.param(
            RAW, [WRITER, ProcessSeen(66, start="1")], VANTAGE, FOUND, id="7 an unreadable one whose start differs"
        ),
        pytest.param(
            RAW,
            [WRITER, ProcessSeen(66, (66, 2), "1")],
            VANTAGE,
            FOUND,
            id="7 somebody else's process, whose namespace is hidden from us",
        ),
        pytest.param(RAW, [WRITER], replace(VANTAGE, namespace=None), "our own", id="7 our own namespace unreadable"),
        pytest.param(RAW, [WRITER], replace(VANTAGE, unfiltered=False), "hidepid", id="7 /proc hides processes"),
        pytest.param(RAW, [replace(WRITER, namespace=OURS)], VANTAGE, "outside", id="7 /proc of another namespace"),
        pytest.param(descriptor(proc_start=None), [WRITER], VANTAGE, "its start", id="7 no start in the descriptor"),
        # --- exited
        pytest.param(RAW, [replace(WRITER, ended=True)], VANTAGE, "has exited", id="7 exited: not alive, not dead"),
        pytest.param(
            RAW,
            [replace(WRITER, ended=True), replace(WRITER, pid=8100, ns_pids=(8100, 2), namespace=OTHER_BOX)],
            VANTAGE,
            "8000 and 8100",
            id="7 an exited one may have been it, too",
        ),
        # --- the descriptor names its place
        pytest.param(descriptor(pid_domain=f"linux:m1:{BOX}"), [WRITER], VANTAGE, FOUND, id="7 its domain agrees"),
        pytest.param(
            descriptor(pid_domain=f"linux:m1:{OTHER_BOX}"), [WRITER], VANTAGE, "no process", id="7 another domain"
        ),
        pytest.param(descriptor(pid_domain=f"linux:m2:{BOX}"), [WRITER], VANTAGE, "no process", id="7 another machine"),
        pytest.param(
            descriptor(pid_domain=f"linux:m1:{OTHER_BOX}"),
            [WRITER, replace(WRITER, pid=8100, ns_pids=(8100, 2), namespace=OTHER_BOX, ancestry=())],
            VANTAGE,
            Resolved(8100, "9000", (), OTHER_BOX),
            id="7 its domain tells two sandboxes apart",
        ),
        pytest.param(
            descriptor(pid_domain=f"linux:m9:{BOX}"),
            [WRITER],
            replace(VANTAGE, machine_id=None),
            FOUND,
            id="7 a machine without an id compares the namespace",
        ),
        pytest.param(
            descriptor(pid_domain=f"linux:m9:{OTHER_BOX}"),
            [WRITER],
            replace(VANTAGE, machine_id=None),
            "no process",
            id="7 a machine without an id, another namespace",
        ),
    ],
)
def test_who_wrote_it(raw: Descriptor, seen: list[ProcessSeen], vantage: Vantage, found: Resolved | str) -> None:
    answer = resolve(raw, seen, vantage)
    if isinstance(found, str):
        assert isinstance(answer, Unproven)
        assert found in answer.why
    else:
        assert answer == found
    assert resolve(raw, seen[::-1], vantage) == answer or isinstance(answer, Unproven), "their order is nothing"


def test_a_scan_with_a_gap_proves_nothing() -> None:
    assert resolve(RAW, [WRITER], VANTAGE, "out of time") == Unproven("out of time")


@pytest.mark.parametrize(
    ("start", "seen", "kept"),
    [
        pytest.param("9000", [WRITER], True, id="it fits"),
        pytest.param("9000", [replace(WRITER, ended=True)], False, id="it has exited"),
        pytest.param("9001", [WRITER], False, id="another start"),
        pytest.param("9000", [replace(WRITER, ns_pids=(8000, 3))], False, id="another number"),
        pytest.param("9000", [replace(WRITER, namespace=None)], True, id="its namespace does not matter"),
        pytest.param("9000", [ProcessSeen(66)], True, id="it cannot be read"),
        pytest.param(None, [replace(WRITER, start="1")], True, id="without a start, the number is enough"),
        pytest.param(None, [replace(WRITER, ns_pids=(2,))], False, id="a process of ours"),
        pytest.param("9000", [], False, id="nobody"),
    ],
)
def test_who_may_still_write_it(start: str | None, seen: list[ProcessSeen], kept: bool) -> None:
    assert keeps({(2, start)}, seen) is kept
    assert keeps({(2, start), (99, "1")}, seen) is kept
    assert not keeps(set(), seen)


processes = st.builds(
    ProcessSeen,
    pid=st.sampled_from([8000, 8001]),
    ns_pids=st.sampled_from([None, (2,), (8000, 2), (8000, 7, 2), (8000, 2, 7), (8000, 3)]),
    start=st.sampled_from([None, "9000", "9001"]),
    namespace=st.sampled_from([None, OURS, BOX, OTHER_BOX]),
    ended=st.booleans(),
)
vantages = st.builds(
    Vantage,
    machine_id=st.sampled_from([None, "m1"]),
    boot_id=st.none(),
    namespace=st.sampled_from([None, OURS]),
    init_start=st.none(),
    unfiltered=st.booleans(),
)
descriptors = st.builds(
    descriptor,
    proc_start=st.sampled_from([None, "9000"]),
    pid_domain=st.sampled_from([None, f"linux:m1:{BOX}", f"linux:m2:{BOX}", f"linux:m1:{OURS}"]),
)


@given(descriptors, st.lists(processes, max_size=4), vantages, st.sampled_from([None, "a gap"]))
def test_a_writer_is_proven_only_by_complete_and_unique_evidence(
    raw: Descriptor, seen: list[ProcessSeen], vantage: Vantage, gap: str | None
) -> None:
    """Written once more, from the other end."""
    answer = resolve(raw, seen, vantage, gap)
    if isinstance(answer, Unproven):
        return
    assert gap is None
    assert vantage.unfiltered
    assert vantage.namespace == OURS
    assert raw.proc_start == answer.start == "9000"
    assert answer.namespace in (BOX, OTHER_BOX)
    assert raw.pid_domain is None or raw.pid_domain.endswith(answer.namespace)
    assert not any(process.start is None and process.ns_pids is None for process in seen)
    figures = [p for p in seen if p.start == "9000" and p.ns_pids is not None and p.ns_pids[1:][-1:] == (2,)]
    assert all(process.namespace not in (None, OURS) for process in figures)
    rivals = [
        process for process in figures if raw.pid_domain is None or raw.pid_domain.endswith(process.namespace or "")
    ]
    assert [(process.pid, process.ended) for process in rivals] == [(answer.pid, False)]
