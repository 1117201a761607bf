"""The CLI's own folder: for the built-in agent, and names of transcript folders."""

from __future__ import annotations

import pytest
from tests.support.described_host import Described, Entry, Link

from switchboard.sandbox.control_paths import ControlPaths
from switchboard.sandbox.mounts import Mount, Refusal
from switchboard.sandbox.planning import Planning
from switchboard.sandbox.policy import AGENT, Findings, Missing, SandboxRequest
from switchboard.sandbox.protect import Protection
from switchboard.sandbox.state import State, derived_name
from switchboard.sandbox.table import Table

HOME = "/home/u/.switchboard-agent"


def state(
    entries: dict[str, Entry], own: str | None = None, **environment: str
) -> tuple[dict[str, tuple[str, str | None]], list[str]]:
    """What is mounted where, and what is missing."""
    host = Described({"/p/": "", "/home/u/": "", "/d/1/sessions/": "", **entries})
    table, findings = Table(), Findings()
    table.add(Mount("rw", "/p", "/p"))
    protection = Protection(table, host, findings, "/home/u")
    request = SandboxRequest(AGENT, (), "/p", "/home/u", environment, ControlPaths("/t", ("/d",), own))
    made = State(Planning(request, table, host, findings, protection))
    made.add()
    made.protect()
    assert all(missing == Missing(missing.path, private=True) for missing in findings.missing.values())
    return {mount.destination: (mount.access, mount.source) for mount in table.mounts[1:]}, list(findings.missing)


def test_a_first_start_of_the_agent_needs_no_earlier_one() -> None:
    mounts, missing = state({})
    assert mounts == {HOME: ("tmpfs", None)}
    assert missing == [HOME, f"{HOME}/projects", f"{HOME}/sessions", f"{HOME}/projects/-p"]


def test_the_agents_folder() -> None:
    mounts, missing = state({f"{HOME}/projects/-p/": "", f"{HOME}/sessions/": "", f"{HOME}/notes": ""})
    assert mounts == {
        HOME: ("tmpfs", None),
        f"{HOME}/projects": ("ro", f"{HOME}/projects"),
        f"{HOME}/projects/-p": ("rw", f"{HOME}/projects/-p"),
        f"{HOME}/sessions": ("rw", f"{HOME}/sessions"),
        f"{HOME}/notes": ("ro", f"{HOME}/notes"),
    }
    assert missing == []


def test_with_descriptors_of_its_own_the_shared_folder_is_neither_needed_nor_seen() -> None:
    mounts, missing = state({f"{HOME}/projects/-p/": "", f"{HOME}/sessions": Link("/p")}, own="/d/1/sessions")
    assert mounts[f"{HOME}/sessions"] == ("rw", "/d/1/sessions")
    assert missing == []


def test_the_variable_names_the_folder() -> None:
    mounts, _ = state({"/else/projects/": ""}, SWITCHBOARD_AGENT_HOME="/else")
    assert mounts["/else/projects"] == ("ro", "/else/projects")


@pytest.mark.parametrize(
    ("entries", "why"),
    [
        ({HOME: "a file"}, "is not a directory"),
        (
            {HOME: Link("/p/l"), "/p/l": Link("x"), "/p/x/": ""},
            "is a symbolic link in a directory the sandbox can write",
        ),
    ],
)
def test_a_folder_that_cannot_be_used(entries: dict[str, Entry], why: str) -> None:
    with pytest.raises(Refusal, match=why):
        state(entries)


def test_linked_projects_are_read_where_they_are() -> None:
    mounts, _ = state({f"{HOME}/projects": Link("/data/projects"), "/data/projects/-p/": "", f"{HOME}/sessions/": ""})
    assert mounts[f"{HOME}/projects"] == ("ro", "/data/projects")
    assert mounts[f"{HOME}/projects/-p"] == ("rw", "/data/projects/-p")


def test_linked_state_whose_target_the_sandbox_could_swap() -> None:
    entries: dict[str, Entry] = {f"{HOME}/sessions": Link("/p/l"), "/p/l": Link("real"), "/p/real/": ""}
    with pytest.raises(Refusal, match="/p/l is a symbolic link in a directory the sandbox can write"):
        state(entries)


@pytest.mark.parametrize(
    ("cwd", "name"),
    [
        ("/p", "-p"),
        ("/home/u/my.project_1", "-home-u-my-project-1"),
        ("/ü/😀", "-----"),
        ("/" + "a" * 199, "-" + "a" * 199),
    ],
)
def test_derived_names(cwd: str, name: str) -> None:
    assert derived_name(cwd) == name


def test_a_name_that_only_the_cli_knows() -> None:
    with pytest.raises(Refusal, match=r"more than 200 characters, .* set SWITCHBOARD_SANDBOX_PROJECT_FOLDER"):
        derived_name("/" + "a" * 200)
