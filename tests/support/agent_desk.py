"""The built-in agent without a terminal: real parts around a screen that only remembers, on a clock moved by hand."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

from switchboard.agent.conversation import Conversation
from switchboard.agent.descriptor import Descriptor, Identity
from switchboard.agent.descriptor_files import DescriptorFile
from switchboard.agent.faults import FaultSwitch, parse_faults
from switchboard.agent.journal import Journal
from switchboard.agent.presence import Presence
from switchboard.agent.publisher import Publisher
from switchboard.agent.rows import Row
from switchboard.agent.shell import Shell
from switchboard.agent.stage import Stage
from switchboard.agent.view import View
from tests.support.hand_clock import HandClock


class FakeScreen:
    """Remembers what it was given; its box is edited at the end only."""

    def __init__(self) -> None:
        self.view = View()
        self.printed: list[str] = []
        self.sent: list[str] = []
        self.history: list[str] = []
        self.edits: list[tuple[str, ...]] = []
        self.box = ""
        self.recalled: list[int] = []
        self.cleared = 0
        self.changed = asyncio.Event()

    def show(self, view: View) -> None:
        self.view = view
        self.changed.set()

    def print(self, text: str) -> None:
        self.printed.append(text)
        self.changed.set()

    def control(self, sequence: str) -> None:
        self.sent.append(sequence)

    def fill(self, text: str) -> None:
        self.box = text

    def insert(self, text: str) -> None:
        self.box += text

    def edit(self, names: tuple[str, ...]) -> None:
        self.edits.append(names)

    def take(self) -> str:
        text, self.box = self.box, ""
        self.history.append(text)
        return text

    def recall(self, step: int) -> None:
        self.recalled.append(step)

    def redraw(self, *, clear: bool = False) -> None:
        self.cleared += clear


class AgentDesk:
    """Everything the agent stands on."""

    def __init__(self, folder: Path, faults: str = "") -> None:
        self.folder = folder
        self.clock = HandClock()
        self.faults = FaultSwitch(parse_faults(faults))
        self.screen = FakeScreen()
        self.rows: list[Row] = []
        self.shell = Shell(str(folder))
        descriptor = Descriptor(Identity(7, "42", None), "first", str(folder), self.clock.now(), "1")
        self.publisher = _Recorder(
            DescriptorFile(str(folder / "home/sessions/7.json")), descriptor, self.clock, self.faults
        )
        presence = Presence(
            self.publisher,
            self.clock,
            self.screen.control,
            self.screen.redraw,
            has_titles=lambda: True,
            has_progress=False,
        )
        self.stage = Stage(self.screen, presence, self.clock)
        self.journal = Journal(
            Conversation("first", str(folder), "1"),
            str(folder / "home"),
            self.clock,
            self.faults,
            append=lambda _, rows: self.rows.extend(rows),
        )
        self.publisher.appear()

    @property
    def kinds(self) -> list[object]:
        """What the transcript's rows are, without those it opens with."""
        kinds = [row.get("subtype") or row.get("operation") or row["type"] for row in self.rows]
        return [kind for kind in kinds if kind not in ("mode", "permission-mode", "file-history-snapshot")]

    @property
    def texts(self) -> list[str]:
        """What the conversation's rows say."""
        return [text for row in self.rows for text in _texts(row.get("message"))]

    @property
    def descriptor(self) -> dict[str, Any]:
        """What the descriptor on disk says."""
        fields: dict[str, Any] = json.loads((self.folder / "home/sessions/7.json").read_text("utf-8"))
        return fields


class _Recorder(Publisher):
    """Remembers the statuses that were published."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.statuses: list[str | None] = []

    def _put(self, data: bytes) -> None:
        super()._put(data)
        self.statuses.append(self.descriptor.status)


def _texts(message: object) -> list[str]:
    content = message.get("content") if isinstance(message, dict) else None
    if isinstance(content, str):
        return [content]
    if not isinstance(content, list):
        return []
    return [block["text"] for block in content if isinstance(block, dict) and isinstance(block.get("text"), str)]
