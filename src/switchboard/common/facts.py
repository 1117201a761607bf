"""What is known of a session at one moment: the small frozen value that rooms hand to each other."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class CliStatus:
    """What the session's CLI publishes in its descriptor.

    `status`: `busy`, `idle`, `waiting` (a dialog is open), `shell` (idle with a background shell), or None when the
    descriptor carries no known status. `updated_at`: the CLI's own `statusUpdatedAt` in wall milliseconds, None when it
    is not an integer (then the status is good for holding back, never for proof). `waiting_for`: the dialog's name.
    `cli_version`: the CLI's own, None when it does not say.
    """

    status: str | None
    updated_at: int | None
    waiting_for: str | None = None
    cli_version: str | None = None


@dataclass(frozen=True, slots=True)
class ComposerView:
    """A person's unsubmitted input: `pending` code points, and the wall time of the last keystroke (0: never)."""

    pending: int
    last_input_at: int


@dataclass(frozen=True, slots=True)
class PromptEntry:
    """A prompt as a transcript shows it: `at` wall milliseconds, `text` as recorded."""

    at: int
    text: str


@dataclass(frozen=True, slots=True)
class CompactBoundary:
    """A main-thread compaction boundary in a transcript. `manual`: asked for by `/compact`."""

    uuid: str
    at: int
    manual: bool


@dataclass(frozen=True, slots=True)
class TurnEvidence:
    """What the last window of a transcript says about the conversation's turns (main thread only).

    `closed`: the last turn has provably ended; `closed_at` when. `last_entry_at`: stamp of the newest entry.
    `modified_at`: the file's mtime in whole wall milliseconds. `prompts`: the last 50 prompts, oldest first.
    """

    closed: bool
    closed_at: int | None
    last_entry_at: int | None
    modified_at: int
    prompts: tuple[PromptEntry, ...] = ()
    boundaries: tuple[CompactBoundary, ...] = ()


@dataclass(frozen=True, slots=True)
class Facts:
    """One session as waits see it.

    `present`: the terminal exists and its process has not exited. `busy`: the terminal-output busy flag (titles, OSC
    9;4). `busy_changed_at`: wall milliseconds of the flag's last change, 0 when that is not known; it lets a wait see a
    pulse that came and went between two looks, and an idle flag that is only a blip. `composer`: None means it cannot
    be observed, which counts as occupied. `status`: None means that no usable descriptor is known now. `transcript`:
    filled only while a reader asked for it, None when unreadable. `starting`: the CLI is one that publishes its status,
    and none has been seen since it was launched, so that it may be showing a dialog of which nobody can tell (trust,
    login, theme). A descriptor alone, which comes first, is no status. `rekeyed_at`: wall milliseconds at which the CLI
    was last seen to go on under another session id (`/clear`), 0 for never. `proven`: what the CLI of a sandboxed
    session publishes, while it is proven to be that one; it stands apart from `status`, which is what the readers of
    the shared folders say, and only pages and versioned actions go by it.
    """

    present: bool = True
    busy: bool = False
    busy_changed_at: int = 0
    composer: ComposerView | None = ComposerView(0, 0)
    status: CliStatus | None = None
    transcript: TurnEvidence | None = None
    starting: bool = False
    rekeyed_at: int = 0
    proven: CliStatus | None = None


@dataclass(frozen=True, slots=True)
class Typing:
    """How text is put into a CLI (decision data of its profile).

    `enter_delay_ms`: pause between the text and its Enter, each a write of its own. `chunk_bytes`: no write is larger
    (Claude Code turns one read of over 800 characters into a paste). `chunk_gap_ms`: pause between chunks.
    `bracketed_paste`: wrap the text in paste markers while the terminal has mode 2004 on.
    `recovery_enter`: an Enter that seems to be lost may be pressed once more. `flag_proves`: the busy flag may prove a
    submission where no status is published. `backslashes_pair`: of two backslashes before Enter the first quotes the
    second, so that only an odd number of them keeps the text from being entered. `composer_rule`: the name of the
    rule by which its box takes the line breaks that people type.
    """

    enter_delay_ms: int = 50
    chunk_bytes: int = 256
    chunk_gap_ms: int = 2
    bracketed_paste: bool = False
    recovery_enter: bool = True
    flag_proves: bool = True
    backslashes_pair: bool = False
    composer_rule: str = "agent"


class Log(Protocol):
    """Where drivers report. Texts never carry prompt contents, credentials or tickets."""

    def info(self, message: str) -> None: ...
    def warning(self, message: str) -> None: ...
    def error(self, message: str) -> None: ...
