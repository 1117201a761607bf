"""A session's output ring and label in shared memory (pure: works on a buffer that somebody else mapped).

Theory of operation. Keeper and host map the same memory; at any moment only one of them, the *reader* of the terminal,
writes it. Output is read from the terminal directly into the ring, so a reader that is killed loses nothing:

1. `claim` zeroes the next stretch of the ring and stores how far it is zero;
2. the reader reads from the terminal into that stretch;
3. `commit` stores the new head (one aligned eight-byte store).

A reader killed between 2 and 3 leaves bytes behind the head in a stretch known to have been zero: `recover` counts them
in. Trailing NUL bytes would be missed, and terminals ignore NUL.

Sequence numbers count every byte since the session began; byte `seq` is at `seq % capacity`. The label is an opaque
value of the host, kept in two slots with a checksum; a half-written slot leaves the other one in force.

Rejected: sending each chunk to the keeper (doubles the work of every byte, and what a killed host had read but not yet
sent is gone).
"""

from __future__ import annotations

import mmap
import zlib
from collections.abc import Iterator

MAGIC = 0x53574252494E4731  # "SWBRING1"
HEADER_BYTES = 4096
PIECE_BYTES = 256 * 1024
LABEL_BYTES = 64 * 1024
"""Room of one label slot, its own header included."""

_SLOT_HEADER = 32  # version u64, length u64, checksum u64, reserved u64
MAX_LABEL = LABEL_BYTES - _SLOT_HEADER

# Indexes of eight-byte words in the header.
_W_MAGIC, _W_CAPACITY, _W_HEAD, _W_ZEROED = range(4)


class RingError(ValueError):
    """The memory is not a ring of this layout."""


class LabelTooLongError(ValueError):
    """A label over `MAX_LABEL` bytes; the one in force stays."""


def memory_size(capacity: int) -> int:
    """Return the bytes of memory that a ring of `capacity` output bytes takes."""
    return HEADER_BYTES + 2 * LABEL_BYTES + capacity


class Ring:
    """One session's output and label over shared memory.

    `capacity` must be a power of two for a new ring, at least 4096; None opens an existing one.
    """

    def __init__(self, memory: mmap.mmap | bytearray, capacity: int | None = None) -> None:
        if capacity is not None and (capacity < 4096 or capacity & (capacity - 1)):
            raise RingError("capacity must be a power of two and at least 4096")
        self._memory = memoryview(memory).cast("B")
        self._words = self._memory[:HEADER_BYTES].cast("Q")
        if capacity is not None:
            self._words[_W_CAPACITY] = capacity
            self._words[_W_MAGIC] = MAGIC
        if self._words[_W_MAGIC] != MAGIC or len(self._memory) != memory_size(self._words[_W_CAPACITY]):
            self._words.release()  # else the memory could not be unmapped
            self._memory.release()
            raise RingError("this memory holds no ring of a known layout")
        self._slots = [
            self._memory[start : start + _SLOT_HEADER].cast("Q") for start in (HEADER_BYTES, HEADER_BYTES + LABEL_BYTES)
        ]
        self.capacity: int = self._words[_W_CAPACITY]
        base = HEADER_BYTES + 2 * LABEL_BYTES
        self._data = self._memory[base : base + self.capacity]

    def release(self) -> None:
        """Let go of the memory, so that its owner may unmap it. The ring is not usable afterwards."""
        self._data.release()
        self._words.release()
        for words in self._slots:
            words.release()
        self._memory.release()

    # --- output ---

    @property
    def head(self) -> int:
        """Number of the next byte: how many were printed in all."""
        return self._words[_W_HEAD]

    @property
    def tail(self) -> int:
        """Number of the oldest byte still held."""
        return max(0, max(self._words[_W_HEAD], self._words[_W_ZEROED]) - self.capacity)

    def claim(self, limit: int) -> list[memoryview]:
        """Make room for up to `limit` bytes (at most a quarter of the capacity) and return where to read them into."""
        limit = min(limit, self.capacity // 4)
        head = self._words[_W_HEAD]
        zeroed = max(self._words[_W_ZEROED], head)
        if zeroed < head + limit:
            for part in self._parts(zeroed, head + limit - zeroed):
                part[:] = bytes(len(part))
            self._words[_W_ZEROED] = head + limit
        return self._parts(head, limit)

    def commit(self, count: int) -> None:
        """`count` bytes were read into the claimed room."""
        self._words[_W_HEAD] += count

    def append(self, data: bytes) -> None:
        """Claim, copy and commit: for output that does not come from a terminal (tests, in-memory sessions)."""
        step = self.capacity // 4
        for start in range(0, len(data), step):
            chunk = memoryview(data)[start : start + step]
            for part in self.claim(len(chunk)):
                part[:], chunk = chunk[: len(part)], chunk[len(part) :]
            self.commit(min(step, len(data) - start))

    def recover(self) -> int:
        """Count in what a killed reader had read but not committed; return how many bytes that were."""
        head, zeroed = self._words[_W_HEAD], self._words[_W_ZEROED]
        if zeroed <= head:
            return 0
        left = b"".join(bytes(part) for part in self._parts(head, zeroed - head)).rstrip(b"\0")
        self._words[_W_HEAD] = head + len(left)
        return len(left)

    def read(self, seq: int, limit: int) -> tuple[int, bytes]:
        """Return (number of the first byte, bytes) from `seq` on; later than asked when the ring has moved on."""
        start = min(max(seq, self.tail), self.head)
        count = min(limit, self.head - start)
        return start, b"".join(bytes(part) for part in self._parts(start, count))

    def since(self, seq: int) -> Iterator[bytes]:
        """Return what there is from `seq` on, as far as it is kept, in pieces of at most `PIECE_BYTES`."""
        seq = max(seq, self.tail)
        while seq < self.head:
            start, data = self.read(seq, PIECE_BYTES)
            yield data
            seq = start + len(data)

    def _parts(self, seq: int, count: int) -> list[memoryview]:
        if count <= 0:
            return []
        at = seq & (self.capacity - 1)
        first = min(count, self.capacity - at)
        parts = [self._data[at : at + first]]
        if first < count:
            parts.append(self._data[: count - first])
        return parts

    # --- label ---

    def store_label(self, label: bytes) -> None:
        """Put a new label in force. Raises `LabelTooLongError`."""
        if len(label) > MAX_LABEL:
            raise LabelTooLongError(f"a label of {len(label)} bytes, over the limit of {MAX_LABEL}")
        versions = [words[0] for words in self._slots]
        slot = 0 if versions[0] <= versions[1] else 1
        start = HEADER_BYTES + slot * LABEL_BYTES + _SLOT_HEADER
        words = self._slots[slot]
        words[0] = 0
        self._memory[start : start + len(label)] = label
        words[1] = len(label)
        words[2] = zlib.crc32(label)
        words[0] = max(versions) + 1

    def load_label(self) -> bytes:
        """Return the label in force; empty when none was stored."""
        for slot in sorted((0, 1), key=lambda slot: self._slots[slot][0], reverse=True):
            label = self._slot_label(slot)
            if label is not None:
                return label
        return b""

    def _slot_label(self, slot: int) -> bytes | None:
        version, length, checksum, _ = self._slots[slot]
        if version == 0 or length > MAX_LABEL:
            return None
        start = HEADER_BYTES + slot * LABEL_BYTES + _SLOT_HEADER
        label = bytes(self._memory[start : start + length])
        return label if zlib.crc32(label) == checksum else None
