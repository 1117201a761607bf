"""Whatever the layout: a plan that is admitted leaves nothing of the control directories within reach.

And it is not refused without need, takes nothing else away, and leaves the triggers readable where they were. Judged by
a model of the kernel's rules that shares nothing with the product (tests/support/sandbox_model.py).
"""

from __future__ import annotations

from collections import Counter
from random import Random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.support.sandbox_judge import judge
from tests.support.sandbox_layouts import layout

CHUNK = 1_500


@settings(max_examples=600, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.randoms(use_true_random=False))
def test_no_layout_is_admitted_unsafe_or_refused_without_need(chance: Random) -> None:
    judge(layout(chance, "/h"))


@pytest.mark.parametrize("first", range(0, 4 * CHUNK, CHUNK))
def test_thousands_of_layouts(first: int) -> None:
    """The same over fixed seeds, so that many layouts of each outcome are certain to be among them."""
    outcomes = Counter(judge(layout(Random(seed), "/h")) for seed in range(first, first + CHUNK))
    assert outcomes["protected"] > CHUNK / 2
    assert outcomes["refused"] > CHUNK / 20
    assert outcomes["safe anyway"] > CHUNK / 20
