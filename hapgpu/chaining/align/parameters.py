"""Parameters of base alignment, derived from the options and the k-mers."""

from __future__ import annotations

from typing import NamedTuple

from hapgpu.chaining.align.scoring import AlignScoring, align_scoring
from hapgpu.chaining.options import AlignOptions, MapOptions, SketchOptions


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


def align_parameters(options: MapOptions, sketch: SketchOptions) -> AlignParameters:
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
