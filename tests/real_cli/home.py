"""A throw-away HOME in which a real Claude Code starts without a question, and readers for what it publishes there.

Nothing is inherited from the environment of the test run: a session marker of an outer agent would stop the CLI from
publishing at all, and a person's own settings have no place in a test.
"""

from __future__ import annotations

import json
import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from tests.support import leaks

API_KEY: Final = "sk-ant-dummy"
"""At most 20 characters: the CLI remembers an approval by the key's last 20."""

_DESCRIPTOR: Final = re.compile(r"[0-9]+\.json", re.ASCII)


@dataclass(frozen=True)
class RealHome:
    """Folders of one CLI user. `project`: the trusted folder in which sessions start (a resolved path)."""

    root: Path
    home: Path
    project: Path
    tmp: Path
    api_url: str

    @property
    def config(self) -> Path:
        return self.home / ".claude"

    @property
    def sessions(self) -> Path:
        return self.config / "sessions"

    def environment(self) -> dict[str, str]:
        """All of the environment that the CLI gets, or that a host gets which starts it."""
        return {
            "PATH": os.environ.get("PATH", os.defpath),
            "HOME": str(self.home),
            "TMPDIR": str(self.tmp),
            "TERM": "xterm-256color",
            "LANG": "C.UTF-8",
            "SHELL": "/bin/bash",
            "ANTHROPIC_BASE_URL": self.api_url,
            "ANTHROPIC_API_KEY": API_KEY,
            "DISABLE_TELEMETRY": "1",
            "DISABLE_AUTOUPDATER": "1",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            # By this the test run finds what a test leaves running, however detached.
            **({leaks.MARK: os.environ[leaks.MARK]} if leaks.MARK in os.environ else {}),
        }

    def descriptor(self, pid: int) -> dict[str, Any] | None:
        """What `<pid>.json` says now. None while it is absent, empty or half-written: it is not written atomically."""
        try:
            value = json.loads((self.sessions / f"{pid}.json").read_bytes())
        except (FileNotFoundError, NotADirectoryError, ValueError):
            return None
        return value if isinstance(value, dict) else None

    def descriptor_files(self) -> list[str]:
        """Names of the descriptors that are there (keys and older forms of names left out)."""
        if not self.sessions.is_dir():
            return []
        return sorted(name for name in os.listdir(self.sessions) if _DESCRIPTOR.fullmatch(name))

    def transcript(self, session_id: str) -> Path | None:
        """The session's transcript, found by searching: the folder's name is computed differently between versions."""
        found = sorted((self.config / "projects").glob(f"*/{session_id}.jsonl"))
        assert len(found) < 2, found
        return found[0] if found else None

    def rows(self, session_id: str) -> list[dict[str, Any]]:
        """The transcript's rows; [] while there is none. A last line that is still being written is left out."""
        path = self.transcript(session_id)
        if path is None:
            return []
        whole_lines = path.read_bytes().split(b"\n")[:-1]
        return [json.loads(line) for line in whole_lines if line]

    def typed_prompts(self, session_id: str) -> list[str]:
        """What the CLI recorded as typed by a person, oldest first."""
        return [
            row["message"]["content"]
            for row in self.rows(session_id)
            if row.get("type") == "user"
            and not row.get("isMeta")
            and not row.get("isSidechain")
            and isinstance(row["message"]["content"], str)
        ]

    def closed_turns(self, session_id: str) -> int:
        return sum(
            row.get("type") == "system" and row.get("subtype") == "turn_duration" for row in self.rows(session_id)
        )


def build_home(root: Path, api_url: str, *, trusted: bool = True) -> RealHome:
    """Lay out a HOME below `root`: onboarding done, the key approved, `project` trusted, permission dialogs on.

    One layout serves every pinned version: what a version does not know it ignores (`hasSeenAutoDefaultNudge`, and the
    default permission mode that brings dialogs back where the CLI would start in auto mode).
    """
    real = root.resolve()
    layout = RealHome(real, real / "home", real / "project", real / "tmp", api_url)
    for folder in (layout.config, layout.project, layout.tmp):
        folder.mkdir(parents=True)
    state = {
        "hasCompletedOnboarding": True,
        "hasSeenAutoDefaultNudge": True,
        "customApiKeyResponses": {"approved": [API_KEY[-20:]], "rejected": []},
        "projects": {str(layout.project): {"hasTrustDialogAccepted": True}} if trusted else {},
    }
    (layout.home / ".claude.json").write_text(json.dumps(state))
    (layout.config / "settings.json").write_text(json.dumps({"permissions": {"defaultMode": "default"}}))
    return layout
