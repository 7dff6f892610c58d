"""Blocks that processes see without a copy: which memory is used when, by whom."""

from __future__ import annotations

import gc
import os
import weakref
from collections.abc import Iterator
from random import Random

import numpy as np
import pytest
from numpy.typing import NDArray

from hapgpu.runtime.processes import blocks, channel
from hapgpu.runtime.processes.blocks import SharedBlocks, shared_blocks
from tests.runtime.processes.running import results_of_run

MIB = 1 << 20


@pytest.fixture
def without_collection() -> Iterator[None]:
    """As in the program: blocks must go back without it."""
    gc.disable()
    yield
    gc.enable()


@pytest.fixture
def shared(monkeypatch: pytest.MonkeyPatch) -> SharedBlocks:
    monkeypatch.setattr(blocks, "_all", [])
    return shared_blocks()


@pytest.mark.usefixtures("without_collection")
def test_a_block_is_used_until_its_last_array_is_gone(shared: SharedBlocks) -> None:
    array = shared.allocate(3 * MIB)
    part = memoryview(array[5:][:100].view(np.int8))
    first = shared.part_of(array)
    del array
    others = [shared.allocate(3 * MIB) for _ in range(2)]
    assert len({shared.part_of(other).start for other in others} | {first.start}) == 3  # type: ignore[union-attr]
    del part
    assert shared.part_of(shared.allocate(3 * MIB)) == first


@pytest.mark.usefixtures("without_collection")
def test_blocks_never_overlap(shared: SharedBlocks) -> None:
    random = Random(5)  # noqa: S311  (the same sizes on every run)
    held: list[tuple[NDArray[np.uint8], int]] = []
    for number in range(400):
        if held and random.random() < 0.5:
            array, value = held.pop(random.randrange(len(held)))
            assert (array == value).all()
            del array
        held.append((shared.allocate(random.randrange(1, 5 * MIB)), number % 251))
        held[-1][0][:] = held[-1][1]
        if number % 50 == 0:
            shared.release()
    assert all((array == value).all() for array, value in held)


def test_other_memory_if_too_much_is_used(
    shared: SharedBlocks, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(blocks, "_RESERVED", 4 * MIB)
    held = [shared.allocate(3 * MIB) for _ in range(2)]
    assert shared.part_of(held[0]) is not None
    assert shared.part_of(held[1]) is None
    assert shared.part_of(np.zeros(5, dtype=np.uint8)) is None


@pytest.mark.parametrize("processes", [1, 2, 3])
@pytest.mark.parametrize("size", [1, 1 << 15, 3 * MIB])
def test_workers_see_them(shared: SharedBlocks, processes: int, size: int) -> None:
    """And parts of them, in several arrays of a batch; results are copied."""

    def source() -> Iterator[tuple[NDArray[np.uint8], NDArray[np.uint8]]]:
        for number in range(30):
            array = shared.allocate(size)
            array[:] = number
            yield array, array[size // 2 :]

    def work(
        batch: tuple[NDArray[np.uint8], NDArray[np.uint8]],
    ) -> tuple[NDArray[np.uint8], int, int]:
        whole, part = batch
        return whole + np.uint8(1), int(part.sum()), os.getpid()

    found = results_of_run(source(), [work] * 6, processes)
    for number, (array, total, _) in enumerate(found):
        assert array.size == size
        assert (array == number + 1).all()
        assert total == number * (size - size // 2)
    assert (os.getpid() in {process for *_, process in found}) == (processes == 1)


def test_large_arrays_are_not_copied(shared: SharedBlocks, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise AssertionError

    monkeypatch.setattr(channel.SharedMemory, "write", refuse)
    arrays = [shared.allocate(2 * MIB) for _ in range(8)]
    assert results_of_run(arrays, [lambda array: array.size] * 4, 2) == [2 * MIB] * 8


@pytest.mark.usefixtures("without_collection")
def test_nothing_keeps_what_was_sent_or_received(shared: SharedBlocks) -> None:
    """A run has no garbage collection for long."""
    sent: list[weakref.ref[NDArray[np.uint8]]] = []
    alive: list[int] = []

    def source() -> Iterator[NDArray[np.uint8]]:
        for number in range(40):
            array = shared.allocate(MIB) if number % 2 else np.zeros(MIB, dtype=np.uint8)
            sent.append(weakref.ref(array))
            alive.append(sum(each() is not None for each in sent))
            yield array
            del array

    assert len(results_of_run(source(), [np.copy] * 2, 2)) == 40
    assert max(alive) < 12
    assert sum(each() is not None for each in sent) <= 1
