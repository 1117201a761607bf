"""What each CLI may write, as data."""

from __future__ import annotations

from switchboard.sandbox.policy import AGENT, CLAUDE, CLIS, Findings, Missing


def test_both_layouts() -> None:
    assert CLIS == {"claude": CLAUDE, "agent": AGENT}
    for cli in CLIS.values():
        assert not cli.state & cli.private
        assert "projects" not in cli.state
        assert {"projects", "sessions"} <= set(cli.made)


def test_claudes_state() -> None:
    """What it runs or obeys is not among it."""
    assert len(CLAUDE.state) == 24
    assert CLAUDE.private == {"shell-snapshots", "session-env", "backups", "state"}
    obeyed = {"settings.json", "settings.local.json", "CLAUDE.md", "skills", "plugins", "hooks", "commands", "agents"}
    assert not obeyed & (CLAUDE.state | CLAUDE.private)
    assert "ide" in CLAUDE.made
    assert "ide" not in CLAUDE.state


def test_findings_are_noted_once_and_in_order() -> None:
    findings = Findings()
    for _ in range(2):
        findings.warn("b")
        findings.warn("a")
        findings.lacks(Missing("/x"))
    assert list(findings.warnings) == ["b", "a"]
    assert list(findings.missing.values()) == [Missing("/x")]
