"""Whether sessions can be sandboxed here: what is tried, and what is said of each way in which it fails."""

from __future__ import annotations

from pathlib import Path

import pytest

from switchboard.cli import sandbox_check
from switchboard.cli.finding import Finding
from switchboard.cli.sandbox_check import sandbox_findings


class Machine:
    """A PATH with at most one program in it, and the kernel's settings."""

    def __init__(self, root: Path) -> None:
        self.bin = root / "bin"
        self.sysctls = root / "sys"
        self.bin.mkdir()

    def bwrap(self, body: str) -> Path:
        path = self.bin / "bwrap"
        path.write_text(f"#!/bin/sh\n{body}\n")
        path.chmod(0o755)
        return path

    def set(self, name: str, value: str) -> None:
        path = self.sysctls / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(value)

    def found(self) -> Finding:
        (finding,) = sandbox_findings({"PATH": str(self.bin), "A": "b"}, str(self.sysctls))
        return finding


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


def test_none_is_there(machine: Machine) -> None:
    text = "bubblewrap was not found: sessions cannot be sandboxed"
    assert machine.found() == Finding("note", text, "apt-get install bubblewrap")


def test_one_is_made_around_nothing(machine: Machine, tmp_path: Path) -> None:
    program = machine.bwrap(f'echo "$@" > {tmp_path}/asked; echo "$A" >> {tmp_path}/asked')
    assert machine.found() == Finding("ok", f"Sandboxes: {program} makes them")
    asked = "--unshare-all --die-with-parent --ro-bind / / --dev /dev --proc /proc -- /bin/true"
    assert (tmp_path / "asked").read_text() == f"{asked}\nb\n"


@pytest.mark.parametrize(("value", "notes"), [("1\n", 1), ("0\n", 0), (None, 0)])
def test_a_kernel_that_lets_programs_type_into_their_terminal(machine: Machine, value: str | None, notes: int) -> None:
    machine.bwrap("exit 0")
    if value is not None:
        machine.set("dev/tty/legacy_tiocsti", value)
    (first, *others) = sandbox_findings({"PATH": str(machine.bin)}, str(machine.sysctls))
    assert first.level == "ok"
    assert len(others) == notes
    for note in others:
        assert (note.level, "dev.tty.legacy_tiocsti" in note.text) == ("note", True)
        assert "sysctl -w dev.tty.legacy_tiocsti=0" in (note.remedy or "")


NO = "echo 'bwrap: No permissions to create new namespace' >&2; exit 1"


@pytest.mark.parametrize(
    ("settings", "remedies"),
    [
        ({}, ["in a container"]),
        ({"kernel/unprivileged_userns_clone": "0\n"}, ["kernel.unprivileged_userns_clone=1"]),
        ({"kernel/unprivileged_userns_clone": "1\n"}, ["in a container"]),
        ({"kernel/apparmor_restrict_unprivileged_userns": "1\n"}, ["AppArmor forbids it"]),
        ({"kernel/apparmor_restrict_unprivileged_userns": "0\n"}, ["in a container"]),
        ({"user/max_user_namespaces": "0\n"}, ["user.max_user_namespaces="]),
        ({"user/max_user_namespaces": "96365\n", "kernel/unprivileged_userns_clone": "?"}, ["in a container"]),
        (
            {"kernel/unprivileged_userns_clone": "0\n", "kernel/apparmor_restrict_unprivileged_userns": "1\n"},
            ["kernel.unprivileged_userns_clone=1", "; AppArmor forbids it"],
        ),
    ],
)
def test_the_kernel_says_what_forbids_it(machine: Machine, settings: dict[str, str], remedies: list[str]) -> None:
    program = machine.bwrap(NO)
    for name, value in settings.items():
        machine.set(name, value)
    found = machine.found()
    assert (found.level, found.text) == (
        "note",
        f"Sandboxes: {program} cannot make one: No permissions to create new namespace",
    )
    assert found.remedy is not None
    assert all(remedy in found.remedy for remedy in remedies), found.remedy


@pytest.mark.parametrize(
    ("body", "trouble"),
    [
        ("exit 3", "it ends with code 3"),
        ("printf 'one\\nbwrap: Creating new namespace failed\\n' >&2; exit 1", "Creating new namespace failed"),
    ],
)
def test_other_words_of_bubblewrap(machine: Machine, body: str, trouble: str) -> None:
    machine.bwrap(body)
    assert machine.found().text.endswith(f"cannot make one: {trouble}")


def test_a_program_that_never_answers(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sandbox_check, "SECONDS", 0.2)
    machine.bwrap("exec /bin/sleep 60")
    assert machine.found().text.endswith("it does not come back")


def test_a_program_that_does_not_start(machine: Machine) -> None:
    machine.bwrap("").write_bytes(b"\x7fELF")
    assert "it does not start" in machine.found().text
