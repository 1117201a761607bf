"""The house budget: module 400 lines, function 60, class 12 instance attributes, and a short list of exceptions.

An exception names what it may take at most and why; it may only shrink, and one that is no longer needed fails here.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.support import architecture
from tests.support.architecture import parse
from tests.support.budget import Excuse, Limits, Size, attributes, excesses, measure

ROOT = Path(__file__).parents[2]

EXCUSED = {
    "page.messages:TriggerActivity": Excuse(13, "one step of a trigger, as it stands on the wire"),
    "page.session_row:SessionInfo": Excuse(24, "one row of the session list, as it stands on the wire"),
    "sessions.labels:Label": Excuse(21, "a record that other versions read: flat, so that they can ignore what is new"),
}
"""`room.module`, or `room.module:Class.function`, as the failing test prints it."""


def sizes() -> list[Size]:
    return [size for module in architecture.read_tree(ROOT / "src") for size in measure(module, module.lines)]


def test_the_house_keeps_its_budget() -> None:
    found = sizes()
    assert {size.kind for size in found} == {"module", "function", "attributes"}
    problems = excesses(found, EXCUSED)
    if problems:
        pytest.fail("\n  ".join([f"{len(problems)} over the house budget:", *problems]), pytrace=False)


SAMPLE = """\
def short(): ...
class Thing:
    def __init__(self):
        self.a, self.b = 1, 2
        self.c: int = 3
    async def act(self):
        self.a += 1
        with open('x') as self.d:
            def inner():
                other.e = 1
"""


def sized(source: str) -> dict[str, int]:
    module = parse("switchboard.common.x", source)
    return {f"{size.kind} {size.name}": size.amount for size in measure(module, module.lines)}


def test_what_is_measured() -> None:
    assert sized(SAMPLE) == {
        "module common.x": 10,
        "function common.x:short": 1,
        "attributes common.x:Thing": 4,
        "function common.x:Thing.__init__": 3,
        "function common.x:Thing.act": 5,
        "function common.x:Thing.act.inner": 2,
    }


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("a: int\n    b: str = ''\n    c: ClassVar[int] = 1\n    d = 2", {"a", "b"}),
        ("__slots__ = ('a', 'b')", {"a", "b"}),
        ("def f(self):\n        self.a = 1\n        self.a.b = 2\n        print(self.c)", {"a"}),
        ("@staticmethod\n    def f(that):\n        that.a = 1", set()),
    ],
    ids=["declared fields", "slots", "assigned on self", "on something else"],
)
def test_instance_attributes(body: str, expected: set[str]) -> None:
    node = parse("switchboard.common.x", f"class Thing:\n    {body}\n").tree.body[0]
    assert attributes(node) == expected  # type: ignore[arg-type]  # the sample is one class


LIMITS = Limits(module=10, module_at_most=20, function=5, attributes=2)


@pytest.mark.parametrize(
    ("size", "within"),
    [
        (Size("module", "m", 10), True),
        (Size("module", "m", 11), False),
        (Size("function", "m:f", 5), True),
        (Size("function", "m:f", 6), False),
        (Size("attributes", "m:C", 2), True),
        (Size("attributes", "m:C", 3), False),
    ],
)
def test_the_limit_itself_is_within(size: Size, within: bool) -> None:
    assert (excesses([size], {}, LIMITS) == []) == within


def test_an_exception_holds_up_to_its_own_amount() -> None:
    excused = {"m:f": Excuse(8, "a table")}
    assert excesses([Size("function", "m:f", 8)], excused, LIMITS) == []
    assert len(excesses([Size("function", "m:f", 9)], excused, LIMITS)) == 1


def test_an_exception_that_is_not_needed_is_caught() -> None:
    assert len(excesses([Size("function", "m:f", 5)], {"m:f": Excuse(8, "a table")}, LIMITS)) == 1
    assert len(excesses([], {"m:gone": Excuse(8, "a table")}, LIMITS)) == 1


def test_no_exception_lets_a_module_pass_the_last_limit() -> None:
    assert len(excesses([Size("module", "m", 21)], {"m": Excuse(30, "large")}, LIMITS)) == 1
