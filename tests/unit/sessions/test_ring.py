"""The shared ring: numbers, wrap-around, what a killed reader leaves behind, labels."""

import random

import pytest

from switchboard.sessions.keeper.ring import (
    HEADER_BYTES,
    LABEL_BYTES,
    MAX_LABEL,
    LabelTooLongError,
    Ring,
    RingError,
    memory_size,
)

CAPACITY = 4096


def fresh() -> tuple[bytearray, Ring]:
    memory = bytearray(memory_size(CAPACITY))
    return memory, Ring(memory, CAPACITY)


def read_into(ring: Ring, data: bytes) -> None:
    """What a terminal does between claim and commit."""
    left = memoryview(data)
    for part in ring.claim(len(data)):
        part[: len(left[: len(part)])] = left[: len(part)]
        left = left[len(part) :]


def test_numbers_go_on_and_the_newest_bytes_are_kept() -> None:
    _, ring = fresh()
    everything = bytes(random.Random(1).randrange(1, 256) for _ in range(20_000))
    for start in range(0, len(everything), 700):
        ring.append(everything[start : start + 700])
        held = everything[ring.tail : ring.head]
        assert ring.read(0, CAPACITY * 2) == (ring.tail, held)
    assert ring.head == len(everything)
    assert ring.head - ring.tail >= CAPACITY // 2


def test_reading_from_the_middle_and_beyond() -> None:
    _, ring = fresh()
    ring.append(b"hello world")
    assert ring.read(6, 3) == (6, b"wor")
    assert ring.read(11, 10) == (11, b"")
    assert ring.read(99, 10) == (11, b"")


@pytest.mark.parametrize("printed", [0, 1, 1000, CAPACITY - 3, CAPACITY * 3 + 17])
@pytest.mark.parametrize("torn", [1, 5, 900])
def test_a_reader_killed_between_read_and_commit_loses_nothing(printed: int, torn: int) -> None:
    memory, ring = fresh()
    ring.append(b"x" * printed)
    read_into(ring, b"y" * torn)
    successor = Ring(memory)
    assert successor.recover() == torn
    assert successor.read(printed, 10_000)[1] == b"y" * torn
    assert successor.recover() == 0


def test_recovery_finds_nothing_after_a_commit() -> None:
    memory, ring = fresh()
    for _ in range(30):
        ring.append(b"z" * 999)
    ring.claim(1024)
    assert Ring(memory).recover() == 0


def test_a_claim_gives_up_the_oldest_bytes_before_they_are_overwritten() -> None:
    _, ring = fresh()
    ring.append(b"a" * CAPACITY)
    ring.claim(1024)
    start, data = ring.read(0, CAPACITY)
    assert data == b"a" * len(data)
    assert start == 1024


def test_the_newest_label_is_in_force() -> None:
    memory, ring = fresh()
    assert ring.load_label() == b""
    for number in range(5):
        ring.store_label(b"label %d" % number)
        assert Ring(memory).load_label() == b"label %d" % number


@pytest.mark.parametrize("cut", [0, 8, 16, 40, 60])
def test_a_half_written_label_leaves_the_one_before(cut: int) -> None:
    memory, ring = fresh()
    ring.store_label(b"first, and long enough to be cut somewhere")
    ring.store_label(b"second")
    before = bytes(memory)
    ring.store_label(b"third, which will be torn while it is written")
    slot = HEADER_BYTES if memory[HEADER_BYTES:] != before[HEADER_BYTES:] else 0
    changed = next(i for i in range(HEADER_BYTES, len(memory)) if memory[i] != before[i])
    start = HEADER_BYTES + (changed - HEADER_BYTES) // LABEL_BYTES * LABEL_BYTES
    assert slot
    # The first eight bytes (the version) are zero from the first store to the last.
    torn = bytearray(memory)
    torn[start + 8 + cut : start + LABEL_BYTES] = before[start + 8 + cut : start + LABEL_BYTES]
    torn[start : start + 8] = bytes(8)
    assert Ring(torn).load_label() == b"second"


def test_a_label_that_is_too_long_is_refused_and_the_old_one_stays() -> None:
    _, ring = fresh()
    ring.store_label(b"old")
    with pytest.raises(LabelTooLongError):
        ring.store_label(b"x" * (MAX_LABEL + 1))
    assert ring.load_label() == b"old"
    ring.store_label(b"x" * MAX_LABEL)


@pytest.mark.parametrize("capacity", [0, 100, 4095, 5000])
def test_capacity_must_be_a_power_of_two(capacity: int) -> None:
    with pytest.raises(RingError):
        Ring(bytearray(memory_size(capacity)), capacity)


def test_memory_that_is_no_ring_is_refused() -> None:
    with pytest.raises(RingError):
        Ring(bytearray(memory_size(CAPACITY)))
    memory, _ = fresh()
    with pytest.raises(RingError):
        Ring(memory[:-1])
