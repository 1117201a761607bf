"""A host that answers one question of a command, on a real socket, for tests of the command line."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TypeVar

from switchboard.page.messages import HostMessage
from tests.support.page_host import PageHost

M = TypeVar("M")
Command = Callable[[Sequence[str]], int]


class AnsweringHost(PageHost):
    """A `PageHost` in a data directory, where commands find it."""

    async def answers(
        self,
        command: Callable[[Sequence[str]], int],
        arguments: Sequence[str],
        kind: type[M],
        answer: HostMessage | None,
    ) -> tuple[int, M]:
        """Run a command; hear its question, give the answer (None: go away). Returns its exit code and the question."""
        running = asyncio.create_task(asyncio.to_thread(command, arguments), name="command")
        asked = await self.heard(kind)
        if answer is None:
            await self.stop()
        else:
            self.say(answer)
        return await running, asked


@asynccontextmanager
async def answering_host(data: Path) -> AsyncIterator[AnsweringHost]:
    """A host of the data directory `data` while entered."""
    (data / "run").mkdir(mode=0o700, parents=True, exist_ok=True)
    async with AnsweringHost(str(data / "run" / "host.sock")) as host:
        yield host  # type: ignore[misc]  # `__aenter__` returns what it is called on
