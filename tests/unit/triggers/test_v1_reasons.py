"""The reasons of versioned requests: exact, listed, and none said twice under two names."""

from __future__ import annotations

import ast
import importlib
import re
from collections.abc import Mapping
from pathlib import Path

import pytest
from tests.support import architecture
from tests.support.lifecycle import is_listed

from switchboard.delivery import lifecycle
from switchboard.delivery import reasons as delivery
from switchboard.triggers import v1_reasons

ROOT = Path(__file__).parents[3]
REFERENCE, SOURCE = ROOT / "docs" / "triggers.md", ROOT / "src"

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
target process not running
session exited during wait
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
    assert set(v1_reasons.catalogue()) == (named | makers) - {"catalogue", "of_delivery"}


@pytest.mark.parametrize(
    "group", [v1_reasons.NOT_FOUND_REASONS, v1_reasons.ALWAYS_UNCERTAIN, v1_reasons.MAYBE_UNCERTAIN]
)
def test_groups_are_made_of_reasons(group: frozenset[str]) -> None:
    assert group <= set(CONTRACT)


def test_what_is_always_uncertain_may_be() -> None:
    assert v1_reasons.ALWAYS_UNCERTAIN < v1_reasons.MAYBE_UNCERTAIN


def test_a_quiet_wait_that_ran_out_leaves_no_doubt() -> None:
    assert v1_reasons.NOT_QUIET not in v1_reasons.MAYBE_UNCERTAIN


@pytest.mark.parametrize(
    ("title", "texts"),
    [("Lifecycle reasons", v1_reasons.catalogue()), ("Lifecycle reasons of the delivery", v1_reasons.of_delivery())],
    ids=["the contract's own", "delivery's"],
)
def test_every_reason_stands_in_the_trigger_reference_and_no_other(title: str, texts: Mapping[str, str]) -> None:
    section = re.search(rf"^## {title}\n(.*?)(?=^## )", REFERENCE.read_text("utf-8"), re.MULTILINE | re.DOTALL)
    assert section
    documented = re.findall(r"^\| `([^`]+)` \|", section.group(1), re.MULTILINE)[1:]
    assert sorted(documented) == sorted(texts.values())


# --- what the code can say, as far as its source shows ----------------------------------------------------------------

NO_REASON = {
    "kinds of failure, which stand in `error`, always beside a reason": {"NOT_SENT", "INTERRUPTED", "NOT_CONFIRMED"},
    "files whose body could not be read, which have the envelope of legacy requests": {
        *("not_inspected", "NOT_REGULAR", "TOO_LARGE", "invalid_json"),
    },
    "parts of other reasons": {"TOO_LATE", "TYPED_SINCE"},
    "stands in `withheld`": {"BARE_ENTER_UNSAFE"},
    "stands in `detail`": {"DIALOG_DURING_TURN"},
    "of a legacy command": {"NOT_COMPACTED"},
    "of a legacy look-up": {"BACKGROUND", "REMOTE", "REMOTE_CHAIN", "remote_ambiguous"},
    "said in the pin's own words": {"OUTLIVED"},
}
"""What is named on a versioned request's way and is none of its reasons."""

LEGACY = frozenset({"legacy", "legacy_chain", "legacy_schema"})


def way_of_a_request() -> list[architecture.Module]:
    """The modules that a versioned request passes: those of its own, and what they use of triggers and delivery."""
    modules = {module.short_name: module for module in architecture.read_tree(SOURCE)}
    found: dict[str, architecture.Module] = {}
    waiting = [name for name in modules if name.startswith("triggers.v1_")]
    while waiting:
        name = waiting.pop()
        if name in found or name not in modules or name.partition(".")[2] in LEGACY:
            continue
        found[name] = modules[name]
        for one in architecture.imports(modules[name]):
            path = one.module.removeprefix("switchboard.")
            if path.startswith(("triggers", "delivery")):
                waiting += [path, f"{path}.{one.name}"]
    return list(found.values())


