"""The build hook: it builds the page once for each state of its sources, and fails when there is no page."""

from __future__ import annotations

import importlib.util
import os
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]

INDEX = '<script type="module" src="/assets/a.js"></script><link rel="stylesheet" href="/assets/a.css">'


@pytest.fixture(scope="module")
def hook() -> ModuleType:
    spec = importlib.util.spec_from_file_location("hatch_build", ROOT / "hatch_build.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class Tree:
    """A tree with sources, and a builder that makes `made`."""

    def __init__(self, root: Path, hook: ModuleType) -> None:
        self.root = root
        self.hook = hook
        self.made = {"index.html": INDEX, "assets/a.js": "", "assets/a.css": ""}
        self.ran: list[str] = []
        self.environments: list[Mapping[str, str]] = []
        self.seen: dict[str, str] = {}
        (root / "web/src").mkdir(parents=True)
        (root / "web/package-lock.json").write_text("{}", "utf-8")
        (root / "web/src/main.ts").write_text("1", "utf-8")

    def run(self, command: list[str], folder: Path, environment: Mapping[str, str]) -> None:
        assert folder == self.root / "web"
        self.ran.append(" ".join(command[:2]))
        self.environments.append(environment)
        if command[0] == "node":
            shutil.rmtree(self.root / self.hook.BUILT, ignore_errors=True)
            self.seen = self.page()
            for name, text in self.made.items():
                path = self.root / self.hook.BUILT / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text, "utf-8")

    def page(self) -> dict[str, str]:
        """The page in the package."""
        static = self.root / self.hook.STATIC
        files = [path for path in static.rglob("*") if path.is_file()]
        return {path.relative_to(static).as_posix(): path.read_text("utf-8") for path in files}

    def build(self) -> list[str]:
        self.ran.clear()
        self.hook.build_page(self.root, self.run)
        return self.ran


@pytest.fixture
def tree(tmp_path: Path, hook: ModuleType) -> Tree:
    return Tree(tmp_path, hook)


BOTH = ["npm ci", "node node_modules/vite/bin/vite.js"]


def test_the_page_is_built_once(tree: Tree) -> None:
    assert tree.build() == BOTH
    assert tree.build() == []


def test_system_certificates_are_trusted_when_packages_are_fetched(tree: Tree) -> None:
    tree.build()
    assert tree.environments[0]["NODE_OPTIONS"].endswith("--use-system-ca")


def test_a_changed_source_is_built_with_the_packages_that_are_there(tree: Tree) -> None:
    tree.build()
    (tree.root / "web/src/main.ts").write_text("2", "utf-8")
    assert tree.build() == BOTH[1:]
    (tree.root / "web/src/more.ts").write_text("", "utf-8")
    assert tree.build() == BOTH[1:]


def test_a_changed_lock_fetches_packages(tree: Tree) -> None:
    tree.build()
    (tree.root / "web/package-lock.json").write_text("{ }", "utf-8")
    assert tree.build() == BOTH


@pytest.mark.parametrize("name", ["index.html", "assets/a.js", "assets/a.css"])
def test_a_page_that_lost_a_file_is_built_again(tree: Tree, name: str) -> None:
    tree.build()
    (tree.root / tree.hook.STATIC / name).unlink()
    assert tree.build() == BOTH[1:]


@pytest.mark.parametrize(
    "made",
    [{}, {"index.html": ""}, {"index.html": INDEX}, {"index.html": INDEX, "assets/a.js": ""}],
    ids=["nothing", "an empty page", "a page alone", "a page without its style"],
)
def test_a_build_without_a_whole_page_fails_and_is_not_remembered(tree: Tree, made: dict[str, str]) -> None:
    tree.made = made
    with pytest.raises(RuntimeError, match="the browser page was not built"):
        tree.build()
    with pytest.raises(RuntimeError):
        tree.build()


NEXT = {"index.html": INDEX.replace("a.", "b."), "assets/b.js": "2", "assets/b.css": "2"}


def test_while_the_next_page_is_built_the_one_before_is_whole(tree: Tree) -> None:
    tree.build()
    first, tree.made = tree.made, NEXT
    (tree.root / "web/src/main.ts").write_text("2", "utf-8")
    tree.build()
    assert tree.seen == first
    assert tree.page() == NEXT, "and nothing of the one before is left"


def test_a_failed_build_leaves_the_page_before(tree: Tree) -> None:
    tree.build()
    first, tree.made = tree.made, {"index.html": INDEX}
    (tree.root / "web/src/main.ts").write_text("2", "utf-8")
    with pytest.raises(RuntimeError):
        tree.build()
    assert tree.page() == first


def test_at_each_moment_of_the_change_a_whole_page_is_there(tree: Tree, monkeypatch: pytest.MonkeyPatch) -> None:
    tree.build()
    lacking: list[list[str]] = []

    def watched(step: Callable[..., None]) -> Callable[..., None]:
        def taken(*arguments: Any) -> None:
            step(*arguments)
            lacking.append(tree.hook.missing(tree.root / tree.hook.STATIC))

        return taken

    monkeypatch.setattr(os, "replace", watched(os.replace))
    monkeypatch.setattr(Path, "unlink", watched(Path.unlink))
    monkeypatch.setattr(Path, "rmdir", watched(Path.rmdir))
    tree.made = NEXT | {"assets/more/c.txt": ""}
    (tree.root / "web/src/main.ts").write_text("2", "utf-8")
    tree.build()
    tree.made = NEXT
    (tree.root / "web/src/main.ts").write_text("3", "utf-8")
    tree.build()
    assert tree.page() == NEXT
    assert lacking == [[]] * 11


def test_what_is_built_is_never_committed(hook: ModuleType) -> None:
    ignored = (ROOT / ".gitignore").read_text("utf-8").split()
    assert {f"{hook.STATIC.as_posix()}/", hook.STAMP.as_posix(), "node_modules/"} <= set(ignored)
    assert "node_modules" in hook.BUILT.parts


def test_vite_builds_where_the_hook_looks(hook: ModuleType) -> None:
    assert f'outDir: "{hook.BUILT.relative_to("web").as_posix()}"' in (ROOT / "web/vite.config.ts").read_text("utf-8")


def test_the_lock_file_and_settings_name_no_registry() -> None:
    for name in ("web/package-lock.json", "web/package.json", "web/.npmrc"):
        text = (ROOT / name).read_text("utf-8")
        assert '"resolved"' not in text, name
        assert "registry=" not in text, name
        assert "registry.npmjs" not in text, name
    assert "omit-lockfile-registry-resolved=true" in (ROOT / "web/.npmrc").read_text("utf-8")
