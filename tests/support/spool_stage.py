"""The real watcher over a real folder and terminals in memory, with a clock that is moved by hand."""

from __future__ import annotations

import json
import os
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from switchboard.delivery.memory import MemoryTerminal, MemoryTerminals
from switchboard.triggers.watcher import TriggerWatcher
from tests.support.fake_clock import FakeClock


class Notes:
    """A log that keeps what it is told."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def info(self, message: str) -> None:
        self.lines.append(f"info {message}")

    def warning(self, message: str) -> None:
        self.lines.append(f"warning {message}")

    def error(self, message: str) -> None:
        self.lines.append(f"error {message}")

    def about(self, part: str) -> list[str]:
        return [line for line in self.lines if part in line]


class SpoolStage:
    """`folder` is watched while `open()` is entered. The clock starts at the real time, because files carry that."""

    def __init__(self, folder: Path, **env: str) -> None:
        self.folder = folder
        self.clock = FakeClock(time.time_ns() // 1_000_000)
        self.terminals = MemoryTerminals(self.clock)
        self.log = Notes()
        self.env = {"SWITCHBOARD_SUBMIT_ENTER_DELAY_MS": "0", "SWITCHBOARD_SUBMIT_VERIFY_MS": "0", **env}
        self.writes: list[tuple[str, bytes]] = []
        self.watcher = TriggerWatcher(self.terminals, folder, clock=self.clock, env=self.env, log=self.log)

    @asynccontextmanager
    async def open(self) -> AsyncIterator[TriggerWatcher]:
        async with self.watcher as watcher:
            await self.clock.settle()
            yield watcher

    def session(self, name: str = "S") -> MemoryTerminal:
        return self.terminals.add(name, on_write=lambda data: self.writes.append((name, data)))

    def text_of(self, **body: Any) -> str:
        return json.dumps({"sessionId": "S", "command": "hello", **body})

    def rename_in(self, name: str, text: str | None = None) -> None:
        """Put a complete request in its place, as a well-behaved caller does."""
        beside = self.folder / f"{name}.tmp"
        beside.write_text(self.text_of() if text is None else text)
        os.rename(beside, self.folder / f"{name}.json")

    def result_path(self, name: str) -> Path:
        return self.folder / "processed" / f"{name}.result.json"

    def result(self, name: str) -> Any:
        """The published result; None while there is none."""
        path = self.result_path(name)
        return json.loads(path.read_text()) if path.exists() else None

    def waiting(self) -> list[str]:
        """Names of the requests that are still in the folder."""
        return sorted(path.name for path in self.folder.glob("*.json"))

    @property
    def typed(self) -> list[bytes]:
        return [data for _, data in self.writes if data != b"\r"]
