"""One hosted session: its terminal, its identities, what is known of it (driver).

Three identities, never mixed: `handle` is the keeper's number of the terminal, `generation` tells two terminals apart
that had the same id, and `key` is the CLI's session id, which the CLI may change (`/clear`). The object itself is the
pin: a delivery that looked the session up writes to this object or to nothing.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import AbstractAsyncContextManager, AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, replace

from switchboard.clis.profiles import CliProfile, Kind
from switchboard.common.clock import Clock
from switchboard.common.facts import CliStatus, Facts, TurnEvidence, Typing
from switchboard.common.feed import Feed
from switchboard.common.writing import EXITED
from switchboard.sessions.activity import TITLE_RULES
from switchboard.sessions.box import Box
from switchboard.sessions.composer import COMPOSER_RULES
from switchboard.sessions.gate import Gate, GateLine
from switchboard.sessions.input_run import InputRun
from switchboard.sessions.keeper.ring import LabelTooLongError, Ring
from switchboard.sessions.keeper_client import ExitReport, Holding
from switchboard.sessions.labels import Label, encode_label
from switchboard.sessions.pty import Pty
from switchboard.sessions.screen import Screen

DRAIN_BYTES = 1024 * 1024
"""What a process printed last, read after its exit: bounded, because a grandchild may print without end."""


@dataclass(frozen=True, slots=True)
class SessionHooks:
    """What a session tells the registry: `changed(session)` for anything a list shows, `printed(session)` for output.

    `interrupted(session)`: there is something to wait for in `Session.interrupted`. `outlived(session)`: see there.
    `failed(session, error)` is a fault of ours while following its output: the session goes on, and so do the others.
    `transcript(session)` gives the context that keeps `facts.value.transcript` up to date.
    """

    changed: Callable[[Session], None]
    printed: Callable[[Session], None]
    failed: Callable[[Session, Exception], None]
    transcript: Callable[[Session], AbstractContextManager[None]] = lambda _session: nullcontext()
    interrupted: Callable[[Session], None] = lambda _session: None
    outlived: Callable[[Session], bool] = lambda _session: False


class Session:
    """A terminal with its process. Made by the registry."""

    def __init__(
        self, holding: Holding, profile: CliProfile, label: Label, clock: Clock, hooks: SessionHooks, adopted: bool
    ) -> None:
        self.holding = holding
        self.profile = profile
        self.label = label
        self.exit: ExitReport | None = None
        self._request: str | None = None
        self._hooks = hooks
        self._clock = clock
        self.screen = Screen(TITLE_RULES[profile.title_rule])
        self._box = Box(COMPOSER_RULES[profile.typing.composer_rule], label)
        if adopted:
            self._take_up(clock.now())
        # A label that names the CLI's own process says that an earlier host has seen its descriptor.
        starting = profile.publishes and label.writer is None
        self.facts = Feed(Facts(busy=self.screen.activity.busy, composer=self._box.view(), starting=starting))
        # That no process has it open any more means nothing: the exit itself is the keeper's to report.
        self._pty = Pty(holding.master, holding.ring, self._printed, lambda: None)
        self._gate = Gate(self._pty, self, self._box, clock)

    def _take_up(self, now: int) -> None:
        """Continue what the previous host knew: box, modes, and what was printed while nobody followed."""
        self._box.take_up(now)
        self.screen.take_up(self.label.modes, self.label.title, self.label.busy)
        for data in self.holding.ring.since(self.label.modes_seq):
            self.screen.feed(data)

    def start(self) -> None:
        """Begin to read the terminal."""
        self._save()
        self._pty.start()
        if self.holding.exit is not None:
            self.exited(self.holding.exit)

    # --- the target of deliveries (`switchboard.delivery.port.Target`) ---

    @property
    def key(self) -> str:
        """The CLI's session id now, lower case."""
        return self.label.key

    @property
    def cwd(self) -> str | None:
        """The directory it was started in."""
        return self.label.cwd

    @property
    def typing(self) -> Typing:
        """How its CLI takes text; pastes are plain typing while the terminal has bracketed paste off."""
        typing = self.profile.typing
        if typing.bracketed_paste and not self.screen.modes.bracketed_paste:
            return replace(typing, bracketed_paste=False)
        return typing

    def is_alive(self) -> bool:
        """Ask the system whether the process exists."""
        try:
            if self.exit is None:
                os.kill(self.pid, 0)
        except OSError as error:
            return isinstance(error, PermissionError)
        return self.exit is None

    def is_outlived(self) -> bool:
        return self._hooks.outlived(self)

    def line(self) -> AbstractAsyncContextManager[GateLine]:
        """Take the terminal's input for one delivery."""
        return self._gate.line()

    def unproven(self, text: bytes, since: int) -> None:
        """The Enter of this text is written next; from then on it is in doubt, in the label and for nobody else.

        Of a CLI that records nothing no later host could ever see that it was taken: there it is nobody's business.
        """
        if self.profile.publishes:
            self._box.announce(text, since, self.facts.value.status)

    def settled(self) -> None:
        """The text is in doubt no more: it is not in the box, as far as is known."""
        if self._box.settle():
            self._save()

    def untaken(self, text: bytes, since: int) -> None:
        """A delivery's text was not taken, as far as is known: it is what an interrupted delivery would have left."""
        if not self._box.leave(text, since, self._clock.now()):
            self.composer_changed()
            return
        self._save()
        self.facts.publish(replace(self.facts.value, composer=self._box.view()))
        self._hooks.changed(self)
        self._hooks.interrupted(self)

    @contextmanager
    def working_for(self, request: str) -> Iterator[None]:
        """While entered, what deliveries write is written for that request; leaving means that it is answered.

        From the first byte on the label says so, for a host that comes after a killed one. Left by an exception, it has
        no result, and the label keeps saying so.
        """
        self._request = request
        try:
            yield
        finally:
            self._request = None
        if self.exit is None:
            self.answered()

    def answered(self) -> None:
        """The request on whose behalf something was written last has its result."""
        if self.label.request is not None:
            self.label.request = None
            self._save()

    def transcript(self) -> AbstractContextManager[None]:
        """While entered, the transcript's evidence is kept up to date in `facts`."""
        return self._hooks.transcript(self)

    # --- identities ---

    @property
    def handle(self) -> int:
        return self.holding.handle

    @property
    def generation(self) -> int:
        return self.label.generation

    @property
    def pid(self) -> int:
        return self.holding.pid

    @property
    def kind(self) -> Kind:
        """Agent CLI, plain terminal, or a terminal that is attached to a background job."""
        return self.profile.kind

    @property
    def publishes(self) -> bool:
        """Whether its CLI publishes its state."""
        return self.profile.publishes

    @property
    def launched_at(self) -> int:
        """Wall milliseconds immediately before its process was started."""
        return self.label.launched_at

    @property
    def writer(self) -> tuple[int, str] | None:
        """(number, start) of the process that owns the conversation, once its descriptor has shown it."""
        return self.label.writer

    @property
    def processes(self) -> frozenset[tuple[int, str]]:
        """(number, start) of what was started here and of the writer: its own processes, and no others."""
        started = (self.pid, self.holding.start)
        return frozenset({started} if self.writer is None else {started, self.writer})

    @property
    def ring(self) -> Ring:
        """Its output; pages read from here at their own pace."""
        return self.holding.ring

    # --- what pages do ---

    def type(self, data: bytes, run: InputRun | None = None, *, more: bool = False) -> bool:
        """Take a person's keystrokes. False: not all (too much is waiting, or the session has ended).

        `run`: what that page has typed here, and it says what to tell of it; `more`: the next piece belongs to this.
        """
        return self._gate.people(data, run, more=more)

    def left(self, run: InputRun) -> None:
        """The page that typed this has gone."""
        self._gate.leave(run)

    def resize(self, columns: int, rows: int) -> None:
        """Set the terminal's size in cells."""
        if (columns, rows) != (self.label.columns, self.label.rows):
            self.label.columns, self.label.rows = columns, rows
            self._save()
            self._pty.resize(columns, rows)
            self._hooks.changed(self)

    def seen(self) -> None:
        """A person looks at it now: it asks for no attention any more."""
        activity = self.screen.activity.seen()
        if activity != self.screen.activity:
            self.screen.activity = activity
            self._hooks.changed(self)

    def rename(self, name: str | None) -> None:
        """Set or clear the display name."""
        self.label.name = name or None
        self._save()
        self._hooks.changed(self)

    def foreground_group(self) -> int | None:
        """The process group that has the terminal."""
        return self._pty.foreground_group()

    # --- what is observed ---

    def observed_status(self, status: CliStatus | None) -> None:
        """The descriptor says this now; None: there is none."""
        starting = self.facts.value.starting and (status is None or status.status is None)
        self._observed(status, starting=starting)

    def observed_start(self) -> None:
        """Its CLI has a descriptor and has shown no status in it yet, as far as this host knows."""
        self._observed(self.facts.value.status, starting=True)

    def observed_silence(self) -> None:
        """Its CLI has had a descriptor for so long that no status is to be expected of it any more."""
        self._observed(self.facts.value.status, starting=False)

    def observed_proof(self, status: CliStatus | None) -> None:
        """It is sandboxed, and the proven owner of its conversation says this now; None: nobody is proven."""
        facts = self.facts.value
        if status != facts.proven:
            starting = facts.starting and (status is None or status.status is None)
            self.facts.publish(replace(facts, proven=status, starting=starting))
            self._hooks.changed(self)

    def _observed(self, status: CliStatus | None, *, starting: bool) -> None:
        self.facts.publish(replace(self.facts.value, status=status, starting=starting))
        self._hooks.changed(self)
        if self._box.shown_by_status(status):
            self.submitted_after_all()

    def observed_writer(self, pid: int, start: str) -> None:
        """A descriptor has shown which process owns the conversation."""
        if self.label.writer != (pid, start):
            self.label.writer = (pid, start)
            self._save()

    def rekeyed(self, key: str) -> None:
        """The CLI goes on under another session id."""
        if self.label.key not in self.label.past:
            # A label is bounded, and so is the number of ids one terminal is looked up by.
            self.label.past = [*self.label.past, self.label.key][-100:]
        self.label.key = key
        self._save()
        self.facts.publish(replace(self.facts.value, rekeyed_at=self._clock.now()))
        self._hooks.changed(self)
        if self._box.shown_by_new_id():
            self.submitted_after_all()

    @property
    def interrupted(self) -> bytes | None:
        """What a delivery, most often an earlier host's, left typed and unsubmitted, as far as is known."""
        return self._box.left

    def submitted_after_all(self) -> None:
        """The CLI shows that it took the text that was in doubt or left: it is not in the box."""
        if self._box.taken():
            self.composer_changed()
        else:
            self._save()

    def observed_transcript(self, evidence: TurnEvidence | None) -> None:
        """What the transcript says now; None when it is unreadable or nobody asks any more."""
        self.facts.publish(replace(self.facts.value, transcript=evidence))
        self.observed_entries(evidence)

    def observed_entries(self, evidence: TurnEvidence | None) -> None:
        """The transcript has these entries, which need not be its last."""
        if self._box.shown_by(evidence):
            self.submitted_after_all()

    def exited(self, report: ExitReport) -> None:
        """The process was reaped: read its last output, let go of the terminal."""
        if self.exit is not None:
            return
        self._pty.drain(DRAIN_BYTES)
        self.exit = report
        self._pty.close()
        self._gate.fail(BrokenPipeError("the session has exited"))
        self.screen.activity = self.screen.activity.ended()
        self.facts.publish(replace(self.facts.value, present=False, busy=False, status=None, starting=False))
        self._hooks.changed(self)

    def detach(self) -> None:
        """Leave the terminal to the keeper: the host is going, the session is not."""
        self._pty.close()

    def close(self) -> None:
        """Let go of everything; the ring is gone after this."""
        self._pty.close()
        self.holding.close()

    # --- the gate's owner (`switchboard.sessions.gate.Owner`) ---

    def facts_now(self) -> Facts:
        return self.facts.value

    def may_write(self) -> str | None:
        return None if self.exit is None else EXITED

    def composer_changed(self) -> None:
        before = self.facts.value.composer
        if self._box.changed(before):
            self._save()
        view = self._box.view()
        self.facts.publish(replace(self.facts.value, composer=view))
        if (before is None or before.pending == 0) != (view.pending == 0):
            self._hooks.changed(self)

    def delivery_changed(self, text: bytes | None) -> None:
        self._box.typing(text, self._clock.now())
        self.label.request = self._request or self.label.request
        self._save()

    def delivery_entered(self) -> None:
        self._box.entered(self._clock.now())
        self._save()

    # --- output ---

    def _printed(self, seq: int, data: bytes) -> None:
        try:
            self._follow(seq, data)
        except Exception as error:  # noqa: BLE001 - the boundary of one session: its output must go on being read
            self._hooks.failed(self, error)

    def _follow(self, seq: int, data: bytes) -> None:
        self._hooks.printed(self)  # first: somebody may be waiting for the echo of a key
        activity_changed, modes_changed = self.screen.feed(data)
        if activity_changed or modes_changed:
            activity = self.screen.activity
            self.label.modes = self.screen.modes.restore()
            self.label.modes_seq = seq + len(data) - self.screen.undecided
            self.label.title, self.label.busy = activity.title, activity.busy
            self._save()
            if activity.busy != self.facts.value.busy:
                self.facts.publish(replace(self.facts.value, busy=activity.busy, busy_changed_at=self._clock.now()))
        if activity_changed:
            self._hooks.changed(self)

    def _save(self) -> None:
        try:
            self.holding.ring.store_label(encode_label(self.label))
        except LabelTooLongError as error:
            # The label before stays in force: a later host knows a little less. Whoever types here must not suffer.
            self._hooks.failed(self, error)
