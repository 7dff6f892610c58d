"""Pair-HMM of several threads in common batches."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import numpy as np
import pytest
from numpy.typing import NDArray

from hapgpu.calling.genotypes.likelihoods import SharedBatches
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


def test_each_thread_gets_the_likelihoods_of_its_batch() -> None:
    sizes = []

    def computed(batch: HmmBatch) -> NDArray[np.float64]:
        sizes.append(len(batch))
        return log10_likelihoods(batch, DEVICE)

    shared, barrier = SharedBatches(computed), Barrier(THREADS)

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


def test_an_error_is_raised_for_its_batch_alone() -> None:
    bad = batch_of(0)

    def computed(batch: HmmBatch) -> NDArray[np.float64]:
        if bad.haplotypes.data.tobytes() in batch.haplotypes.data.tobytes():
            raise DeviceError("out of memory")
        return log10_likelihoods(batch, DEVICE)

    shared, barrier = SharedBatches(computed), Barrier(THREADS)

    def work(thread: int) -> None:
        batch = batch_of(thread)
        barrier.wait()
        if thread:
            assert np.array_equal(shared(batch), log10_likelihoods(batch, DEVICE))
        else:
            with pytest.raises(DeviceError, match="out of memory"):
                shared(batch)

    with ThreadPoolExecutor(THREADS) as pool:
        for future in [pool.submit(work, thread) for thread in range(THREADS)]:
            future.result()
