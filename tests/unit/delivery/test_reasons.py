"""The texts of the contract, to the letter."""

from __future__ import annotations

import re

import pytest

from switchboard.delivery import reasons

EXACT = {
    "NOT_SENT": "not sent",
    "CHAIN_TIMEOUT": "chain timeout",
    "NOT_CONFIRMED": "step not confirmed",
    "EXITED": "session exited during wait",
    "NOT_RUNNING": "target process not running",
    "NOT_FOUND": "session not found",
    "BACKGROUND": "background session, not attached here",
    "NOT_REGULAR": "trigger must be a regular file",
    "TOO_LARGE": "trigger too large (max 64 KB)",
    "not_inspected": "trigger could not be inspected: <message>",
    "invalid_json": "invalid JSON: <message>",
    "internal_error": "internal error: <message>",
    "write_failed": "pty write failed: <message>",
    "NO_SESSION_ID": "missing required field: sessionId",
    "COMMAND_AND_CHAIN": "command and chain are mutually exclusive",
    "COMMAND_CHAIN_KEY": "command, chain and key are mutually exclusive",
    "NO_PAYLOAD": "missing required field: command or chain",
    "NO_COMMAND": "missing required field: command",
    "COMMAND_TOO_LONG": "command too long (max 4 KB)",
    "COMMAND_CONTROLS": r"command contains forbidden control characters (\r \n \0 \x1b)",
    "UNSUPPORTED_KEY": "unsupported key",
    "CHAIN_EMPTY": "chain must be a non-empty array",
    "CHAIN_TOO_LONG": "chain too long (max 20 steps)",
    "BAD_TIMEOUT": "invalid timeout_ms",
    "step_no_command": "step[<index>]: missing required command string",
    "step_too_long": "step[<index>]: command too long (max 4 KB)",
    "step_controls": r"step[<index>]: command contains forbidden control characters (\r \n \0 \x1b)",
    "step_bad_timeout": "step[<index>]: invalid step timeout_ms",
    "EXPECTED_CWD_SHAPE": "expectedCwd must be a non-empty string when present",
    "CWD_UNKNOWN": "this session's cwd could not be determined; refusing rather than risk targeting the wrong session",
    "CWD_DIFFERS": "expectedCwd does not match this session's actual cwd",
    "CLOSING": "Switchboard is closing.",
    "TARGET_CHANGED": "session target changed",
    "WRITER_CHANGED": "session writer changed",
    "EXITED_BEFORE_IDLE": "the session exited while waiting for it to go idle; nothing was written",
    "IDLE_TIMEOUT": "timeout waiting for idle; nothing was written",
    "CHAIN_IDLE_TIMEOUT": "timed out waiting for the session to go idle; nothing was written",
    "DEADLINE_PASSED": "the step deadline passed before it could be written; nothing was written",
    "DIALOG_OPEN": "the CLI reports a dialog open (waiting); nothing was written into it",
    "STILL_BUSY": "the CLI still reported a turn running (busy) at the deadline; nothing was written",
    "IDLE_TOO_BRIEF": "the CLI was idle only briefly before the deadline; it never held long enough to settle; "
    "nothing was written",
    "NEVER_IDLE": "the CLI never reported idle before the deadline; nothing was written",
    "COMPOSER_UNSEEN": "the composer of this session cannot be observed, and doubt resolves to busy",
    "composer_pending": "<count> byte(s) of input are sitting unsubmitted in the composer",
    "composer_recent": "the last keystroke landed <ago_ms> ms ago, inside the <quiet_ms> ms quiet window",
    "stale": "trigger is <age_ms>ms old, older than the <limit_ms>ms staleness limit; refused rather than act on a "
    "request that may no longer target the intended session state",
    "NOT_READING": "the CLI does not read its input; what was typed is left there and Enter was not pressed",
    "unknown_wait": 'wait <quoted> is not a value this transport knows: only "idle" and "none", and an absent field '
    'means "none"',
    "BARE_ENTER_UNSAFE": "the CLI reports a dialog open or a turn running, a bare Enter could answer it",
    "NOT_COMPACTED": "compaction was not observed in the session transcript before the step deadline; nothing more "
    "was typed",
    "EXITED_BEFORE_COMPACTION": "the session exited before compaction was observed; the command was written",
    "DIALOG_DURING_TURN": "the CLI reports a dialog open (waiting) while the turn was awaited; the step had been "
    "written",
    "step_recovery_withheld": "chain step <index> was typed but its submission was not confirmed and the recovery "
    "Enter was withheld (<why>); nothing more was typed",
    "step_no_own_entry": "chain step <index>: the step was written while the CLI reported busy; the CLI did not react "
    "and the transcript did not show the step within <seconds> s of its Enter; nothing more was typed",
    "step_pending_timeout": "chain step <index>: the step was written while the CLI reported busy; neither the CLI nor "
    "the transcript (the step's own entry, then a closed turn) confirmed it before the step deadline; nothing more "
    "was typed",
    "of_step": "chain step <index>: <reason>",
    "REMOTE_CHAIN": "a chain cannot be sent to a remote session through the messaging socket; nothing was written",
    "remote_ambiguous": "the session id is listed by more than one host (<hosts>); nothing was written",
}
"""The baseline's texts. Those that are ours alone are not listed here."""


@pytest.mark.parametrize("name", EXACT)
def test_exact_text(name: str) -> None:
    assert reasons.catalogue()[name] == EXACT[name]


def test_the_catalogue_lists_every_text_once() -> None:
    texts = reasons.catalogue()
    assert len(set(texts.values())) == len(texts)
    functions = {
        name
        for name, thing in vars(reasons).items()
        if callable(thing) and getattr(thing, "__module__", "") == reasons.__name__ and name != "catalogue"
    }
    assert functions <= set(texts)


def test_no_text_says_that_nothing_was_written_about_something_that_was() -> None:
    for name in ("DIALOG_BEFORE_ENTER", "enter_withheld", "text_cut_short", "NOT_COMPACTED", "step_recovery_withheld"):
        assert not re.search("nothing was written", reasons.catalogue()[name])
