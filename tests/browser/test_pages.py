"""Several pages, lost connections, and who is let in."""

from __future__ import annotations

import json
import os
import re
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Browser, WebSocket, expect
from tests.support.browser import ROOT, Tab, address, agent, shell
from tests.support.hosting import RunningHost

Tabs = Callable[..., Tab]

SIZED_ELSEWHERE = re.compile("Sized for another page")


def test_the_size_follows_the_page_in_use(host: RunningHost, tabs: Tabs) -> None:
    wide, small = tabs(1400, 900), tabs(700, 500)
    shell(wide, host)
    wide.type("echo $(tput cols)x$(tput lines)=size")
    wide.shows("=size", 2)
    first = size(wide)
    assert first[0] > 100
    small.page.get_by_role("treeitem", name=re.compile("Shell")).click()
    small.type("clear; echo $(tput cols)x$(tput lines)=size")
    small.shows("=size")
    small.until(lambda: size(small) != first and size(small)[0] > 0, "another size")
    second = size(small)
    assert second[0] < first[0]
    assert second[1] < first[1]
    note = wide.page.get_by_role("button", name=re.compile("Sized for another page"))
    expect(note).to_be_visible()
    note.click()
    expect(note).to_be_hidden()
    wide.type("clear; echo $(tput cols)x$(tput lines)=size")
    wide.until(lambda: size(wide) == first, "the first size")


def size(tab: Tab) -> tuple[int, int]:
    """The size that the shell last told."""
    told = re.findall(r"^(\d+)x(\d+)=size$", tab.screen(), re.MULTILINE)
    return (int(told[-1][0]), int(told[-1][1])) if told else (0, 0)


def test_two_pages_show_the_same_and_select_what_they_like(host: RunningHost, tabs: Tabs) -> None:
    one, two = tabs(), tabs()
    shell(one, host, "Red")
    two.page.get_by_role("treeitem", name=re.compile("Red")).click()
    shell(one, host, "Blue")
    two.type("echo from the other page")
    two.shows("from the other page", 2)
    expect(one.page.get_by_role("button", name="Blue", exact=True)).to_be_visible()
    one.page.get_by_role("treeitem", name=re.compile("Red")).click()
    one.shows("from the other page", 2)


# --- connections ------------------------------------------------------------------------------------------------------


def test_a_host_that_goes_silent_is_noticed_and_keys_are_refused(host: RunningHost, tabs: Tabs) -> None:
    tab = tabs(enter=False)
    tab.page.clock.install()
    tab.enter(host)
    shell(tab, host)
    assert host.process is not None
    host.process.send_signal(signal.SIGSTOP)
    try:
        tab.page.clock.fast_forward(36_000)
        expect(tab.status("connected")).to_be_hidden()
        tab.type("lost", enter=False)
        expect(tab.page.get_by_text("not connected: nothing was typed")).to_be_visible()
    finally:
        host.process.send_signal(signal.SIGCONT)
    expect(tab.status("connected")).to_be_visible()
    tab.type("echo again")
    tab.shows("again", 2)
    assert "lost" not in tab.screen()


def test_keys_typed_into_silence_are_told_of(host: RunningHost, tabs: Tabs) -> None:
    """Nobody knows yet that the host is gone, so they are taken; and then it is said that they may be lost."""
    tab = tabs(enter=False)
    tab.page.clock.install()
    tab.enter(host)
    shell(tab, host, "Silent")
    tab.type("echo before")
    tab.shows("before", 2)
    tab.page.clock.run_for(1_000)
    assert host.process is not None
    host.process.send_signal(signal.SIGSTOP)
    told = tab.page.get_by_text("what was typed last into “Silent” may not have arrived")
    try:
        tab.type("echo unsure", enter=False)
        tab.page.clock.run_for(9_000)
        expect(told).to_have_count(0)
        expect(tab.status("connected")).to_be_visible()
        tab.page.clock.run_for(2_000)
        expect(told).to_be_visible(timeout=3_000)
        expect(tab.status("connected")).to_be_hidden()
        tab.type("refused", enter=False)
        expect(tab.page.get_by_text("not connected: nothing was typed")).to_be_visible()
    finally:
        host.process.send_signal(signal.SIGCONT)
    expect(tab.status("connected")).to_be_visible()
    expect(told).to_be_visible()
    tab.page.keyboard.press("Control+u")
    tab.type("echo after")
    tab.shows("after", 2)
    assert "refused" not in tab.screen()


