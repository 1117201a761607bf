"""The sessions this page knows, and the order they stand in (pure).

A session is told from others by its handle while it has a terminal, by its id once it is closed; a selection holds that
key, so it stays where it is while rows move. Order: projects with open sessions first, then as the host lists them;
within a project open sessions in the order they were opened, then closed ones, newest first. A change of status moves
nothing: people look where they looked before.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from switchboard.page.messages import SessionInfo
from switchboard.page.session_row import each_once
from switchboard.page.terminal.text import last_segments, plain

SessionKey = int | str
"""The handle of a session that has one, else its id in lower case."""

NO_PROJECT = "(no project)"


def key_of(session: SessionInfo) -> SessionKey:
    """Return what tells this session from all others in a list."""
    return session.handle if session.handle is not None else session.id.lower()


def label_of(session: SessionInfo) -> str:
    """Return the name a person sees: their own, else the terminal's title, else the start of the id."""
    for name in (session.name, session.title):
        if name and (shown := plain(name).strip()):
            return shown
    return plain(session.id[:8]) or "session"


@dataclass(frozen=True, slots=True)
class Project:
    """A heading and the sessions under it. `path` is empty for sessions without one."""

    path: str
    sessions: tuple[SessionInfo, ...]

    @property
    def title(self) -> str:
        return plain(last_segments(self.path)) if self.path else NO_PROJECT


@dataclass(frozen=True, slots=True)
class Catalog:
    """What the host said of all sessions, latest word of each."""

    sessions: tuple[SessionInfo, ...] = ()

    def changed(self, session: SessionInfo) -> Catalog:
        """One session is new or has changed. A closed entry of the same conversation gives way to it."""
        key = key_of(session)
        kept = [s for s in self.sessions if key_of(s) == key or not _same_closed(s, session)]
        if any(key_of(s) == key for s in kept):
            return Catalog(tuple(session if key_of(s) == key else s for s in kept))
        return Catalog((*kept, session))

    def gone(self, handle: int) -> Catalog:
        """A session has left the host. An agent's conversation can be resumed, so it stays in the list as closed."""
        session = self.find(handle)
        others = tuple(s for s in self.sessions if s.handle != handle)
        if session is None or session.kind != "agent":
            return Catalog(others)
        if any(s.handle is not None and s.id.lower() == session.id.lower() for s in others):
            return Catalog(others)  # this was only an old terminal of it
        closed = closed_form(session, modified_at=session.status_since or session.modified_at)
        return Catalog((*(s for s in others if not _same_closed(s, session)), closed))

    def find(self, key: SessionKey | None) -> SessionInfo | None:
        """Return the session with this key."""
        return next((s for s in self.sessions if key_of(s) == key), None)

    def goes_on(self, key: SessionKey | None, later: Catalog) -> SessionKey | None:
        """Return where, in a later catalog, to find the session with this key: where it runs, if it does."""
        before, now = self.find(key), later.find(key)
        known = now or before
        if known is None or (now is not None and now.state == "open"):
            return key
        again = [s for s in later.sessions if s.state == "open" and s.id.lower() == known.id.lower()]
        return key_of(again[-1]) if again else key

    def look_up(self, wanted: str) -> list[SessionInfo]:
        """Return what a person may mean by an id, the start of one, or a name. An exact match stands alone."""
        wanted, sessions = wanted.lower(), each_once(self.sessions)
        for exact in (
            [s for s in sessions if s.id.lower() == wanted],
            [s for s in sessions if s.name is not None and s.name.lower() == wanted],
        ):
            if exact:
                return [next((s for s in exact if s.handle is not None), exact[0])] if len(exact) > 1 else exact
        return [s for s in sessions if wanted and s.id.lower().startswith(wanted)]

    def projects(self) -> tuple[Project, ...]:
        """Return the list as it is shown."""
        grouped: dict[str, list[SessionInfo]] = {}
        for session in each_once(self.sessions):
            grouped.setdefault(session.project or session.cwd or "", []).append(session)
        found = [Project(path, tuple(sorted(group, key=_place))) for path, group in grouped.items()]
        return tuple(sorted(found, key=lambda project: project.sessions[0].handle is None))

    def in_order(self) -> tuple[SessionInfo, ...]:
        """Return all sessions from top to bottom."""
        return tuple(session for project in self.projects() for session in project.sessions)

    def with_terminal(self) -> tuple[SessionInfo, ...]:
        """Return the sessions that can be shown, from top to bottom."""
        return tuple(session for session in self.in_order() if session.handle is not None)


def closed_form(session: SessionInfo, *, modified_at: int | None) -> SessionInfo:
    """Return the closed form of an open session."""
    return SessionInfo(
        id=session.id,
        state="closed",
        cli=session.cli,
        status="exited",
        kind=session.kind,
        name=session.name,
        title=session.title,
        project=session.project,
        cwd=session.cwd,
        opened_at=session.opened_at,
        modified_at=modified_at,
    )


def merged(listed: Iterable[SessionInfo]) -> Catalog:
    """Return the catalog of a host's full list; a conversation that is open is not listed again as closed."""
    sessions = tuple(listed)
    open_ids = {s.id.lower() for s in sessions if s.handle is not None}
    return Catalog(tuple(s for s in sessions if s.handle is not None or s.id.lower() not in open_ids))


def _same_closed(known: SessionInfo, session: SessionInfo) -> bool:
    return known.handle is None and known.id.lower() == session.id.lower()


def _place(session: SessionInfo) -> tuple[bool, int]:
    if session.handle is not None:
        return (False, session.handle)
    return (True, -(session.modified_at or session.opened_at or 0))
