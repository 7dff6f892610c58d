"""Ranking of aligned mappings: filters, order, parents, selection, qualities.

The rules are those of minimap2 2.30 (Li 2018, Bioinformatics 34:3094).
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.ragged_view import read_only
from hapgpu.chaining.align.batches import AlignedMappings
from hapgpu.chaining.align.parameters import AlignParameters
from hapgpu.chaining.align.ranking.parents import set_parents
from hapgpu.chaining.align.ranking.qualities import set_qualities
from hapgpu.chaining.align.ranking.rescaling import rescale
from hapgpu.chaining.align.scoring import AlignScoring
from hapgpu.chaining.options import MappingOptions
from hapgpu.chaining.sort.cpu import sort_descending
from hapgpu.runtime.jit import njit

_32: Final = np.uint64(32)


def rank(
    aligned: AlignedMappings,
    lengths: NDArray[np.int32],
    repeat_lengths: NDArray[np.int32],
    options: MappingOptions,
    scoring: AlignScoring,
    parameters: AlignParameters,
) -> AlignedMappings:
    """Return the mappings to report, in the order of their lines, with parents and qualities.

    Parameters
    ----------
    aligned
        Mappings of n reads with final alignments; not changed.
    lengths
        int32[n]: lengths of the reads in bases.
    repeat_lengths
        int32[n]: bases of each read that dropped seeds cover.
    options
        Options for mappings.
    scoring, parameters
        Scores and parameters of alignment.

    Returns
    -------
    AlignedMappings
        With the same `operations`. A read may have no mapping. With `all_chains`, no mapping gets
        another number or parent, so that only parts of split mappings are primary, as in minimap2.
    """
    mappings, offsets = _without_poor(aligned.mappings, aligned.offsets, parameters)
    if not options.all_chains:
        rescale(mappings, offsets, read_only(aligned.operations), read_only(lengths), scoring)
        mappings, offsets = _without_poor(mappings, offsets, parameters)
    mappings = mappings[_best_first(mappings, offsets)]
    mappings["second_dp_max"] = mappings["is_first_primary"] = 0
    if not options.all_chains:
        near_score = 2 * scoring.match + scoring.mismatch
        mappings, offsets = set_parents(mappings, offsets, options, parameters.k, near_score)
    set_qualities(
        mappings, offsets, read_only(repeat_lengths), scoring.match, parameters.min_chain_score
    )
    return AlignedMappings(mappings, aligned.operations, offsets)


def _without_poor(
    mappings: NDArray[np.void], offsets: NDArray[np.int64], parameters: AlignParameters
) -> tuple[NDArray[np.void], NDArray[np.int64]]:
    """Return copies of the mappings with enough anchors, matches and score.

    A mapping without alignment scores 0.
    """
    is_good = (mappings["anchors"] >= parameters.min_anchors) | (mappings["is_inversion"] != 0)
    is_good &= mappings["matches"] >= parameters.min_chain_score
    is_good &= mappings["dp_max"] >= parameters.min_score
    is_good &= mappings["operations"] > 0
    kept = np.zeros(mappings.size + 1, dtype=np.int64)
    np.cumsum(is_good, out=kept[1:])
    return mappings[is_good], kept[offsets]


def _best_first(mappings: NDArray[np.void], offsets: NDArray[np.int64]) -> NDArray[np.uint64]:
    """Return the rows of each read in descending order of score; a hash breaks ties."""
    keys = mappings["dp_max"].astype(np.uint64) << _32 | mappings["hash"]
    rows = np.arange(mappings.size, dtype=np.uint64)
    _sort(keys, rows, offsets)
    return rows


@njit
def _sort(keys: NDArray[np.uint64], rows: NDArray[np.uint64], offsets: NDArray[np.int64]) -> None:
    for read in range(offsets.size - 1):
        sort_descending(keys, rows, offsets[read], offsets[read + 1])
