"""A host that can write no file any more, as on a full disk, and one whose results have no folder.

No disk is mounted: the running host's limit on the size of files is set to nothing from outside. It can then still make
files and read, rename and remove them, while each write fails, for results, log and database alike.
"""

from __future__ import annotations

import contextlib
import json
import resource
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.support.field import FAST, FieldHost
from tests.support.hosting import page

from switchboard.page import messages


@pytest.fixture
def host(tmp_path: Path) -> Iterator[FieldHost]:
    made = FieldHost(tmp_path, FAST)
    made.start()
    yield made
    made.clean_up()


@contextlib.contextmanager
def full_disk(host: FieldHost) -> Iterator[None]:
    pid = host.pid
    _, hard = resource.prlimit(pid, resource.RLIMIT_FSIZE)
    resource.prlimit(pid, resource.RLIMIT_FSIZE, (0, hard))
    try:
        yield
    finally:
        with contextlib.suppress(ProcessLookupError):
            resource.prlimit(pid, resource.RLIMIT_FSIZE, (hard, hard))


def results(host: FieldHost) -> list[str]:
    return sorted(entry.name for entry in (host.triggers / "processed").iterdir())


def requests(host: FieldHost) -> list[str]:
    return sorted(entry.name for entry in host.triggers.glob("*.json"))


async def test_one_prompt_is_typed_once_the_others_wait_and_all_are_answered(host: FieldHost) -> None:
    async with page(host) as shown:
        _, session, script = await host.open_script(shown)
        with full_disk(host):
            first = host.ask(session, "first")
            await shown.heard(
                lambda message: isinstance(message, messages.Notice) and "cannot be published" in message.text,
                "what stands in the way",
            )
            second = host.ask(session, "second")
            async with page(host) as later:
                told = await later.heard(lambda message: isinstance(message, messages.Notice), "the same, later")
                assert (told.level, "requests wait in their folder" in told.text) == ("error", True)
            assert script.submitted == ["first"]
            assert results(host) == []
            assert requests(host) == sorted(f"{name}.json" for name in (first, second))
        answers = [await host.result(name) for name in (first, second)]
        assert [(answer["ok"], answer["submitted"]) for answer in answers] == [(True, "confirmed")] * 2
        assert script.submitted == ["first", "second"]
        await shown.heard(
            lambda message: isinstance(message, messages.Notice) and message.level == "info", "that it is over"
        )
        assert results(host) == sorted(f"{name}.result.json" for name in (first, second))
        assert requests(host) == []


@pytest.mark.parametrize("end", ["terminate", "kill"])
async def test_a_restart_on_a_full_disk_types_nothing_twice_and_leaves_nothing_unanswered(
    host: FieldHost, end: str
) -> None:
    async with page(host) as shown:
        _, session, script = await host.open_script(shown)
        with full_disk(host):
            first = host.ask(session, "first")
            await shown.heard(
                lambda message: isinstance(message, messages.Notice) and "cannot be published" in message.text,
                "what stands in the way",
            )
            waiting = host.ask(session, "waiting")
            getattr(host, end)()
    host.start()
    result = await host.result(first)
    assert (result["error"], result["reason"]) == ("interrupted", "interrupted by restart")
    assert (result["submitted"], result["enter_written"]) == ("assumed", True)
    assert (await host.result(waiting))["ok"] is True
    assert script.submitted == ["first", "waiting"]
    assert requests(host) == []


async def test_nothing_is_typed_while_a_file_stands_where_results_go(host: FieldHost) -> None:
    async with page(host) as shown:
        _, session, script = await host.open_script(shown)
        place = host.triggers / "processed"
        place.rmdir()
        place.write_text("")
        name = host.ask(session, "hello")
        told = await shown.heard(lambda message: isinstance(message, messages.Notice), "what stands in the way")
        assert f"{place} cannot be used" in told.text
        doctor = host.cli("doctor", "--json")
        assert doctor.returncode == 1
        assert f"{place} cannot be used" in doctor.stdout
        place.unlink()
        assert (await host.result(name))["ok"] is True
        assert script.submitted == ["hello"]


async def test_a_request_behind_a_folder_in_its_results_place_is_left_alone_and_found_by_the_doctor(
    host: FieldHost,
) -> None:
    async with page(host) as shown:
        _, session, script = await host.open_script(shown)
        name = str(uuid.uuid4())
        place = host.triggers / "processed" / f"{name}.result.json"
        place.mkdir()
        body = {"version": 1, "action": "open", "sessionId": session, "prompt": "hello"}
        (host.triggers / "new").write_text(json.dumps(body))
        (host.triggers / "new").rename(host.triggers / f"{name}.json")
        told = await shown.heard(lambda message: isinstance(message, messages.Notice), "what stands in the way")
        assert name in told.text
        ended = await shown.heard(
            lambda message: isinstance(message, messages.TriggerActivity) and message.step == "done", "its end"
        )
        assert (ended.name, ended.ok) == (name, False)
        doctor = host.cli("doctor", "--json")
        findings = [one for one in json.loads(doctor.stdout) if name in one["text"]]
        assert ([one["level"] for one in findings], doctor.returncode) == (["problem"], 1)
        assert (host.triggers / f"{name}.json").exists()
        assert script.submitted == []
        (host.triggers / f"{name}.json").unlink()
        await shown.heard(
            lambda message: isinstance(message, messages.Notice) and message.level == "info", "that it is over"
        )


async def test_a_request_whose_result_cannot_be_named_is_left_alone_and_found_by_the_doctor(host: FieldHost) -> None:
    async with page(host) as shown:
        _, session, script = await host.open_script(shown)
        name = "x" * 240
        (host.triggers / "new").write_text(json.dumps({"sessionId": session, "command": "hello"}))
        (host.triggers / "new").rename(host.triggers / f"{name}.json")
        await shown.heard(lambda message: isinstance(message, messages.Notice), "what stands in the way")
        assert (await host.result(host.ask(session, "another")))["ok"] is True
        assert script.submitted == ["another"]
        assert (host.triggers / f"{name}.json").exists()
        doctor = host.cli("doctor", "--json")
        findings = [one for one in json.loads(doctor.stdout) if name in one["text"]]
        assert [one["level"] for one in findings] == ["problem"]
        (host.triggers / f"{name}.json").unlink()
        await shown.heard(
            lambda message: isinstance(message, messages.Notice) and message.level == "info", "that it is over"
        )
