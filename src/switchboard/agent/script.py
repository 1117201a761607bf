"""The offline model (pure): what a turn does and what it answers follow from the prompt alone.

An answer is of use to somebody who has just arrived: it says what was received, how much of it, and what to try next.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from switchboard.agent.directives import (
    Ask,
    Directive,
    Exit,
    Fail,
    Pause,
    Print,
    Query,
    Say,
    Stream,
    parse_directives,
)
from switchboard.agent.prompt_text import shorten, without_pastes

THINKING_MS = 300
"""How long a turn without `[slow …]` takes: long enough to be seen as busy, short enough not to be waited for."""

QUOTED = 60

DIRECTIVES_HELP = """Put these into a prompt to make the scripted model do something:
  [slow 3s]            think for three seconds (also 250ms, 2m)
  [ask touch x]        ask for permission to run a shell command; Enter allows it
  [print 2000 lines]   print that many lines first ([print forever] until Esc)
  [stream 5s]          let the answer appear word by word
  [say some text]      answer with exactly that text
  [error]              fail as if the model could not be reached
  [query]              ask the terminal for its cursor position, attributes and colours
  [exit 3], [crash]    end the program in the middle of the turn, cleanly or not"""


@dataclass(frozen=True, slots=True)
class Context:
    """What the model knows besides the prompt: the number of this turn, the conversation, and the prompt before."""

    turn: int
    session_id: str
    cwd: str
    previous: str


@dataclass(frozen=True, slots=True)
class Plan:
    """A turn: its steps, and how it ends. `stream_ms` > 0: the answer appears word by word over that long."""

    steps: tuple[Pause | Print | Ask | Query | Exit, ...]
    ending: Say | Fail
    stream_ms: int = 0


def plan(prompt: str, context: Context) -> Plan:
    """Decide what a turn does with a prompt."""
    directives, rest = parse_directives(without_pastes(prompt))
    steps = [step for step in directives if isinstance(step, Pause | Print | Ask | Query | Exit)]
    if not any(isinstance(step, Pause) for step in steps):
        steps.insert(0, Pause(THINKING_MS))
    failure = next((step for step in directives if isinstance(step, Fail)), None)
    said = [step.text for step in directives if isinstance(step, Say)]
    stream = next((step.ms for step in directives if isinstance(step, Stream)), 0)
    text = "\n".join(said) if said else _answer(prompt, rest, directives, context)
    return Plan(tuple(steps), failure or Say(text), stream)


def compaction_ms(argument: str) -> int:
    """How long a compaction takes: `/compact [slow 3s]` says so."""
    directives, _ = parse_directives(argument)
    return next((step.ms for step in directives if isinstance(step, Pause)), THINKING_MS)


def _answer(prompt: str, rest: str, directives: tuple[Directive, ...], context: Context) -> str:
    for pattern, reply in _REPLIES:
        if pattern.fullmatch(rest.strip()):
            return reply(context)
    if directives and not rest.strip():
        done = [told for told in map(_told, directives) if told]
        return f"Done: {', then '.join(done)}." if done else "Done."
    lines = [f"You wrote {len(prompt)} characters: \u201c{shorten(prompt, QUOTED)}\u201d."]
    if context.turn == 1:
        lines.append("I am the built-in agent: my answers come from a script and nothing leaves this machine.")
        lines.append("Try [slow 3s], [ask touch hello.txt] or /help.")
    else:
        lines.append(f"This is prompt {context.turn} of this conversation.")
    return "\n".join(lines)


def _told(step: Directive) -> str:
    match step:
        case Pause(ms):
            return f"I thought for {ms / 1000:g} s"
        case Print(None):
            return "I printed lines"
        case Print(lines):
            return f"I printed {lines} lines"
        case Ask(command):
            return f"I asked to run \u201c{shorten(command, QUOTED)}\u201d"
        case Query():
            return "I asked the terminal three questions and ignored the answers"
        case _:
            return ""


_REPLIES: tuple[tuple[re.Pattern[str], Callable[[Context], str]], ...] = tuple(
    (re.compile(pattern, re.IGNORECASE), reply)
    for pattern, reply in (
        (r"(hi|hello|hey)( there)?[.!]?", lambda _: "Hello! Type /help to see what I can do."),
        (r"(help|what can you do)\??", lambda _: DIRECTIVES_HELP),
        (r"(pwd|where am i)\??", lambda context: f"We are in {context.cwd}."),
        (r"(session|which session|session id)( is this)?\??", lambda context: f"Session {context.session_id}."),
        (
            r"what did i (say|write)( before)?\??",
            lambda context: f"Before this you wrote: {context.previous}" if context.previous else "Nothing yet.",
        ),
    )
)
