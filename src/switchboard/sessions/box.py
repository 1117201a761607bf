"""What stands in a session's input box, by what people and deliveries have typed; a later host must know it, too.

Theory of operation. The composer model is what everybody looks at. Beside it, a delivery can have a text on its way,
and then the label says so before anything else happens, because the host can be killed at any moment:

- *typed*: some of the text is out, its Enter is not;
- *in doubt*: its Enter is out, and whether the program took it is being looked for. While this host lives the model
  counts the text as taken. A second model, in which the Enter was swallowed, only tells when a person has emptied the
  box in that case, too;
- *left*: as far as is known the text is in the box, unsubmitted. The model counts it.

A host that adopts a session counts either of the first two as left. While the label has such a text, its snapshot of
the model is the one without the text: what remains when the program is seen to have taken it.
"""

from __future__ import annotations

from switchboard.clis.transcripts import (
    is_clear_command,
    is_compact_command,
    is_shell_command,
    is_slash_command,
    prompt_matches,
)
from switchboard.common.facts import CliStatus, ComposerView, TurnEvidence
from switchboard.sessions.composer import Composer, ComposerRule
from switchboard.sessions.labels import Label

REACTION_MS = 10_000
"""A change of status later than this after an Enter may have another cause (the slowest measured took 1 s)."""

REST_MS = 50
"""An idle status that is younger may be the blip between two turns (measured: 9 to 14 ms)."""

_REACTING = frozenset({"busy", "idle", "waiting"})


