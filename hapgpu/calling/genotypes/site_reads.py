"""Reads at each site, and their likelihoods given its alleles."""

from __future__ import annotations

from dataclasses import replace
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.bytes import Integer
from hapgpu.arrays.ragged import Ragged, lengths_of, offsets_of
from hapgpu.arrays.ragged_view import RaggedView, columns_of, read_only, view_of
from hapgpu.calling.batches import (
    CallSites,
    ReadsAtSites,
    RegionLikelihoods,
    RegionReads,
    VariantCalls,
)
from hapgpu.pairhmm.normalize import WORST_DIFFERENCE
from hapgpu.runtime.jit import njit, njit_inlined

NON_REF: Final = b"<NON_REF>"

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


def site_reads(sites: CallSites, likelihoods: RegionLikelihoods) -> ReadsAtSites:
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
    columns = columns_of(_Sites, sites)
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
    return ReadsAtSites(offsets, reads, allele_likelihoods, other_offsets, others)


def _overlaps(sites: _Sites, reads: RegionReads) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the offsets of the reads of each site, int64[s + 1], and their rows."""
    columns = columns_of(_Reads, reads)
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


def sites_with_non_ref(sites: CallSites) -> CallSites:
    """Return sites with `<NON_REF>` as the last allele; no haplotype has it."""
    counts = lengths_of(sites.allele_offsets)
    extra = np.full(len(sites), len(sites.alleles))
    rows = np.insert(np.arange(len(sites.alleles)), sites.allele_offsets[1:], extra)
    alleles = Ragged.concatenate([sites.alleles, Ragged.from_sequences([NON_REF.decode()])])
    return replace(sites, allele_offsets=offsets_of(counts + 1), alleles=alleles.take(rows))


def reads_with_non_ref(sites: CallSites, reads: ReadsAtSites) -> ReadsAtSites:
    """Return reads with a likelihood of `<NON_REF>`, as GATK's AlleleLikelihoods.

    It is the median of the likelihoods of the other alleles that are below the best, or the best.

    Parameters
    ----------
    sites
        Sites with `<NON_REF>` as the last allele.
    reads
        Their reads, without it.
    """
    lengths = reads.likelihoods.lengths + 1
    wider = Ragged(np.empty(int(lengths.sum())), offsets_of(lengths))
    _widen(view_of(reads.likelihoods), wider.data, wider.offsets)
    is_considered = np.ones(len(sites.alleles), dtype=np.bool_)
    return _with_medians(sites, replace(reads, likelihoods=wider), is_considered)


def reads_with_kept_non_ref(
    sites: CallSites, reads: ReadsAtSites, calls: VariantCalls
) -> ReadsAtSites:
    """Return reads with a likelihood of `<NON_REF>` made from the alleles that records keep.

    The best likelihood is still that of all alleles.
    """
    is_considered = np.zeros(len(sites.alleles), dtype=np.bool_)
    firsts = np.repeat(sites.allele_offsets[calls.sites], lengths_of(calls.allele_offsets))
    is_considered[firsts + calls.site_alleles] = True
    if is_considered.all():
        return reads
    likelihoods = Ragged(reads.likelihoods.data.copy(), reads.likelihoods.offsets)
    return _with_medians(sites, replace(reads, likelihoods=likelihoods), is_considered)


def _with_medians(
    sites: CallSites, reads: ReadsAtSites, is_considered: NDArray[np.bool_]
) -> ReadsAtSites:
    """Write the likelihoods of `<NON_REF>`, the last of each row, and return the reads."""
    most = int(lengths_of(sites.allele_offsets).max(initial=1))
    _put_medians(
        read_only(reads.offsets),
        read_only(sites.allele_offsets),
        read_only(is_considered),
        np.empty(most),
        RaggedView(reads.likelihoods.data, read_only(reads.likelihoods.offsets)),
    )
    return reads


@njit
def _widen(rows: RaggedView, out: NDArray[np.float64], out_offsets: NDArray[np.int64]) -> None:
    """Copy rows, with room for one element more."""
    for row in range(rows.offsets.size - 1):
        start = rows.offsets[row]
        for k in range(rows.offsets[row + 1] - start):
            out[out_offsets[row] + k] = rows.data[start + k]


@njit
def _put_medians(
    read_offsets: NDArray[np.int64],
    allele_offsets: NDArray[np.int64],
    is_considered: NDArray[np.bool_],
    below: NDArray[np.float64],
    out: RaggedView,
) -> None:
    """Write the likelihood of <NON_REF>, the last allele of each site: a median below the best."""
    for site in range(read_offsets.size - 1):
        first = allele_offsets[site]
        proper = allele_offsets[site + 1] - first - 1
        for row in range(read_offsets[site], read_offsets[site + 1]):
            start = out.offsets[row]
            best = out.data[start]
            for k in range(proper):
                best = max(best, out.data[start + k])
            count = np.int64(0)
            for k in range(proper):
                if is_considered[first + k] and out.data[start + k] < best:
                    below[count] = out.data[start + k]
                    count += 1
            out.data[start + proper] = _median(below, count) if count else best


@njit_inlined
def _median(values: NDArray[np.float64], count: Integer) -> float:
    """Sort values, and return the median; of two in the middle, the mean."""
    for k in range(1, count):
        value, at = values[k], k
        while at > 0 and values[at - 1] > value:
            values[at] = values[at - 1]
            at -= 1
        values[at] = value
    low, high = values[(count - 1) // 2], values[count // 2]
    return float(low + 0.5 * (high - low))
