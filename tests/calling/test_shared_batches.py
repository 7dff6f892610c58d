"""Batches of several threads, computed together."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier, Semaphore

import numpy as np
import pytest
from numpy.typing import NDArray

from hapgpu.calling.shared_batches import SharedBatches
from hapgpu.errors import DeviceError
from hapgpu.pairhmm.batches import HmmBatch
from hapgpu.pairhmm.forward.dispatch import log10_likelihoods
from hapgpu.pairhmm.inputs import PairHmmInput
from hapgpu.runtime.devices import CpuDevice

THREADS = 8
DEVICE = CpuDevice(1)


def batch_of(seed: int) -> HmmBatch:
    rng = np.random.default_rng(seed)
    reads, haplotypes = (
        [
            "".join(rng.choice(list("ACGT"), size))
            for size in rng.integers(5, 40, rng.integers(1, 9))
        ]
        for _ in range(2)
    )
    return PairHmmInput(reads, haplotypes, base_qualities=30).to_batch()


@pytest.mark.parametrize("turns", [1, 3])
def test_each_thread_gets_the_likelihoods_of_its_batch(turns: int) -> None:
    sizes, at_work, most_at_work = [], Semaphore(turns), []

    def computed(batches: Sequence[HmmBatch]) -> list[NDArray[np.float64]]:
        most_at_work.append(at_work.acquire(blocking=False))
        sizes.append(len(batches))
        values = [log10_likelihoods(batch, DEVICE) for batch in batches]
        at_work.release()
        return values

    shared, barrier = SharedBatches(computed, turns), Barrier(THREADS)

    def work(thread: int) -> None:
        barrier.wait()
        for number in range(20):
            batch = batch_of(100 * thread + number)
            expected = log10_likelihoods(batch, DEVICE)
            assert np.array_equal(shared(batch), expected)

    with ThreadPoolExecutor(THREADS) as pool:
        for future in [pool.submit(work, thread) for thread in range(THREADS)]:
            future.result()
    assert sum(sizes) == 20 * THREADS
    assert all(most_at_work)


def test_an_error_is_raised_for_its_batch_alone() -> None:
    bad = batch_of(0)

    def computed(batches: Sequence[HmmBatch]) -> list[NDArray[np.float64]]:
        if any(batch is bad for batch in batches):
            raise DeviceError("out of memory")
        return [log10_likelihoods(batch, DEVICE) for batch in batches]

    shared, barrier = SharedBatches(computed), Barrier(THREADS)

    def work(thread: int) -> None:
        batch = batch_of(thread) if thread else bad
        barrier.wait()
        if thread:
            assert np.array_equal(shared(batch), log10_likelihoods(batch, DEVICE))
        else:
            with pytest.raises(DeviceError, match="out of memory"):
                shared(batch)

    with ThreadPoolExecutor(THREADS) as pool:
        for future in [pool.submit(work, thread) for thread in range(THREADS)]:
            future.result()
