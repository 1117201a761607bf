"""Which process of another PID namespace wrote a descriptor (pure).

Theory of operation. A CLI in a sandbox writes the number that it has there, and the start that every namespace of the
machine agrees on. Seen from here it has another number, and at the number that it wrote there is nobody, or somebody
else. The kernel says of every process which numbers it has, from our namespace down to its own, and which namespace
that is. So its writer is the process

- whose innermost number is the descriptor's, and which has more than this one;
- whose start is the descriptor's, compared as text;
- whose namespace can be read and is not ours, and is the one that the descriptor names, if it names any;
- and that is the only one. Sandboxes all begin to count at 1: two that were started within one tick of the clock
  (10 ms) hold processes of the same figures. None of them is preferred.

What is refused to be taken as proof of anything: that nobody was found. A namespace beside or above ours shows us none
of its processes, and a scan that left something out has shown nothing either. A process that has exited and waits to be
collected is not alive, and proves no death: its figures fit, and so may those of a process that we cannot see. Were it
taken for dead, the answer would be better for the moment until it is collected than ever after.

Only the innermost number counts. A process of a sandbox within the sandbox has a number in the outer one, too, but does
not know it; and its own may be that of a process of the outer one, which has another start.
"""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from switchboard.clis.descriptors import Descriptor
from switchboard.clis.liveness import Resolved, Unproven, Vantage


@dataclass(frozen=True, slots=True)
class ProcessSeen:
    """What /proc showed of a process in one look. None: it cannot be read.

    `pid`: its number here. `ns_pids`: its numbers from our PID namespace down to its own. `namespace`: its own.
    `ended`: it has exited and waits to be collected. `ancestry`: (number here, start) of itself and its ancestors,
    nearest first, as far as readable.
    """

    pid: int
    ns_pids: tuple[int, ...] | None = None
    start: str | None = None
    namespace: str | None = None
    ended: bool = False
    ancestry: tuple[tuple[int, str], ...] = ()

    def fits(self, pid: int, start: str | None) -> bool:
        """Tell whether it may be the process that calls itself `pid` in another PID namespace and started at `start`.

        What cannot be read may be anything. `start` None: any.
        """
        started = start is None or self.start is None or self.start == start
        numbered = self.ns_pids is None or (len(self.ns_pids) > 1 and self.ns_pids[-1] == pid)
        return started and numbered


def resolve(
    descriptor: Descriptor, seen: Iterable[ProcessSeen], vantage: Vantage, gap: str | None = None
) -> Resolved | Unproven:
    """Return the one process of another PID namespace that wrote the descriptor, or why none is proven to be it.

    `seen`: every process outside our PID namespace that has the descriptor's start or cannot be read; more do no harm.
    `gap`: what is missing for that, None when nothing.
    """
    start = descriptor.proc_start
    if start is None:
        return Unproven("without its start, no process can be recognised")
    if vantage.namespace is None:
        return Unproven("our own PID namespace cannot be read")
    if gap is not None:
        return Unproven(gap)
    if not vantage.unfiltered:
        return Unproven("/proc hides processes of other users from us (hidepid), and one of them may have written it")
    fitting = [process for process in seen if process.fits(descriptor.pid, start)]
    for process in fitting:
        if process.start is None or process.ns_pids is None or process.namespace is None:
            return Unproven(f"process {process.pid} cannot be looked at, and may have written it")
        if process.namespace == vantage.namespace:
            return Unproven(f"/proc shows process {process.pid} from outside our PID namespace")
    writers = [process for process in fitting if _is_named(process, descriptor, vantage)]
    if not writers:
        return Unproven("no process that can be seen in another PID namespace has its number and start")
    if len(writers) > 1:
        return Unproven(f"processes {' and '.join(str(process.pid) for process in writers)} may each have written it")
    [writer] = writers
    if writer.ended:
        return Unproven(f"process {writer.pid} fits and has exited")
    return Resolved(writer.pid, start, writer.ancestry, writer.namespace)


def keeps(figures: AbstractSet[tuple[int, str | None]], seen: Iterable[ProcessSeen]) -> bool:
    """Tell whether a living process of another PID namespace may be the writer of a descriptor with such figures.

    `figures`: number and start; the start is None when the descriptor does not say, or cannot be read.
    """
    return any(not process.ended and _may_be_among(process, figures) for process in seen)


def _may_be_among(process: ProcessSeen, figures: AbstractSet[tuple[int, str | None]]) -> bool:
    numbers, start = process.ns_pids, process.start
    if numbers is None or start is None:
        return any(process.fits(*one) for one in figures)
    return len(numbers) > 1 and not figures.isdisjoint({(numbers[-1], start), (numbers[-1], None)})


def _is_named(process: ProcessSeen, descriptor: Descriptor, vantage: Vantage) -> bool:
    """Whether the descriptor names that process's place, or none. Where our machine's id is unknown, half will do."""
    domain = descriptor.pid_domain
    if domain is None or process.namespace is None:
        return True
    if vantage.machine_id is None:
        return domain.endswith(f":{process.namespace}")
    return domain == vantage.domain(process.namespace)
