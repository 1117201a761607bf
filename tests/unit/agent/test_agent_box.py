"""The box, driven by what a terminal sends, without a terminal."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from tests.support.agent_desk import AgentDesk
from tests.support.hand_clock import turns

from switchboard.agent import dialogs
from switchboard.agent.box import ESCAPE_MS, Box
from switchboard.agent.keystrokes import Keystrokes
from switchboard.agent.screen import key_sequences

SEQUENCES = key_sequences()


class Rig:
    def __init__(self, folder: Path, faults: str = "") -> None:
        self.desk = AgentDesk(folder, faults)
        self.screen = self.desk.screen
        self.submitted: list[str] = []
        self.left: list[int] = []
        self.interrupted = 0
        self.busy = False
        self.waiting: list[str] = []
        self.box = Box(self.screen, self.desk.stage, self, Keystrokes(SEQUENCES), self.desk.clock, self.desk.faults)

    @property
    def queued(self) -> bool:
        return bool(self.waiting)

    def submit(self, text: str) -> None:
        self.submitted.append(text)

    def interrupt(self) -> None:
        self.interrupted += 1

    def unqueue(self) -> str:
        return self.waiting.pop()

    def leave(self, code: int) -> None:
        self.left.append(code)

    def send(self, *reads: str, gap: int = 150) -> Rig:
        for text in reads:
            self.desk.clock.run(gap)
            self.box.on_read(text, self.desk.clock.now())
        return self


@pytest.fixture
def rig(tmp_path: Path) -> Rig:
    return Rig(tmp_path)


@pytest.mark.parametrize(
    ("reads", "submitted"),
    [
        (["hi", "\r"], ["hi"]),
        (["hi\r"], ["hi"]),
        (["h", "i", "\r", "again\r"], ["hi", "again"]),
        (["a  ", "\r"], ["a"]),
        (["cafe\u0301", "\r"], ["caf\u00e9"]),
        (["a\tb", "\r"], ["ab"]),
        (["a\nb", "\r"], ["a\nb"]),
        (["a", "\x1b\r", "b", "\r"], ["a\nb"]),
        (["a\\", "\r", "b", "\r"], ["a\nb"]),
        (["\r", " ", "\r"], []),
        (["x" * 64 + "\r"], []),
        (["\x1b[200~a\rb\x1b[201~", "\r"], ["a\nb"]),
        (["x", "\x03", "y", "\r"], ["y"]),
    ],
    ids=[
        "text, Enter",
        "one write",
        "typed",
        "trailing spaces",
        "decomposed",
        "a raw tab is swallowed",
        "a raw line feed is kept",
        "Alt+Enter",
        "backslash, Enter",
        "nothing to submit",
        "long text and Enter in one write",
        "short bracketed paste",
        "Ctrl-C clears",
    ],
)
def test_what_is_submitted(rig: Rig, reads: list[str], submitted: list[str]) -> None:
    assert rig.send(*reads).submitted == submitted


def test_long_text_and_enter_in_one_write_stay_in_the_box(rig: Rig) -> None:
    assert rig.send("x" * 64 + "\r").screen.box == "x" * 64 + "\n"


def test_a_write_too_long_is_a_paste(rig: Rig) -> None:
    rig.send("see ", "x" * 900)
    assert rig.screen.box == "see [Pasted text #1]"
    rig.send("\r")
    assert rig.submitted == [f'see <pasted_content id="1">\n{"x" * 900}\n</pasted_content>']
    rig.send("\x1b[200~1\n2\n3\n4\x1b[201~")
    assert rig.screen.box == "[Pasted text #1 +3 lines]"


def test_a_paste_that_comes_in_pieces(rig: Rig) -> None:
    rig.send("x" * 900)
    rig.send("\ny" * 5, "\ny", gap=1)
    assert rig.screen.box == "[Pasted text #1 +6 lines]"
    rig.send("\r", gap=1)
    assert rig.submitted == [
        f'<pasted_content id="1">\n{"x" * 900}{chr(10) + "y"}'.replace("\ny", "\ny" * 6) + "\n</pasted_content>"
    ]


def test_a_prompt_in_paced_chunks_arrives_exactly(rig: Rig) -> None:
    text = "".join(chr(97 + n % 26) for n in range(4096))
    rig.send(text[:512])
    rig.send(*(text[at : at + 512] for at in range(512, 4096, 512)), gap=2)
    rig.send("\r", gap=50)
    assert rig.submitted == [text]


def test_a_lone_escape_interrupts_once_nothing_follows(rig: Rig) -> None:
    rig.busy = True
    rig.send("\x1b")
    assert rig.interrupted == 0
    rig.desk.clock.run(ESCAPE_MS)
    assert rig.interrupted == 1
    assert not rig.desk.clock.armed


def test_a_cut_sequence_is_no_escape(rig: Rig) -> None:
    rig.busy = True
    rig.send("\x1b", "[A", gap=ESCAPE_MS - 1)
    rig.desk.clock.run(1000)
    assert rig.interrupted == 0
    assert rig.screen.recalled == [-1]


def test_answers_of_the_terminal_are_nobodys_keys(rig: Rig) -> None:
    rig.busy = True
    rig.send("\x1b[12;40R", "\x1b[?62;c", "\x1b]11;rgb:00/00/00\x07", "\x1b[I")
    rig.desk.clock.run(1000)
    assert (rig.interrupted, rig.screen.box, rig.screen.edits) == (0, "", [])


def test_escape_twice_clears(rig: Rig) -> None:
    rig.send("abc", "\x1b\x1b")
    rig.desk.clock.run(ESCAPE_MS)
    assert rig.screen.box == ""


def test_editing_keys_go_to_the_editor(rig: Rig) -> None:
    rig.send("ab", "\x7f", "\x1b[D", "\x1bb", "\x17")
    assert rig.screen.edits == [("c-h",), ("left",), ("escape", "b"), ("c-w",)]


def test_leaving(rig: Rig) -> None:
    rig.send("\x03")
    assert rig.screen.view.notice == "Press Ctrl-C again to leave"
    rig.send("x")
    assert rig.screen.view.notice == ""
    rig.send("\x03", "\x03", "\x04", gap=1)
    assert rig.left == [0, 0]


def test_the_terminal_is_gone(rig: Rig) -> None:
    assert rig.send("").left == [0]


def test_what_waits_comes_back(rig: Rig) -> None:
    rig.waiting = ["a", "b"]
    assert rig.send("\x1b[A").screen.box == "b"


def test_history(rig: Rig) -> None:
    rig.send("\x1b[A", "\x1b[B")
    assert rig.screen.recalled == [-1, 1]


def test_tab_completes_a_command(rig: Rig) -> None:
    assert rig.send("/comp", "\t").screen.box == "/compact "
    assert rig.send("x", "\t").screen.box == "/compact x"


def test_redraw(rig: Rig) -> None:
    assert rig.send("\x0c").screen.cleared == 1


async def test_an_open_dialog_takes_the_keys(rig: Rig) -> None:
    rig.send("draft")
    task = asyncio.create_task(rig.desk.stage.ask(dialogs.permission("x")))
    await turns()
    rig.send("ls -l", "\x1b[200~3\x1b[201~", "\n", "\x17", "x" * 900, "\x1b[B", "\r")
    assert await task == dialogs.ALWAYS
    assert (rig.submitted, rig.screen.box, rig.screen.edits) == ([], "draft", [])


async def test_text_and_enter_typed_into_a_dialog_pick_its_default(rig: Rig) -> None:
    task = asyncio.create_task(rig.desk.stage.ask(dialogs.permission("x")))
    await turns()
    rig.send("please stop", "\r")
    assert await task == dialogs.YES


async def test_escape_cancels_a_dialog(rig: Rig) -> None:
    task = asyncio.create_task(rig.desk.stage.ask(dialogs.permission("x")))
    await turns()
    rig.send("\x1b")
    rig.desk.clock.run(ESCAPE_MS)
    assert await task is None
    assert rig.interrupted == 0


def test_a_swallowed_enter(tmp_path: Path) -> None:
    rig = Rig(tmp_path, "swallow-enter=1")
    rig.send("hi", "\r")
    assert (rig.submitted, rig.screen.box) == ([], "hi")
    assert rig.send("\r").submitted == ["hi"]


def test_deaf_after_text(tmp_path: Path) -> None:
    rig = Rig(tmp_path, "deaf-after-text=100")
    rig.send("hi")
    rig.send("\r", gap=99)
    assert rig.submitted == []
    assert rig.send("\r", gap=1).submitted == ["hi"]
