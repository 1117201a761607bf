"""What pages and commands ask of the host: opening with its refusals in order, stopping, naming, listing, the end."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from tests.support.fake_clock import START
from tests.support.host_actions import AUTO, OTHER
from tests.support.host_actions import ActionsRig as Rig
from tests.support.sessions import ID, house, until

from switchboard.clis.transcript_files import folder_of
from switchboard.common.clock import Clock, Instant, sleep_until
from switchboard.host import actions as module
from switchboard.host.actions import STOP_MS
from switchboard.page import messages
from switchboard.page.messages import Done, ExitStatus, Rename, SessionInfo, Shutdown, StopSession
from switchboard.sessions.keeper_client import KeeperError
from switchboard.sessions.session import Session
from switchboard.sessions.stop import DETACH, StopError
from switchboard.store.sqlite import project_scope


@pytest.fixture
async def rig(tmp_path: Path) -> AsyncIterator[Rig]:
    with house() as home:
        made = Rig(tmp_path, home)
        yield made
        made.reader.close()
        made.store.close()


def refused(done: Done) -> tuple[str | None, str | None]:
    assert (done.request, done.ok, done.session) == (7, False, None)
    return done.reason, done.detail


# --- opening ------------------------------------------------------------------------------------------------------


async def test_a_new_session_is_started_recorded_and_told(rig: Rig) -> None:
    (rig.root / "proc").mkdir()
    rig.processes.machine(boot_id="the-boot", namespace="pid:[77]", init_start="900")
    done = await rig.open(name="a name", columns=100, rows=30)
    (session,) = rig.registry
    assert done == Done(7, ok=True, session=done.session)
    assert done.session is not None
    assert (done.session.id, done.session.name, done.session.cwd) == (session.key, "a name", str(rig.project))
    (spawn,) = rig.home.keeper.spawned
    assert spawn.argv == (rig.program, "--session-id", session.key, *AUTO)
    assert (spawn.cwd, spawn.size) == (str(rig.project), (100, 30))
    assert spawn.env["TERM"] == "xterm-256color"
    assert rig.opened == [session]
    assert rig.store.names() == {session.key: "a name"}
    assert rig.rows("select * from launch") == [
        (
            *(session.key, session.generation, "claude", str(rig.project), START, session.pid),
            *(session.holding.start, "the-boot", "pid:[77]", None, "900", None, None),
        )
    ]


async def test_each_new_session_has_an_id_of_its_own(rig: Rig) -> None:
    keys = {(await rig.session()).key for _ in range(3)}
    assert len(keys) == 3
    assert all(len(key) == 36 and key == key.lower() for key in keys)


async def test_a_shell_is_the_persons_shell(rig: Rig) -> None:
    done = await rig.open("shell", profile="no-such-cli")
    assert done.ok
    assert rig.home.keeper.spawned[0].argv == (str(rig.bin / "a-shell"), "-l", "-i")


async def test_the_agent_is_the_one_of_this_installation(rig: Rig) -> None:
    session = await rig.session(profile="agent")
    assert rig.home.keeper.spawned[0].argv[0] == os.path.abspath(sys.executable)
    assert session.profile.name == "agent"


async def test_a_program_that_was_named_is_run_by_its_whole_path(rig: Rig) -> None:
    rig.environment["SWITCHBOARD_CLAUDE"] = rig.install("another-claude")
    await rig.session()
    assert rig.home.keeper.spawned[0].argv[0] == str(rig.bin / "another-claude")


async def test_a_program_named_from_where_the_host_was_started_is_found_from_elsewhere(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(rig.bin)
    rig.environment["SWITCHBOARD_CLAUDE"] = "./claude"
    await rig.session()
    assert rig.home.keeper.spawned[0].argv[0] == rig.program


async def test_a_recorded_session_is_resumed_where_it_was(rig: Rig) -> None:
    rig.record()
    rig.store.set_name(ID, "kept")
    session = await rig.session(mode="resume", session_id=ID.upper(), cwd="/elsewhere")
    assert rig.home.keeper.spawned[0].argv == (rig.program, "--resume", ID, *AUTO)
    assert (session.key, session.cwd, session.label.launch, session.label.name) == (
        ID,
        str(rig.project),
        "resume",
        "kept",
    )
    assert rig.rows("select session_id, cwd from launch") == [(ID, str(rig.project))]


async def test_a_name_that_is_given_wins_over_the_kept_one(rig: Rig) -> None:
    rig.record()
    rig.store.set_name(ID, "kept")
    session = await rig.session(mode="resume", session_id=ID, name="given")
    assert session.label.name == "given"
    assert rig.store.names() == {ID: "given"}


async def test_a_session_that_was_closed_before_its_first_prompt_starts_anew_under_its_id(rig: Rig) -> None:
    session = await rig.session(mode="resume", session_id=ID, cwd=str(rig.project))
    assert rig.home.keeper.spawned[0].argv == (rig.program, "--session-id", ID, *AUTO)
    assert (session.key, session.label.launch) == (ID, "new")


async def test_a_fork_has_an_id_of_its_own_and_leaves_the_name_to_the_original(rig: Rig) -> None:
    rig.record()
    rig.store.set_name(ID, "the original")
    session = await rig.session(mode="fork", session_id=ID, name="the fork")
    assert rig.home.keeper.spawned[0].argv == (rig.program, "--resume", ID, "--fork-session", *AUTO)
    assert session.key != ID
    assert session.label.launch == "fork"
    assert rig.registry.find(ID) is None
    assert rig.store.names() == {ID: "the original", session.key: "the fork"}
    assert rig.rows("select session_id from launch") == [(session.key,)]


async def test_a_session_that_is_open_here_can_be_forked(rig: Rig) -> None:
    rig.record()
    original = await rig.session(mode="resume", session_id=ID)
    rig.publish(500)
    fork = await rig.session(mode="fork", session_id=ID)
    assert fork is not original
    assert rig.registry.find(ID) is original


async def test_a_background_job_is_attached_to_by_its_own_id(rig: Rig) -> None:
    rig.publish(500, kind="bg", jobId="job-5")
    session = await rig.session(profile="attach", session_id=ID)
    assert rig.home.keeper.spawned[0].argv == (rig.program, "attach", "job-5")
    assert (session.key, session.profile.name) == (ID, "attach")


async def test_a_start_has_what_is_saved_for_its_project(rig: Rig) -> None:
    tree = rig.project / ".claude" / "worktrees" / "one"
    tree.mkdir(parents=True)
    rig.store.change_settings("global", lambda _before: {"permissionMode": "plan", "chrome": True})
    rig.store.change_settings(project_scope(str(rig.project)), lambda _before: {"permissionMode": None})
    await rig.session(cwd=str(tree))
    await rig.session(cwd=str(rig.root))
    await rig.session(mode="shell", profile="shell")
    mine, elsewhere, shell = (spawn.argv[3:] for spawn in rig.home.keeper.spawned)
    assert (mine, elsewhere, shell) == (("--chrome",), ("--permission-mode", "plan", "--chrome"), ())


async def test_what_a_start_goes_without_is_said(rig: Rig) -> None:
    rig.store.change_settings("global", lambda _before: {"worktree": True})
    done = await rig.open()
    assert (done.ok, done.detail) == (
        True,
        "the directory is in no git repository, so the session has no worktree of its own",
    )
    (rig.project / ".git").mkdir()
    assert (await rig.open()).detail is None
    assert rig.home.keeper.spawned[1].argv[-1] == "--worktree"


async def test_settings_that_are_damaged_are_not_skipped(rig: Rig) -> None:
    rig.store.change_settings("global", lambda _before: {"permissionMode": 7})
    reason, detail = refused(await rig.open())
    assert reason == "session open failed"
    assert detail is not None
    assert "the global setting is damaged" in detail


# --- one session for one id ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", ["resume", "new", "shell"])
async def test_a_session_that_is_open_here_is_shown(rig: Rig, mode: str) -> None:
    rig.record()
    session = await rig.session(mode="resume", session_id=ID)
    done = await rig.open(mode, session_id=ID.upper())
    assert done.ok
    assert done.session is not None
    assert done.session.handle == session.handle
    assert list(rig.registry) == [session]
    assert rig.opened == [session]


async def test_an_ended_one_is_opened_again(rig: Rig) -> None:
    rig.record()
    ended = await rig.session(mode="resume", session_id=ID)
    rig.home.keeper.exits(ended.handle)
    again = await rig.session(mode="resume", session_id=ID)
    assert again is not ended


async def test_a_conversation_that_its_session_has_left_is_opened_beside_it(rig: Rig) -> None:
    """After `/clear` the old conversation is a closed one of the list, and is what somebody picks there."""
    rig.record()
    session = await rig.session(mode="resume", session_id=ID)
    session.rekeyed(OTHER)
    old = await rig.session(mode="resume", session_id=ID)
    assert old is not session
    assert rig.registry.find(ID) is old


@pytest.mark.parametrize("count", [2, 3, 10])
async def test_requests_for_one_id_at_the_same_time_give_one_session(rig: Rig, count: int) -> None:
    rig.record()
    rig.home.keeper.slow = asyncio.Event()
    tasks = [asyncio.create_task(rig.open("resume", session_id=ID), name=f"open {n}") for n in range(count)]
    await until(lambda: rig.home.keeper.spawned, "the first start")
    late = asyncio.create_task(rig.open("resume", session_id=ID), name="late")
    await asyncio.sleep(0)
    rig.home.keeper.slow.set()
    answers = await asyncio.gather(*tasks, late)
    assert all(done.ok for done in answers)
    assert len({done.session.handle for done in answers if done.session is not None}) == 1
    assert len(rig.home.keeper.spawned) == 1
    assert rig.actions._opening == {}


async def test_those_that_fail_let_the_next_one_try_in_turn(rig: Rig) -> None:
    """At no moment do two of them start a program."""
    rig.record()
    keeper = rig.home.keeper
    keeper.refusal = "no"
    starting = most = 0
    spawn = keeper.spawn

    async def counted(*arguments: Any) -> Any:
        nonlocal starting, most
        starting += 1
        most = max(most, starting)
        try:
            for _ in range(3):
                await asyncio.sleep(0)
            return await spawn(*arguments)
        finally:
            starting -= 1

    keeper.spawn = counted  # type: ignore[method-assign]  # the fake, with a look at its pace
    answers = await asyncio.gather(*(rig.open("resume", session_id=ID) for _ in range(5)))
    assert [done.reason for done in answers] == ["session open failed"] * 5
    assert most == 1
    assert rig.actions._opening == {}


async def test_a_request_that_is_given_up_leaves_the_id_to_the_others(rig: Rig) -> None:
    rig.record()
    rig.home.keeper.slow = asyncio.Event()
    first = asyncio.create_task(rig.open("resume", session_id=ID), name="first")
    await until(lambda: rig.home.keeper.spawned, "the first start")
    second = asyncio.create_task(rig.open("resume", session_id=ID), name="second")
    third = asyncio.create_task(rig.open("resume", session_id=ID), name="third")
    await asyncio.sleep(0)
    third.cancel()
    first.cancel()
    rig.home.keeper.slow.set()
    assert (await second).ok
    assert [task.cancelled() for task in (first, third)] == [True, True]
    assert len(list(rig.registry)) == 1
    assert rig.actions._opening == {}


async def test_different_ids_do_not_wait_for_each_other(rig: Rig) -> None:
    rig.home.keeper.slow = asyncio.Event()
    slow = asyncio.create_task(rig.open(), name="slow")
    await until(lambda: rig.home.keeper.spawned, "the first start")
    rig.home.keeper.slow, gate = None, rig.home.keeper.slow
    assert (await rig.open()).ok
    assert not slow.done()
    gate.set()
    assert (await slow).ok
    assert rig.actions._opening == {}


# --- refusals, in their order -------------------------------------------------------------------------------------


async def test_an_unknown_cli(rig: Rig) -> None:
    done = await rig.open("resume", profile="nonesuch")
    assert refused(done) == (
        "unknown CLI",
        "there is no profile 'nonesuch'; known: claude, agent, shell, attach, codex, gemini, opencode",
    )


@pytest.mark.parametrize("mode", ["resume", "fork"])
async def test_nothing_to_resume(rig: Rig, mode: str) -> None:
    assert refused(await rig.open(mode)) == ("missing session id", f"say which session to {mode}")


@pytest.mark.parametrize("mode", ["resume", "fork"])
async def test_a_session_that_runs_elsewhere(rig: Rig, mode: str) -> None:
    rig.publish(500, cwd="/srv/theirs")
    await rig.clock.settle()
    assert refused(await rig.open(mode, session_id=ID)) == (
        "session live elsewhere",
        "process 500 has it open in /srv/theirs",
    )
    rig.record()
    assert (await rig.open(mode, session_id=ID, force=True)).ok


@pytest.mark.parametrize("how", ["ended", "a zombie", "its number is another's"])
async def test_a_session_that_was_killed_a_moment_ago_runs_nowhere(rig: Rig, how: str) -> None:
    """Its descriptor stays, and the reader may have looked at the process just before."""
    rig.publish(500)
    rig.record()
    await rig.clock.settle()
    if how == "ended":
        rig.processes.end(500)
    else:
        rig.processes.add(500, state="Z" if how == "a zombie" else "S", start="1000" if how == "a zombie" else "2000")
    assert (await rig.open("resume", session_id=ID)).ok


async def test_another_process_with_the_session_counts_when_the_first_was_killed(rig: Rig) -> None:
    rig.publish(500)
    rig.publish(501, cwd="/srv/theirs")
    rig.record()
    await rig.clock.settle()
    rig.processes.end(500)
    done = await rig.open("resume", session_id=ID)
    assert refused(done) == ("session live elsewhere", "process 501 has it open in /srv/theirs")


@pytest.mark.parametrize("mode", ["resume", "fork"])
async def test_a_session_that_runs_in_a_sandbox_somewhere(rig: Rig, mode: str) -> None:
    """No reader sees it: its process has another number in there."""
    rig.record()
    asked: list[str] = []

    def in_sandbox(session_id: str) -> str:
        asked.append(session_id)
        return "process 77 has it open"

    rig.actions.in_sandbox = in_sandbox
    assert refused(await rig.open(mode, session_id=ID)) == ("session live elsewhere", "process 77 has it open")
    assert (await rig.open(mode, session_id=ID, force=True)).ok
    assert asked == [ID, ID]


async def test_a_session_that_runs_at_an_unknown_place(rig: Rig) -> None:
    rig.publish(500)
    await rig.clock.settle()
    assert refused(await rig.open("resume", session_id=ID))[1] == "process 500 has it open in an unknown directory"


async def test_one_that_has_ended_elsewhere_is_resumed(rig: Rig) -> None:
    rig.record()
    rig.publish(500)
    await rig.clock.settle()
    rig.processes.end(500)
    rig.clock.sleep(10)
    assert (await rig.open("resume", session_id=ID)).ok


@pytest.mark.parametrize(
    ("mode", "cwd"), [("resume", None), ("fork", None), ("fork", "project")], ids=["resume", "fork", "fork in a place"]
)
async def test_a_session_that_was_never_recorded(rig: Rig, mode: str, cwd: str | None) -> None:
    done = await rig.open(mode, session_id=ID, cwd=cwd and str(rig.project))
    assert refused(done) == ("no readable transcript", f"no transcript of {ID} with a directory was found")


@pytest.mark.parametrize(
    ("mode", "profile", "detail"),
    [
        ("resume", "attach", "Claude Code background job cannot resume a session by its id; open a new one"),
        ("resume", "shell", "Terminal cannot resume a session by its id; open a new one"),
        ("fork", "codex", "Codex cannot fork a session by its id; open a new one"),
        ("fork", "gemini", "Gemini CLI cannot fork a session by its id; open a new one"),
    ],
)
async def test_a_cli_that_cannot_go_on_with_it_starts_nothing_else(
    rig: Rig, mode: str, profile: str, detail: str
) -> None:
    done = await rig.open(mode, profile=profile, session_id=ID, cwd=str(rig.project))
    assert refused(done) == ("session cannot be resumed", detail)
    assert rig.home.keeper.spawned == []


@pytest.mark.parametrize(
    ("profile", "session_id", "arguments"),
    [
        ("codex", ID, ("resume", "--no-daemon", ID)),
        ("gemini", ID, ("--resume", ID)),
        ("opencode", "ses_0123abCDEF", ("--session", "ses_0123abCDEF")),
    ],
)
async def test_a_cli_whose_records_we_cannot_read_is_asked_to_resume_and_never_starts_anew(
    rig: Rig, profile: str, session_id: str, arguments: tuple[str, ...]
) -> None:
    program = rig.install(profile)
    session = await rig.session(mode="resume", profile=profile, session_id=session_id, cwd=str(rig.project))
    assert rig.home.keeper.spawned[0].argv == (program, *arguments)
    assert (session.key, session.label.launch) == (session_id.lower(), "resume")


@pytest.mark.parametrize("profile", ["codex", "opencode"])
async def test_a_cli_that_made_its_own_id_is_not_asked_for_ours(rig: Rig, profile: str) -> None:
    rig.install(profile)
    ended = await rig.session(profile=profile)
    rig.home.keeper.exits(ended.handle)
    reason, detail = refused(await rig.open("resume", profile=profile, session_id=ended.key, cwd=str(rig.project)))
    assert reason == "session cannot be resumed"
    assert detail is not None
    assert detail.startswith(f"{ended.profile.title} gave that session an id of its own, which is not known here")
    assert len(rig.home.keeper.spawned) == 1


async def test_one_that_took_our_id_or_was_resumed_by_its_own_is_resumed_again(rig: Rig) -> None:
    for profile, mode, given in (("gemini", "new", None), ("codex", "resume", ID)):
        rig.install(profile)
        ended = await rig.session(mode=mode, profile=profile, session_id=given, cwd=str(rig.project))
        rig.home.keeper.exits(ended.handle)
        again = await rig.session(mode="resume", profile=profile, session_id=ended.key, cwd=str(rig.project))
        assert (again.key, again.label.launch) == (ended.key, "resume")


async def test_such_a_cli_needs_the_directory(rig: Rig) -> None:
    rig.install("gemini")
    assert refused(await rig.open("resume", profile="gemini", session_id=ID)) == (
        "no readable transcript",
        "Gemini CLI keeps no transcript that can be read here: say in which directory it was",
    )


async def test_a_directory_that_cannot_be_believed_is_none(rig: Rig) -> None:
    path = rig.record()
    path.write_text(path.read_text().replace(str(rig.project), "/etc"))
    assert refused(await rig.open("resume", session_id=ID))[0] == "no readable transcript"


@pytest.mark.parametrize("session_id", [None, ID], ids=["no id", "no job"])
async def test_no_job_to_attach_to(rig: Rig, session_id: str | None) -> None:
    reason, detail = refused(await rig.open(profile="attach", session_id=session_id))
    assert reason == "session not found"
    assert detail is not None
    assert detail.startswith("no live background job runs the session ")


@pytest.mark.parametrize("cwd", [None, "", "relative", "./x", "~"])
async def test_a_directory_that_is_no_absolute_path(rig: Rig, cwd: str | None) -> None:
    assert refused(await rig.open(cwd=cwd)) == (
        "project must be an absolute path",
        "name an existing directory by its absolute path",
    )


@pytest.mark.parametrize("kind", ["missing", "a file"])
async def test_a_directory_that_is_not_there(rig: Rig, kind: str) -> None:
    path = rig.root / "elsewhere"
    if kind == "a file":
        path.write_text("x")
    assert refused(await rig.open(cwd=str(path))) == (
        "project directory does not exist",
        f"{path} is not a directory",
    )


async def test_a_recorded_directory_that_is_gone(rig: Rig) -> None:
    path = rig.root / "gone"
    rig.record(cwd=path)
    done = await rig.open("resume", session_id=ID, cwd=str(rig.project))
    assert refused(done) == ("project directory does not exist", f"{path} is not a directory")


@pytest.mark.parametrize(
    ("profile", "detail"),
    [
        ("claude", "claude was not found; install Claude Code, or set SWITCHBOARD_CLAUDE, or choose another CLI"),
        ("codex", "codex was not found; install Codex, or choose another CLI"),
    ],
)
async def test_a_program_that_is_not_installed(rig: Rig, profile: str, detail: str) -> None:
    (rig.bin / "claude").unlink()
    reason, said = refused(await rig.open(profile=profile))
    assert reason == "session open failed"
    assert said == f"{detail} (`switchboard config set cli agent`), and try again"


async def test_an_id_that_a_cli_would_read_as_an_option(rig: Rig) -> None:
    done = await rig.open("resume", session_id="--help", cwd=str(rig.project))
    assert refused(done) == ("session open failed", "Claude Code cannot start a new session without a proper id")


@pytest.mark.parametrize(
    ("fault", "detail"),
    [
        ("could not run claude: Permission denied", "could not run claude: Permission denied"),
        (KeeperError("the session keeper did not start; see keeper.log"),) * 2,
        (TimeoutError(), "the session keeper did not answer in time"),
    ],
    ids=["not started", "no keeper", "silent keeper"],
)
async def test_a_start_that_fails(rig: Rig, fault: Any, detail: Any) -> None:
    if isinstance(fault, str):
        rig.home.keeper.refusal = fault
    else:
        rig.home.keeper.unreachable = fault
    assert refused(await rig.open()) == ("session open failed", str(detail))
    assert rig.opened == []
    assert rig.rows("select * from launch") == []
    assert rig.actions._opening == {}


async def test_the_refusals_come_in_this_order(rig: Rig) -> None:
    """Each is lifted in turn; the next one shows."""
    rig.publish(500)
    await rig.clock.settle()
    (rig.bin / "claude").unlink()
    rig.home.keeper.refusal = "the keeper's own reason"
    steps: list[tuple[str, dict[str, Any]]] = [
        ("unknown CLI", {"profile": "nonesuch", "session_id": None, "cwd": None}),
        ("missing session id", {"profile": "claude"}),
        ("session live elsewhere", {"session_id": ID}),
        ("no readable transcript", {"force": True}),
        ("project must be an absolute path", {"cwd": "relative"}),
        ("project directory does not exist", {"cwd": str(rig.root / "nowhere")}),
        ("session open failed", {"cwd": str(rig.project)}),
    ]
    fields: dict[str, Any] = {}
    seen = []
    for _, change in steps:
        fields |= change
        seen.append((await rig.open("resume", **fields)).reason)
    assert seen == [reason for reason, _ in steps]
    rig.install("claude")
    assert (await rig.open("resume", **fields)).detail == "the keeper's own reason"
    rig.home.keeper.refusal = None
    assert (await rig.open("resume", **fields)).ok


# --- stopping -----------------------------------------------------------------------------------------------------


async def test_a_stop_waits_for_the_exit(rig: Rig) -> None:
    session = await rig.session()
    rig.clock.call_at(START + 300, lambda: rig.home.keeper.exits(session.handle, None, 1))
    done = await rig.clock.run(rig.actions.stop(StopSession(7, session.handle)))
    assert rig.clock.now() == START + 300
    assert done.ok
    assert done.session is not None
    assert (done.session.state, done.session.exit) == ("exited", ExitStatus(signal=1))


@pytest.mark.parametrize("force", [False, True])
async def test_a_stop_asks_as_it_was_told(rig: Rig, force: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    session = await rig.session()
    asked = []

    async def note(*arguments: Any) -> bool:
        asked.append(arguments)
        rig.home.keeper.exits(session.handle)
        return True

    monkeypatch.setattr(module, "stop_session", note)
    assert (await rig.actions.stop(StopSession(7, session.handle, force))).ok
    ((one, _, _, deadline, forced),) = asked
    assert (one, deadline, forced) == (session, START + STOP_MS, force)


async def test_a_session_that_does_not_end(rig: Rig) -> None:
    session = await rig.session()
    done = await rig.clock.run(rig.actions.stop(StopSession(7, session.handle)))
    assert refused(done) == (
        "session stop not confirmed",
        "it was asked to end and still runs; wait, or end it by force",
    )
    assert rig.clock.now() == START + STOP_MS
    assert session.exit is None


async def test_a_session_that_may_not_be_signalled(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    session = await rig.session()

    async def refuse(*_: object) -> bool:
        raise StopError("the session could not be signalled: Operation not permitted")

    monkeypatch.setattr(module, "stop_session", refuse)
    assert refused(await rig.actions.stop(StopSession(7, session.handle))) == (
        "session stop failed",
        "the session could not be signalled: Operation not permitted",
    )


async def test_an_attached_terminal_is_detached(rig: Rig) -> None:
    rig.publish(500, kind="bg", jobId="job-5")
    session = await rig.session(profile="attach", session_id=ID)
    rig.clock.call_at(START + 100, lambda: rig.home.keeper.exits(session.handle))
    assert (await rig.clock.run(rig.actions.stop(StopSession(7, session.handle)))).ok
    assert rig.home.terminal(session).typed(1) == DETACH


async def test_stopping_what_has_ended_takes_it_off_the_list(rig: Rig) -> None:
    session = await rig.session()
    rig.home.keeper.exits(session.handle)
    assert await rig.actions.stop(StopSession(7, session.handle)) == Done(7, ok=True)
    assert list(rig.registry) == []
    assert refused(await rig.actions.stop(StopSession(7, session.handle))) == ("session not found", None)


# --- names --------------------------------------------------------------------------------------------------------


async def test_a_name_is_kept_here_and_for_later(rig: Rig) -> None:
    session = await rig.session()
    done = await rig.actions.rename(Rename(7, session.handle, "  a name "))
    assert done.ok
    assert done.session is not None
    assert done.session.name == session.label.name == "a name"
    assert rig.store.names() == {session.key: "a name"}
    await rig.actions.rename(Rename(7, session.handle, "  "))
    assert session.label.name is None
    assert rig.store.names() == {}


UNFIT = "\x1b[31mred\r\n\u202eeman\x9b"


async def test_a_name_that_would_act_on_a_terminal_is_kept_without_what_would(rig: Rig) -> None:
    opened = await rig.session(name=UNFIT)
    assert (opened.label.name, rig.store.names()[opened.key]) == ("[31mred eman", "[31mred eman")
    await rig.actions.rename(Rename(7, opened.handle, UNFIT * 2))
    assert (opened.label.name, rig.store.names()[opened.key]) == ("[31mred eman [31mred eman",) * 2
    await rig.actions.rename(Rename(7, opened.handle, "\x00\x1b\u202e"))
    assert (opened.label.name, rig.store.names()) == (None, {})


async def test_names_in_files_are_shown_without_what_would_act_on_a_terminal(rig: Rig) -> None:
    rig.record("aaa", text=UNFIT)
    rig.record("bbb", text="x")
    rig.store.set_name("bbb", UNFIT)
    names = {info.id: (info.name, info.title) for info in await rig.actions.listing(50)}
    assert names == {"aaa": (None, "[31mred eman"), "bbb": ("[31mred eman", "x")}


async def test_an_unknown_session_cannot_be_named(rig: Rig) -> None:
    assert refused(await rig.actions.rename(Rename(7, 99, "x"))) == ("session not found", None)


# --- the list -----------------------------------------------------------------------------------------------------


def shown(infos: list[SessionInfo]) -> list[tuple[str, str, str | None]]:
    return [(info.id, info.state, info.name or info.title) for info in infos]


async def test_hosted_sessions_come_first_and_the_newest_of_each_kind_first(rig: Rig) -> None:
    rig.record("aaa", text="older", at=1_000)
    rig.record("bbb", text="newer", at=2_000)
    rig.store.set_name("aaa", "named")
    one = await rig.session()
    rig.clock.sleep(1)
    two = await rig.session(name="two")
    rig.home.keeper.exits(one.handle)
    infos = await rig.actions.listing(50)
    assert shown(infos) == [
        (two.key, "open", "two"),
        (one.key, "exited", None),
        ("bbb", "closed", "newer"),
        ("aaa", "closed", "named"),
    ]
    closed = infos[2]
    assert closed == SessionInfo(
        "bbb",
        "closed",
        "claude",
        "closed",
        title="newer",
        project=str(rig.project),
        cwd=str(rig.project),
        modified_at=2_000_000,
    )


async def test_a_conversation_is_listed_once_whether_its_terminal_is_open_or_ended(rig: Rig) -> None:
    rig.record()
    session = await rig.session(mode="resume", session_id=ID)
    assert [info.state for info in await rig.actions.listing(50)] == ["open"]
    rig.home.keeper.exits(session.handle)
    assert [info.state for info in await rig.actions.listing(50)] == ["exited"]
    await rig.actions.stop(StopSession(1, session.handle))
    assert [info.state for info in await rig.actions.listing(50)] == ["closed"]


@pytest.mark.parametrize(("closed", "count"), [(0, 0), (1, 1), (2, 2), (50, 3)])
async def test_closed_ones_are_as_many_as_were_asked_for(rig: Rig, closed: int, count: int) -> None:
    for number in range(3):
        rig.record(f"id-{number}", at=1_000 + number)
    infos = await rig.actions.listing(closed)
    assert [info.id for info in infos] == ["id-2", "id-1", "id-0"][:count]


async def test_closed_ones_of_every_cli_are_listed_by_their_time(rig: Rig) -> None:
    rig.record("aaa", at=1_000)
    rig.record("ccc", at=3_000)
    agent = rig.root / "agent" / "projects" / folder_of(str(rig.project))
    agent.mkdir(parents=True)
    (agent / "bbb.jsonl").write_text(rig.record("aaa", at=1_000).read_text())
    os.utime(agent / "bbb.jsonl", (2_000, 2_000))
    infos = await rig.actions.listing(50)
    assert [(info.id, info.cli) for info in infos] == [("ccc", "claude"), ("bbb", "agent"), ("aaa", "claude")]
    assert [info.id for info in await rig.actions.listing(2)] == ["ccc", "bbb"]


async def test_a_worktree_is_listed_with_its_repository_open_or_closed(rig: Rig) -> None:
    tree = rig.project / ".worktrees" / "one"
    tree.mkdir(parents=True)
    rig.record(cwd=tree)
    (closed,) = await rig.actions.listing(50)
    await rig.session(mode="resume", session_id=ID)
    (opened,) = await rig.actions.listing(50)
    assert (closed.state, opened.state) == ("closed", "open")
    assert closed.project == opened.project == str(rig.project)
    assert closed.cwd == opened.cwd == str(tree)


async def test_what_happens_while_the_disk_is_read_is_in_the_list(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    going = await rig.session()
    rig.home.keeper.exits(going.handle)
    listed = module.list_sessions

    async def meanwhile(function: Any, *arguments: Any) -> Any:
        assert function is listed
        if going in rig.registry:
            rig.registry.remove(going)
            await rig.home.opens("claude", "came")
        return function(*arguments)

    monkeypatch.setattr(asyncio, "to_thread", meanwhile)
    assert [info.id for info in await rig.actions.listing(50)] == ["came"]


# --- the end of the host ------------------------------------------------------------------------------------------


async def test_the_host_ends_after_its_answer(rig: Rig) -> None:
    await rig.session()
    assert await rig.actions.shutdown(Shutdown(7)) == Done(7, ok=True)
    assert rig.shutdowns == []
    await asyncio.sleep(0)
    assert rig.shutdowns == [False]


async def test_the_host_ends_its_sessions_first_when_it_is_told_to(rig: Rig) -> None:
    for delay in (300, 800):
        session = await rig.session()
        rig.clock.call_at(START + delay, lambda handle=session.handle: rig.home.keeper.exits(handle))
    ended = await rig.session()
    rig.home.keeper.exits(ended.handle)
    done = await rig.clock.run(rig.actions.shutdown(Shutdown(7, sessions=True)))
    assert done == Done(7, ok=True)
    assert rig.clock.now() == START + 800
    await asyncio.sleep(0)
    assert rig.shutdowns == [True]


async def test_a_host_whose_sessions_do_not_end_goes_on_and_says_which(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    named, forbidden, third = await rig.session(name="named"), await rig.session(), await rig.session()
    asked = []

    async def stop(session: Session, _processes: object, clock: Clock, deadline: Instant) -> bool:
        asked.append(session)
        if session is forbidden:
            raise StopError("Operation not permitted")
        if session is named:
            await sleep_until(clock, deadline)
        return session is third

    monkeypatch.setattr(module, "stop_session", stop)
    done = await rig.clock.run(rig.actions.shutdown(Shutdown(7, sessions=True)))
    assert refused(done) == (
        "session stop not confirmed",
        f"still running: named, {forbidden.key}. The host goes on; end them by force in `switchboard watch`",
    )
    assert asked == [named, forbidden, third], "nobody waits for another one, nor for one that cannot be asked"
    assert rig.clock.now() == START + STOP_MS, "all of them have the same time"
    await asyncio.sleep(0)
    assert rig.shutdowns == []


# --- the browser page ---------------------------------------------------------------------------------------------


async def test_the_address_is_fresh_each_time(rig: Rig) -> None:
    numbers = iter(range(10))
    rig.actions.fresh_url = lambda: f"http://127.0.0.1:1/#{next(numbers)}"
    for number in (0, 1):
        answer = await rig.actions.address(messages.Address(7))
        assert answer == messages.AddressIs(7, f"http://127.0.0.1:1/#{number}")


async def test_without_a_built_page_there_is_no_address(rig: Rig) -> None:
    answer = await rig.actions.address(messages.Address(7))
    assert isinstance(answer, Done)
    assert refused(answer) == (
        "no browser page",
        "this installation has no built page; `switchboard watch` is the page in the terminal",
    )


# --- a database that breaks ---------------------------------------------------------------------------------------


async def test_a_database_that_breaks_costs_no_session(rig: Rig) -> None:
    rig.record()
    rig.spoil()
    done = await rig.open(name="a name")
    (session,) = rig.registry
    assert done.ok
    assert done.session is not None
    assert done.session.name == session.label.name == "a name"
    assert rig.opened == [session]
    assert done.detail is not None
    assert "no such table" in done.detail
    assert [info.state for info in await rig.actions.listing(50)] == ["open", "closed"]
    reason, detail = refused(await rig.actions.rename(Rename(7, session.handle, "another")))
    assert reason == "name not stored"
    assert detail is not None
    assert "no such table" in detail
    assert session.label.name == "another", "it has the name as long as it lives"
