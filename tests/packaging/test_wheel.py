"""What ships works: the wheel, alone with the packages its metadata names, in an environment that has nothing else."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tomllib
import zipfile
from email.message import Message
from email.parser import Parser
from html.parser import HTMLParser
from importlib import metadata
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from tests.support import leaks

from switchboard.page.security import ASSET
from switchboard.page.web_files import TYPES

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]

IMPORT_EVERYTHING = """
import importlib, pkgutil, switchboard
for module in pkgutil.walk_packages(switchboard.__path__, "switchboard."):
    if not module.name.endswith("__main__"):
        importlib.import_module(module.name)
        print(module.name)
"""
"""A package that is only needed on another system has to be imported late."""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Built from a copy of the tree, so that nothing is written beside the sources."""
    run([sys.executable, str(ROOT / "tools/page.py"), "build"])
    source = tmp_path_factory.mktemp("source")
    for name in ("src", "web", "hatch_build.py", "README.md", "LICENSE", "pyproject.toml"):
        item = ROOT / name
        if item.is_dir():
            # The page is built already, and its stamp says from what; so the packages that build it are not needed.
            shutil.copytree(item, source / name, ignore=shutil.ignore_patterns("__pycache__", "node_modules"))
        else:
            shutil.copy(item, source / name)
    out = tmp_path_factory.mktemp("dist")
    # Without isolation: the build back end is among the development packages, so no network is needed.
    run([sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(out), str(source)])
    [built] = out.glob("*.whl")
    return built


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The `bin` folder of a fresh environment with the wheel and exactly what its metadata asks for.

    The required packages are copied from this environment: the same files that an index would bring, without one.
    """
    folder = tmp_path_factory.mktemp("environment") / "venv"
    run([sys.executable, "-m", "venv", "--without-pip", str(folder)])
    pip = [sys.executable, "-m", "pip", "--python", str(folder), "--disable-pip-version-check", "--quiet"]
    run([*pip, "install", "--no-index", "--no-deps", str(wheel)])
    [packages] = folder.glob("lib/python*/site-packages")
    for name in required([str(line) for line in headers(wheel).get_all("Requires-Dist", [])]):
        copy_distribution(name, packages)
    return folder / "bin"


def run(command: list[str], **options: object) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL, **options)  # type: ignore[call-overload]  # options pass through
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    return str(done.stdout)


def run_bare(command: list[str], home: Path) -> str:
    """Run with the three variables that a login shell is sure to have, away from the sources."""
    few = {"PATH": "/usr/bin:/bin", "HOME": str(home), "TERM": "xterm-256color"}
    # The mark lets the check after the test find processes that were left behind.
    return run(command, cwd=home, env={**few, leaks.MARK: os.environ[leaks.MARK]})


def headers(wheel: Path) -> Message:
    with zipfile.ZipFile(wheel) as archive:
        [name] = [name for name in archive.namelist() if name.endswith(".dist-info/METADATA")]
        return Parser().parsestr(archive.read(name).decode())


def required(requirements: list[str]) -> set[str]:
    """The names of all packages that the requirements lead to on this machine."""
    found: set[str] = set()
    waiting = [Requirement(line) for line in requirements]
    while waiting:
        requirement = waiting.pop()
        if requirement.name in found or (requirement.marker and not requirement.marker.evaluate({"extra": ""})):
            continue
        found.add(requirement.name)
        waiting += [Requirement(line) for line in metadata.requires(requirement.name) or []]
    return found


def copy_distribution(name: str, packages: Path) -> None:
    for file in metadata.files(name) or []:
        if ".." in file.parts or "__pycache__" in file.parts:
            continue  # scripts, and what Python makes again
        target = packages / file
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(Path(str(file.locate())), target)


def test_the_wheel_holds_every_source_file_and_nothing_else(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        shipped = {name for name in archive.namelist() if ".dist-info/" not in name}
    sources = {
        str(path.relative_to(ROOT / "src"))
        for path in (ROOT / "src").rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert shipped == sources
    assert "switchboard/py.typed" in shipped


STATIC = "switchboard/page/static"


class Urls(HTMLParser):
    """Everything that a document loads or leads to."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []
        self.inline_scripts = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        self.found += [value for name in ("src", "href", "data", "action", "poster") if (value := given.get(name))]
        if tag == "script" and not given.get("src"):
            self.inline_scripts += 1


def test_the_wheel_holds_the_page_and_every_file_that_it_names(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        shipped = set(archive.namelist())
        index = Urls()
        index.feed(archive.read(f"{STATIC}/index.html").decode())
        assert any(url.endswith(".js") for url in index.found)
        assert any(url.endswith(".css") for url in index.found)
        assert index.inline_scripts == 0, "the security policy does not run them"
        for url in index.found:
            assert ASSET.fullmatch(url), f"{url} is not served"
            assert f"{STATIC}{url}" in shipped, f"{url} is not in the wheel"
        for name in sorted(shipped):
            if name.startswith(f"{STATIC}/"):
                check_file(name, archive.read(name))


def check_file(name: str, content: bytes) -> None:
    """A file of the page is served under its name, and loads nothing from anywhere else."""
    path = name.removeprefix(STATIC)
    assert path == "/index.html" or ASSET.fullmatch(path), f"{path} is not served"
    assert path.rpartition(".")[2] in TYPES
    if name.endswith(".css"):
        outside = re.findall(rb"url\(\s*['\"]?(?:https?:)?//|@import", content)
        assert outside == []
    assert not re.search(rb"sourceMappingURL=(?!data:)", content), "no map is shipped"


def test_the_metadata_says_what_it_is(wheel: Path) -> None:
    fields = headers(wheel)
    assert fields["Name"] == "switchboard"
    assert fields["Version"] == PROJECT["version"]
    assert fields["Requires-Python"] == ">=3.11"
    assert fields["License-Expression"] == "MIT"
    assert fields["License-File"] == "LICENSE"
    assert "make demo" in fields.get_payload()


def test_the_command_says_its_version(installed: Path, tmp_path: Path) -> None:
    assert run_bare([str(installed / "switchboard"), "--version"], tmp_path).split()[-1] == PROJECT["version"]


def test_the_main_job_is_done_in_an_empty_environment(installed: Path, tmp_path: Path) -> None:
    """Host, keeper, agent, triggers and adoption from the wheel alone."""
    told = run_bare([str(installed / "switchboard"), "demo"], tmp_path)
    assert told.count('"submitted": "confirmed"') >= 2
    assert '"error": "not sent"' in told
    assert list(tmp_path.iterdir()) == [], "the demo leaves nothing behind"


def test_every_module_imports_with_the_declared_packages_alone(installed: Path, tmp_path: Path) -> None:
    imported = run_bare([str(installed / "python"), "-c", IMPORT_EVERYTHING], tmp_path).split()
    assert "switchboard.common.clock" in imported
    assert list(tmp_path.iterdir()) == [], "importing a module writes no file"
