"""One descriptor: what is read of it, and what a damaged one says."""

from __future__ import annotations

import json
from typing import Any

import pytest

from switchboard.clis.descriptors import (
    Descriptor,
    DescriptorChange,
    DescriptorUnreadable,
    claimed_sessions,
    is_descriptor_name,
    parse_descriptor,
    pid_of_name,
)
from switchboard.common.facts import CliStatus

MEASURED: dict[str, Any] = {
    "pid": 4711,
    "sessionId": "6F1D2A0E-0000-4000-8000-000000000001",
    "cwd": "/home/ada/work",
    "startedAt": 1_790_000_000_000,
    "procStart": "123456",
    "version": "2.1.332",
    "peerProtocol": 1,
    "kind": "interactive",
    "entrypoint": "cli",
    "name": "work",
    "nameSource": "derived",
    "status": "waiting",
    "updatedAt": 1_790_000_000_500,
    "statusUpdatedAt": 1_790_000_000_400,
    "waitingFor": "permission prompt",
    "pidDomain": "linux:0123:pid:[4026531836]",
}


def read(**changes: Any) -> Descriptor | None:
    body = {**MEASURED, **changes}
    return parse_descriptor(json.dumps({key: value for key, value in body.items() if value is not ...}).encode())


def test_every_field_of_a_measured_descriptor() -> None:
    assert read() == Descriptor(
        pid=4711,
        session_id="6F1D2A0E-0000-4000-8000-000000000001",
        status=CliStatus("waiting", 1_790_000_000_400, "permission prompt", "2.1.332"),
        proc_start="123456",
        pid_domain="linux:0123:pid:[4026531836]",
        kind="interactive",
        cwd="/home/ada/work",
        started_at=1_790_000_000_000,
        name="work",
        version="2.1.332",
    )


def test_3_1_session_id_is_compared_in_lower_case() -> None:
    found = read()
    assert found is not None
    assert found.key == "6f1d2a0e-0000-4000-8000-000000000001"


@pytest.mark.parametrize(
    ("pid", "expected"),
    [
        pytest.param(1, 1, id="3.1 pid: positive"),
        pytest.param(7.0, 7, id="3.1 pid: an integral number is an integer"),
        pytest.param(0, None, id="3.1 pid: zero"),
        pytest.param(-5, None, id="3.1 pid: negative"),
        pytest.param(1.5, None, id="3.1 pid: fraction"),
        pytest.param("12", None, id="3.1 pid: text"),
        pytest.param(True, None, id="3.1 pid: boolean"),
        pytest.param(None, None, id="3.1 pid: null"),
        pytest.param(2**31, None, id="3.1 pid: beyond what a process can have"),
        pytest.param(..., None, id="3.1 pid: absent"),
    ],
)
def test_pid(pid: object, expected: int | None) -> None:
    found = read(pid=pid)
    assert (found.pid if found else None) == expected


@pytest.mark.parametrize("session_id", [..., "", None, 5, ["a"]])
def test_3_1_session_id_must_be_a_non_empty_string(session_id: object) -> None:
    assert read(sessionId=session_id) is None


@pytest.mark.parametrize(
    ("status", "expected"),
    [
        pytest.param("busy", "busy", id="3.1 status busy"),
        pytest.param("idle", "idle", id="3.1 status idle"),
        pytest.param("waiting", "waiting", id="3.1 status waiting"),
        pytest.param("shell", "shell", id="3.1 status shell"),
        pytest.param("compacting", None, id="3.1 status unknown"),
        pytest.param("BUSY", None, id="3.1 status in another case is unknown"),
        pytest.param(..., None, id="3.1 status absent: just started"),
        pytest.param(3, None, id="3.1 status of another type"),
    ],
)
def test_status(status: object, expected: str | None) -> None:
    found = read(status=status)
    assert found is not None
    assert found.status.status == expected


@pytest.mark.parametrize(
    ("stamp", "expected"),
    [
        pytest.param(1000, 1000, id="3.1 stamp: integer"),
        pytest.param(1000.0, 1000, id="3.1 stamp: integral number"),
        pytest.param(1000.7, None, id="3.1 stamp: fraction is unusable"),
        pytest.param("1000", None, id="3.1 stamp: text is unusable"),
        pytest.param(True, None, id="3.1 stamp: boolean is unusable"),
        pytest.param(..., None, id="3.1 stamp: absent"),
        pytest.param(-1, None, id="3.1 stamp: before time began"),
        pytest.param(10**30, None, id="3.1 stamp: no date, and must not prove everything"),
    ],
)
def test_status_updated_at(stamp: object, expected: int | None) -> None:
    found = read(statusUpdatedAt=stamp)
    assert found is not None
    assert found.status.updated_at == expected


