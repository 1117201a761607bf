"""Every variable of the trigger contract: its default, and how its text is read."""

from __future__ import annotations

import os
from collections.abc import Callable

import pytest

from switchboard.common.settings import (
    Environment,
    SettingsError,
    TriggerSettings,
    agent_home,
    claude_config_dir,
    data_dir,
    effective_triggers_dir,
)

# variable, property, value without it
LEADING_INTEGER = [
    ("SWITCHBOARD_TRIGGER_IDLE_TIMEOUT_MS", "idle_timeout_ms", 300_000),
    ("SWITCHBOARD_TRIGGER_MAX_AGE_MS", "max_age_ms", 300_000),
]
WHOLE_NUMBER = [
    ("SWITCHBOARD_TRIGGER_QUIET_MS", "quiet_ms", 3_000),
    ("SWITCHBOARD_SUBMIT_ENTER_DELAY_MS", "enter_delay_ms", None),
    ("SWITCHBOARD_SUBMIT_VERIFY_MS", "verify_ms", 2_000),
    ("SWITCHBOARD_BUSY_FALL_SETTLE_MS", "settle_ms", 300),
    ("SWITCHBOARD_BUSY_RISE_WAIT_MS", "rise_wait_ms", 2_000),
    ("SWITCHBOARD_TRANSCRIPT_QUIET_MS", "transcript_quiet_ms", 3_000),
    ("SWITCHBOARD_PENDING_OWN_ENTRY_MS", "own_entry_ms", 30_000),
]
UNSET = object()

FOLDERS: list[tuple[str, Callable[[Environment], str], str]] = [
    ("SWITCHBOARD_TRIGGERS_DIR", lambda env: TriggerSettings(env).triggers_dir, "/home/ann/.switchboard/triggers"),
    ("SWITCHBOARD_DATA_DIR", data_dir, "/home/ann/.switchboard"),
    ("CLAUDE_CONFIG_DIR", claude_config_dir, "/home/ann/.claude"),
    ("SWITCHBOARD_AGENT_HOME", agent_home, "/home/ann/.switchboard-agent"),
]


def names(rows: list[tuple[str, str, int | None]]) -> list[str]:
    return [variable for variable, _, _ in rows]


@pytest.mark.parametrize(
    ("text", "expected"),
    [("5000", 5000), ("5000ms", 5000), (" 7", 7), ("2.9", 2), ("1e3", 1), ("900000", 900_000), ("0", 0), ("-5", -5)]
    + [(text, UNSET) for text in ("", " ", "soon", "Infinity", "9" * 400)],
)
@pytest.mark.parametrize(("variable", "name", "default"), LEADING_INTEGER, ids=names(LEADING_INTEGER))
def test_limits_take_the_leading_integer(variable: str, name: str, default: int, text: str, expected: object) -> None:
    assert getattr(TriggerSettings({}), name) == default
    assert getattr(TriggerSettings({variable: text}), name) == (default if expected is UNSET else expected)


@pytest.mark.parametrize(
    ("text", "expected"),
    [("0", 0), ("1", 1), (" 400 ", 400), ("1e3", 1000), ("0x10", 16), ("2.0", 2), ("0.5", 1), ("10.01", 11)]
    + [(text, UNSET) for text in ("", " ", "\ufeff\t", "-1", "50ms", "Infinity", "1e999", "NaN", "soon")],
)
@pytest.mark.parametrize(("variable", "name", "default"), WHOLE_NUMBER, ids=names(WHOLE_NUMBER))
def test_waits_take_a_whole_number(variable: str, name: str, default: int | None, text: str, expected: object) -> None:
    assert getattr(TriggerSettings({}), name) == default
    value = getattr(TriggerSettings({variable: text}), name)
    assert value == (default if expected is UNSET else expected)
    assert not isinstance(value, float)


def test_the_rise_wait_follows_the_verification_unless_set() -> None:
    assert TriggerSettings({"SWITCHBOARD_SUBMIT_VERIFY_MS": "400"}).rise_wait_ms == 400
    both = {"SWITCHBOARD_SUBMIT_VERIFY_MS": "400", "SWITCHBOARD_BUSY_RISE_WAIT_MS": "0"}
    assert TriggerSettings(both).rise_wait_ms == 0


def test_the_environment_is_read_at_each_call() -> None:
    env: dict[str, str] = {}
    settings = TriggerSettings(env)
    assert settings.settle_ms == 300
    env["SWITCHBOARD_BUSY_FALL_SETTLE_MS"] = "50"
    assert settings.settle_ms == 50


@pytest.mark.parametrize(("variable", "folder", "default"), FOLDERS, ids=[row[0] for row in FOLDERS])
def test_folders(variable: str, folder: Callable[[Environment], str], default: str) -> None:
    assert folder({"HOME": "/home/ann"}) == default
    assert folder({"HOME": "/home/ann/"}) == default
    assert folder({"HOME": "/home/ann", variable: ""}) == default
    assert folder({"HOME": "/home/ann", variable: "rel/ative"}) == "rel/ative"
    assert folder({variable: "/else where"}) == "/else where"


@pytest.mark.parametrize("folder", [row[1] for row in FOLDERS], ids=[row[0] for row in FOLDERS])
@pytest.mark.parametrize("env", [{}, {"HOME": ""}], ids=["unset", "empty"])
def test_a_missing_home_is_named(folder: Callable[[Environment], str], env: Environment) -> None:
    with pytest.raises(SettingsError, match="HOME is not set"):
        folder(env)


@pytest.mark.parametrize(
    ("given", "effective"),
    [
        (None, "/home/ann/.switchboard/triggers"),
        ("", "/home/ann/.switchboard/triggers"),
        ("/srv/box/", "/srv/box"),
        ("box", "/run/host/box"),
        ("../box/./in", "/run/box/in"),
        (".", "/run/host"),
        ("/srv/a//b/../c d", "/srv/a/c d"),
    ],
    ids=["unset", "empty", "absolute", "relative", "relative, above", "the host's own", "not normal"],
)
def test_the_effective_triggers_directory_is_absolute_against_the_host(given: str | None, effective: str) -> None:
    env = {"HOME": "/home/ann"} if given is None else {"HOME": "/home/ann", "SWITCHBOARD_TRIGGERS_DIR": given}
    assert effective_triggers_dir(env, "/run/host") == effective
    # What the watcher makes of it is the same: it is absolute and normal already.
    assert os.path.abspath(effective) == effective


def test_the_triggers_directory_does_not_follow_the_data_directory() -> None:
    env = {"HOME": "/home/ann", "SWITCHBOARD_DATA_DIR": "/data"}
    assert TriggerSettings(env).triggers_dir == "/home/ann/.switchboard/triggers"
