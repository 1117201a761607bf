"""Publishes the descriptor, and publishes it wrongly when asked to (driver)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from switchboard.agent.descriptor import Descriptor
from switchboard.agent.descriptor_files import DescriptorFile
from switchboard.agent.faults import Faults
from switchboard.common.clock import Clock

STATUS_AFTER_MS = 10
"""A late descriptor, too, is there for a moment before it has a status (measured: 5 to 250 ms)."""


class Publisher:
    """The descriptor of this process: what it says, and when that reaches the disk."""

    def __init__(
        self, file: DescriptorFile, descriptor: Descriptor, clock: Clock, faults: Callable[[], Faults]
    ) -> None:
        self._file = file
        self._descriptor = descriptor
        self._clock = clock
        self._faults = faults
        self._visible = False
        self._failed: OSError | None = None

    @property
    def descriptor(self) -> Descriptor:
        """What the descriptor says, or would say were it there."""
        return self._descriptor

    @property
    def failure(self) -> OSError | None:
        """What kept the last change from reaching the disk."""
        return self._failed

    def appear(self) -> None:
        """Make the descriptor, as it stands."""
        if "no-descriptor" not in self._faults():
            self._visible = True
            self._write()

    def appear_later(self, ms: int) -> None:
        """Make the descriptor in `ms` milliseconds: first without a status, then as it stands by then."""

        def first() -> None:
            current, self._descriptor = (
                self._descriptor,
                replace(self._descriptor, status=None, waiting_for=None, updated_at=None, status_updated_at=None),
            )
            self.appear()
            self._descriptor = current
            self._clock.call_at(self._clock.now() + STATUS_AFTER_MS, self._write)

        self._clock.call_at(self._clock.now() + ms, first)

    def show(self, status: str, waiting_for: str | None = None, *, anew: bool = False) -> None:
        """Say what the agent is doing. The same state is published again only when it was entered `anew`."""
        current = self._descriptor
        if status == "busy" and "no-busy-edge" in self._faults():
            if current.status != "waiting":
                return
            status = "idle"  # a dialog that was open is not any more, and nothing else is said
        if status in ("idle", "shell") and current.status == "busy" and "stuck-busy" in self._faults():
            return
        if anew or (status, waiting_for) != (current.status, current.waiting_for):
            self._descriptor = current.with_status(status, waiting_for, self._clock.now())
            self._write()

    def rekey(self, session_id: str) -> None:
        """The process goes on with another conversation; its status does not move."""
        self._descriptor = self._descriptor.rekeyed(session_id, self._clock.now())
        self._write()

    def close(self) -> None:
        """Take the descriptor away."""
        self._visible = False
        self._file.remove()

    def _write(self) -> None:
        if not self._visible:
            return
        data = self._descriptor.encode()
        delay = self._faults().get("half-written-descriptor")
        if delay:
            data = data[: len(data) // 2]
            self._clock.call_at(self._clock.now() + delay, self._complete)
        self._put(data)

    def _complete(self) -> None:
        if self._visible:
            self._put(self._descriptor.encode())

    def _put(self, data: bytes) -> None:
        try:
            self._file.write(data)
            self._failed = None
        except OSError as error:
            self._failed = error
