"""Saved launch settings: what each may be, and which one counts."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from switchboard.clis.launch_settings import (
    PERMISSION_MODES,
    PREFIX,
    SETTINGS,
    InvalidSetting,
    LaunchDefaults,
    check,
    launch_defaults,
    parse,
    resolve,
)

BUILT_IN = {
    "cli": "claude",
    "permissionMode": "auto",
    "dangerouslySkipPermissions": False,
    "worktree": False,
    "worktreeName": "",
    "chrome": False,
    "sandbox": False,
    "preLaunchCmd": "",
    "addDirs": "",
    "mcpEmulation": False,
    "shellProfile": "auto",
    "remoteTriggers": False,
}

SAMPLES = {
    "cli": ("agent", "codex"),
    "permissionMode": ("plan", "dontAsk"),
    "dangerouslySkipPermissions": (True, False),
    "worktree": (True, False),
    "worktreeName": ("a", "b"),
    "chrome": (True, False),
    "sandbox": (True, False),
    "preLaunchCmd": ("x", "y z"),
    "addDirs": ("/a", "/b, /c"),
    "mcpEmulation": (False, False),
    "shellProfile": ("login", "/bin/sh"),
}
"""Two allowed values of each setting that a project can have."""

ABSENT = object()


def test_the_built_in_defaults() -> None:
    assert {key: setting.default for key, setting in SETTINGS.items()} == BUILT_IN
    assert {key: (one.value, one.source) for key, one in resolve({}, {}).items()} == {
        key: (value, "built-in") for key, value in BUILT_IN.items()
    }


@pytest.mark.parametrize("key", SAMPLES)
@pytest.mark.parametrize("everywhere", ["absent", "null", "value"])
@pytest.mark.parametrize("here", ["absent", "null", "value"])
def test_only_an_absent_key_falls_through(key: str, everywhere: str, here: str) -> None:
    stored_global = {} if everywhere == "absent" else {key: None if everywhere == "null" else SAMPLES[key][0]}
    stored_project = {} if here == "absent" else {key: None if here == "null" else SAMPLES[key][1]}
    found = resolve(stored_global, stored_project)[key]
    if here != "absent":
        assert (found.value, found.source) == (stored_project[key], "project")
    elif everywhere != "absent":
        assert (found.value, found.source) == (stored_global[key], "global")
    else:
        assert (found.value, found.source) == (BUILT_IN[key], "built-in")


def test_a_setting_that_holds_everywhere_is_not_looked_for_in_a_project() -> None:
    assert resolve({}, {"remoteTriggers": True})["remoteTriggers"].value is False
    assert resolve({"remoteTriggers": True}, {})["remoteTriggers"].value is True


def test_settings_of_other_versions_are_left_alone() -> None:
    assert resolve({"visibleSessionCount": 10}, {"later": {"x": 1}}) == resolve({}, {})


@pytest.mark.parametrize(
    ("key", "value"),
    [
        *(("cli", name) for name in ("claude", "agent", "codex", "gemini", "opencode", None)),
        *(("permissionMode", mode) for mode in (*PERMISSION_MODES, None)),
        *itertools.product(
            ("dangerouslySkipPermissions", "worktree", "chrome", "sandbox", "remoteTriggers"), (True, False, None)
        ),
        *(("worktreeName", name) for name in ("", "a", "Fix_1.2-b", "x" * 64, None)),
        *(
            ("preLaunchCmd", text)
            for text in ("", None, "aws-vault exec prod --", "FOO=bar C:\\x\\y", "/usr/bin/env A=b")
        ),
        *(("addDirs", text) for text in ("", None, "/a", "/a,/b c , /d", " , ")),
        *(("mcpEmulation", value) for value in (False, None)),
        *(("shellProfile", value) for value in ("auto", "login", "/bin/zsh", None)),
    ],
)
def test_allowed_values(key: str, value: str | bool | None) -> None:
    assert check(key, value) == value


@pytest.mark.parametrize(
    ("key", "value"),
    [
        *(("cli", value) for value in ("", "shell", "attach", "Claude", "/usr/bin/claude", True)),
        *(("permissionMode", value) for value in ("", "default", "Auto", True, 1, [], {})),
        *itertools.product(
            ("dangerouslySkipPermissions", "worktree", "chrome", "sandbox"), ("true", "", 1, 0, "yes", [True])
        ),
        *(("worktreeName", value) for value in ("-x", "a b", "a/b", "../a", "x" * 65, "a\n", True, 5)),
        *(
            ("preLaunchCmd", value)
            for value in (
                "a;b",
                "a|b",
                "a&b",
                "$(x)",
                "`x`",
                "a>b",
                "a'b",
                'a"b',
                "a\nb",
                "a\tb",
                "~/x",
                "a*",
                "ü",
                True,
            )
        ),
        *(("addDirs", value) for value in ("a", "/a,b", "~/x", "/a\nb", "-x", True, ["/a"])),
        *(("mcpEmulation", value) for value in (True, "false")),
        *(("shellProfile", value) for value in ("", "zsh", "bin/sh", "/bin/\nsh", True)),
        ("preLaunchCmd", "x" * 5_000),
    ],
)
def test_other_values_are_refused_with_what_is_allowed(key: str, value: object) -> None:
    with pytest.raises(InvalidSetting) as refused:
        check(key, value)
    assert str(refused.value).startswith(f"{key} cannot be ")
    assert str(refused.value).endswith(f"allowed: {SETTINGS[key].allowed}")


def test_an_unknown_setting_is_refused_with_those_there_are() -> None:
    with pytest.raises(InvalidSetting, match="there is no setting 'permisionMode'; there are: cli, permissionMode, "):
        check("permisionMode", "auto")


@pytest.mark.parametrize(
    ("key", "text", "value"),
    [
        ("chrome", "true", True),
        ("chrome", "false", False),
        ("permissionMode", "null", None),
        ("permissionMode", "plan", "plan"),
        ("preLaunchCmd", "", ""),
        ("worktreeName", "12", "12"),
    ],
)
def test_what_a_person_writes(key: str, text: str, value: object) -> None:
    assert parse(key, text) == value


@pytest.mark.parametrize(("key", "text"), [("chrome", "True"), ("chrome", "yes"), ("chrome", "1"), ("addDirs", "true")])
def test_what_a_person_may_not_write(key: str, text: str) -> None:
    with pytest.raises(InvalidSetting):
        parse(key, text)


@pytest.mark.parametrize(
    ("everywhere", "here", "scope"), [({"sandbox": "yes"}, {}, "global"), ({}, {"sandbox": 1}, "project")]
)
def test_a_damaged_value_that_would_count_is_an_error(
    everywhere: dict[str, object], here: dict[str, object], scope: str
) -> None:
    with pytest.raises(InvalidSetting, match=f"the {scope} setting is damaged: sandbox cannot be"):
        launch_defaults(everywhere, here)


def test_a_damaged_value_behind_a_good_one_does_not_count() -> None:
    assert launch_defaults({"sandbox": "yes"}, {"sandbox": None}).sandbox is False


def test_what_a_session_is_started_with() -> None:
    assert launch_defaults({}, {}) == LaunchDefaults("claude", "auto", False, False, "", False, False, "", (), "auto")
    assert launch_defaults(
        {"permissionMode": "plan", "addDirs": "/a, /b", "worktree": True, "preLaunchCmd": " x "},
        {"cli": "agent", "permissionMode": None, "worktreeName": "w", "chrome": True, "shellProfile": None},
    ) == LaunchDefaults("agent", None, False, True, "w", True, False, "x", ("/a", "/b"), "auto")


@given(st.text())
def test_no_allowed_prefix_holds_anything_that_a_shell_acts_on(text: str) -> None:
    if PREFIX.fullmatch(text):
        assert not set(text) & set("\n\r\t;|&$`<>()'\"*?[]{}~#!%^,")
