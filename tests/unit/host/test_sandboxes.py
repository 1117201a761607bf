"""What a host makes for a sandbox, and when it takes the folder of descriptors away again."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from tests.support.sessions import House, house, until

from switchboard.common.clock import FOREVER
from switchboard.host.sandbox_folders import SandboxFolders
from switchboard.host.sandboxes import RETRIES_MS, Sandboxes
from switchboard.sessions.session import Session
from switchboard.triggers.spool import SpoolError


class Rig:
    """A registry moved by hand, and the sandboxes of its host."""

    def __init__(self, root: Path, home: House) -> None:
        self.root = root
        self.home = home
        self.used: set[str] = set()
        self.asked: list[str] = []
        self.error: OSError | None = None
        self.folders = SandboxFolders(str(root), [str(root / "cli")], self.is_unused)
        triggers, run = str(root / "triggers"), str(root / "run")
        self.sandboxes = Sandboxes(self.folders, triggers, str(root), run, home.clock, home.log)
        home.registry.listen(self.sandboxes)

    def is_unused(self, folder: str) -> bool:
        self.asked.append(folder)
        if self.error is not None:
            raise self.error
        return folder not in self.used

    async def starts(self) -> tuple[Session, str]:
        place = self.sandboxes.place("-p", ())
        self.sandboxes.prepare(place, str(self.root / "cli"))
        session = await self.home.opens(sandbox=place.sessions_dir)
        return session, place.sessions_dir

    async def looked(self, count: int) -> None:
        """Return when it was looked so many times, and the next time is awaited."""
        await until(lambda: len(self.asked) == count and self.home.clock.next_timer < FOREVER, f"look {count}")

    @asynccontextmanager
    async def tended(self) -> AsyncIterator[None]:
        async with self.sandboxes.tended(list(self.home.registry)):
            yield


@pytest.fixture
async def home(tmp_path: Path) -> AsyncIterator[Rig]:
    with house() as made:
        await made.registry.connect()
        yield Rig(tmp_path, made)


def test_the_place_of_a_sandbox(tmp_path: Path) -> None:
    with house() as made:
        rig = Rig(tmp_path, made)
        place = rig.sandboxes.place("-srv-p", ["/a"])
        assert (place.triggers_dir, place.data_dir, place.runtime_dir) == (
            str(tmp_path / "triggers"),
            str(tmp_path),
            str(tmp_path / "run"),
        )
        assert (place.project_folder, place.binds, place.platform) == ("-srv-p", ("/a",), sys.platform)
        assert place.sessions_dir != rig.sandboxes.place("-srv-p", ()).sessions_dir
        assert os.listdir(tmp_path) == []


def test_preparing_makes_the_triggers_folder_too(tmp_path: Path) -> None:
    with house() as made:
        rig = Rig(tmp_path, made)
        place = rig.sandboxes.place("-p", ())
        rig.sandboxes.prepare(place, None)
        assert os.path.isdir(tmp_path / "triggers" / "processed")
        assert os.path.isdir(place.sessions_dir)
        assert rig.sandboxes.folders() == [place.sessions_dir]
        rig.sandboxes.withdraw(place)
        rig.sandboxes.withdraw(place)
        assert rig.sandboxes.folders() == []


def test_without_a_triggers_folder_nothing_is_prepared(tmp_path: Path) -> None:
    with house() as made:
        rig = Rig(tmp_path, made)
        (tmp_path / "triggers").write_text("")
        with pytest.raises(SpoolError, match="the triggers folder"):
            rig.sandboxes.prepare(rig.sandboxes.place("-p", ()), None)
        assert rig.sandboxes.folders() == []


async def test_the_folder_goes_with_the_session(home: Rig) -> None:
    async with home.tended():
        session, folder = await home.starts()
        other, others = await home.starts()
        session.rename("a change that is no end")
        assert home.asked == []
        home.home.keeper.exits(session.handle)
        await until(lambda: not os.path.exists(os.path.dirname(folder)), "the end of the folder")
        assert home.sandboxes.folders() == [others]
        assert other.exit is None
    assert home.asked == [folder]


async def test_a_session_without_a_sandbox_has_none(home: Rig) -> None:
    async with home.tended():
        session = await home.home.opens()
        home.home.keeper.exits(session.handle)
        await asyncio.sleep(0)
    assert home.asked == []


async def test_it_is_looked_at_again_while_a_process_may_be_named_in_it(home: Rig) -> None:
    """What a killed sandbox held ends a moment after the sandbox."""
    async with home.tended():
        session, folder = await home.starts()
        home.used.add(folder)
        home.home.keeper.exits(session.handle)
        await home.looked(1)
        await home.home.clock.advance(RETRIES_MS[0] - 1)
        await asyncio.sleep(0)
        assert len(home.asked) == 1
        home.used.clear()
        await home.home.clock.advance(1)
        await until(lambda: not os.path.exists(folder), "the second look")
    assert home.asked == [folder, folder]


async def test_in_the_end_it_is_left_to_the_next_host(home: Rig) -> None:
    async with home.tended():
        session, folder = await home.starts()
        home.used.add(folder)
        home.home.keeper.exits(session.handle)
        for count, pause in enumerate(RETRIES_MS, 1):
            await home.looked(count)
            await home.home.clock.advance(pause)
        await until(lambda: home.home.log.lines, "the word that it is left")
        assert home.home.log.lines == [
            f"warning the folder {folder} is left: a process that is named in it may still run"
        ]
    home.used.clear()
    async with home.tended():
        await until(lambda: not os.path.exists(folder), "the sweep at the start")


async def test_a_host_that_closes_waits_for_none_of_it(home: Rig) -> None:
    async with home.tended():
        session, folder = await home.starts()
        home.used.add(folder)
        home.home.keeper.exits(session.handle)
        await until(lambda: home.asked, "the first look")
    assert os.path.isdir(folder)
    assert home.home.log.lines == []


async def test_a_host_that_ends_right_after_its_sessions_leaves_nothing(home: Rig) -> None:
    async with home.tended():
        session, folder = await home.starts()
        home.home.keeper.exits(session.handle)
    assert home.sandboxes.folders() == []
    assert not os.path.exists(os.path.dirname(folder))


async def test_a_folder_that_cannot_be_removed_is_told_of_once(home: Rig) -> None:
    async with home.tended():
        session, folder = await home.starts()
        home.error = PermissionError(13, "Permission denied", folder)
        home.home.keeper.exits(session.handle)
        await until(lambda: home.home.log.lines, "the word that it is left")
    assert len(home.home.log.lines) == 1
    assert f"the folder {folder} is left" in home.home.log.lines[0]


async def test_what_a_killed_host_left_is_swept_at_the_start(home: Rig) -> None:
    adopted, in_use = await home.starts()
    ended, left = await home.starts()
    home.home.keeper.exits(ended.handle)
    killed = home.folders.of("killed")
    lives = home.folders.of("lives")
    for folder in (killed, lives):
        home.folders.make(folder, None)
    home.used.add(lives)
    async with home.tended():
        await until(lambda: len(home.asked) == 3, "the sweep")
        await until(lambda: home.sandboxes.folders() == sorted([in_use, lives]), "the end of the others")
    assert sorted(home.asked) == sorted([left, killed, lives])
    assert adopted.exit is None
