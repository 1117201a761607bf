"""What the agent understands is documented."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from switchboard.agent.commands import COMMANDS
from switchboard.agent.directives import parse_directives
from switchboard.agent.faults import KNOWN
from switchboard.agent.options import USAGE
from switchboard.agent.script import DIRECTIVES_HELP

PAGE = (Path(__file__).parents[3] / "docs" / "agent.md").read_text("utf-8")


@pytest.mark.parametrize("name", KNOWN)
def test_every_fault_is_on_the_page(name: str) -> None:
    default = KNOWN[name][0]
    [row] = [line for line in PAGE.split("\n") if line.startswith(f"| `{name}` |")]
    number = row.split("|")[2]
    assert number.strip() == "" if default is None else f" {default} " in number.replace(",", " ") + " "


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_is_on_the_page(name: str) -> None:
    assert f"| `/{name}` |" in PAGE


def test_every_option_is_on_the_page() -> None:
    options = set(re.findall(r"--[a-z-]+", USAGE))
    assert {"--session-id", "--resume"} <= options
    assert all(option in PAGE for option in options - {"--help", "--version"})


def documented() -> list[str]:
    cells = [line.split("|")[1].strip().strip("`") for line in PAGE.split("\n") if line.startswith("| `[")]
    return [cell for cell in cells if cell.startswith("[")]


@pytest.mark.parametrize("text", documented())
def test_every_directive_on_the_page_exists(text: str) -> None:
    directives, rest = parse_directives(text)
    assert len(directives) == 1
    assert rest == ""


def test_the_page_and_the_help_name_the_same_directives() -> None:
    words = {text[1:].split()[0].rstrip("]") for text in documented()}
    assert words == {"slow", "ask", "print", "stream", "say", "error", "query", "exit", "crash"}
    assert all(f"[{word}" in DIRECTIVES_HELP for word in words)
