"""Keeps what is proven of sandboxed sessions (driver): who owns each conversation, and what its CLI publishes.

For each of them its descriptor folder is watched, and the end of its owner and of every process between that one and
the terminal. Whoever relies on a proof asks once more in the very moment in which he does (`SessionProof.look`): that
something still holds, no event can say.

A proof is this session's alone: a terminal, its generation, its process, a PID namespace and a process in it. It is
never found by a session's id, and with any part of it all of it is lost. What is proven stands in `Facts.proven`,
beside what the readers of the shared folders say, which is nothing; pages and versioned actions go by it, and nobody
else. Only the end of the start, the owner and the id that it goes on under are everybody's.

While a descriptor is half-written nothing new is known: what was, stays, for a moment, but nothing may be done on the
strength of it.
"""

from __future__ import annotations

import asyncio
import posixpath
import re
from collections.abc import Callable, Iterable, Mapping
from functools import partial

from switchboard.clis.process_end import WatchEnd
from switchboard.clis.procfs import ProcFs
from switchboard.clis.transcript_files import find_transcripts, folder_of
from switchboard.common.clock import Clock, Timer
from switchboard.common.facts import Log
from switchboard.common.folder_watch import FolderEvent, FolderWatcher, Rescan
from switchboard.sessions.registry import Registry
from switchboard.sessions.sandbox_evidence import SandboxEvidence
from switchboard.sessions.sandbox_proof import Conversation, NotProven, Pinned, ProvenOwner
from switchboard.sessions.session import Session
from switchboard.sessions.status_binding import SILENT_MS

AGAIN_MS = 100
"""What is in a state that passes without an event is looked at again after so long."""

MAX_AGAIN = 50
"""So often at most, until something happens."""

BURST = 20
"""So many looks are made at once on account of events, before the next has to wait: a sandbox may write as it likes."""

BURST_MS = 150
"""How long it waits at most."""

WORKTREES = "--claude-worktrees-"
"""Between a project's transcript folder and the name of a worktree that a CLI has made in it."""

LONGEST_FOLDER = 200
"""Of a transcript folder's name so much is the path; what follows is a sum of the rest."""

_SESSION_ID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")


class SandboxStatus:
    """The sandboxed sessions of one registry. A listener of it. `environment` says where CLIs keep their files."""

    def __init__(
        self,
        registry: Registry,
        processes: ProcFs,
        watcher: FolderWatcher,
        clock: Clock,
        watch_end: WatchEnd,
        environment: Mapping[str, str],
        log: Log,
    ) -> None:
        self._registry = registry
        self._evidence = SandboxEvidence(processes, clock)
        self._watcher = watcher
        self._clock = clock
        self._watch_end = watch_end
        self._environment = environment
        self._log = log
        self._proofs: dict[Session, SessionProof] = {}

    def take_up(self, session: Session) -> None:
        """Follow a session that was just added, if it is sandboxed. Harmless when repeated."""
        if session.label.sandbox and session.exit is None and session not in self._proofs:
            self._proofs[session] = proof = self._made(session)
            proof.start(self._watcher, self._log)

    def proof(self, session: Session) -> SessionProof | None:
        """Return what can be asked for the proof of a sandboxed session; None where none is needed."""
        if not session.label.sandbox:
            return None
        self.take_up(session)
        return self._proofs.get(session) or self._made(session)

    def close(self) -> None:
        """Follow none any more."""
        for proof in self._proofs.values():
            proof.close()
        self._proofs.clear()

    def _made(self, session: Session) -> SessionProof:
        folder = session.label.descriptors or session.profile.sessions_dir(self._environment)
        unfit = partial(self._unfit, session)
        return SessionProof(session, folder, self._evidence, self._clock, self._watch_end, unfit)

    def _unfit(self, session: Session, key: str) -> str | None:
        """Why a sandboxed session may not go on under that id; None when it may.

        What is written inside a sandbox must not draw to itself what is meant for another session, open or closed.
        """
        if not _SESSION_ID.fullmatch(key):
            return "its CLI goes by an id that is none"
        others = [one for one in self._registry if one is not session and one.exit is None]
        if any(key == one.key or key in one.label.past for one in others):
            return f"its CLI claims the id of another open session ({key})"
        projects = session.profile.projects_dir(self._environment)
        own = folder_of(session.cwd or "/")
        for path in find_transcripts(projects, key) if projects is not None else ():
            folder = posixpath.basename(posixpath.dirname(path))
            if folder != own and not folder.startswith((own + WORKTREES)[:LONGEST_FOLDER]):
                return f"its CLI claims the id of a conversation of another project ({path})"
        return None

    # --- what the registry tells

    def session_changed(self, session: Session) -> None:
        if session.exit is not None and (proof := self._proofs.pop(session, None)) is not None:
            proof.close()
            session.observed_proof(None)

    def session_printed(self, session: Session) -> None:
        """Output proves nothing."""

    def session_removed(self, session: Session) -> None:
        if (proof := self._proofs.pop(session, None)) is not None:
            proof.close()


