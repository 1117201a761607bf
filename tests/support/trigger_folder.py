"""A trigger folder without a host, for tests of commands that write requests: the next request's id is known."""

from __future__ import annotations

import json
import uuid
from pathlib import Path
from typing import Any

import pytest

REQUEST = "0d6f3a52-0000-4000-8000-00000000000a"


class TriggerFolder:
    """`answers` puts down what a host would have answered to the next request; at first that is a success."""

    def __init__(self, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.path = root / "triggers"
        self.processed = self.path / "processed"
        self.processed.mkdir(parents=True)
        self.result = self.processed / f"{REQUEST}.result.json"
        monkeypatch.setenv("SWITCHBOARD_TRIGGERS_DIR", str(self.path))
        monkeypatch.setattr(uuid, "uuid4", lambda: REQUEST)
        self.answers({"ok": True})

    def answers(self, result: object) -> None:
        self.result.write_text(json.dumps(result))

    def answers_nothing(self) -> None:
        self.result.unlink()

    def requests(self) -> list[Any]:
        return [json.loads(path.read_text()) for path in sorted(self.path.glob("*.json"))]

    def request(self) -> Any:
        (found,) = self.requests()
        return found
