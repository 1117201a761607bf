"""Starting in a sandbox: what the start is given, what must be there first, and that it is never made without."""

from __future__ import annotations

import os
import re
import stat
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from tests.support.host_actions import OTHER
from tests.support.host_actions import ActionsRig as Rig
from tests.support.sessions import ID, Spawn, house

from switchboard.clis.closed_sessions import ClosedSession
from switchboard.clis.transcript_files import folder_of
from switchboard.common.clock import FOREVER
from switchboard.delivery.lifecycle import Create, PageRefused, Resume, Trouble
from switchboard.host.launching import NO_BWRAP
from switchboard.page.broker import Grant
from switchboard.page.messages import Done, OpenSession
from switchboard.sessions.keeper_client import KeeperError, KeeperGoneError
from switchboard.store.sqlite import project_scope


@pytest.fixture
async def rig(tmp_path: Path) -> AsyncIterator[Rig]:
    with house() as home:
        made = Rig(tmp_path, home)
        made.install("bwrap")
        made.store.change_settings("global", lambda _before: {"sandbox": True, "permissionMode": None})
        yield made
        made.reader.close()
        made.store.close()


def settings(rig: Rig, **values: Any) -> None:
    scope = project_scope(str(rig.project))
    rig.store.change_settings(scope, lambda before: {**before, **values})


def given(spawn: Spawn) -> dict[str, str]:
    prefix = "SWITCHBOARD_SANDBOX_"
    return {name.removeprefix(prefix): value for name, value in spawn.env.items() if name.startswith(prefix)}


def folders(rig: Rig) -> list[str]:
    base = rig.data / "sandboxes"
    return sorted(str(path) for path in base.glob("*")) if base.exists() else []


def refused(done: Done) -> str:
    assert (done.ok, done.reason, done.session) == (False, "session open failed", None), done
    assert done.detail is not None
    return done.detail


async def granted(rig: Rig, what: Resume | Create, final: Trouble | None = None) -> Done:
    async def prepare() -> None:
        return None

    grant = Grant(what, prepare, lambda: final, lambda _session: None, lambda _session: None, FOREVER)
    return await rig.actions.open(OpenSession(7, "resume", permit="p"), grant)


# --- every kind of start ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("profile", ["claude", "agent"])
@pytest.mark.parametrize("how", ["new", "resume", "fork", "trigger, new", "trigger, resume"])
async def test_every_kind_of_start(rig: Rig, profile: str, how: str) -> None:
    settings(rig, cli=profile)
    if profile == "claude":
        rig.record()
    if how == "trigger, new":
        done = await granted(rig, Create(ID, str(rig.project), "A name"))
    elif how == "trigger, resume":
        closed = ClosedSession(ID, profile, "/transcripts/x.jsonl", (1, 2), str(rig.project))
        done = await granted(rig, Resume(closed, str(rig.project)))
    else:
        fields = {"cwd": str(rig.project)} if how == "new" else {}
        if profile == "agent" and how != "new":
            rig.record_agent()
        done = await rig.open(how, session_id=ID, profile=profile, **fields)
    assert done.ok, done
    assert done.session is not None
    assert done.session.sandbox is True
    (spawn,) = rig.home.keeper.spawned
    assert spawn.argv[:8] == (sys.executable, "-E", "-P", "-m", "switchboard.sandbox", "--cli", profile, "--")
    assert spawn.argv[8:10] == ("--session-id" if how.endswith("new") else "--resume", ID)
    assert spawn.cwd == str(rig.project)
    (session,) = rig.registry
    (folder,) = folders(rig)
    assert (session.label.sandbox, session.label.descriptors) == (True, f"{folder}/sessions")
    assert given(spawn) == {
        "TRIGGERS_DIR": str(rig.root / "triggers"),
        "DATA_DIR": str(rig.data),
        "RUNTIME_DIR": str(rig.data / "run"),
        "SESSIONS_DIR": f"{folder}/sessions",
        "BINDS": "",
        "PROJECT_FOLDER": folder_of(str(rig.project)),
    }


async def test_what_has_to_be_there_is_made_before_the_start(rig: Rig) -> None:
    seen: list[tuple[bool, bool, int]] = []
    spawn = rig.home.keeper.spawn

    async def spawned(argv: Any, cwd: str, env: dict[str, str], *rest: Any) -> Any:
        mode = stat.S_IMODE(os.stat(env["SWITCHBOARD_SANDBOX_SESSIONS_DIR"]).st_mode)
        triggers = rig.root / "triggers"
        seen.append((triggers.is_dir(), (triggers / "processed").is_dir(), mode))
        return await spawn(argv, cwd, env, *rest)

    rig.home.keeper.spawn = spawned  # type: ignore[method-assign,assignment]  # a spy
    await rig.session()
    assert seen == [(True, True, 0o700)]


