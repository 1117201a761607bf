"""The protection of the control directories, under attack from inside real sandboxes.

Layouts by chance that the plan admits and that would be harmed without it, made on the disk and started with
bubblewrap; and some that people have. In each, a program tries everything it can (tests/support/sandbox_attack.py).
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random

import pytest
from tests.support.sandbox_judge import judge
from tests.support.sandbox_layouts import Layout, layout
from tests.support.sandbox_scene import on_disk

from switchboard.sandbox.control import ControlPaths
from switchboard.sandbox.mounts import Mount

ROOT = Path(__file__).parents[2]
USERS = ["self", "nobody"] if os.geteuid() == 0 else ["self"]
LAYOUTS = 20
REMOUNTED = 8


def admitted(count: int, *, remounts: bool) -> list[int]:
    """The first seeds whose layouts are admitted and would be harmed without protection."""
    found: list[int] = []
    seed = 100_000
    while len(found) < count:
        made = layout(Random(seed), "/h", remounts=remounts)
        if bool(made.remounts) == remounts and not made.disks and judge(made) == "protected":
            found.append(seed)
        seed += 1
    return found


@pytest.fixture
def base() -> Iterator[str]:
    """A directory that another user may enter; the tests' own folder is private."""
    path = os.path.realpath(tempfile.mkdtemp(prefix="sandbox "))
    os.chmod(path, 0o755)
    yield f"{path}/base"
    shutil.rmtree(path)


SEEDS = admitted(LAYOUTS, remounts=False)


@pytest.mark.parametrize("user", USERS)
@pytest.mark.parametrize("seed", SEEDS)
def test_a_layout_by_chance(seed: int, user: str, base: str) -> None:
    with on_disk(layout(Random(seed), base, remounts=False), user) as scene:
        scene.withstands(scene.protection())


@pytest.mark.parametrize("seed", SEEDS)
def test_the_same_attack_does_harm_without_protection(seed: int, base: str) -> None:
    with on_disk(layout(Random(seed), base, remounts=False), "self") as scene:
        before, unseen = scene.snapshot(), scene.unseen()
        outcome = scene.run("attack", [])
        assert scene.snapshot() != before or scene.was_reached() or outcome.seen & unseen


def test_layouts_with_directories_that_are_mounted_twice_on_the_host(base: str) -> None:
    os.makedirs(base)
    seeds = [str(seed) for seed in admitted(REMOUNTED, remounts=True)]
    program = [sys.executable, "-m", "tests.support.sandbox_scene", base, *seeds]
    apart = ["unshare", "--user", "--map-root-user", "--mount"]
    ended = subprocess.run([*apart, *program], cwd=ROOT, capture_output=True, text=True, check=False, timeout=100)
    assert ended.stdout.split() == seeds, ended.stderr
    assert ended.returncode == 0, ended.stderr


# --- layouts that people have ---------------------------------------------------------------------------------------


def in_the_project(base: str) -> Layout:
    """Everything in the project, the data directory with the triggers in it, as by default in a home directory."""
    data = f"{base}/my project/.switchboard"
    folders = [f"{data}/triggers/processed", f"{data}/run", f"{data}/sandboxes/1/sessions", f"{base}/my project/src"]
    mounts = [
        Mount("rw", f"{base}/my project", f"{base}/my project"),
        Mount("rw", f"{base}/home/.claude/sessions", f"{data}/sandboxes/1/sessions"),
    ]
    control = ControlPaths(f"{data}/triggers", (data, f"{data}/run"), f"{data}/sandboxes/1/sessions")
    return Layout(base, folders, [f"{data}/triggers/a.json", f"{data}/switchboard.db"], mounts=mounts, control=control)


def results_elsewhere(base: str) -> Layout:
    """`processed` is a link to a directory of an extra bind, which is bound below the project a second time."""
    folders = [f"{base}/srv/control/triggers", f"{base}/extra/deep/results", f"{base}/data", f"{base}/srv/extra"]
    mounts = [
        Mount("rw", f"{base}/srv", f"{base}/srv"),
        Mount("rw", f"{base}/extra", f"{base}/extra"),
        Mount("rw", f"{base}/srv/extra", f"{base}/extra/deep"),
    ]
    return Layout(
        base,
        folders,
        [f"{base}/extra/deep/results/a.result.json", f"{base}/srv/control/triggers/a.json"],
        {f"{base}/srv/control/triggers/processed": f"{base}/extra/deep/results"},
        mounts=mounts,
        control=ControlPaths(f"{base}/srv/control/triggers", (f"{base}/data",)),
    )


def linked_root(base: str) -> Layout:
    """The bound directory is reached by a link that the sandbox cannot change, and by its own path as well."""
    folders = [f"{base}/disk/project/a/triggers/processed", f"{base}/disk/project/data"]
    mounts = [
        Mount("rw", f"{base}/alias", f"{base}/alias"),
        Mount("rw", f"{base}/disk/project", f"{base}/disk/project"),
        Mount("ro", f"{base}/look", f"{base}/disk"),
    ]
    return Layout(
        base,
        folders,
        [f"{base}/disk/project/a/triggers/processed/a.result.json"],
        {f"{base}/alias": f"{base}/disk/project"},
        mounts=mounts,
        control=ControlPaths(f"{base}/alias/a/triggers", (f"{base}/disk/project/data",)),
    )


@pytest.mark.parametrize("user", USERS)
@pytest.mark.parametrize("people", [in_the_project, results_elsewhere, linked_root])
def test_a_layout_that_people_have(people: Callable[[str], Layout], user: str, base: str) -> None:
    made = people(base)
    with on_disk(made, user) as scene:
        scene.withstands(scene.protection())
        # The host goes on as if nothing had been.
        for folder in (made.control.triggers, f"{made.control.triggers}/processed"):
            Path(f"{folder}/published.json.new").write_text("{}")
            os.rename(f"{folder}/published.json.new", f"{folder}/published.json")
            assert Path(f"{folder}/published.json").read_text() == "{}"


def test_what_succeeds_in_a_project_that_holds_everything(base: str) -> None:
    """Nothing in the triggers but looking at them, nothing at all in the data directory, and anything in the source."""
    made = in_the_project(base)
    with on_disk(made, "self") as scene:
        succeeded = scene.withstands(scene.protection())
    in_source = {what for what, path in succeeded if path.endswith("/src")}
    assert {"created", "renamed in", "linked in", "through a link", "renamed", "filled"} <= in_source
    triggers = [what for what, path in succeeded if "/.switchboard/triggers" in path]
    assert triggers == []
