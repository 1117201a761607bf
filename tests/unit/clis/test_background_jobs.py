"""Background jobs as their records tell of them: what each state, and each way of being unreadable, means."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from switchboard.clis.background_jobs import job_that_has, parse_job
from switchboard.clis.liveness import Background, Unknown

ID = "0d6f3a52-0000-4000-8000-00000000000a"
OTHER = "0d6f3a52-0000-4000-8000-00000000000b"


def put(folder: Path, job: str, body: object) -> Path:
    path = folder / job / "state.json"
    path.parent.mkdir(parents=True)
    path.write_text(body if isinstance(body, str) else json.dumps(body))
    return path


def asked(folder: Path, session_id: str = ID) -> Background | Unknown | None:
    return job_that_has(lambda: [str(folder)], session_id)


@pytest.mark.parametrize("state", ["starting", "working", "blocked"])
def test_a_job_in_this_state_has_its_conversation(tmp_path: Path, state: str) -> None:
    path = put(tmp_path, "j7", {"state": state, "sessionId": ID.upper(), "cwd": "/w"})
    answer = asked(tmp_path)
    assert isinstance(answer, Background)
    assert (answer.job, answer.where.pid, answer.where.cwd, answer.where.path) == ("j7", None, "/w", str(path))


@pytest.mark.parametrize("state", ["done", "stopped"])
def test_a_job_in_this_state_has_let_go(tmp_path: Path, state: str) -> None:
    put(tmp_path, "j7", {"state": state, "sessionId": ID})
    assert asked(tmp_path) is None


@pytest.mark.parametrize(("state", "said"), [("resting", "the state 'resting'"), (None, "no state"), (7, "no state")])
def test_an_unknown_state_is_no_answer(tmp_path: Path, state: object, said: str) -> None:
    put(tmp_path, "j7", {"state": state, "sessionId": ID})
    answer = asked(tmp_path)
    assert isinstance(answer, Unknown)
    assert said in answer.detail
    assert asked(tmp_path, OTHER) is None


def test_the_conversation_that_a_job_goes_on_with_counts_too(tmp_path: Path) -> None:
    put(tmp_path, "j7", {"state": "working", "sessionId": OTHER, "resumeSessionId": ID})
    assert isinstance(asked(tmp_path), Background)
    assert isinstance(asked(tmp_path, OTHER), Background)


@pytest.mark.parametrize("text", ["", '{"state": "wor', "[]", "\ufeff{}"], ids=["empty", "half", "list", "mark"])
def test_a_torn_record_may_be_anybodys(tmp_path: Path, text: str) -> None:
    path = put(tmp_path, "j7", text)
    answer = asked(tmp_path)
    assert isinstance(answer, Unknown)
    assert str(path) in answer.detail


def test_a_certain_answer_goes_before_a_doubt(tmp_path: Path) -> None:
    put(tmp_path, "a", "{")
    put(tmp_path, "b", {"state": "working", "sessionId": ID})
    assert isinstance(asked(tmp_path), Background)


def test_what_is_no_record_does_not_matter(tmp_path: Path) -> None:
    (tmp_path / "pins.json").write_text("[]")
    (tmp_path / "empty").mkdir()
    os.symlink(tmp_path / "empty", tmp_path / "link")
    assert asked(tmp_path) is None
    assert asked(tmp_path / "missing") is None


def test_what_cannot_be_read_may_be_one(tmp_path: Path) -> None:
    (tmp_path / "j7" / "state.json").mkdir(parents=True)
    assert isinstance(asked(tmp_path), Unknown)
    plain = tmp_path / "plain"
    plain.write_text("")
    assert isinstance(asked(plain), Unknown)


def test_a_record_without_a_conversation_is_nobodys(tmp_path: Path) -> None:
    put(tmp_path, "j7", {"state": "working", "sessionId": ""})
    assert asked(tmp_path) is None
    assert parse_job("j", b"7") is None


@pytest.mark.parametrize("whole", [False, True], ids=["a job's folder", "the jobs folder"])
def test_a_folder_behind_a_link_is_read(tmp_path: Path, whole: bool) -> None:
    """Claude Code follows it, so somebody may have the conversation there."""
    put(tmp_path / "elsewhere", "j7", {"state": "working", "sessionId": ID})
    jobs = tmp_path / "jobs"
    if whole:
        jobs.symlink_to(tmp_path / "elsewhere")
    else:
        jobs.mkdir()
        (jobs / "j7").symlink_to(tmp_path / "elsewhere" / "j7")
    answer = asked(jobs)
    assert isinstance(answer, Background)
    assert (answer.job, answer.where.path) == ("j7", f"{jobs}/j7/state.json")


@pytest.mark.parametrize("target", ["nowhere", "a file", "a folder without a record"])
def test_a_link_behind_which_no_record_can_be_says_nothing(tmp_path: Path, target: str) -> None:
    jobs = tmp_path / "jobs"
    jobs.mkdir()
    there = tmp_path / "there"
    if target == "a file":
        there.write_text(json.dumps({"state": "working", "sessionId": ID}))
    elif target == "a folder without a record":
        there.mkdir()
    (jobs / "j7").symlink_to(there)
    assert asked(jobs) is None


def test_a_link_that_leads_to_itself_may_hide_a_record(tmp_path: Path) -> None:
    (tmp_path / "j7").symlink_to(tmp_path / "j7")
    answer = asked(tmp_path)
    assert isinstance(answer, Unknown)
    assert "j7/state.json cannot be read" in answer.detail