class Box:
    """The input box of the session with this label, which is kept up to date here and stored by the session."""

    def __init__(self, rule: ComposerRule, label: Label) -> None:
        self._rule = rule
        self._label = label
        self._model = Composer(rule)
        self._swallowed: Composer | None = None
        """The model in which the Enter was swallowed; None: no text is in doubt."""
        self._announced: tuple[bytes, int, bool] | None = None
        """Text, time and whether the CLI was at rest."""
        self._enter_typed = False
        """A person has pressed Enter during the doubt, which can be swallowed as well: it proves no empty box."""
        self._emptied: bytes | None = None
        """The text in doubt that a person has cleared, whether it was taken or not."""

    def take_up(self, now: int) -> None:
        """Continue what an earlier host knew."""
        if self._label.composer is not None:  # None: nobody has typed anything yet
            self._model.restore(self._label.composer)
        if self._label.delivery:
            self._model.feed(self._label.delivery, now)

    def view(self) -> ComposerView:
        """What a delivery looks at."""
        return self._model.view()

    @property
    def left(self) -> bytes | None:
        """What a delivery, most often an earlier host's, left typed and unsubmitted, as far as is known."""
        return self._label.delivery if self._swallowed is None and self._model.pending else None

    # --- what the gate lets through ---

    def feed(self, data: bytes, now: int) -> None:
        """Take what a person typed, or what a delivery leaves behind."""
        self._model.feed(data, now)
        if self._swallowed is not None:
            self._swallowed.feed(data, now)
            self._enter_typed = self._enter_typed or b"\r" in data or b"\n" in data

    def clear(self) -> None:
        """The box is known to be empty: what stood in it was submitted."""
        self._model.clear()

    def changed(self, before: ComposerView | None) -> bool:
        """The model has moved, from `before`: bring the label up to date. False: nothing has changed in it."""
        label = self._label
        if self._swallowed is not None:
            label.composer = self._model.snapshot()
            if self._swallowed.pending <= self._model.pending:  # a person has emptied the box, whatever stood in it
                self._emptied = None if self._enter_typed else label.delivery
                self.settle()
            return True
        if self.view() == before and label.delivery is not None:
            # A mere report of the terminal changes nothing, and then the text stays known as left.
            return False
        # What a delivery has left in the box is part of the snapshot from here on: kept apart as well, a later host
        # would count it twice, and also after a person has cleared it.
        label.composer = self._model.snapshot()
        self._forget()
        return True

    # --- a delivery ---

    def typing(self, text: bytes | None, now: int) -> None:
        """What a delivery has typed without its Enter so far; None: nothing any more, or a key that is no text."""
        if text is None:
            if self._swallowed is None:
                self._forget()
            return
        if self._swallowed is not None or self._label.delivery is None:
            self._label.delivery_at = now
        self._swallowed = self._announced = self._emptied = None
        self._label.delivery, self._label.entered = text, False

    def announce(self, text: bytes, since: int, status: CliStatus | None) -> None:
        """The Enter of this text goes out next, and from then on the text is in doubt. `status`: the CLI's before it.

        A second Enter, after a person has cleared the text, puts nothing in doubt.
        """
        idle_since = status.updated_at if status is not None and status.status == "idle" else None
        at_rest = idle_since is not None and idle_since + REST_MS <= since
        self._announced = None if self._emptied == text else (text, since, at_rest)

    def entered(self, now: int) -> None:
        """The Enter of what was typed is out. A text that was not announced is nobody's business from here on."""
        announced, self._announced = self._announced, None
        if announced is None:
            self._forget()
            return
        label = self._label
        label.delivery, label.delivery_at, label.at_rest = announced
        label.entered = True
        self._enter_typed, self._emptied = False, None
        label.composer = self._model.snapshot()
        self._swallowed = Composer(self._rule)
        self._swallowed.restore(label.composer)
        self._swallowed.feed(announced[0], now)

    def settle(self) -> bool:
        """The text is in doubt no more. False: none was."""
        if self._swallowed is None:
            return False
        self._swallowed = None
        self._forget()
        return True

    def leave(self, text: bytes, since: int, now: int) -> bool:
        """As far as is known the text is in the box, `since` its Enter. False: only a person can end that.

        So it is when it joins a draft, which is not gone when the transcript shows this text.

        What a person has cleared meanwhile is not added again.
        """
        self.settle()
        if self._emptied == text:
            self._emptied = None
            return False
        apart = not self._model.pending or self._label.delivery is not None
        if apart:
            self._label.delivery, self._label.delivery_at, self._label.entered = text, since, True
            self._label.at_rest = False  # whoever says this has seen what came of it
        self._model.feed(text, now)
        return apart

    # --- what shows that a text was taken ---

    def shown_by(self, evidence: TurnEvidence | None) -> bool:
        """Whether the transcript shows that the text in doubt, or left, was taken.

        By its own entry; the compaction that `/compact` asks for is as good, and may be recorded sooner.
        """
        text, since = self._open(), self._label.delivery_at
        if text is None or evidence is None:
            return False
        command = text.decode("utf-8", "replace")
        if any(prompt.at >= since and prompt_matches(prompt.text, command) for prompt in evidence.prompts):
            return True
        compactions = evidence.boundaries if is_compact_command(command) else ()
        return any(boundary.manual and boundary.at >= since for boundary in compactions)

    def shown_by_status(self, status: CliStatus | None) -> bool:
        """Whether the CLI's status shows it: at rest it did something right after the Enter.

        It proves only what a CLI carries out itself, and may refuse without a trace (`/compact` of nothing).
        """
        text, label = self._open(), self._label
        if text is None or not label.at_rest or status is None or status.updated_at is None:
            return False
        soon = label.delivery_at <= status.updated_at <= label.delivery_at + REACTION_MS
        return soon and status.status in _REACTING and _is_carried_out(text.decode("utf-8", "replace"))

    def shown_by_new_id(self) -> bool:
        """Whether a new session id shows it: `/clear` brings one, and whatever else does is a person's doing."""
        text = self._open()
        return text is not None and self._label.entered and is_clear_command(text.decode("utf-8", "replace"))

    def taken(self) -> bool:
        """The program took the text after all. True: the model has changed by that."""
        if self.settle():
            return False
        before = self._label.composer
        self._forget()
        if before is None:
            self._model.clear()
        else:
            self._model.restore(before)
        return True

    def _open(self) -> bytes | None:
        return self.left if self._swallowed is None else self._label.delivery

    def _forget(self) -> None:
        self._label.delivery, self._label.entered, self._label.at_rest = None, False, False


def _is_carried_out(command: str) -> bool:
    """Whether it is nothing for the model. `/clear` moves no status."""
    return is_shell_command(command) or (is_slash_command(command) and not is_clear_command(command))
