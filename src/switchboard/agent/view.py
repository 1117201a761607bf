"""What the screen shows around the box (pure): fragments of (style, text) for the line editor's renderer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from switchboard.agent.commands import COMMANDS, matching
from switchboard.agent.dialogs import Dialog
from switchboard.agent.prompt_text import printable, shorten

Fragments: TypeAlias = "list[tuple[str, str]]"

HINT = "Enter sends \u00b7 Alt+Enter new line \u00b7 /help"
QUEUED_WIDTH = 60


@dataclass(frozen=True, slots=True)
class View:
    """`partial`: an answer that is still appearing. `working`: what is going on, None at rest, and `since` when.

    `notice`: something to read under the box.
    """

    partial: str = ""
    working: str | None = None
    since: int = 0
    queued: tuple[str, ...] = ()
    dialog: Dialog | None = None
    notice: str = ""


def above_box(view: View, now: int) -> Fragments:
    """The lines between the conversation and the box, or the dialog in the box's place."""
    lines: list[tuple[str, str]] = []
    if view.partial:
        lines.append(("", f"\u25cf {printable(view.partial)}"))
    if view.dialog is not None:
        lines += _dialog_lines(view.dialog)
    elif view.working is not None:
        seconds = max(0, now - view.since) // 1000
        lines.append(("class:working", f"\u2733 {view.working}\u2026 ({seconds}s \u00b7 esc to interrupt)"))
    lines += [("class:quiet", f"  queued: {shorten(printable(text), QUEUED_WIDTH)}") for text in view.queued]
    fragments: Fragments = []
    for style, line in lines:
        fragments += [("", "\n")] if fragments else []
        fragments.append((style, line))
    return fragments


def footer(view: View, box: str) -> Fragments:
    """The line under the box."""
    if view.dialog is not None:
        return [
            ("class:quiet", "  Enter takes the highlighted answer \u00b7 digits and arrows choose \u00b7 Esc cancels")
        ]
    commands = matching(box)
    if view.notice:
        text = view.notice
    elif len(commands) == 1:
        text = f"{commands[0]}: {COMMANDS[commands[0][1:]]}"
    else:
        text = "  ".join(commands) or HINT
    return [("class:quiet", f"  {text}")]


def _dialog_lines(dialog: Dialog) -> Fragments:
    lines = [("class:title", f" {dialog.title}")]
    lines += [("", f"   {line}") for text in dialog.body for line in printable(text).split("\n")]
    for number, (label, _) in enumerate(dialog.options, 1):
        chosen = number - 1 == dialog.selected
        lines.append(("class:chosen" if chosen else "", f" {'>' if chosen else ' '} {number}. {label}"))
    return lines
