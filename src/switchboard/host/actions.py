"""What pages and commands can ask of the host (driver)."""

from __future__ import annotations

import asyncio
import os
import uuid
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager

from switchboard.clis.procfs import ProcFs
from switchboard.clis.profiles import PROFILES, SHELL, CliProfile
from switchboard.clis.project_snapshot import MarksUnavailable
from switchboard.clis.recorded_sessions import RecordedSession
from switchboard.clis.status_reader import StatusReader
from switchboard.clis.transcript_files import list_sessions, resolve_session_cwd
from switchboard.common.clock import Clock, Instant
from switchboard.common.names import display_name
from switchboard.delivery.lifecycle import NAME_NOT_SAVED, Create, PageRefused
from switchboard.host.launching import Launcher, Start, StartFailed
from switchboard.host.sandboxes import Sandboxes
from switchboard.page import messages, reasons
from switchboard.page.broker import Grant
from switchboard.page.messages import Done, SessionInfo
from switchboard.page.session_info import session_info
from switchboard.sessions.launch import Mode
from switchboard.sessions.registry import Registry
from switchboard.sessions.session import Session
from switchboard.sessions.stop import StopError, stop_session
from switchboard.store.sqlite import Store, StoreError

STOP_MS = 10_000
"""How long a Stop by a person may take before it is reported as not confirmed.

A CLI ends within half a second. Only Claude Code after a predecessor of its was killed draws in another way, and then
was measured to stay for up to 6.7 s, whatever signals it gets meanwhile.
"""