def test_after_a_restart_of_the_host_a_session_belongs_to_who_shows_it(host: RunningHost, tabs: Tabs) -> None:
    """No other page has the size, so this one is not told that another one had; although nobody works in its window."""
    tab = tabs(enter=False)
    tab.page.add_init_script("Object.defineProperty(document, 'hasFocus', {value: () => false})")
    tab.enter(host)
    shell(tab, host)
    before = host.sessions()[0]["columns"]
    host.kill()
    expect(tab.status("connected")).to_have_count(0)
    tab.page.set_viewport_size({"width": 900, "height": 600})
    host.start()
    expect(tab.status("connected")).to_be_visible()
    tab.until(lambda: host.sessions()[0]["columns"] < before, "the size of the smaller window")
    expect(tab.page.get_by_role("button", name=re.compile("Sized for another page"))).to_be_hidden()
    tab.trouble.clear()  # the browser tells of each attempt that found nobody


def test_after_a_restart_the_page_in_use_has_the_size_although_another_was_quicker(
    host: RunningHost, tabs: Tabs
) -> None:
    used, other = tabs(1400, 900), tabs(700, 500)
    shell(used, host)
    other.page.get_by_role("treeitem", name=re.compile("Shell")).click()
    used.type("echo used")
    other.shows("used", 2)
    before = host.sessions()[0]["columns"]
    # After two attempts in vain a page asks before it connects: this one gets no answer for a while.
    used.page.route("**/check", lambda route: route.abort())
    host.kill()
    for tab in (used, other):
        expect(tab.page.get_by_role("status").get_by_text(re.compile("no host is there"))).to_be_visible()
    host.start()
    expect(other.status("connected")).to_be_visible()
    other.until(lambda: host.sessions()[0]["columns"] < before, "the size of the page that came first")
    used.page.unroute("**/check")
    used.page.evaluate("dispatchEvent(new Event('online'))")
    expect(used.status("connected")).to_be_visible()
    used.until(lambda: host.sessions()[0]["columns"] == before, "the size of the page in use")
    expect(used.page.get_by_role("button", name=SIZED_ELSEWHERE)).to_be_hidden()
    expect(other.page.get_by_role("button", name=SIZED_ELSEWHERE)).to_be_visible()
    for tab in (used, other):
        tab.trouble.clear()  # the browser tells of each attempt that found nobody


def test_the_page_that_is_left_takes_the_size_over(host: RunningHost, tabs: Tabs) -> None:
    """And answers what programs ask; nobody has to click for that."""
    small, wide = tabs(700, 500), tabs(1400, 900)
    shell(wide, host)
    small.page.get_by_role("treeitem", name=re.compile("Shell")).click()
    small.type("clear")
    note = wide.page.get_by_role("button", name=re.compile("Sized for another page"))
    expect(note).to_be_visible()
    before = host.sessions()[0]["columns"]
    answers = host.project / "answers"
    small.type(r"until [ -e go ]; do sleep 0.1; done; stty -echo raw; printf '\033[5n'; head -c 4 > answers; stty sane")
    small.page.close()
    expect(note).to_be_hidden()
    wide.until(lambda: host.sessions()[0]["columns"] > before, "the size of the wide window")
    (host.project / "go").touch()
    wide.until(lambda: answers.exists() and answers.read_bytes() == b"\x1b[0n", "the answer of the wide window")


