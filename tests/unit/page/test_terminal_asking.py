"""Questions on the bottom line."""

import pytest

from switchboard.page.terminal.asking import Answer, End, Line, NewProfile, YesNo, answer
from switchboard.page.terminal.keys import Key, ListKeys


def typed(question: Line, data: bytes) -> tuple[Line, Answer | None]:
    end = None
    keys = ListKeys()
    for key in keys.feed(data) + keys.flush():
        assert end is None, "a question takes no key after its end"
        asked, end = answer(question, key)
        assert isinstance(asked, Line)
        question = asked
    return question, end


@pytest.mark.parametrize(
    ("data", "value", "end"),
    [
        pytest.param(b"\r", "agent", Answer.GIVEN, id="nothing typed gives the default"),
        pytest.param(b"  \r", "agent", Answer.GIVEN, id="spaces give the default"),
        pytest.param(b" shell \r", "shell", Answer.GIVEN, id="spaces around do not count"),
        pytest.param(b"shex\x7fll\r", "shell", Answer.GIVEN, id="backspace"),
        pytest.param(b"one two \x17three\r", "one three", Answer.GIVEN, id="ctrl-w"),
        pytest.param(b"one\x15two\r", "two", Answer.GIVEN, id="ctrl-u"),
        pytest.param(b"\x1b[200~/a b\nc\x1b[201~\r", "/a b c", Answer.GIVEN, id="a paste stays on one line"),
        pytest.param(b"ab\x1b[A\x1b[5~c\r", "abc", Answer.GIVEN, id="other keys do nothing"),
        pytest.param(b"ab\x1b", "ab", Answer.DROPPED, id="Escape"),
        pytest.param(b"ab\x03", "ab", Answer.DROPPED, id="ctrl-c"),
        pytest.param(b"q?jk", "q?jk", None, id="keys of the list are text here"),
        pytest.param(b"x" * 20, "x" * 10, None, id="no longer than the limit"),
    ],
)
def test_line(data: bytes, value: str, end: Answer | None) -> None:
    question, how = typed(Line(NewProfile(), "CLI", default="agent", limit=10), data)
    assert (question.value, how) == (value, end)


@pytest.mark.parametrize(
    ("key", "yes"),
    [
        (Key("text", "y"), True),
        (Key("text", "Y"), True),
        (Key("text", "n"), False),
        (Key("enter"), False),
        (Key("escape"), False),
        (Key("paste", "y"), False),
        (Key("up"), False),
    ],
)
def test_only_y_is_a_yes(key: Key, yes: bool) -> None:
    asked, end = answer(YesNo(End(1), "Stop?"), key)
    assert isinstance(asked, YesNo)
    assert (asked.yes, end) == (yes, Answer.GIVEN if yes else Answer.DROPPED)
