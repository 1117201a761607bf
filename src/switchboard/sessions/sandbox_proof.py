"""Which process inside a session's sandbox owns its conversation (pure).

Theory of operation. A CLI in a sandbox publishes the number that it has there, which says nothing here: nobody has that
number, or somebody else. So a descriptor counts only for a process that is found from the other side. It descends from
the very process that was started in the session's terminal, by number and start at each step; it is in another PID
namespace than that one; its innermost number and its start are the descriptor's; and no second process fits.

Of the CLIs found in this way those are left out that another one has started, and background jobs with all that they
have started. What is left must carry the session's id, or be the process that is known to own the conversation, which
alone may go on under another id. There must be exactly one. While the known owner lives, it can be nobody else.

What cannot be read, and might be a second one, leaves nothing proven: a file that is damaged or does not say when its
process started, if a process with its number runs below the terminal; a process of which not everything can be seen.
The same file without such a process is left behind by one that has ended. Nothing is ever proven by an id, a number, a
stamp or the absence of others alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from switchboard.clis.descriptors import BACKGROUND, Descriptor
from switchboard.clis.liveness import Unproven, Vantage
from switchboard.clis.namespaces import ProcessSeen, resolve


@dataclass(frozen=True, slots=True)
class Pinned:
    """A terminal as the host knows it: its number and generation, and the process that was started in it."""

    handle: int
    generation: int
    pid: int
    start: str


@dataclass(frozen=True, slots=True)
class Conversation:
    """What the owner is known by. `owner`: (number, start) of the process that is known to be it, while that lives.

    `any_key`: a fork makes its own id, so that the first one shown is its.
    """

    key: str
    owner: tuple[int, str] | None = None
    any_key: bool = False


@dataclass(frozen=True, slots=True)
class Published:
    """One file of the descriptor folder. `pid`: the number that it speaks of. `trouble`: why it cannot be read.

    `writing`: it is half-written at this moment.
    """

    path: str
    pid: int
    descriptor: Descriptor | None = None
    trouble: str | None = None
    writing: bool = False

    @property
    def identity(self) -> object:
        """What stays as it is while one process keeps one conversation, whatever its status does."""
        return self.path, self.pid, None if self.descriptor is None else self.descriptor.identity


@dataclass(frozen=True, slots=True)
class ProvenOwner:
    """The process that owns the conversation, and all that this is bound to. `pid`, `start`: as seen here.

    `line`: (number, start) of itself and its ancestors, up to the process in the terminal. `published`: its descriptor,
    with the number that it has in its own namespace; `beside`: the other files, as they were.
    """

    pinned: Pinned
    terminal_namespace: str
    pid: int
    start: str
    namespace: str
    line: tuple[tuple[int, str], ...]
    descriptor: Descriptor
    published: Published
    beside: tuple[Published, ...] = ()

    @property
    def identity(self) -> tuple[int, str]:
        return self.pid, self.start

    def may_follow(self, before: ProvenOwner) -> bool:
        """Whether it can be true if `before` was: no process changes its namespace or its number in there."""
        same = self.namespace == before.namespace and self.descriptor.pid == before.descriptor.pid
        return same or self.identity != before.identity


@dataclass(frozen=True, slots=True)
class NotProven:
    """Nobody is proven. `why`: half a sentence for a person. `passing`: it may be otherwise in a moment.

    `writing`: all holds, and only what the owner publishes is half-written. `empty`: nothing at all is published.
    `stands`: the numbers of processes that stand in the way as long as they live.
    """

    why: str
    passing: bool = False
    writing: bool = False
    empty: bool = False
    stands: tuple[int, ...] = ()


def decide(
    pinned: Pinned,
    conversation: Conversation,
    files: Sequence[Published],
    seen: Sequence[ProcessSeen],
    vantage: Vantage,
) -> ProvenOwner | NotProven:
    """Return who owns the conversation.

    `seen`: every process of another PID namespace that descends from the terminal's and has the start of one of the
    files (of whatever start, if one of them does not say it), each with its line up to that one; and those of which it
    cannot be said from whom they descend, with none. `vantage`: from where; its namespace is the terminal's.
    """
    if not files:
        return NotProven("its CLI has published nothing yet", empty=True)
    found: list[ProvenOwner] = []
    for file in files:
        owner = _writer(pinned, file, seen, vantage)
        if isinstance(owner, NotProven):
            return owner
        if owner is not None:
            found.append(owner)
    return _chosen(conversation, found, files)


def _writer(
    pinned: Pinned, file: Published, seen: Sequence[ProcessSeen], vantage: Vantage
) -> ProvenOwner | NotProven | None:
    """Return who wrote one file; None when nobody did who still runs below this terminal."""
    descriptor = file.descriptor
    start = None if descriptor is None else descriptor.proc_start
    fitting = [process for process in seen if process.fits(file.pid, start) and not process.ended]
    if not fitting:
        return None
    if any(not process.ancestry for process in fitting):
        return NotProven(f"of process {fitting[0].pid} it cannot be told what it descends from", passing=True)
    if descriptor is None:
        return NotProven(f"{file.path} {file.trouble or 'describes no process'}", passing=file.writing)
    writer = resolve(descriptor, fitting, vantage)
    if isinstance(writer, Unproven):
        return NotProven(f"{file.path}: {writer.why}")
    assert writer.namespace is not None
    assert vantage.namespace is not None
    identity = writer.pid, writer.start
    return ProvenOwner(pinned, vantage.namespace, *identity, writer.namespace, writer.ancestry, descriptor, file)


def _chosen(
    conversation: Conversation, found: Sequence[ProvenOwner], files: Sequence[Published]
) -> ProvenOwner | NotProven:
    writers = {one.identity for one in found} | ({conversation.owner} if conversation.owner else set())
    first = [
        one
        for one in found
        if one.descriptor.kind != BACKGROUND and not any(process in writers for process in one.line[1:])
    ]
    ours = [one for one in first if _is_ours(one, conversation)]
    if len(ours) > 1:
        numbers = tuple(dict.fromkeys(one.pid for one in ours))
        return NotProven(f"several processes may own the conversation ({', '.join(map(str, numbers))})", stands=numbers)
    if not ours:
        who = "no process" if conversation.owner is None else f"process {conversation.owner[0]}, which owns it,"
        return NotProven(
            f"{who} is proven to publish its state below this terminal",
            passing=True,
            stands=() if conversation.owner is None else conversation.owner[:1],
        )
    [owner] = ours
    if conversation.owner is not None and owner.identity != conversation.owner:
        known = conversation.owner[0]
        return NotProven(f"process {owner.pid} has its id, and process {known} owns the conversation", stands=(known,))
    beside = tuple(file for file in files if file is not owner.published)
    return ProvenOwner(
        owner.pinned,
        owner.terminal_namespace,
        owner.pid,
        owner.start,
        owner.namespace,
        owner.line,
        owner.descriptor,
        owner.published,
        beside,
    )


def _is_ours(one: ProvenOwner, conversation: Conversation) -> bool:
    first_of_fork = conversation.any_key and conversation.owner is None
    return one.identity == conversation.owner or one.descriptor.key == conversation.key or first_of_fork
