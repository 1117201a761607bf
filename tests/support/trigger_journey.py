"""A host with a known project, a closed conversation and a stand-in for the CLI, and a page that must stay still."""

from __future__ import annotations

import json
import os
import re
import sys
import uuid
from pathlib import Path
from typing import Any

from playwright.sync_api import Locator, Route, WebSocket, expect

from switchboard.clis.launch_settings import PREFIX
from switchboard.clis.transcript_files import folder_of
from tests.support.browser import Tab, shell
from tests.support.hosting import RunningHost

STAND_IN = Path(__file__).with_name("recording_cli.py")
CLOSED = "0d6f3a52-0000-4000-8000-00000000000a"
ANOTHER = "0d6f3a52-0000-4000-8000-00000000000b"

WATCH = """
() => {
    const still = window.still = { active: document.activeElement, title: document.title, log: [] };
    const name = (e) => e ? `${e.tagName.toLowerCase()}.${e.getAttribute?.('class') ?? ''}` : 'nothing';
    const focus = HTMLElement.prototype.focus;
    HTMLElement.prototype.focus = function (...given) {
        still.log.push(`focus() of ${name(this)}`);
        return focus.apply(this, given);
    };
    window.focus = () => still.log.push('window.focus()');
    for (const type of ['focusin', 'focusout']) {
        document.addEventListener(type, (event) => still.log.push(`${type} ${name(event.target)}`), true);
    }
    still.rooms = [...document.querySelectorAll('*')]
        .filter((e) => e.scrollHeight > e.clientHeight || e.scrollWidth > e.clientWidth);
    still.at = still.rooms.map((e) => [e.scrollTop, e.scrollLeft].join());
    still.boxes = [...document.querySelectorAll('.row[aria-selected="true"], .card.active, dialog, .menu, main .term')]
        .filter((e) => e.offsetParent !== null || e.matches('dialog'));
    still.where = still.boxes.map((e) => JSON.stringify(e.getBoundingClientRect()));
    new MutationObserver((changes) => {
        for (const { target, attributeName } of changes) {
            const now = target.getAttribute(attributeName);
            still.log.push(`${attributeName} of ${name(target)} became ${now}`);
        }
        if (document.title !== still.title) still.log.push(`the title became ${document.title}`);
    }).observe(document, { subtree: true, attributes: true, attributeFilter: ['aria-selected', 'open', 'inert'] });
}
"""
"""From now on everything is written down that takes a person elsewhere."""

MOVED = """
() => {
    const { active, title, log, rooms, at, boxes, where } = window.still;
    const found = [...log];
    if (document.activeElement !== active) found.push('the keyboard is elsewhere');
    if (document.title !== title) found.push(`the title is ${document.title}`);
    rooms.forEach((e, i) => {
        if (e.isConnected && [e.scrollTop, e.scrollLeft].join() !== at[i]) found.push(`scrolled: ${e.className}`);
    });
    boxes.forEach((e, i) => {
        if (!e.isConnected) found.push(`gone: ${e.className}`);
        else if (JSON.stringify(e.getBoundingClientRect()) !== where[i]) found.push(`moved: ${e.className}`);
    });
    return found;
}
"""


class Stage:
    """A host whose project starts the stand-in. `CLOSED` is a conversation that can be resumed there."""

    def __init__(self, host: RunningHost) -> None:
        self.host = host
        self.project = Path(os.path.realpath(host.project))
        self.record(CLOSED, "What was said before")
        self.set_up(self.project)

    def set_up(self, project: Path) -> None:
        """Have the stand-in started in a project, and make sure of it: a real CLI must not run here."""
        prefix = f"{sys.executable} {STAND_IN}"
        assert PREFIX.fullmatch(prefix), "this checkout's path cannot be a pre-launch prefix"
        for key, value in (("sandbox", "false"), ("mcpEmulation", "false"), ("preLaunchCmd", prefix)):
            self.save(key, value, project)
        said = self.host.cli("config", "get", "preLaunchCmd", "--json", "--project", str(project))
        assert json.loads(said.stdout) == {"key": "preLaunchCmd", "value": prefix, "source": "project"}

    def save(self, key: str, value: str, project: Path | None = None) -> None:
        """Save a setting of a project."""
        saved = self.host.cli("config", "set", key, value, "--project", str(project or self.project))
        assert saved.returncode == 0, saved.stderr

    def record(self, session_id: str, text: str, hours: int = 0, project: Path | None = None) -> None:
        """A conversation that ended in a project, so long ago."""
        cwd = str(project or self.project)
        folder = self.host.root / "claude" / "projects" / folder_of(cwd)
        folder.mkdir(parents=True, exist_ok=True)
        row = {
            "type": "user",
            "sessionId": session_id,
            "cwd": cwd,
            "timestamp": "2026-09-21T14:13:20.000Z",
            "message": {"role": "user", "content": text},
        }
        path = folder / f"{session_id}.jsonl"
        path.write_text(json.dumps(row) + "\n", "utf-8")
        ended = path.stat().st_mtime - hours * 3600
        os.utime(path, (ended, ended))

    def launches(self) -> list[dict[str, Any]]:
        """What the stand-in was started with, each time."""
        path = self.host.root / "home" / "launches.jsonl"
        return [json.loads(line) for line in path.read_text("utf-8").splitlines()] if path.exists() else []

    def open_sessions(self, session_id: str) -> list[dict[str, Any]]:
        return [one for one in self.host.sessions() if one["state"] == "open" and one["id"] == session_id]

    def ask(self, tab: Tab, timeout_ms: int = 15_000, **fields: Any) -> dict[str, Any]:
        """Publish a request, and wait for its result."""
        body = {"version": 1, "action": "open", "timeout_ms": timeout_ms, **fields}
        path = self.host.result_path(self.host.trigger(body, str(uuid.uuid4())))
        tab.until(path.exists, f"the result of {body}", timeout_ms / 1000 + 20)
        return dict(json.loads(path.read_text("utf-8")))


