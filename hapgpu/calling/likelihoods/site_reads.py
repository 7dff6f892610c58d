"""Reads at each site, and their likelihoods given its alleles."""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.bytes import Integer
from hapgpu.arrays.ragged import Ragged, lengths_of, offsets_of
from hapgpu.arrays.ragged_view import RaggedView, read_only, view_of
from hapgpu.calling.batches import CallSites, ReadLikelihoods, RegionReads, SiteReads
from hapgpu.pairhmm.normalize import WORST_DIFFERENCE
from hapgpu.runtime.jit import njit, njit_inlined

MARGIN: Final = 2
"""Bases around REF, in GATK `--informative-read-overlap-margin`: reads that overlap them count."""


class _Sites(NamedTuple):
    """Columns of `CallSites`."""

    regions: NDArray[np.int64]
    starts: NDArray[np.int64]
    ends: NDArray[np.int64]


class _Reads(NamedTuple):
    """Columns of `RegionReads`."""

    offsets: NDArray[np.int64]
    starts: NDArray[np.int64]
    ends: NDArray[np.int64]


def site_reads(sites: CallSites, likelihoods: ReadLikelihoods) -> SiteReads:
    """Find the reads at each site, and their likelihoods given its alleles.

    A read is at a site if its realignment overlaps REF or the `MARGIN` bases on both sides; a read
    that is not genotyped, by its own alignment. The likelihood of an allele is the highest of its
    haplotypes.

    Parameters
    ----------
    sites
        s sites.
    likelihoods
        Reads of the active regions of the sites.
    """
    columns = _Sites(read_only(sites.regions), read_only(sites.starts), read_only(sites.ends))
    offsets, reads = _overlaps(columns, likelihoods.reads)
    other_offsets, others = _overlaps(columns, likelihoods.others)
    alleles = np.repeat(lengths_of(sites.allele_offsets), lengths_of(offsets))
    allele_likelihoods = Ragged(np.empty(int(alleles.sum())), offsets_of(alleles))
    _put_maxima(
        read_only(offsets),
        read_only(reads),
        view_of(likelihoods.likelihoods),
        view_of(sites.haplotype_alleles),
        RaggedView(allele_likelihoods.data, read_only(allele_likelihoods.offsets)),
    )
    return SiteReads(offsets, reads, allele_likelihoods, other_offsets, others)


def _overlaps(sites: _Sites, reads: RegionReads) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the offsets of the reads of each site, int64[s + 1], and their rows."""
    columns = _Reads(read_only(reads.offsets), read_only(reads.starts), read_only(reads.ends))
    counts = np.empty(sites.starts.size, dtype=np.int64)
    _count_overlaps(sites, columns, counts)
    offsets = offsets_of(counts)
    rows = np.empty(int(offsets[-1]), dtype=np.int64)
    _put_overlaps(sites, columns, rows)
    return offsets, rows


@njit_inlined
def _is_at(sites: _Sites, site: Integer, reads: _Reads, read: Integer) -> bool:
    is_before = reads.ends[read] <= sites.starts[site] - MARGIN
    return bool(not is_before and reads.starts[read] < sites.ends[site] + MARGIN)


@njit
def _count_overlaps(sites: _Sites, reads: _Reads, counts: NDArray[np.int64]) -> None:
    for site in range(counts.size):
        region = sites.regions[site]
        counts[site] = 0
        for read in range(reads.offsets[region], reads.offsets[region + 1]):
            counts[site] += _is_at(sites, site, reads, read)


@njit
def _put_overlaps(sites: _Sites, reads: _Reads, out: NDArray[np.int64]) -> None:
    at = 0
    for site in range(sites.regions.size):
        region = sites.regions[site]
        for read in range(reads.offsets[region], reads.offsets[region + 1]):
            if _is_at(sites, site, reads, read):
                out[at] = read
                at += 1


@njit
def _put_maxima(
    offsets: NDArray[np.int64],
    reads: NDArray[np.int64],
    likelihoods: RaggedView,
    haplotype_alleles: RaggedView,
    out: RaggedView,
) -> None:
    """Write the highest likelihood of each allele, for each read of each site."""
    for site in range(offsets.size - 1):
        first = haplotype_alleles.offsets[site]
        for row in range(offsets[site], offsets[site + 1]):
            start, end = likelihoods.offsets[reads[row]], likelihoods.offsets[reads[row] + 1]
            best = likelihoods.data[start]
            for k in range(start, end):
                best = max(best, likelihoods.data[k])
            for k in range(out.offsets[row], out.offsets[row + 1]):
                out.data[k] = best + WORST_DIFFERENCE  # no likelihood of the read is lower
            for k in range(end - start):
                allele = haplotype_alleles.data[first + k]
                if allele >= 0:
                    at = out.offsets[row] + allele
                    out.data[at] = max(out.data[at], likelihoods.data[start + k])
