"""The watcher over a real folder: nothing is lost, nothing is done twice, everything is answered."""

from __future__ import annotations

import asyncio
import os
import shutil
from pathlib import Path
from typing import Any

import pytest
from tests.support.spool_stage import Notes, SpoolStage

from switchboard.common.facts import CliStatus, ComposerView
from switchboard.common.folder_watch import Rescan
from switchboard.delivery.port import Target
from switchboard.triggers.admission import MAX_IN_FLIGHT
from switchboard.triggers.watcher import TriggerWatcher


@pytest.fixture
def stage(tmp_path: Path) -> SpoolStage:
    return SpoolStage(tmp_path / "triggers")


async def until_result(stage: SpoolStage, name: str, limit_ms: int = 10_000) -> Any:
    """Let time pass until the request is answered."""
    for _ in range(limit_ms // 10):
        await stage.clock.settle()
        if stage.result(name) is not None:
            return stage.result(name)
        await stage.clock.advance(10)
    raise AssertionError(f"no result for {name}")


# --- arriving ---------------------------------------------------------------------------------------------------------


async def test_a_request_that_is_renamed_in_is_delivered_and_answered(stage: SpoolStage) -> None:
    stage.session().update(status=CliStatus("idle", stage.clock.now() - 9000))
    async with stage.open():
        stage.rename_in("a")
        result = await until_result(stage, "a")
    assert (result["ok"], result["command"]) == (True, "hello")
    assert stage.typed == [b"hello"]
    assert stage.waiting() == []
    assert stage.result_path("a").read_bytes().endswith(b"}\n")
    assert os.listdir(stage.folder / "processed") == ["a.result.json"]


async def test_a_request_that_was_there_before_is_found(stage: SpoolStage) -> None:
    stage.session()
    stage.folder.mkdir()
    stage.rename_in("a")
    async with stage.open():
        await until_result(stage, "a")
    assert stage.typed == [b"hello"]


async def test_a_request_that_is_both_listed_and_told_of_is_delivered_once(stage: SpoolStage) -> None:
    stage.session()
    stage.folder.mkdir()
    stage.rename_in("a")
    stage.watcher.start()
    stage.watcher._on_event(Rescan())
    await until_result(stage, "a")
    stage.watcher._on_event(Rescan())
    await stage.clock.advance(100)
    await stage.watcher.close()
    assert stage.typed == [b"hello"]


async def test_other_names_and_what_is_in_sub_folders_are_ignored(stage: SpoolStage) -> None:
    stage.session()
    async with stage.open():
        for name in ("a", "a.json.tmp", "a.JSON", "json"):
            (stage.folder / name).write_text(stage.text_of())
        (stage.folder / "sub").mkdir()
        (stage.folder / "sub" / "b.json").write_text(stage.text_of())
        (stage.folder / "processed" / "c.json").write_text(stage.text_of())
        await stage.clock.advance(200)
    assert stage.writes == []
    assert os.listdir(stage.folder / "processed") == ["c.json"]


async def test_rewriting_in_place_what_could_not_be_removed_does_not_fire_again(
    stage: SpoolStage, monkeypatch: pytest.MonkeyPatch
) -> None:
    stage.session()
    monkeypatch.setattr(stage.watcher._spool, "remove", refuse)
    async with stage.open() as watcher:
        stage.rename_in("a")
        await until_result(stage, "a")
        (stage.folder / "a.json").write_text(stage.text_of(command="again"))
        stage.rename_in("a", stage.text_of(command="again"))
        watcher._on_event(Rescan())
        await stage.clock.advance(200)
    assert stage.typed == [b"hello"]


def refuse(_name: str, _identity: object) -> bool:
    raise PermissionError(1, "Operation not permitted")


# --- half-written files -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("keeps_open", [True, False], ids=["one writer", "opened for each chunk"])
async def test_truncate_then_three_chunks_500_ms_apart(stage: SpoolStage, keeps_open: bool) -> None:
    stage.session()
    text = stage.text_of(command="the whole text")
    async with stage.open():
        path = stage.folder / "a.json"
        file = path.open("w")
        for chunk in (text[:10], text[10:20], text[20:]):
            await stage.clock.advance(500)
            assert stage.result("a") is None
            file.write(chunk)
            file.flush()
            stamp(stage, path)
            if not keeps_open:
                file.close()
                await stage.clock.settle()
                file = path.open("a")
        file.close()
        stamp(stage, path)
        await until_result(stage, "a", 100)
    assert stage.typed == [b"the whole text"]


def stamp(stage: SpoolStage, path: Path) -> None:
    """Give a file the fake clock's time, as the system gives it the real one."""
    now = stage.clock.now() * 1_000_000
    os.utime(path, ns=(now, now))


async def test_a_complete_write_in_place_is_taken_when_it_closes(stage: SpoolStage) -> None:
    stage.session()
    async with stage.open():
        (stage.folder / "a.json").write_text(stage.text_of())
        await stage.clock.settle()
        assert stage.result("a")["ok"]


async def test_a_writer_that_never_ends_is_given_up_after_five_seconds(stage: SpoolStage) -> None:
    async with stage.open():
        file = (stage.folder / "a.json").open("w")
        file.write("{")
        file.flush()
        await stage.clock.advance(4999)
        assert stage.result("a") is None
        await stage.clock.advance(1)
        assert stage.result("a")["error"].startswith("invalid JSON: ")
        file.close()


@pytest.mark.parametrize("how", ["rename", "link", "link and unlink"])
async def test_a_file_that_came_complete_never_waits_beyond_the_retry(stage: SpoolStage, how: str) -> None:
    async with stage.open():
        beside = stage.folder / "a.tmp"
        beside.write_text("{")
        if how == "rename":
            os.rename(beside, stage.folder / "a.json")
        else:
            os.link(beside, stage.folder / "a.json")
        if how == "link and unlink":
            beside.unlink()
        stamp(stage, stage.folder / "a.json")
        await stage.clock.advance(49)
        assert stage.result("a") is None
        await stage.clock.advance(1)
        assert stage.result("a")["error"].startswith("invalid JSON: ")


async def test_a_hard_link_is_delivered_once(stage: SpoolStage) -> None:
    stage.session()
    async with stage.open():
        beside = stage.folder / "a.tmp"
        beside.write_text(stage.text_of())
        os.link(beside, stage.folder / "a.json")
        beside.unlink()
        await until_result(stage, "a")
        await stage.clock.advance(500)
    assert stage.typed == [b"hello"]


async def test_of_a_request_that_is_replaced_while_it_is_queued_the_first_content_counts(stage: SpoolStage) -> None:
    terminal = stage.session()
    terminal.update(composer=ComposerView(1, 0))
    async with stage.open():
        stage.rename_in("a", stage.text_of(command="first"))
        await stage.clock.advance(100)
        stage.rename_in("a", stage.text_of(command="second"))
        await stage.clock.advance(100)
        terminal.update(composer=ComposerView(0, 0))
        await until_result(stage, "a")
        await stage.clock.advance(500)
    assert stage.typed == [b"first"]
    assert stage.waiting() == []
    assert len(stage.log.about("'a.json' was replaced before it was answered")) == 1


# --- order and number -------------------------------------------------------------------------------------------------


async def test_eight_requests_for_one_session_within_a_millisecond_go_out_in_order_and_whole(
    tmp_path: Path,
) -> None:
    stage = SpoolStage(tmp_path, SWITCHBOARD_SUBMIT_ENTER_DELAY_MS="50")
    stage.session()
    async with stage.open():
        for number in range(8):
            stage.rename_in(f"{number}", stage.text_of(command=f"text {number}"))
        for number in range(8):
            await until_result(stage, f"{number}")
    assert [data for _, data in stage.writes if data != b"\r"] == [f"text {number}".encode() for number in range(8)]
    assert {data for index, (_, data) in enumerate(stage.writes) if index % 3} == {b"\r"}


async def test_more_than_eight_wait_for_a_place(stage: SpoolStage) -> None:
    terminals = [stage.session(f"s{number}") for number in range(12)]
    for terminal in terminals:
        terminal.update(composer=ComposerView(1, 0))
    async with stage.open():
        for number in range(12):
            stage.rename_in(f"{number:02}", stage.text_of(sessionId=f"s{number}"))
        for terminal in terminals[8:]:
            terminal.update(composer=ComposerView(0, 0))
        await stage.clock.advance(100)
        assert stage.writes == []
        terminals[0].update(composer=ComposerView(0, 0))
        await until_result(stage, "11")
        assert len(stage.waiting()) == 7
        for terminal in terminals:
            terminal.update(composer=ComposerView(0, 0))
        await until_result(stage, "07")
    assert sorted(name for name, data in stage.writes if data == b"hello") == sorted(f"s{n}" for n in range(12))


@pytest.mark.parametrize("waiting", [7, 8])
async def test_another_session_waits_only_where_eight_requests_for_one_have_every_place(
    stage: SpoolStage, waiting: int
) -> None:
    """What the reference says of different sessions: a request keeps its place while it waits for its session."""
    held = stage.session("held")
    held.update(composer=ComposerView(1, 0))
    stage.session("free")
    async with stage.open():
        for number in range(waiting):
            stage.rename_in(f"held-{number}", stage.text_of(sessionId="held"))
        await stage.clock.settle()
        stage.rename_in("other", stage.text_of(sessionId="free"))
        await stage.clock.advance(100)
        assert ([name for name, _ in stage.writes] == []) is (waiting == 8)
        held.update(composer=ComposerView(0, 0))
        assert (await until_result(stage, "other"))["ok"]


async def test_a_refused_request_lets_the_next_of_its_session_go_on(stage: SpoolStage) -> None:
    stage.session()
    async with stage.open():
        stage.rename_in("a", stage.text_of(command=""))
        stage.rename_in("b")
        assert (await until_result(stage, "a"))["error"] == "missing required field: command"
        assert (await until_result(stage, "b"))["ok"]


async def test_the_wait_for_the_sessions_turn_is_not_counted(stage: SpoolStage) -> None:
    terminal = stage.session()
    terminal.update(composer=ComposerView(1, 0))
    async with stage.open():
        stage.rename_in("a", stage.text_of(timeout_ms=2000))
        await stage.clock.settle()
        stage.rename_in("b", stage.text_of(timeout_ms=1000))
        await stage.clock.advance(2000)
        assert stage.result("a")["waited_ms"] == 2000
        assert stage.result("b") is None
        await stage.clock.advance(1000)
        assert stage.result("b")["waited_ms"] == 1000


# --- faults -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("body", ["null", "[]", '"open"', "1"])
async def test_a_body_that_is_no_object_is_answered_as_a_versioned_request(stage: SpoolStage, body: str) -> None:
    async with stage.open():
        stage.rename_in("a", body)
        result = await until_result(stage, "a")
    assert (result["version"], result["action"], result["outcome"]) == (None, None, "refused")
    assert result["reason"] == "trigger must be an object"
    assert (result["submitted"], result["wrote"], result["steps_total"]) == ("no", False, 0)
    assert stage.waiting() == []


async def test_a_null_step_has_an_internal_result(stage: SpoolStage) -> None:
    async with stage.open():
        stage.rename_in("a", '{"sessionId":"S","chain":[{"command":"x"},null]}')
        result = await until_result(stage, "a")
    assert (result["internal"], result["sessionId"], result["steps_total"]) == (True, "S", 2)


async def test_a_fault_of_ours_has_an_internal_result_and_harms_no_other_request(
    stage: SpoolStage, monkeypatch: pytest.MonkeyPatch
) -> None:
    stage.session()
    find = stage.terminals.find

    def broken(session_id: str) -> Target | None:
        if session_id == "broken":
            raise ZeroDivisionError("a fault")
        return find(session_id)

    monkeypatch.setattr(stage.terminals, "find", broken)
    async with stage.open():
        stage.rename_in("a", stage.text_of(sessionId="broken"))
        stage.rename_in("b")
        result = await until_result(stage, "a")
        assert (await until_result(stage, "b"))["ok"]
    assert result["error"] == "internal error: ZeroDivisionError: a fault"
    assert (result["internal"], result["sessionId"], result["steps_total"]) == (True, "broken", 1)
    assert stage.waiting() == []


async def test_a_fault_in_a_wait_ends_in_the_result(stage: SpoolStage) -> None:
    terminal = stage.session()
    terminal.update(busy=True)
    async with stage.open():
        stage.rename_in("a", stage.text_of(wait="idle"))
        await stage.clock.advance(100)
        terminal.facts.publish(None)  # type: ignore[arg-type]  # a broken source of facts
        result = await until_result(stage, "a")
    assert result["internal"] is True


async def test_a_log_that_fails_changes_nothing(tmp_path: Path) -> None:
    class Broken(Notes):
        def info(self, message: str) -> None:
            raise OSError(28, "No space left on device")

        warning = error = info

    stage = SpoolStage(tmp_path)
    stage.log = Broken()
    stage.watcher = TriggerWatcher(stage.terminals, tmp_path, clock=stage.clock, env=stage.env, log=stage.log)
    async with stage.open():
        stage.rename_in("a")
        assert (await until_result(stage, "a"))["error"] == "session not found"


async def test_a_result_that_cannot_be_published_is_logged_and_never_done_again(
    stage: SpoolStage, monkeypatch: pytest.MonkeyPatch
) -> None:
    stage.session()
    tries: list[int] = []

    def fail(_stem: str, _data: bytes) -> None:
        tries.append(stage.clock.now())
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(stage.watcher._spool, "publish", fail)
    async with stage.open():
        stage.rename_in("a")
        await stage.clock.advance(500)
    assert [moment - tries[0] for moment in tries[:6]] == [0, 10, 30, 70, 150, 310]
    assert len(stage.log.about("could not be published")) == 1
    assert stage.waiting() == []
    assert stage.typed == [b"hello"]


async def test_a_rename_that_fails_for_a_moment_is_tried_again(
    stage: SpoolStage, monkeypatch: pytest.MonkeyPatch
) -> None:
    rename, failures = os.rename, [1, 1]

    def sometimes(source: str, place: str) -> None:
        if failures and str(place).endswith("a.result.json"):
            failures.pop()
            raise OSError(16, "Device or resource busy")
        rename(source, place)

    monkeypatch.setattr(os, "rename", sometimes)
    async with stage.open():
        stage.rename_in("a")
        await stage.clock.advance(30)
        assert stage.result("a")["error"] == "session not found"


async def test_a_request_that_cannot_be_removed_is_remembered_before_it_is_logged_and_logged_once(
    stage: SpoolStage, monkeypatch: pytest.MonkeyPatch
) -> None:
    stage.session()
    monkeypatch.setattr(stage.watcher._spool, "remove", refuse)
    admission = stage.watcher._admission
    known: list[bool] = []
    error = stage.log.error
    monkeypatch.setattr(
        stage.log, "error", lambda message: (known.append("a.json" in admission._retained), error(message))
    )
    async with stage.open() as watcher:
        stage.rename_in("a")
        await until_result(stage, "a")
        for _ in range(50):
            watcher._on_event(Rescan())
            await stage.clock.settle()
    assert known == [True]
    assert len(stage.log.about("cannot be removed")) == 1
    assert stage.typed == [b"hello"]


async def test_a_folder_of_requests_that_can_never_be_removed_keeps_log_and_work_bounded(
    stage: SpoolStage,
) -> None:
    stage.folder.mkdir()
    for number in range(40):
        (stage.folder / f"{number}.json").mkdir()
    async with stage.open() as watcher:
        await until_result(stage, "39")
        before = len(stage.log.lines)
        for _ in range(20):
            watcher._on_event(Rescan())
            await stage.clock.settle()
        assert len(stage.log.lines) == before
    assert len(stage.log.about("cannot be removed")) == 40


async def test_a_file_that_may_not_be_read_is_left_alone_and_told_once(
    stage: SpoolStage, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_name: str, _judge: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(stage.watcher._spool, "read", fail)
    async with stage.open() as watcher:
        stage.rename_in("a")
        for _ in range(5):
            watcher._on_event(Rescan())
            await stage.clock.settle()
    assert stage.waiting() == ["a.json"]
    assert len(stage.log.about("may not be read")) == 1
    assert stage.result("a") is None


# --- the folder -------------------------------------------------------------------------------------------------------


async def test_of_files_under_a_name_that_is_not_read_yet_the_last_counts_and_the_log_says_so(
    stage: SpoolStage,
) -> None:
    stage.session()
    async with stage.open():
        for number in range(MAX_IN_FLIGHT):
            stage.rename_in(f"busy-{number}", "{")  # read again in 50 ms, so that it takes one of the places
        await stage.clock.settle()
        for command in ("one", "two", "three"):
            stage.rename_in("a", stage.text_of(command=command))
            await stage.clock.settle()
        assert len(stage.log.about("'a.json' was replaced before it was answered")) == 2
        await stage.clock.advance(1_000)
        assert stage.result("a")["command"] == "three"
        stage.rename_in("a", stage.text_of(command="four"))
        await until_result(stage, "a")
        await stage.clock.advance(1_000)
    assert stage.typed == [b"three", b"four"]
    assert len(stage.log.about("was replaced")) == 2, "a name may be used again once it is answered"


async def test_a_folder_that_cannot_be_made_is_told_with_its_remedy(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    stage = SpoolStage(tmp_path / "file" / "triggers")
    async with stage.open() as watcher:
        assert watcher.problem is not None
        assert "SWITCHBOARD_TRIGGERS_DIR" in watcher.problem
    assert len(stage.log.about("cannot be made")) == 1


async def test_a_folder_that_is_replaced_while_we_run(stage: SpoolStage, tmp_path: Path) -> None:
    stage.session()
    async with stage.open():
        os.rename(stage.folder, tmp_path / "old")
        stage.folder.mkdir()
        stage.rename_in("a")
        await until_result(stage, "a")
        stage.rename_in("b")
        await until_result(stage, "b")
    assert stage.typed == [b"hello", b"hello"]


async def test_a_folder_that_goes_and_comes_back(stage: SpoolStage) -> None:
    stage.session()
    async with stage.open():
        shutil.rmtree(stage.folder)
        await stage.clock.advance(100)
        stage.folder.mkdir()
        await stage.clock.advance(100)
        stage.rename_in("a")
        await until_result(stage, "a")
    assert stage.typed == [b"hello"]


async def test_the_folder_of_the_environment_is_the_default(tmp_path: Path) -> None:
    env = {"SWITCHBOARD_TRIGGERS_DIR": str(tmp_path / "from env")}
    stage = SpoolStage(tmp_path)
    async with TriggerWatcher(stage.terminals, env=env) as watcher:
        assert watcher.folder == str(tmp_path / "from env")
    assert (tmp_path / "from env" / "processed").is_dir()


async def test_two_thousand_requests_that_were_there_before_are_all_answered(stage: SpoolStage) -> None:
    stage.folder.mkdir()
    for number in range(2000):
        (stage.folder / f"{number}.json").write_text("{}")
    async with stage.open():
        while stage.waiting():
            await asyncio.sleep(0)
    assert len(os.listdir(stage.folder / "processed")) == 2000


# --- closing ----------------------------------------------------------------------------------------------------------


async def test_closing_answers_what_waits_and_leaves_what_was_not_begun(stage: SpoolStage) -> None:
    terminal = stage.session()
    terminal.update(composer=ComposerView(1, 0))
    async with stage.open():
        for number in range(10):
            stage.rename_in(f"{number}")
        await stage.clock.advance(10)
    answered = [stage.result(f"{number}") for number in range(10)]
    closing = {"error": "not sent", "reason": "Switchboard is closing.", "wrote": False, "submitted": "no"}
    assert [{name: result[name] for name in closing} for result in answered if result is not None] == [closing] * 8
    assert stage.waiting() == ["8.json", "9.json"]
    assert stage.writes == []


async def test_closing_takes_nothing_new(stage: SpoolStage) -> None:
    stage.session()
    async with stage.open():
        pass
    stage.rename_in("a")
    await stage.clock.advance(100)
    assert stage.waiting() == ["a.json"]


async def test_closing_between_text_and_enter_still_presses_enter(tmp_path: Path) -> None:
    stage = SpoolStage(tmp_path, SWITCHBOARD_SUBMIT_ENTER_DELAY_MS="50", SWITCHBOARD_SUBMIT_VERIFY_MS="2000")
    stage.session()
    stage.watcher.start()
    stage.rename_in("a")
    await stage.clock.advance(10)
    assert stage.writes == [("S", b"hello")]
    await stage.clock.run(stage.watcher.close())
    assert stage.writes == [("S", b"hello"), ("S", b"\r")]
    result = stage.result("a")
    assert (result["ok"], result["error"], result["reason"]) == (False, "interrupted", "Switchboard is closing.")
    assert (result["submitted"], result["enter_written"], result["written"]) == ("assumed", True, True)


async def test_closing_answers_who_waits_for_the_sessions_turn_without_waiting_for_it(tmp_path: Path) -> None:
    stage = SpoolStage(tmp_path, SWITCHBOARD_SUBMIT_ENTER_DELAY_MS="50")
    stage.session()
    stage.watcher.start()
    for name in "ab":
        stage.rename_in(name)
        await stage.clock.settle()
    closing = asyncio.create_task(stage.watcher.close(), name="closing")
    await stage.clock.settle()
    assert (stage.result("a"), stage.result("b")["reason"]) == (None, "Switchboard is closing.")
    await stage.clock.advance(50)
    await closing
    assert stage.result("a")["enter_written"] is True


async def test_closing_a_chain_tells_how_far_it_came(tmp_path: Path) -> None:
    stage = SpoolStage(tmp_path)
    terminal = stage.session()
    terminal.update(busy=True)
    async with stage.open():
        stage.rename_in("a", '{"sessionId":"S","chain":[{"command":"one"},{"command":"two"}]}')
        await stage.clock.advance(100)
    result = stage.result("a")
    assert (result["error"], result["reason"], result["partial"]) == ("interrupted", "Switchboard is closing.", True)
    assert (result["steps_completed"], result["steps_written"]) == (0, 1)


async def test_a_delivery_that_does_not_end_is_cancelled_and_answered_truthfully(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("switchboard.triggers.watcher.CLOSE_GRACE_S", 0.01)
    stage = SpoolStage(tmp_path, SWITCHBOARD_SUBMIT_ENTER_DELAY_MS="60000")
    stage.session()
    stage.watcher.start()
    stage.rename_in("a")
    await stage.clock.advance(10)
    await stage.watcher.close()
    result = stage.result("a")
    assert (result["error"], result["reason"]) == ("interrupted", "Switchboard is closing.")
    assert (result["wrote"], result["text_written"], result["enter_written"]) == (True, True, False)
    assert stage.waiting() == []


async def test_a_host_may_give_less_time_to_close(tmp_path: Path) -> None:
    stage = SpoolStage(tmp_path, SWITCHBOARD_SUBMIT_ENTER_DELAY_MS="60000")
    stage.session()
    stage.watcher.start()
    stage.rename_in("a")
    await stage.clock.advance(10)
    async with asyncio.timeout(1):
        await stage.watcher.close(0.0)
    assert stage.result("a")["error"] == "interrupted"


async def test_half_a_request_is_left_for_the_next_start(stage: SpoolStage) -> None:
    async with stage.open():
        file = (stage.folder / "a.json").open("w")
        file.write("{")
        file.flush()
        await stage.clock.advance(100)
    file.close()
    assert stage.waiting() == ["a.json"]
    assert stage.result("a") is None


async def test_closing_twice_is_harmless(stage: SpoolStage) -> None:
    async with stage.open() as watcher:
        await watcher.close()


async def test_no_text_of_a_request_is_logged(stage: SpoolStage) -> None:
    stage.session()
    async with stage.open():
        stage.rename_in("a", stage.text_of(command="a secret"))
        stage.rename_in("b", stage.text_of(command="a secret\r"))
        await until_result(stage, "a")
        await until_result(stage, "b")
    assert stage.log.lines
    assert stage.log.about("secret") == []
