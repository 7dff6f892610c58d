"""Reads per sample and haplotype: counts of batches, and their sums."""

from __future__ import annotations

from collections import Counter

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from hapgpu.realign.alleles import AlleleCounts, AlleleTally, count_alleles

SAMPLES, HAPLOTYPES = 3, 4

READS = st.lists(
    st.tuples(st.integers(0, SAMPLES - 1), st.integers(-1, HAPLOTYPES - 1), st.booleans()),
    max_size=30,
)
"""Sample, haplotype (-1: none), and whether another haplotype explains the read as well."""


def counts_of(reads: list[tuple[int, int, bool]]) -> AlleleCounts:
    samples, chosen, are_tied = np.array(reads, dtype=np.int64).reshape(-1, 3).T
    explained = np.flatnonzero(chosen >= 0)
    return count_alleles(
        samples.astype(np.int32),
        explained,
        chosen[explained].astype(np.int32),
        are_tied.astype(np.bool_),
        HAPLOTYPES,
    )


@given(st.lists(READS, min_size=1, max_size=4))
def test_sums_of_batches(batches: list[list[tuple[int, int, bool]]]) -> None:
    tally = AlleleTally(SAMPLES, HAPLOTYPES)
    parts = [counts_of(batch) for batch in batches]
    assert all(np.unique(part.cells).size == part.cells.size for part in parts)
    tally.add(AlleleCounts.concatenate(parts[1:] or parts))
    if parts[1:]:
        tally.add(parts[0])
    expected = Counter(read for batch in batches for read in batch)
    for sample in range(SAMPLES):
        none = expected[sample, -1, False] + expected[sample, -1, True]
        assert tally.unexplained[sample] == none
        for haplotype in range(HAPLOTYPES):
            assert tally.alone[sample, haplotype] == expected[sample, haplotype, False]
            assert tally.tied[sample, haplotype] == expected[sample, haplotype, True]
