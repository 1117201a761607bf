"""The reasons of versioned requests: exact, listed, and none said twice under two names."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from switchboard.triggers import v1_reasons

REFERENCE = Path(__file__).parents[3] / "docs" / "triggers.md"

CONTRACT = """
trigger must be an object
unsupported version
unsupported action
trigger filename must be a lowercase UUID
open requires exactly one of sessionId or new
missing required field: sessionId
unsupported field: <path>
sessionId must be a UUID
new must be an object
new.project must be an absolute path
new.name must be a non-empty string
new.name too long (max 256 characters)
new.name contains control characters
<field> must be a non-empty string
<field> too long (max 4 KB)
<field> contains forbidden control characters (\\r \\n \\0 \\x1b)
invalid timeout_ms
expectedCwd must be a non-empty string when present
session live elsewhere
background session is not supported
scheduled session is not supported
remote sessions are not supported
plain terminal sessions are not supported
no readable transcript
session not found
ambiguous session transcript
session cwd unavailable
unknown project
project is archived
project directory does not exist
project lookup unavailable
session liveness unavailable
this session's cwd could not be determined; refusing rather than risk targeting the wrong session
expectedCwd does not match this session's actual cwd
new session rate limit exceeded
renderer not ready
window not available
renderer unavailable
renderer action timed out
session action timed out
Switchboard is closing.
session not open here
session busy
session waiting on a dialog
session running a shell command
session state unavailable
session has unsubmitted input
session composer unavailable
session input not quiet
note step not finished
session target changed
session writer changed
session open failed
session name could not be saved
session stop failed
session stop not confirmed
session readiness unavailable
action state could not be saved
interrupted by restart
internal error
""".strip().splitlines()


def test_the_catalogue_has_every_text_of_the_contract_and_no_other() -> None:
    texts = v1_reasons.catalogue().values()
    assert sorted(texts) == sorted(CONTRACT)
    assert len(set(texts)) == len(texts)


def test_the_catalogue_is_whole() -> None:
    named = {name for name, thing in vars(v1_reasons).items() if name.isupper() and isinstance(thing, str)}
    makers = {
        name
        for name, thing in vars(v1_reasons).items()
        if callable(thing) and getattr(thing, "__module__", "") == v1_reasons.__name__ and not name.startswith("_")
    }
    assert set(v1_reasons.catalogue()) == (named | makers) - {"catalogue"}


@pytest.mark.parametrize(
    "group", [v1_reasons.NOT_FOUND_REASONS, v1_reasons.ALWAYS_UNCERTAIN, v1_reasons.MAYBE_UNCERTAIN]
)
def test_groups_are_made_of_reasons(group: frozenset[str]) -> None:
    assert group <= set(CONTRACT)


def test_what_is_always_uncertain_may_be() -> None:
    assert v1_reasons.ALWAYS_UNCERTAIN < v1_reasons.MAYBE_UNCERTAIN


def test_a_quiet_wait_that_ran_out_leaves_no_doubt() -> None:
    assert v1_reasons.NOT_QUIET not in v1_reasons.MAYBE_UNCERTAIN


def test_every_reason_stands_in_the_trigger_reference_and_no_other() -> None:
    section = re.search(r"^## Lifecycle reasons\n(.*?)(?=^## )", REFERENCE.read_text("utf-8"), re.MULTILINE | re.DOTALL)
    assert section
    documented = re.findall(r"^\| `([^`]+)` \|", section.group(1), re.MULTILINE)[1:]
    assert sorted(documented) == sorted(v1_reasons.catalogue().values())
