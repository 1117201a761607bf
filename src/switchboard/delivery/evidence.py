"""Small predicates over what is known of a session, shared by the waits."""

from __future__ import annotations

from switchboard.clis.transcripts import (
    is_clear_command,
    is_compact_command,
    is_prompt,
    is_shell_command,
    is_slash_command,
    prompt_contains,
    prompt_matches,
)
from switchboard.common.facts import CliStatus, CompactBoundary, ComposerView, Facts, PromptEntry
from switchboard.delivery import reasons

REACTING = frozenset({"busy", "idle", "waiting"})
"""Statuses that prove the CLI took an Enter when stamped at or after it. `shell` also changes by itself."""

WORKING = frozenset({"busy", "shell"})
"""Statuses under which a finished turn can be shown by the transcript alone: background work holds them."""


def dialog_open(facts: Facts) -> bool:
    """A dialog is reported open. A status without a usable stamp is good enough to hold back."""
    return facts.status is not None and facts.status.status == "waiting"


def dialog_name(facts: Facts) -> str | None:
    """What the CLI calls the dialog that is open; None when none is, or it does not say."""
    return facts.status.waiting_for if facts.status is not None and facts.status.status == "waiting" else None


def usable_status(facts: Facts) -> tuple[str, int] | None:
    """The CLI's status and its stamp, when both are there: only then they may prove something."""
    status = facts.status
    if status is None or status.status is None or status.updated_at is None:
        return None
    return status.status, status.updated_at


def reacted(facts: Facts, enter_at: int) -> bool:
    """The CLI changed state at or after that Enter."""
    status = usable_status(facts)
    return status is not None and status[0] in REACTING and status[1] >= enter_at


def own_entry(facts: Facts, command: str, enter_at: int) -> PromptEntry | None:
    """The transcript's entry of that command, stamped at or after its Enter."""
    if facts.transcript is None:
        return None
    for prompt in facts.transcript.prompts:
        if prompt.at >= enter_at and prompt_matches(prompt.text, command):
            return prompt
    return None


def working(facts: Facts) -> bool:
    """The CLI reports a turn or a background job of its own: its next change of status may be that one's end."""
    return facts.status is not None and facts.status.status in WORKING


def unrecorded(facts: Facts, command: str, enter_at: int) -> bool:
    """A transcript that can be read does not show a command, which the CLI would have recorded with its Enter."""
    return facts.transcript is not None and own_entry(facts, command, enter_at) is None


def shows_itself(command: str) -> bool:
    """The submission of this text shows: in the transcript or the status, as a rule, and that of `/clear` in the id."""
    return is_prompt(command) or is_shell_command(command) or is_slash_command(command)


def acts_at_once(command: str) -> bool:
    """An idle CLI that takes this text does something at once, or records it: `!` commands, `/` ones but two."""
    own_rule = is_compact_command(command) or is_clear_command(command)
    return is_shell_command(command) or (is_slash_command(command) and not own_rule)


def left_in_box(
    facts: Facts, command: str, enter_at: int, *, during_turn: bool, activity: bool, status_before: bool = True
) -> bool:
    """A text whose submission is not proven stands in the box, as far as anybody knows.

    Only of texts whose submission shows can this be said (`shows_itself`; `/compact`, `!` make an idle CLI work). Where
    there is no transcript, as before the first prompt, an idle CLI that publishes its status and did nothing at all has
    not taken the text either; but of a `/` command it may show nothing then (`/model`).
    `during_turn`: the CLI was working, so that what it does later is no sign. `activity`: it did something since the
    Enter. `status_before`: its status was known before the text; if not, an idle that it shows since then is that of
    its start.
    """
    if not facts.present or not shows_itself(command):
        return False
    reaction = activity or facts.busy or (reacted(facts, enter_at) and (status_before or not _at_rest(facts)))
    if facts.transcript is None:
        silent = not during_turn and usable_status(facts) is not None and not reaction
        return silent and (is_shell_command(command) or not acts_at_once(command))
    if not unrecorded(facts, command, enter_at) or _joined(facts, command, enter_at):
        return False
    if acts_at_once(command):
        return not during_turn and not reaction
    return is_prompt(command) or is_clear_command(command) or during_turn or not reaction


def _at_rest(facts: Facts) -> bool:
    return facts.status is not None and facts.status.status == "idle"


def _joined(facts: Facts, command: str, enter_at: int) -> bool:
    """The command was entered together with other text of the box: one prompt, new since the Enter, contains it."""
    prompts = () if facts.transcript is None else facts.transcript.prompts
    known = {prompt.text for prompt in prompts if prompt.at < enter_at}
    return any(
        prompt.at >= enter_at and prompt.text not in known and prompt_contains(prompt.text, command)
        for prompt in prompts
    )


def rekeyed(facts: Facts, enter_at: int) -> bool:
    """The CLI went on under another session id since that Enter: what `/clear` does."""
    return facts.rekeyed_at >= enter_at


def new_boundary(facts: Facts, enter_at: int, known: frozenset[CompactBoundary]) -> bool:
    """A compaction that somebody asked for has ended since that Enter, and was not there before."""
    return facts.transcript is not None and any(
        boundary.manual and boundary.at >= enter_at and boundary not in known
        for boundary in facts.transcript.boundaries
    )


def composer_free_at(composer: ComposerView | None, quiet_ms: int) -> int | None:
    """The instant from which the composer is free if nobody types again; None while it is not empty or not seen."""
    if composer is None or composer.pending:
        return None
    return composer.last_input_at + quiet_ms


def composer_trouble(composer: ComposerView | None, now: int, quiet_ms: int) -> str | None:
    """Why the composer is not free now; None when it is. The end of the quiet window itself is free."""
    if composer is None:
        return reasons.COMPOSER_UNSEEN
    if composer.pending:
        return reasons.composer_pending(str(composer.pending))
    if now < composer.last_input_at + quiet_ms:
        return reasons.composer_recent(str(now - composer.last_input_at), str(quiet_ms))
    return None


def recovery_danger(status: CliStatus | None) -> str | None:
    """Why a bare Enter could do harm, by what the CLI reports; None when it could not."""
    if status is not None and status.status in ("waiting", "busy"):
        return reasons.BARE_ENTER_UNSAFE
    return None
