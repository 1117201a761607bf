"""That what the benchmarks measure is done: a small turn of each kind. No figure is looked at."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from benchmarks import actions_side
from benchmarks.actions_side import Kind

KINDS: list[Kind] = ["versioned", "legacy"]


@pytest.mark.parametrize("pace", actions_side.PACES)
async def test_every_request_of_a_turn_is_delivered(pace: str, tmp_path: Path) -> None:
    found = await actions_side.PACES[pace](str(tmp_path), 6, 3, KINDS)
    assert {kind: found[kind]["N"] for kind in KINDS} == {"versioned": 6, "legacy": 6}
    results = [name for _, _, names in os.walk(tmp_path) for name in names]
    assert len(results) == 12
    assert all(name.endswith(".result.json") for name in results)
