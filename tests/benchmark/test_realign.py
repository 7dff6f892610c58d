"""Pairs that `hapgpu bench realign` makes, and the cells that it counts."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from hapgpu.benchmark.pairs import (
    cells_of_bands,
    close_reads,
    distant_reads,
    padded_haplotypes,
    reads_with_indels,
    work_on_the_cpu,
)
from hapgpu.benchmark.realign import compare_designs, queued_seconds
from hapgpu.errors import UsageError
from hapgpu.realign.align.dispatch import align_pairs
from hapgpu.realign.align.ungapped import UNPROVED, ungapped_alignments
from hapgpu.realign.scoring import PRESETS, Overhang
from hapgpu.runtime.devices import CpuDevice

READ, HAPLOTYPE = PRESETS["read-to-haplotype"], PRESETS["haplotype-to-reference"]
COUNT = 400


def share_with_indels(cigar_lengths: np.ndarray) -> float:
    return float(np.mean(cigar_lengths > 1))


@pytest.mark.parametrize("shape", [(100, 350), (150, 150)])
def test_distant_reads_need_matrices(shape: tuple[int, int]) -> None:
    pairs = distant_reads(COUNT, *shape)
    assert (pairs.query_lengths == shape[0]).all()
    assert (pairs.reference_lengths == shape[1]).all()
    offsets, _ = ungapped_alignments(pairs, READ, Overhang.SOFTCLIP)
    assert (offsets == UNPROVED).all()
    cigars = align_pairs(pairs, READ, Overhang.SOFTCLIP, CpuDevice(1)).cigars
    assert share_with_indels(cigars.lengths) < 0.02


def test_close_reads_are_as_usual_reads() -> None:
    offsets, _ = ungapped_alignments(close_reads(COUNT, 150, 350), READ, Overhang.SOFTCLIP)
    assert 0.8 < np.mean(offsets != UNPROVED) < 0.95


def test_a_tenth_of_the_reads_has_an_indel() -> None:
    pairs = reads_with_indels(COUNT, 150, 350)
    cigars = align_pairs(pairs, READ, Overhang.SOFTCLIP, CpuDevice(1)).cigars
    assert 0.05 < share_with_indels(cigars.lengths) < 0.15


def test_padded_haplotypes_end_where_their_reference_ends() -> None:
    pairs = padded_haplotypes(COUNT, 200)
    assert (pairs.reference_lengths == 200).all()
    assert np.unique(pairs.query_lengths).size > 20
    alignments = align_pairs(pairs, HAPLOTYPE, Overhang.SOFTCLIP, CpuDevice(1))
    ends = np.add.reduceat(
        alignments.cigars.data.astype(np.int64) // 16 * (alignments.cigars.data % 16 != 1),
        alignments.cigars.offsets[:-1],
    )
    assert np.mean((alignments.offsets == 0) & (ends == 200)) > 0.95
    assert share_with_indels(alignments.cigars.lengths) > 0.95


@pytest.mark.parametrize("count", [1, 100, 250])
def test_queued_calls_are_timed(count: int) -> None:
    assert 0 < queued_seconds(distant_reads(count, 20, 30), READ, CpuDevice(1)) < 10


def test_cells_of_bands() -> None:
    sizes = list(product(range(1, 6), range(1, 6)))
    bands = [(low, high) for low in range(-7, 7) for high in range(low, 8)]
    cases = np.array([(*size, *band) for size, band in product(sizes, bands)]).T
    expected = [
        sum(low <= row - column <= high for row in range(rows) for column in range(columns))
        for rows, columns, low, high in cases.T.tolist()
    ]
    assert cells_of_bands(*cases).tolist() == expected


def test_cells_on_the_cpu() -> None:
    pairs = reads_with_indels(COUNT, 150, 350)
    alignments = align_pairs(pairs, READ, Overhang.SOFTCLIP, CpuDevice(1))
    aligned = work_on_the_cpu(pairs, READ, alignments, with_trace=True)
    scored = work_on_the_cpu(pairs, READ, alignments, with_trace=False)
    assert COUNT / 10 < scored.pairs == aligned.pairs < COUNT / 2
    assert scored.cells == 150 * 350 * scored.pairs
    gapped = int((alignments.cigars.lengths > 1).sum())
    assert 10 * 150 * gapped < aligned.cells - scored.cells < 150 * 350 * gapped


def test_cells_of_narrow_bands_on_the_cpu() -> None:
    pairs = distant_reads(COUNT, 150, 155)
    alignments = align_pairs(pairs, READ, Overhang.SOFTCLIP, CpuDevice(1))
    scored = work_on_the_cpu(pairs, READ, alignments, with_trace=False)
    assert 10 * 150 * COUNT < scored.cells < 150 * 155 * COUNT / 2


def test_cells_without_pairs_left_on_the_cpu() -> None:
    pairs = close_reads(COUNT, 150, 350)
    offsets, _ = ungapped_alignments(pairs, READ, Overhang.SOFTCLIP)
    pairs = pairs.take(offsets != UNPROVED)
    alignments = align_pairs(pairs, READ, Overhang.SOFTCLIP, CpuDevice(1))
    assert work_on_the_cpu(pairs, READ, alignments, with_trace=True) == (0, 0)


def test_designs_are_compared_on_a_gpu() -> None:
    with pytest.raises(UsageError, match="--method ren2019: needs a GPU"):
        compare_designs(CpuDevice(1))
