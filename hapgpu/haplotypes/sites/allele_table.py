"""Allele of each haplotype at each site of its locus."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.ragged import Ragged, offsets_of
from hapgpu.arrays.ragged_view import RaggedView, read_only, view_of
from hapgpu.errors import InputError
from hapgpu.haplotypes.batches import AlleleKind, Haplotypes, Loci, Sites
from hapgpu.haplotypes.sites.trimmed_alleles import TrimmedAlleles, trimmed_alleles_of
from hapgpu.runtime.jit import njit

_MAX_ALLELES = 2**15


def allele_table(sites: Sites, loci: Loci, haplotypes: Haplotypes) -> Ragged:
    """Return the alleles of haplotypes by their numbers in the VCF: 0 for REF, 1 for the first ALT.

    A haplotype that carries no allele of a site, but a deletion of another site that removes the
    position of the site (the first base of its REF), carries the `*` allele of the site, if it has
    one. A deletion removes the bases of its trimmed REF after the first len(trimmed ALT): never the
    anchor base, which is trimmed.

    Returns
    -------
    Ragged
        int16, a row per haplotype: a value for each site of its locus.

    Raises
    ------
    InputError
        A site has more alleles than int16 holds.
    """
    counts = np.diff(sites.allele_offsets)
    if counts.max(initial=0) > _MAX_ALLELES:
        record = sites.records[int(counts.argmax())]
        message = (
            f"{record.contig}:{record.start + 1}: {counts.max()} alleles, more than "
            f"{_MAX_ALLELES}; remove some"
        )
        raise InputError(message)
    lengths = np.repeat(np.diff(loci.site_offsets), np.diff(haplotypes.offsets))
    table = Ragged(np.zeros(int(lengths.sum()), dtype=np.int16), offsets_of(lengths))
    _fill(
        table.data,
        table.offsets,
        read_only(loci.site_offsets),
        read_only(haplotypes.offsets),
        view_of(haplotypes.carried),
        read_only(sites.starts),
        read_only(sites.allele_offsets),
        sites.allele_sites,
        _spanned_numbers(sites),
        trimmed_alleles_of(sites),
    )
    return table


def _spanned_numbers(sites: Sites) -> NDArray[np.int16]:
    """Return int16[s]: the number of the first `*` allele of each site, 0 for none."""
    numbers = np.zeros(len(sites), dtype=np.int16)
    rows = np.flatnonzero(sites.kinds == AlleleKind.SPANNED)[::-1]
    sites_of_rows = sites.allele_sites[rows]
    numbers[sites_of_rows] = rows - sites.allele_offsets[sites_of_rows]
    return numbers


@njit
def _fill(
    table: NDArray[np.int16],
    offsets: NDArray[np.int64],
    site_offsets: NDArray[np.int64],
    haplotype_offsets: NDArray[np.int64],
    carried: RaggedView,
    site_starts: NDArray[np.int64],
    allele_offsets: NDArray[np.int64],
    allele_sites: NDArray[np.int64],
    spanned: NDArray[np.int16],
    trimmed: TrimmedAlleles,
) -> None:
    """Write `*` for sites removed by deletions, then the alleles of the sites themselves."""
    for locus in range(site_offsets.size - 1):
        first, last = site_offsets[locus], site_offsets[locus + 1]
        for haplotype in range(haplotype_offsets[locus], haplotype_offsets[locus + 1]):
            row_start = offsets[haplotype] - first
            carried_rows = range(carried.offsets[haplotype], carried.offsets[haplotype + 1])
            for k in carried_rows:
                row = carried.data[k]
                start = trimmed.starts[row] + trimmed.text_ends[row] - trimmed.text_starts[row]
                end = trimmed.ends[row]
                for site in range(first, last if start < end else first):
                    if start <= site_starts[site] < end:
                        table[row_start + site] = spanned[site]
            for k in carried_rows:
                row = carried.data[k]
                site = allele_sites[row]
                table[row_start + site] = row - allele_offsets[site]
