"""The allele `<NON_REF>`: any allele that a site lacks, with a likelihood per read."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.bytes import Integer
from hapgpu.arrays.ragged import Ragged, lengths_of, offsets_of
from hapgpu.arrays.ragged_view import RaggedView, read_only, view_of
from hapgpu.calling.batches import CallSites, SiteReads, VariantCalls
from hapgpu.runtime.jit import njit, njit_inlined

NON_REF: Final = b"<NON_REF>"


def sites_with_non_ref(sites: CallSites) -> CallSites:
    """Return sites with `<NON_REF>` as the last allele; no haplotype has it."""
    counts = lengths_of(sites.allele_offsets)
    extra = np.full(len(sites), len(sites.alleles))
    rows = np.insert(np.arange(len(sites.alleles)), sites.allele_offsets[1:], extra)
    alleles = Ragged.concatenate([sites.alleles, Ragged.from_sequences([NON_REF.decode()])])
    return replace(sites, allele_offsets=offsets_of(counts + 1), alleles=alleles.take(rows))


def reads_with_non_ref(sites: CallSites, reads: SiteReads) -> SiteReads:
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


def reads_with_kept_non_ref(sites: CallSites, reads: SiteReads, calls: VariantCalls) -> SiteReads:
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
    sites: CallSites, reads: SiteReads, is_considered: NDArray[np.bool_]
) -> SiteReads:
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
