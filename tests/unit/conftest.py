"""Unit tests see an empty home, and no setting of the person who runs them."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

FOREIGN = ("SWITCHBOARD_", "CLAUDE", "ANTHROPIC_", "XDG_")


@pytest.fixture(scope="session")
def _empty_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("home")


@pytest.fixture(autouse=True)
def _no_settings_from_outside(_empty_home: Path, _nothing_is_left: None, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in list(os.environ):
        if name.startswith(FOREIGN) and name != "SWITCHBOARD_TEST_MARK":
            monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(_empty_home))
