"""Likelihoods of the parts of reads put together by fragment, and how far they are trusted."""

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
"""Of a part that no haplotype explains: among others, it takes a fifth of such fragments to make
a genotype 0/1, not a fifteenth."""
_WORST_DIFFERENCE_IF_FAR: Final = -1.0
"""Likewise, it takes nearly a third."""
_FAR: Final = -24.0
"""Below this, log10, a part has more than about four good bases that no haplotype has."""


def evidence_of(
    windows: ClippedReads,
    likelihoods: NDArray[np.float64],
    haplotype_counts: NDArray[np.int64],
) -> Evidence:
    """Limit likelihoods by how well parts of reads are explained, and take mates together.

    The best haplotype of a part is better than any other by at most 4.5, as in GATK; by at most
    1.5 where no haplotype explains the part (`is_well_modelled`; GATK drops such reads), and by at
    most 1 where its best likelihood is below -24, too. What such a part has beyond all haplotypes
    costs it the same with each of them, so that they are compared as before.

    Mates are read from one molecule: it made both, so their likelihoods multiply, but its origin
    is doubted only once, so the product is limited as the part is that may differ most.

    Parameters
    ----------
    windows
        w parts of reads.
    likelihoods
        float64, log10 P(part | haplotype), at most 0: part by part, a value for each haplotype of
        the locus; -inf for a probability of 0. A part that is impossible with all haplotypes
        tells nothing.
    haplotype_counts
        int64[l], at least 1: the haplotypes of each locus.

    Returns
    -------
    Evidence
        Of all fragments. Likelihoods are finite.
    """
    counts = haplotype_counts[windows.loci]
    best = best_of(likelihoods, counts)
    is_explained = is_well_modelled(best, windows.ends - windows.begins)
    limits = _limits(best, is_explained)
    parts = _limited(likelihoods, counts, np.where(np.isfinite(best), best + limits, 0.0))
    first = windows.fragment_offsets[:-1]
    return Evidence(
        windows.loci[first],
        windows.samples[first],
        _products(Ragged.from_lengths(parts, counts), limits, windows.fragment_offsets),
        Ragged(
            np.column_stack((windows.starts, windows.stops)).reshape(-1),
            2 * windows.fragment_offsets,
        ),
        np.logical_or.reduceat(is_explained, first) if first.size else is_explained,
    )


def _limits(best: NDArray[np.float64], is_explained: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Return how far below the best likelihood of each part others may be, float64[w]."""
    poor = np.where(best < _FAR, _WORST_DIFFERENCE_IF_FAR, _WORST_DIFFERENCE_IF_POOR)
    return np.where(is_explained, WORST_DIFFERENCE, poor)


def _limited(
    likelihoods: NDArray[np.float64], counts: NDArray[np.int64], least: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Raise likelihoods to the least that each row of them may have."""
    return np.maximum(likelihoods, np.repeat(least, counts))


def _products(
    parts: Ragged, limits: NDArray[np.float64], part_offsets: NDArray[np.int64]
) -> Ragged:
    """Multiply the likelihoods of the parts of each fragment, and limit the products."""
    first = part_offsets[:-1]
    counts = parts.lengths[first]
    offsets = offsets_of(counts)
    products = np.zeros(int(offsets[-1]), dtype=np.float64)
    _add_rows(view_of(parts), read_only(part_offsets), read_only(offsets), products)
    if not first.size:
        return Ragged(products, offsets)
    least = best_of(products, counts) + np.minimum.reduceat(limits, first)
    return Ragged(_limited(products, counts, least), offsets)


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
            begin = offsets[row]
            for k in range(offsets[row + 1] - begin):
                sums[out + k] += data[begin + k]
