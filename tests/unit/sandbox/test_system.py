"""The machine inside: name resolution, directories beside `/usr`, and Podman's socket."""

from __future__ import annotations

import pytest
from tests.support.described_host import Described, Entry, Link, Socket

from switchboard.sandbox.control_paths import ControlPaths
from switchboard.sandbox.policy import CLAUDE, SandboxRequest
from switchboard.sandbox.system import add_system, find_program
from switchboard.sandbox.table import Table

NO_CONTROL = ControlPaths("/t", ("/d",))


def request(**fields: object) -> SandboxRequest:
    given: dict[str, object] = {"environment": {"PATH": "/usr/bin"}, "user": 7, **fields}
    return SandboxRequest(CLAUDE, (), "/p", "/home/u", control=NO_CONTROL, **given)  # type: ignore[arg-type]  # by name


def mounts(entries: dict[str, Entry], programs: frozenset[str] = frozenset(), **fields: object) -> set[tuple[str, ...]]:
    table = Table()
    add_system(table, Described(entries, programs=programs), request(**fields))
    return {(mount.access, mount.destination, mount.source or "") for mount in table.mounts}


ALWAYS = {
    *(("dev", "/dev", ""), ("proc", "/proc", ""), ("tmpfs", "/tmp", ""), ("dir", "/var", "")),
    *(("ro", "/usr", "/usr"), ("ro", "/etc", "/etc")),
}

CASES: list[tuple[str, dict[str, Entry], set[tuple[str, ...]]]] = [
    ("a plain file", {"/etc/resolv.conf": ""}, set()),
    ("nothing", {}, set()),
    (
        "a service's file in /run: its directory",
        {
            "/etc/resolv.conf": Link("../run/systemd/resolve/stub-resolv.conf"),
            "/run/systemd/resolve/stub-resolv.conf": "",
        },
        {("ro", "/run/systemd/resolve", "/run/systemd/resolve")},
    ),
    (
        "right in /run: the file alone",
        {"/etc/resolv.conf": Link("/run/resolv.conf"), "/run/resolv.conf": ""},
        {("ro", "/run/resolv.conf", "/run/resolv.conf")},
    ),
    (
        "elsewhere: the file",
        {"/etc/hosts": Link("/opt/net/hosts"), "/opt/net/hosts": ""},
        {("ro", "/opt/net/hosts", "/opt/net/hosts")},
    ),
    (
        "over another link: under both names",
        {"/etc/hosts": Link("/var/run/hosts"), "/var/run": Link("/run/x"), "/run/x/hosts": ""},
        {("ro", "/run/x", "/run/x"), ("ro", "/var/run/hosts", "/run/x/hosts")},
    ),
    ("within /etc or /usr", {"/etc/gai.conf": Link("/usr/share/gai.conf"), "/usr/share/gai.conf": ""}, set()),
    ("to nowhere", {"/etc/hosts": Link("/nowhere")}, set()),
    ("in a loop", {"/etc/hosts": Link("hosts")}, set()),
    ("to a directory", {"/etc/hosts": Link("/opt"), "/opt/": ""}, set()),
]


@pytest.mark.parametrize(("entries", "more"), [case[1:] for case in CASES], ids=[case[0] for case in CASES])
def test_name_resolution(entries: dict[str, Entry], more: set[tuple[str, ...]]) -> None:
    assert mounts(entries) == ALWAYS | more


def test_directories_beside_usr_are_what_they_are_on_the_host() -> None:
    found = mounts({"/bin": Link("usr/bin"), "/lib64/": "", "/sbin": Link("/usr/sbin")}) - ALWAYS
    assert found == {("symlink", "/bin", "usr/bin"), ("ro", "/lib64", "/lib64"), ("symlink", "/sbin", "/usr/sbin")}


SOCKET = {"/run/user/7/podman/podman.sock": Socket(), "/x/podman/podman.sock": Socket()}


@pytest.mark.parametrize(
    ("entries", "fields", "shown"),
    [
        (SOCKET, {"podman": True}, "/run/user/7/podman"),
        (SOCKET, {"podman": True, "environment": {"PATH": "/usr/bin", "XDG_RUNTIME_DIR": "/x"}}, "/x/podman"),
        (SOCKET, {"podman": False}, None),
        (SOCKET, {"podman": True, "environment": {"PATH": "/bin"}}, None),
        ({"/run/user/7/podman/podman.sock": "a file"}, {"podman": True}, None),
        ({}, {"podman": True}, None),
    ],
    ids=["asked for", "runtime folder", "not asked for", "no podman", "no socket", "nothing"],
)
def test_podman(entries: dict[str, Entry], fields: dict[str, object], shown: str | None) -> None:
    found = mounts(entries, frozenset({"/usr/bin/podman"}), **fields) - ALWAYS
    assert found == ({("ro", shown, shown)} if shown else set())


def test_programs_are_found_in_order_and_only_under_absolute_directories() -> None:
    host = Described({}, programs={"/b/x", "/c/x", "/p/x", "/x"})
    assert find_program("x", {"PATH": ".:/a:/b:/c"}, host) == "/b/x"
    assert find_program("x", {"PATH": ":p"}, host) is None
    assert find_program("x", {}, host) is None
