"""A scripted CLI: a small program for the far end of a terminal, and the test's end of it (`Script`).

The program behaves like an agent's CLI as far as a script says: it puts what it reads into a box (pastes too; Ctrl+U
empties it), submits at Enter, takes turns, and publishes descriptor, transcript and titles in Claude Code's shapes. It
writes down every byte that it receives, with the time, and everything it does itself, in one file with one clock. A
test reads that file: what counts is what must *not* have arrived, and when.

The script is `script.json` in the session's directory, so each session of one host can have its own:

| Field | Meaning |
|---|---|
| `deaf_ms` | Ignores an Enter that comes sooner than this after the last text. |
| `swallow` | Ignores the next that many Enters. |
| `read_bytes`, `read_pause_ms` | Reads so many bytes at a time, and pauses after each. |
| `turn_ms` | How long a turn takes. |
| `blip_ms` | Says idle for this long between two queued turns, and at each of `turn_blips` (ms) in a turn. |
| `publish`, `titles` | Whether it writes descriptor and transcript, and sets titles (with these glyphs). |
| `dialog` | Opens this dialog at the start. Enter picks its default, which is "No, exit". |
| `all_read_at` | Prints "all read" when it has read so many bytes. |
| `exit_on_text` | Exits with this code as soon as it has read any text. |
| `silent_ms` | Its first descriptor carries no status for so long; it takes keys all the while. |
| `steps` | What it does by itself, from when it is ready on: a list of `[delay_ms, action, argument]`. |

Actions, also for `Script.tell`: `status` (word or null, which removes the descriptor), `dialog` (its name; null closes
it), `print`, `title`, `enter` (as if it had been pressed), `exit`, and `set` (an object of script fields).
"""

from __future__ import annotations

import contextlib
import heapq
import itertools
import json
import os
import re
import select
import sys
import time
import tty
from collections.abc import Callable
from pathlib import Path
from typing import Any

DEFAULTS: dict[str, Any] = {
    "deaf_ms": 0,
    "swallow": 0,
    "read_bytes": 4096,
    "read_pause_ms": 0,
    "turn_ms": 20,
    "blip_ms": None,
    "turn_blips": [],
    "publish": True,
    "titles": "\u2733\u2802",
    "dialog": None,
    "all_read_at": None,
    "exit_on_text": None,
    "silent_ms": 0,
    "steps": [],
}

_TOKEN = re.compile(r"\x1b\[[0-9;?]*[A-Za-z~]|[\x00-\x1f\x7f]|[^\x00-\x1f\x7f]+")
_INCOMPLETE = re.compile(r"\x1b(\[[0-9;?]*)?\Z")

PASTE_FROM = 64
"""Enter in one read with so much text before it is a line break in the box (measured in Claude Code)."""


class Script:
    """One session's script and record, in the directory it is opened in."""

    def __init__(self, folder: Path, **script: Any) -> None:
        unknown = script.keys() - DEFAULTS.keys()
        assert not unknown, f"no such field of a script: {unknown}"
        folder.mkdir(parents=True, exist_ok=True)
        self.folder = folder
        (folder / "script.json").write_text(json.dumps(script), "utf-8")
        os.mkfifo(folder / "control")

    def tell(self, *steps: tuple[float, str, Any]) -> None:
        """Have the running program do this: `(delay_ms, action, argument)`, each delay counted from the one before."""
        control = os.open(self.folder / "control", os.O_WRONLY | os.O_NONBLOCK)
        try:
            os.write(control, json.dumps(steps).encode() + b"\n")
        finally:
            os.close(control)

    def events(self, *kinds: str) -> list[dict[str, Any]]:
        """What was recorded, all of it or of these kinds. `at` is in wall milliseconds, with fractions."""
        try:
            text = (self.folder / "record.jsonl").read_text("utf-8")
        except FileNotFoundError:
            return []
        complete = text[: text.rfind("\n") + 1]
        return [event for line in complete.splitlines() if (event := json.loads(line))["kind"] in kinds or not kinds]

    @property
    def received(self) -> bytes:
        """Every byte that it read from its terminal."""
        return b"".join(event["data"].encode("latin-1") for event in self.events("read"))

    @property
    def submitted(self) -> list[str]:
        """The prompts that were submitted, in order."""
        return [event["text"] for event in self.events("submit")]

    @property
    def box(self) -> str:
        """What stands in its box now."""
        boxes = self.events("read", "submit", "enter-ignored", "box")
        return str(boxes[-1]["box"]) if boxes else ""


def install(folder: Path, config: Path, name: str = "scripted-cli") -> Path:
    """Put a program `name` into `folder` that runs the scripted CLI with its files below `config`."""
    program = folder / name
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -I -S "{__file__}" "{config}" "$@"\n', "utf-8")
    program.chmod(0o755)
    return program


