"""The saved launch settings: which there are, what they may be, and which one counts (pure).

Each setting is looked for in the project's own settings, then in the global ones, then in the built-in default. Only
an absent key falls through. `null` is a value: it says "nothing", so a project can take back what is set globally.

A stored value that is not allowed is an error for whoever starts a session, never skipped: skipping `sandbox` or a
permission mode would start something looser than a person asked for.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal

from switchboard.clis.profiles import CLAUDE, PROFILES

Value = str | bool | None
Scope = Literal["project", "global", "built-in"]

PERMISSION_MODES = ("auto", "acceptEdits", "plan", "dontAsk", "bypassPermissions")
"""What `--permission-mode` takes, in both measured versions of Claude Code."""

PREFIX = re.compile(r"[A-Za-z0-9 _./\\:=-]*")
"""A pre-launch command goes into a shell's command line unquoted, so nothing that a shell could act on is in here."""

_WORKTREE_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}|")
_LONGEST = 4_096


class InvalidSetting(ValueError):
    """A value that a setting cannot have, or a setting that does not exist. The text names what is allowed."""


@dataclass(frozen=True, slots=True)
class Setting:
    """One setting. `allowed` says in words what `check` accepts; `check` returns what is wrong with a value."""

    key: str
    default: Value
    allowed: str
    meaning: str
    check: Callable[[Value], bool]
    per_project: bool = True


def _is_switch(value: Value) -> bool:
    return value is None or isinstance(value, bool)


def _matches(pattern: re.Pattern[str]) -> Callable[[Value], bool]:
    return lambda value: (
        value is None or (isinstance(value, str) and len(value) <= _LONGEST and pattern.fullmatch(value) is not None)
    )


def _is_mode(value: Value) -> bool:
    return value is None or value in PERMISSION_MODES


def _is_folders(value: Value) -> bool:
    return value is None or (
        isinstance(value, str)
        and len(value) <= _LONGEST
        and all(folder.startswith("/") and folder.isprintable() for folder in _parts(value))
    )


def _is_shell(value: Value) -> bool:
    if value in (None, "auto", "login"):
        return True
    return isinstance(value, str) and value.startswith("/") and len(value) <= _LONGEST and value.isprintable()


def _parts(text: str) -> list[str]:
    return [part for part in (piece.strip() for piece in text.split(",")) if part]


_SWITCH = "true, false, null"

AGENT_CLIS = tuple(profile.name for profile in PROFILES.values() if profile.kind == "agent")
"""What a new session can be one of."""

SETTINGS: Mapping[str, Setting] = {
    setting.key: setting
    for setting in (
        Setting(
            "cli",
            CLAUDE.name,
            f"{', '.join(AGENT_CLIS)}, null",
            "which CLI a new session runs, unless another one is asked for",
            lambda value: value is None or value in AGENT_CLIS,
        ),
        Setting(
            "permissionMode",
            "auto",
            f"{', '.join(PERMISSION_MODES)}, null",
            "what Claude Code may do unasked; null leaves it to the CLI's own settings",
            _is_mode,
        ),
        Setting(
            "dangerouslySkipPermissions",
            False,
            _SWITCH,
            "ask for nothing; takes the place of permissionMode",
            _is_switch,
        ),
        Setting("worktree", False, _SWITCH, "a fresh session gets a git worktree of its own", _is_switch),
        Setting(
            "worktreeName",
            "",
            "letters, digits, '.', '_' and '-', at most 64, not beginning with a sign; empty; null",
            "the name of that worktree; empty: one is made up",
            _matches(_WORKTREE_NAME),
        ),
        Setting("chrome", False, _SWITCH, "Claude in Chrome", _is_switch),
        Setting(
            "sandbox",
            False,
            _SWITCH,
            "run in a sandbox (Linux, bubblewrap); what cannot be started in one is not started",
            _is_switch,
        ),
        Setting(
            "preLaunchCmd",
            "",
            "letters, digits, blanks and - _ . / \\ : = only; empty; null",
            "what stands before the CLI's command, which then runs through a login shell",
            _matches(PREFIX),
        ),
        Setting(
            "addDirs",
            "",
            "absolute directories, separated by commas; empty; null",
            "further directories that the CLI may use",
            _is_folders,
        ),
        Setting(
            "mcpEmulation",
            False,
            "false, null (the emulation of an IDE is not built)",
            "act as an IDE towards the CLI",
            lambda value: value is None or value is False,
        ),
        Setting(
            "shellProfile",
            "auto",
            "auto, login, an absolute path of a shell, null",
            "start through a login shell: only where it is needed (auto), through your own always, or through this one",
            _is_shell,
        ),
        Setting(
            "remoteTriggers",
            False,
            _SWITCH,
            "whether legacy triggers may go to sessions on other machines (nothing connects to one yet)",
            _is_switch,
            per_project=False,
        ),
    )
}
"""Every setting by its key."""


