"""Being told of the end of a process that is nobody's child here (door)."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable

WatchEnd = Callable[[int, Callable[[], None]], Callable[[], None]]
"""`watch_end(pid, ended)`, as below."""


def watch_end(pid: int, ended: Callable[[], None]) -> Callable[[], None]:
    """Call back once when that process has ended, also as a zombie; return what gives the watch up.

    Where the system cannot tell (pidfds are Linux's), nothing is ever said. One that has ended already is reported at
    the next turn of the loop.
    """
    loop = asyncio.get_running_loop()
    try:
        handle = os.pidfd_open(pid)
    except ProcessLookupError:
        return loop.call_soon(ended).cancel
    except (AttributeError, OSError):
        return lambda: None
    closed = False

    def give_up() -> None:
        nonlocal closed
        if not closed:
            closed = True
            loop.remove_reader(handle)
            os.close(handle)

    def gone() -> None:
        give_up()
        ended()

    loop.add_reader(handle, gone)
    return give_up