@pytest.mark.parametrize(("profile", "home"), [("claude", "claude"), ("agent", "agent")])
async def test_where_its_descriptors_are_is_noted_beside_the_conversations(rig: Rig, profile: str, home: str) -> None:
    settings(rig, cli=profile)
    session = await rig.session(profile=profile)
    (note,) = (rig.root / home / "switchboard-sandboxes").iterdir()
    assert note.read_text() == session.label.descriptors


async def test_a_cli_that_has_never_run_gets_no_folder_from_us(rig: Rig) -> None:
    """The sandbox refuses it then, and has to find the home directory untouched."""
    rig.environment["CLAUDE_CONFIG_DIR"] = str(rig.root / "new")
    await rig.session()
    assert not (rig.root / "new").exists()


async def test_each_start_has_a_folder_of_its_own(rig: Rig) -> None:
    one = await rig.session()
    two = await rig.session(session_id=OTHER)
    assert len(folders(rig)) == 2
    assert one.label.descriptors != two.label.descriptors


# --- what else it may use -----------------------------------------------------------------------------------------


async def test_added_directories(rig: Rig) -> None:
    extra = rig.root / "extra dir"
    extra.mkdir()
    settings(rig, addDirs=f"{extra},/not/there,/srv/a:b", cli="agent")
    done = await rig.open(profile="agent")
    (spawn,) = rig.home.keeper.spawned
    assert given(spawn)["BINDS"] == f"{extra}:/not/there"
    assert done.ok
    assert done.detail == (
        "the sandbox goes without /not/there, which does not exist; "
        "the sandbox goes without '/srv/a:b': a path with a colon or a line break cannot be passed on"
    )


@pytest.mark.parametrize("place", [".claude/worktrees", ".worktrees"])
async def test_a_worktree_comes_with_its_repository(rig: Rig, place: str) -> None:
    tree = rig.project / place / "one"
    tree.mkdir(parents=True)
    rig.record(cwd=tree)
    settings(rig, addDirs=str(rig.bin))
    await rig.session(mode="resume", session_id=ID)
    (spawn,) = rig.home.keeper.spawned
    assert spawn.cwd == str(tree)
    assert given(spawn)["BINDS"] == f"{rig.project}:{rig.bin}"
    assert given(spawn)["PROJECT_FOLDER"] == folder_of(str(tree))


async def test_the_folder_of_transcripts_is_the_one_of_the_real_directory(rig: Rig) -> None:
    link = rig.root / "link"
    link.symlink_to(rig.project)
    await rig.session(cwd=str(link))
    assert given(rig.home.keeper.spawned[0])["PROJECT_FOLDER"] == folder_of(str(rig.project))


@pytest.mark.parametrize("saved", ["", "mine"])
async def test_a_worktree_that_is_to_be_made_is_where_the_transcript_goes(rig: Rig, saved: str) -> None:
    (rig.project / ".git").mkdir()
    settings(rig, worktree=True, worktreeName=saved)
    await rig.session()
    (spawn,) = rig.home.keeper.spawned
    assert spawn.argv[-2] == "--worktree"
    name = spawn.argv[-1]
    assert re.fullmatch(saved or "sandbox-[0-9a-f]{8}", name)
    assert spawn.cwd == str(rig.project)
    assert given(spawn)["PROJECT_FOLDER"] == folder_of(f"{rig.project}/.claude/worktrees/{name}")
    assert given(spawn)["BINDS"] == ""
    # There it is made, and inside the folder above is read-only.
    assert (rig.project / ".claude" / "worktrees").is_dir()


async def test_a_link_in_its_place_is_left_to_the_sandbox_to_refuse(rig: Rig) -> None:
    (rig.project / ".git").mkdir()
    elsewhere = rig.root / "elsewhere"
    elsewhere.mkdir()
    (rig.project / ".claude").symlink_to(elsewhere)
    settings(rig, worktree=True)
    await rig.session()
    assert list(elsewhere.iterdir()) == []


async def test_shell_and_prefix_stay_outside(rig: Rig) -> None:
    settings(rig, preLaunchCmd="env A=b")
    await rig.session(session_id=ID)
    (spawn,) = rig.home.keeper.spawned
    assert spawn.argv[:4] == (rig.environment["SHELL"], "-l", "-i", "-c")
    command = f"env A=b {sys.executable} -E -P -m switchboard.sandbox --cli claude -- --session-id {ID}"
    assert spawn.argv[4] == f"cd {rig.project} && {command}"


