"""Which programs are run outside of a sandbox, and which are shown in it."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.support.described_host import Described, Entry, Link

from switchboard.sandbox.control_paths import ControlPaths
from switchboard.sandbox.mounts import Refusal
from switchboard.sandbox.outside import find_inside, find_outside
from switchboard.sandbox.policy import CLAUDE, SandboxRequest

REQUEST = SandboxRequest(CLAUDE, (), "/p", "/home/u", {}, ControlPaths("/t", ("/d",)), binds=("/b", "relative"))

HOST: dict[str, Entry] = {
    "/p/bin/git": "",
    "/p/relative/git": "",
    "/b/bin/git": "",
    "/home/u/.local/share/claude/git": "",
    "/home/u/.claude/git": "",
    "/home/u/bin/git": "",
    "/home/u/links/git": Link("/p/bin/git"),
    "/home/u/detour": Link("/p/way"),
    "/p/way": Link("/usr/bin"),
    "/other": Link("/p"),
    "/usr/bin/git": "",
}


def found(path: str) -> str | None:
    files = Described(HOST, programs=frozenset(name for name in HOST if name.endswith("/git")))
    return find_outside("git", replace(REQUEST, environment={"PATH": path}), files)


@pytest.mark.parametrize(
    "folder",
    [
        pytest.param("/p/bin", id="the working directory"),
        pytest.param("/b/bin", id="a further directory"),
        pytest.param("/p/relative", id="a further directory, relative"),
        pytest.param("/other/bin", id="by another name"),
        pytest.param("/home/u/links", id="a link into it"),
        pytest.param("/home/u/detour", id="a link through it"),
        pytest.param("/home/u/.local/share/claude", id="a CLI's state"),
        pytest.param("/home/u/.claude", id="a CLI's folder"),
        pytest.param("bin", id="relative"),
        pytest.param("", id="empty"),
    ],
)
def test_what_a_session_can_write_is_passed_over(folder: str) -> None:
    assert found(f"{folder}:/usr/bin") == "/usr/bin/git"


def test_nothing_but_such() -> None:
    with pytest.raises(Refusal, match="git was found nowhere in PATH but at /b/bin/git, where sessions can write"):
        found("/b/bin:/p/bin:/nowhere")


def test_none_at_all() -> None:
    assert found("/nowhere") is None


def test_the_persons_own_place() -> None:
    assert found("/p/bin:/home/u/bin:/usr/bin") == "/home/u/bin/git"


def test_inside_a_program_may_lead_to_a_clis_own_state() -> None:
    """Claude Code installs itself there; what matters is who says where its place is."""
    host: dict[str, Entry] = {**HOST, "/home/u/bin/claude": Link("/home/u/.local/share/claude/1"), "/p/bin/claude": ""}
    host["/home/u/.local/share/claude/1"] = ""
    files = Described(
        host, programs=frozenset({"/home/u/.local/share/claude/1", "/home/u/bin/claude", "/p/bin/claude"})
    )
    request = replace(REQUEST, environment={"PATH": "/p/bin:/home/u/bin"})
    assert find_inside("claude", request, files) == "/home/u/bin/claude"
    assert find_inside("claude", replace(request, environment={"PATH": "/p/bin"}), files) is None
