"""What the list looks like: the model as a picture (pure).

From top to bottom: a header that counts, projects with their sessions, the latest triggers, a question or notice, and
the keys. A narrow or low screen loses the least useful first: hints, triggers, the CLI's name, the age.
"""

from __future__ import annotations

from dataclasses import dataclass

from switchboard.page.messages import SessionInfo, TriggerActivity
from switchboard.page.terminal.asking import Line, NewFolder, NewProfile
from switchboard.page.terminal.catalog import key_of, label_of
from switchboard.page.terminal.look import WORD_CELLS, Look, Style, status_of
from switchboard.page.terminal.model import Model
from switchboard.page.terminal.screen import Picture, Row, Span, cells_of, row
from switchboard.page.terminal.text import age, clip, clip_start, clock_time, count, pad, plain, width, wrap

CLI_CELLS = 9
AGE_CELLS = 5
NARROW = 60
"""Columns below which a row has no room for the CLI's name."""
LOW = 12
"""Rows below which only one trigger is shown."""

HELP = (
    ("", "In the list (nothing typed here reaches a session)"),
    ("↑ ↓  k j", "select"),
    ("Enter", "show the session and type in it"),
    ("n", "new session"),
    ("r", "resume a closed session"),
    ("x", "stop, after a question"),
    ("R", "rename"),
    ("w", "next session that waits for you"),
    ("Ctrl-l", "ask the host for the list again"),
    ("q", "leave; sessions go on"),
    ("", "In a session, after Ctrl-]"),
    ("l or d", "back to the list"),
    ("n  p", "next, previous session"),
    ("x", "stop, after a question"),
    ("q", "leave"),
    ("Ctrl-]", "sends Ctrl-] itself"),
)

FIRST_MINUTE = (
    "Nothing runs here yet. Press n to start a session. Then, from a shell:",
    '    switchboard send ID "Say hello."',
    "types a first prompt into it, as soon as it is ready and nobody is typing.",
)


@dataclass(frozen=True, slots=True)
class Frame:
    """For what a picture is made. `now` wall milliseconds; ages are right at that moment, which the header names."""

    columns: int
    rows: int
    now: int
    utc_offset_s: int
    look: Look


def picture(model: Model, frame: Frame) -> Picture:
    """Return the screen for the list, or for the help sheet."""
    if model.help:
        return Picture(tuple(_help(model))[: frame.rows])
    header = [_header(model, frame)]
    message, cursor = _message(model, frame)
    hint = [_hint(model, frame)] if frame.rows >= 4 else []
    triggers = _triggers(model, frame) if frame.rows >= 8 else []
    room = frame.rows - len(header) - len(triggers) - len(message) - len(hint)
    body = _body(model, frame, max(0, room))
    above = [*header, *body, *triggers]
    rows = (*above, *message, *hint)[: frame.rows]
    return Picture(tuple(rows), None if cursor is None else (len(above) + len(message) - 1, cursor))


def page_rows(frame_rows: int) -> int:
    """Return how far a page up or down goes."""
    return max(1, frame_rows - 5)


def _header(model: Model, frame: Frame) -> Row:
    sessions = [s for s in model.catalog.sessions if s.state == "open"]
    waiting = sum(s.status == "waiting" for s in sessions)
    busy = sum(s.status == "busy" for s in sessions)
    left = [Span("Switchboard", Style.TITLE)]
    if waiting:
        left += [Span("  "), Span(f" {waiting} waiting for you ", Style.WAITING)]
    counts = f"  {count(len(sessions), 'session', 'sessions')} open" + (f", {busy} busy" if busy else "")
    state = Span("connected", Style.QUIET) if model.link.connected else Span("NOT CONNECTED", Style.WARNING)
    as_of = Span(f"  as of {clock_time(frame.now, frame.utc_offset_s)}", Style.QUIET)
    for right in ([Span(counts), state, as_of], [state, as_of], [state], []):
        middle, end = (right[:1], right[1:]) if len(right) == 3 else ([], right)
        gap = frame.columns - cells_of(left) - cells_of(middle) - cells_of(end)
        if gap >= 1:
            return (*left, *middle, Span(" " * gap), *end)
    return tuple(left)


