"""The page in Debian's Chromium, as a person uses it, against a real host."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Locator, Page, expect, sync_playwright

from tests.support.hosting import RunningHost

ROOT = Path(__file__).parents[2]
CHROMIUM = "/usr/bin/chromium"

ARGUMENTS = (
    "--no-sandbox",  # tests may run as root, where the sandbox does not start
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)

NO_GRAPHICS = "--disable-3d-apis"
"""The terminal then draws text, which tests can read; one test does without this."""

AXE = ROOT / "web/node_modules/axe-core/axe.min.js"

RUN_AXE = """
axe.run(document, {resultTypes: ['violations']}).then(result => JSON.stringify(result.violations.map(
    found => [found.impact, found.id, found.nodes.map(node => node.target.join(' ') + ': ' + node.failureSummary)])))
"""

SECONDS = 20.0
"""What a person sees at once may take so long on a busy machine. Only a failure waits."""

expect.set_options(timeout=SECONDS * 1000)


@contextmanager
def chromium() -> Iterator[Browser]:
    """A browser of its own."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=[*ARGUMENTS, NO_GRAPHICS])
        try:
            yield browser
        finally:
            browser.close()


@contextmanager
def with_graphics(browser: Browser) -> Iterator[Browser]:
    """A second browser beside one, which draws terminals as most people's does."""
    other = browser.browser_type.launch(executable_path=CHROMIUM, args=list(ARGUMENTS))
    try:
        yield other
    finally:
        other.close()


class Tab:
    """One window with the page. `trouble`: what the browser complained about."""

    def __init__(self, browser: Browser, context: BrowserContext) -> None:
        self.browser = browser
        self.context = context
        self.page: Page = context.new_page()
        self.trouble: list[str] = []
        self.page.on("console", self._console)
        self.page.on("pageerror", lambda error: self.trouble.append(f"error: {error}"))

    def _console(self, message: ConsoleMessage) -> None:
        if message.type == "error":
            self.trouble.append(f"{message.type}: {message.text}")

    def enter(self, host: RunningHost) -> None:
        """Open the page with a fresh ticket."""
        self.page.goto(address(host))
        expect(self.status("connected")).to_be_visible()

    def status(self, text: str) -> Locator:
        return self.page.get_by_role("status").get_by_text(text, exact=True)

    @property
    def sidebar(self) -> Locator:
        return self.page.get_by_role("navigation", name="Sessions")

    @property
    def dialog(self) -> Locator:
        return self.page.get_by_role("dialog")

    def new_session(self, program: str, directory: Path, name: str = "") -> None:
        """Open a session by way of `+`."""
        self.page.get_by_role("button", name="New session").first.click()
        self.dialog.get_by_role("radio", name=re.compile(program)).check(force=True)
        self.dialog.get_by_label("Directory").fill(str(directory))
        if name:
            self.dialog.get_by_label("Name").fill(name)
        self.dialog.get_by_role("button", name="Open", exact=True).click()
        expect(self.dialog).to_have_count(0)

    # --- the terminal that is shown ---

    @property
    def terminal(self) -> Locator:
        return self.page.locator("main .term:visible").first

    def screen(self) -> str:
        """What stands on the screen, trailing blanks of lines left out."""
        lines: list[str] = self.terminal.locator(".xterm-rows > div").all_inner_texts()
        return "\n".join(line.replace("\xa0", " ").rstrip() for line in lines).rstrip()

    def shows(self, text: str, times: int = 1) -> None:
        """Wait until the text is on the screen."""
        self.until(lambda: self.screen().count(text) >= times, f"{text!r} on the screen")

    def until(self, condition: Any, what: str, seconds: float = SECONDS) -> None:
        for _ in range(int(seconds * 20)):
            if condition():
                return
            self.page.wait_for_timeout(50)
        raise AssertionError(f"waited {seconds:g} s in vain for {what}; the screen:\n{self.screen()}")

    def type(self, text: str, enter: bool = True) -> None:
        """Type into the terminal, as keys."""
        self.terminal.locator("textarea").focus()
        self.page.keyboard.type(text)
        if enter:
            self.page.keyboard.press("Enter")

    def audit(self) -> list[str]:
        """What axe finds that hinders people, with where: nothing serious may be among it."""
        # By the debugger, not as a script of the page: its security policy would, rightly, refuse that.
        session = self.context.new_cdp_session(self.page)
        source = AXE.read_text("utf-8")
        session.send("Runtime.evaluate", {"expression": source})
        done: Mapping[str, Any] = session.send(
            "Runtime.evaluate", {"expression": RUN_AXE, "awaitPromise": True, "returnByValue": True}
        )
        session.detach()
        return [
            f"{impact} {rule}: {'; '.join(nodes)[:600]}"
            for impact, rule, nodes in json.loads(done["result"]["value"])
            if impact in ("serious", "critical")
        ]

    def close(self) -> None:
        self.context.close()


def address(host: RunningHost) -> str:
    """A fresh address of a host's page."""
    said = host.cli("url")
    assert said.returncode == 0, said.stderr
    return said.stdout.strip()


def new_tab(browser: Browser, width: int = 1280, height: int = 800, **options: Any) -> Tab:
    """A window of a browser that knows nothing yet."""
    return Tab(browser, browser.new_context(viewport={"width": width, "height": height}, **options))


def shell(tab: Tab, host: RunningHost, name: str = "Shell") -> None:
    """Open a plain shell with a short prompt and an empty screen."""
    tab.new_session("Plain shell", host.project, name)
    tab.until(lambda: tab.screen().strip() in {"$", "#", "here>"}, "a prompt")
    tab.type("PS1='here> '; clear")
    tab.until(lambda: tab.screen() == "here>", "our prompt")


def agent(tab: Tab, host: RunningHost, name: str = "Agent") -> None:
    tab.new_session("built in", host.project, name)
    row(tab, name, "idle")


def row(tab: Tab, name: str, status: str = "") -> None:
    """Wait until the list has a session with that name and status word."""
    expect(tab.page.get_by_role("treeitem", name=re.compile(rf"{name}.*{status}", re.DOTALL))).to_be_visible()
