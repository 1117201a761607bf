"""What has to be seen for a program to run: Claude Code's, and the built-in agent's Python."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.support.described_host import Described, Entry, Link

from switchboard.sandbox.control_paths import ControlPaths
from switchboard.sandbox.mounts import Mount, Refusal
from switchboard.sandbox.planning import Planning
from switchboard.sandbox.policy import AGENT, CLAUDE, Findings, PythonPlace, SandboxCli, SandboxRequest
from switchboard.sandbox.programs import Programs
from switchboard.sandbox.protect import Protection
from switchboard.sandbox.table import Table

PYTHON = PythonPlace("/v/bin/python", "/v", "/usr", "/src/switchboard")
REQUEST = SandboxRequest(AGENT, (), "/p", "/home/u", {"PATH": "/usr/bin"}, ControlPaths("/t", ("/d",)), python=PYTHON)

HOST: dict[str, Entry] = {
    "/p/": "",
    "/home/u/": "",
    "/usr/bin/python3.11": "",
    "/usr/bin/python3": Link("python3.11"),
    "/v/bin/python": Link("/usr/bin/python3"),
    "/v/lib/site-packages/": "",
    "/src/switchboard/agent/__main__.py": "",
}


def shown(
    request: SandboxRequest, entries: dict[str, Entry], programs: frozenset[str] = frozenset(), bind: str = "/p"
) -> tuple[list[str], set[tuple[str, str, str]], list[str]]:
    """The command, the mounts beside those that are there before, and the warnings."""
    host, table, findings = Described({**HOST, **entries}, programs=programs), Table(), Findings()
    for mount in (Mount("ro", "/usr", "/usr"), Mount("symlink", "/bin", "usr/bin"), Mount("rw", bind, bind)):
        table.add(mount)
    protection = Protection(table, host, findings, "/home/u")
    command = Programs(Planning(request, table, host, findings, protection)).command()
    protection.pin_ways()
    mounts = {(mount.access, mount.destination, mount.source or "") for mount in table.mounts[3:]}
    return command, mounts, list(findings.warnings)


def same(*paths: str, access: str = "ro") -> set[tuple[str, str, str]]:
    return {(access, path, path) for path in paths}


def test_the_agent_in_a_virtual_environment() -> None:
    command, mounts, _ = shown(REQUEST, {})
    assert command == ["/v/bin/python", "-P", "-m", "switchboard.agent"]
    assert mounts == same("/v", "/src/switchboard")


def test_an_installation_of_its_own() -> None:
    entries: dict[str, Entry] = {
        "/home/u/.pyenv/3.11/bin/python3.11": "",
        "/v/bin/python": Link("/home/u/bin/python"),
        "/home/u/bin/python": Link("/home/u/.pyenv/3.11/bin/python3.11"),
    }
    request = replace(REQUEST, python=replace(PYTHON, base_prefix="/home/u/.pyenv/3.11"))
    _, mounts, _ = shown(request, entries)
    assert mounts == same("/v", "/src/switchboard", "/home/u/.pyenv/3.11", "/home/u/bin")


def test_further_package_folders() -> None:
    request = replace(REQUEST, python=replace(PYTHON, packages=("/v/lib/site-packages", "/home/u/site-packages")))
    _, mounts, _ = shown(request, {"/home/u/site-packages/": ""})
    assert mounts == same("/v", "/src/switchboard", "/home/u/site-packages")


def test_everything_in_the_working_directory_becomes_read_only() -> None:
    """Else the agent could rewrite itself, and the host."""
    entries: dict[str, Entry] = {
        "/p/repo/.venv/bin/python": Link("/usr/bin/python3"),
        "/p/repo/src/switchboard/": "",
    }
    request = replace(
        REQUEST, python=PythonPlace("/p/repo/.venv/bin/python", "/p/repo/.venv", "/usr", "/p/repo/src/switchboard")
    )
    _, mounts, _ = shown(request, entries)
    assert mounts == same("/p/repo/.venv", "/p/repo/src/switchboard") | same("/p/repo", "/p/repo/src", access="rw")


@pytest.mark.parametrize("cli", [AGENT, CLAUDE])
def test_switchboard_itself_in_the_working_directory_is_read_only_for_every_cli(cli: SandboxCli) -> None:
    """What starts the next sandbox, outside, is not the session's to change."""
    entries: dict[str, Entry] = {
        "/p/.venv/bin/python": Link("/usr/bin/python3"),
        "/p/.venv/lib/site/": "",
        "/p/src/switchboard/": "",
        "/c/bin/claude": "",
        "/c/bin/": "",
    }
    searched = ("/usr/lib/python3.11", "/p/.venv/lib/site", "/p/src")
    python = PythonPlace("/p/.venv/bin/python", "/p/.venv", "/usr", "/p/src/switchboard", searched=searched)
    request = replace(REQUEST, cli=cli, environment={"PATH": "/c/bin:/usr/bin"}, python=python)
    _, mounts, _ = shown(request, entries, frozenset({"/c/bin/claude"}))
    assert mounts >= same("/p/.venv", "/p/src")


