"""Ending a session (driver): the one backend of every Stop, by a person, a command or a trigger."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable

from switchboard.clis.procfs import ProcFs
from switchboard.common.clock import Clock, Instant
from switchboard.sessions.session import Session

DETACH = b"\x1a"
"""Ctrl+Z: on it, a CLI that is attached to a background job detaches, and the job goes on."""


class StopError(Exception):
    """The signal could not be sent. The text says why."""


def request_stop(session: Session, processes: ProcFs, force: bool = False) -> None:
    """Ask a session to end: SIGHUP to the process that owns the conversation, else to the terminal's foreground group.

    A shell that waits for its child ignores SIGTERM, and a hang-up is what closing a terminal means. With `force`,
    SIGKILL to that process, the foreground group and the process that was started: only a person asks for that, it
    leaves the CLI's files behind. A terminal that is attached to a background job detaches. Returns at once; the
    session's exit is the confirmation. Raises `StopError`.
    """
    if session.exit is not None:
        return
    if session.profile.kind == "attach" and not force:
        # The job behind it is not this terminal's to end.
        session.type(DETACH)
        return
    number = signal.SIGKILL if force else signal.SIGHUP
    targets: list[tuple[Callable[[int, int], None], int]] = []
    writer = session.label.writer
    if writer is not None and processes.is_same(*writer):
        targets.append((os.kill, writer[0]))
    if (group := session.foreground_group()) is not None:
        targets.append((os.killpg, group))
    targets.append((os.kill, session.pid))
    for kill, target in targets:
        try:
            kill(target, number)
        except ProcessLookupError:
            continue  # gone meanwhile, which need not be true of the next one
        except OSError as error:
            raise StopError(f"the session could not be signalled: {error.strerror}") from error
        if not force:
            return


async def wait_exit(session: Session, clock: Clock, deadline: Instant) -> bool:
    """Return whether the session has exited by the deadline."""
    while session.exit is None:
        if clock.now() >= deadline:
            return False
        await session.facts.changed(session.facts.value, clock, deadline)
    return True