def test_of_several_pages_that_are_left_one_takes_the_size_over(host: RunningHost, tabs: Tabs) -> None:
    """The program gets one new size, not one after another; a page that is used takes it over as ever."""
    owner, small, middle = tabs(1400, 900), tabs(700, 500, enter=False), tabs(1000, 700, enter=False)
    told: list[tuple[int, int]] = []

    def listen(socket: WebSocket) -> None:
        def received(frame: str | bytes) -> None:
            message = json.loads(frame) if isinstance(frame, str) else {}
            if message.get("type") == "size" and not message["free"]:
                told.append((message["columns"], message["rows"]))

        socket.on("framereceived", received)

    small.page.on("websocket", listen)
    shell(owner, host)
    for tab in (small, middle):
        tab.enter(host)
        tab.page.get_by_role("treeitem", name=re.compile("Shell")).click()
        tab.shows("here>")
    owner.type("echo back")
    for tab in (small, middle):
        tab.shows("back", 2)
        expect(tab.page.get_by_role("button", name=SIZED_ELSEWHERE)).to_be_visible()
    told.clear()
    owner.page.close()
    small.until(lambda: told, "a new size")
    small.page.wait_for_timeout(1_000)
    assert len(set(told)) == 1, told
    boxed = [tab for tab in (small, middle) if tab.page.get_by_role("button", name=SIZED_ELSEWHERE).is_visible()]
    assert len(boxed) == 1
    boxed[0].page.get_by_role("button", name=SIZED_ELSEWHERE).click()
    expect(boxed[0].page.get_by_role("button", name=SIZED_ELSEWHERE)).to_be_hidden()
    small.until(lambda: len(set(told)) == 2, "the size of the page that is used")


def test_a_host_that_is_full_is_tried_again(host: RunningHost, tab: Tab) -> None:
    """A refusal that passes says why, and the page is there again once it has passed."""
    tab.page.evaluate(
        """() => {
            const real = WebSocket;
            window.WebSocket = class extends real {
                set onmessage(listener) {
                    super.onmessage = event => {
                        if (window.served || typeof event.data !== 'string') return listener(event);
                        const text = '64 pages are connected; close one';
                        listener({data: JSON.stringify({type: 'problem', text, kind: 'passing'})});
                        this.close();
                    };
                }
            };
        }"""
    )
    host.terminate()
    host.start()
    expect(
        tab.page.get_by_role("status").get_by_text(re.compile("trying again … .64 pages are connected"))
    ).to_be_visible()
    tab.page.evaluate("window.served = true")
    expect(tab.status("connected")).to_be_visible()
    tab.trouble.clear()  # the browser tells of each attempt that found nobody


SECRET = "a-standing-credential-of-more-than-32-characters"


def standing(host: RunningHost) -> None:
    """Let the host take a credential that stays."""
    path = host.root / "credential"
    path.write_text(f"{SECRET}\n", "utf-8")
    path.chmod(0o600)
    host.options = ("--credential", str(path))


@pytest.mark.parametrize("host", [standing], indirect=True, ids=["standing"])
def test_signing_in_with_the_standing_credential(host: RunningHost, tabs: Tabs) -> None:
    """Any number of browsers; what is almost it is refused; and it stands nowhere afterwards."""
    for _ in range(2):
        tab = tabs(enter=False)
        tab.page.goto(address(host).partition("#")[0])
        field = tab.page.get_by_label("Address or credential")
        field.fill(SECRET[:-1])
        tab.page.keyboard.press("Enter")
        expect(tab.page.get_by_role("alert").get_by_text("The host does not take that")).to_be_visible()
        tab.trouble.clear()  # the browser tells of every 401
        field.fill(SECRET)
        tab.page.get_by_role("button", name="Sign in").click()
        expect(tab.status("connected")).to_be_visible()
        assert field.input_value() == ""
        kept = tab.page.evaluate("JSON.stringify([{...localStorage}, {...sessionStorage}, location.href])")
        assert SECRET not in kept
        tab.page.reload()
        expect(tab.status("connected")).to_be_visible()
    shell(tab, host)
    tab.type("echo signed in")
    tab.shows("signed in", 2)
    for path in host.data.rglob("*"):
        assert not path.is_file() or SECRET.encode() not in path.read_bytes(), path


