"""Draw docs/images/watch.svg: the list of `switchboard watch`, as the page itself would draw it, for sample sessions.

.venv/bin/python tools/draw_watch.py
"""

from __future__ import annotations

from html import escape
from pathlib import Path

from switchboard.page.messages import Role, SessionInfo, Sessions, TriggerActivity, Welcome
from switchboard.page.terminal.listing import Frame, picture
from switchboard.page.terminal.look import Look, Style
from switchboard.page.terminal.model import Model, Where
from switchboard.page.terminal.screen import Row
from switchboard.page.terminal.text import width

NOW = 1_790_000_000_000
MINUTE = 60_000
COLUMNS, ROWS = 92, 14
CELL, LINE, TOP, LEFT = 8.4, 20, 52, 18

HEAD = (
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {wide} {high}" role="img" aria-labelledby="title" '
    'font-family="ui-monospace, \'DejaVu Sans Mono\', Menlo, Consolas, monospace" font-size="14">\n'
    '<title id="title">The list of switchboard watch: projects, sessions with their status, a trigger, the keys</title>'
)

COLOURS = {
    Style.PLAIN: "#d7dce5",
    Style.TITLE: "#ffffff",
    Style.QUIET: "#8b93a5",
    Style.IDLE: "#98c379",
    Style.BUSY: "#61afef",
    Style.WAITING: "#e5c07b",
    Style.SHELL: "#c678dd",
    Style.FAILED: "#e06c75",
    Style.QUESTION: "#ffffff",
    Style.WARNING: "#e5c07b",
}


def session(handle: int, name: str, status: str, project: str, minutes: int, **more: object) -> SessionInfo:
    fields = {"cli": "claude", "status_since": NOW - minutes * MINUTE, "opened_at": NOW - 200 * MINUTE, **more}
    return SessionInfo(
        id=f"{handle:08x}-0000-4000-8000-000000000000",
        state="open",
        status=status,
        handle=handle,
        name=name,
        project=project,
        **fields,  # type: ignore[arg-type]  # sample data
    )


def sample() -> Model:
    shop, site = "/home/sam/code/shop", "/home/sam/code/site"
    model = Model(Where(shop, "/home/sam"))
    sessions = [
        session(1, "Refactor the parser", "busy", shop, 3),
        session(2, "Nightly release notes", "waiting", shop, 1, waiting_for="permission prompt"),
        session(3, "Payment tests", "idle", shop, 25, draft=True),
        session(4, "Try things offline", "idle", site, 4, cli="agent"),
        session(5, "Build server", "running", site, 70, cli="shell", kind="shell"),
        SessionInfo(
            "5e0c1b2a", "closed", "claude", "", name="Old layout", project=site, modified_at=NOW - 3000 * MINUTE
        ),
    ]
    for message in (
        Welcome(1, "0.1.0", "e", 1),
        Sessions(sessions),
        Role(True),
        TriggerActivity("5b1f", NOW - 2 * MINUTE, "done", session_id=sessions[3].id, ok=True, submitted="confirmed"),
        TriggerActivity("9c44", NOW - MINUTE, "waiting", session_id=sessions[0].id),
    ):
        model.receive(message)
    model.selected = 1
    return model


def line(row: Row, number: int) -> str:
    spans, column = [], 0
    for span in row:
        cells = width(span.text)
        if span.text.strip():
            bold = ' font-weight="bold"' if span.style in {Style.TITLE, Style.WAITING, Style.QUESTION} else ""
            spans.append(
                f'<text x="{LEFT + column * CELL:.1f}" y="{TOP + number * LINE}" fill="{COLOURS[span.style]}"{bold} '
                f'textLength="{cells * CELL:.1f}" xml:space="preserve">{escape(span.text)}</text>'
            )
        column += cells
    return "".join(spans)


def main() -> None:
    frame = Frame(COLUMNS, ROWS, NOW, 0, Look())
    rows = picture(sample(), frame).rows
    wide, high = int(LEFT * 2 + COLUMNS * CELL), TOP + len(rows) * LINE
    text = "\n".join(filter(None, (line(row, number) for number, row in enumerate(rows))))
    lights = "".join(
        f'<circle cx="{20 + 18 * number}" cy="18" r="5" fill="{COLOURS[style]}"/>'
        for number, style in enumerate((Style.FAILED, Style.WAITING, Style.IDLE))
    )
    svg = f"""{HEAD.format(wide=wide, high=high)}
<rect width="{wide}" height="{high}" rx="8" fill="#1f2430"/>
{lights}
{text}
</svg>
"""
    (Path(__file__).parents[1] / "docs/images/watch.svg").write_text(svg, "utf-8")


if __name__ == "__main__":
    main()