class HostActions:
    """Open, stop, rename, list, shut down. `environment` is the host's own, read at each call."""

    def __init__(
        self,
        registry: Registry,
        store: Store,
        readers: Mapping[str, StatusReader],
        processes: ProcFs,
        clock: Clock,
        environment: Mapping[str, str],
        shutdown: Callable[[bool], None],
        sandboxes: Sandboxes,
    ) -> None:
        self._registry = registry
        self._store = store
        self._readers = readers
        self._processes = processes
        self._clock = clock
        self._environment = environment
        self._shutdown = shutdown
        self._launcher = Launcher(registry, store, processes, environment, sandboxes)
        self._opening: dict[str, tuple[asyncio.Lock, int]] = {}
        """By session id: its lock, and how many requests have or want it."""
        self.on_opened: Callable[[Session], None] = lambda _session: None
        self.in_sandbox: Callable[[str], str | None] = lambda _session_id: None
        """Says where a session runs that no reader sees, as in a sandbox; None where it is not known to run."""
        self.fresh_url: Callable[[], str] | None = None
        """Makes an address with a new ticket; None while no browser page is served."""

    # --- opening ---

    async def open(self, wanted: messages.OpenSession, grant: Grant | None = None) -> Done:
        """Open a session, or show the one that is open under that id already.

        With a grant: open what that says, in its way. Raises `PageRefused` then.
        """
        if grant is not None:
            return await self._open_granted(wanted, grant)
        session_id = (wanted.session_id or str(uuid.uuid4())).lower()
        async with self._alone(session_id):
            return await self._open(wanted, session_id)

    @asynccontextmanager
    async def _alone(self, session_id: str) -> AsyncIterator[None]:
        """One request at a time may open a session id: the second finds what the first has opened."""
        lock, users = self._opening.get(session_id, (asyncio.Lock(), 0))
        self._opening[session_id] = (lock, users + 1)
        try:
            async with lock:
                yield
        finally:
            lock, users = self._opening.pop(session_id)
            if users > 1:
                self._opening[session_id] = (lock, users - 1)

    async def _open(self, wanted: messages.OpenSession, session_id: str) -> Done:
        def refused(reason: str, detail: str) -> Done:
            return Done(wanted.request, ok=False, reason=reason, detail=detail)

        profile = SHELL if wanted.mode == "shell" else PROFILES.get(wanted.profile)
        if profile is None:
            return refused(reasons.UNKNOWN_CLI, f"there is no profile {wanted.profile!r}; known: {', '.join(PROFILES)}")
        mode: Mode = wanted.mode
        cwd = wanted.cwd
        open_here = self._open_here(session_id)
        if open_here is not None and mode != "fork":
            return Done(wanted.request, ok=True, session=session_info(open_here))
        if mode in ("resume", "fork"):
            if wanted.session_id is None:
                return refused(reasons.MISSING_ID, f"say which session to {mode}")
            unfit = self._cannot_go_on(profile, mode, session_id)
            if unfit is not None:
                return refused(reasons.CANNOT_RESUME, unfit)
            elsewhere = self._live_elsewhere(profile, session_id) if open_here is None else None
            if elsewhere is not None and not wanted.force:
                return refused(reasons.LIVE_ELSEWHERE, elsewhere)
            recorded = await self._recorded_cwd(profile, session_id)
            if recorded is None and (cwd is None or mode == "fork"):
                return refused(reasons.NO_TRANSCRIPT, _unrecorded(profile, session_id))
            if recorded is None and profile.publishes:
                mode = "new"  # closed before its first prompt: the CLI accepts the same id again
            cwd = recorded or cwd
        # What records nothing that we can read has ids of a shape of its own.
        argument = session_id if profile.publishes or wanted.session_id is None else wanted.session_id
        if profile.kind == "attach":
            job = self._background_job(session_id) if wanted.session_id else None
            if not job:
                return refused(reasons.NOT_FOUND, f"no live background job runs the session {session_id}")
            argument = job
        if cwd is None or not os.path.isabs(cwd):
            return refused(reasons.NOT_ABSOLUTE, "name an existing directory by its absolute path")
        if not os.path.isdir(cwd):
            return refused(reasons.NO_DIRECTORY, f"{cwd} is not a directory")
        return await self._launch(wanted, profile, mode, session_id, argument, cwd)

    async def _launch(
        self,
        wanted: messages.OpenSession,
        profile: CliProfile,
        mode: Mode,
        session_id: str,
        argument: str,
        cwd: str,
    ) -> Done:
        """Start it. `argument` is the id that the CLI is given: the session's, or the job's to attach to."""
        given = display_name(wanted.name)
        name = given or self._names().get(session_id)
        # A fork goes on under an id that the CLI makes; until its descriptor shows it, it has one of ours.
        key = str(uuid.uuid4()) if mode == "fork" else session_id
        start = Start(mode, profile, key, argument, cwd, name, wanted.columns, wanted.rows)
        try:
            started = await self._launcher.start(start)
        except StartFailed as error:
            return Done(wanted.request, ok=False, reason=reasons.OPEN_FAILED, detail=str(error))
        session = started.session
        self.on_opened(session)
        problems = [*started.warnings, *self._record(session, given)]
        return Done(wanted.request, ok=True, detail="; ".join(problems) or None, session=session_info(session))

    def _record(self, session: Session, name: str | None) -> list[str]:
        """Write a start down; return what went wrong with that, which changes nothing for the session."""
        problems = []
        try:
            if name:
                self._store.set_name(session.key, name)
            self._launcher.record(session)
        except StoreError as error:
            problems.append(str(error))
        return problems

    # --- opening for a versioned action ---

    async def _open_granted(self, wanted: messages.OpenSession, grant: Grant) -> Done:
        """Start what the grant says, exactly so, and no more than once. Raises `PageRefused`.

        A resume resumes: it never begins anew, attaches or forks, whatever has become of the session meanwhile.
        """
        try:
            start = self._granted(wanted, grant)
        except StartFailed as error:
            raise PageRefused(reasons.OPEN_FAILED, str(error)) from error
        async with self._alone(start.key):
            if (found := self._opened_meanwhile(start)) is None and (trouble := await grant.prepare()) is not None:
                raise PageRefused(*trouble)
            if (found := found or self._opened_meanwhile(start)) is not None:
                grant.found(found)
                return Done(wanted.request, ok=True, session=session_info(found))
            if not os.path.isdir(start.cwd):
                raise PageRefused(reasons.NO_DIRECTORY, f"{start.cwd} is not a directory")

            def last_look() -> None:
                if (trouble := grant.final()) is not None:
                    raise PageRefused(*trouble)

            try:
                started = await self._launcher.start(start, last_look)
            except StartFailed as error:
                raise PageRefused(reasons.OPEN_FAILED, str(error), uncertain=error.uncertain) from error
            session = started.session
            grant.spawned(session)
            self.on_opened(session)
            problems = [*started.warnings, *self._record(session, None)]
            if isinstance(grant.what, Create):
                try:
                    self._store.set_name(session.key, start.name)
                except StoreError as error:
                    raise PageRefused(NAME_NOT_SAVED, str(error)) from error
        return Done(wanted.request, ok=True, detail="; ".join(problems) or None, session=session_info(session))

    def _granted(self, wanted: messages.OpenSession, grant: Grant) -> Start:
        """Return what is to be started. Of what the page says, only the size counts."""
        mode: Mode
        name: str | None
        what = grant.what
        if isinstance(what, Create):
            profile = self._launcher.cli_of(what.project)
            mode, key, cwd, name = "new", what.session_id, what.project, what.name
        else:
            closed = what.session
            mode, profile, key, cwd = "resume", PROFILES[closed.profile], closed.session_id, closed.cwd
            name = self._names().get(key)
        size = wanted.columns, wanted.rows
        return Start(mode, profile, key, key, cwd, name, *size, what.project, "trigger", grant.deadline)

    def _opened_meanwhile(self, start: Start) -> Session | None:
        """Return the session that somebody else has opened just so. Raises `PageRefused` for any other way."""
        found = self._open_here(start.key)
        if found is None:
            return None
        resumed = found.label.launch in ("resume", "restore") and found.profile is start.profile
        if start.mode == "resume" and resumed:
            return found
        how = "a plain terminal" if found.kind == "shell" else f"{found.profile.title} ({found.label.launch})"
        raise PageRefused(reasons.OPEN_FAILED, f"it was opened another way meanwhile: {how}")

    # --- what is known of sessions ---

    def _cannot_go_on(self, profile: CliProfile, mode: Mode, session_id: str) -> str | None:
        """Say why a session cannot be continued by that id, None when nothing is known against it."""
        if (profile.starts.resume if mode == "resume" else profile.starts.fork) is None:
            return f"{profile.title} cannot {mode} a session by its id; open a new one"
        if profile.publishes or profile.takes_session_id:
            return None
        if any(session.key == session_id and session.label.launch != "resume" for session in self._registry):
            return f"{profile.title} gave that session an id of its own, which is not known here; resume it in there"
        return None

    def _names(self) -> dict[str, str]:
        try:
            return self._store.names()
        except StoreError:
            return {}  # the sessions matter more than what they are called

    def _projects_of(self) -> Callable[[str], str]:
        try:
            return self._launcher.projects_of()
        except MarksUnavailable:
            return lambda directory: directory

    def _open_here(self, session_id: str) -> Session | None:
        """Return the open session that has this id now: one that had it goes on as another conversation."""
        found = self._registry.find(session_id)
        return found if found is not None and found.key == session_id else None

    def _background_job(self, session_id: str) -> str | None:
        jobs = (reader.background_job(session_id) for reader in self._readers.values())
        return next((job for job in jobs if job), None)

    def _live_elsewhere(self, profile: CliProfile, session_id: str) -> str | None:
        """Say where a session runs that is not open here, None when nothing shows that it does.

        Asks the system now: a CLI that was killed leaves its descriptor, and whoever saw it end resumes it at once.
        """
        reader = self._readers.get(profile.name)
        found = reader.descriptor(session_id, trust_ms=0) if reader is not None else None
        if found is None:
            return self.in_sandbox(session_id)
        return f"process {found.pid} has it open in {found.cwd or 'an unknown directory'}"

    async def _recorded_cwd(self, profile: CliProfile, session_id: str) -> str | None:
        projects = profile.projects_dir(self._environment)
        if projects is None:
            return None
        return await asyncio.to_thread(resolve_session_cwd, projects, session_id)

    # --- the others ---

    async def stop(self, wanted: messages.StopSession) -> Done:
        """End a session and wait for its exit; an exited one leaves the list."""
        session = self._registry.by_handle(wanted.session)
        if session is None:
            return Done(wanted.request, ok=False, reason=reasons.NOT_FOUND)
        if session.exit is not None:
            self._registry.remove(session)
            return Done(wanted.request, ok=True)
        deadline = self._clock.now() + STOP_MS
        try:
            ended = await stop_session(session, self._processes, self._clock, deadline, wanted.force)
        except StopError as error:
            return Done(wanted.request, ok=False, reason=reasons.STOP_FAILED, detail=str(error))
        if not ended:
            detail = "it was asked to end and still runs; wait, or end it by force"
            return Done(wanted.request, ok=False, reason=reasons.STOP_NOT_CONFIRMED, detail=detail)
        return Done(wanted.request, ok=True, session=session_info(session))

    async def rename(self, wanted: messages.Rename) -> Done:
        """Name a session, here and for the time after it."""
        session = self._registry.by_handle(wanted.session)
        if session is None:
            return Done(wanted.request, ok=False, reason=reasons.NOT_FOUND)
        name = display_name(wanted.name)
        session.rename(name)
        try:
            self._store.set_name(session.key, name)
        except StoreError as error:
            return Done(wanted.request, ok=False, reason=reasons.NAME_NOT_STORED, detail=str(error))
        return Done(wanted.request, ok=True, session=session_info(session))

    async def listing(self, closed: int) -> list[SessionInfo]:
        """Return hosted sessions, ended ones too, newest first, then up to `closed` recorded ones that are not."""
        found: list[tuple[CliProfile, RecordedSession]] = []
        for profile in PROFILES.values() if closed else ():
            projects = profile.projects_dir(self._environment)
            if projects is not None:
                listed = await asyncio.to_thread(list_sessions, projects, closed)
                found += [(profile, one) for one in listed]
        # Looked at last: what opens, changes or goes while the disk is read is in the list as it is now.
        hosted = sorted(self._registry, key=lambda session: -session.label.launched_at)
        shown = {session.key for session in hosted}
        names = self._names() if found else {}
        project_of = self._projects_of()
        recorded = [
            SessionInfo(
                id=one.session_id.lower(),
                state="closed",
                cli=profile.name,
                status="closed",
                name=display_name(names.get(one.session_id.lower())),
                title=display_name(one.name),
                project=project_of(one.cwd) if one.cwd else one.cwd,
                cwd=one.cwd,
                modified_at=one.modified_at,
            )
            for profile, one in found
            if one.session_id.lower() not in shown
        ]
        recorded.sort(key=lambda info: -(info.modified_at or 0))
        return [session_info(session) for session in hosted] + recorded[:closed]

    async def shutdown(self, wanted: messages.Shutdown) -> Done:
        """Let the host end; with `sessions`, end them first and say which did not."""
        if wanted.sessions:
            left = await self.stop_all()
            if left:
                names = ", ".join(session.label.name or session.key for session in left)
                detail = f"still running: {names}. The host goes on; end them by force in `switchboard watch`"
                return Done(wanted.request, ok=False, reason=reasons.STOP_NOT_CONFIRMED, detail=detail)
        asyncio.get_running_loop().call_soon(self._shutdown, wanted.sessions)
        return Done(wanted.request, ok=True)

    async def address(self, wanted: messages.Address) -> messages.AddressIs | Done:
        """Return the browser page's address with a new ticket."""
        if self.fresh_url is None:
            detail = "this installation has no built page; `switchboard watch` is the page in the terminal"
            return Done(wanted.request, ok=False, reason=reasons.NO_BROWSER_PAGE, detail=detail)
        return messages.AddressIs(wanted.request, self.fresh_url())

    async def stop_all(self) -> list[Session]:
        """End every session as Stop would; return those that did not end in time."""
        deadline = self._clock.now() + STOP_MS
        running = [session for session in self._registry if session.exit is None]
        async with asyncio.TaskGroup() as group:
            stops = [
                group.create_task(self._ended(session, deadline), name=f"stop of session {session.handle}")
                for session in running
            ]
        return [session for session, stop in zip(running, stops, strict=True) if not stop.result()]

    async def _ended(self, session: Session, deadline: Instant) -> bool:
        try:
            return await stop_session(session, self._processes, self._clock, deadline)
        except StopError:
            return False  # it is one of those that did not end, then


def _unrecorded(profile: CliProfile, session_id: str) -> str:
    if profile.publishes:
        return f"no transcript of {session_id} with a directory was found"
    return f"{profile.title} keeps no transcript that can be read here: say in which directory it was"
