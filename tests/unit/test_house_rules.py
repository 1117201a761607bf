"""Small rules of the house: no test is skipped, an exclusion has its reason, nothing sleeps, every task has a name."""

from __future__ import annotations

import subprocess
import tomllib
from collections.abc import Callable
from importlib import metadata
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from tests.support import house_rules

ROOT = Path(__file__).parents[2]
THIS = Path(__file__)
SLEEPS = {
    "src/switchboard/agent/terminal.py": "a slow start, when misbehaviour is asked for",
    "src/switchboard/agent/tty.py": "slow reading, when misbehaviour is asked for, in a thread of its own",
    "src/switchboard/cli/triggers.py": "waiting for a file on a system without inotify",
}
"""Modules that may sleep, and for what."""

# The rules' own samples break them.
SAMPLES = {THIS, ROOT / "tests/support/house_rules.py"}


def sources(*folders: str) -> list[Path]:
    return [path for folder in folders for path in sorted((ROOT / folder).rglob("*.py")) if path not in SAMPLES]


def broken(rule: Callable[[str, str], list[str]], *folders: str) -> None:
    found = [
        problem for path in sources(*folders) for problem in rule(str(path.relative_to(ROOT)), path.read_text("utf-8"))
    ]
    if found:
        pytest.fail("\n  ".join([f"{len(found)} breach(es) of the house rules:", *found]), pytrace=False)


def test_every_exclusion_says_why() -> None:
    broken(house_rules.unexplained_exclusions, "src", "tests", "benchmarks")


def test_nothing_is_skipped() -> None:
    broken(house_rules.given_up, "src", "tests")


def test_nothing_sleeps() -> None:
    found = [
        (name, problem)
        for path in sources("src", "tests/unit")
        for name in [str(path.relative_to(ROOT))]
        for problem in house_rules.real_sleeps(name, path.read_text("utf-8"))
    ]
    problems = [problem for name, problem in found if name not in SLEEPS]
    assert problems == []
    assert {name for name, _ in found} == set(SLEEPS), "take what no longer sleeps off the list"


def test_every_task_has_a_name() -> None:
    broken(house_rules.unnamed_tasks, "src")


@pytest.mark.parametrize(
    ("rule", "bad", "good"),
    [
        (
            house_rules.unexplained_exclusions,
            "x = 1  # type: ignore",
            "x = 1  # type: ignore[misc]  # the stub is wrong",
        ),
        (house_rules.unexplained_exclusions, "x = 1  # type: ignore[misc]", "x = 1  # a type: ignored"),
        (house_rules.unexplained_exclusions, "x = 1  # noqa: S101, E501", "x = 1  # noqa: S101 -- an invariant"),
        (house_rules.unexplained_exclusions, "x = 1  # noqa", "x = 1"),
        (house_rules.given_up, "pytest.skip('later')", "skip(3)"),
        (house_rules.given_up, "@pytest.mark.xfail", "@pytest.mark.parametrize"),
        (house_rules.given_up, "if x:  # pragma: no cover", "if x:  # covered"),
        (house_rules.real_sleeps, "import time\ntime.sleep(1)", "await_event()"),
        (
            house_rules.real_sleeps,
            "async def f():\n    await asyncio.sleep(0.1)",
            "async def f():\n    await asyncio.sleep(0)",
        ),
        (house_rules.unnamed_tasks, "loop.create_task(f())", "loop.create_task(f(), name='reader')"),
        (house_rules.unnamed_tasks, "asyncio.ensure_future(f())", "group.create_task(f(), **options)"),
    ],
)
def test_the_rules_catch_what_they_are_for(rule: Callable[[str, str], list[str]], bad: str, good: str) -> None:
    assert len(rule("sample", bad)) == 1
    assert rule("sample", good) == []


# --- pinned packages ------------------------------------------------------------------------------------------------


def pins() -> dict[str, Requirement]:
    lines = (ROOT / "tools/constraints.txt").read_text("utf-8").splitlines()
    found = [Requirement(line) for line in lines if line and not line.startswith("#")]
    return {canonical(requirement.name): requirement for requirement in found}


def canonical(name: str) -> str:
    return name.lower().replace("-", "_").replace(".", "_")


def direct() -> list[Requirement]:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    listed = [*settings["project"]["dependencies"], *settings["dependency-groups"]["dev"]]
    return [Requirement(line) for line in listed]


def test_every_installed_package_has_an_exact_version() -> None:
    """What a fresh machine installs tomorrow is what was tested here."""
    exact = {canonical(requirement.name) for requirement in direct() if "==" in str(requirement.specifier)} | set(
        pins()
    )
    waiting = [canonical(requirement.name) for requirement in direct()]
    needed: set[str] = set()
    while waiting:
        name = waiting.pop()
        if name in needed:
            continue
        needed.add(name)
        for line in metadata.requires(name) or []:
            requirement = Requirement(line)
            if requirement.marker is None or requirement.marker.evaluate({"extra": ""}):
                waiting.append(canonical(requirement.name))
    assert sorted(needed - exact) == [], "add them to tools/constraints.txt"


def test_every_folder_of_tests_is_run() -> None:
    """By `make test`, which takes the configured folders; but for the real CLI's, which have targets of their own."""
    configured = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["pytest"]["ini_options"][
        "testpaths"
    ]
    there = {f"tests/{path.relative_to(ROOT / 'tests').parts[0]}" for path in (ROOT / "tests").rglob("test_*.py")}
    assert there == {*configured, "tests/real_cli"}


def test_no_package_is_pinned_twice() -> None:
    exact = {canonical(requirement.name) for requirement in direct() if "==" in str(requirement.specifier)}
    assert sorted(exact & set(pins())) == []


# --- scripts --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("script", [".ci/run", "tools/setup.sh", "tools/system-packages.sh"])
def test_scripts_are_executable_and_parse(script: str) -> None:
    path = ROOT / script
    assert path.stat().st_mode & 0o111 == 0o111
    subprocess.run(["bash", "-n", str(path)], check=True)
