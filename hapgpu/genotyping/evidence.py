"""Likelihoods of the parts of reads put together by fragment, as GATK weighs reads."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hapgpu.batch import Ragged, offsets_of
from hapgpu.genotyping.evidence_batch import Evidence, ReadWindows
from hapgpu.jit import njit
from hapgpu.pairhmm.normalize import is_well_modelled, normalized
from hapgpu.rows import Rows, read_only, rows_of


def evidence_of(
    windows: ReadWindows,
    likelihoods: NDArray[np.float64],
    haplotype_counts: NDArray[np.int64],
) -> Evidence:
    """Cap likelihoods, leave out what no haplotype explains, and take mates together.

    The rules are GATK's (`hapgpu.pairhmm.normalize`), applied to the part of a read that a locus
    sees. Mates are read from one molecule: it made both, so their likelihoods multiply, but its
    origin is doubted only once, so their product is capped as that of a single read is.

    Parameters
    ----------
    windows
        w parts of reads.
    likelihoods
        float64, log10 P(part | haplotype), at most 0: part by part, a value for each haplotype of
        the locus; -inf for a probability of 0.
    haplotype_counts
        int64[l], at least 1: the haplotypes of each locus.

    Returns
    -------
    Evidence
        Of the fragments of which a part is left. Likelihoods are finite, none more than 4.5 below
        the best of its fragment.
    """
    counts = haplotype_counts[windows.loci]
    capped, best = normalized(likelihoods, counts)
    kept = is_well_modelled(best, windows.ends - windows.begins)
    parts_before = offsets_of(kept)[windows.fragment_offsets]
    left = np.flatnonzero(np.diff(parts_before))
    first = windows.fragment_offsets[left]
    part_offsets = np.append(parts_before[left], parts_before[-1:])
    cover = np.column_stack((windows.starts[kept], windows.stops[kept]))
    return Evidence(
        windows.loci[first],
        windows.samples[first],
        _products(Ragged.from_lengths(capped, counts).take(kept), part_offsets, counts[first]),
        Ragged(cover.reshape(-1), 2 * part_offsets),
    )


def _products(parts: Ragged, part_offsets: NDArray[np.int64], counts: NDArray[np.int64]) -> Ragged:
    """Multiply the likelihoods of the parts of each fragment, and cap the products."""
    offsets = offsets_of(counts)
    products = np.zeros(int(offsets[-1]), dtype=np.float64)
    _add_rows(rows_of(parts), read_only(part_offsets), read_only(offsets), products)
    return Ragged(normalized(products, counts)[0], offsets)


@njit
def _add_rows(
    rows: Rows,
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