# --- the program ------------------------------------------------------------------------------------------------------


class Cli:
    """The running program. One loop, no threads: `run` returns the exit code."""

    def __init__(self, config: str, session_id: str) -> None:
        self.script = DEFAULTS | self._script_file()
        self.cwd = os.path.realpath(".")
        self.session_id = session_id
        self.pid = os.getpid()
        self.descriptor = f"{config}/sessions/{self.pid}.json"
        self.transcript = f"{config}/projects/{re.sub('[^A-Za-z0-9]', '-', self.cwd)}/{session_id}.jsonl"
        self.record_file = os.open("record.jsonl", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        self.timers: list[tuple[float, int, Callable[[], None]]] = []
        self.order = itertools.count()
        self.count = 0
        self.box = ""
        self.held = ""
        self.pasting = False
        self.text_at = -1.0
        self.queue: list[str] = []
        self.busy = False
        self.is_ready = False
        self.dialog: str | None = None
        self.code: int | None = None

    @staticmethod
    def _script_file() -> dict[str, Any]:
        try:
            with open("script.json", encoding="utf-8") as file:
                return dict(json.load(file))
        except FileNotFoundError:
            return {}

    def run(self) -> int:
        tty.setraw(0)
        control = os.open("control", os.O_RDWR | os.O_NONBLOCK) if os.path.exists("control") else -1
        os.makedirs(os.path.dirname(self.descriptor), exist_ok=True)
        os.makedirs(os.path.dirname(self.transcript), exist_ok=True)
        if self.script["dialog"] is not None:
            self.open_dialog(self.script["dialog"])
        else:
            self.ready()
        self.plan(self.script["steps"])
        told = b""
        while self.code is None:
            timeout = None if not self.timers else max(0.0, self.timers[0][0] - time.monotonic())
            readable, _, _ = select.select([0, *([control] if control >= 0 else [])], [], [], timeout)
            while self.timers and self.timers[0][0] <= time.monotonic():
                heapq.heappop(self.timers)[2]()
            if control in readable:
                *lines, told = (told + os.read(control, 65536)).split(b"\n")
                for line in lines:
                    self.plan(json.loads(line))
            if 0 in readable:
                self.read()
        with contextlib.suppress(FileNotFoundError):
            os.unlink(self.descriptor)
        return self.code

    def note(self, kind: str, **fields: Any) -> None:
        line = json.dumps({"at": time.time_ns() / 1e6, "kind": kind, **fields}) + "\n"
        os.write(self.record_file, line.encode())

    def later(self, ms: float, act: Callable[[], None]) -> None:
        heapq.heappush(self.timers, (time.monotonic() + ms / 1000, next(self.order), act))

    def plan(self, steps: list[list[Any]]) -> None:
        at = 0.0
        for delay, action, argument in steps:
            at += delay
            self.later(at, lambda action=action, argument=argument: self.act(action, argument))  # type: ignore[misc]  # mypy cannot type a bound default

    def act(self, action: str, argument: Any) -> None:
        match action:
            case "status":
                self.status(argument)
            case "dialog":
                self.open_dialog(argument) if argument is not None else self.close_dialog()
            case "print":
                self.show(argument)
            case "title":
                self.show(f"\x1b]0;{argument}\x07")
            case "enter":
                self.enter(time.monotonic())
            case "exit":
                self.note("exit")
                self.code = int(argument)
            case "set":
                self.script |= argument
                self.note("set")

    # --- what it reads ---

    def read(self) -> None:
        try:
            data = os.read(0, self.script["read_bytes"])
        except OSError:
            data = b""
        if not data:
            self.code = 0
            return
        self.count += len(data)
        now = time.monotonic()
        text = self.held + data.decode("utf-8", "surrogateescape")
        self.held = match.group() if (match := _INCOMPLETE.search(text)) else ""
        typed = 0
        for token in _TOKEN.findall(text.removesuffix(self.held)):
            if token == "\r" and not self.pasting and typed < PASTE_FROM:
                self.flush(data)
                data = b""
                self.enter(now)
            elif token in ("\x1b[200~", "\x1b[201~"):
                self.pasting = token == "\x1b[200~"
            elif token == "\x15":
                self.box = ""
            elif self.dialog is None and (token >= " " or token == "\r"):
                self.box += token
                self.text_at = now
                typed += len(token)
        if data:
            self.flush(data)
        elif self.box:  # text behind an Enter in the same read
            self.note("box", box=self.box)
        if self.count == self.script["all_read_at"]:
            self.show("all read\r\n")
        if self.script["exit_on_text"] is not None and self.box:
            self.note("exit")
            self.code = self.script["exit_on_text"]
        if self.script["read_pause_ms"]:
            time.sleep(self.script["read_pause_ms"] / 1000)

    def flush(self, data: bytes) -> None:
        """Write down what was read, before anything comes of it."""
        if data:
            self.note("read", data=data.decode("latin-1"), box=self.box[-200:].encode("utf-8", "replace").decode())

    def enter(self, now: float) -> None:
        deaf = (now - self.text_at) * 1000 < self.script["deaf_ms"]
        if self.dialog is not None:
            self.note("dialog-answered", dialog=self.dialog)
            self.code = 1
        elif deaf or self.script["swallow"]:
            self.script["swallow"] = max(0, self.script["swallow"] - (not deaf))
            self.note("enter-ignored", box=self.box)
        elif self.box:
            text, self.box = self.box.encode("utf-8", "surrogateescape").decode("utf-8", "replace"), ""
            self.note("submit", text=text, box="", busy=self.busy)
            if self.busy:
                self.queue.append(text)
                self.row({"type": "queue-operation", "operation": "enqueue", "content": text})
            else:
                self.begin(text)

    # --- what it does ---

    def begin(self, text: str) -> None:
        self.busy = True
        self.row({"type": "user", "message": {"role": "user", "content": text}, "promptSource": "typed"})
        self.status("busy")
        for at in self.script["turn_blips"]:
            self.later(at, lambda: self.status("idle"))
            self.later(at + self.script["blip_ms"], lambda: self.status("busy"))
        self.later(self.script["turn_ms"], self.end)

    def end(self) -> None:
        self.row({"type": "assistant", "message": {"role": "assistant", "stop_reason": "end_turn", "content": []}})
        self.row({"type": "system", "subtype": "turn_duration", "durationMs": self.script["turn_ms"]})
        if not self.queue:
            self.busy = False
            self.status("idle")
        elif self.script["blip_ms"] is None:
            self.following()
        else:
            self.status("idle")
            self.later(self.script["blip_ms"], self.following)

    def following(self) -> None:
        self.row({"type": "queue-operation", "operation": "dequeue"})
        self.begin(self.queue.pop(0))

    def ready(self) -> None:
        self.is_ready = True
        self.note("ready")
        if self.script["silent_ms"]:
            self.publish({})
            self.later(self.script["silent_ms"], lambda: self.status("idle"))
            self.script["silent_ms"] = 0
        else:
            self.status("idle")

    def open_dialog(self, name: str) -> None:
        """A dialog of a CLI that is ready is published; the one that it starts with is not."""
        self.dialog = name
        self.note("dialog", dialog=name)
        self.show(f"{name}?  > 1. No, exit   2. Yes\r\n")
        if self.is_ready:
            self.status("waiting", waitingFor=name)

    def close_dialog(self) -> None:
        self.dialog = None
        self.ready()

    def status(self, word: str | None, **fields: Any) -> None:
        self.note("status", status=word)
        titles = self.script["titles"]
        if titles and word is not None:
            self.show(f"\x1b]0;{titles[word == 'busy']} scripted\x07")
        if not self.script["publish"]:
            return
        if word is None:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(self.descriptor)
            return
        now = time.time_ns() // 1_000_000
        self.publish({"status": word, "updatedAt": now, "statusUpdatedAt": now, **fields})

    def publish(self, state: dict[str, Any]) -> None:
        """Write the descriptor."""
        body = {
            "pid": self.pid,
            "sessionId": self.session_id,
            "cwd": self.cwd,
            "startedAt": time.time_ns() // 1_000_000,
            "procStart": proc_start(),
            "version": "0.0.0",
            "kind": "interactive",
            **state,
        }
        # In place and not at once, as the measured CLI writes it.
        file = os.open(self.descriptor, os.O_WRONLY | os.O_CREAT, 0o644)
        try:
            os.ftruncate(file, os.write(file, json.dumps(body).encode()))
        finally:
            os.close(file)

    def row(self, row: dict[str, Any]) -> None:
        if not self.script["publish"]:
            return
        now = time.time_ns() // 1_000_000
        stamp = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(now // 1000)) + f".{now % 1000:03}Z"
        row = {**row, "timestamp": stamp, "sessionId": self.session_id, "cwd": self.cwd, "isSidechain": False}
        with open(self.transcript, "a", encoding="utf-8") as file:
            file.write(json.dumps(row) + "\n")

    def show(self, text: str) -> None:
        data = text.encode()
        while data:
            data = data[os.write(1, data) :]


def proc_start() -> str:
    with open("/proc/self/stat", "rb") as file:
        return file.read().rpartition(b")")[2].split()[19].decode()


def main(arguments: list[str]) -> int:
    config, *rest = arguments
    following = dict(itertools.pairwise(rest))
    session_id = following.get("--session-id") or following.get("--resume") or "no-id"
    return Cli(config, session_id).run()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
