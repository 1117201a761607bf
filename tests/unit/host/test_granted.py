"""Opening for a versioned action: exactly what the grant says, once, with the last look right before the start."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest
from tests.support.host_actions import AUTO, OTHER
from tests.support.host_actions import ActionsRig as Rig
from tests.support.sessions import ID, house, until

from switchboard.clis.closed_sessions import ClosedSession
from switchboard.common.clock import FOREVER, Instant
from switchboard.delivery.lifecycle import Create, HostedTarget, PageRefused, Resume, Trouble
from switchboard.page.broker import Grant
from switchboard.page.messages import Done, OpenSession
from switchboard.sessions.keeper_client import KeeperError, KeeperGoneError
from switchboard.store.sqlite import StoreError, project_scope


class Granted:
    """A grant, and what the host did with it, in order."""

    def __init__(self, rig: Rig, what: Resume | Create) -> None:
        self.rig = rig
        self.what = what
        self.prepare: Callable[[], Any] = lambda: None
        self.final: Callable[[], Trouble | None] = lambda: None
        self.deadline: Instant = FOREVER
        self.did: list[tuple[str, int]] = []
        """Each step, with how many starts the keeper had been asked for by then."""
        self.sessions: list[HostedTarget] = []

    def note(self, step: str) -> None:
        self.did.append((step, len(self.rig.home.keeper.spawned)))

    def grant(self) -> Grant:
        async def prepare() -> Trouble | None:
            self.note("prepare")
            said = self.prepare()
            return await said if asyncio.iscoroutine(said) else said  # type: ignore[no-any-return]  # what a test says

        def final() -> Trouble | None:
            self.note("final")
            return self.final()

        def spawned(session: HostedTarget) -> None:
            self.note("spawned")
            self.sessions.append(session)

        def found(session: HostedTarget) -> None:
            self.note("found")
            self.sessions.append(session)

        return Grant(self.what, prepare, final, spawned, found, self.deadline)

    async def opens(self, **fields: Any) -> Done:
        """What a page asks for; all but its size is to be ignored."""
        mode = "resume" if isinstance(self.what, Resume) else "new"
        return await self.rig.actions.open(OpenSession(7, mode, permit="p", **fields), self.grant())  # type: ignore[arg-type]  # a text of a table

    async def refused(self) -> tuple[str, str | None, bool]:
        with pytest.raises(PageRefused) as caught:
            await self.opens()
        assert self.rig.actions._opening == {}
        return caught.value.reason, caught.value.detail, caught.value.uncertain

    @property
    def steps(self) -> list[str]:
        return [step for step, _ in self.did]


def resume(rig: Rig, cwd: Path | None = None, profile: str = "claude", project: Path | None = None) -> Granted:
    place = str(cwd or rig.project)
    closed = ClosedSession(ID, profile, "/transcripts/x.jsonl", (1, 2), place)
    return Granted(rig, Resume(closed, str(project or rig.project)))


def create(rig: Rig, name: str = "A name") -> Granted:
    return Granted(rig, Create(OTHER, str(rig.project), name))


def settings(rig: Rig, scope: str = "global", **values: Any) -> None:
    rig.store.change_settings(scope, lambda _before: values)


@pytest.fixture
async def rig(tmp_path: Path) -> AsyncIterator[Rig]:
    with house() as home:
        made = Rig(tmp_path, home)
        yield made
        made.reader.close()
        made.store.close()


# --- as it should be ----------------------------------------------------------------------------------------------


async def test_a_resume(rig: Rig) -> None:
    rig.store.set_name(ID, "kept")
    granted = resume(rig)
    done = await granted.opens(columns=100, rows=30)
    (session,) = rig.registry
    (spawn,) = rig.home.keeper.spawned
    assert spawn.argv == (rig.program, "--resume", ID, *AUTO)
    assert (spawn.cwd, spawn.size) == (str(rig.project), (100, 30))
    assert granted.did == [("prepare", 0), ("final", 0), ("spawned", 1)]
    assert granted.sessions == [session]
    assert done.session is not None
    assert (done.ok, done.session.id, done.session.generation) == (True, ID, session.generation)
    assert (session.label.launch, session.label.name, session.label.project) == ("resume", "kept", str(rig.project))
    assert done.session.opened_by == "trigger"
    assert rig.opened == [session]
    assert rig.rows("select session_id, pid from launch") == [(ID, session.pid)]


async def test_a_new_session(rig: Rig) -> None:
    granted = create(rig)
    done = await granted.opens()
    (session,) = rig.registry
    assert rig.home.keeper.spawned[0].argv == (rig.program, "--session-id", OTHER, *AUTO)
    assert granted.did == [("prepare", 0), ("final", 0), ("spawned", 1)]
    assert (done.ok, session.key, session.label.launch, session.label.name) == (True, OTHER, "new", "A name")
    assert rig.store.names() == {OTHER: "A name"}


@pytest.mark.parametrize("what", [resume, create])
async def test_of_what_the_page_says_only_the_size_counts(rig: Rig, what: Callable[[Rig], Granted]) -> None:
    granted = what(rig)
    await granted.opens(profile="agent", session_id="x", cwd="/etc", name="theirs", force=True)
    (session,) = rig.registry
    assert (session.profile.name, session.key) == ("claude", OTHER if what is create else ID)
    assert rig.home.keeper.spawned[0].cwd == str(rig.project)
    assert session.label.name == ("A name" if what is create else None)


async def test_a_resume_that_finds_no_transcript_resumes_all_the_same(rig: Rig) -> None:
    """The guards look for it; an ordinary open would begin anew under that id here."""
    await resume(rig).opens()
    assert rig.home.keeper.spawned[0].argv[1:3] == ("--resume", ID)


async def test_nothing_comes_between_the_last_look_and_the_start(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    """The keeper has been reached, the program found, the settings read; no other task gets a turn."""
    turns: list[str] = []
    granted = resume(rig)

    def final() -> None:
        assert rig.home.keeper.connected
        asyncio.get_running_loop().call_soon(turns.append, "another turn")

    granted.final = final  # type: ignore[assignment]  # it returns None
    spawn = rig.home.keeper.spawn

    async def spawned(*arguments: Any) -> Any:
        turns.append("spawn")
        return await spawn(*arguments)

    monkeypatch.setattr(rig.home.keeper, "spawn", spawned)
    await granted.opens()
    assert turns[:1] == ["spawn"]


@pytest.mark.parametrize("what", [resume, create])
async def test_the_keeper_may_start_it_until_the_deadline_of_the_action(
    rig: Rig, what: Callable[[Rig], Granted]
) -> None:
    granted = what(rig)
    granted.deadline = rig.clock.now() + 700
    await granted.opens()
    assert rig.home.keeper.spawned[0].deadline == rig.clock.now() + 700


async def test_the_launch_time_is_that_of_the_start(rig: Rig) -> None:
    """A slow look before it is not part of it: what the CLI published before then is not of this start."""
    granted = resume(rig)
    granted.final = lambda: rig.clock.sleep(5)
    before = rig.clock.now()
    await granted.opens()
    assert next(iter(rig.registry)).launched_at == before + 5_000


# --- saved settings -----------------------------------------------------------------------------------------------


async def test_the_settings_are_those_of_the_granted_project(rig: Rig) -> None:
    tree = rig.project / ".claude" / "worktrees" / "one"
    tree.mkdir(parents=True)
    settings(rig, permissionMode="plan", chrome=True)
    settings(rig, project_scope(str(rig.project)), permissionMode="acceptEdits")
    settings(rig, project_scope(str(tree)), permissionMode="bypassPermissions")
    await resume(rig, cwd=tree).opens()
    (spawn,) = rig.home.keeper.spawned
    assert spawn.argv == (rig.program, "--resume", ID, "--permission-mode", "acceptEdits", "--chrome")
    assert spawn.cwd == str(tree)


async def test_a_click_gives_the_same_start(rig: Rig) -> None:
    settings(rig, permissionMode="plan", addDirs="/a,/b", worktree=True, preLaunchCmd="env X=1")
    rig.record()
    (rig.project / ".git").mkdir()
    await create(rig).opens()
    await rig.open(session_id="0d6f3a52-0000-4000-8000-00000000000c")
    await resume(rig).opens()
    rig.home.keeper.exits(rig.registry.find(ID).handle)  # type: ignore[union-attr]  # it was opened
    done = await rig.open("resume", session_id=ID)
    assert done.session is not None
    assert done.session.opened_by is None
    fresh, clicked, resumed, clicked_again = (spawn.argv for spawn in rig.home.keeper.spawned)
    assert [part.replace("000b", "000c") for part in fresh] == list(clicked)
    assert resumed == clicked_again
    assert fresh[0] == rig.environment["SHELL"]
    assert "--worktree" in fresh[-1]
    assert "--worktree" not in resumed[-1]


@pytest.mark.parametrize("what", [resume, create])
@pytest.mark.parametrize(
    ("values", "detail"),
    [({"sandbox": True}, "sandbox"), ({"permissionMode": "everything"}, "permissionMode")],
    ids=["a sandbox without bubblewrap", "damaged"],
)
async def test_settings_that_cannot_be_kept(
    rig: Rig, what: Callable[[Rig], Granted], values: dict[str, Any], detail: str
) -> None:
    settings(rig, **values)
    granted = what(rig)
    reason, said, uncertain = await granted.refused()
    assert (reason, uncertain) == ("session open failed", False)
    assert said is not None
    assert detail in said
    # Which CLI a new session runs is a setting, too: without it there is nothing to prepare.
    assert granted.steps == ([] if what is create and detail == "permissionMode" else ["prepare"])
    assert rig.home.keeper.spawned == []


async def test_settings_that_cannot_be_read(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> list[dict[str, Any]]:
        raise StoreError("the database is gone")

    monkeypatch.setattr(rig.store, "settings", broken)
    assert await resume(rig).refused() == ("session open failed", "the database is gone", False)
    assert rig.home.keeper.spawned == []


# --- what is refused ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("at", ["prepare", "final"])
async def test_a_guard_that_does_not_hold(rig: Rig, at: str) -> None:
    granted = resume(rig)
    setattr(granted, at, lambda: ("session live elsewhere", "process 5"))
    assert await granted.refused() == ("session live elsewhere", "process 5", False)
    assert (rig.home.keeper.spawned, list(rig.registry), rig.opened) == ([], [], [])
    assert rig.rows("select * from launch") == []


async def test_a_directory_that_is_gone(rig: Rig) -> None:
    path = rig.root / "gone"
    granted = resume(rig, cwd=path)
    assert await granted.refused() == ("project directory does not exist", f"{path} is not a directory", False)


async def test_a_program_that_is_not_installed(rig: Rig) -> None:
    (rig.bin / "claude").unlink()
    reason, detail, uncertain = await resume(rig).refused()
    assert (reason, uncertain) == ("session open failed", False)
    assert detail is not None
    assert detail.startswith("claude was not found")


async def test_a_cli_that_cannot_resume(rig: Rig) -> None:
    rig.environment["PATH"] = f"{rig.bin}:{os.environ['PATH']}"
    reason, detail, _ = await resume(rig, profile="shell").refused()
    assert (reason, detail) == ("session open failed", "Terminal cannot resume a session")


@pytest.mark.parametrize(
    ("fault", "uncertain"),
    [
        (KeeperError("could not run claude: Permission denied"), False),
        (KeeperGoneError("the session keeper has gone; try again"), True),
    ],
    ids=["not started", "keeper lost meanwhile"],
)
async def test_a_start_that_fails(
    rig: Rig, monkeypatch: pytest.MonkeyPatch, fault: KeeperError, uncertain: bool
) -> None:
    async def fails(*_: object) -> None:
        raise fault

    monkeypatch.setattr(rig.home.keeper, "spawn", fails)
    granted = resume(rig)
    assert await granted.refused() == ("session open failed", str(fault), uncertain)
    assert granted.steps == ["prepare", "final"]


async def test_a_keeper_that_cannot_be_reached(rig: Rig) -> None:
    rig.home.keeper.unreachable = KeeperError("the session keeper did not start; see keeper.log")
    granted = resume(rig)
    assert await granted.refused() == (
        "session open failed",
        "the session keeper did not start; see keeper.log",
        False,
    )
    assert granted.steps == ["prepare"]


async def test_a_name_that_cannot_be_saved_leaves_the_session(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise StoreError("the disk is full")

    monkeypatch.setattr(rig.store, "set_name", broken)
    granted = create(rig)
    assert await granted.refused() == ("session name could not be saved", "the disk is full", False)
    (session,) = rig.registry
    assert (granted.sessions, session.exit, session.label.name) == ([session], None, "A name")
    assert rig.opened == [session]
    assert rig.rows("select session_id from launch") == [(OTHER,)]


async def test_a_start_that_cannot_be_recorded_is_a_start(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise StoreError("the disk is full")

    monkeypatch.setattr(rig.store, "record_launch", broken)
    done = await resume(rig).opens()
    assert (done.ok, done.detail) == (True, "the disk is full")


# --- one session for one id ---------------------------------------------------------------------------------------


async def test_a_click_that_came_first_gives_the_session(rig: Rig) -> None:
    """It is still being started when the permit is redeemed: nothing is started a second time, no guard is asked."""
    rig.record()
    rig.home.keeper.slow = asyncio.Event()
    click = asyncio.create_task(rig.open("resume", session_id=ID), name="click")
    await until(lambda: rig.home.keeper.spawned, "the click's start")
    granted = resume(rig)
    opening = asyncio.create_task(granted.opens(), name="opening")
    await asyncio.sleep(0)
    assert granted.steps == []
    rig.home.keeper.slow.set()
    clicked, opened = await asyncio.gather(click, opening)
    assert clicked.session == opened.session
    assert granted.did == [("found", 1)]
    assert granted.sessions == list(rig.registry)


async def test_a_click_that_comes_meanwhile_gets_the_session(rig: Rig) -> None:
    rig.record()
    granted = resume(rig)
    gate = asyncio.Event()

    async def slow() -> None:
        await gate.wait()

    granted.prepare = slow
    opening = asyncio.create_task(granted.opens(), name="opening")
    await until(lambda: granted.steps, "the preparation")
    click = asyncio.create_task(rig.open("resume", session_id=ID), name="click")
    await asyncio.sleep(0)
    gate.set()
    opened, clicked = await asyncio.gather(opening, click)
    assert clicked.session == opened.session
    assert len(rig.home.keeper.spawned) == 1


async def test_a_session_that_appears_while_the_start_is_prepared(rig: Rig) -> None:
    """An adopted one, say: the map is looked at again after everything that was awaited."""
    granted = resume(rig)

    async def appears() -> None:
        session = await rig.home.opens("claude", ID)
        session.label.launch = "resume"

    granted.prepare = appears
    done = await granted.opens()
    assert done.ok
    assert granted.steps == ["prepare", "found"]
    assert len(rig.home.keeper.spawned) == 1


@pytest.mark.parametrize(
    ("profile", "launch", "how"),
    [
        ("claude", "new", "Claude Code (new)"),
        ("claude", "fork", "Claude Code (fork)"),
        ("attach", "new", "Claude Code background job (new)"),
        ("shell", "shell", "a plain terminal"),
        ("agent", "resume", "Switchboard agent (resume)"),
    ],
)
async def test_a_session_that_somebody_opened_another_way_is_not_it(
    rig: Rig, profile: str, launch: str, how: str
) -> None:
    session = await rig.home.opens(profile, ID)
    session.label.launch = launch
    granted = resume(rig)
    assert await granted.refused() == ("session open failed", f"it was opened another way meanwhile: {how}", False)
    assert granted.steps == []
    assert len(rig.home.keeper.spawned) == 1


async def test_a_reserved_id_that_is_taken_is_not_used(rig: Rig) -> None:
    await rig.home.opens("claude", OTHER)
    granted = create(rig)
    assert (await granted.refused())[0] == "session open failed"
    assert granted.steps == []


async def test_a_start_that_is_given_up_while_it_is_prepared(rig: Rig) -> None:
    granted = resume(rig)
    never = asyncio.Event()
    granted.prepare = never.wait
    opening = asyncio.create_task(granted.opens(), name="opening")
    await until(lambda: granted.steps, "the preparation")
    opening.cancel()
    await asyncio.gather(opening, return_exceptions=True)
    assert (granted.steps, rig.home.keeper.spawned, rig.actions._opening) == (["prepare"], [], {})
