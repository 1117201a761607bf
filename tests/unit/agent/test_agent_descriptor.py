from __future__ import annotations

import json
from dataclasses import replace

import pytest

from switchboard.agent.descriptor import Descriptor, Identity

JUST_STARTED = Descriptor(Identity(7, "42", "linux:m:pid:[1]"), "a1b2", "/home/me/pro ject", 1000, "0.1.0")


def test_it_appears_without_a_status() -> None:
    assert json.loads(JUST_STARTED.encode()) == {
        "pid": 7,
        "sessionId": "a1b2",
        "cwd": "/home/me/pro ject",
        "startedAt": 1000,
        "procStart": "42",
        "version": "0.1.0",
        "peerProtocol": 1,
        "kind": "interactive",
        "entrypoint": "cli",
        "pidDomain": "linux:m:pid:[1]",
        "name": "pro-ject-a1",
        "nameSource": "derived",
    }


def test_a_status_is_stamped() -> None:
    fields = json.loads(JUST_STARTED.with_status("waiting", "permission prompt", 2000).encode())
    assert (fields["status"], fields["waitingFor"]) == ("waiting", "permission prompt")
    assert fields["updatedAt"] == fields["statusUpdatedAt"] == 2000


def test_waiting_for_goes_with_the_waiting() -> None:
    waiting = JUST_STARTED.with_status("waiting", "permission prompt", 2000)
    assert "waitingFor" not in json.loads(waiting.with_status("busy", None, 2001).encode())


def test_another_conversation_does_not_move_the_status() -> None:
    fields = json.loads(JUST_STARTED.with_status("idle", None, 2000).rekeyed("c3d4", 3000).encode())
    assert (fields["sessionId"], fields["updatedAt"], fields["statusUpdatedAt"]) == ("c3d4", 3000, 2000)


@pytest.mark.parametrize(
    ("cwd", "name"), [("/", "root-a1"), ("/a/b/", "b-a1"), ("/" + "x" * 90, "x" * 40 + "-a1"), ("/\u00e9\n", "---a1")]
)
def test_names(cwd: str, name: str) -> None:
    assert replace(JUST_STARTED, cwd=cwd).name == name


def test_what_the_machine_does_not_tell_is_left_out() -> None:
    fields = json.loads(replace(JUST_STARTED, identity=Identity(7, None, None)).encode())
    assert "procStart" not in fields
    assert "pidDomain" not in fields
