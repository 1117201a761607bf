"""Has the renderer's page open sessions, and believes it only as far as the host's own sessions bear it out (driver).

Implements what versioned actions want of a page. The hub tells of pages and of what they say; each action is one
message to one page, one permit, and one future, which is settled at the moment in which something is heard: the page's
answer, its end, the deadline, the session's end.

What is given up is given up at once, with one exception: while the process is being made, nobody can say yet whether
there will be one. Then the end waits for that, but not beyond the deadline.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass, replace
from typing import Any

from switchboard.common.clock import Clock, Instant
from switchboard.common.ecma import to_well_formed
from switchboard.common.feed import Feed
from switchboard.delivery.lifecycle import (
    ACTION_TIMED_OUT,
    NO_WINDOW,
    NOT_READY,
    OPEN_FAILED,
    PAGE_GONE,
    PAGE_TIMED_OUT,
    Create,
    Guards,
    HostedTarget,
    PageRefused,
    Resume,
    Trouble,
)
from switchboard.delivery.reasons import CLOSING, TARGET_CHANGED
from switchboard.page.messages import Done, HostMessage, OpenSession, SessionAction, SessionActionResult
from switchboard.page.permits import Judgment, Order, Permit, Phase
from switchboard.page.presence import Expected, Presence, Ready

PERMIT_VOID = "permit not valid"
"""Answer to a page that asks for a start which it was not asked to ask for, or no longer."""

_STAGES = {
    Phase.ISSUED: "the page has not answered",
    Phase.OPENING: "the start was still being prepared; nothing was started",
    Phase.STARTING: "it is not known whether the process was started",
    Phase.OPENED: "the page has not shown that it has the session",
}


@dataclass(frozen=True, slots=True)
class Grant:
    """A redeemed permit, for whoever starts the session. `what` is to be started, exactly so.

    `prepare` is awaited before anything else; `final` is asked without any wait, right before the process is made. Each
    returns a reason and a detail when nothing may be started. `spawned(session)`: called in the step in which it was
    started. `found(session)`: it is open, somebody else has opened it just so. `deadline`: at it or later nothing may
    be started.
    """

    what: Resume | Create
    prepare: Callable[[], Awaitable[Trouble | None]]
    final: Callable[[], Trouble | None]
    spawned: Callable[[HostedTarget], None]
    found: Callable[[HostedTarget], None]
    deadline: Instant


Opener = Callable[[OpenSession, Grant], Coroutine[Any, Any, Done]]
"""Starts the session of a grant, or raises `PageRefused`. Cancelled before `final` was asked, it starts nothing."""


@dataclass(frozen=True, slots=True)
class _Start:
    """What an action wants started, and whom it concerns."""

    what: Resume | Create
    guards: Guards
    spawned: Callable[[HostedTarget], None]


class _Action:
    """One `session_action` under way."""

    def __init__(self, permit: Permit, clock: Clock, target: HostedTarget | None, start: _Start | None) -> None:
        self.permit = permit
        self.target = target
        self.start = start
        self.outcome: asyncio.Future[HostedTarget] = asyncio.get_running_loop().create_future()
        self.task: asyncio.Task[Done] | None = None
        self._clock = clock
        self._given_up: PageRefused | None = None

    # --- ends

    def give_up(self, refused: PageRefused) -> None:
        """End, as soon as it is known whether there is a process."""
        if self.permit.phase is Phase.STARTING:
            self._given_up = self._given_up or refused
        else:
            self._end(refused)

    def give_up_now(self, reason: str) -> None:
        """End whatever is known."""
        phase = self.permit.phase
        self._end(PageRefused(reason, _STAGES.get(phase), uncertain=phase is Phase.STARTING))

    def confirm(self) -> None:
        """The page has it."""
        assert self.target is not None
        self.permit.settle()
        if not self.outcome.done():
            self.outcome.set_result(self.target)

    def abandon(self) -> None:
        """Nobody waits for it any more."""
        self._end(PageRefused(PAGE_TIMED_OUT))
        if not self.outcome.cancelled():
            self.outcome.exception()  # seen, also when the waiting task was cancelled in this very step

    def _end(self, refused: PageRefused) -> None:
        if not self.permit.live:
            return
        # What prepares the start is stopped. What starts is not: a process that is made has to be taken over.
        if self.permit.phase is Phase.OPENING and self.task is not None:
            self.task.cancel()
        self.permit.revoke()
        if not self.outcome.done():
            self.outcome.set_exception(refused)

    # --- the start

    def grant(self) -> Grant:
        assert self.start is not None
        what, deadline = self.start.what, self.permit.order.deadline
        return Grant(what, self.start.guards.prepare, self._final, self._spawned, self._found, deadline)

    def _final(self) -> Trouble | None:
        assert self.start is not None
        if self.permit.phase is not Phase.OPENING or self._clock.now() >= self.permit.order.deadline:
            return PAGE_TIMED_OUT, _STAGES[Phase.OPENING]
        trouble = self.start.guards.final()
        if trouble is None and not self.permit.start(self._clock.now()):
            return PAGE_TIMED_OUT, _STAGES[Phase.OPENING]
        return trouble

    def _spawned(self, session: HostedTarget) -> None:
        assert self.start is not None
        if not self.permit.live:
            return  # given up at its deadline: the session stays, and belongs to no action
        self.target = session
        self.permit.opened(session.generation)
        self.start.spawned(session)
        if self._given_up is not None:
            self._end(self._given_up)

    def _found(self, session: HostedTarget) -> None:
        if self.permit.live:
            self.target = session
            self.permit.opened(session.generation)

    def start_ended(self, task: asyncio.Task[Done]) -> None:
        """The opener has answered, has refused, has failed or was stopped."""
        in_doubt = self.permit.phase is Phase.STARTING
        fault = None if task.cancelled() else task.exception()
        if task.cancelled():
            refused = PageRefused(OPEN_FAILED, "the start was given up", uncertain=in_doubt)
        elif isinstance(fault, PageRefused):
            refused = fault
        elif fault is not None:
            refused = PageRefused(OPEN_FAILED, f"{type(fault).__name__}: {fault}", uncertain=in_doubt)
        else:
            return
        if not refused.uncertain:
            if self._given_up is not None:
                refused = self._given_up
            elif in_doubt and self._clock.now() >= self.permit.order.deadline:
                # The keeper's clock is ours: that it was too late may be heard before our own timer.
                refused = PageRefused(PAGE_TIMED_OUT, refused.detail)
        self._end(refused)


class PageBroker:
    """One for a host. `holds(target, key, generation)`: whether that session still stands there, not reaped."""

    def __init__(
        self, clock: Clock, holds: Callable[[HostedTarget, str, int], bool], new_permit: Callable[[], str]
    ) -> None:
        self._clock = clock
        self._holds = holds
        self._new_permit = new_permit
        self._presence = Feed(Presence())
        self._posts: dict[str, Callable[[HostMessage], None]] = {}
        self._actions: dict[str, _Action] = {}
        self._starts: set[asyncio.Task[Done]] = set()
        self._closing = False
        self.look: Callable[[Instant], Awaitable[None]] = _nothing
        """Asked before a page is: sees to it that one which answers has the role. Set by the hub."""

    # --- what versioned actions ask (`switchboard.triggers.lifecycle_port.Page`)

    async def ready(self, deadline: Instant) -> None:
        """Return when a page is there, has drawn its list, and answers. Raises `PageRefused`."""
        await self._renderer(deadline)

    async def reattach(self, requested_id: str, target: HostedTarget, deadline: Instant) -> None:
        """Return when the page has the entry of an open session; starts nothing. Raises `PageRefused`."""
        epoch = await self._answering(deadline)
        key, generation = target.key, target.generation
        if not self._holds(target, key, generation):
            raise PageRefused(TARGET_CHANGED, "the session has gone")
        permit = Permit(Order(self._new_permit(), epoch, "reattach", requested_id.lower(), key, generation, deadline))
        await self._carry_out(_Action(permit, self._clock, target, None), _message(permit.order, None))

    async def open(
        self,
        what: Resume | Create,
        guards: Guards,
        spawned: Callable[[HostedTarget], None],
        deadline: Instant,
    ) -> HostedTarget:
        """Have the page open a session; return it once the page has it. Raises `PageRefused`.

        A call that is cancelled before `guards.final` has returned starts nothing. After that a start is under way; its
        session stays, and `spawned` is not called any more.
        """
        epoch = await self._answering(deadline)
        if isinstance(what, Create):
            # It goes to the page, the database and the label, none of which takes half a character.
            what = replace(what, name=to_well_formed(what.name))
            order = Order(self._new_permit(), epoch, "new", None, what.session_id, None, deadline)
        else:
            session_id = what.session.session_id
            order = Order(self._new_permit(), epoch, "resume", session_id, session_id, None, deadline)
        action = _Action(Permit(order), self._clock, None, _Start(what, guards, spawned))
        return await self._carry_out(action, _message(order, what))

    async def _renderer(self, deadline: Instant) -> str:
        """Return the epoch of the page that holds the renderer role, as soon as one does."""
        while True:
            if self._closing:
                raise PageRefused(CLOSING)
            presence, now = self._presence.value, self._clock.now()
            match presence.outlook(now):
                case Ready(epoch=epoch):
                    return epoch
                case Expected(until=until):
                    if now >= deadline:
                        raise PageRefused(NOT_READY)
                    await self._presence.changed(presence, self._clock, min(deadline, until))
                case _:
                    raise PageRefused(NO_WINDOW)

    async def _answering(self, deadline: Instant) -> str:
        """Return the epoch of a page to ask: of several that are ready, one that is not hung."""
        await self._renderer(deadline)
        await self.look(deadline)
        return await self._renderer(deadline)

    async def _carry_out(self, action: _Action, message: SessionAction) -> HostedTarget:
        order = action.permit.order
        if self._clock.now() >= order.deadline:
            raise PageRefused(ACTION_TIMED_OUT, "the page was not asked any more")
        self._actions[order.permit] = action
        timer = self._clock.call_at(order.deadline, lambda: action.give_up_now(PAGE_TIMED_OUT))
        try:
            self._posts[order.epoch](message)
            return await action.outcome
        finally:
            timer.cancel()
            del self._actions[order.permit]
            action.abandon()

    # --- what the hub tells

    def told_to_open(self) -> None:
        """The host has started, and a page is being opened for a person."""
        self._presence.publish(self._presence.value.told_to_open(self._clock.now()))

    def page_connected(self, epoch: str, post: Callable[[HostMessage], None]) -> None:
        """A page has introduced itself. `post` sends it a message."""
        self._posts[epoch] = post
        self._presence.publish(self._presence.value.connected(epoch, self._clock.now()))

    def page_ready(self, epoch: str) -> None:
        """A page has registered its handlers and drawn its list."""
        self._presence.publish(self._presence.value.ready(epoch))

    def page_ended(self, epoch: str, *, on_purpose: bool) -> None:
        """A page's connection has ended."""
        self._posts.pop(epoch, None)
        presence = self._presence.value.ended(epoch, on_purpose=on_purpose, now=self._clock.now())
        self._presence.publish(presence)

    def role_moved(self, renderer: str | None) -> None:
        """The renderer role is with another page now, or with none: what the one before was asked is void."""
        self._presence.publish(self._presence.value.role(renderer))
        for action in list(self._actions.values()):
            if action.permit.order.epoch != renderer:
                action.give_up(PageRefused(PAGE_GONE, "the page went before it had the session"))

    def session_changed(self) -> None:
        """Something about a session is new: does every session that a page is to have still stand where it stood?"""
        for action in list(self._actions.values()):
            if action.target is not None and not self._stands(action):
                action.give_up(PageRefused(TARGET_CHANGED, "it ended, or another one took its place, meanwhile"))

    async def start(self, epoch: str, wanted: OpenSession, opener: Opener) -> Done:
        """A page redeems a permit: have its session started, and return what to answer."""
        action = self._actions.get(wanted.permit or "")
        now = self._clock.now()
        if action is None or not action.permit.redeem(epoch, wanted.mode, wanted.session_id, now):
            return _refusal(wanted, PERMIT_VOID, "the host has not asked for this, or does not any more")
        task = asyncio.create_task(opener(wanted, action.grant()), name=f"start with permit {wanted.permit}")
        action.task = task
        self._starts.add(task)
        task.add_done_callback(self._starts.discard)
        task.add_done_callback(action.start_ended)
        # Not awaited itself: it goes on when the page that asked goes, as far as it may.
        await asyncio.wait({task})
        if task.cancelled():
            return _refusal(wanted, PERMIT_VOID, "the host has given it up")
        try:
            return task.result()
        except PageRefused as refused:
            return _refusal(wanted, refused.reason, refused.detail)

    def answered(self, epoch: str, answer: SessionActionResult) -> None:
        """A page says how an action ended. Whatever is not exactly right is ignored."""
        action = self._actions.get(answer.permit)
        if action is None:
            return
        match action.permit.judge(answer, epoch, self._clock.now()):
            case Judgment.CONFIRMED if self._stands(action):
                action.confirm()
            case Judgment.CONFIRMED:
                action.give_up(PageRefused(TARGET_CHANGED, "it ended, or another one took its place, meanwhile"))
            case Judgment.FAILED:
                said = ": ".join(text for text in (answer.reason, answer.error) if text)
                action.give_up(PageRefused(OPEN_FAILED, f"the page says: {said or 'nothing'}"))
            case Judgment.IGNORED:
                pass

    def close(self) -> None:
        """The host is going: nothing more is opened."""
        self._closing = True
        self._presence.poke()
        for action in list(self._actions.values()):
            action.give_up_now(CLOSING)

    def _stands(self, action: _Action) -> bool:
        permit, target = action.permit, action.target
        generation = permit.generation
        return target is not None and generation is not None and self._holds(target, permit.order.tab_key, generation)


async def _nothing(_deadline: Instant) -> None:
    """Nobody is there to look."""


def _refusal(wanted: OpenSession, reason: str, detail: str | None) -> Done:
    return Done(wanted.request, ok=False, reason=reason, detail=detail)


def _message(order: Order, what: Resume | Create | None) -> SessionAction:
    profile = project = cwd = name = None
    match what:
        case Resume(session=session, project=root):
            profile, project, cwd = session.profile, to_well_formed(root), to_well_formed(session.cwd)
        case Create(project=root):
            name = what.name  # which CLI it will be is looked up when it starts
            project = cwd = to_well_formed(root)
    return SessionAction(
        order.permit,
        order.epoch,
        order.mode,
        order.requested_id,
        order.tab_key,
        order.generation,
        int(order.deadline),
        profile,
        project,
        cwd,
        name,
    )
