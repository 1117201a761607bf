"""What a person can do about a versioned result that is no success (pure).

The result's `reason` says what was the matter, in the contract's words; here stands what it means and what helps.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from switchboard.delivery import reasons as delivery
from switchboard.triggers import v1_reasons as reasons

_LOOK = "Look at the session (`switchboard watch ID`) before you ask again."
_ANSWER = "Answer it in the session (`switchboard watch ID`), then ask again."
_DRAFT = "Submit or clear it in the session, then ask again."
_LATER = "Ask again later, or allow more with --timeout."
_TEXT_FIELDS = ("prompt", "before")

REMEDIES: Mapping[str, str] = MappingProxyType(
    {
        # The request itself.
        reasons.NO_OBJECT: "A request is one JSON object.",
        reasons.BAD_VERSION: "This host knows version 1 alone: is it older or newer than this command?",
        reasons.BAD_ACTION: "There are `open` and `stop`.",
        reasons.BAD_FILE_NAME: "Name the file <uuid>.json, with a new lower-case UUID.",
        reasons.ONE_TARGET: "Name either a session or a new one.",
        reasons.NO_SESSION_ID: "Name the session.",
        reasons.BAD_SESSION_ID: "`switchboard ls` prints ids; names are not looked up.",
        reasons.NEW_SHAPE: "It has a project and a name.",
        reasons.PROJECT_PATH: "Give the directory's whole path.",
        reasons.NAME_EMPTY: "Give the session a name.",
        reasons.NAME_TOO_LONG: "Shorten it.",
        reasons.NAME_CONTROLS: "Leave them out.",
        reasons.BAD_TIMEOUT: "It is a whole number of milliseconds, at most ten minutes.",
        reasons.EXPECTED_CWD_SHAPE: "Name the directory, or leave it out.",
        **dict.fromkeys(map(reasons.text_empty, _TEXT_FIELDS), "There must be something to type."),
        **dict.fromkeys(map(reasons.text_too_long, _TEXT_FIELDS), "Put it into a file, and let the prompt name that."),
        **dict.fromkeys(
            map(reasons.text_controls, _TEXT_FIELDS),
            "It must be one line: put more into a file, and let the prompt name that.",
        ),
        # The whole action.
        reasons.TIMED_OUT: "The time allowed was over before everything was done. Allow more with --timeout.",
        reasons.CLOSING: "The host was being stopped. Ask again once one runs.",
        reasons.MARKER_NOT_SAVED: "Nothing was done, because it could not be noted in `processed` of the triggers "
        "folder: look at its permissions, and whether the disk is full.",
        reasons.INTERRUPTED: f"A host ended in the middle, and the next one repeats nothing. {_LOOK}",
        reasons.FAULT: "This is a fault of Switchboard's; `host.log` in the data directory says more.",
        # Which session, which project.
        reasons.NOT_FOUND: "No session has this id: `switchboard ls` lists them, with `--closed N` more of the closed.",
        reasons.NOT_OPEN: "It is closed already; there is nothing to stop.",
        reasons.REMOTE: "It is another machine's: ask there.",
        reasons.LIVE_ELSEWHERE: "Another program has it open: end it there, or type there.",
        reasons.BACKGROUND: "Bring it back to a terminal first.",
        reasons.SCHEDULED: "A scheduled run of it is under way: wait until that is over.",
        reasons.PLAIN_TERMINAL: "This is no agent's session: use it on a page.",
        reasons.LIVENESS_UNAVAILABLE: "It could not be proven that no other program has it open. End what may have, or "
        "open it on a page, where you decide.",
        reasons.NO_TRANSCRIPT: "What was said in it is not on this disk, or cannot be read, so it cannot be resumed.",
        reasons.AMBIGUOUS_TRANSCRIPT: "Several transcripts have this id: move away those that are not meant.",
        reasons.CWD_UNAVAILABLE: "Its transcript does not say where it worked: resume it by hand.",
        reasons.UNKNOWN_PROJECT: "`switchboard project add DIRECTORY` makes it one; links are not followed.",
        reasons.ARCHIVED: "It was taken off the list: `switchboard project add DIRECTORY` takes that back.",
        reasons.NO_DIRECTORY: "It was moved or deleted: bring it back.",
        reasons.PROJECTS_UNAVAILABLE: "Which projects there are could not be read: `switchboard doctor` may say why.",
        reasons.CWD_UNKNOWN: "Ask without --expected-cwd if you are sure of the session.",
        reasons.CWD_DIFFERS: "Is this the session you mean?",
        reasons.TARGET_CHANGED: f"Another terminal took its place meanwhile. {_LOOK}",
        reasons.WRITER_CHANGED: f"Another program took it over meanwhile. {_LOOK}",
        # Opening.
        reasons.RATE_LIMITED: "Three can be started at once, then one every 20 seconds: wait, and ask again.",
        reasons.NO_WINDOW: "No page is open that could show it: `switchboard url` or `switchboard watch`, then ask "
        "again.",
        reasons.NOT_READY: "The page did not finish loading in time: look at it, and ask again.",
        reasons.PAGE_GONE: "The page was closed or loaded anew in the middle: ask again when it is there.",
        reasons.PAGE_TIMED_OUT: "The page did not answer in time: look at it, load it anew.",
        reasons.OPEN_FAILED: "`switchboard doctor` says what is missing on this machine.",
        reasons.NAME_NOT_SAVED: "The prompt was not typed. Rename the session on a page, and send it the prompt.",
        reasons.READINESS_UNAVAILABLE: "The prompt was not typed, because the session did not show that it can take "
        "one; it may ask something (trust, login, theme). Look at it, then send it the prompt.",
        # Stopping.
        reasons.BUSY: "A turn is running: wait for it, or say with --before what is to be done last.",
        reasons.DIALOG: _ANSWER,
        reasons.SHELL: "It would be cut off: wait until it has ended.",
        reasons.STATE_UNAVAILABLE: "Its program does not say whether it is at rest: stop it on a page.",
        reasons.UNSUBMITTED: f"Somebody's draft would be lost. {_DRAFT}",
        reasons.COMPOSER_UNAVAILABLE: "Whether there is a draft in it is not known: look, and stop it on a page.",
        reasons.NOT_QUIET: f"Somebody was typing all the time. {_LATER}",
        reasons.NOTE_NOT_FINISHED: "The session goes on running. Allow more with --timeout, or look what holds it.",
        reasons.STOP_FAILED: "It goes on running: stop it on a page.",
        reasons.STOP_NOT_CONFIRMED: "It was asked to end and may still do so: look whether it runs, end it on a page.",
        # Delivery's own.
        delivery.BACKSLASH_AT_END: "End it in another way, if only with a blank.",
        delivery.KEYS_IN_TEXT: "Leave them out; the tab may stay.",
        reasons.NOT_RUNNING: "Its program has ended. If its terminal is still there, stop that on a page; then open it "
        "again.",
        reasons.EXITED: "It ended meanwhile: open it again.",
        delivery.DIALOG_OPEN: _ANSWER,
        delivery.STARTING: _ANSWER,
        delivery.DIALOG_BEFORE_ENTER: f"Answer it in the session. {_DRAFT}",
        **dict.fromkeys(
            (
                delivery.IDLE_TIMEOUT,
                delivery.STILL_BUSY,
                delivery.IDLE_TOO_BRIEF,
                delivery.NEVER_IDLE,
                delivery.DEADLINE_PASSED,
            ),
            _LATER,
        ),
    }
)

_PATTERNS = (
    (re.compile(r"unsupported field: "), "Such a request does not have it; no field changes how sessions are started."),
    (re.compile(r"\S+ byte\(s\) of input are sitting unsubmitted"), _DRAFT),
    (re.compile(r"the last keystroke landed "), _LATER),
    (re.compile(r"trigger is \S+ old, older than "), "It waited too long for its turn: ask again if it still holds."),
)


def remedy(reason: str) -> str | None:
    """Return what helps, None where the reason is all that can be said."""
    found = REMEDIES.get(reason)
    return found or next((text for pattern, text in _PATTERNS if pattern.match(reason)), None)


def explain(result: Mapping[str, Any]) -> str | None:
    """Return one line about a result for a person; None when everything was done."""
    if result.get("ok") is True:
        return None
    uncertain = result.get("uncertain") is True
    head = "uncertain" if uncertain else "not found" if result.get("outcome") == "not-found" else "refused"
    reason, why = _reason(result), _why(result)
    said = f"{reason} ({why})" if why else reason
    parts = [f"{head}: {said}" + ("" if said.endswith(".") else "."), remedy(reason) or ""]
    session_id = _text(result, "sessionId")
    if result.get("created") is True or result.get("resumed") is True:
        parts.append(f"The session {session_id} was started and stays open.")
    if uncertain:
        parts.append("It may have taken effect all the same: do not ask again before you have looked.")
    elif result.get("wrote") is not False:
        parts.append("Something was typed: look before you ask again.")
    text = " ".join(part for part in parts if part)
    return _one_line(text.replace("watch ID", f"watch {session_id}") if session_id else text)


def _reason(result: Mapping[str, Any]) -> str:
    """The reason, or where there is none (a request that could not be read) the error."""
    return _text(result, "reason") or _text(result, "error") or "no reason is given"


def _why(result: Mapping[str, Any]) -> str:
    """What a part of the system has said besides."""
    typed = result.get("delivery")
    told = [_text(result, "detail"), _text(result, "error")]
    if isinstance(typed, dict):
        told += [_text(typed, "reason"), _text(typed, "error")]
    known = {"", _reason(result), delivery.NOT_SENT, delivery.INTERRUPTED}
    return next((text for text in told if text not in known), "")


def _text(fields: Mapping[str, Any], name: str) -> str:
    value = fields.get(name)
    return value if isinstance(value, str) else ""


def _one_line(text: str) -> str:
    """The text without what a terminal would take as anything but a character."""
    return "".join(char if char.isprintable() else " " for char in text)
