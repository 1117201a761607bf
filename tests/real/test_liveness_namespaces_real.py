"""Writers in PID namespaces of their own, found from outside with the real /proc, as we are and as an ordinary user.

A fake CLI writes its descriptor from inside bubblewrap, or from inside what `unshare` makes. What it calls itself is a
number that is free here, or one that another process has here.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from tests.support.boxed_cli import NOBODY, BoxedCli, Launcher, boxed_cli

from switchboard.clis.liveness import Background, LiveElsewhere, Liveness, NotLive, Unknown
from switchboard.clis.namespace_resolver import NamespaceResolver, maps_to_nobody
from switchboard.clis.procfs import ProcFs
from switchboard.common.folder_watch import open_folder_watcher
from switchboard.common.system_clock import SystemClock
from switchboard.sessions.liveness_check import LivenessCheck, LivenessSources
from switchboard.sessions.schedules import Schedules

ID = "0d6f3a52-0000-4000-8000-00000000000a"
SOURCE = Path(__file__).parents[2] / "src"
LAUNCHERS: list[Launcher] = ["bwrap", "unshare", "nested unshare"]


@pytest.fixture
def folder() -> Iterator[Path]:
    """A descriptor folder that an ordinary user can reach and write to; pytest's own folders are closed to others."""
    with TemporaryDirectory(prefix="switchboard-test-") as place:
        os.chmod(place, 0o755)
        made = Path(place) / "sessions"
        made.mkdir()
        made.chmod(0o777)
        yield made


def free_number() -> int:
    """A small number that no process has here."""
    return next(number for number in range(20, 30_000) if not os.path.exists(f"/proc/{number}"))


def taken_number() -> int:
    """The smallest number that a process inside can have and that another process has here."""
    return min(number for number in ProcFs().numbers() if number > 2)


async def ask(folder: Path, exclude: tuple[tuple[int, str], ...] = ()) -> Liveness:
    """Ask both ways; they agree."""
    processes, clock, watcher = ProcFs(), SystemClock(), open_folder_watcher()
    sources = LivenessSources(
        lambda: (str(folder),), processes, Schedules(), lambda _pid, _start: (), NamespaceResolver(processes)
    )
    check = LivenessCheck(sources, watcher, clock)
    try:
        answer = await check.check(ID, clock.now() + 20_000, exclude)
        assert check.check_now(ID, exclude) == answer
    finally:
        await watcher.aclose()
    return answer


@dataclass(frozen=True)
class Told:
    """What an ordinary user is told: the kind of answer, whose process, and whether the folder is nobody's."""

    kind: str
    pid: int | None
    nobodys: bool


def ask_as_nobody(folder: Path) -> Told:
    """Ask as somebody who is not root. The modules are loaded before: that user may not be allowed to read them."""
    question = f"""
import os, sys
sys.path.insert(0, {str(SOURCE)!r})
from switchboard.clis.namespace_resolver import NamespaceResolver, maps_to_nobody
from switchboard.clis.procfs import ProcFs
from switchboard.common.folder_watch import open_folder_watcher
from switchboard.common.system_clock import SystemClock
from switchboard.sessions.liveness_check import LivenessCheck, LivenessSources
from switchboard.sessions.schedules import Schedules
import encodings.ascii
if os.geteuid() == 0:
    os.setgroups([])
    os.setgid({NOBODY})
    os.setuid({NOBODY})
processes = ProcFs()
folders, resolver = ({str(folder)!r},), NamespaceResolver(processes)
sources = LivenessSources(lambda: folders, processes, Schedules(), lambda _pid, _start: (), resolver)
answer = LivenessCheck(sources, None, SystemClock()).check_now({ID!r})
where = getattr(answer, "where", None)
print(type(answer).__name__, where.pid if where else 0, maps_to_nobody(processes, folders[0]))
"""
    done = subprocess.run([sys.executable, "-c", question], capture_output=True, text=True, check=True)
    kind, pid, nobodys = done.stdout.split()
    return Told(kind, int(pid) or None, nobodys == "True")


async def is_found(folder: Path, cli: BoxedCli) -> None:
    answer = await ask(folder)
    assert isinstance(answer, LiveElsewhere)
    assert answer.where.pid == cli.pid != cli.number
    assert not maps_to_nobody(ProcFs(), str(folder))


