"""What `open`, `new` and `stop` share: how long they wait, what their start costs, and the name of their request."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from tests.support.trigger_folder import REQUEST, TriggerFolder

from switchboard.cli import lifecycle
from switchboard.cli.lifecycle import PUBLICATION_SECONDS
from switchboard.cli.stop import PHASES, main

SESSION = "01234567-89ab-cdef-0123-456789abcdef"
HEAVY = {"asyncio", "sqlite3", "msgspec", "dataclasses", "aiohttp", "subprocess"}


@pytest.mark.parametrize(
    ("arguments", "age", "budget", "seconds"),
    [
        ((), None, None, 300 + 300 + PUBLICATION_SECONDS),
        ((), "60000", "20000", 60 + 20 + PUBLICATION_SECONDS),
        (("--timeout", "5"), "60000", "20000", 60 + 5 + PUBLICATION_SECONDS),
        (("--timeout", "5"), "-1", None, 5 + PUBLICATION_SECONDS),
        (("--bound", "7"), "60000", "20000", 7),
    ],
    ids=["the defaults", "the host's own", "the request's own", "an age that is none", "a bound"],
)
def test_how_long_a_result_is_waited_for(
    tmp_path: Path,
    arguments: tuple[str, ...],
    age: str | None,
    budget: str | None,
    seconds: float,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The age at which a host refuses to begin it, its budget from then on, and the time to publish."""
    TriggerFolder(tmp_path, monkeypatch)
    seen: list[object] = []

    def wait(_folder: str, _id: str, seconds: float, quiet: bool, phases: object) -> dict[str, object]:
        seen.append((seconds, quiet, phases))
        return {"ok": True}

    monkeypatch.setattr(lifecycle, "wait_result", wait)
    for name, value in (("MAX_AGE", age), ("IDLE_TIMEOUT", budget)):
        if value is not None:
            monkeypatch.setenv(f"SWITCHBOARD_TRIGGER_{name}_MS", value)
    main([SESSION, *arguments])
    assert seen == [(seconds, False, PHASES)]


def test_the_requests_name_is_a_lower_case_uuid(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SWITCHBOARD_TRIGGERS_DIR", str(tmp_path))
    assert main([SESSION, "--no-wait"]) == 0
    assert main([SESSION, "--no-wait"]) == 0
    names = [path.name for path in tmp_path.iterdir()]
    assert len(names) == 2, "each request has a name of its own"
    assert all(re.fullmatch(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\.json", name) for name in names)


@pytest.mark.parametrize("command", ["open", "new", "stop", "send"])
def test_a_command_brings_nothing_that_is_slow_to_import(command: str) -> None:
    source = f"import sys, switchboard.cli.{command}; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", source], capture_output=True, text=True, check=True).stdout.split()
    assert f"switchboard.cli.{command}" in loaded
    assert HEAVY & set(loaded) == set()


def test_who_stops_waiting_is_told_what_that_means(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = TriggerFolder(tmp_path, monkeypatch)

    def interrupted(*_: object, **_phases: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(lifecycle, "wait_result", interrupted)
    with pytest.raises(KeyboardInterrupt):
        main([SESSION])
    assert capsys.readouterr().err.endswith(
        f", or delete {folder.path}/{REQUEST}.json. Whether it was done is not known by then: look at the session, and "
        "do not ask again under a new name\n"
    )
    assert folder.request()["action"] == "stop"
