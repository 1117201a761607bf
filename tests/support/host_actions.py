"""The host's actions over a registry whose sessions the test plays, with a folder for everything."""

from __future__ import annotations

import json
import os
import sqlite3
from pathlib import Path
from typing import Any

from switchboard.clis.status_reader import StatusReader
from switchboard.clis.transcript_files import folder_of
from switchboard.host.actions import HostActions
from switchboard.host.sandbox_folders import SandboxFolders
from switchboard.host.sandboxes import Sandboxes
from switchboard.page.messages import Done, OpenSession
from switchboard.sessions.session import Session
from switchboard.store.sqlite import Store
from tests.support.fake_clock import START
from tests.support.fake_folder_watcher import FakeFolderWatcher
from tests.support.fake_procfs import FakeProcesses
from tests.support.sessions import ID, House

OTHER = "0d6f3a52-0000-4000-8000-00000000000b"
AUTO = ("--permission-mode", "auto")
"""What Claude Code is given when no settings are saved."""


class ActionsRig:
    """See the module."""

    def __init__(self, root: Path, home: House) -> None:
        self.root = root
        self.home = home
        self.registry = home.registry
        self.clock = home.clock
        self.project = root / "project"
        self.bin = root / "bin"
        self.claude = root / "claude"
        for folder in (self.project, self.bin, self.claude / "sessions", self.claude / "projects", root / "agent"):
            folder.mkdir(parents=True)
        self.program = self.install("claude")
        self.environment = {
            "PATH": str(self.bin),
            "HOME": str(root),
            "CLAUDE_CONFIG_DIR": str(self.claude),
            "SWITCHBOARD_AGENT_HOME": str(root / "agent"),
            "SHELL": self.install("a-shell"),
        }
        self.path = root / "switchboard.db"
        self.store = Store(str(self.path), START)
        self.processes = FakeProcesses(root / "proc")
        self.watcher = FakeFolderWatcher()
        sessions = str(self.claude / "sessions")
        self.reader = StatusReader(sessions, self.watcher, self.clock, self.processes.door(), home.log)
        self.shutdowns: list[bool] = []
        self.data = root / "data"
        self.data.mkdir()
        self.used: set[str] = set()
        """Descriptor folders that a living process may have written in."""
        self.sandboxes = Sandboxes(
            SandboxFolders(
                str(self.data), [str(self.claude), str(root / "agent")], lambda folder: folder not in self.used
            ),
            str(root / "triggers"),
            str(self.data),
            str(self.data / "run"),
            self.clock,
            home.log,
        )
        self.opened: list[Session] = []
        self.actions = HostActions(
            self.registry,
            self.store,
            {"claude": self.reader},
            self.processes.door(),
            self.clock,
            self.environment,
            self.shutdowns.append,
            self.sandboxes,
        )
        self.actions.on_opened = self.opened.append

    def install(self, name: str) -> str:
        path = self.bin / name
        path.write_text("#!/bin/sh\n")
        path.chmod(0o755)
        return str(path)

    def record(self, session_id: str = ID, cwd: Path | None = None, text: str = "hello", at: int = 0) -> Path:
        """A transcript of Claude Code, written in `cwd` (default: the project)."""
        cwd = cwd or self.project
        path = self.claude / "projects" / folder_of(str(cwd)) / f"{session_id}.jsonl"
        path.parent.mkdir(exist_ok=True)
        row = {
            "type": "user",
            "cwd": str(cwd),
            "timestamp": "2026-09-21T14:13:20.000Z",
            "message": {"content": text},
        }
        path.write_text(json.dumps(row) + "\n")
        if at:
            os.utime(path, (at, at))
        return path

    def record_agent(self, session_id: str = ID) -> None:
        """A transcript of the built-in agent, written in the project."""
        made = self.record(session_id)
        path = self.root / "agent" / "projects" / made.parent.name / made.name
        path.parent.mkdir(parents=True)
        made.rename(path)

    def publish(self, pid: int, session_id: str = ID, **fields: Any) -> None:
        """A running Claude Code, as its descriptor shows it."""
        self.processes.add(pid)
        body = {"pid": pid, "sessionId": session_id, "status": "idle", "procStart": "1000", **fields}
        (self.claude / "sessions" / f"{pid}.json").write_text(json.dumps(body))
        self.reader.start()
        self.watcher.tell(str(self.claude / "sessions"), f"{pid}.json")

    async def open(self, mode: str = "new", **fields: Any) -> Done:
        return await self.actions.open(self.wanted(mode, **fields))

    def wanted(self, mode: str = "new", **fields: Any) -> OpenSession:
        given = {"profile": "claude", "cwd": str(self.project) if mode in ("new", "shell") else None, **fields}
        return OpenSession(7, mode, **given)  # type: ignore[arg-type]  # a text of a table

    async def session(self, **fields: Any) -> Session:
        """Open a session; return it."""
        done = await self.open(**fields)
        assert done.ok, done
        assert done.session is not None
        assert done.session.handle is not None
        session = self.registry.by_handle(done.session.handle)
        assert session is not None
        return session

    def rows(self, query: str) -> list[tuple[Any, ...]]:
        connection = sqlite3.connect(self.path)
        try:
            return connection.execute(query).fetchall()
        finally:
            connection.close()

    def spoil(self) -> None:
        """Break the database under the running host."""
        connection = sqlite3.connect(self.path)
        connection.execute("drop table session_meta")
        connection.execute("drop table launch")
        connection.close()
