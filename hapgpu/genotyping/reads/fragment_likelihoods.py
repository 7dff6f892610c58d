"""Likelihoods of fragments: capped likelihoods of their clipped reads, multiplied."""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.bytes import Integer
from hapgpu.arrays.ragged import Ragged, offsets_of
from hapgpu.arrays.ragged_view import columns_of, read_only
from hapgpu.genotyping.batches import ClippedReads, FragmentEvidence
from hapgpu.pairhmm.normalize import WORST_DIFFERENCE, explains
from hapgpu.runtime.jit import njit, njit_inlined

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
) -> FragmentEvidence:
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
    FragmentEvidence
        All fragments, with finite likelihoods.
    """
    first = clipped.fragment_offsets[:-1]
    loci = clipped.loci[first]
    offsets = offsets_of(haplotype_counts[loci])
    products = np.zeros(int(offsets[-1]), dtype=np.float64)
    cover = np.empty(2 * len(clipped), dtype=np.int64)
    is_explained = np.zeros(first.size, dtype=np.bool_)
    _multiply(
        columns_of(_Clipped, clipped),
        read_only(likelihoods),
        read_only(offsets),
        products,
        cover,
        is_explained,
    )
    return FragmentEvidence(
        loci,
        clipped.samples[first],
        Ragged(products, offsets),
        Ragged(cover, 2 * clipped.fragment_offsets),
        is_explained,
    )


class _Clipped(NamedTuple):
    """Columns of `ClippedReads`."""

    base_starts: NDArray[np.int64]
    base_ends: NDArray[np.int64]
    starts: NDArray[np.int64]
    ends: NDArray[np.int64]
    fragment_offsets: NDArray[np.int64]


@njit
def _multiply(
    clipped: _Clipped,
    likelihoods: NDArray[np.float64],
    offsets: NDArray[np.int64],
    products: NDArray[np.float64],
    cover: NDArray[np.int64],
    is_explained: NDArray[np.bool_],
) -> None:
    """Write the last three columns of `FragmentEvidence`."""
    at = np.int64(0)  # likelihoods of the next clipped read
    for fragment in range(is_explained.size):
        out, count = offsets[fragment], offsets[fragment + 1] - offsets[fragment]
        widest = 0.0
        for row in range(
            clipped.fragment_offsets[fragment], clipped.fragment_offsets[fragment + 1]
        ):
            cover[2 * row], cover[2 * row + 1] = clipped.starts[row], clipped.ends[row]
            best = _best(likelihoods, at, count)
            explained = explains(best, clipped.base_ends[row] - clipped.base_starts[row])
            is_explained[fragment] |= explained
            cap = _cap(best, explained)
            widest = min(widest, cap)
            lowest = best + cap if best > -np.inf else 0.0
            for k in range(count):
                products[out + k] += max(likelihoods[at + k], lowest)
            at += count
        lowest = _best(products, out, count) + widest
        for k in range(out, out + count):
            products[k] = max(products[k], lowest)


@njit_inlined
def _best(likelihoods: NDArray[np.float64], start: Integer, count: Integer) -> float:
    best = -np.inf
    for k in range(start, start + count):
        best = max(best, likelihoods[k])
    return float(best)


@njit_inlined
def _cap(best: float, is_explained: bool) -> float:  # noqa: FBT001  (Numba: not keyword-only)
    """Return the lowest likelihood of a clipped read relative to its best."""
    if is_explained:
        return WORST_DIFFERENCE
    return _WORST_DIFFERENCE_IF_FAR if best < _FAR else _WORST_DIFFERENCE_IF_POOR
