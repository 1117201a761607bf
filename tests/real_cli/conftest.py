"""Fixtures: a pinned version, the loopback API, a throw-away HOME, programs that are gone after the test."""

from __future__ import annotations

import shutil
import statistics
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.real_cli.home import RealHome, build_home
from tests.real_cli.host import RealHost
from tests.real_cli.install import SMOKE_VERSION, VERSIONS, ensure_installed
from tests.real_cli.terminal import PtyProgram
from tests.support.messages_api import MessagesApi

_FIGURES = pytest.StashKey[dict[str, list[int]]]()
_HERE = Path(__file__).parent

Figure = Callable[[str, int], None]
StartCli = Callable[..., PtyProgram]


def pytest_configure(config: pytest.Config) -> None:
    config.stash[_FIGURES] = {}


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Bound each test here; installing a version (a fixture) has a deadline of its own and must not eat into that."""
    dropped = []
    for item in items:
        if not item.path.is_relative_to(_HERE):
            continue
        if item.get_closest_marker("timeout") is None:
            item.add_marker(pytest.mark.timeout(90, func_only=True))
        if config.option.markexpr == "smoke" and SMOKE_VERSION not in item.name:
            dropped.append(item)
    if dropped:
        config.hook.pytest_deselected(items=dropped)
        items[:] = [item for item in items if item not in dropped]


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Print the measured times. They are figures for people: no test passes or fails by them."""
    figures = config.stash[_FIGURES]
    if figures:
        terminalreporter.section("times in ms: lowest / median / highest (number)")
    for name, values in sorted(figures.items()):
        median = round(statistics.median(values))
        terminalreporter.write_line(f"{name}: {min(values)} / {median} / {max(values)} ({len(values)})")


@pytest.fixture(scope="session", params=VERSIONS)
def version(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="session")
def claude(version: str) -> Path:
    """The executable of that version."""
    return ensure_installed(version)


@pytest.fixture
def api() -> Iterator[MessagesApi]:
    with MessagesApi() as server:
        yield server


@pytest.fixture
def folder() -> Iterator[Path]:
    """A short path: the newer version binds a Unix socket below TMPDIR, and such paths end at 107 bytes."""
    made = Path(tempfile.mkdtemp(prefix="sb-"))
    yield made
    shutil.rmtree(made)


@pytest.fixture
def home(folder: Path, api: MessagesApi) -> RealHome:
    return build_home(folder, api.url)


@pytest.fixture
def start_cli(claude: Path, home: RealHome, api: MessagesApi) -> Iterator[StartCli]:
    """Start the CLI in the project folder; every program is ended before the API and the HOME go."""
    running: list[PtyProgram] = []

    def start(*arguments: str) -> PtyProgram:
        program = PtyProgram([str(claude), *arguments], home.project, home.environment())
        running.append(program)
        return program

    yield start
    for program in running:
        program.close()


@pytest.fixture
def host(home: RealHome, claude: Path) -> Iterator[RealHost]:
    """A host with the built-in settings."""
    with real_host(home, claude) as running:
        yield running


def real_host(home: RealHome, claude: Path) -> RealHost:
    """Return a host, not yet started, for that version of the CLI and that HOME."""
    triggers, data = home.root / "triggers", home.root / "data"
    environment = {
        **home.environment(),
        "SWITCHBOARD_CLAUDE": str(claude),
        "SWITCHBOARD_TRIGGERS_DIR": str(triggers),
        "SWITCHBOARD_DATA_DIR": str(data),
    }
    return RealHost(environment, triggers, data)


@pytest.fixture
def figure(version: str, pytestconfig: pytest.Config) -> Figure:
    """Note a time in milliseconds under a name, for the summary."""

    def note(name: str, milliseconds: int) -> None:
        pytestconfig.stash[_FIGURES].setdefault(f"{name} [{version}]", []).append(milliseconds)

    return note