@pytest.mark.parametrize("number", [free_number, taken_number], ids=["host N absent", "host N occupied"])
@pytest.mark.parametrize("launcher", LAUNCHERS)
@pytest.mark.parametrize("unprivileged", [False, True], ids=["as we are", "as an ordinary user"])
async def test_9_a_writer_in_its_own_namespace(
    folder: Path, launcher: Launcher, number: object, unprivileged: bool
) -> None:
    inner = number()  # type: ignore[operator] # one of the two above
    occupied = os.path.exists(f"/proc/{inner}")
    assert occupied is (number is taken_number)
    with boxed_cli(folder, ID, inner, launcher, unprivileged=unprivileged) as cli:
        assert (folder / f"{inner}.json").exists()
        await is_found(folder, cli)
        if unprivileged:
            assert ask_as_nobody(folder) == Told("LiveElsewhere", cli.pid, False)
        cli.end()
        answer = await ask(folder)
        assert isinstance(answer, Unknown), "a complete scan that finds nobody proves no death"
        assert f"{inner}.json" in answer.detail
        assert maps_to_nobody(ProcFs(), str(folder)), "but of its own folder it may be said"
        assert ask_as_nobody(folder) == Told("Unknown", None, True)
        (folder / f"{inner}.json").unlink()
        assert await ask(folder) == NotLive()


async def test_7_a_sandbox_of_another_user_is_unknown_to_an_ordinary_one(folder: Path) -> None:
    """Its numbers and start can be read and fit; which namespace that is, only its owner and root may know."""
    with boxed_cli(folder, ID, free_number()) as cli:
        mine = os.geteuid() != 0
        assert ask_as_nobody(folder) == (
            Told("LiveElsewhere", cli.pid, False) if mine else Told("Unknown", None, False)
        )


async def test_9_two_sandboxes_with_the_same_number(folder: Path) -> None:
    """They share a folder: the later one has overwritten the descriptor of the earlier one, and is the one found."""
    number = free_number()
    with boxed_cli(folder, ID, number) as first, boxed_cli(folder, ID, number) as second:
        assert first.pid != second.pid
        await is_found(folder, second)
        second.end()
        assert isinstance(await ask(folder), Unknown), "the first one is another process, and says nothing any more"


async def test_5_a_background_job_in_a_sandbox(folder: Path) -> None:
    with boxed_cli(folder, ID, free_number(), more=',"kind":"bg","jobId":"j7"') as cli:
        answer = await ask(folder)
        assert isinstance(answer, Background)
        assert (answer.job, answer.where.pid) == ("j7", cli.pid)


@pytest.mark.parametrize("launcher", LAUNCHERS)
async def test_7_its_own_terminal_is_not_elsewhere(folder: Path, launcher: Launcher) -> None:
    """What runs in the terminal is the launcher; the writer descends from it, by the numbers that they have here."""
    processes = ProcFs()
    with boxed_cli(folder, ID, free_number(), launcher) as cli:
        start = processes.start(cli.outer)
        assert start is not None
        assert await ask(folder, ((cli.outer, start),)) == NotLive()
        assert isinstance(await ask(folder, ((cli.outer, f"{start}0"),)), LiveElsewhere)
        assert isinstance(await ask(folder, ((cli.number, start),)), LiveElsewhere)


async def test_23_its_domain_is_the_namespace_as_seen_from_here(folder: Path) -> None:
    """Newer CLIs write where they are; the kernel names a namespace the same inside and outside."""
    with boxed_cli(folder, ID, free_number()) as cli:
        path = folder / f"{cli.number}.json"
        seen = ProcFs().seen(cli.pid)
        assert seen is not None
        machine = ProcFs().vantage().machine_id
        written = path.read_text()
        path.write_text(written.replace('"status"', f'"pidDomain":"linux:{machine}:{seen.namespace}","status"'))
        await is_found(folder, cli)
        path.write_text(written.replace('"status"', f'"pidDomain":"linux:{machine}:pid:[1]","status"'))
        assert isinstance(await ask(folder), Unknown)
