"""Divergence and mapping quality of mappings.

Formulas and precision are minimap2's (Li 2018, Bioinformatics 34:3094). The host computes them for
all devices: the logarithm is the C library's, as in minimap2.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.bytes import Integer
from hapgpu.arrays.ragged import offsets_of
from hapgpu.arrays.ragged_view import columns_of, read_only
from hapgpu.longread.batches import MappingColumns, Mappings
from hapgpu.runtime.jit import njit, njit_inlined

MAX_QUALITY: Final = 60
ONE: Final = np.float32(1)
SCALE: Final = np.float32(40)
ROUNDING: Final = np.float32(0.499)
_PHRED: Final = np.float32(4.343)
_PER_SCORE: Final = np.float32(0.01)
_PER_ANCHOR: Final = np.float32(0.1)
_FULL_SCORE: Final = 100
_FULL_COUNT: Final = 10


@njit_inlined
def unique_fraction_of(total: Integer, repeat_length: Integer) -> np.float32:
    """Return the share of the primaries' total score in it and the bases of dropped seeds."""
    total_with_repeats = np.float32(max(total + repeat_length, 1))
    return np.float32(np.float32(total) / total_with_repeats)


@njit_inlined
def weight_of(score: Integer, count: Integer, unique_fraction: np.float32) -> np.float32:
    """Return the weight of a chain: less for a low score, few anchors and repeats."""
    by_score = ONE if score > _FULL_SCORE else _PER_SCORE * np.float32(score)
    by_score = np.float32(by_score * unique_fraction)
    by_count = ONE if count > _FULL_COUNT else _PER_ANCHOR * np.float32(count)
    return min(by_score, by_count)


@njit_inlined
def cost_of_secondaries(n_sub: Integer) -> np.int64:
    """Return the quality that a mapping loses if other mappings are as good."""
    return np.int64(np.float32(_PHRED * math.log(np.float32(n_sub + 1))) + ROUNDING)


@njit_inlined
def limited(quality: np.int64) -> np.int64:
    """Return a quality within 0 and `MAX_QUALITY`."""
    return min(max(quality, np.int64(0)), np.int64(MAX_QUALITY))


_RETAINED_RATIO: Final = np.float32(5)
_MIN_RETAINED: Final = np.float32(0.01)


@dataclass(frozen=True, slots=True)
class ReportedMappings:
    """Mappings to report, with divergence and mapping quality.

    Attributes
    ----------
    mappings
        Mappings of n reads.
    rows
        int64[m]: the mappings to report, ascending.
    offsets
        int64[n + 1]: offsets of the reads in `rows`.
    is_primary
        bool[m].
    divergences
        float32[m]: estimated fraction of bases that differ between read and reference.
    qualities
        uint8[m]: 0 to `MAX_QUALITY`; 0 for secondary mappings.
    """

    mappings: Mappings
    rows: NDArray[np.int64]
    offsets: NDArray[np.int64]
    is_primary: NDArray[np.bool_]
    divergences: NDArray[np.float32]
    qualities: NDArray[np.uint8]


@njit
def _estimate_divergences(mappings: MappingColumns, divergences: NDArray[np.float32]) -> None:
    """Estimate divergences: each seed outside the chain has an error in any of its bases."""
    offsets, mean_spans = mappings.offsets, mappings.mean_spans
    matched, expected = mappings.seeds_matched, mappings.seeds_expected
    for read in range(offsets.size - 1):
        for mapping in range(offsets[read], offsets[read + 1]):
            divergence = np.float32(0)
            if matched[mapping] < expected[mapping]:
                seed_fraction = np.float64(matched[mapping]) / np.float64(expected[mapping])
                divergence = np.float32(
                    1.0 - math.pow(seed_fraction, 1.0 / np.float64(mean_spans[read]))
                )
            divergences[mapping] = divergence


