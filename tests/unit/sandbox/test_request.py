"""From the environment to a request: what a host names, and what is found without one."""

from __future__ import annotations

import pytest

from switchboard.sandbox.control_paths import ControlPaths
from switchboard.sandbox.mounts import Refusal
from switchboard.sandbox.policy import CLAUDE, PythonPlace, SandboxRequest, cli_folder, settings_file
from switchboard.sandbox.request import inner_environment, request_from

PYTHON = PythonPlace("/usr/bin/python3", "/usr", "/usr", "/usr/lib/switchboard")

NAMED = {
    "SWITCHBOARD_SANDBOX_TRIGGERS_DIR": "/t",
    "SWITCHBOARD_SANDBOX_DATA_DIR": "/d",
    "SWITCHBOARD_SANDBOX_RUNTIME_DIR": "/r",
    "SWITCHBOARD_SANDBOX_SESSIONS_DIR": "/d/s",
}


def asked(**environment: str) -> SandboxRequest:
    given = {"HOME": "/home/u", **environment}
    return request_from(given, CLAUDE, ["-x"], cwd="/p", user=7, temporary="/tmp", python=PYTHON)


def test_what_a_host_names() -> None:
    request = asked(**NAMED, SWITCHBOARD_TRIGGERS_DIR="/other", SWITCHBOARD_DATA_DIR="/other")
    assert request.control == ControlPaths("/t", ("/d", "/r"), "/d/s")


def test_by_hand_the_same_places_as_a_hosts() -> None:
    assert asked().control == ControlPaths(
        "/home/u/.switchboard/triggers", ("/home/u/.switchboard", "/home/u/.switchboard/run"), None
    )
    request = asked(SWITCHBOARD_TRIGGERS_DIR="/t", SWITCHBOARD_DATA_DIR="/d")
    assert request.control == ControlPaths("/t", ("/d", "/d/run"), None)


def test_a_deep_data_directory_has_its_sockets_elsewhere() -> None:
    hidden = asked(SWITCHBOARD_DATA_DIR="/d" * 60).control.hidden
    assert hidden[1].startswith("/tmp/switchboard-7/")


@pytest.mark.parametrize("name", ["SWITCHBOARD_TRIGGERS_DIR", "SWITCHBOARD_DATA_DIR", *NAMED])
def test_relative_control_directories_are_refused(name: str) -> None:
    """To what they are relative is known to the host alone."""
    with pytest.raises(Refusal, match=f"{name}: the control directory 'here/x' "):
        asked(**({**NAMED, name: "here/x"} if name in NAMED else {name: "here/x"}))


def test_a_descriptor_folder_lies_in_the_data_directory() -> None:
    with pytest.raises(Refusal, match=r"SESSIONS_DIR: /d/\.\./s is not below the data directory /d"):
        asked(**{**NAMED, "SWITCHBOARD_SANDBOX_SESSIONS_DIR": "/d/../s"})


@pytest.mark.parametrize("home", ["", "relative"])
def test_home_has_to_be_known(home: str) -> None:
    with pytest.raises(Refusal, match="HOME is not set to an absolute path"):
        asked(HOME=home)


def test_the_rest() -> None:
    request = asked(
        SWITCHBOARD_SANDBOX_BINDS="/a::/b c",
        SWITCHBOARD_SANDBOX_PROJECT_FOLDER="-p",
        SWITCHBOARD_SANDBOX_PODMAN="1",
    )
    assert (request.binds, request.project_folder, request.podman) == (("/a", "/b c"), "-p", True)
    assert (request.arguments, request.cwd, request.home, request.user) == (("-x",), "/p", "/home/u", 7)
    plain = asked(SWITCHBOARD_SANDBOX_PROJECT_FOLDER="", SWITCHBOARD_SANDBOX_PODMAN="yes")
    assert (plain.binds, plain.project_folder, plain.podman) == ((), None, False)


def test_nothing_internal_is_passed_on() -> None:
    given = {**NAMED, "SWITCHBOARD_SANDBOX_LATER": "x", "SWITCHBOARD_TRIGGERS_DIR": "/t", "A": "b"}
    assert inner_environment(given) == {"SWITCHBOARD_TRIGGERS_DIR": "/t", "A": "b"}


@pytest.mark.parametrize(
    ("environment", "folder", "settings"),
    [
        ({}, "/home/u/.claude", "/home/u/.claude.json"),
        ({"CLAUDE_CONFIG_DIR": "/c/"}, "/c", "/c/.claude.json"),
        ({"CLAUDE_CONFIG_DIR": "here"}, "/p/here", "/p/here/.claude.json"),
        ({"HOME": "/home/u/"}, "/home/u/.claude", "/home/u/.claude.json"),
    ],
)
def test_the_clis_folder(environment: dict[str, str], folder: str, settings: str) -> None:
    request = asked(**environment)
    assert cli_folder(CLAUDE, request) == folder
    assert settings_file(CLAUDE, request) == settings
