from __future__ import annotations

from tests.support.hand_clock import HandClock

from switchboard.agent.conversation import Conversation
from switchboard.agent.faults import FaultSwitch, parse_faults
from switchboard.agent.journal import Journal
from switchboard.agent.rows import Row


class Rig:
    def __init__(self, faults: str = "", path: str | None = None, before: tuple[Row, ...] = ()) -> None:
        self.written: list[tuple[str, object]] = []
        self.clock = HandClock(5)
        self.refuse = False
        self.journal = Journal(
            Conversation("s", "/c", "1"),
            "/home",
            self.clock,
            FaultSwitch(parse_faults(faults)),
            path=path,
            before=before,
            append=self.append,
        )

    def append(self, path: str, rows: tuple[Row, ...]) -> None:
        if self.refuse:
            raise OSError("disk full")
        self.written += [(path, row["type"]) for row in rows]

    def prompt(self) -> None:
        self.journal.record(self.journal.conversation.prompted("x", *self.journal.now))


OPENING = ["mode", "permission-mode", "file-history-snapshot"]


def test_rows_go_to_the_transcript_of_the_directory() -> None:
    rig = Rig()
    assert rig.written == []
    rig.prompt()
    assert rig.written == [("/home/projects/-c/s.jsonl", kind) for kind in (*OPENING, "user")]
    assert rig.journal.conversation.turns == 1


def test_a_resumed_conversation_goes_on_where_it_lies() -> None:
    rig = Rig(path="/elsewhere/s.jsonl")
    rig.prompt()
    assert {path for path, _ in rig.written} == {"/elsewhere/s.jsonl"}


def test_a_fork_copies_once() -> None:
    rig = Rig(before=({"type": "old"},))
    rig.prompt()
    rig.prompt()
    assert [kind for _, kind in rig.written].count("old") == 1
    assert rig.written[0][1] == "old"


def test_a_cleared_conversation_has_a_file_of_its_own() -> None:
    rig = Rig(path="/elsewhere/s.jsonl")
    rig.journal.record(rig.journal.conversation.cleared("t", *rig.journal.now))
    assert {path for path, _ in rig.written} == {"/home/projects/-c/t.jsonl"}


def test_late_rows() -> None:
    rig = Rig("late-transcript=100")
    rig.prompt()
    assert rig.written == []
    rig.clock.run(100)
    assert len(rig.written) == 4


def test_no_rows() -> None:
    rig = Rig("no-transcript")
    rig.prompt()
    assert rig.written == []
    assert rig.journal.conversation.turns == 1


def test_a_full_disk_is_a_failure_to_report() -> None:
    rig = Rig()
    rig.refuse = True
    rig.prompt()
    assert str(rig.journal.failure) == "disk full"
    rig.refuse = False
    rig.prompt()
    assert rig.journal.failure is None
