"""Frames of pages have to be masked (pure): RFC 6455, section 5.1, which the library does not enforce.

Masks keep proxies between page and host from taking what a page sends for a request of its own. A program that does not
mask is no browser. Only heads are looked at; bodies are skipped, so a large message costs no more than a small one.
"""

from __future__ import annotations

MASKED = 0x80
LONGER = {126: 2, 127: 8}
"""Bytes that the length takes when the second byte of a head says so."""

KEY = 4
"""Bytes of a mask."""


class MaskGuard:
    """Follows one connection's frames from their begin."""

    def __init__(self) -> None:
        self._head = b""
        self._body = 0
        self._breached = False

    def admit(self, data: bytes) -> tuple[bytes, bool]:
        """Return (what may be read of all that has come, whether an unmasked frame has come).

        The begin of a head waits for its second byte. After an unmasked frame nothing more is admitted.
        """
        if self._breached:
            return b"", True
        data = self._head + data
        self._head = b""
        place = 0
        while True:
            place, self._body = min(len(data), place + self._body), max(0, place + self._body - len(data))
            if self._body or place == len(data):
                return data, False
            if len(data) - place < 2:
                break
            second = data[place + 1]
            if not second & MASKED:
                self._breached = True
                return data[:place], True
            longer = LONGER.get(second & 0x7F, 0)
            if len(data) - place < 2 + longer:
                break
            length = int.from_bytes(data[place + 2 : place + 2 + longer], "big") if longer else second & 0x7F
            place += 2 + longer
            self._body = KEY + length
        self._head = data[place:]
        return data[:place], False
