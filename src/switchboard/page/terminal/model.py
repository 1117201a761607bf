"""The terminal page as a state machine (pure).

Theory of operation. The page is in one of two places: the list, or a session (`shown` is its handle). In the list every
key is the page's own and none reaches a session; a question on the bottom line or the help sheet takes the keys first.
In a session every key is the session's but the ones after the prefix. What the host says goes into the catalog
whichever place is on screen; what to do about it comes back as commands, in order.

The page refuses to guess: with the connection gone, nothing that needs the host is kept for later. It says so instead.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from switchboard.page import messages
from switchboard.page.messages import Done, HostMessage, OpenSession, SessionInfo, TriggerActivity
from switchboard.page.reasons import LIVE_ELSEWHERE
from switchboard.page.terminal import asking
from switchboard.page.terminal.actions import SessionActions
from switchboard.page.terminal.asking import Answer, End, Line, NewFolder, NewName, NewProfile, OpenAnyway, YesNo
from switchboard.page.terminal.catalog import Catalog, SessionKey, key_of, label_of, merged
from switchboard.page.terminal.commands import Do, Leave, Refuse, Send, Show, ShowList, Tell
from switchboard.page.terminal.errands import Errand, Errands, ending, on_the_way, why
from switchboard.page.terminal.keys import Key
from switchboard.page.terminal.link import IN_DOUBT, Link
from switchboard.page.terminal.text import absolute, plain

KEPT_TRIGGERS = 20
"""Trigger activities remembered: more than any screen shows."""

MAX_PATH = 4096
"""Longest path the schema carries, in characters."""

NOT_CONNECTED = "not connected to the host: nothing was done"


@dataclass(frozen=True, slots=True)
class Where:
    """Where the page was started: what questions propose."""

    folder: str
    home: str
    profile: str = "agent"


class Model:
    """State of the page. Every method returns what is to be done, in order."""

    def __init__(self, where: Where, wanted: str | None = None) -> None:
        self.catalog = Catalog()
        self.selected: SessionKey | None = None
        self.shown: int | None = None
        self.question: Line | YesNo | None = None
        self.help = False
        self.link = Link()
        self.notice = ""
        self.triggers: tuple[TriggerActivity, ...] = ()
        self._where = where
        self._wanted = wanted
        self._errands = Errands()
        self._actions = SessionActions(self._errands)

    @property
    def session(self) -> SessionInfo | None:
        """The selected session."""
        return self.catalog.find(self.selected)

    # --- the connection

    def lost(self) -> list[Do]:
        """The host has gone. What was asked and not answered may or may not have been done."""
        self.notice, briefly = self.link.lost()
        self.link = Link(version=self.link.version)
        self._actions.lost()
        if self._errands.lost():
            self.notice += IN_DOUBT
        return [Tell(briefly)] if self.shown is not None else []

    def stuck(self, why: str) -> list[Do]:
        """The host is there and cannot be reached."""
        self.notice = plain(why)
        return [Tell(self.notice)] if self.shown is not None else []

    def receive(self, message: HostMessage) -> list[Do]:
        """The host said something about sessions, requests or itself."""
        match message:
            case messages.Welcome(version=version):
                back = self.link.version != ""
                self.link = Link(connected=True, version=version)
                self.notice = "connected to the host again" if back else ""
            case messages.Sessions(sessions=sessions) | messages.Listing(sessions=sessions):
                return self._listed(message, merged(sessions))
            case messages.SessionChanged(session=session):
                return [*self._changed(session), *map(Send, self._actions.changed(self.catalog))]
            case messages.SessionAction():
                return [Send(said) for said in self._actions.asked(message, self.catalog)]
            case messages.SessionGone(session=handle):
                return self._gone(handle)
            case messages.Done():
                return self._done(message)
            case messages.TriggerActivity():
                self._trigger(message)
            case messages.Notice(level=level, text=text):
                self.notice = plain(text)
                return [Tell(self.notice) if level == "info" else Refuse(self.notice)]
            case messages.Role(renderer=renderer):
                self.link = replace(self.link, renderer=renderer)
            case messages.Problem(text=text, kind=messages.PASSING):
                self.link = replace(self.link, refused=plain(text))
            case messages.Problem(text=text):
                return [Leave(1, f"the host refused this page: {plain(text)}")]
            case _:
                pass
        return []

    def _listed(self, message: HostMessage, catalog: Catalog) -> list[Do]:
        if isinstance(message, messages.Listing) and self._errands.answered(message.request) is None:
            said = self._actions.looked(message.request, catalog)
            if said is None:
                return []
            return [*map(Send, said), *self._listed(messages.Sessions(message.sessions), catalog)]
        before, now = self.catalog.find(self.shown), catalog.find(self.shown)
        moved = self._take(catalog)
        first, self.link = not self.link.listed, replace(self.link, connected=True, listed=True)
        self._keep_selection(0)
        wanted, self._wanted = self._wanted, None
        if wanted is not None:
            return self._open_wanted(wanted)
        if self.shown is None or moved:
            return moved
        if now is None or (before is not None and before.pid != now.pid):
            return self._back("the session that was shown here is not there any more")
        return [Show(self.shown), Tell(self.notice)] if first else []

    def _open_wanted(self, wanted: str) -> list[Do]:
        found = self.catalog.look_up(wanted)
        if len(found) != 1:
            several = "several sessions begin with" if found else "no session is called"
            self.notice = f"{several} {plain(wanted)!r}; choose one here"
            return []
        self.selected = key_of(found[0])
        return self._enter(found[0])

    def _changed(self, session: SessionInfo) -> list[Do]:
        before = self.catalog.find(key_of(session))
        moved = self._take(self.catalog.changed(session))
        ended = session.state == "exited" and (before is None or before.state == "open")
        if ended and session.handle == self.shown:
            return [Tell(f"{ending(session)} · Ctrl-] l goes to the list")]
        return moved

    def _take(self, catalog: Catalog) -> list[Do]:
        """Take a newer catalog. What is selected and what is shown go on where their conversations run."""
        before, self.catalog = self.catalog, catalog
        self.selected = before.goes_on(self.selected, catalog)
        shown = before.goes_on(self.shown, catalog)
        session = catalog.find(shown)
        if shown == self.shown or session is None or session.handle is None:
            return []
        self.shown = session.handle
        return [Show(session.handle), Tell(f"{label_of(session)} runs again")]

    def _gone(self, handle: int) -> list[Do]:
        session = self.catalog.find(handle)
        place = self._place()
        self.catalog = self.catalog.gone(handle)
        if self.selected == handle and session is not None:
            self.selected = session.id.lower()
        self._keep_selection(place)
        if self.shown == handle:
            return self._back(f"{label_of(session) if session else 'the session'} is closed")
        return []

    def _done(self, done: Done) -> list[Do]:
        said = self._actions.opened(done)
        if said is not None:
            moved = self._changed(done.session) if done.session is not None else []
            return [*moved, *map(Send, said)]
        errand = self._errands.answered(done.request)
        match errand:
            case OpenSession() if done.ok:
                return self._opened(done)
            case OpenSession() if done.reason == LIVE_ELSEWHERE and not errand.force:
                self.question = YesNo(OpenAnyway(errand), f"Not opened: {why(done)}. Open it anyway?")
            case OpenSession():
                self.notice = f"not opened: {why(done)}"
            case messages.StopSession() if not done.ok:
                self._not_stopped(errand, why(done))
            case messages.StopSession():
                self.notice = "stopped"
            case messages.Rename() if not done.ok:
                self.notice = f"not renamed: {why(done)}"
            case _:
                pass
        return []

    def _opened(self, done: Done) -> list[Do]:
        self.notice = ""
        if done.session is None or done.session.handle is None:
            return []
        self.catalog = self.catalog.changed(done.session)
        self.selected = done.session.handle
        # Somebody who went on to another session, or to a question, while it was opening is not torn away.
        busy = self.shown is not None or self.question is not None or self.help
        return [] if busy else self._enter(done.session)

    def _not_stopped(self, errand: messages.StopSession, reason: str) -> None:
        session = self.catalog.find(errand.session)
        if session is None or session.state != "open":
            self.notice = f"not stopped: {reason}"
        elif errand.force:
            self.notice = f"not ended: {reason}"
        elif self.shown is None and self.question is None:
            text = f"{label_of(session)} did not end: {reason}. End it by force? What it has not saved is lost."
            self.question = YesNo(End(errand.session, force=True), text)
        else:
            self.notice = f"{label_of(session)} did not end: {reason}"

    def _trigger(self, activity: TriggerActivity) -> None:
        others = tuple(t for t in self.triggers if t.name != activity.name)
        self.triggers = (*others, activity)[-KEPT_TRIGGERS:]

    # --- keys of the list

    def press(self, key: Key, page_rows: int) -> list[Do]:
        """A key in the list. `page_rows`: how many rows a page up or down moves."""
        if self.question is not None:
            return self._answer(self.question, key)
        if self.help:
            self.help = False
            return []
        self.notice = ""
        moves = {"up": -1, "down": 1, "pageup": -page_rows, "pagedown": page_rows, "home": -(10**6), "end": 10**6}
        name = key.text if key.name == "text" else key.name
        step = moves.get({"k": "up", "j": "down", "g": "home", "G": "end"}.get(name, name))
        if step is not None:
            self._keep_selection(self._place() + step, moved=True)
            return []
        match name:
            case "q" | "ctrl-c":
                return [Leave()]
            case "?":
                self.help = True
            case "w":
                self._next_waiting()
            case "n":
                profile = self._where.profile
                self.question = Line(NewProfile(), "CLI", default=profile, limit=64)
            case "ctrl-l":
                return [*self._ask(messages.ListSessions(self._errands.next())), ShowList()]
            case "enter" | "r" | "x" | "R":
                return self._with_selected(name)
            case _:
                pass
        return []

    def _with_selected(self, name: str) -> list[Do]:
        session = self.session
        if session is None:
            return self._refuse("no session is selected")
        if name == "enter":
            return self._enter(session)
        if name == "r":
            return self._resume(session)
        if name == "x" and session.state == "open":
            self._ask_end(session, back=False)
        elif name == "x":
            return self._refuse("this session has no running process")
        elif session.handle is None:
            return self._refuse("a closed session cannot be renamed")
        else:
            self.question = Line(NewName(session.handle), "Name", text=plain(session.name or ""), limit=256)
        return []

    def _enter(self, session: SessionInfo) -> list[Do]:
        if session.handle is None:
            return self._refuse("this session is closed; r resumes it")
        if not self.link.listed:
            return self._refuse(NOT_CONNECTED)
        self.notice = ""
        self.shown = self.selected = session.handle
        return [Show(session.handle)]

    def _resume(self, session: SessionInfo) -> list[Do]:
        if session.state == "open":
            return self._refuse("this session is open; Enter shows it")
        if session.kind != "agent":
            return self._refuse("only a conversation with an agent can be resumed; n opens something new")
        return self._ask(OpenSession(self._errands.next(), "resume", session.cli, session.id, session.cwd))

    def _ask_end(self, session: SessionInfo, *, back: bool) -> None:
        assert session.handle is not None
        busy = "" if session.status in {"idle", "shell", "running"} else f" It is {session.status}."
        self.question = YesNo(End(session.handle, back=back), f"Stop {label_of(session)}?{busy}")

    def _answer(self, asked: Line | YesNo, key: Key) -> list[Do]:
        asked, end = asking.answer(asked, key)
        self.question = None if end else asked
        about = asked.about
        if end is Answer.DROPPED:
            returns = isinstance(about, End) and about.back
            session = self.catalog.find(about.handle) if isinstance(about, End) else None
            return self._enter(session) if returns and session is not None else []
        if end is None:
            return []
        match about, asked:
            case End(handle=handle, force=force), _:
                return self._ask(messages.StopSession(self._errands.next(), handle, force))
            case OpenAnyway(request=opening), _:
                anyway = OpenSession(
                    self._errands.next(), opening.mode, opening.profile, opening.session_id, opening.cwd, force=True
                )
                return self._ask(anyway)
            case NewProfile(), Line(value=profile):
                session = self.session
                default = (session.cwd if session else None) or self._where.folder
                self.question = Line(NewFolder(profile), "Directory", default=default)
            case NewFolder(profile=profile), Line(value=folder):
                mode: Literal["new", "shell"] = "shell" if profile == "shell" else "new"
                path = absolute(folder, self._where.folder, self._where.home)
                if len(path) > MAX_PATH:
                    return self._refuse("no directory has such a long name")
                return self._ask(OpenSession(self._errands.next(), mode, profile, cwd=path))
            case NewName(handle=handle), Line(text=text):
                return self._ask(messages.Rename(self._errands.next(), handle, text.strip()))
        return []

    # --- keys after the prefix

    def prefixed(self, key: str) -> list[Do]:
        """The key after the prefix, while a session is shown."""
        match key:
            case "l" | "d":
                return self._back("")
            case "?":
                self.help = True
                return self._back("")
            case "n" | "p":
                return self._neighbour(1 if key == "n" else -1)
            case "q":
                return [Leave()]
            case "x":
                session = self.catalog.find(self.shown)
                if session is None or session.state != "open":
                    return [Refuse("this session has no running process")]
                self._ask_end(session, back=True)
                return self._back("")
            case _:
                return [Refuse("after Ctrl-]: l list, n next, p previous, x stop, q leave, ? help, Ctrl-] sends it")]

    def _neighbour(self, step: int) -> list[Do]:
        handles = [s.handle for s in self.catalog.with_terminal()]
        if self.shown not in handles or len(handles) < 2:
            return [Refuse("there is no other session")]
        session = self.catalog.find(handles[(handles.index(self.shown) + step) % len(handles)])
        assert session is not None
        return self._enter(session) if self.link.listed else [Refuse(NOT_CONNECTED)]

    # --- parts

    def _back(self, notice: str) -> list[Do]:
        self.shown = None
        self.notice = notice
        return [ShowList()]

    def _refuse(self, why: str) -> list[Do]:
        self.notice = why
        return [Refuse(why)]

    def _ask(self, errand: Errand) -> list[Do]:
        if not self.link.connected:
            return self._refuse(NOT_CONNECTED)
        self._errands.sent(errand)
        self.notice = on_the_way(errand)
        return [Send(errand)]

    def _place(self) -> int:
        keys = [key_of(s) for s in self.catalog.in_order()]
        return keys.index(self.selected) if self.selected in keys else 0

    def _keep_selection(self, place: int, *, moved: bool = False) -> None:
        """Select what stands at `place` when a person moved, or when what was selected is not there any more."""
        sessions: Sequence[SessionInfo] = self.catalog.in_order()
        if not sessions:
            self.selected = None
        elif moved or self.session is None:
            self.selected = key_of(sessions[max(0, min(place, len(sessions) - 1))])

    def _next_waiting(self) -> None:
        sessions = self.catalog.in_order()
        start = self._place() + 1
        for session in (*sessions[start:], *sessions[:start]):
            if session.status == "waiting" and session.state == "open":
                self.selected = key_of(session)
                return
        self.notice = "nobody is waiting for you"
