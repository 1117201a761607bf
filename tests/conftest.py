"""After every test nothing of ours is left: no task, no child process, no thread, no file descriptor."""

from __future__ import annotations

import inspect
import os
from collections.abc import AsyncIterator, Generator, Iterator

import pytest

from tests.support import leaks

BEFORE = pytest.StashKey[leaks.Before]()


@pytest.fixture(autouse=True)
def _nothing_is_left(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Note what exists before the test. Fixtures of a wider scope are set up already, so what they hold is theirs."""
    mark = leaks.new_mark()
    monkeypatch.setenv(leaks.MARK, mark)
    request.node.stash[BEFORE] = leaks.Before(mark)
    if inspect.iscoroutinefunction(getattr(request.node, "obj", None)):
        request.getfixturevalue("_no_task_is_left")


@pytest.fixture
async def _no_task_is_left() -> AsyncIterator[None]:
    """Asked on the test's own loop, before closing it would cancel what still runs."""
    yield
    left = await leaks.tasks_left()
    if left:
        pytest.fail("The test left something behind:\n  " + "\n  ".join(left), pytrace=False)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(item: pytest.Item) -> Generator[None, None, None]:
    """Asked after the last finalizer, the event loop's own included."""
    yield
    before = item.stash.get(BEFORE, None)
    left = before.leftovers() if before is not None else []
    if left:
        pytest.fail("The test left something behind:\n  " + "\n  ".join(left), pytrace=False)


@pytest.fixture(autouse=True, scope="session")
def _one_terminal_language() -> Iterator[None]:
    """Programs speak English and UTF-8 in tests, whatever the machine is set to."""
    saved = {name: os.environ.get(name) for name in ("LC_ALL", "LANGUAGE")}
    os.environ["LC_ALL"] = "C.UTF-8"
    os.environ.pop("LANGUAGE", None)
    yield
    for name, value in saved.items():
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value
