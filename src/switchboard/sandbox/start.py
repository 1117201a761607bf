"""Starting a sandbox, and letting it go on when its mounts have been looked at (door).

Bubblewrap makes the mounts and then, as its last two tasks before it runs the program, copies two files into the
sandbox. Both are ends of channels of ours. That the first one is read tells that the mounts are made. The second one
keeps bubblewrap waiting while they are compared with the plan, from outside, where nobody in a sandbox can interfere.
It comes to its end when they are as planned; in any other case, should this process die too, it breaks off and
bubblewrap gives up.

The socket comes from the module beneath `socket`, which takes longer to load than a sandbox to make.
"""

from __future__ import annotations

import _socket
import fcntl
import os
import select
import signal
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NoReturn

from switchboard.sandbox.bwrap import close_others, private_files
from switchboard.sandbox.host_mounts import HostMounts
from switchboard.sandbox.mounts import FIRST_FILE, Refusal
from switchboard.sandbox.outcome import Expected
from switchboard.sandbox.plan import Plan

SECONDS = 60.0
"""Mounts take some milliseconds; a network file system that does not answer takes for ever."""

TOP = "/newroot"
"""Where bubblewrap has the sandbox's root while it makes it."""

MARK = "/.switchboard-sandbox"
"""The file that both channels are copied to; it stays empty."""

FAILED = "bwrap failed to set up the sandbox"
CHILD = b'"child-pid":'


def start(bwrap: str, plan: Plan, environment: Mapping[str, str]) -> NoReturn:
    """Run the sandbox and end with its exit code. Raises `Refusal` when it did not come about as planned.

    This process stays until then; whatever ends it ends the sandbox too.
    """
    expected = Expected(plan.mounts, _mounts_of("self"))
    options, contents = plan.options()
    files = private_files(contents)
    close_others(files.values())
    gate = _Gate.opened(at_least=FIRST_FILE + len(contents) + len(_Gate.OPTIONS))
    given = dict(files)
    for option, descriptor in gate.given:
        number = FIRST_FILE + len(given)
        given[number] = descriptor
        options += [option, str(number), *([MARK] if option == "--file" else [])]
    actions = [(os.POSIX_SPAWN_DUP2, ours, theirs) for theirs, ours in given.items()]
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # as it would be if this process became the sandbox
    try:
        process = os.posix_spawn(
            bwrap,
            [bwrap, *options, *plan.command],
            dict(environment),
            file_actions=actions,
            # Python ignores them, and the CLI would inherit that.
            setsigdef=(signal.SIGPIPE, signal.SIGXFSZ),
        )
    except OSError as error:
        raise Refusal(f"{bwrap} cannot be run: {error.strerror}") from error
    for descriptor in given.values():
        os.close(descriptor)
    try:
        gate.pass_through(expected)
    except BaseException:
        os.kill(process, signal.SIGKILL)  # it has not been waited for, so its number is still its own
        os.waitpid(process, 0)
        raise
    _close_all()
    code = os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
    os._exit(128 - code if code < 0 else code)


@dataclass(frozen=True, slots=True)
class _Gate:
    """Our ends of the channels, and those of bubblewrap with the option that takes each."""

    OPTIONS = ("--info-fd", "--file", "--file")

    about: int
    made: int
    go: _socket.socket
    given: tuple[tuple[str, int], ...]

    @classmethod
    def opened(cls, at_least: int) -> _Gate:
        """`at_least`: bubblewrap's ends have higher numbers, so that none is overwritten on its way to another."""
        about, tells = os.pipe()
        reads, made = os.pipe()
        # Room for one write, which is taken: there is room again when it has been read.
        fcntl.fcntl(made, fcntl.F_SETPIPE_SZ, 1)
        os.write(made, b"\n")
        go, waits = _socket.socketpair()
        # Unread, it makes the end of this process, or of this end, an error for the other one.
        waits.send(b"\n")
        ends = []
        for descriptor in (tells, reads, waits.detach()):
            ends.append(fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, at_least))
            os.close(descriptor)
        return cls(about, made, go, tuple(zip(cls.OPTIONS, ends, strict=True)))

    def pass_through(self, expected: Expected) -> None:
        """Let bubblewrap go on if its mounts are as expected. Raises `Refusal` otherwise."""
        deadline = time.monotonic() + SECONDS
        child = self._child(deadline)
        try:
            handle = os.pidfd_open(child)
        except ProcessLookupError:
            raise Refusal(f"{FAILED}: it ended before the mounts were made") from None
        if not _wait(self.made, select.POLLOUT, deadline):
            raise Refusal(f"{FAILED}: it ended before the mounts were made")
        trouble = expected.trouble(_mounts_of(child), TOP)
        if trouble:
            # It would end by itself, and say that it cannot go on.
            signal.pidfd_send_signal(handle, signal.SIGKILL)
            raise Refusal(
                f"the sandbox did not come out as planned: {trouble}. Something was exchanged while it was being made, "
                "perhaps by another session; nothing was started"
            )
        os.close(handle)
        os.close(self.made)
        self.go.recv(1)
        self.go.close()

    def _child(self, deadline: float) -> int:
        """The process that makes the mounts, as bubblewrap names it."""
        text = b""
        while b"}" not in text:
            more = os.read(self.about, 4_096) if _wait(self.about, select.POLLIN, deadline) else b""
            if not more:
                raise Refusal(f"{FAILED}: it ended before it had begun")
            text += more
        _, found, rest = text.partition(CHILD)
        number = rest.split(b",")[0].strip(b" \n}")
        if not found or not number.isdigit():
            raise Refusal(f"{FAILED}: it does not tell its process")
        return int(number)


def _wait(descriptor: int, event: int, deadline: float) -> bool:
    """Wait for it; False when there is nobody at the other end any more."""
    poll = select.poll()
    poll.register(descriptor, event)
    found = poll.poll(max(0.0, deadline - time.monotonic()) * 1_000)
    if not found:
        raise Refusal(f"{FAILED}: it took more than {SECONDS:.0f} seconds")
    return bool(found[0][1] & event) and not found[0][1] & select.POLLERR


def _mounts_of(process: int | str) -> HostMounts:
    try:
        with open(f"/proc/{process}/mountinfo", encoding="utf-8", errors="surrogateescape") as file:
            return HostMounts(file.read())
    except (OSError, ValueError) as error:
        raise Refusal(f"{FAILED}: the mounts of process {process} cannot be looked at: {error}") from error


def _close_all() -> None:
    """A pipe that is kept open here would never come to its end."""
    os.closerange(3, os.sysconf("SC_OPEN_MAX"))
