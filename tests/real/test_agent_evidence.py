"""What the agent publishes, read by the same readers that read Claude Code's files."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.support.agent_terminal import AgentTerminal

from switchboard import __version__
from switchboard.clis.descriptors import parse_descriptor
from switchboard.clis.transcript_files import find_transcript, read_evidence, recorded_cwd
from switchboard.common.facts import CliStatus, TurnEvidence


@pytest.fixture
def agent(tmp_path: Path) -> Iterator[AgentTerminal]:
    agent = AgentTerminal(tmp_path)
    agent.wait_ready()
    yield agent
    agent.close()


def evidence(agent: AgentTerminal) -> TurnEvidence | None:
    path = find_transcript(str(agent.home / "projects"), agent.session_id)
    return None if path is None else read_evidence(path)


def wait_closed(agent: AgentTerminal) -> TurnEvidence:
    def closed() -> bool:
        found = evidence(agent)
        return found is not None and found.closed and agent.status in ("idle", "shell")

    agent.wait(closed, "closed turn")
    found = evidence(agent)
    assert found is not None
    return found


def test_descriptor(agent: AgentTerminal) -> None:
    parsed = parse_descriptor(agent.descriptor_path.read_bytes())
    assert parsed is not None
    assert agent.descriptor is not None
    assert (parsed.pid, parsed.session_id) == (agent.process.pid, agent.session_id)
    assert parsed.status == CliStatus("idle", agent.descriptor["statusUpdatedAt"], cli_version=__version__)


def test_a_turn_opens_and_closes(agent: AgentTerminal) -> None:
    agent.submit("[slow 1m]")
    agent.wait(lambda: evidence(agent) is not None, "transcript")
    found = evidence(agent)
    assert found is not None
    assert not found.closed
    assert [prompt.text for prompt in found.prompts] == ["[slow 1m]"]
    agent.send("\x1b")
    agent.wait_status("idle")
    found = evidence(agent)
    assert found is not None
    assert not found.closed
    agent.submit("hello")
    found = wait_closed(agent)
    assert [prompt.text for prompt in found.prompts] == ["[slow 1m]", "hello"]


@pytest.mark.parametrize("line", ["!true", "!sleep 100 &", "[slow 0][ask true]", "[say done]"])
def test_what_closes(agent: AgentTerminal, line: str) -> None:
    agent.submit(line)
    if "ask" in line:
        agent.wait_status("waiting")
        found = evidence(agent)
        assert found is not None
        assert not found.closed
        agent.send("\r")
    wait_closed(agent)


def test_compaction(agent: AgentTerminal) -> None:
    agent.submit("hello")
    wait_closed(agent)
    agent.submit("/compact")
    agent.wait_shown("Compacted.")
    found = wait_closed(agent)
    assert [boundary.manual for boundary in found.boundaries] == [True]
    agent.submit("/compact")
    agent.wait(lambda: agent.shown.count("Compacted.") == 2, "second compaction")
    found = wait_closed(agent)
    assert len({boundary.uuid for boundary in found.boundaries}) == 2


def test_clear_and_directory(agent: AgentTerminal) -> None:
    old = agent.session_id
    agent.submit("/clear")
    agent.wait(lambda: agent.session_id != old, "new id")
    assert wait_closed(agent).boundaries == ()
    path = find_transcript(str(agent.home / "projects"), agent.session_id)
    assert path is not None
    assert recorded_cwd(path).cwd == str(agent.cwd)


def test_queue(agent: AgentTerminal) -> None:
    agent.submit("[slow 1s]")
    agent.wait_status("busy")
    agent.submit("/compact")
    agent.submit("hello there")
    agent.wait_shown("\u25cf Hello!")
    found = wait_closed(agent)
    assert len(found.boundaries) == 1
