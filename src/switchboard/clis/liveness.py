"""Whether a conversation is open somewhere else (pure): the decision over what was found, and nothing but that.

Theory of operation. A session is opened only when it is *known* to be open nowhere else. Evidence is, in this order:

- a scheduled run that is registered as running;
- descriptors that carry the session's id, read as they lie on disk. Each of them is one of four things: its writer is
  proven to live (the process with that number in this PID namespace has that very start), proven to be dead, proven to
  be a process of this conversation's own terminal, or unresolved;
- what could not be read: a file or folder that might hide such a descriptor.

A living background job counts first, then any living writer elsewhere; then whatever is unresolved or unread makes the
answer unknown; only when nothing of all that is left is the session open nowhere.

What is refused to be taken as proof: the age of a descriptor, its status, a process that merely has the same number,
the absence of a process where another PID namespace may have it, and a start that differs there. Death is proven by

(a) our own record of the launch of that process, and that it was reaped, or belongs to an earlier boot, or to a PID
    namespace whose name is now another namespace's;
(b) the descriptor's own `pidDomain`, if it names this machine and our PID namespace, that is the machine's first one
    and we see all processes in it, and the number is free or belongs to a process with another start;
(c) the kernel's word that the very process has exited and only waits to be collected.

Writers in other PID namespaces are looked for by a resolver (see `namespaces`); without one they stay unresolved.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from switchboard.clis.descriptors import BACKGROUND, Descriptor

INITIAL_PID_NAMESPACE = "pid:[4026531836]"
"""The machine's first PID namespace: its number is a constant of Linux (PROC_PID_INIT_INO)."""


class EvidenceUnavailable(Exception):
    """What could be proof cannot be read."""


@dataclass(frozen=True, slots=True)
class ScheduledRun:
    """A scheduled run that goes on now. `started_at`: wall milliseconds."""

    session_id: str
    pid: int
    cwd: str
    started_at: int