def test_signing_in_by_pasting(host: RunningHost, tabs: Tabs) -> None:
    tab = tabs(enter=False)
    tab.page.goto(address(host).partition("#")[0])
    field = tab.page.get_by_label("Address or credential")
    assert field.get_attribute("type") == "password"
    field.fill("x" * 43)
    tab.page.keyboard.press("Enter")
    expect(tab.page.get_by_role("alert").get_by_text("The host does not take that")).to_be_visible()
    tab.trouble.clear()  # the browser tells of every 401
    field.fill(f" {address(host)}\n")
    tab.page.keyboard.press("Enter")
    expect(tab.status("connected")).to_be_visible()
    expect(field).to_be_hidden()


def test_the_page_goes_on_after_the_host_was_killed(host: RunningHost, tab: Tab) -> None:
    shell(tab, host)
    tab.type("echo before")
    tab.shows("before", 2)
    host.kill()
    expect(tab.status("connected")).to_have_count(0)
    tab.type("echo lost", enter=False)
    expect(tab.page.get_by_role("alert")).to_be_visible()
    assert "lost" not in tab.screen()
    host.start()
    expect(tab.status("connected")).to_be_visible()
    tab.type("echo after")
    tab.shows("after", 2)
    assert "lost" not in tab.screen()
    assert tab.screen().count("before") == 2, "nothing is shown twice"
    refused = [line for line in tab.trouble if "ERR_CONNECTION_REFUSED" in line or "WebSocket connection to" in line]
    # The browser itself reports each attempt that found nobody; nothing else went wrong.
    assert tab.trouble == refused
    tab.trouble.clear()


def impatient(host: RunningHost) -> None:
    """Give pages half a second to answer."""
    host.launcher = (sys.executable, str(ROOT / "tests/support/impatient_host.py"))


def stop_pages(tab: Tab, how: signal.Signals) -> None:
    """Stop or continue the processes that run pages."""
    session = tab.browser.new_browser_cdp_session()
    for process in session.send("SystemInfo.getProcessInfo")["processInfo"]:
        if process["type"] == "renderer":
            os.kill(process["id"], how)
    session.detach()


@pytest.mark.parametrize("host", [impatient], indirect=True, ids=["impatient"])
def test_a_frozen_tab_comes_back_with_everything(host: RunningHost, tab: Tab) -> None:
    """It really stands still, until the host has given it up; then it reconnects by itself and shows each line once."""
    shell(tab, host)
    tab.type("stty -echo; echo line-0; until [ -e go ]; do sleep 0.1; done; seq -f line-%g 1 300")
    tab.shows("line-0", 2)
    stop_pages(tab, signal.SIGSTOP)
    try:
        log = host.data / "host.log"
        deadline = time.monotonic() + 60
        while "does not answer" not in log.read_text("utf-8"):
            assert time.monotonic() < deadline, "the host still waits for the frozen page"
            time.sleep(0.1)
        (host.project / "go").touch()
        time.sleep(1)
    finally:
        stop_pages(tab, signal.SIGCONT)
    tab.shows("line-300")
    expect(tab.status("connected")).to_be_visible()
    seen: set[int] = set()
    for _ in range(40):
        numbers = [int(number) for number in re.findall(r"^line-(\d+)$", tab.screen(), re.MULTILINE)]
        assert numbers == list(range(numbers[0], numbers[-1] + 1)), "in order, and each once"
        seen.update(numbers)
        if numbers[0] == 0:
            break
        tab.terminal.locator("textarea").press("Shift+PageUp")
        tab.page.wait_for_timeout(100)
    assert seen == set(range(301))


