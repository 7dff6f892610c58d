"""Pairs of sequences to align, simulated, and the cells that an aligner computes of them."""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.batches import AlignmentBatch, PairBatch
from hapgpu.arrays.ragged import Ragged
from hapgpu.cigar.encoding import DELETION, INSERTION, MATCH, SOFT_CLIP
from hapgpu.realign.align.bands import diagonals_of, first_margins, next_margins
from hapgpu.realign.align.cpu import loss_widths
from hapgpu.realign.align.losses import EndCells, largest_loss
from hapgpu.realign.align.ungapped import UNPROVED, ungapped_alignments
from hapgpu.realign.align.windows import windows_of
from hapgpu.realign.projection.haplotype_cigars import pad_pairs
from hapgpu.realign.scoring import Overhang, Scoring
from hapgpu.simulation.sequences import random_bases, replace_bases

_ERROR_RATE: Final = 0.005
_SHARE_OF_INDELS: Final = 0.1
_LONGEST_INDEL: Final = 20
_LEAST_ERRORS: Final = 2
"""Mismatches of a read that lose more than a gap, so that only a matrix tells its alignment."""


def distant_reads(count: int, read_length: int, haplotype_length: int) -> PairBatch:
    """Simulate haplotypes, each with one read that needs a matrix: none has fewer than two errors.

    Besides them, the read differs from the haplotype in 0.4 % of the bases.
    """
    rng = np.random.default_rng(1)
    haplotypes, reads = _reads(count, read_length, haplotype_length, rng)
    columns = np.arange(1, _LEAST_ERRORS + 1) * read_length // (_LEAST_ERRORS + 1)
    right = reads[:, columns]
    _add_errors(reads, rng)
    reads[:, columns] = np.where(right == ord("A"), ord("C"), ord("A"))
    return _paired(haplotypes, reads)


def close_reads(count: int, read_length: int, haplotype_length: int) -> PairBatch:
    """Simulate haplotypes, each with one read that differs in 0.4 % of the bases."""
    rng = np.random.default_rng(2)
    haplotypes, reads = _reads(count, read_length, haplotype_length, rng)
    _add_errors(reads, rng)
    return _paired(haplotypes, reads)


def reads_with_indels(count: int, read_length: int, haplotype_length: int) -> PairBatch:
    """Simulate as `close_reads`, with an indel of 1 to 20 bases in a tenth of the reads."""
    rng = np.random.default_rng(3)
    shifts = _random_shifts(count, rng) * (rng.random(count) < _SHARE_OF_INDELS)
    haplotypes, reads = _reads(count, read_length, haplotype_length, rng, shifts)
    _add_errors(reads, rng)
    return _paired(haplotypes, reads)


def padded_haplotypes(count: int, length: int) -> PairBatch:
    """Simulate haplotypes of a reference haplotype each, padded with N as GATK pads them.

    Each has an indel of 1 to 20 bases and differs in 0.4 % of the other bases.

    Parameters
    ----------
    count
        Number of pairs.
    length
        Bases of each reference haplotype, with the pads.
    """
    rng = np.random.default_rng(4)
    bases = length - 2 * 10
    shifts = _random_shifts(count, rng)
    # As wide as the longest haplotype; each ends where its reference haplotype ends.
    references, haplotypes = _reads(
        count, bases + _LONGEST_INDEL, bases, rng, shifts, np.zeros(count, dtype=np.int64)
    )
    _add_errors(haplotypes, rng)
    lengths = bases - shifts
    is_part = np.arange(haplotypes.shape[1]) < lengths[:, None]
    rows = np.arange(count, dtype=np.int32)
    pairs = PairBatch(
        Ragged.from_lengths(references.ravel(), [bases] * count),
        Ragged.from_lengths(haplotypes[is_part], lengths),
        rows,
        rows,
    )
    return pad_pairs(pairs)


