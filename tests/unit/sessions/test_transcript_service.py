"""Transcripts are followed while somebody waits, once per session, and not longer."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from tests.support.fake_folder_watcher import FakeFolderWatcher
from tests.support.sessions import House, ListLog, hosted, house

from switchboard.sessions.session import Session
from switchboard.sessions.transcript_service import TranscriptService

WRITTEN_AT = 1_790_000_000_000
"""When `Rig.write` says it was."""


class Rig:
    """A projects folder of Claude Code, and sessions."""

    def __init__(self, root: Path, home: House) -> None:
        self.home = home
        self.projects = root / "claude" / "projects"
        self.projects.mkdir(parents=True)
        self.watcher = FakeFolderWatcher()
        self.log = ListLog()
        self.service = TranscriptService(self.watcher, {"CLAUDE_CONFIG_DIR": str(root / "claude")}, self.log)
        home.registry.transcripts = self.service.follow
        home.registry.listen(self.service)

    def write(self, session_id: str, *prompts: str) -> None:
        """Let a CLI append prompts, in the folder of the session's directory."""
        path = self.projects / "-srv-project" / f"{session_id}.jsonl"
        path.parent.mkdir(exist_ok=True)
        with path.open("a") as file:
            for text in prompts:
                row = {"type": "user", "timestamp": "2026-09-21T14:13:20.000Z", "message": {"content": text}}
                file.write(json.dumps(row) + "\n")

    async def appended(self, session_id: str, *prompts: str) -> None:
        self.write(session_id, *prompts)
        self.watcher.tell(str(self.projects / "-srv-project"), f"{session_id}.jsonl")
        await self.home.clock.settle()


@pytest.fixture
async def rig(tmp_path: Path) -> AsyncIterator[Rig]:
    with house() as home:
        yield Rig(tmp_path, home)


def prompts(session: Session) -> list[str] | None:
    evidence = session.facts.value.transcript
    return None if evidence is None else [prompt.text for prompt in evidence.prompts]


async def test_evidence_is_there_while_followed_and_kept_up_to_date(rig: Rig) -> None:
    session = await rig.home.opens("claude", "s")
    rig.write("s", "one")
    assert prompts(session) is None
    with session.transcript():
        assert prompts(session) == ["one"]
        await rig.appended("s", "two")
        assert prompts(session) == ["one", "two"]
    assert prompts(session) is None
    assert rig.watcher.watched == []


async def test_several_followers_share_one_watch_which_the_last_one_ends(rig: Rig) -> None:
    session = await rig.home.opens("claude", "s")
    rig.write("s", "one")
    first, second, third = session.transcript(), session.transcript(), session.transcript()
    first.__enter__()
    watched = rig.watcher.watched
    second.__enter__()
    first.__exit__(None, None, None)
    third.__enter__()
    second.__exit__(None, None, None)
    assert rig.watcher.watched == watched
    await rig.appended("s", "two")
    assert prompts(session) == ["one", "two"]
    third.__exit__(None, None, None)
    assert rig.watcher.watched == []
    with session.transcript():
        assert rig.watcher.watched == watched


async def test_a_follower_that_fails_lets_go(rig: Rig) -> None:
    session = await rig.home.opens("claude", "s")
    rig.write("s", "one")
    with pytest.raises(RuntimeError, match="a delivery's fault"), session.transcript():
        raise RuntimeError("a delivery's fault")
    assert rig.watcher.watched == []
    assert prompts(session) is None


async def test_each_session_is_followed_by_itself(rig: Rig) -> None:
    one = await rig.home.opens("claude", "one")
    two = await rig.home.opens("claude", "two")
    rig.write("one", "of one")
    rig.write("two", "of two")
    with one.transcript(), two.transcript():
        assert (prompts(one), prompts(two)) == (["of one"], ["of two"])
    with one.transcript():
        assert (prompts(one), prompts(two)) == (["of one"], None)


async def test_a_session_that_goes_on_under_another_id_is_followed_there(rig: Rig) -> None:
    session = await rig.home.opens("claude", "s")
    rig.write("s", "before")
    rig.write("cleared", "after")
    with session.transcript():
        assert prompts(session) == ["before"]
        session.rekeyed("cleared")
        assert prompts(session) == ["after"]
        await rig.appended("cleared", "more")
        assert prompts(session) == ["after", "more"]
    assert rig.watcher.watched == []


async def test_a_session_that_nobody_follows_may_change(rig: Rig) -> None:
    session = await rig.home.opens("claude", "s")
    rig.write("cleared", "after")
    session.rekeyed("cleared")
    assert prompts(session) is None
    assert rig.watcher.watched == []


async def test_a_session_that_ends_and_goes_while_followed_leaves_nothing(rig: Rig) -> None:
    session = await rig.home.opens("claude", "s")
    rig.write("s", "one")
    with session.transcript():
        rig.home.keeper.exits(session.handle)
        rig.home.registry.remove(session)
    assert rig.watcher.watched == []


@pytest.mark.parametrize("profile", ["shell", "codex", "attach"])
async def test_a_cli_without_transcripts_has_no_evidence(rig: Rig, profile: str) -> None:
    with hosted(profile) as stand, rig.service.follow(stand.session):
        assert stand.session.facts.value.transcript is None
        assert rig.watcher.watched == []


# --- what a delivery has left, and much was written since -------------------------------------------------------------


def left(session: Session, text: bytes = b"one") -> None:
    session.untaken(text, WRITTEN_AT)
    assert session.interrupted == text


async def test_a_search_goes_as_far_back_as_the_text_that_was_left(rig: Rig) -> None:
    session = await rig.home.opens("claude", "s")
    rig.write("s", "one", *("x" * 2000 for _ in range(500)))
    left(session)
    with session.transcript():
        assert session.interrupted == b"one", "its entry lies before the window that is read at first"
        await rig.service.search(session)
        assert session.interrupted is None
        assert len(prompts(session) or ()) == 50, "what is followed stays as it was"


@pytest.mark.parametrize("case", ["not followed", "no transcript", "another text"])
async def test_a_search_that_finds_nothing_ends(rig: Rig, case: str) -> None:
    session = await rig.home.opens("claude", "s")
    if case != "no transcript":
        rig.write("s", "one" if case == "not followed" else "two")
    left(session)
    if case == "not followed":
        await rig.service.search(session)
    else:
        with session.transcript():
            await rig.service.search(session)
    assert session.interrupted == b"one"