@dataclass(frozen=True, slots=True)
class Effective:
    """One setting as it counts: its value, and where that came from."""

    value: Value
    source: Scope


@dataclass(frozen=True, slots=True)
class LaunchDefaults:
    """The launch settings of one project, as they count. Texts are empty where nothing is wanted."""

    cli: str
    permission_mode: str | None
    skip_permissions: bool
    worktree: bool
    worktree_name: str
    chrome: bool
    sandbox: bool
    prefix: str
    add_dirs: tuple[str, ...]
    shell: str


def check(key: str, value: object) -> Value:
    """Return the value when the setting may have it. Raises `InvalidSetting`."""
    setting = SETTINGS.get(key)
    if setting is None:
        raise InvalidSetting(f"there is no setting {key!r}; there are: {', '.join(SETTINGS)}")
    if (value is None or isinstance(value, (str, bool))) and setting.check(value):
        return value
    raise InvalidSetting(f"{key} cannot be {_shown(value)}; allowed: {setting.allowed}")


def parse(key: str, text: str) -> Value:
    """Return the value that a person wrote: `true`, `false` and `null` are values, all else is text.

    Raises `InvalidSetting`.
    """
    words: Mapping[str, Value] = {"true": True, "false": False, "null": None}
    return check(key, words.get(text, text))


def resolve(stored_global: Mapping[str, object], stored_project: Mapping[str, object]) -> dict[str, Effective]:
    """Return every setting as it counts. Unknown keys are left alone: other versions have others.

    Raises `InvalidSetting`, naming the scope, when a value that would count is not allowed.
    """
    return {key: _effective(setting, stored_global, stored_project) for key, setting in SETTINGS.items()}


def launch_defaults(stored_global: Mapping[str, object], stored_project: Mapping[str, object]) -> LaunchDefaults:
    """Return what a session of the project is started with. Raises `InvalidSetting`."""
    values = {key: one.value for key, one in resolve(stored_global, stored_project).items()}

    def text(key: str) -> str:
        value = values[key]
        return value.strip() if isinstance(value, str) else ""

    return LaunchDefaults(
        cli=text("cli") or CLAUDE.name,
        permission_mode=text("permissionMode") or None,
        skip_permissions=values["dangerouslySkipPermissions"] is True,
        worktree=values["worktree"] is True,
        worktree_name=text("worktreeName"),
        chrome=values["chrome"] is True,
        sandbox=values["sandbox"] is True,
        prefix=text("preLaunchCmd"),
        add_dirs=tuple(_parts(text("addDirs"))),
        shell=text("shellProfile") or "auto",
    )


def _effective(
    setting: Setting, stored_global: Mapping[str, object], stored_project: Mapping[str, object]
) -> Effective:
    scopes: tuple[tuple[Scope, Mapping[str, object]], ...] = (("project", stored_project), ("global", stored_global))
    for scope, stored in scopes:
        if setting.key in stored and (scope == "global" or setting.per_project):
            try:
                return Effective(check(setting.key, stored[setting.key]), scope)
            except InvalidSetting as error:
                raise InvalidSetting(f"the {scope} setting is damaged: {error}") from None
    return Effective(setting.default, "built-in")


def _shown(value: object) -> str:
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    return repr(value)[:100]
