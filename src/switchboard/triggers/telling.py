"""A session that tells when the first of a delivery's bytes may go out, for those who watch."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, AbstractContextManager, asynccontextmanager

from switchboard.common.facts import Facts, Typing
from switchboard.common.feed import Feed
from switchboard.common.writing import Check
from switchboard.delivery.port import Line, Target


class TellingTarget:
    """A target like the one inside. `writing()` is called at each write that nothing forbids, right before it."""

    def __init__(self, inner: Target, writing: Callable[[], None]) -> None:
        self._inner = inner
        self._writing = writing

    @property
    def key(self) -> str:
        return self._inner.key

    @property
    def cwd(self) -> str | None:
        return self._inner.cwd

    @property
    def typing(self) -> Typing:
        return self._inner.typing

    @property
    def facts(self) -> Feed[Facts]:
        return self._inner.facts

    def is_alive(self) -> bool:
        return self._inner.is_alive()

    def is_outlived(self) -> bool:
        return self._inner.is_outlived()

    @asynccontextmanager
    async def _line(self) -> AsyncIterator[Line]:
        async with self._inner.line() as line:
            yield _TellingLine(line, self._writing)

    def line(self) -> AbstractAsyncContextManager[Line]:
        return self._line()

    def unproven(self, text: bytes, since: int) -> None:
        self._inner.unproven(text, since)

    def settled(self) -> None:
        self._inner.settled()

    def untaken(self, text: bytes, since: int) -> None:
        self._inner.untaken(text, since)

    def transcript(self) -> AbstractContextManager[None]:
        return self._inner.transcript()


class _TellingLine:
    def __init__(self, inner: Line, writing: Callable[[], None]) -> None:
        self._inner = inner
        self._writing = writing

    async def write(self, data: bytes, check: Check, out: Callable[[], None] = lambda: None) -> None:
        def may_write(facts: Facts) -> str | None:
            refusal = check(facts)
            if refusal is None:
                self._writing()
            return refusal

        await self._inner.write(data, may_write, out)

    def release(self) -> None:
        self._inner.release()
