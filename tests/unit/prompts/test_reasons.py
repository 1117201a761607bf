"""Texts: each once, and none elsewhere in the room."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
from tests.support.prompt_talk import CLOSE, STOP, Talk, running, submit, to_turn

from switchboard.prompts import reasons
from switchboard.prompts.events import Event

ROOM = Path(reasons.__file__).parent


def test_every_text_is_there_once() -> None:
    texts = reasons.catalogue()
    assert len(set(texts.values())) == len(texts) >= 20
    assert (
        texts["queue_full"] == "the queue is full (max <limit> waiting prompts); cancel one, or wait until one starts"
    )
    assert "<limit>" in texts["mid_turn_full"]


def test_no_refusal_and_no_end_has_a_text_of_its_own() -> None:
    spelled = []
    for path in ROOM.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in {"Refused", "Ended"}:
                spelled += [f"{path.name}:{one.lineno}" for one in node.args if isinstance(one, ast.Constant)]
    assert spelled == [], "take these from prompts/reasons.py"


@pytest.mark.parametrize(
    ("talk", "event", "reason"),
    [
        (running(), submit("b", " "), reasons.EMPTY),
        (running(), submit("a"), reasons.DUPLICATE),
        (running(), to_turn("a"), reasons.STARTED),
        (running(), to_turn("x"), reasons.UNKNOWN),
        (Talk(submit("a")), to_turn("a"), reasons.NO_TURN),
        (running(STOP), STOP, reasons.STOPPING),
        (Talk(), STOP, reasons.NOTHING_RUNNING),
        (Talk(CLOSE), submit("a"), reasons.CLOSED),
    ],
)
def test_a_refusal_is_the_text_and_changes_nothing(talk: Talk, event: Event, reason: str) -> None:
    before = talk.ledger.fifo, talk.ledger.claims
    assert talk.when(event) == [f"no: {reason}"]
    assert (talk.ledger.fifo, talk.ledger.claims) == before
