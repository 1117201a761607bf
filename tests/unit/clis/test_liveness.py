"""The decision whether a session is live elsewhere, one row for each thing that may be found."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from switchboard.clis.descriptors import Descriptor
from switchboard.clis.liveness import (
    INITIAL_PID_NAMESPACE,
    Background,
    Candidate,
    LaunchEvidence,
    LiveElsewhere,
    NotLive,
    ProcessFacts,
    Resolved,
    Scheduled,
    ScheduledRun,
    Unknown,
    Vantage,
    decide,
    judge,
)
from switchboard.common.facts import CliStatus

ID = "0d6f3a52-0000-4000-8000-00000000000a"
PATH = "/home/ada/.claude/sessions/500.json"
NAMESPACE = INITIAL_PID_NAMESPACE
HERE = f"linux:m1:{NAMESPACE}"
VANTAGE = Vantage("m1", "boot-1", NAMESPACE, "1", unfiltered=True)
CONTAINER = replace(VANTAGE, namespace="pid:[4026532000]")
RUN = ScheduledRun(ID, 77, "/p", 5)


def descriptor(**fields: object) -> Descriptor:
    known: dict[str, object] = {"pid": 500, "session_id": ID, "status": CliStatus("idle", 1), "proc_start": "9000"}
    return Descriptor(**(known | fields))  # type: ignore[arg-type] # the fields of one row


ALIVE = ProcessFacts(True, "9000", (500,), NAMESPACE, ancestry=((500, "9000"), (400, "8000"), (1, "1")))
ABSENT = ProcessFacts(exists=False)
OTHER = replace(ALIVE, start="9999")
OURS = LaunchEvidence(ID, 500, "9000", "boot-1", NAMESPACE, "1", ended=False)


def found(process: ProcessFacts = ALIVE, *launches: LaunchEvidence, **fields: object) -> Candidate:
    return Candidate(PATH, descriptor(**fields), process, launches)


LIVE, OWN, DEAD, UNRESOLVED = "live", "own", "dead", "unresolved"


@pytest.mark.parametrize(
    ("candidate", "vantage", "verdict"),
    [
        # --- a native writer needs a proven matching identity
        pytest.param(found(), VANTAGE, LIVE, id="7 native writer: number, start and namespace match"),
        pytest.param(found(pid_domain=HERE), VANTAGE, LIVE, id="7 native writer with its domain"),
        pytest.param(found(), CONTAINER, UNRESOLVED, id="7 namespace differs from ours"),
        pytest.param(
            found(replace(ALIVE, namespace=CONTAINER.namespace)), CONTAINER, LIVE, id="7 native in a container"
        ),
        pytest.param(found(OTHER), VANTAGE, UNRESOLVED, id="7 same number, other start: proves nothing"),
        pytest.param(found(ABSENT), VANTAGE, UNRESOLVED, id="7 no such process: proves nothing"),
        pytest.param(found(proc_start=None), VANTAGE, UNRESOLVED, id="7 no start identity in the descriptor"),
        pytest.param(found(ProcessFacts(True)), VANTAGE, UNRESOLVED, id="7 process hidden from us"),
        pytest.param(found(replace(ALIVE, ns_pids=None)), VANTAGE, UNRESOLVED, id="7 NSpid unreadable"),
        pytest.param(found(replace(ALIVE, namespace=None)), VANTAGE, UNRESOLVED, id="7 ns/pid unreadable"),
        pytest.param(found(), replace(VANTAGE, namespace=None), UNRESOLVED, id="7 our own namespace unreadable"),
        pytest.param(found(replace(ALIVE, ns_pids=(500, 2))), VANTAGE, UNRESOLVED, id="7 it has another number inside"),
        pytest.param(found(pid_domain="linux:m2:x"), VANTAGE, UNRESOLVED, id="7 written on another machine"),
        pytest.param(Candidate(PATH, None), VANTAGE, UNRESOLVED, id="7 names the session and no process"),
        pytest.param(found(replace(ALIVE, ended=True)), VANTAGE, DEAD, id="23c the very process has exited"),
        pytest.param(found(replace(OTHER, ended=True)), VANTAGE, UNRESOLVED, id="23c another process has exited"),
        # --- 23a: our own launch
        pytest.param(found(ABSENT, OURS), VANTAGE, UNRESOLVED, id="23a ours, and nobody saw it end"),
        pytest.param(found(ABSENT, replace(OURS, ended=True)), VANTAGE, DEAD, id="23a reaped"),
        pytest.param(found(OTHER, replace(OURS, ended=True)), VANTAGE, DEAD, id="23a reaped, number reused"),
        pytest.param(
            found(ALIVE, replace(OURS, ended=True)), VANTAGE, LIVE, id="23a a living process outweighs a record"
        ),
        pytest.param(found(ABSENT, replace(OURS, boot_id="boot-0")), VANTAGE, DEAD, id="23a an earlier boot"),
        pytest.param(found(ABSENT, replace(OURS, boot_id=None)), VANTAGE, UNRESOLVED, id="23a boot not recorded"),
        pytest.param(
            found(ABSENT, replace(OURS, boot_id="boot-0")),
            replace(VANTAGE, boot_id=None),
            UNRESOLVED,
            id="23a boot unreadable now",
        ),
        pytest.param(found(ABSENT, replace(OURS, init_start="0")), VANTAGE, DEAD, id="23a namespace's init is gone"),
        pytest.param(
            found(ABSENT, replace(OURS, init_start="0", namespace="pid:[4026532999]")),
            VANTAGE,
            UNRESOLVED,
            id="23a another namespace may still be there",
        ),
        pytest.param(found(ABSENT, replace(OURS, init_start=None)), VANTAGE, UNRESOLVED, id="23a init not recorded"),
        pytest.param(
            found(ABSENT, replace(OURS, init_start="0")),
            replace(VANTAGE, init_start=None),
            UNRESOLVED,
            id="23a init unreadable now",
        ),
        pytest.param(
            found(ABSENT, replace(OURS, ended=True), pid_domain=HERE), CONTAINER, DEAD, id="23a domain agrees"
        ),
        pytest.param(
            found(ABSENT, replace(OURS, ended=True, session_id="another"), pid_domain=HERE),
            VANTAGE,
            DEAD,
            id="23a after /clear, by its domain",
        ),
        pytest.param(
            found(ABSENT, replace(OURS, ended=True, session_id="another")),
            VANTAGE,
            UNRESOLVED,
            id="23a same figures, another session",
        ),
        pytest.param(
            found(ABSENT, replace(OURS, ended=True), pid_domain="linux:m2:pid:[1]"),
            VANTAGE,
            UNRESOLVED,
            id="23a same figures, another machine",
        ),
        pytest.param(found(ABSENT, replace(OURS, ended=True, pid=501)), VANTAGE, UNRESOLVED, id="23a another number"),
        pytest.param(found(ABSENT, replace(OURS, ended=True, start="1")), VANTAGE, UNRESOLVED, id="23a another start"),
        # --- 23b: the descriptor's own domain
        pytest.param(found(ABSENT, pid_domain=HERE), VANTAGE, DEAD, id="23b number free"),
        pytest.param(found(OTHER, pid_domain=HERE), VANTAGE, DEAD, id="23b number reused"),
        pytest.param(found(ProcessFacts(True), pid_domain=HERE), VANTAGE, UNRESOLVED, id="23b process hidden"),
        pytest.param(
            found(ABSENT, pid_domain=HERE), replace(VANTAGE, unfiltered=False), UNRESOLVED, id="23b filtered /proc"
        ),
        pytest.param(
            found(ABSENT, pid_domain=f"linux:m1:{CONTAINER.namespace}"),
            CONTAINER,
            UNRESOLVED,
            id="23b not the machine's first namespace",
        ),
        pytest.param(found(ABSENT, pid_domain="linux:m2:" + NAMESPACE), VANTAGE, UNRESOLVED, id="23b another machine"),
        pytest.param(
            found(ABSENT, pid_domain="linux:None:" + NAMESPACE),
            replace(VANTAGE, machine_id=None),
            UNRESOLVED,
            id="23b machine unknown",
        ),
        pytest.param(found(ABSENT, pid_domain=HERE, proc_start=None), VANTAGE, UNRESOLVED, id="23b no start identity"),
        # --- the seam of other namespaces
        pytest.param(replace(found(ABSENT), resolved=Resolved(9, "9000")), VANTAGE, LIVE, id="7 resolved elsewhere"),
    ],
)
def test_what_one_descriptor_proves(candidate: Candidate, vantage: Vantage, verdict: str) -> None:
    assert judge(candidate, vantage)[0] == verdict


@pytest.mark.parametrize(
    ("candidate", "excluded", "verdict"),
    [
        pytest.param(found(), {(500, "9000")}, OWN, id="7 the terminal's own process"),
        pytest.param(found(), {(400, "8000")}, OWN, id="7 it descends from the terminal's process"),
        pytest.param(found(), {(400, "8001")}, LIVE, id="7 the terminal's number was reused"),
        pytest.param(found(), {(401, "8000")}, LIVE, id="7 an unrelated terminal hides nothing"),
        pytest.param(found(replace(ALIVE, ancestry=())), {(400, "8000")}, LIVE, id="7 ancestry unreadable"),
        pytest.param(found(kind="bg"), {(400, "8000")}, LIVE, id="5 sent to the background from this terminal"),
        pytest.param(found(ABSENT), {(500, "9000")}, UNRESOLVED, id="7 an unproven writer is never excluded"),
        pytest.param(
            replace(found(ABSENT), resolved=Resolved(9, "9000", ((400, "8000"),))),
            {(400, "8000")},
            OWN,
            id="7 resolved, below the terminal",
        ),
    ],
)
def test_a_conversations_own_terminal(candidate: Candidate, excluded: set[tuple[int, str]], verdict: str) -> None:
    assert judge(candidate, VANTAGE, frozenset(excluded))[0] == verdict


live = found()
own = found(replace(ALIVE, ancestry=((500, "9000"), (300, "7000"))))
background = found(kind="bg", job_id="j7", cwd="/w", started_at=3)
unresolved = found(ABSENT)
dead = found(ABSENT, pid_domain=HERE)
OWN_TERMINAL = frozenset({(300, "7000")})


@pytest.mark.parametrize(
    ("run", "candidates", "unread", "answer"),
    [
        pytest.param(None, [], [], NotLive, id="nothing found: not live"),
        pytest.param(None, [dead, own], [], NotLive, id="only dead and own writers: not live"),
        pytest.param(None, [live], [], LiveElsewhere, id="a living writer"),
        pytest.param(None, [unresolved], [], Unknown, id="an unresolved writer"),
        pytest.param(None, [], ["x cannot be read"], Unknown, id="an unreadable file"),
        pytest.param(None, [dead], ["x cannot be read"], Unknown, id="an unreadable file beside a dead writer"),
        pytest.param(None, [own, unresolved], [], Unknown, id="unresolved beside its own terminal"),
        pytest.param(None, [unresolved, live], ["x"], LiveElsewhere, id="a proven writer outweighs doubt"),
        pytest.param(None, [background], [], Background, id="a background job"),
        pytest.param(None, [live, background], ["x"], Background, id="a background job first, then others"),
        pytest.param(None, [found(ABSENT, kind="bg")], [], Unknown, id="an unproven background job"),
        pytest.param(None, [found(ABSENT, kind="bg", pid_domain=HERE)], [], NotLive, id="a dead background job"),
        pytest.param(RUN, [], [], Scheduled, id="a schedule without a descriptor"),
        pytest.param(RUN, [background, live, unresolved], ["x"], Scheduled, id="a schedule before everything else"),
    ],
)
def test_the_answer(
    run: ScheduledRun | None, candidates: list[Candidate], unread: list[str], answer: type[object]
) -> None:
    assert type(decide(run, candidates, unread, VANTAGE, OWN_TERMINAL)) is answer


def test_answers_say_who_and_where() -> None:
    elsewhere = decide(None, [found(cwd="/w", started_at=3)], [], VANTAGE)
    assert isinstance(elsewhere, LiveElsewhere)
    assert (elsewhere.where.pid, elsewhere.where.cwd, elsewhere.where.path) == (500, "/w", PATH)
    job = decide(None, [background], [], VANTAGE)
    assert isinstance(job, Background)
    assert job.job == "j7"
    hidden = decide(None, [replace(found(ABSENT, cwd="/w"), resolved=Resolved(9, "9000"))], [], VANTAGE)
    assert isinstance(hidden, LiveElsewhere)
    assert hidden.where.pid == 9
    assert decide(RUN, [], [], VANTAGE) == Scheduled(RUN)


@pytest.mark.parametrize("candidate", [unresolved, found(OTHER), found(proc_start=None), Candidate(PATH, None)])
def test_doubt_names_the_file_and_what_would_resolve_it(candidate: Candidate) -> None:
    answer = decide(None, [candidate], [], VANTAGE)
    assert isinstance(answer, Unknown)
    assert PATH in answer.detail
    assert "delete" in answer.detail


process_facts = st.builds(
    ProcessFacts,
    exists=st.booleans(),
    start=st.sampled_from([None, "9000", "9999"]),
    ns_pids=st.sampled_from([None, (500,), (500, 2)]),
    namespace=st.sampled_from([None, NAMESPACE, "pid:[4026532000]"]),
    ended=st.booleans(),
)
launches = st.builds(
    LaunchEvidence,
    session_id=st.sampled_from([ID, "another"]),
    pid=st.sampled_from([500, 501]),
    start=st.sampled_from(["9000", "9999"]),
    boot_id=st.sampled_from([None, "boot-0", "boot-1"]),
    namespace=st.sampled_from([None, NAMESPACE, "pid:[4026532000]"]),
    init_start=st.sampled_from([None, "0", "1"]),
    ended=st.booleans(),
)
vantages = st.builds(
    Vantage,
    machine_id=st.sampled_from([None, "m1"]),
    boot_id=st.sampled_from([None, "boot-1"]),
    namespace=st.sampled_from([None, NAMESPACE, "pid:[4026532000]"]),
    init_start=st.sampled_from([None, "1"]),
    unfiltered=st.booleans(),
)
descriptors = st.builds(
    descriptor,
    proc_start=st.sampled_from([None, "9000"]),
    pid_domain=st.sampled_from([None, HERE, "linux:m2:pid:[1]", "linux:m1:pid:[4026532000]"]),
    kind=st.sampled_from([None, "interactive", "bg"]),
)
candidates = st.builds(
    lambda one, process, records: Candidate(PATH, one, process, tuple(records)),
    descriptors,
    process_facts,
    st.lists(launches, max_size=3),
)


@given(candidates, vantages)
def test_death_is_only_what_decision_23_names(candidate: Candidate, vantage: Vantage) -> None:
    """Written once more, from the other end: whatever is discarded must have one of the three proofs."""
    verdict, _ = judge(candidate, vantage)
    one = candidate.descriptor
    assert one is not None
    if verdict != DEAD:
        return
    process = candidate.process
    same = [record for record in candidate.launches if (record.pid, record.start) == (one.pid, one.proc_start)]
    reaped = any(record.ended for record in same)
    rebooted = any(record.boot_id not in (None, vantage.boot_id) and vantage.boot_id for record in same)
    namespace_gone = any(
        record.namespace == vantage.namespace and record.init_start not in (None, vantage.init_start) for record in same
    )
    here = (
        one.pid_domain == HERE
        and vantage == replace(VANTAGE, boot_id=vantage.boot_id, init_start=vantage.init_start)
        and (not process.exists or process.start not in (None, one.proc_start))
    )
    exited = process.ended and process.start == one.proc_start
    assert reaped or rebooted or namespace_gone or here or exited


@given(st.lists(candidates, max_size=4), vantages, st.lists(st.just("x cannot be read"), max_size=1))
def test_nothing_but_known_absence_permits_a_start(
    several: list[Candidate], vantage: Vantage, unread: list[str]
) -> None:
    answer = decide(None, several, unread, vantage)
    harmless = all(judge(candidate, vantage)[0] in (DEAD, OWN) for candidate in several)
    assert isinstance(answer, NotLive) == (harmless and not unread)
