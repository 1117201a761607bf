"""Looks for the writers of descriptors among the processes of other PID namespaces (driver).

It stands behind the check whether a session is live elsewhere (`sessions.liveness_check.WriterResolver`), which asks
for it only when a descriptor names the session and no process of our own namespace is proven to have written it. All of
/proc is looked at then, once for all descriptors in question, and what fits is looked at again each time it is told.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import replace

from switchboard.clis.descriptor_files import MAX_FILES, read_raw
from switchboard.clis.descriptors import Descriptor, is_descriptor_name, pid_of_name
from switchboard.clis.liveness import EvidenceUnavailable, Resolved, Unproven, Vantage
from switchboard.clis.namespaces import ProcessSeen, keeps, resolve
from switchboard.clis.procfs import ProcFs

NOT_DONE = "not all processes have been looked at"


class NamespaceSearch:
    """One look at all processes, for the descriptors that it was made for."""

    def __init__(self, processes: ProcFs, descriptors: Sequence[Descriptor], vantage: Vantage) -> None:
        self._processes = processes
        self._vantage = vantage
        self._starts = frozenset(one.proc_start for one in descriptors if one.proc_start is not None)
        self._seen: list[ProcessSeen] = []
        self._gap: str | None = NOT_DONE

    def run(self) -> Iterator[None]:
        """Look at them; yields wherever the loop may have a turn. Not run to its end, it proves nothing."""
        own = self._vantage.namespace
        if own is None or not self._starts:
            self._gap = None
            return
        try:
            for process in self._processes.outside(own, self._starts):
                if process is None:
                    yield
                else:
                    self._seen.append(process)
        except EvidenceUnavailable as error:
            self._gap = str(error)
        else:
            self._gap = None

    def found(self, descriptor: Descriptor) -> Resolved | Unproven:
        """Return the one process that wrote it, as it is at this moment, or why none is proven to have done so."""
        if descriptor.proc_start not in self._starts:
            return Unproven("its writer has not been looked for")
        found = resolve(descriptor, self._seen, self._vantage, self._gap)
        if isinstance(found, Unproven):
            return found
        now = self._processes.seen(found.pid)
        if now is None or resolve(descriptor, (now,), self._vantage) != found:
            return Unproven(f"process {found.pid} has ended or changed while it was looked at")
        return replace(found, ancestry=self._processes.ancestry(found.pid, found.start))

    def is_nobodys(self, descriptor: Descriptor) -> bool:
        """Tell whether all processes have been looked at, and none of another PID namespace may have written it."""
        start, vantage = descriptor.proc_start, self._vantage
        if start not in self._starts or self._gap is not None or vantage.namespace is None or not vantage.unfiltered:
            return False
        return not any(process.fits(descriptor.pid, start) for process in self._seen)


class NamespaceResolver:
    """The resolver for one /proc."""

    def __init__(self, processes: ProcFs) -> None:
        self._processes = processes

    def search(self, descriptors: Sequence[Descriptor], vantage: Vantage) -> NamespaceSearch:
        """Return a look that is still to be run, for these descriptors, as seen from `vantage`."""
        return NamespaceSearch(self._processes, descriptors, vantage)


def maps_to_nobody(processes: ProcFs, folder: str) -> bool:
    """Tell whether it is certain that no living process wrote any descriptor that lies in the folder.

    For folders that only the processes of one sandbox can have written to, and of which the process that we started is
    gone: such a folder can be removed then. Certain means: every process can be seen, none of another PID namespace
    fits, and the folder has not changed meanwhile. Processes of our own do not count: none of them is in a sandbox,
    whatever was written there. Of a descriptor that is damaged, cannot be read or does not say when its writer started,
    every process of another namespace with its number may be the writer; so it is with all of them where they are too
    many to be read. A folder that does not exist is nobody's. Looks at all processes at once, for 25 ms if there are
    5,000, and only if there is a descriptor at all.
    """
    figures = _figures(folder)
    if not figures:
        return figures is not None
    vantage = processes.vantage()
    if vantage.namespace is None or not vantage.unfiltered:
        return False
    starts = [start for _, start in figures if start is not None]
    try:
        looks = processes.outside(vantage.namespace, starts if len(starts) == len(figures) else None)
        seen = [process for process in looks if process is not None]
    except EvidenceUnavailable:
        return False
    return not keeps(figures, seen) and _figures(folder) == figures


def _figures(folder: str) -> frozenset[tuple[int, str | None]] | None:
    """Return number and start of the writers of all descriptors in a folder; None when it cannot be listed."""
    try:
        names = [name for name in os.listdir(folder) if is_descriptor_name(name)]
    except FileNotFoundError:
        return frozenset()
    except OSError:
        return None
    if len(names) > MAX_FILES:
        return frozenset((pid_of_name(name), None) for name in names)
    return frozenset(_writer(folder, name) for name in names)


def _writer(folder: str, name: str) -> tuple[int, str | None]:
    file = read_raw(folder, name)
    if file is None or file.descriptor is None:
        return pid_of_name(name), None
    return file.descriptor.pid, file.descriptor.proc_start