class SessionProof:
    """The proof of one session. `writing`: its descriptor is half-written at this moment, else all of it holds."""

    def __init__(
        self,
        session: Session,
        folder: str | None,
        evidence: SandboxEvidence,
        clock: Clock,
        watch_end: WatchEnd,
        unfit: Callable[[str], str | None],
    ) -> None:
        self.writing = False
        self._session = session
        self._folder = folder
        self._evidence = evidence
        self._watch_end = watch_end
        self._unfit = unfit
        self._owner: ProvenOwner | None = None
        self._last: ProvenOwner | None = None
        """Who was proven last, be it lost since."""
        self._given_up: list[Callable[[], None]] = []
        """What ends the watches of processes."""
        self._timers = _Timers(clock, self.look)
        self._unwatch: Callable[[], None] = lambda: None

    def start(self, watcher: FolderWatcher, log: Log) -> None:
        """Follow it from now on."""
        if self._folder is not None:
            try:
                self._unwatch = watcher.watch(self._folder, self._heard, suffix=".json").close
            except OSError as error:
                log.warning(f"{self._folder} cannot be watched, and its session is looked at when asked for: {error}")
        before = self._session.label.writer
        self.look()
        owner = self._owner
        if owner is not None and owner.identity == before and owner.descriptor.status.status is None:
            self._session.observed_start()  # of an adopted one it is not known whether there has ever been one
        self._expect_status(published=owner is not None or not self._session.label.descriptors)

    def close(self) -> None:
        """Follow it no more."""
        self._unwatch()
        self._unwatch = lambda: None
        self._timers.close()
        self._forget()

    def look(self, *, thorough: bool = False) -> str | None:
        """Look now; return None when it is proven who owns the conversation, else why not. `Facts.proven` follows.

        `thorough`: look for others as well, instead of only whether everything is as it was.
        """
        session = self._session
        if session.exit is not None:
            return "the session has ended"
        found = self._found(thorough=thorough)
        if isinstance(found, ProvenOwner):
            self._holds(found)
            return None
        if found.writing:
            self.writing = True
        else:
            self._lost(found)
        if found.passing:
            self._timers.look_again()
        self._expect_status(published=not found.empty)
        return found.why

    def _found(self, *, thorough: bool) -> ProvenOwner | NotProven:
        session, owner = self._session, self._owner
        if self._folder is None:
            return NotProven("it is not known where its CLI publishes its state")
        pinned = Pinned(session.handle, session.generation, session.pid, session.holding.start)
        if owner is not None:
            again = self._evidence.again(owner, pinned, self._folder)
            if isinstance(again, NotProven) and again.writing:
                return again
            if isinstance(again, ProvenOwner) and not thorough:
                return again
        label = session.label
        known = label.writer
        conversation = Conversation(
            session.key,
            known if known is not None and self._evidence.lives(known) else None,
            label.launch == "fork" and known is None,
        )
        found = self._evidence.prove(pinned, conversation, self._folder)
        if isinstance(found, ProvenOwner) and self._last is not None and not found.may_follow(self._last):
            return NotProven(f"process {found.pid} was in another PID namespace before, or had another number there")
        if isinstance(found, ProvenOwner) and found.descriptor.key != session.key:
            unfit = self._unfit(found.descriptor.key)
            return found if unfit is None else NotProven(unfit)
        return found

    def _holds(self, owner: ProvenOwner) -> None:
        session, before = self._session, self._owner
        ended = self.writing
        self._owner, self._last, self.writing = owner, owner, False
        self._timers.settled()
        if before is None or before.line != owner.line:
            # Of the terminal's own process the end is the session's.
            self._follow(pid for pid, _ in owner.line[:-1])
        session.observed_writer(*owner.identity)
        if owner.descriptor.key != session.key:
            session.rekeyed(owner.descriptor.key)
        session.observed_proof(owner.descriptor.status)
        if ended:
            session.facts.poke()  # whoever waits for the end of the writing
        self._expect_status(published=True)

    def _lost(self, found: NotProven) -> None:
        self._forget()
        self._follow(found.stands)
        self._session.observed_proof(None)

    def _forget(self) -> None:
        self._owner, self.writing = None, False
        self._follow(())

    def _follow(self, processes: Iterable[int]) -> None:
        """Be told of the ends of these processes, and of no others."""
        for give_up in self._given_up:
            give_up()
        self._given_up = [self._watch_end(pid, self._timers.look_soon) for pid in processes]

    def _heard(self, _event: FolderEvent | Rescan) -> None:
        self._timers.look_soon()

    def _expect_status(self, *, published: bool) -> None:
        """See to it that it does not count as starting for ever: its CLI is up, and shows nothing that can be proven.

        What it publishes in a folder of its own says that it is up. In a shared one its file may be another's by now.
        """
        session = self._session
        if not session.facts.value.starting:
            self._timers.speaks()
        elif published:
            self._timers.silent_from_now(SILENT_MS, self._silent_for_long)

    def _silent_for_long(self) -> None:
        if self._session.exit is None:
            self._session.observed_silence()


