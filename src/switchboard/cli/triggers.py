"""Writing a trigger file and waiting for its result, for commands (door; standard library only, start-up counts)."""

from __future__ import annotations

import contextlib
import errno
import json
import os
import select
import sys
import time
import uuid
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Self

from switchboard.common.settings import TriggerSettings

EXIT_OK, EXIT_FAILED, EXIT_USAGE, EXIT_UNCERTAIN, EXIT_NO_RESULT = 0, 1, 2, 3, 4

PATIENCE_SECONDS = 1.0
"""What is done by then needs no words about waiting."""

NO_PHASES: Mapping[str, str] = MappingProxyType({})

_LOOK = "what became of the request is not known, look at the session before you send it again"


class TriggerFolderError(Exception):
    """The trigger folder cannot be used. The text says what to do."""


class UnreadableResult(TriggerFolderError):
    """Whether there is a result, or what it says, cannot be known. The text names the file."""


def triggers_dir() -> str:
    """Return the trigger folder, absolute."""
    return os.path.abspath(TriggerSettings(os.environ).triggers_dir)


def write_trigger(folder: str, body: dict[str, Any]) -> str:
    """Publish a request under a new name; return its id. Raises `TriggerFolderError`."""
    trigger_id = str(uuid.uuid4())
    temporary = os.path.join(folder, f".{trigger_id}.tmp")
    # A lone surrogate (from an argument that is not UTF-8) travels as its JSON escape.
    data = json.dumps(body).encode("ascii") + b"\n"
    try:
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(data)
            os.rename(temporary, os.path.join(folder, f"{trigger_id}.json"))
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(temporary)
            raise
    except FileNotFoundError:
        raise TriggerFolderError(
            f"the trigger folder {folder} does not exist; start a host (`switchboard up`), or set "
            "SWITCHBOARD_TRIGGERS_DIR to the one that a host watches"
        ) from None
    except OSError as error:
        raise TriggerFolderError(f"the trigger folder {folder} cannot be written: {error.strerror}") from error
    return trigger_id


def result_path(folder: str, trigger_id: str) -> str:
    """Return where the result of a request is published."""
    return os.path.join(folder, "processed", f"{trigger_id}.result.json")


def read_result(folder: str, trigger_id: str) -> dict[str, Any] | None:
    """Return a published result, None while there is none. Raises `UnreadableResult`."""
    path = result_path(folder, trigger_id)
    try:
        with open(path, encoding="utf-8") as file:
            text = file.read()
        result = _parsed(text)
    except (FileNotFoundError, NotADirectoryError):
        return None  # a host types nothing while results have no folder
    except OSError as error:
        if error.errno == errno.ENAMETOOLONG:
            return None  # nor can there be a request of that name
        raise UnreadableResult(f"the result {path} cannot be read: {error.strerror}") from error
    except ValueError as error:
        raise UnreadableResult(f"the result {path} is damaged ({error}): {_LOOK}") from error
    if not isinstance(result, dict):
        raise UnreadableResult(f"the result {path} is damaged (no JSON object): {_LOOK}")
    return result


def _parsed(text: str) -> Any:
    """Return the value of a JSON text, however deeply it is nested. Raises `ValueError`."""
    try:
        return json.loads(text)
    except RecursionError:
        from switchboard.common.strict_json import parse  # for such a result alone

        return parse(text)


def read_phase(folder: str, trigger_id: str) -> str | None:
    """Return how far a versioned request has come; None before it was begun, and where that cannot be read."""
    try:
        with open(os.path.join(folder, "processed", f"{trigger_id}.action.json"), encoding="utf-8") as file:
            phase = json.load(file)["phase"]
    except (OSError, ValueError, RecursionError, TypeError, KeyError):
        return None
    return phase if isinstance(phase, str) else None


def what_helps(folder: str) -> str:
    """Return what to do about a result that does not come."""
    processed = os.path.join(folder, "processed")
    if os.path.lexists(processed) and not os.path.isdir(processed):
        return f"{processed} is no folder, so no result can be published: move it away, then a host goes on by itself"
    return "Is a host running (`switchboard doctor`)?"


def wait_result(
    folder: str, trigger_id: str, seconds: float, quiet: bool, phases: Mapping[str, str] = NO_PHASES
) -> dict[str, Any] | None:
    """Return the result once it is published, None when it is not within `seconds`.

    Says on standard error, after a moment, that it waits, and then how far the request is, as far as `phases` has
    words for it. Raises `UnreadableResult`.
    """
    deadline = time.monotonic() + seconds
    notes = None if quiet else _Notes(folder, trigger_id, deadline, phases)
    with _Changes(os.path.join(folder, "processed")) as changes:
        while True:
            result = read_result(folder, trigger_id)
            now = time.monotonic()
            if result is not None or now >= deadline:
                return result
            wake_at = deadline if notes is None else min(deadline, notes.tell(now))
            changes.wait(wake_at - now)


class _Notes:
    """What a person who waits for more than a moment is told."""

    def __init__(self, folder: str, trigger_id: str, deadline: float, phases: Mapping[str, str]) -> None:
        self._folder = folder
        self._id = trigger_id
        self._deadline = deadline
        self._phases = phases
        self._first_at: float | None = time.monotonic() + PATIENCE_SECONDS
        self._told: str | None = None

    def tell(self, now: float) -> float:
        """Say what there is to say; return when to be asked again if nothing changes."""
        if self._first_at is not None:
            if now < self._first_at:
                return self._first_at
            self._first_at = None
            _note(f"waiting for the result of {self._id} (up to {self._deadline - now:.0f} s) ...")
        phase = read_phase(self._folder, self._id) if self._phases else None
        if phase is not None and phase != self._told:
            self._told = phase
            if phase in self._phases:
                _note(f"{self._phases[phase]} ...")
        return self._deadline


def _note(text: str) -> None:
    with contextlib.suppress(OSError, ValueError, AttributeError):  # nobody reads it; the request goes on all the same
        print(text, file=sys.stderr, flush=True)


class _Changes:
    """Wakes when something appears in a folder."""

    def __init__(self, folder: str) -> None:
        self._descriptor = _inotify(folder) if sys.platform == "linux" else None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._descriptor is not None:
            os.close(self._descriptor)

    def wait(self, seconds: float) -> None:
        """Return when something has changed, or after `seconds`; without a watch after 200 ms at the latest."""
        if self._descriptor is None:
            time.sleep(min(seconds, 0.2))  # no event source here: a bounded wait is all there is
            return
        ready, _, _ = select.select([self._descriptor], [], [], seconds)
        if ready:
            os.read(self._descriptor, 65536)


def _inotify(folder: str) -> int | None:
    """Return an inotify descriptor for what is renamed or created in the folder, None when there is none to be had."""
    import ctypes

    try:
        libc = ctypes.CDLL(None, use_errno=True)
        descriptor = int(libc.inotify_init1(os.O_CLOEXEC))
    except (OSError, AttributeError):
        return None
    moved_to, created, only_folder = 0x80, 0x100, 0x0100_0000
    mask = moved_to | created | only_folder
    if descriptor >= 0 and libc.inotify_add_watch(descriptor, os.fsencode(folder), mask) >= 0:
        return descriptor
    if descriptor >= 0:
        os.close(descriptor)
    return None


def exit_code(result: dict[str, Any]) -> int:
    """Return the exit code for a result: 0 ok, 3 when a repetition could do a thing twice, else 1."""
    if result.get("ok") is True:
        return EXIT_OK
    if result.get("uncertain") is True or result.get("wrote") is not False:
        return EXIT_UNCERTAIN
    return EXIT_FAILED