def named_of(module: architecture.Module, wanted: str) -> set[str]:
    """What a module names of the module `wanted`: `reasons.X` after importing it under that name, or imported alone."""
    room, _, last = wanted.rpartition(".")
    local = {
        alias.asname or alias.name
        for node in ast.walk(module.tree)
        if isinstance(node, ast.ImportFrom) and node.module == room
        for alias in node.names
        if alias.name == last
    }
    alone = {one.name for one in architecture.imports(module) if one.module == wanted and one.name}
    return alone | {
        node.attr
        for node in ast.walk(module.tree)
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in local
    }


def test_every_text_of_delivery_on_the_way_of_a_request_is_listed_or_is_no_reason() -> None:
    way = way_of_a_request()
    assert {"triggers.v1_stop", "delivery.typist", "delivery.evidence"} <= {module.short_name for module in way}
    lists = {"triggers.v1_reasons", "delivery.reasons"}
    named = set().union(*(named_of(one, delivery.__name__) for one in way if one.short_name not in lists))
    texts = delivery.catalogue()
    shared = {name for name, text in texts.items() if text in set(v1_reasons.catalogue().values())}
    known = set().union(*NO_REASON.values())
    listed = set(v1_reasons.of_delivery()) | shared | known
    assert sorted((named & set(texts)) - listed) == [], "list these in v1_reasons, or say why they are no reasons"
    assert sorted((known | set(v1_reasons.of_delivery())) - named) == [], "nothing says these any more"


def test_what_a_page_refuses_with_is_listed() -> None:
    said = {name: thing for name, thing in vars(lifecycle).items() if name.isupper() and isinstance(thing, str)}
    assert said
    assert set(said.values()) <= set(v1_reasons.catalogue().values())


RAISED = frozenset({"Refused", "PageRefused", "StopRefused"})


def test_no_refusal_has_a_text_of_its_own() -> None:
    """Of each refusal, whichever room makes it: what its source shows of the reason is a listed one."""
    listed = {*v1_reasons.catalogue().values(), *v1_reasons.of_delivery().values()}
    seen, unlisted = set(), []
    for module in architecture.read_tree(SOURCE):
        raised = [one for one in architecture.imports(module) if one.name in RAISED]
        if not raised and module.short_name not in ("triggers.v1_work", "delivery.lifecycle"):
            continue
        namespace = vars(importlib.import_module(module.name))
        for node in ast.walk(module.tree):
            if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name) or node.func.id not in RAISED:
                continue
            given = [*node.args[:1], *(keyword.value for keyword in node.keywords if keyword.arg == "reason")]
            for text in filter(None, (shown(one, namespace) for one in given)):
                seen.add(text)
                if text not in listed:
                    unlisted.append(f"{module.short_name}:{node.lineno}: {text}")
    assert {v1_reasons.RATE_LIMITED, lifecycle.NO_WINDOW, v1_reasons.NO_DIRECTORY} <= seen
    assert unlisted == []


def shown(expression: ast.expr, namespace: dict[str, object]) -> str | None:
    """The text that an expression stands for, None where only its run could tell."""
    if isinstance(expression, ast.Constant):
        return expression.value if isinstance(expression.value, str) else None
    if isinstance(expression, ast.JoinedStr):
        return ast.unparse(expression)
    if isinstance(expression, ast.Attribute) and isinstance(expression.value, ast.Name):
        found = getattr(namespace.get(expression.value.id), expression.attr, None)
    else:
        found = namespace.get(expression.id) if isinstance(expression, ast.Name) else None
    return found if isinstance(found, str) else None


@pytest.mark.parametrize(
    ("reason", "listed"),
    [
        (None, True),
        ("session busy", True),
        ("unsupported field: new.options", True),
        ("pty write failed: Input/output error", True),
        (delivery.stale("300001", "300000"), True),
        ("session busy, or so", False),
        (delivery.NOT_COMPACTED, False),
        (7, False),
    ],
)
def test_every_test_of_an_action_looks_whether_its_reason_is_listed(reason: object, listed: bool) -> None:
    assert is_listed(reason) is listed


def test_texts_are_found_in_source() -> None:
    source = "Refused('a'); Refused(reasons.BUSY); Refused(f'{x} y'); Refused(x); Refused(y.reason); Refused(1)"
    given = [node.args[0] for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Call)]
    texts = {shown(one, {"reasons": v1_reasons, "y": object()}) for one in given}
    assert texts == {"a", "session busy", "f'{x} y'", None}