async def test_a_named_cli_is_found_where_the_host_would_have_found_it(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The sandbox starts in another directory."""
    monkeypatch.chdir(rig.root)
    rig.environment["SWITCHBOARD_CLAUDE"] = "bin/claude"
    await rig.session()
    assert rig.home.keeper.spawned[0].env["SWITCHBOARD_CLAUDE"] == rig.program


# --- what has none ------------------------------------------------------------------------------------------------


async def test_terminals_and_attached_jobs_have_none(rig: Rig) -> None:
    rig.publish(500, kind="bg", jobId="job-5")
    shell = await rig.session(mode="shell", profile="shell")
    job = await rig.session(profile="attach", session_id=ID)
    assert [(one.label.sandbox, one.label.descriptors) for one in (shell, job)] == [(False, None), (False, None)]
    assert [given(spawn) for spawn in rig.home.keeper.spawned] == [{}, {}]
    assert folders(rig) == []


async def test_a_project_may_go_without(rig: Rig) -> None:
    settings(rig, sandbox=None)
    session = await rig.session()
    assert session.label.sandbox is False
    assert rig.home.keeper.spawned[0].argv[0] == rig.program


# --- never without ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("profile", ["codex", "gemini", "opencode"])
async def test_a_cli_that_no_sandbox_is_known_for(rig: Rig, profile: str) -> None:
    rig.install(profile)
    mode = {"opencode": "resume"}.get(profile, "new")
    detail = refused(await rig.open(mode, profile=profile, session_id=ID, cwd=str(rig.project)))
    assert "no sandbox for" in detail
    assert (rig.home.keeper.spawned, folders(rig)) == ([], [])


async def test_another_system(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "darwin")
    assert refused(await rig.open()).startswith("Sandbox mode requires Linux (bubblewrap)")
    assert (rig.home.keeper.spawned, folders(rig)) == ([], [])


@pytest.mark.parametrize("mode", ["new", "resume", "fork"])
async def test_no_bubblewrap(rig: Rig, mode: str) -> None:
    rig.record()
    (rig.bin / "bwrap").unlink()
    assert refused(await rig.open(mode, session_id=ID)) == NO_BWRAP
    assert (rig.home.keeper.spawned, folders(rig)) == ([], [])


async def test_no_cli(rig: Rig) -> None:
    (rig.bin / "claude").unlink()
    assert "claude was not found" in refused(await rig.open())
    assert folders(rig) == []


async def test_through_a_shell_the_sandbox_itself_looks(rig: Rig) -> None:
    """Its files may bring another PATH."""
    (rig.bin / "bwrap").unlink()
    settings(rig, shellProfile="login")
    assert (await rig.open()).ok


async def test_a_triggers_folder_that_cannot_be_had(rig: Rig) -> None:
    (rig.root / "triggers").write_text("in the way")
    assert "the triggers folder" in refused(await rig.open())
    assert (rig.home.keeper.spawned, folders(rig)) == ([], [])


async def test_descriptors_that_have_no_place(rig: Rig) -> None:
    (rig.data / "sandboxes").write_text("in the way")
    said = refused(await rig.open())
    assert said.startswith(str(rig.data / "sandboxes"))
    assert "cannot be made for the sandbox: Not a directory" in said
    assert rig.home.keeper.spawned == []


async def test_a_note_that_has_no_place(rig: Rig) -> None:
    (rig.claude / "switchboard-sandboxes").write_text("in the way")
    assert "switchboard-sandboxes cannot be made for the sandbox" in refused(await rig.open())
    assert (rig.home.keeper.spawned, folders(rig)) == ([], [])


async def test_a_worktree_that_has_no_place(rig: Rig) -> None:
    (rig.project / ".git").mkdir()
    (rig.project / ".claude").write_text("in the way")
    settings(rig, worktree=True)
    assert str(rig.project / ".claude") in refused(await rig.open())
    assert (rig.home.keeper.spawned, folders(rig)) == ([], [])


# --- a start that fails -------------------------------------------------------------------------------------------


async def test_a_failed_spawn_leaves_no_folder(rig: Rig) -> None:
    rig.home.keeper.refusal = "no more processes"
    assert refused(await rig.open()) == "no more processes"
    assert folders(rig) == []


async def test_a_keeper_that_cannot_be_reached_leaves_no_folder(rig: Rig) -> None:
    rig.home.keeper.unreachable = KeeperError("no keeper")
    assert refused(await rig.open()) == "no keeper"
    assert folders(rig) == []


async def test_a_last_look_that_says_no_leaves_no_folder(rig: Rig) -> None:
    with pytest.raises(PageRefused):
        await granted(rig, Create(ID, str(rig.project), "A name"), ("session live elsewhere", None))
    assert (rig.home.keeper.spawned, folders(rig)) == ([], [])


async def test_what_may_have_been_started_keeps_its_folder(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    async def gone(*_: object) -> Any:
        raise KeeperGoneError("the keeper has gone")

    monkeypatch.setattr(rig.home.keeper, "spawn", gone)
    assert refused(await rig.open()) == "the keeper has gone"
    assert len(folders(rig)) == 1