@pytest.mark.parametrize(
    ("start", "expected"), [("77", "77"), (77, "77"), (77.0, "77"), (None, None), (..., None), ("", None), (True, None)]
)
def test_3_1_proc_start_is_kept_as_text(start: object, expected: str | None) -> None:
    found = read(procStart=start)
    assert found is not None
    assert found.proc_start == expected


def test_3_1_a_background_job_names_its_job() -> None:
    found = read(kind="bg", jobId="job-1", bridgeSessionId="other")
    assert found is not None
    assert (found.kind, found.job_id, found.bridge_session_id) == ("bg", "job-1", "other")


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(b"", id="empty: just truncated"),
        pytest.param(json.dumps(MEASURED).encode()[:80], id="half of it written"),
        pytest.param(json.dumps(MEASURED).encode() + b'd":1}', id="tail of an older, longer one"),
        pytest.param(b"\xff\xfe\x00", id="no text"),
        pytest.param(b"\xef\xbb\xbf{}", id="a byte-order mark"),
        pytest.param(b'{"pid":NaN}', id="NaN"),
        pytest.param(b"[" * 60_000, id="deep and unfinished"),
    ],
)
def test_what_is_no_json_is_no_news(data: bytes) -> None:
    with pytest.raises(DescriptorUnreadable):
        parse_descriptor(data)


@pytest.mark.parametrize(
    "data",
    [b"null", b"5", b"[]", b'"x"', b"{}", b'{"pid":{},"sessionId":[]}', b"[" * 30_000 + b"]" * 30_000],
    ids=["null", "number", "list", "text", "empty", "types", "deep"],
)
def test_json_that_describes_no_session(data: bytes) -> None:
    assert parse_descriptor(data) is None


def test_a_deep_unknown_field_and_a_huge_number_do_no_harm() -> None:
    text = json.dumps(MEASURED)[:-1] + ',"x":' + "[" * 20_000 + "]" * 20_000 + ',"y":' + "9" * 5_000 + "}"
    found = parse_descriptor(text.encode())
    assert found is not None
    assert found.pid == 4711


@pytest.mark.parametrize(
    ("name", "accepted"),
    [
        ("4711.json", True),
        ("0.json", True),
        ("pid-4711.json", False),
        ("4711.abcdef.key", False),
        ("4711.json.tmp", False),
        (".json", False),
        ("4711", False),
        ("-4711.json", False),
        ("4 7.json", False),
        ("٤٧.json", False),
        ("²3.json", False),
        ("4711.JSON", False),
    ],
)
def test_3_1_only_digits_make_a_descriptors_name(name: str, accepted: bool) -> None:
    assert is_descriptor_name(name) is accepted


def test_the_number_in_a_name_is_bounded() -> None:
    assert pid_of_name("0042.json") == 42
    assert pid_of_name("9" * 5_000 + ".json") > 2**31


def test_changes_tell_a_new_key_from_a_new_process() -> None:
    before, cleared, successor, silent = read(), read(sessionId="b"), read(procStart="999"), read(procStart=...)
    assert silent is not None
    assert before is not None
    assert cleared is not None
    assert successor is not None
    assert before.same_process(cleared)
    assert not before.same_process(successor)
    assert before.same_process(silent)
    assert silent.same_process(successor)
    assert DescriptorChange(before, cleared).rekeyed
    assert not DescriptorChange(before, read(status="idle")).rekeyed
    assert not DescriptorChange(before, read(sessionId=before.key)).rekeyed
    assert not DescriptorChange(None, cleared).rekeyed
    assert not DescriptorChange(before, None).rekeyed


@pytest.mark.parametrize(
    ("data", "claimed"),
    [
        (b'{"sessionId": "ABC"}', {"abc"}),
        (b'{"sessionId": "a", "bridgeSessionId": "B", "pid": "x"}', {"a", "b"}),
        (b'{"sessionId": 5, "pid": 5}', set()),
        (b'{"sessionId": ""}', set()),
        (b"[]", set()),
        (b"{", set()),
        (b"", set()),
    ],
)
def test_what_a_file_claims_whatever_else_is_wrong_with_it(data: bytes, claimed: set[str]) -> None:
    assert claimed_sessions(data) == claimed


def test_what_stays_while_a_process_keeps_its_conversation() -> None:
    one = parse_descriptor(b'{"pid":5,"sessionId":"A","procStart":"7","status":"idle","bridgeSessionId":"B"}')
    busy = parse_descriptor(b'{"pid":5,"sessionId":"a","procStart":"7","status":"busy","bridgeSessionId":"b"}')
    cleared = parse_descriptor(b'{"pid":5,"sessionId":"c","procStart":"7","status":"busy"}')
    assert one is not None
    assert busy is not None
    assert cleared is not None
    assert one.keys == {"a", "b"}
    assert one.identity == busy.identity
    assert one.identity != cleared.identity