@njit
def _keep(
    mappings: MappingColumns,
    divergences: NDArray[np.float32],
    rows: NDArray[np.int64],
    counts: NDArray[np.int64],
) -> Integer:
    """List the mappings to report, without retained ones that diverge far more than the parent."""
    offsets, parents, is_retained = mappings.offsets, mappings.parents, mappings.is_retained
    total = np.int64(0)
    for read in range(offsets.size - 1):
        start = total
        for mapping in range(offsets[read], offsets[read + 1]):
            if is_retained[mapping]:
                # minimap2 moves mappings up in place and looks the parent up at its old row.
                old_row = start + parents[mapping]
                parent = rows[old_row] if old_row < total else offsets[read] + parents[mapping]
                max_divergence = divergences[parent] * _RETAINED_RATIO
                if divergences[mapping] >= max_divergence and divergences[mapping] >= _MIN_RETAINED:
                    continue
            rows[total] = mapping
            total += 1
        counts[read] = total - start
    return total


@njit_inlined
def _quality(
    score: Integer,
    count: Integer,
    second_score: Integer,
    n_sub: Integer,
    unique_fraction: np.float32,
) -> Integer:
    """Return the mapping quality of a primary mapping, in float32 as in minimap2."""
    weight = weight_of(score, count, unique_fraction)
    distinctness = np.float32(ONE - np.float32(second_score) / np.float32(score))
    scaled = np.float32(np.float32(weight * SCALE) * distinctness)
    quality = np.int64(np.float32(scaled * math.log(np.float32(score))))
    return limited(quality - cost_of_secondaries(n_sub))


@njit
def _assess(
    mappings: MappingColumns,
    rows: NDArray[np.int64],
    offsets: NDArray[np.int64],
    min_score: Integer,
    is_primary: NDArray[np.bool_],
    qualities: NDArray[np.uint8],
) -> None:
    """Set the flag `is_primary` and the mapping quality of the mappings to report."""
    scores, counts, parents = mappings.scores, mappings.counts, mappings.parents
    second_scores, n_sub = mappings.second_scores, mappings.n_sub
    first_mappings, repeat_lengths = mappings.offsets, mappings.repeat_lengths
    for read in range(offsets.size - 1):
        total = np.int64(0)
        for row in range(offsets[read], offsets[read + 1]):
            mapping = rows[row]
            is_primary[row] = parents[mapping] == mapping - first_mappings[read]
            total += np.int64(scores[mapping]) * is_primary[row]
        unique_fraction = unique_fraction_of(total, repeat_lengths[read])
        for row in range(offsets[read], offsets[read + 1]):
            mapping = rows[row]
            qualities[row] = 0
            if is_primary[row]:
                second_score = max(np.int64(second_scores[mapping]), np.int64(min_score))
                qualities[row] = _quality(
                    scores[mapping], counts[mapping], second_score, n_sub[mapping], unique_fraction
                )


def reported_rows(
    mappings: Mappings,
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float32]]:
    """Select the mappings to report: all but retained ones that diverge far more than the parent.

    Returns
    -------
    rows, offsets
        int64[m], ascending, and int64[n + 1], the offsets of the reads in `rows`.
    divergences
        float32[r]: estimated divergence of all mappings.
    """
    columns = columns_of(MappingColumns, mappings)
    count = mappings.scores.size
    divergences = np.empty(count, dtype=np.float32)
    _estimate_divergences(columns, divergences)
    rows = np.empty(count, dtype=np.int64)
    counts = np.empty(mappings.offsets.size - 1, dtype=np.int64)
    rows = rows[: _keep(columns, read_only(divergences), rows, counts)]
    return rows, offsets_of(counts), divergences


def assess(mappings: Mappings, min_score: int) -> ReportedMappings:
    """Estimate divergences and mapping qualities, and select the mappings to report.

    Parameters
    ----------
    mappings
        Mappings of n reads.
    min_score
        Lowest score of a chain, from the options.
    """
    rows, offsets, divergences = reported_rows(mappings)
    is_primary = np.empty(rows.size, dtype=np.bool_)
    qualities = np.empty(rows.size, dtype=np.uint8)
    _assess(
        columns_of(MappingColumns, mappings),
        read_only(rows),
        read_only(offsets),
        min_score,
        is_primary,
        qualities,
    )
    return ReportedMappings(mappings, rows, offsets, is_primary, divergences[rows], qualities)