@dataclass(frozen=True, slots=True)
class ProcessFacts:
    """What /proc showed of one process number. `exists` is False only when the system says that there is none.

    None means unreadable. `ns_pids`: its numbers from our PID namespace down to its own. `ended`: it has exited and
    waits to be collected. `ancestry`: (number, start) of itself and its ancestors, nearest first, as far as readable.
    """

    exists: bool
    start: str | None = None
    ns_pids: tuple[int, ...] | None = None
    namespace: str | None = None
    ended: bool = False
    ancestry: tuple[tuple[int, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Vantage:
    """From where we look. None: unknown. `init_start`: start of the first process of our PID namespace.

    `unfiltered`: /proc shows every process of our namespace to us.
    """

    machine_id: str | None
    boot_id: str | None
    namespace: str | None
    init_start: str | None
    unfiltered: bool

    @property
    def initial(self) -> bool:
        """Whether we are in the machine's first PID namespace."""
        return self.namespace == INITIAL_PID_NAMESPACE

    def domain(self, namespace: str | None) -> str:
        """Return how a CLI in that PID namespace of this machine names where it is (its descriptor's `pidDomain`)."""
        return f"linux:{self.machine_id}:{namespace}"


@dataclass(frozen=True, slots=True)
class LaunchEvidence:
    """What we recorded of a process that we started. `session_id` lower case; `ended`: its exit was seen."""

    session_id: str
    pid: int
    start: str
    boot_id: str | None
    namespace: str | None
    init_start: str | None
    ended: bool


@dataclass(frozen=True, slots=True)
class Candidate:
    """A descriptor file that carries the session's id. `descriptor` None: it names no process that can be looked for.

    `process`: what has the descriptor's number in our PID namespace. `launches`: our records of a process of that
    number and start. `resolved`: what a resolver found among the processes of other PID namespaces, if it was asked.
    """

    path: str
    descriptor: Descriptor | None
    process: ProcessFacts = ProcessFacts(exists=False)
    launches: tuple[LaunchEvidence, ...] = ()
    resolved: Resolved | Unproven | None = None


@dataclass(frozen=True, slots=True)
class Resolved:
    """A writer found in another PID namespace: its number and start in ours, its ancestry, and its own namespace."""

    pid: int
    start: str
    ancestry: tuple[tuple[int, str], ...] = ()
    namespace: str | None = None


@dataclass(frozen=True, slots=True)
class Unproven:
    """No process of another PID namespace is proven to be the writer. `why`: half a sentence for a person."""

    why: str


@dataclass(frozen=True, slots=True)
class Where:
    """A living writer. `pid` in our PID namespace, None for a background job that has not shown its process yet."""

    pid: int | None
    cwd: str | None
    started_at: int | None
    path: str


@dataclass(frozen=True, slots=True)
class NotLive:
    """It is open nowhere else, and that is known."""


@dataclass(frozen=True, slots=True)
class LiveElsewhere:
    """A proven living process has it open."""

    where: Where


@dataclass(frozen=True, slots=True)
class Background:
    """A background job has it: proven by its living process, or by its own record. `job`: its id, empty if unnamed."""

    job: str
    where: Where


@dataclass(frozen=True, slots=True)
class Scheduled:
    """A scheduled run is going on."""

    run: ScheduledRun


@dataclass(frozen=True, slots=True)
class Unknown:
    """It cannot be told. `detail` names the file and says what would resolve it."""

    detail: str


Liveness: TypeAlias = NotLive | LiveElsewhere | Background | Scheduled | Unknown

Verdict = Literal["live", "own", "dead", "unresolved"]


def decide(
    run: ScheduledRun | None,
    candidates: Sequence[Candidate],
    unread: Iterable[str],
    vantage: Vantage,
    excluded: frozenset[tuple[int, str]] = frozenset(),
) -> Liveness:
    """Return whether the session is live elsewhere.

    `candidates` in the order of their files. `unread`: sentences on what could not be read. `excluded`: (number, start)
    of the processes that the conversation's own terminal runs; they and their descendants are not elsewhere.
    """
    if run is not None:
        return Scheduled(run)
    verdicts = [(candidate, judge(candidate, vantage, excluded)) for candidate in candidates]
    living = [candidate for candidate, (verdict, _) in verdicts if verdict == "live"]
    for candidate in living:
        assert candidate.descriptor is not None
        if candidate.descriptor.kind == BACKGROUND:
            return Background(candidate.descriptor.job_id or "", _where(candidate))
    if living:
        return LiveElsewhere(_where(living[0]))
    for _, (verdict, why) in verdicts:
        if verdict == "unresolved":
            return Unknown(why)
    for why in unread:
        return Unknown(why)
    return NotLive()


def judge(
    candidate: Candidate, vantage: Vantage, excluded: frozenset[tuple[int, str]] = frozenset()
) -> tuple[Verdict, str]:
    """Return what one descriptor proves, and why."""
    descriptor = candidate.descriptor
    if descriptor is None:
        return "unresolved", f"{candidate.path} names the session and no process; delete it if nothing writes it"
    if isinstance(resolved := candidate.resolved, Resolved):
        return _own_or_live(descriptor.kind, ((resolved.pid, resolved.start), *resolved.ancestry), excluded)
    doubt = _doubt(descriptor, candidate.process, vantage)
    if doubt is None:
        if candidate.process.ended:
            return "dead", f"process {descriptor.pid} has exited"
        own = (descriptor.pid, descriptor.proc_start or "")
        return _own_or_live(descriptor.kind, (own, *candidate.process.ancestry), excluded)
    if (proof := death(descriptor, candidate.process, candidate.launches, vantage)) is not None:
        return "dead", proof
    if resolved is not None:
        doubt = f"{doubt}; {resolved.why}"
    return "unresolved", f"{candidate.path}: {doubt}; {_REMEDY}"


_REMEDY = "close that session where it runs, or delete the file if it runs nowhere (in no container either)"


def _own_or_live(
    kind: str | None, line: Iterable[tuple[int, str]], excluded: frozenset[tuple[int, str]]
) -> tuple[Verdict, str]:
    # A job that was sent to the background is no longer the terminal's, even while it still descends from it.
    if kind != BACKGROUND and any(process in excluded for process in line):
        return "own", "it runs in this conversation's own terminal"
    return "live", "it is open in a living process"


def _doubt(descriptor: Descriptor, process: ProcessFacts, vantage: Vantage) -> str | None:
    """Return what is missing for the proof that the process of that number wrote the descriptor, None when nothing."""
    pid, start = descriptor.pid, descriptor.proc_start
    if start is None:
        return f"it does not say when its process {pid} started, so that process cannot be recognised"
    if not process.exists:
        return f"there is no process {pid} here, and it may run in another PID namespace"
    if process.start is None:
        return f"process {pid} cannot be looked at"
    if process.start != start:
        return f"process {pid} is another one here (it started at {process.start}, not {start})"
    if process.ns_pids is None or process.namespace is None or vantage.namespace is None:
        return f"the PID namespace of process {pid} cannot be read"
    if process.ns_pids != (pid,) or process.namespace != vantage.namespace:
        return f"process {pid} has that number in our PID namespace and another one in its own"
    domain = descriptor.pid_domain
    if domain is not None and vantage.machine_id is not None and domain != vantage.domain(vantage.namespace):
        return f"it was written in another PID namespace or on another machine ({domain})"
    return None


def death(
    descriptor: Descriptor, process: ProcessFacts, launches: Iterable[LaunchEvidence], vantage: Vantage
) -> str | None:
    """Return the proof that a descriptor's writer is dead, None when there is none."""
    pid, start = descriptor.pid, descriptor.proc_start
    if start is None:
        return None
    for launch in launches:
        if (launch.pid, launch.start) == (pid, start) and _is_about(descriptor, launch, vantage):
            if launch.ended:
                return f"process {pid} was ours, and its exit was seen"
            if launch.boot_id and vantage.boot_id and launch.boot_id != vantage.boot_id:
                return f"process {pid} was ours, before the machine was started again"
            if _namespace_is_gone(launch, vantage):
                return f"process {pid} was ours, in a PID namespace that has ended"
    here = vantage.machine_id is not None and descriptor.pid_domain == vantage.domain(vantage.namespace)
    gone = not process.exists or (process.start is not None and process.start != start)
    if here and gone and vantage.initial and vantage.unfiltered:
        return f"process {pid} has ended on this machine, where nothing is hidden from us"
    return None


def _is_about(descriptor: Descriptor, launch: LaunchEvidence, vantage: Vantage) -> bool:
    """Tell whether number and start mean the process that we launched, and not one of the same figures elsewhere.

    The descriptor must not name another place, and has to agree in one thing more: the session's id (which `/clear`
    changes), or the place itself.
    """
    domain = descriptor.pid_domain
    if domain is not None and vantage.machine_id is not None and launch.namespace is not None:
        return domain == vantage.domain(launch.namespace)
    return descriptor.key == launch.session_id


def _namespace_is_gone(launch: LaunchEvidence, vantage: Vantage) -> bool:
    """The kernel gives a namespace's name out again only after its last process has ended.

    So when our own namespace has the recorded name and another first process, in the same boot, the recorded one is no
    more. A namespace of another name may still be there, where we cannot see it.
    """
    known = launch.boot_id and launch.namespace and launch.init_start and vantage.init_start
    same_name = launch.boot_id == vantage.boot_id and launch.namespace == vantage.namespace
    return bool(known and same_name and launch.init_start != vantage.init_start)


def _where(candidate: Candidate) -> Where:
    descriptor = candidate.descriptor
    assert descriptor is not None
    pid = candidate.resolved.pid if isinstance(candidate.resolved, Resolved) else descriptor.pid
    return Where(pid, descriptor.cwd, descriptor.started_at, candidate.path)