def test_a_used_address_says_how_to_get_another(host: RunningHost, tabs: Tabs, browser: Browser) -> None:
    used = address(host)
    first = tabs(enter=False)
    first.page.goto(used)
    expect(first.status("connected")).to_be_visible()
    second = tabs(enter=False)
    second.page.goto(used)
    expect(second.page.get_by_text("switchboard url")).to_be_visible()
    expect(second.page.get_by_text("used before, or is older than two minutes")).to_be_visible()
    assert "ticket" not in second.page.url
    # The browser itself reports the refused exchange.
    assert all("401" in line for line in second.trouble)
    second.trouble.clear()
    second.page.goto("about:blank")
    second.page.goto(address(host))
    expect(second.status("connected")).to_be_visible()


def test_why_the_page_does_not_connect_is_said(host: RunningHost, tabs: Tabs) -> None:
    """No host; a host of another version; a host at the same address that is another instance."""
    tab = tabs(enter=False)
    tab.page.add_init_script(
        """
        const real = WebSocket;
        window.WebSocket = class extends real {
            set onmessage(listener) {
                super.onmessage = event => {
                    if (!window.newer || typeof event.data !== 'string') return listener(event);
                    listener({data: event.data.replace(/("type":"welcome".*"version":")[^"]*/, '$1999.1')});
                };
            }
        };
        """
    )
    tab.enter(host)
    port = int(tab.page.url.rstrip("/").rpartition(":")[2])
    tab.page.evaluate("window.newer = true")
    host.terminate()
    expect(tab.page.get_by_role("status").get_by_text(re.compile("no host is there"))).to_be_visible()
    host.start()
    expect(tab.status("connected")).to_be_visible()
    expect(tab.page.get_by_text(re.compile("The host is version 999.1 now"))).to_be_visible()
    host.terminate()
    (host.data / "web.json").unlink()
    host.options = ("--port", str(port))
    host.start()
    expect(tab.page.get_by_text("does not know this browser: it is another one")).to_be_visible()
    tab.trouble.clear()  # the browser tells of each attempt


def test_without_a_credential_nothing_of_a_session_is_shown(host: RunningHost, tabs: Tabs) -> None:
    inside = tabs()
    agent(inside, host, "Secret project")
    outside = tabs(enter=False)
    outside.page.goto(address(host).partition("#")[0])
    expect(outside.page.get_by_text("switchboard url")).to_be_visible()
    assert "Secret project" not in outside.page.content()
    outside.trouble.clear()


def test_nothing_is_kept_in_the_history_or_sent_elsewhere(host: RunningHost, tabs: Tabs) -> None:
    tab = tabs(enter=False)
    requested: list[str] = []
    tab.context.on("request", lambda request: requested.append(request.url))
    tab.page.goto(address(host))
    expect(tab.status("connected")).to_be_visible()
    own = tab.page.url
    assert all(url.startswith(own) for url in requested)
    assert not any("ticket=" in url.partition("#")[0] for url in requested)
    cookies = tab.context.cookies()
    assert [(cookie["httpOnly"], cookie["sameSite"]) for cookie in cookies] == [(True, "Strict")]
    assert tab.page.evaluate("document.cookie") == ""


def test_an_inline_script_does_not_run(host: RunningHost, tab: Tab) -> None:
    tab.page.evaluate(
        """() => {
            const script = document.createElement('script');
            script.textContent = 'window.ran = true';
            document.head.append(script);
        }"""
    )
    assert tab.page.evaluate("window.ran") is None
    assert any("Content Security Policy" in line for line in tab.trouble)
    tab.trouble.clear()


def test_a_frame_of_another_site_stays_empty(host: RunningHost, tabs: Tabs, tmp_path: Path) -> None:
    tab = tabs()
    lure = tmp_path / "lure.html"
    lure.write_text(f'<iframe src="{tab.page.url}" width=800 height=600></iframe>', "utf-8")
    outside = tabs(enter=False)
    outside.page.goto(f"file://{lure}")
    outside.page.wait_for_timeout(300)
    (frame,) = outside.page.frames[1:]
    assert "Switchboard" not in frame.content()
    outside.trouble.clear()
