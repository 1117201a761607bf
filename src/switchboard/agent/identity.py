"""Who this process is (door): what the kernel and the machine say about it."""

from __future__ import annotations

import os

from switchboard.agent.descriptor import Identity

_STARTED = 19
"""Field 22 of /proc/<pid>/stat, counted after the closing parenthesis of the name."""


def own_identity(proc: str = "/proc", machine_id: str = "/etc/machine-id") -> Identity:
    """This process, as far as the machine tells: start tick and domain are None where there is no /proc."""
    started = _read(f"{proc}/self/stat").rpartition(")")[2].split()
    return Identity(
        pid=os.getpid(),
        started=started[_STARTED] if len(started) > _STARTED else None,
        domain=_domain(proc, machine_id),
    )


def _domain(proc: str, machine_id: str) -> str | None:
    machine = _read(machine_id).strip()
    try:
        namespace = os.readlink(f"{proc}/self/ns/pid")
    except OSError:
        return None
    return f"linux:{machine}:{namespace}" if machine else None


def _read(path: str) -> str:
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read()
    except OSError:
        return ""