def test_an_environment_made_in_the_working_directory_itself() -> None:
    entries: dict[str, Entry] = {
        "/p/bin/python": Link("/usr/bin/python3"),
        "/p/lib/site/": "",
        "/p/lib64": Link("lib"),
        "/p/pyvenv.cfg": "",
        "/c/bin/claude": "",
    }
    python = PythonPlace("/p/bin/python", "/p", "/usr", "/p/lib/site/switchboard", searched=("/p/lib/site",))
    _, mounts, _ = shown(replace(CLAUDE_REQUEST, python=python), entries, frozenset({"/c/bin/claude"}))
    assert mounts >= same("/p/bin", "/p/lib", "/p/pyvenv.cfg")


def test_modules_taken_from_the_working_directory_itself() -> None:
    python = replace(PYTHON, searched=("/p", "/usr/lib/python3.11"))
    with pytest.raises(Refusal, match="Switchboard imports modules from /p, where the session is to work"):
        shown(replace(CLAUDE_REQUEST, python=python), {"/c/bin/claude": ""}, frozenset({"/c/bin/claude"}))


@pytest.mark.parametrize("field", ["prefix", "base_prefix", "package"])
def test_a_python_that_holds_the_home_directory(field: str) -> None:
    request = replace(REQUEST, python=replace(PYTHON, **{field: "/home"}))
    with pytest.raises(Refusal, match=r"Python's /home contains \$HOME"):
        shown(request, {})


CLAUDE_REQUEST = replace(REQUEST, cli=CLAUDE, environment={"PATH": "/c/bin:/usr/bin:/bin"}, python=None)


def test_claude_and_the_node_that_runs_it() -> None:
    entries: dict[str, Entry] = {
        "/c/bin/claude": Link("../lib/cli/cli.js"),
        "/c/lib/cli/cli.js": "#!/usr/bin/env node\n",
        "/c/bin/node": "",
        "/usr/bin/env": "",
    }
    programs = frozenset({"/c/lib/cli/cli.js", "/c/bin/node", "/usr/bin/env"})
    command, mounts, warnings = shown(CLAUDE_REQUEST, entries, programs)
    assert command == ["/c/lib/cli/cli.js"]
    assert mounts == same("/c/lib/cli", "/c/bin")
    assert warnings == []


@pytest.mark.parametrize(
    ("line", "shows", "warns"),
    [
        ("#!/o/bin/x -a", {"/o/bin"}, False),
        ("#! /o/bin/x", {"/o/bin"}, False),
        ("#!/usr/bin/env -S A=b x -c", {"/c/bin"}, False),
        ("#!/usr/bin/env gone", set(), True),
        ("#!/gone/x", set(), True),
        ("#!/bin/sh", set(), False),
        ("#!", set(), False),
        ("\x7fELF", set(), False),
    ],
)
def test_interpreters(line: str, shows: set[str], warns: bool) -> None:
    entries: dict[str, Entry] = {"/k/claude": f"{line}\nrest", "/o/bin/x": "", "/c/bin/x": "", "/usr/bin/sh": ""}
    entries["/bin"] = Link("usr/bin")
    programs = frozenset({"/k/claude", "/o/bin/x", "/c/bin/x", "/usr/bin/sh", "/usr/bin/env"})
    request = replace(CLAUDE_REQUEST, environment={**CLAUDE_REQUEST.environment, "SWITCHBOARD_CLAUDE": "/k/claude"})
    _, mounts, warnings = shown(request, entries, programs)
    assert mounts == same("/k", *shows)
    assert bool(warnings) is warns


def test_a_relative_name_is_relative_to_the_working_directory() -> None:
    request = replace(CLAUDE_REQUEST, environment={"SWITCHBOARD_CLAUDE": "bin/claude"})
    command, mounts, _ = shown(request, {"/p/bin/claude": ""}, frozenset({"/p/bin/claude"}))
    assert command == ["/p/bin/claude"]
    assert mounts == same("/p/bin")