class _Timers:
    """When to look at one session, beside when it is asked for."""

    def __init__(self, clock: Clock, look: Callable[[], object]) -> None:
        self._clock = clock
        self._look = look
        self._next: asyncio.Handle | Timer | None = None
        self._again: Timer | None = None
        self._silent: Timer | None = None
        self._tries = 0
        self._window = 0
        self._count = 0

    def look_soon(self) -> None:
        """Something has happened: look in the next turn of the loop, or when the burst is over."""
        self._tries = 0
        if self._next is None:
            # One turn later: the two or three events of one rewrite arrive together and cost one look.
            self._next = asyncio.get_running_loop().call_soon(self._due)

    def look_again(self) -> None:
        """What it is like now passes without an event."""
        if self._again is None and self._tries < MAX_AGAIN:
            self._tries += 1
            self._again = self._clock.call_at(self._clock.now() + AGAIN_MS, self._due_again)

    def settled(self) -> None:
        """It is proven, and the next event tells when it is not."""
        self._tries = 0
        if self._again is not None:
            self._again.cancel()
            self._again = None

    def silent_from_now(self, ms: int, over: Callable[[], None]) -> None:
        """It shows no status: call back in so long, unless that has been asked for already."""
        if self._silent is None:
            self._silent = self._clock.call_at(self._clock.now() + ms, over)

    def speaks(self) -> None:
        """It has shown one, or none is expected of it any more."""
        if self._silent is not None:
            self._silent.cancel()
            self._silent = None

    def close(self) -> None:
        for timer in (self._next, self._again, self._silent):
            if timer is not None:
                timer.cancel()
        self._tries = MAX_AGAIN

    def _due(self) -> None:
        now = self._clock.now()
        if not self._window <= now < self._window + BURST_MS:
            self._window, self._count = now, 0
        self._count += 1
        if self._count > BURST:
            self._next = self._clock.call_at(self._window + BURST_MS, self._due)
            return
        self._next = None
        self._look()

    def _due_again(self) -> None:
        self._again = None
        self._look()
