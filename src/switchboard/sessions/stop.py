"""Ending a session (driver): the one backend of every Stop, by a person, a command or a trigger."""

from __future__ import annotations

import contextlib
import os
import signal

from switchboard.clis.procfs import ProcFs
from switchboard.common.clock import Clock, Instant
from switchboard.sessions.session import Session


DETACH = b"\x1a"


class StopError(Exception):
    """The signal could not be sent. The text says why."""


def request_stop(session: Session, processes: ProcFs, force: bool = False) -> None:
    """Ask a session to end: SIGHUP to the process that owns the conversation, else to the terminal's foreground group.

    A shell that waits for its child ignores SIGTERM, and a hang-up is what closing a terminal means. With `force`,
    SIGKILL to that process, the foreground group and the process that was started: only a person asks for that, it
    leaves the CLI's files behind. A terminal that is attached to a background job detaches. Returns at once; the session's exit is the confirmation. Raises `StopError`.
    """
    if session.exit is not None:
        return
    if session.profile.kind == "attach" and not force:
        # The job behind it is not this terminal's to end: its CLI detaches on Ctrl+Z.
        session.type(DETACH)
        return
    number = signal.SIGKILL if force else signal.SIGHUP
    writer = session.label.writer
    group = session.foreground_group()
    try:
        if writer is not None and processes.is_same(*writer):
            os.kill(writer[0], number)
        elif group is not None:
            os.killpg(group, number)
        else:
            os.kill(session.pid, number)
        if force:
            for target, kill in ((group, os.killpg), (session.pid, os.kill)):
                if target is not None:
                    with contextlib.suppress(ProcessLookupError):
                        kill(target, number)
    except ProcessLookupError:
        return  # it is ending by itself
    except OSError as error:
        raise StopError(f"the session could not be signalled: {error.strerror}") from error


async def wait_exit(session: Session, clock: Clock, deadline: Instant) -> bool:
    """Return whether the session has exited by the deadline."""
    while session.exit is None:
        if clock.now() >= deadline:
            return False
        await session.facts.changed(session.facts.value, clock, deadline)
    return True
