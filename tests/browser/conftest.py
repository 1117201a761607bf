"""One browser for each file of tests; a host and windows for each test."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser
from tests.support.browser import Tab, chromium, new_tab
from tests.support.hosting import RunningHost


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Not longer than a file: while it runs, no other event loop can in this process."""
    with chromium() as made:
        yield made


@pytest.fixture
def host(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[RunningHost]:
    """A running host. An indirect parameter is called with it before it starts."""
    made = RunningHost(tmp_path, {"PS1": "here> "})
    getattr(request, "param", lambda _host: None)(made)
    made.start()
    yield made
    made.cli("down", "--sessions")
    made.clean_up()


@pytest.fixture
def tabs(browser: Browser, host: RunningHost) -> Iterator[Callable[..., Tab]]:
    """Makes windows that are closed again, and in which nothing went wrong."""
    made: list[Tab] = []

    def make(width: int = 1280, height: int = 800, *, enter: bool = True, **options: Any) -> Tab:
        tab = new_tab(browser, width, height, **options)
        made.append(tab)
        if enter:
            tab.enter(host)
        return tab

    yield make
    trouble = [line for tab in made for line in tab.trouble]
    for tab in made:
        tab.close()
    assert trouble == [], "the browser complained"


@pytest.fixture
def tab(tabs: Callable[..., Tab]) -> Tab:
    return tabs()
