"""Ending a process at every numbered moment of its work, and seeing what the next one makes of what it left.

    class Case:                                  # one folder, one story
        def act(self, points): ...               # runs in a forked child, which may end at any point
        def recover(self, points): ...           # runs in another child, whole
        def check(self, died_at): ...            # runs here, on what is left

    reached = survive(Case.in_new_folder)        # once whole, then once for each point of `act`

A point is `points.reach("what comes next")`. `points.number_files(module)` makes one of every file operation that the
module does through its `os` and that changes something, with a half-written file as a point of its own;
`points.awaits(coroutine)` makes one of every moment at which a coroutine waits. Ending means `os._exit`: no finally, no
flush, as with SIGKILL. Children are forked here, where no event loop runs; they make their own.
"""

from __future__ import annotations

import os
import signal
import traceback
import types
import warnings
from collections.abc import Callable, Coroutine, Generator
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol

DIED = 77
"""Exit code of a child that ended at its point."""
FAILED = 70

CHANGING = ("write", "close", "rename", "replace", "link", "symlink", "unlink", "rmdir", "mkdir", "makedirs", "fsync")
"""Operations of `os` that are points; opening is one when it may create."""


class CrashPoints:
    """Numbers the points of one process from 0, and ends it at `die_at`. `report`: a descriptor, told of each."""

    def __init__(self, die_at: int | None, report: int) -> None:
        self.die_at = die_at
        self.reached = 0
        self._report = report

    def reach(self, what: str) -> None:
        """The process may end here, before `what`."""
        os.write(self._report, f"{what}\n".encode())
        if self.reached == self.die_at:
            os._exit(DIED)
        self.reached += 1

    def number_files(self, module: types.ModuleType) -> None:
        """Number the file operations of a module, for the rest of this process."""
        vars(module)["os"] = NumberedOs(self)

    @types.coroutine
    def awaits(self, work: Coroutine[Any, Any, Any]) -> Generator[Any, Any, Any]:
        """Await a coroutine; every time it waits for something is a point, before the wait and after it."""
        step: Callable[[], Any] = partial(work.send, None)
        while True:
            try:
                waits_for = step()
            except StopIteration as done:
                return done.value
            self.reach("wait")
            try:
                answer = yield waits_for
            except BaseException as error:
                step = partial(work.throw, error)
            else:
                step = partial(work.send, answer)
            self.reach("go on after a wait")


class NumberedOs:
    """Stands for the module `os`."""

    def __init__(self, points: CrashPoints) -> None:
        self._points = points

    def __getattr__(self, name: str) -> Any:
        real = getattr(os, name)
        return partial(self._numbered, name, real) if name in CHANGING else real

    def open(self, path: str, flags: int, mode: int = 0o777) -> int:
        if flags & os.O_CREAT:
            self._points.reach(f"open {os.path.basename(path)}")
        return os.open(path, flags, mode)

    def write(self, descriptor: int, data: memoryview) -> int:
        self._points.reach("write")
        half = len(data) // 2
        os.write(descriptor, data[:half])
        self._points.reach("write the other half")
        return half + os.write(descriptor, data[half:])

    def _numbered(self, name: str, real: Callable[..., Any], *arguments: Any, **named: Any) -> Any:
        paths = [os.path.basename(argument) for argument in arguments if isinstance(argument, str)]
        self._points.reach(" ".join([name, *paths]))
        return real(*arguments, **named)


@dataclass(frozen=True)
class Ending:
    """How a child ended, and the points it reached; the last one is where it died, if it did."""

    code: int
    reached: tuple[str, ...]


class Case(Protocol):
    """One story in a folder of its own. `act` and `recover` run in children: only files carry over."""

    def act(self, points: CrashPoints) -> None: ...

    def recover(self, points: CrashPoints) -> None: ...

    def check(self, died_at: str) -> None: ...


def in_child(work: Callable[[CrashPoints], None], die_at: int | None = None) -> Ending:
    """Do `work` in a forked child, ending it at that point. An exception in it fails here, with its traceback."""
    reading, writing = os.pipe()
    with warnings.catch_warnings():
        # From Python 3.12 on: the runner may have threads. The child uses none of their locks.
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if not child:
        os.close(reading)
        _work(work, CrashPoints(die_at, writing), writing)
    os.close(writing)
    try:
        with os.fdopen(reading, encoding="utf-8", errors="replace") as report:
            told = report.read()
    except BaseException:
        os.kill(child, signal.SIGKILL)
        raise
    finally:
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if code not in (0, DIED):
        raise AssertionError(f"the child ended with {code}:\n{told}")
    return Ending(code, tuple(told.splitlines()))


def _work(work: Callable[[CrashPoints], None], points: CrashPoints, report: int) -> None:
    """In the child: never returns, so that nothing of the test runner is run twice."""
    code = FAILED
    try:
        work(points)
        code = 0
    except BaseException:
        os.write(report, traceback.format_exc().encode())
    finally:
        os._exit(code)


def survive(make: Callable[[], Case], *, and_recovery: bool = False) -> list[str]:
    """Run a story whole, and then once for each point at which its process can end. Returns the points.

    `and_recovery`: in each of these the recovering process also ends at each of *its* points, and another one recovers.
    """
    case = make()
    whole = in_child(case.act)
    assert whole.code == 0
    in_child(case.recover)
    case.check("the end")
    for number, place in enumerate(whole.reached):
        where = f"{number}: before {place}"
        case = make()
        first = _die(case.act, number, whole.reached)
        recovery = in_child(case.recover)
        case.check(where)
        assert first.reached[-1] == place
        if not and_recovery:
            continue
        for second, again in enumerate(recovery.reached):
            case = make()
            _die(case.act, number, whole.reached)
            _die(case.recover, second, recovery.reached)
            in_child(case.recover)
            case.check(f"{where}, then {second}: before {again}")
    return list(whole.reached)


def _die(work: Callable[[CrashPoints], None], number: int, expected: tuple[str, ...]) -> Ending:
    ending = in_child(work, number)
    assert ending.code == DIED, f"point {number} was not reached: the work is not the same each time"
    assert ending.reached == expected[: number + 1], "the work is not the same each time"
    return ending