def _body(model: Model, frame: Frame, room: int) -> list[Row]:
    rows: list[Row] = []
    selected = 0
    for project in model.catalog.projects():
        rows.append(row(Span(clip(project.title, frame.columns, frame.look.ellipsis), Style.TITLE)))
        for session in project.sessions:
            if key_of(session) == model.selected:
                selected = len(rows)
            rows.append(_session(session, frame, chosen=key_of(session) == model.selected))
    if not rows and model.link.listed:
        rows = [row(line) for text in FIRST_MINUTE for line in wrap(text, frame.columns, 3, frame.look.ellipsis)]
    # The selected row stays in sight, in the middle where the list is longer than the screen.
    top = max(0, min(selected - room // 2, len(rows) - room))
    rows = rows[top : top + room]
    return rows + [()] * (room - len(rows))


def _session(session: SessionInfo, frame: Frame, *, chosen: bool) -> Row:
    look = frame.look
    status = status_of(session.state, session.status)
    marker = ("▸ " if look.unicode else "> ") if chosen else "  "
    icon = status.icon if look.unicode else status.ascii_icon
    cli = f" {pad(plain(session.cli), CLI_CELLS - 1, look.ellipsis)}" if frame.columns >= NARROW else ""
    since = age(session.status_since or session.modified_at or session.opened_at, frame.now)
    end = f"{cli}{since:>{AGE_CELLS}}"
    left = [Span(marker, Style.TITLE), Span(f"{icon} {status.word}", status.style)]
    left.append(Span(" " * (WORD_CELLS - len(status.word) + 1)))
    room = frame.columns - cells_of(left) - width(end)
    notes = _notes(session)
    name_room = max(min(room, 12), room - width(notes))
    name = clip(label_of(session), name_room, look.ellipsis)
    notes = clip(notes, room - width(name), look.ellipsis)
    left.append(Span(name, Style.TITLE if chosen else Style.PLAIN))
    left.append(Span(notes, Style.QUESTION if session.status == "waiting" else Style.QUIET))
    left.append(Span(" " * (room - width(name) - width(notes))))
    return (*left, Span(end, Style.QUIET))


def _notes(session: SessionInfo) -> str:
    notes: list[str] = []
    if session.state == "open" and session.waiting_for:
        notes.append(plain(session.waiting_for))
    if session.attention and session.state == "open":
        notes.append("wants your attention")
    if session.draft and session.state == "open":
        notes.append("draft")
    if session.sandbox and session.state == "open":
        notes.append("sandbox")
    if session.exit is not None and session.exit.signal is not None:
        notes.append(f"signal {session.exit.signal}")
    elif session.exit is not None and session.exit.code:
        notes.append(f"exit code {session.exit.code}")
    return f" · {' · '.join(notes)}" if notes else ""


UNDER_WAY = {"received": "received", "waiting": "waits", "opening": "opens", "writing": "is typed", "stopping": "stops"}


def _triggers(model: Model, frame: Frame) -> list[Row]:
    latest = model.triggers[-(3 if frame.rows >= LOW * 2 else 1) :]
    return [_trigger(model, trigger, frame) for trigger in latest]


def _trigger(model: Model, trigger: TriggerActivity, frame: Frame) -> Row:
    look = frame.look
    mark = "↳" if look.unicode else "->"
    wanted = (trigger.session_id or "").lower()
    session = next((s for s in model.catalog.sessions if s.id.lower() == wanted), None)
    called = plain(trigger.target or "") if session is None else label_of(session)
    target = f" to {called}" if called else ""
    name = clip(plain(trigger.name.removesuffix(".json")), 20, look.ellipsis)
    style = Style.QUIET
    if trigger.step != "done":
        outcome = UNDER_WAY[trigger.step]
    elif trigger.ok:
        outcome = f"done, submitted: {plain(trigger.submitted or 'no')}"
    else:
        style = Style.FAILED
        outcome = f"failed: {plain(trigger.error or 'unknown')}" + (
            f" ({plain(trigger.reason)})" if trigger.reason else ""
        )
    when = f"{age(trigger.at, frame.now):>{AGE_CELLS}}"
    text = pad(f"{mark} trigger {name}{target}: {outcome}", frame.columns - AGE_CELLS, look.ellipsis)
    return row(Span(text, style), Span(when, Style.QUIET))


def _message(model: Model, frame: Frame) -> tuple[list[Row], int | None]:
    """Return the rows of the question or notice, and the column of the cursor in the last of them."""
    columns, look = frame.columns, frame.look
    question = model.question
    if question is None:
        style = Style.PLAIN if model.link.connected else Style.WARNING
        return [row(Span(line, style)) for line in wrap(model.notice, columns, 3, look.ellipsis)], None
    if isinstance(question, Line):
        label = f"{question.label} [{question.default}]: " if question.default else f"{question.label}: "
        if width(label) > columns // 2:
            label = f"{question.label} [{clip_start(plain(question.default), columns // 3, look.ellipsis)}]: "
        label = clip(label, columns - 2, look.ellipsis)
        text = clip_start(question.text, columns - width(label) - 1, look.ellipsis)
        return [row(Span(label, Style.QUESTION), text)], width(label) + width(text)
    lines = wrap(f"{question.text} [y/N]", columns - 1, 4, look.ellipsis)
    return [row(Span(line, Style.QUESTION)) for line in lines], width(lines[-1])


def _hint(model: Model, frame: Frame) -> Row:
    question = model.question
    if isinstance(question, Line):
        example = {NewProfile: " · agent, claude, shell, codex, …", NewFolder: " · where it works"}
        how = "Enter takes it, Esc drops it"
        hints = [how + example.get(type(question.about), ""), how]
    elif question is not None:
        hints = ["y means yes; every other key means no", "y: yes; other keys: no"]
    else:
        hints = [
            "Enter show · n new · r resume · x stop · R rename · ? help · q leave",
            "Enter show · n new · ? help · q leave",
            "? help · q leave",
        ]
    fitting = next((hint for hint in hints if width(hint) <= frame.columns), hints[-1])
    return row(Span(fitting, Style.QUIET))


def _help(model: Model) -> list[Row]:
    rows: list[Row] = []
    for keys, what in HELP:
        if keys:
            rows.append(row(Span(f"  {pad(keys, 11)}", Style.TITLE), what))
        else:
            rows.append(row(Span(what, Style.QUESTION)))
    role = "This page opens what triggers ask for. " if model.link.renderer else ""
    return [*rows, row(Span(f"{role}Any key goes back.", Style.QUIET))]
