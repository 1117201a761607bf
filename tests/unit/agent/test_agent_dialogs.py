from __future__ import annotations

import pytest

from switchboard.agent import dialogs


def test_enter_allows_the_command() -> None:
    dialog = dialogs.permission("rm x")
    assert dialog.waiting_for == "permission prompt"
    assert dialog.entered() == dialogs.YES


def test_enter_does_not_trust_the_folder() -> None:
    assert dialogs.trust("/x").entered() == dialogs.NO
    assert dialogs.trust("/x").waiting_for is None


def test_a_panel_says_that_a_dialog_is_open() -> None:
    assert dialogs.cost(1).waiting_for == "dialog open"
    assert dialogs.cost(1).entered() == dialogs.CLOSE


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("1", dialogs.YES),
        ("2", dialogs.ALWAYS),
        ("3", dialogs.NO),
        ("yes please", None),
        ("4", None),
        ("0", None),
        ("a 3 b", dialogs.NO),
        ("\u00b2", None),
    ],
)
def test_digits_choose_and_letters_are_ignored(text: str, answer: str | None) -> None:
    assert dialogs.permission("x").typed(text) == answer


def test_arrows_move_around() -> None:
    dialog = dialogs.permission("x")
    assert dialog.moved(1).entered() == dialogs.ALWAYS
    assert dialog.moved(-1).entered() == dialogs.NO
    assert dialog.moved(1).moved(1).moved(1) == dialog
