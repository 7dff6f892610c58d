"""Scores and parameters of base alignment, derived from the options and the k-mers.

A gap of l bases costs the cheaper of gap_open + l * gap_extend and gap_open2 + l * gap_extend2 (Li
2018, Bioinformatics 34:3094). The matrix is that of minimap2's `ksw_gen_ts_mat`.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.bytes import Integer
from hapgpu.longread.options import AlignOptions, LongReadOptions, SketchOptions
from hapgpu.runtime.jit import njit, njit_inlined


class AlignParameters(NamedTuple):
    """Parameters of base alignment except scores, for compiled code.

    Attributes
    ----------
    k, is_hpc
        K-mer length in bases; 1 if homopolymers are compressed, else 0.
    min_anchors, min_chain_score
        Fewest anchors and lowest score of a chain.
    max_gap, bandwidth
        As in `ChainOptions`.
    band, long_band, inversion_band
        Bands of extensions, of fills and of inversions.
    drop, inversion_drop, end_bonus, min_score, min_piece, max_cells
        As in `AlignOptions`.
    filters_ends
        1 to drop unreliable anchors at the ends of chains, else 0.
    """

    k: int
    is_hpc: int
    min_anchors: int
    min_chain_score: int
    max_gap: int
    bandwidth: int
    band: int
    long_band: int
    inversion_band: int
    drop: int
    inversion_drop: int
    end_bonus: int
    min_score: int
    min_piece: int
    max_cells: int
    filters_ends: int


def align_parameters(options: LongReadOptions, sketch: SketchOptions) -> AlignParameters:
    """Return the parameters (minimap2 2.30).

    Parameters
    ----------
    options
        Options of long-read mapping.
    sketch
        Options of the index's minimizers.
    """
    chains, align = options.chains, options.align
    band = _widened(chains.bandwidth)
    return AlignParameters(
        k=sketch.k,
        is_hpc=int(sketch.is_hpc),
        min_anchors=chains.min_count,
        min_chain_score=chains.min_score,
        max_gap=chains.max_gap,
        bandwidth=chains.bandwidth,
        band=band,
        long_band=max(_widened(chains.long_bandwidth), band),
        inversion_band=int(chains.bandwidth * 1.5),
        drop=align.drop,
        inversion_drop=align.inversion_drop,
        end_bonus=align.end_bonus,
        min_score=align.min_score,
        min_piece=align.min_piece,
        max_cells=align.max_cells,
        filters_ends=int(align.filters_ends),
    )


def scoring_of(options: AlignOptions) -> AlignScoring:
    """Return the scores of the options, with their matrices."""
    return align_scoring(
        options.match,
        options.mismatch,
        (options.gap_open, options.gap_extend),
        (options.gap_open2, options.gap_extend2),
        ambiguous=options.ambiguous,
        transition=options.transition,
    )


def _widened(bandwidth: int) -> int:
    return int(bandwidth * 1.5 + 1)


CODES: Final = 5
AMBIGUOUS: Final = 4
"""Code of a base that is not A, C, G or T (0 to 3)."""


class AlignScoring(NamedTuple):
    """Scores of an alignment, for Python and compiled functions.

    Attributes
    ----------
    match, mismatch
        `-A`, `-B`: score of equal bases, cost of different ones.
    gap_open, gap_extend, gap_open2, gap_extend2
        `-O`, `-E`: costs of short and of long gaps. Equal costs stand for one affine cost.
    ambiguous
        `--score-N`: cost of a pair with a base of code `AMBIGUOUS`.
    transition
        `-b`: cost of A with G and of C with T; `mismatch` if that cost is not set.
    matrix
        int8[5, 5]: score of each pair of codes.
    dp_matrix
        int8[5, 5]: the scores within the dynamic programming. It differs from `matrix` only if
        `ambiguous` is 0: then a pair with an ambiguous base costs `gap_extend2`, as in minimap2.
    """

    match: int
    mismatch: int
    gap_open: int
    gap_extend: int
    gap_open2: int
    gap_extend2: int
    ambiguous: int
    transition: int
    matrix: NDArray[np.int8]
    dp_matrix: NDArray[np.int8]


class Costs(NamedTuple):
    """The numbers of `AlignScoring` for inner loops, without its arrays.

    Numba counts references to arrays, even around inlined calls. `ambiguous` is the cost within the
    dynamic programming.
    """

    match: int
    mismatch: int
    gap_open: int
    gap_extend: int
    gap_open2: int
    gap_extend2: int
    ambiguous: int
    transition: int


def align_scoring(
    match: int,
    mismatch: int,
    gaps: tuple[int, int],
    long_gaps: tuple[int, int],
    *,
    ambiguous: int = 1,
    transition: int = 0,
) -> AlignScoring:
    """Return the scores with their matrices.

    Parameters
    ----------
    match, mismatch, ambiguous, transition
        As in `AlignScoring`; a transition of 0 costs as much as a mismatch.
    gaps, long_gaps
        The costs to open and to extend a gap: of short gaps, then of long ones. They are equal, or
        the long gaps are cheaper to extend and cost more for one base.
    """
    transition = transition or mismatch
    matrix = np.full((CODES, CODES), -mismatch, dtype=np.int8)
    np.fill_diagonal(matrix, match)
    for one, other in ((0, 2), (1, 3)):
        matrix[one, other] = matrix[other, one] = -transition
    matrix[AMBIGUOUS, :] = matrix[:, AMBIGUOUS] = -ambiguous
    dp_matrix = matrix.copy()
    if ambiguous == 0 and transition == mismatch:
        dp_matrix[AMBIGUOUS, :] = dp_matrix[:, AMBIGUOUS] = -long_gaps[1]
    return AlignScoring(
        match, mismatch, *gaps, *long_gaps, ambiguous, transition, matrix, dp_matrix
    )


@njit
def costs_of(scoring: AlignScoring) -> Costs:
    """Return the numbers for inner loops."""
    return Costs(
        scoring.match,
        scoring.mismatch,
        scoring.gap_open,
        scoring.gap_extend,
        scoring.gap_open2,
        scoring.gap_extend2,
        -int(scoring.dp_matrix[AMBIGUOUS, AMBIGUOUS]),
        scoring.transition,
    )


@njit_inlined
def is_single_affine(scoring: AlignScoring | Costs) -> bool:
    """Return whether short and long gaps cost the same."""
    return scoring.gap_open == scoring.gap_open2 and scoring.gap_extend == scoring.gap_extend2


@njit_inlined
def has_transitions(scoring: AlignScoring | Costs) -> bool:
    """Return whether transitions cost something else than other mismatches."""
    return scoring.transition != scoring.mismatch


@njit
def gap_cost(length: Integer, scoring: AlignScoring | Costs) -> Integer:
    """Return the cost of a gap of `length` bases, 0 for none."""
    if length == 0:
        return 0
    short = scoring.gap_open + scoring.gap_extend * length
    long = scoring.gap_open2 + scoring.gap_extend2 * length
    return min(short, long)
