"""Refusals of a write: what the gate and a delivery say to each other."""

from __future__ import annotations

import pytest

from switchboard.common.writing import EXITED, WriteRefused
from switchboard.delivery import reasons


def test_a_refusal_carries_its_exact_reason_and_whether_something_was_written() -> None:
    refused = WriteRefused("the reason")
    assert (refused.reason, refused.partial, str(refused)) == ("the reason", False, "the reason")
    assert WriteRefused("the reason", partial=True).partial
    with pytest.raises(WriteRefused, match="the reason"):
        raise refused


def test_an_exit_is_called_what_results_call_it() -> None:
    assert reasons.EXITED == EXITED
