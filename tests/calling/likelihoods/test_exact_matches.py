"""Alignment of reads that occur in their haplotypes."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest

from hapgpu.arrays.batches import PairBatch
from hapgpu.arrays.ragged import Ragged
from hapgpu.calling.likelihoods.exact_matches import aligned_to_haplotypes
from hapgpu.realign.align.dispatch import align_pairs
from hapgpu.realign.scoring import PRESETS, Overhang
from hapgpu.runtime.devices import CpuDevice


def assert_as_by_recurrences(pairs: PairBatch) -> None:
    scoring = PRESETS["read-to-haplotype"]
    expected = align_pairs(pairs, scoring, Overhang.SOFTCLIP, CpuDevice())
    actual = aligned_to_haplotypes(pairs, CpuDevice())
    assert actual.scores.tolist() == expected.scores.tolist()
    assert actual.offsets.tolist() == expected.offsets.tolist()
    assert list(map(bytes, actual.cigars)) == list(map(bytes, expected.cigars))
    assert actual.scores.dtype == expected.scores.dtype
    assert actual.offsets.dtype == expected.offsets.dtype


def pairs_of(haplotypes: list[str], reads: list[str], rows: list[int]) -> PairBatch:
    return PairBatch(
        Ragged.from_sequences(haplotypes),
        Ragged.from_sequences(reads),
        np.array(rows, dtype=np.int32),
        np.arange(len(reads), dtype=np.int32),
    )


@pytest.mark.parametrize("letters", ["A", "AC", "ACGT", "ACGTN"])
def test_equal_to_the_recurrences(letters: str) -> None:
    """Short texts of few letters occur several times, or hardly."""
    random = Random(len(letters))  # noqa: S311  (the same data on every run)
    haplotypes = ["".join(random.choices(letters, k=random.randint(1, 30))) for _ in range(40)]
    reads, rows = [], []
    for _ in range(400):
        rows.append(random.randrange(len(haplotypes)))
        start = random.randrange(len(haplotypes[rows[-1]]))
        read = haplotypes[rows[-1]][start : start + random.randint(1, 20)]
        reads.append(read + "".join(random.choices(letters, k=random.choice([0, 0, 2]))))
    assert_as_by_recurrences(pairs_of(haplotypes, reads, rows))


@pytest.mark.parametrize("reads", [[], ["ACG", "CAC"], ["GGA", "TTTTTTTT"]])
def test_all_or_none_occur(reads: list[str]) -> None:
    assert_as_by_recurrences(pairs_of(["ACACGACG"], reads, [0] * len(reads)))
