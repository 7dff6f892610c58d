"""Alleles that reads support, and the depths made of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.bytes import Integer
from hapgpu.arrays.ragged import Ragged, lengths_of
from hapgpu.arrays.ragged_view import RaggedView, read_only, view_of
from hapgpu.calling.annotations.strand import ALTERNATE, NEITHER, REFERENCE
from hapgpu.calling.batches import SiteReads, VariantCalls
from hapgpu.runtime.jit import njit, njit_inlined

_INFORMATIVE: Final = 0.2
"""A read supports its best allele if it is more than this above the next, in log10."""


@dataclass(frozen=True, slots=True)
class Support:
    """Alleles that reads support.

    Attributes
    ----------
    allele_depths
        int32 rows, v * n of them: the reads of each sample that support each allele of the record,
        best among the alleles of the record.
    sides
        int8[x]: `REFERENCE` or `ALTERNATE` if the read supports REF or an ALT of the record, best
        among all alleles of the site; else `NEITHER`.
    """

    allele_depths: Ragged
    sides: NDArray[np.int8]


class _Records(NamedTuple):
    """Records as in `VariantCalls`, and their reads as in `SiteReads`."""

    sites: NDArray[np.int64]
    allele_offsets: NDArray[np.int64]
    site_alleles: NDArray[np.int16]
    read_offsets: NDArray[np.int64]


def support_of(
    calls: VariantCalls, reads: SiteReads, samples_of: NDArray[np.int32], samples: int
) -> Support:
    """Find the alleles that reads support.

    Parameters
    ----------
    calls
        v records.
    reads
        x reads at all sites.
    samples_of
        int32[x]: the sample of each.
    samples
        Samples in all, n.

    Returns
    -------
    Support of v records, v * n samples and x reads; reads at sites without a record have none.
    """
    lengths = np.repeat(lengths_of(calls.allele_offsets), samples)
    depths = Ragged.from_lengths(np.zeros(int(lengths.sum()), dtype=np.int32), lengths)
    sides = np.full(reads.reads.size, NEITHER, dtype=np.int8)
    records = _Records(
        read_only(calls.sites),
        read_only(calls.allele_offsets),
        read_only(calls.site_alleles),
        read_only(reads.offsets),
    )
    likelihoods = view_of(reads.likelihoods)
    _count(records, likelihoods, read_only(samples_of), samples, depths.data, sides)
    return Support(depths, sides)


@njit
def _count(
    records: _Records,
    likelihoods: RaggedView,
    samples_of: NDArray[np.int32],
    samples: int,
    depths: NDArray[np.int32],
    sides: NDArray[np.int8],
) -> None:
    for record in range(records.sites.size):
        site = records.sites[record]
        first, end = records.allele_offsets[record], records.allele_offsets[record + 1]
        for x in range(records.read_offsets[site], records.read_offsets[site + 1]):
            allele = _best_of_record(likelihoods, x, records.site_alleles, first, end)
            if allele >= 0:
                depths[first * samples + samples_of[x] * (end - first) + allele] += 1
            best = _best_of_site(likelihoods, x)
            sides[x] = _side(best, records.site_alleles, first, end)


@njit_inlined
def _best_of_record(
    likelihoods: RaggedView,
    x: Integer,
    site_alleles: NDArray[np.int16],
    first: Integer,
    end: Integer,
) -> Integer:
    """Return the allele of the record that a read supports; -1 if none."""
    start = likelihoods.offsets[x]
    best: Integer = np.int64(-1)
    highest, second = -np.inf, -np.inf
    for k in range(first, end):
        value = likelihoods.data[start + site_alleles[k]]
        if value > highest:
            best, highest, second = k - first, value, highest
        elif value > second:
            second = value
    return best if highest - second > _INFORMATIVE else np.int64(-1)


@njit_inlined
def _best_of_site(likelihoods: RaggedView, x: Integer) -> Integer:
    """Return the allele of the site that a read supports; -1 if none."""
    start, end = likelihoods.offsets[x], likelihoods.offsets[x + 1]
    best: Integer = np.int64(-1)
    highest, second = -np.inf, -np.inf
    for k in range(start, end):
        value = likelihoods.data[k]
        if value > highest:
            best, highest, second = k - start, value, highest
        elif value > second:
            second = value
    return best if highest - second > _INFORMATIVE else np.int64(-1)


@njit_inlined
def _side(allele: Integer, site_alleles: NDArray[np.int16], first: Integer, end: Integer) -> int:
    """Return the side of a read that supports an allele of the site; -1: none."""
    if allele == 0:
        return REFERENCE
    for k in range(first, end):
        if site_alleles[k] == allele:
            return ALTERNATE
    return NEITHER
