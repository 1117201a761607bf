"""`switchboard agent`: the built-in agent in this terminal."""

from __future__ import annotations

from collections.abc import Sequence

from switchboard.agent.terminal import main as agent_main


def main(argv: Sequence[str]) -> int:
    """Return the agent's exit code."""
    return agent_main(list(argv))
