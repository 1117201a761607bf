"""What the environment says: folders, and the waits of the legacy trigger contract.

The environment is an argument and is read at each call, never at import: a test or an operator changes a wait without
a restart. The two ways of reading a number are part of that contract: the two limits take the leading digits of
whatever is there (`5000ms` is 5000), the others take the whole text as a number and ignore what is none. Instants are
whole milliseconds here, so a fraction of a millisecond rounds up, which is when a whole clock reaches it.
"""

from __future__ import annotations

import math
import posixpath
from collections.abc import Mapping
from functools import lru_cache

from switchboard.common.ecma import parse_int, parse_number, trim

Environment = Mapping[str, str]

IDLE_TIMEOUT_MS = 300_000  # agent turns of many minutes are normal; 5 minutes without idle is worth an answer
MAX_AGE_MS = 300_000  # an older request may no longer mean the state its writer saw
QUIET_MS = 3_000
VERIFY_MS = 2_000
SETTLE_MS = 300
TRANSCRIPT_QUIET_MS = 3_000
OWN_ENTRY_MS = 30_000


class SettingsError(ValueError):
    """The environment lacks something that has no default. The message says what to set."""


class TriggerSettings:
    """The waits and limits of trigger delivery, all in milliseconds, as the environment has them now."""

    __slots__ = ("_env",)

    def __init__(self, env: Environment) -> None:
        self._env = env

    @property
    def triggers_dir(self) -> str:
        """The folder of requests, `SWITCHBOARD_TRIGGERS_DIR`; it does not follow the data directory.

        As given: a relative path is relative to the host's working directory. Raises `SettingsError` when it is
        needed and there is no home directory.
        """
        return self._env.get("SWITCHBOARD_TRIGGERS_DIR") or f"{_home(self._env)}/.switchboard/triggers"

    @property
    def idle_timeout_ms(self) -> int:
        """Budget of a trigger without `timeout_ms`. Not capped, and negative when someone sets it so."""
        return self._leading("SWITCHBOARD_TRIGGER_IDLE_TIMEOUT_MS", IDLE_TIMEOUT_MS)

    @property
    def max_age_ms(self) -> int:
        """A request file older than this is refused; read for each file."""
        return self._leading("SWITCHBOARD_TRIGGER_MAX_AGE_MS", MAX_AGE_MS)

    @property
    def quiet_ms(self) -> int:
        """How long a person must not have typed before the composer counts as free."""
        return self._number("SWITCHBOARD_TRIGGER_QUIET_MS", QUIET_MS)

    @property
    def enter_delay_ms(self) -> int | None:
        """Pause between a text and its Enter; None leaves it to the CLI's profile."""
        return self._optional("SWITCHBOARD_SUBMIT_ENTER_DELAY_MS")

    @property
    def verify_ms(self) -> int:
        """How long a submission may take to show, before and after the one recovery Enter."""
        return self._number("SWITCHBOARD_SUBMIT_VERIFY_MS", VERIFY_MS)

    @property
    def settle_ms(self) -> int:
        """How long idle must hold without interruption before it is believed."""
        return self._number("SWITCHBOARD_BUSY_FALL_SETTLE_MS", SETTLE_MS)

    @property
    def rise_wait_ms(self) -> int:
        """How long a turn may take to show as busy before it counts as already over; as `verify_ms` unless set."""
        own = self._optional("SWITCHBOARD_BUSY_RISE_WAIT_MS")
        return self.verify_ms if own is None else own

    @property
    def transcript_quiet_ms(self) -> int:
        """How long a transcript must not have changed before its closed turn is believed over a busy status."""
        return self._number("SWITCHBOARD_TRANSCRIPT_QUIET_MS", TRANSCRIPT_QUIET_MS)

    @property
    def own_entry_ms(self) -> int:
        """How long after its Enter a chain step written into a busy CLI may take to appear in the transcript."""
        return self._number("SWITCHBOARD_PENDING_OWN_ENTRY_MS", OWN_ENTRY_MS)

    def _leading(self, name: str, default: int) -> int:
        text = self._env.get(name)
        value = _leading_digits(text) if text else None
        return default if value is None else value

    def _number(self, name: str, default: int) -> int:
        value = self._optional(name)
        return default if value is None else value

    def _optional(self, name: str) -> int | None:
        text = self._env.get(name)
        return _whole_milliseconds(text) if text else None


# Every wait asks for its settings anew, and they are the same nearly always: what a text means is remembered.


@lru_cache(maxsize=64)
def _leading_digits(text: str) -> int | None:
    return parse_int(text)


@lru_cache(maxsize=64)
def _whole_milliseconds(text: str) -> int | None:
    value = parse_number(text) if trim(text) else None
    if value is None or not math.isfinite(value) or value < 0:
        return None
    return math.ceil(value)


def effective_triggers_dir(env: Environment, directory: str) -> str:
    """Return the absolute folder of requests, the same for who watches it and for whoever must be kept out of it.

    `directory`: the working directory of the host, absolute. A relative `SWITCHBOARD_TRIGGERS_DIR` is relative to it
    and to nothing else, a session's directory least of all. Raises `SettingsError` as `TriggerSettings.triggers_dir`.
    """
    return posixpath.normpath(posixpath.join(directory, TriggerSettings(env).triggers_dir))


def data_dir(env: Environment) -> str:
    """Return where the host keeps its database, logs and address: `SWITCHBOARD_DATA_DIR`, else `~/.switchboard`.

    Raises `SettingsError` when there is no home directory to fall back on; so do the functions below.
    """
    return env.get("SWITCHBOARD_DATA_DIR") or f"{_home(env)}/.switchboard"


def claude_config_dir(env: Environment) -> str:
    """Return where Claude Code keeps sessions, projects and settings: `CLAUDE_CONFIG_DIR`, else `~/.claude`."""
    return env.get("CLAUDE_CONFIG_DIR") or f"{_home(env)}/.claude"


def agent_home(env: Environment) -> str:
    """Return the built-in agent's folder: `SWITCHBOARD_AGENT_HOME`, else `~/.switchboard-agent`.

    Outside the data directory, so that a sandboxed agent can write it without reaching the host's files.
    """
    return env.get("SWITCHBOARD_AGENT_HOME") or f"{_home(env)}/.switchboard-agent"


def _home(env: Environment) -> str:
    home = env.get("HOME")
    if not home:
        raise SettingsError("HOME is not set: set it, or name each folder (see docs/configuration.md)")
    return home.rstrip("/")
