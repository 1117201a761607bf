"""Predicates over facts."""

from __future__ import annotations

import pytest

from switchboard.common.facts import CliStatus, ComposerView, Facts
from switchboard.delivery.evidence import composer_trouble, dialog_name, dialog_open, recovery_danger, usable_status

UNSAFE = "the CLI reports a dialog open or a turn running, a bare Enter could answer it"


@pytest.mark.parametrize(
    ("status", "usable", "dialog", "danger"),
    [
        (None, None, False, None),
        (CliStatus("idle", 5), ("idle", 5), False, None),
        (CliStatus("busy", 5), ("busy", 5), False, UNSAFE),
        (CliStatus("busy", None), None, False, UNSAFE),
        (CliStatus("shell", 5), ("shell", 5), False, None),
        (CliStatus("waiting", None), None, True, UNSAFE),
        (CliStatus(None, 5), None, False, None),
    ],
)
def test_status(status: CliStatus | None, usable: tuple[str, int] | None, dialog: bool, danger: str | None) -> None:
    facts = Facts(status=status)
    assert (usable_status(facts), dialog_open(facts), recovery_danger(status)) == (usable, dialog, danger)


def test_a_dialog_is_named_only_while_it_is_open() -> None:
    assert dialog_name(Facts(status=CliStatus("waiting", 1, "login"))) == "login"
    assert dialog_name(Facts(status=CliStatus("idle", 1, "login"))) is None


@pytest.mark.parametrize(
    ("composer", "free"),
    [(ComposerView(0, 1000), True), (ComposerView(0, 1001), False), (ComposerView(1, 0), False), (None, False)],
)
def test_composer(composer: ComposerView | None, free: bool) -> None:
    assert (composer_trouble(composer, 4000, 3000) is None) is free