def _random_shifts(count: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Draw lengths of deletions, above 0, and of insertions, below 0."""
    lengths = rng.integers(1, _LONGEST_INDEL + 1, count)
    return np.where(rng.random(count) < 1 / 2, lengths, -lengths)


def _reads(
    count: int,
    read_length: int,
    haplotype_length: int,
    rng: np.random.Generator,
    shifts: NDArray[np.int64] | None = None,
    starts: NDArray[np.int64] | None = None,
) -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
    """Draw haplotypes, uint8[count, haplotype_length], and a part of each, with an indel.

    Parameters
    ----------
    count, read_length, haplotype_length
        Numbers of haplotypes, and of bases.
    rng
        Source of random numbers.
    shifts
        int64[count]: bases deleted from the read, or below 0 inserted; None for no indels.
    starts
        int64[count]: of the reads in the haplotypes; None for random ones.
    """
    haplotypes = random_bases((count, haplotype_length), rng, np.uint8)
    if shifts is None:
        shifts = np.zeros(count, dtype=np.int64)
    if starts is None:
        room = np.maximum(haplotype_length - read_length - np.maximum(shifts, 0), 0)
        starts = rng.integers(0, room + 1)
    columns = np.arange(read_length)
    at = read_length // 2 + np.maximum(-shifts, 0)
    is_after = columns >= at[:, None]
    rows = np.where(is_after, columns + shifts[:, None], columns) + starts[:, None]
    reads = np.take_along_axis(haplotypes, rows % haplotype_length, axis=1)
    is_inserted = (columns >= read_length // 2) & ~is_after
    reads[is_inserted] = random_bases(int(is_inserted.sum()), rng, np.uint8)
    return haplotypes, reads


def _add_errors(reads: NDArray[np.uint8], rng: np.random.Generator) -> None:
    replace_bases(reads, _ERROR_RATE, rng, np.float32, np.uint8)


def _paired(haplotypes: NDArray[np.uint8], reads: NDArray[np.uint8]) -> PairBatch:
    count = len(reads)
    rows = np.arange(count, dtype=np.int32)
    return PairBatch(
        Ragged.from_lengths(haplotypes.ravel(), [haplotypes.shape[1]] * count),
        Ragged.from_lengths(reads.ravel(), [reads.shape[1]] * count),
        rows,
        rows,
    )


class Work(NamedTuple):
    """Cells computed, each once per pass over it, and pairs of which any are computed."""

    cells: int
    pairs: int


def work_on_the_cpu(
    pairs: PairBatch, scoring: Scoring, alignments: AlignmentBatch, *, with_trace: bool
) -> Work:
    """Count the cells that the aligner of the CPU computes, with ends soft-clipped.

    Bands are as wide as each pair needs; the pairs that are filled together share the widest, so
    that somewhat more cells are filled.

    Parameters
    ----------
    pairs
        n pairs.
    scoring
        Weights that prefer an exact match.
    alignments
        Of the pairs.
    with_trace
        Whether to count the cells of alignments, or of scores only.
    """
    offsets, _ = ungapped_alignments(pairs, scoring, Overhang.SOFTCLIP)
    is_left = offsets == UNPROVED
    rest, aligned = pairs.take(is_left), alignments.take(is_left)
    cells = _scored_cells(rest, scoring, aligned.scores)
    if with_trace:
        cells += _traced_cells(rest, scoring, aligned)
    return Work(cells, len(rest))


def _scored_cells(pairs: PairBatch, scoring: Scoring, scores: NDArray[np.int32]) -> int:
    """Count the cells that are filled until the end cells of n pairs are known."""
    margins = first_margins(pairs, scoring, Overhang.SOFTCLIP)
    is_best, wider = next_margins(pairs, scoring, margins, scores)
    cells = _filled_cells(pairs, margins)
    cells[~is_best] += _filled_cells(pairs.take(~is_best), wider[~is_best])
    losses = (scoring.match * pairs.query_lengths - scores) // scoring.divisor
    # Pairs with larger losses are filled again.
    fills = 1 + sum(losses >= largest_loss(width) for width in loss_widths(scoring))
    return int((fills * cells).sum())


def _filled_cells(pairs: PairBatch, margins: NDArray[np.int64]) -> NDArray[np.int64]:
    lowest, highest = diagonals_of(pairs, margins)
    return cells_of_bands(pairs.reference_lengths, pairs.query_lengths, lowest, highest)


def _traced_cells(pairs: PairBatch, scoring: Scoring, alignments: AlignmentBatch) -> int:
    """Count the cells of the bands in which the alignments with gaps are traced back."""
    runs = alignments.cigars
    lengths, operations = runs.data.astype(np.int64) >> 4, runs.data & 15
    starts = runs.offsets[:-1]
    is_gap = (operations == INSERTION) | (operations == DELETION)
    has_gap = np.add.reduceat(is_gap, starts) > 0 if starts.size else starts > 0
    in_reference = lengths * ((operations == MATCH) | (operations == DELETION))
    last = runs.offsets[1:] - 1
    clipped = np.where(operations[last] == SOFT_CLIP, lengths[last], 0)
    gapped, scores = pairs.take(has_gap), alignments.scores[has_gap].astype(np.int64)
    losses = (scoring.match * gapped.query_lengths - scores) // scoring.divisor
    rows = alignments.offsets[has_gap] + np.add.reduceat(in_reference, starts)[has_gap]
    columns = gapped.query_lengths - clipped[has_gap]
    ends = EndCells(*(column.astype(np.int32) for column in (losses, rows, columns)))
    windows = windows_of(gapped, ends, scoring)
    sizes = windows.pairs.reference_lengths, windows.pairs.query_lengths
    return int(cells_of_bands(*sizes, windows.lowest, windows.highest).sum())


def cells_of_bands(
    rows: NDArray[np.int64],
    columns: NDArray[np.int64],
    lowest: NDArray[np.int64],
    highest: NDArray[np.int64],
) -> NDArray[np.int64]:
    """Return int64[n]: the cells of n matrices on the diagonals (row - column) of bands.

    Parameters
    ----------
    rows, columns
        int64[n]: sizes of the matrices.
    lowest, highest
        int64[n]: the first and the last diagonal, not in the wrong order.
    """
    return _cells_after(rows, columns, lowest - 1) - _cells_after(rows, columns, highest)


def _cells_after(
    rows: NDArray[np.int64], columns: NDArray[np.int64], diagonal: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Return int64[n]: the cells after a diagonal, further from the first row."""
    below = _steps(columns, rows - 1 - np.maximum(diagonal, 0))
    upto = _steps(rows, columns + np.minimum(diagonal, 0))
    return np.where(diagonal >= 0, below, rows * columns - upto)


def _steps(most: NDArray[np.int64], count: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return int64[n]: the sum of min(k, most) for k from 1 to a count, if that is above 0."""
    count = np.maximum(count, 0)
    rising = np.minimum(count, most)
    total: NDArray[np.int64] = rising * (rising + 1) // 2 + most * (count - rising)
    return total
