"""The data that `hapgpu bench pairhmm` simulates."""

from __future__ import annotations

import numpy as np
import pytest

from hapgpu.benchmark.pairhmm import BATCH_SEQUENCES, random_text_batches
from hapgpu.pairhmm.forward.dispatch import log10_likelihoods
from hapgpu.runtime.devices import CpuDevice


@pytest.mark.parametrize(("read_length", "haplotype_length"), [(64, 64), (30, 80), (50, 20)])
def test_sizes(read_length: int, haplotype_length: int) -> None:
    batch = random_text_batches(3, read_length, haplotype_length)
    assert len(batch) == 3
    assert batch.pairs == 3 * BATCH_SEQUENCES**2
    assert set(batch.reads.bases.lengths) == {read_length}
    assert set(batch.haplotypes.lengths) == {haplotype_length}
    assert all(column.size == batch.reads.bases.data.size for column in batch.reads.qualities)
    assert batch.cells == batch.pairs * read_length * haplotype_length


def test_reads_come_from_the_haplotypes_of_their_batch() -> None:
    batch = random_text_batches(2, 60, 100)
    likelihoods = log10_likelihoods(batch, CpuDevice(2))
    own = likelihoods.reshape(2, BATCH_SEQUENCES, BATCH_SEQUENCES).diagonal(axis1=1, axis2=2)
    assert np.median(own) > -4.0
    strangers = random_text_batches(2, 60, 100, seed=2)
    assert not np.array_equal(strangers.reads.bases.data, batch.reads.bases.data)


def test_the_same_data_every_time() -> None:
    first, second = random_text_batches(1, 20, 30), random_text_batches(1, 20, 30)
    assert np.array_equal(first.reads.bases.data, second.reads.bases.data)
    assert np.array_equal(first.haplotypes.data, second.haplotypes.data)
