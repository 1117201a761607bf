"""The shape of versioned requests: every row of the table, its order, what a refusal echoes, and any JSON at all."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from switchboard.common.ecma import utf16_length
from switchboard.common.strict_json import JsonValue, decode_utf8, parse
from switchboard.triggers import v1_reasons
from switchboard.triggers.publisher import encode
from switchboard.triggers.v1_results import shape_refused
from switchboard.triggers.v1_schema import (
    TABLE,
    Family,
    Mode,
    OpenNew,
    OpenResume,
    ShapeRefusal,
    Stop,
    Subject,
    family,
    is_request_id,
    subject_of,
    validate,
)

STEM = "0a1b2c3d-4e5f-6789-abcd-ef0123456789"
ID = "01234567-89ab-cdef-0123-456789abcdef"
RESUME: dict[str, Any] = {"version": 1, "action": "open", "sessionId": ID, "prompt": "Continue the task"}
NEW: dict[str, Any] = {
    "version": 1,
    "action": "open",
    "new": {"project": "/srv/project", "name": "Follow-up"},
    "prompt": "Investigate the failure",
}
STOP: dict[str, Any] = {"version": 1, "action": "stop", "sessionId": ID, "before": "Save a resume note"}
EMOJI = "\U0001f600"


def without(body: dict[str, Any], *names: str) -> dict[str, Any]:
    return {name: value for name, value in body.items() if name not in names}


def named(**new: Any) -> dict[str, Any]:
    return {**NEW, "new": {**NEW["new"], **new}}


def refusal(body: JsonValue, stem: str = STEM) -> ShapeRefusal:
    found = validate(body, stem)
    assert isinstance(found, ShapeRefusal), found
    return found


def reason(body: JsonValue, stem: str = STEM) -> str | None:
    found = validate(body, stem)
    return found.reason if isinstance(found, ShapeRefusal) else None


# --- which contract ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ({"sessionId": "x", "command": "y"}, Family.LEGACY),
        ({}, Family.LEGACY),
        ({"Version": 1}, Family.LEGACY),
        ({"version": None}, Family.VERSIONED),
        ({"action": "open"}, Family.VERSIONED),
        ({"action": None, "sessionId": "x", "command": "y"}, Family.VERSIONED),
        ({"version": 1, "command": "y"}, Family.VERSIONED),
        *((body, Family.NO_OBJECT) for body in (None, [], [{"version": 1}], "open", 1, True)),
    ],
)
def test_classification(body: Any, expected: Family) -> None:
    assert family(body) is expected


# --- the examples -----------------------------------------------------------------------------------------------------


def test_example_open_by_id() -> None:
    body = {**RESUME, "timeout_ms": 300000, "expectedCwd": "/srv/project"}
    assert validate(body, STEM) == OpenResume(ID, "Continue the task", 300_000, "/srv/project")


def test_example_open_new() -> None:
    assert validate({**NEW, "timeout_ms": 300000}, STEM) == OpenNew(
        "/srv/project", "Follow-up", "Investigate the failure", 300_000
    )


def test_example_stop() -> None:
    body = {**STOP, "timeout_ms": 300000, "expectedCwd": "/srv/project"}
    assert validate(body, STEM) == Stop(ID, "Save a resume note", 300_000, "/srv/project")


def test_what_may_be_left_out_may() -> None:
    assert validate(without(RESUME, "prompt"), STEM) == OpenResume(ID)
    assert validate(NEW, STEM) == OpenNew("/srv/project", "Follow-up", "Investigate the failure")
    assert validate(without(STOP, "before"), STEM) == Stop(ID)


@pytest.mark.parametrize(
    ("body", "subject"),
    [
        (RESUME, Subject(1, "open", Mode.RESUME, ID, 1)),
        (without(RESUME, "prompt"), Subject(1, "open", Mode.RESUME, ID, 0)),
        (NEW, Subject(1, "open", Mode.NEW, None, 1)),
        (STOP, Subject(1, "stop", Mode.STOP, ID, 1)),
        (without(STOP, "before"), Subject(1, "stop", Mode.STOP, ID, 0)),
    ],
)
def test_the_subject_of_a_request(body: Any, subject: Subject) -> None:
    request = validate(body, STEM)
    assert not isinstance(request, ShapeRefusal)
    assert subject_of(request) == subject


# --- every row --------------------------------------------------------------------------------------------------------

NOT_STRINGS: list[Any] = [None, False, 0, 1.5, [], {}, ["x"]]
BLANK = ["", " ", "\t\n", "\u2028\ufeff\u00a0"]
NOT_IDS: list[Any] = [
    *NOT_STRINGS,
    *("", "name", ID[:-1], ID + "0", f" {ID}", f"{ID}\n", f"{ID}\n\n", "sub:" + ID, ID.replace("-", ""), "g" + ID[1:]),
    *("\uff10" + ID[1:], "/" + ID, "cse_01234567", "{" + ID + "}"),
]

FAILURES: dict[str, list[tuple[Any, str]]] = {
    "object": [(body, "trigger must be an object") for body in (None, [], [RESUME], "text", 12, True, 1e999)],
    "version": [
        *(
            ({**RESUME, "version": version}, "unsupported version")
            for version in (None, True, "1", 0, 2, 1.5, -1, [1], {}, 1e999)
        ),
        (without(RESUME, "version"), "unsupported version"),
        ({"action": "close"}, "unsupported version"),
    ],
    "action": [
        *(
            ({**RESUME, "action": action}, "unsupported action")
            for action in (None, "", "Open", "open ", "close", 1, ["open"], {}, True)
        ),
        (without(RESUME, "action"), "unsupported action"),
    ],
    "open target": [
        ({**RESUME, "new": {}}, "open requires exactly one of sessionId or new"),
        ({**RESUME, "new": None}, "open requires exactly one of sessionId or new"),
        (without(RESUME, "sessionId"), "open requires exactly one of sessionId or new"),
    ],
    "stop target": [(without(STOP, "sessionId"), "missing required field: sessionId")],
    "unsupported field": [
        *(
            ({**RESUME, name: value}, f"unsupported field: {name}")
            for name in (
                "before",
                "command",
                "key",
                "chain",
                "cli",
                "wait",
                "options",
                "focus",
                "cwd",
                "permissionMode",
            )
            for value in (None, False, "x")
        ),
        *(({**NEW, name: None}, f"unsupported field: {name}") for name in ("expectedCwd", "before", "cli", "")),
        *(({**STOP, name: None}, f"unsupported field: {name}") for name in ("prompt", "new", "force", "__proto__")),
        (named(options={}), "unsupported field: new.options"),
        (named(permissionMode=None), "unsupported field: new.permissionMode"),
        ({**named(z=1, a=1), "o": 1}, "unsupported field: new.a"),
        ({**named(a=1), "nevermind": 1}, "unsupported field: nevermind"),
        ({**STOP, "new": {"a": 1}}, "unsupported field: new"),
        # By UTF-16 units a character beyond U+FFFF comes before U+FF5E.
        ({**RESUME, "\uff5e": 1, EMOJI: 1}, f"unsupported field: {EMOJI}"),
        ({**RESUME, "b": 1, "B": 1, "a": 1}, "unsupported field: B"),
    ],
    "sessionId": [
        ({**body, "sessionId": value}, "sessionId must be a UUID") for body in (RESUME, STOP) for value in NOT_IDS
    ],
    "new": [({**NEW, "new": value}, "new must be an object") for value in (None, [], "x", 1, False)],
    "new.project": [
        *((named(project=value), "new.project must be an absolute path") for value in NOT_STRINGS),
        *(
            (named(project=value), "new.project must be an absolute path")
            for value in ("", "srv", "./srv", "~/srv", "C:\\srv", " /srv")
        ),
        ({**NEW, "new": {"name": "x"}}, "new.project must be an absolute path"),
    ],
    "new.name": [
        *((named(name=value), "new.name must be a non-empty string") for value in [*NOT_STRINGS, *BLANK]),
        ({**NEW, "new": {"project": "/srv"}}, "new.name must be a non-empty string"),
    ],
    "new.name length": [
        (named(name="x" * 257), "new.name too long (max 256 characters)"),
        (named(name=" " * 256 + "x"), "new.name too long (max 256 characters)"),
        (named(name=EMOJI * 128 + "x"), "new.name too long (max 256 characters)"),
    ],
    "new.name controls": [
        (named(name=f"a{char}b"), "new.name contains control characters")
        for char in ("\x00", "\t", "\n", "\r", "\x1b", "\x1f", "\x7f")
    ],
    "text": [
        *(({**RESUME, "prompt": value}, "prompt must be a non-empty string") for value in [*NOT_STRINGS, *BLANK]),
        *(({**NEW, "prompt": value}, "prompt must be a non-empty string") for value in [*NOT_STRINGS, *BLANK]),
        *(({**STOP, "before": value}, "before must be a non-empty string") for value in [*NOT_STRINGS, *BLANK]),
        (without(NEW, "prompt"), "prompt must be a non-empty string"),
    ],
    "text length": [
        ({**RESUME, "prompt": "x" * 4097}, "prompt too long (max 4 KB)"),
        ({**NEW, "prompt": EMOJI * 2048 + "x"}, "prompt too long (max 4 KB)"),
        ({**STOP, "before": "\x1b" * 4097}, "before too long (max 4 KB)"),
    ],
    "text controls": [
        ({**body, field: f"a{char}b"}, rf"{field} contains forbidden control characters (\r \n \0 \x1b)")
        for body, field in ((RESUME, "prompt"), (NEW, "prompt"), (STOP, "before"))
        for char in ("\r", "\n", "\0", "\x1b")
    ],
    "timeout_ms": [
        ({**body, "timeout_ms": value}, "invalid timeout_ms")
        for body in (RESUME, NEW, STOP)
        for value in (None, True, "1", 0, -1, 1.5, 600_001, 1e999, -1e999, [], {})
    ],
    "expectedCwd": [
        ({**body, "expectedCwd": value}, "expectedCwd must be a non-empty string when present")
        for body in (RESUME, STOP)
        for value in [*NOT_STRINGS, ""]
    ],
}


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        pytest.param(body, expected, id=f"{row}-{number}")
        for row, cases in FAILURES.items()
        for number, (body, expected) in enumerate(cases)
    ],
)
def test_row(body: Any, expected: str) -> None:
    assert reason(body) == expected


@pytest.mark.parametrize(
    "stem", ["", "name", STEM.upper(), STEM[:-1], STEM + "\n", f"{STEM}.action", f" {STEM}", STEM.replace("a", "A", 1)]
)
@pytest.mark.parametrize("body", [RESUME, NEW, STOP], ids=["resume", "new", "stop"])
def test_row_file_name(body: Any, stem: str) -> None:
    assert reason(body, stem) == "trigger filename must be a lowercase UUID"
    assert not is_request_id(stem)


def test_every_row_has_its_cases() -> None:
    assert {row.name for row in TABLE} == {*FAILURES, "file name"}


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        pytest.param({**RESUME, "sessionId": ID.upper()}, OpenResume(ID, "Continue the task"), id="upper-case id"),
        pytest.param({**RESUME, "version": 1.0}, OpenResume(ID, "Continue the task"), id="version 1.0"),
        pytest.param({**RESUME, "timeout_ms": 1}, OpenResume(ID, "Continue the task", 1), id="shortest timeout"),
        pytest.param({**RESUME, "timeout_ms": 6e5}, OpenResume(ID, "Continue the task", 600_000), id="longest timeout"),
        pytest.param({**RESUME, "prompt": "x" * 4096}, OpenResume(ID, "x" * 4096), id="longest prompt"),
        pytest.param({**RESUME, "prompt": EMOJI * 2048}, OpenResume(ID, EMOJI * 2048), id="longest in UTF-16 units"),
        pytest.param({**RESUME, "prompt": " \tx "}, OpenResume(ID, " \tx "), id="prompts are not trimmed"),
        # Python's strip() would empty these; ECMAScript's trim does not.
        pytest.param({**RESUME, "prompt": "\x1c\x85"}, OpenResume(ID, "\x1c\x85"), id="not blank in ECMAScript"),
        pytest.param({**RESUME, "prompt": "\ud800"}, OpenResume(ID, "\ud800"), id="a lone surrogate"),
        pytest.param({**RESUME, "expectedCwd": " "}, OpenResume(ID, "Continue the task", None, " "), id="a blank cwd"),
        pytest.param(named(name="\u00a0 n\ufeff"), OpenNew("/srv/project", "n", NEW["prompt"]), id="names are trimmed"),
        pytest.param(named(name="x" * 256), OpenNew("/srv/project", "x" * 256, NEW["prompt"]), id="longest name"),
        pytest.param(
            named(name="a\x80b"), OpenNew("/srv/project", "a\x80b", NEW["prompt"]), id="C1 is no control here"
        ),
        pytest.param(named(project="/"), OpenNew("/", "Follow-up", NEW["prompt"]), id="the root"),
        pytest.param(named(project="/a\0b"), OpenNew("/a\0b", "Follow-up", NEW["prompt"]), id="any absolute path"),
    ],
)
def test_the_boundary_is_valid(body: Any, expected: Any) -> None:
    assert validate(body, STEM) == expected


# --- order ------------------------------------------------------------------------------------------------------------

_WRONG_NEW = {"project": "srv", "name": "\x7f" * 257, "options": 1}
ORDER: list[tuple[str, Any, str]] = [
    ("object", [], "bad"),
    ("version", {"version": 2, "action": "no"}, "bad"),
    ("action", {"version": 1, "action": "no", "sessionId": 1, "new": 1}, "bad"),
    ("file name", {"version": 1, "action": "open", "sessionId": 1, "new": 1}, "bad"),
    ("open target", {"version": 1, "action": "open", "sessionId": 1, "new": 1, "x": 1}, STEM),
    ("stop target", {"version": 1, "action": "stop", "new": 1, "x": 1}, STEM),
    ("unsupported field", {"version": 1, "action": "open", "sessionId": 1, "x": 1, "prompt": 1}, STEM),
    ("unsupported field", {"version": 1, "action": "open", "new": _WRONG_NEW, "prompt": 1}, STEM),
    ("unsupported field", {"version": 1, "action": "open", "new": 1, "x": 1}, STEM),
    ("sessionId", {"version": 1, "action": "open", "sessionId": 1, "prompt": 1, "timeout_ms": 0}, STEM),
    ("new", {"version": 1, "action": "open", "new": 1, "prompt": 1}, STEM),
    ("new.project", {"version": 1, "action": "open", "new": {"project": "x", "name": ""}, "prompt": 1}, STEM),
    ("new.name", {"version": 1, "action": "open", "new": {"project": "/", "name": "\n" * 300}, "prompt": 1}, STEM),
    ("new.name length", {"version": 1, "action": "open", "new": {"project": "/", "name": "x\n" * 200}}, STEM),
    ("new.name controls", {"version": 1, "action": "open", "new": {"project": "/", "name": "x\n"}, "prompt": 1}, STEM),
    ("text", {"version": 1, "action": "open", "sessionId": ID, "prompt": "\n" * 5000, "timeout_ms": 0}, STEM),
    ("text length", {"version": 1, "action": "open", "sessionId": ID, "prompt": "x\n" * 5000, "timeout_ms": 0}, STEM),
    ("text controls", {"version": 1, "action": "open", "sessionId": ID, "prompt": "x\n", "timeout_ms": 0}, STEM),
    ("timeout_ms", {"version": 1, "action": "open", "sessionId": ID, "timeout_ms": 0, "expectedCwd": ""}, STEM),
]


@pytest.mark.parametrize(("row", "body", "stem"), ORDER, ids=[row for row, _, _ in ORDER])
def test_the_first_failure_wins(row: str, body: Any, stem: str) -> None:
    """Each body fails in that row and in a later one."""
    texts = {
        "file name": v1_reasons.BAD_FILE_NAME,
        "unsupported field": "unsupported field: " + ("new.options" if body.get("new") == _WRONG_NEW else "x")
        if isinstance(body, dict)
        else "",
    }
    assert reason(body, stem) == (texts.get(row) or FAILURES[row][0][1])


# --- what a refusal echoes --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("body", "stem", "subject"),
    [
        pytest.param([], STEM, Subject(), id="no object"),
        pytest.param({"version": 2, "action": ["x"]}, STEM, Subject(2, ["x"]), id="version and action as given"),
        pytest.param({"version": "1"}, STEM, Subject("1", None), id="a missing action is null"),
        pytest.param({"action": "open"}, STEM, Subject(None, "open"), id="a missing version is null"),
        pytest.param({**RESUME, "version": 2}, STEM, Subject(2, "open", None, None, 1), id="a prompt of any version"),
        pytest.param({**STOP, "action": "end"}, STEM, Subject(1, "end", None, None, 1), id="a note of any action"),
        pytest.param({**STOP, "action": "end", "before": ""}, STEM, Subject(1, "end"), id="a blank note counts not"),
        pytest.param(RESUME, "X", Subject(1, "open", None, None, 1), id="file name: no mode yet"),
        pytest.param({**RESUME, "new": 1}, STEM, Subject(1, "open", None, None, 1), id="both targets: no mode yet"),
        pytest.param(
            {**RESUME, "cli": "x"}, STEM, Subject(1, "open", Mode.RESUME, None, 1), id="unsupported field: no id yet"
        ),
        pytest.param({**RESUME, "sessionId": "x"}, STEM, Subject(1, "open", Mode.RESUME, None, 1), id="a wrong id"),
        pytest.param(
            {**RESUME, "sessionId": ID.upper(), "prompt": ""}, STEM, Subject(1, "open", Mode.RESUME, ID, 0), id="an id"
        ),
        pytest.param({**NEW, "new": 1}, STEM, Subject(1, "open", Mode.NEW, None, 1), id="new is never an id"),
        pytest.param({**NEW, "timeout_ms": 0}, STEM, Subject(1, "open", Mode.NEW, None, 1), id="new, later row"),
        pytest.param({**STOP, "timeout_ms": 0}, STEM, Subject(1, "stop", Mode.STOP, ID, 1), id="stop, later row"),
        pytest.param({**STOP, "prompt": "x"}, STEM, Subject(1, "stop", Mode.STOP, None, 1), id="stop with a prompt"),
        pytest.param(
            {**without(STOP, "before"), "prompt": "x"}, STEM, Subject(1, "stop", Mode.STOP), id="a stop has no prompt"
        ),
        pytest.param({**RESUME, "version": 1.0, "cli": 1}, STEM, Subject(1, "open", Mode.RESUME, None, 1), id="1.0"),
    ],
)
def test_echo(body: Any, stem: str, subject: Subject) -> None:
    assert refusal(body, stem).subject == subject


# --- any JSON at all --------------------------------------------------------------------------------------------------

scalars = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text()
anything = st.recursive(scalars, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=20)
texts = st.text(st.characters(codec=None)) | st.sampled_from(["", " ", "x", "\ud800", "a\x1bb"])
ids = st.sampled_from([ID, ID.upper(), "x", ID + "\n"])
near = st.fixed_dictionaries(
    {},
    optional={
        "version": st.sampled_from([1, 1.0, 2, "1", None, True]),
        "action": st.sampled_from(["open", "stop", "Open", None]),
        "sessionId": ids | anything,
        "new": st.fixed_dictionaries({}, optional={"project": texts | st.just("/p"), "name": texts, "x": scalars})
        | anything,
        "prompt": texts | anything,
        "before": texts | anything,
        "timeout_ms": scalars,
        "expectedCwd": texts | scalars,
        "extra": scalars,
    },
)
mostly_right = st.builds(
    lambda base, changes: {**base, **changes},
    st.sampled_from([RESUME, NEW, STOP]),
    st.dictionaries(st.sampled_from(["prompt", "before", "timeout_ms", "expectedCwd", "sessionId"]), texts | scalars),
)


@given(anything | near | mostly_right, st.sampled_from([STEM, STEM.upper(), "x", ""]))
@example({"version": 1, "action": "open", "sessionId": ID, "prompt": "\ud800"}, STEM)
def test_any_value_has_exactly_one_outcome(body: Any, stem: str) -> None:
    if family(body) is Family.LEGACY:
        return
    found = validate(body, stem)
    if isinstance(found, ShapeRefusal):
        result = shape_refused(found)
        assert result["outcome"] == "refused"
        assert isinstance(found.reason, str)
        parse(decode_utf8(encode(result)))
    else:
        request_holds(found)
        assert is_request_id(stem)


def request_holds(request: OpenResume | OpenNew | Stop) -> None:
    """What every request promises to those who carry it out."""
    if request.text is not None:
        assert request.text.strip() or request.text
        assert 0 < utf16_length(request.text) <= 4096
        assert not set(request.text) & set("\r\n\0\x1b")
    if request.timeout_ms is not None:
        assert type(request.timeout_ms) is int
        assert 1 <= request.timeout_ms <= 600_000
    if isinstance(request, OpenNew):
        assert request.project.startswith("/")
        assert request.name == request.name.strip("\ufeff\u00a0 ")
    else:
        assert is_request_id(request.session_id)


def deep(opening: str, closing: str, depth: int = 30_000) -> str:
    return opening * depth + closing * depth


HARD = {
    "deep array": deep("[", "]"),
    "deep object": '{"a":' * 10_000 + "1" + "}" * 10_000,
    "deep version": f'{{"version":{deep("[", "]")}}}',
    "deep action": f'{{"version":1,"action":{deep("[", "]")}}}',
    "deep id": f'{{"version":1,"action":"open","sessionId":{deep("[", "]")}}}',
    "deep new": f'{{"version":1,"action":"open","new":{deep("[", "]")}}}',
    "deep field": f'{{"version":1,"action":"open","sessionId":"{ID}","x":{deep("[", "]")}}}',
    "deep prompt": f'{{"version":1,"action":"open","sessionId":"{ID}","prompt":{deep("[", "]")}}}',
    "deep timeout": f'{{"version":1,"action":"open","sessionId":"{ID}","timeout_ms":{deep("[", "]")}}}',
    "long version": f'{{"version":{"1" * 5000}}}',
    "long timeout": f'{{"version":1,"action":"open","sessionId":"{ID}","timeout_ms":{"1" * 5000}}}',
    "long negative": f'{{"version":-{"9" * 5000}}}',
    "surrogates": json.dumps({"version": "\ud800", "action": "\udfff", "\ud800": "\udc00"}),
    "surrogate field": json.dumps({**RESUME, "\ud83d": 1}),
}


@pytest.mark.parametrize("text", list(HARD.values()), ids=HARD)
def test_hard_bodies_are_refused_and_answered(text: str) -> None:
    body = parse(text)
    found = validate(body, STEM)
    # Compared by identity and length only: `==` recurses.
    assert isinstance(found, ShapeRefusal)
    written = encode(shape_refused(found))
    written.decode("utf-8")
    assert written.endswith(b"\n")
    answer = parse(decode_utf8(written))
    assert isinstance(answer, dict)
    assert answer["outcome"] == "refused"


def test_an_unsupported_version_comes_back_as_javascript_would_print_it() -> None:
    text = '{"version":2.0,"action":1e21}'
    assert encode(shape_refused(refusal(parse(text)))).startswith(b'{"version":2,"action":1e+21,"ok":false,')
