"""Words for a versioned result that is no success."""

from __future__ import annotations

import pytest

from switchboard.cli.remedies import REMEDIES, explain, remedy
from switchboard.delivery import reasons as delivery
from switchboard.triggers import v1_reasons as reasons

SESSION = "01234567-89ab-cdef-0123-456789abcdef"


@pytest.mark.parametrize("text", reasons.catalogue().values(), ids=reasons.catalogue())
def test_every_reason_has_a_remedy(text: str) -> None:
    assert remedy(text.replace("<field>", "prompt"))


@pytest.mark.parametrize("field", ["prompt", "before"])
def test_both_texts_have_a_remedy(field: str) -> None:
    assert remedy(reasons.text_empty(field))
    assert remedy(reasons.text_too_long(field))
    assert remedy(reasons.text_controls(field))


@pytest.mark.parametrize(
    "text",
    [
        delivery.composer_pending("7"),
        delivery.composer_recent("900", "3000"),
        delivery.stale("300001", "300000"),
        delivery.DIALOG_OPEN,
        delivery.STILL_BUSY,
    ],
)
def test_what_delivery_refuses_often_has_one(text: str) -> None:
    assert remedy(text)


def test_a_text_that_nobody_has_explained_stands_alone() -> None:
    assert remedy("something else") is None
    assert explain({"ok": False, "reason": "something else", "wrote": False}) == "refused: something else."


def test_a_remedy_is_a_sentence() -> None:
    assert [text for text in REMEDIES.values() if text[-1] not in ".?" or "\n" in text or "  " in text] == []


def test_a_success_needs_no_words() -> None:
    assert explain({"ok": True, "outcome": "opened", "reason": None, "submitted": "assumed", "wrote": True}) is None


@pytest.mark.parametrize(
    ("result", "words"),
    [
        (
            {"reason": "session open failed", "error": "claude was not found"},
            "refused: session open failed (claude was not found). `switchboard doctor` says",
        ),
        (
            {"reason": "session open failed", "error": "E", "detail": "D"},
            "refused: session open failed (D). ",
        ),
        (
            {"reason": "session has unsubmitted input", "error": "not sent"},
            "refused: session has unsubmitted input. Somebody's draft",
        ),
        ({"error": "trigger too large (max 64 KB)"}, "refused: trigger too large (max 64 KB)."),
        ({"reason": "Switchboard is closing."}, "refused: Switchboard is closing. The host"),
        ({"reason": "Switchboard is closing.", "detail": "d"}, "refused: Switchboard is closing. (d). The host"),
        (
            {"reason": "session waiting on a dialog", "sessionId": SESSION},
            f"refused: session waiting on a dialog. Answer it in the session (`switchboard watch {SESSION}`)",
        ),
        ({"outcome": "not-found", "reason": "session not found"}, "not found: session not found. "),
        ({}, "refused: no reason is given."),
        ({"reason": 5, "error": None, "detail": []}, "refused: no reason is given."),
        (
            {"reason": "session open failed", "detail": "a\nb\x1b[31m"},
            "refused: session open failed (a b [31m). ",
        ),
    ],
    ids=[
        "error",
        "detail before error",
        "a kind is no news",
        "an error alone",
        "a whole sentence",
        "a whole sentence and a detail",
        "which session",
        "not found",
        "nothing",
        "nonsense",
        "control characters",
    ],
)
def test_words(result: dict[str, object], words: str) -> None:
    said = explain({"ok": False, "wrote": False, **result})
    assert said is not None
    assert said.startswith(words)
    assert said.isprintable()


@pytest.mark.parametrize(
    ("result", "end"),
    [
        ({"wrote": False}, "refused: x."),
        ({"wrote": True}, "Something was typed: look before you ask again."),
        ({}, "Something was typed: look before you ask again."),
        (
            {"wrote": True, "uncertain": True},
            "It may have taken effect all the same: do not ask again before you have looked.",
        ),
        ({"wrote": False, "created": True, "sessionId": SESSION}, f"The session {SESSION} was started and stays open."),
        ({"wrote": False, "resumed": True, "sessionId": SESSION}, f"The session {SESSION} was started and stays open."),
        ({"wrote": False, "resumed": False, "sessionId": SESSION}, "refused: x."),
    ],
    ids=["refused", "typed", "perhaps typed", "uncertain", "started", "resumed", "open before"],
)
def test_what_has_happened_all_the_same_is_said_last(result: dict[str, object], end: str) -> None:
    said = explain({"ok": False, "reason": "x", **result})
    assert said is not None
    assert said.endswith(end)
