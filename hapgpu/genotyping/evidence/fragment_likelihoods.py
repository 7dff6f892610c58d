"""Likelihoods of fragments: capped likelihoods of their clipped reads, multiplied."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.ragged import Ragged, offsets_of
from hapgpu.arrays.ragged_view import RaggedView, read_only, view_of
from hapgpu.genotyping.batches import ClippedReads, Evidence
from hapgpu.pairhmm.normalize import WORST_DIFFERENCE, best_of, is_well_modelled
from hapgpu.runtime.jit import njit

_WORST_DIFFERENCE_IF_POOR: Final = -1.5
"""Cap for a clipped read that no haplotype explains: a fifth of such fragments among others make
a genotype 0/1; with the usual cap, a fifteenth."""
_WORST_DIFFERENCE_IF_FAR: Final = -1.0
"""Cap below `_FAR`: nearly a third of such fragments make a genotype 0/1."""
_FAR: Final = -24.0
"""Below this, log10, a clipped read has more than about four good bases that no haplotype has."""


def evidence_of(
    clipped: ClippedReads,
    likelihoods: NDArray[np.float64],
    haplotype_counts: NDArray[np.int64],
) -> Evidence:
    """Cap the likelihoods of clipped reads, and multiply those of a fragment.

    Likelihoods are raised to at most 4.5 below the best of the clipped read, as in GATK; to 1.5
    below if no haplotype explains the read (`is_well_modelled`; GATK excludes such reads), and to 1
    below if its best likelihood is less than -24, too. Bases of such a read that no haplotype has
    cost the same with each haplotype, so that the comparison of haplotypes stays the same.

    Mates come from one molecule. Their likelihoods multiply, but the product is capped again, with
    the widest cap of the clipped reads: the molecule has one origin.

    Parameters
    ----------
    clipped
        w clipped reads.
    likelihoods
        float64, log10 P(clipped read | haplotype), at most 0: read by read, a value for each
        haplotype of the locus; -inf for a probability of 0. A read that is impossible with all
        haplotypes counts 0 for each.
    haplotype_counts
        int64[l], at least 1: the haplotypes of each locus.

    Returns
    -------
    Evidence
        All fragments, with finite likelihoods.
    """
    counts = haplotype_counts[clipped.loci]
    best = best_of(likelihoods, counts)
    is_explained = is_well_modelled(best, clipped.base_ends - clipped.base_starts)
    caps = _caps(best, is_explained)
    capped = _capped(likelihoods, counts, np.where(np.isfinite(best), best + caps, 0.0))
    first = clipped.fragment_offsets[:-1]
    return Evidence(
        clipped.loci[first],
        clipped.samples[first],
        _products(Ragged.from_lengths(capped, counts), caps, clipped.fragment_offsets),
        Ragged(
            np.column_stack((clipped.starts, clipped.ends)).reshape(-1),
            2 * clipped.fragment_offsets,
        ),
        np.logical_or.reduceat(is_explained, first) if first.size else is_explained,
    )


def _caps(best: NDArray[np.float64], is_explained: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Return the lowest likelihood of each clipped read relative to its best, float64[w]."""
    poor = np.where(best < _FAR, _WORST_DIFFERENCE_IF_FAR, _WORST_DIFFERENCE_IF_POOR)
    return np.where(is_explained, WORST_DIFFERENCE, poor)


def _capped(
    likelihoods: NDArray[np.float64], counts: NDArray[np.int64], lowest: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Raise the likelihoods of each row to at least its lowest value."""
    return np.maximum(likelihoods, np.repeat(lowest, counts))


def _products(
    capped: Ragged, caps: NDArray[np.float64], fragment_offsets: NDArray[np.int64]
) -> Ragged:
    """Multiply the likelihoods of the clipped reads of each fragment, and cap the products."""
    first = fragment_offsets[:-1]
    counts = capped.lengths[first]
    offsets = offsets_of(counts)
    products = np.zeros(int(offsets[-1]), dtype=np.float64)
    _add_rows(view_of(capped), read_only(fragment_offsets), read_only(offsets), products)
    if not first.size:
        return Ragged(products, offsets)
    lowest = best_of(products, counts) + np.minimum.reduceat(caps, first)
    return Ragged(_capped(products, counts, lowest), offsets)


@njit
def _add_rows(
    rows: RaggedView,
    groups: NDArray[np.int64],
    sum_offsets: NDArray[np.int64],
    sums: NDArray[np.float64],
) -> None:
    """Add the rows of each group, which are equally long, element by element."""
    data, offsets = rows.data, rows.offsets
    for group in range(groups.size - 1):
        out = sum_offsets[group]
        for row in range(groups[group], groups[group + 1]):
            start = offsets[row]
            for k in range(offsets[row + 1] - start):
                sums[out + k] += data[start + k]