class Watched:
    """A window in which everything is written down that a person would notice."""

    def __init__(self, tab: Tab) -> None:
        self.tab = tab
        self.sent: list[dict[str, Any]] = []
        tab.page.on("websocket", self._listen)

    def _listen(self, socket: WebSocket) -> None:
        def sent(payload: str | bytes) -> None:
            if isinstance(payload, str):
                self.sent.append(json.loads(payload))

        socket.on("framesent", sent)

    def said(self, kind: str) -> list[dict[str, Any]]:
        """Messages of one type that the page has sent since it was watched."""
        return [message for message in self.sent if message["type"] == kind]

    def watch(self) -> None:
        """From now on nothing may move."""
        self.sent.clear()
        self.before = self._look()
        self.tab.page.evaluate(WATCH)

    def still(self) -> None:
        """Nothing has moved, also not for a moment."""
        moved = self.tab.page.evaluate(MOVED)
        assert moved == [], moved
        now = self._look()
        assert now == self.before, f"{self.before} became {now}"
        assert self.said("focus") == [], "the page has claimed a size"
        assert self.tab.trouble == [], self.tab.trouble

    def _look(self) -> dict[str, Any]:
        page = self.tab.page
        return {
            "selected": page.locator('.row[aria-selected="true"]').evaluate_all("rows => rows.map(r => r.dataset.key)"),
            "header": page.locator(".head-name").inner_text(),
            "grid": page.locator(".grid").is_visible(),
            "dialogs": page.locator("dialog[open]").count(),
            "menus": page.locator(".menu").count(),
            "said aloud": page.locator(".toast").all_inner_texts(),
            "flash": page.locator(".flash").is_visible(),
            "drawer": page.locator(".activity").is_visible(),
        }


def row(tab: Tab, session_id: str) -> Locator:
    """The row of a session in the list."""
    return tab.page.locator(f'.row[title*="{session_id}"]')


def journey(stage: Stage, tab: Tab, timeout_ms: int = 15_000) -> None:
    """A closed session is opened by a request while a person works in a plain terminal; again; then it is clicked."""
    watched = Watched(tab)
    tab.enter(stage.host)
    shell(tab, stage.host, "Plain")
    expect(row(tab, CLOSED)).to_contain_text("closed")
    watched.watch()

    result = stage.ask(tab, timeout_ms, sessionId=CLOSED)
    assert (result["outcome"], result["resumed"], result["wrote"]) == ("opened", True, False), result
    watched.still()
    launch = ["claude", "--resume", CLOSED, "--permission-mode", "auto"]
    tab.until(lambda: len(stage.launches()) == 1, "the start")
    (started,) = stage.launches()
    assert (started["argv"], started["cwd"]) == (launch, str(stage.project))
    (session,) = stage.open_sessions(CLOSED)
    expect(row(tab, CLOSED)).to_have_count(1)
    expect(row(tab, CLOSED)).to_contain_text("↳ trigger")
    assert [one["session"] for one in watched.said("attach")] == [session["handle"]]
    assert len(watched.said("open")) == 1
    watched.still()

    result = stage.ask(tab, timeout_ms, sessionId=CLOSED)
    assert (result["outcome"], result["resumed"], result["wrote"]) == ("opened", False, False), result
    assert len(stage.launches()) == 1
    assert stage.open_sessions(CLOSED) == [session]
    assert [one["session"] for one in watched.said("attach")] == [session["handle"]]
    assert [one["mode"] for one in watched.said("session_action_result")] == ["resume", "reattach"]
    watched.still()
    tab.type("echo still here")
    tab.shows("still here", 2)

    row(tab, CLOSED).click()
    expect(row(tab, CLOSED)).to_have_attribute("aria-selected", "true")
    tab.shows(f"recorded: claude --resume {CLOSED}")
    tab.type("hello")
    tab.shows("heard: hello")
    assert len(watched.said("open")) == 1
    assert len(stage.launches()) == 1
    assert stage.open_sessions(CLOSED)[0]["pid"] == session["pid"]


def altered(tab: Tab, pattern: str, replacement: str) -> list[str]:
    """Serve the built script with one change; returns the names of the scripts that had it."""
    served: list[str] = []

    def serve(route: Route) -> None:
        response = route.fetch()
        text, count = re.subn(pattern, replacement, response.text())
        if count == 1:
            served.append(route.request.url)
        route.fulfill(status=response.status, content_type="text/javascript", body=text)

    tab.context.route("**/assets/*.js", serve)
    return served
