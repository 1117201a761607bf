"""The loopback Messages API by itself, over real HTTP on loopback."""

from __future__ import annotations

import http.client
import json
import threading
from collections.abc import Iterator
from typing import Any

import pytest
from tests.support.messages_api import PLAIN, SUMMARY, Gate, MessagesApi, Reply, ToolCall


@pytest.fixture
def api() -> Iterator[MessagesApi]:
    with MessagesApi(thinking_s=0) as server:
        yield server


def post(api: MessagesApi, path: str, body: dict[str, Any]) -> tuple[int, bytes]:
    connection = http.client.HTTPConnection(api.url.removeprefix("http://"), timeout=10)
    try:
        connection.request("POST", path, json.dumps(body), {"Content-Type": "application/json"})
        response = connection.getresponse()
        return response.status, response.read()
    finally:
        connection.close()


def turn(content: Any, **more: Any) -> dict[str, Any]:
    return {"model": "m", "tools": [{"name": "Bash"}], "messages": [{"role": "user", "content": content}], **more}


def say(api: MessagesApi, content: Any, **more: Any) -> dict[str, Any]:
    status, body = post(api, "/v1/messages", turn(content, **more))
    assert status == 200
    answer: dict[str, Any] = json.loads(body)
    return answer


def events(body: bytes) -> list[dict[str, Any]]:
    blocks = body.decode().strip().split("\n\n")
    parsed = [dict(line.split(": ", 1) for line in block.split("\n")) for block in blocks]
    assert [block["event"] for block in parsed] == [json.loads(block["data"])["type"] for block in parsed]
    return [json.loads(block["data"]) for block in parsed]


def test_plain_reply_when_nothing_is_scripted(api: MessagesApi) -> None:
    answer = say(api, "hello")
    assert answer["content"] == [{"type": "text", "text": PLAIN}]
    assert answer["stop_reason"] == "end_turn"


def test_stream_of_a_tool_call(api: MessagesApi) -> None:
    api.answer("make it", Reply("On it.", ToolCall("Bash", {"command": "true"})))
    _, body = post(api, "/v1/messages?beta=true", turn("please make it", stream=True))
    told = events(body)
    assert [event["type"] for event in told] == [
        "message_start",
        *["content_block_start", "content_block_delta", "content_block_stop"] * 2,
        "message_delta",
        "message_stop",
    ]
    assert told[2]["delta"] == {"type": "text_delta", "text": "On it."}
    assert told[4]["content_block"]["name"] == "Bash"
    assert json.loads(told[5]["delta"]["partial_json"]) == {"command": "true"}
    assert told[7]["delta"]["stop_reason"] == "tool_use"


def test_scripts_in_turn_and_the_newest_rule_first(api: MessagesApi) -> None:
    api.answer("x", Reply("one"), Reply("two"))
    said = [say(api, "x")["content"][0]["text"] for _ in range(3)]
    api.answer("x", Reply("other"))
    said.append(say(api, "x")["content"][0]["text"])
    assert said == ["one", "two", "two", "other"]


def test_side_request_without_tools_does_not_take_a_script(api: MessagesApi) -> None:
    api.answer("x", Reply("scripted"))
    assert say(api, "title of x", tools=[])["content"][0]["text"] == PLAIN
    assert say(api, "x")["content"][0]["text"] == "scripted"


def test_request_for_a_summary_gets_one(api: MessagesApi) -> None:
    asked = "Your task is to create a detailed summary of the conversation so far"
    assert say(api, asked)["content"][0]["text"] == SUMMARY


def test_reminders_are_not_what_the_person_said_and_tool_results_are(api: MessagesApi) -> None:
    say(api, [{"type": "text", "text": "<system-reminder>x</system-reminder>"}, {"type": "text", "text": "hello"}])
    say(api, [{"type": "tool_result", "tool_use_id": "t", "content": [{"type": "text", "text": "output"}]}])
    assert [request.prompt for request in api.requests] == ["hello", "output"]


def test_gate_holds_the_reply_back(api: MessagesApi) -> None:
    gate, answers = Gate(), []
    api.answer("slow", Reply("at last", gate=gate))
    caller = threading.Thread(target=lambda: answers.append(say(api, "slow one")))
    caller.start()
    assert gate.reached.wait(10)
    assert api.wait_for(lambda request: "slow" in request.prompt, 10).is_turn
    assert answers == []
    gate.open()
    caller.join(10)
    assert answers[0]["content"][0]["text"] == "at last"


def test_closing_lets_a_held_reply_go() -> None:
    with MessagesApi(thinking_s=0) as api:
        gate = Gate()
        api.answer("slow", Reply("late", gate=gate))
        host = api.url.removeprefix("http://")
        connection = http.client.HTTPConnection(host, timeout=10)
        connection.request("POST", "/v1/messages", json.dumps(turn("slow")))
        assert gate.reached.wait(10)
    connection.close()


def test_count_tokens_and_unknown_routes(api: MessagesApi) -> None:
    status, body = post(api, "/v1/messages/count_tokens", turn("hello"))
    assert (status, json.loads(body)["input_tokens"] > 0) == (200, True)
    assert post(api, "/v1/elsewhere", {})[0] == 404


def test_waiting_for_a_request_that_never_comes_says_what_came(api: MessagesApi) -> None:
    say(api, "hello")
    with pytest.raises(TimeoutError, match="hello"):
        api.wait_for(lambda request: False, 0.01)
