"""Records of the sites that are called, with their genotypes."""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.bytes import Integer
from hapgpu.arrays.called_variants import NO_COPY
from hapgpu.arrays.ragged import Ragged, lengths_of, offsets_of
from hapgpu.arrays.ragged_view import RaggedView, read_only, view_of
from hapgpu.calling.batches import CallSites, ReadsAtSites, RegionLikelihoods, VariantCalls
from hapgpu.calling.genotypes.genotype_likelihoods import phred_likelihoods
from hapgpu.calling.genotypes.genotype_tables import (
    SiteGenotypes,
    genotype_counts,
    genotype_number,
    site_genotypes,
)
from hapgpu.calling.genotypes.kept_alleles import KeptAlleles, is_symbolic, kept_alleles
from hapgpu.calling.options import VariantOptions
from hapgpu.calling.ploidies import DIPLOID
from hapgpu.runtime.jit import njit, njit_inlined

NO_CALL: Final = -1
"""Instead of an allele."""
_HIGHEST_QUALITY: Final = 99


class _Records(NamedTuple):
    """Sites of records, and the alleles that they keep."""

    sites: NDArray[np.int64]
    offsets: NDArray[np.int64]
    alleles: NDArray[np.int16]


class _Genotypes(NamedTuple):
    """Genotypes of `VariantCalls`, a row per record and sample."""

    alleles: NDArray[np.int16]
    qualities: NDArray[np.int16]
    phreds: RaggedView


def called_variants(
    sites: CallSites,
    reads: ReadsAtSites,
    likelihoods: RegionLikelihoods,
    samples: int,
    options: VariantOptions,
    ploidies: NDArray[np.int64],
) -> VariantCalls:
    """Call variants and genotypes, as GATK HaplotypeCaller does.

    A genotype has the lowest PL, without a prior; ties: the first in the order of VCF. GQ is the
    second lowest PL, at most 99. There is no call instead of homozygous REF with GQ 0. Alleles lose
    the suffix that they have in common, which they have only if others are not kept.

    Parameters
    ----------
    sites
        Sites, ascending.
    reads
        Reads at the sites, with their likelihoods given the alleles.
    likelihoods
        The reads.
    samples
        Number of samples, n.
    options
        Options of the genotypes.
    ploidies
        int64[t]: copies in each active region; it is computed with those of its whole active span.
    """
    allele_counts = lengths_of(sites.allele_offsets)
    genotypes = site_genotypes(allele_counts, ploidies[sites.regions], options.ploidies.highest)
    phreds = phred_likelihoods(genotypes, reads, likelihoods.reads.samples, samples)
    kept = kept_alleles(sites, phreds, samples, options, genotypes)
    return variants_of(sites, phreds, kept, samples, genotypes)


def variants_of(
    sites: CallSites, phreds: Ragged, kept: KeptAlleles, samples: int, genotypes: SiteGenotypes
) -> VariantCalls:
    """Return the records of the sites that are called.

    Parameters
    ----------
    sites
        s sites.
    phreds
        int32 rows, s * samples of them: PL of the genotypes.
    kept
        The alleles of the records.
    samples
        Number of samples.
    genotypes
        The genotypes of the sites.
    """
    called = np.flatnonzero(kept.is_called)
    rows = np.flatnonzero(kept.is_kept)
    before = np.concatenate(([0], np.cumsum(kept.is_kept))).astype(np.int64)
    counts = before[sites.allele_offsets[called + 1]] - before[sites.allele_offsets[called]]
    offsets = offsets_of(counts)
    site_alleles = rows - np.repeat(sites.allele_offsets[called], counts)
    records = _Records(
        read_only(called), read_only(offsets), read_only(site_alleles.astype(np.int16))
    )
    ploidies = genotypes.ploidies[called]
    found = _genotypes_of(records, phreds, samples, genotypes)
    return VariantCalls(
        called,
        sites.starts[called],
        offsets,
        _without_common_suffix(sites.alleles.take(rows), offsets),
        records.alleles,
        kept.qualities[called],
        found.alleles.reshape(called.size, samples, genotypes.highest),
        found.qualities.reshape(called.size, samples),
        Ragged(found.phreds.data, found.phreds.offsets),
        kept.counts[rows],
        ploidies,
    )


def _genotypes_of(
    records: _Records, phreds: Ragged, samples: int, genotypes: SiteGenotypes
) -> _Genotypes:
    ploidies = genotypes.ploidies[records.sites]
    counts = np.repeat(genotype_counts(lengths_of(records.offsets), ploidies), samples)
    offsets = offsets_of(counts)
    out = _Genotypes(
        np.full((counts.size, genotypes.highest), NO_COPY, dtype=np.int16),
        np.empty(counts.size, dtype=np.int16),
        RaggedView(np.empty(int(offsets[-1]), dtype=np.int32), read_only(offsets)),
    )
    _put_genotypes(records, view_of(phreds), samples, genotypes, out)
    return out


@njit
def _put_genotypes(
    records: _Records,
    phreds: RaggedView,
    samples: int,
    genotypes: SiteGenotypes,
    out: _Genotypes,
) -> None:
    for record in range(records.sites.size):
        site = records.sites[record]
        for sample in range(samples):
            row = record * samples + sample
            first = phreds.offsets[site * samples + sample]
            if genotypes.ploidies[site] == DIPLOID:
                _select(records, record, phreds.data, first, out.phreds, row)
                count = records.offsets[record + 1] - records.offsets[record]
                _call(count, row, out)
            else:
                _select_any(records, record, phreds.data, first, genotypes, out.phreds, row)
                _call_any(genotypes, site, row, out)


@njit
def _select_any(
    records: _Records,
    record: Integer,
    phreds: NDArray[np.int32],
    first: Integer,
    genotypes: SiteGenotypes,
    out: RaggedView,
    row: Integer,
) -> None:
    """Write PL as `_select`, of any ploidy."""
    start, end = out.offsets[row], out.offsets[row + 1]
    table_row = genotypes.tables.firsts[genotypes.ploidies[records.sites[record]]]
    lowest = phreds[first]  # homozygous REF
    for k in range(end - start):
        number = genotype_number(
            genotypes.tables, table_row + k, records.alleles, records.offsets[record]
        )
        out.data[start + k] = phreds[first + number]
        lowest = min(lowest, out.data[start + k])
    for k in range(start, end):
        out.data[k] -= lowest


@njit
def _call_any(genotypes: SiteGenotypes, site: Integer, row: Integer, out: _Genotypes) -> None:
    """Write the genotype with the lowest PL as `_call`, of any ploidy."""
    start, end = out.phreds.offsets[row], out.phreds.offsets[row + 1]
    best, second = start, _HIGHEST_QUALITY
    for at in range(start + 1, end):
        if out.phreds.data[at] < out.phreds.data[best]:
            second = min(second, out.phreds.data[best])
            best = at
        else:
            second = min(second, out.phreds.data[at])
    tables, ploidy = genotypes.tables, genotypes.ploidies[site]
    table_row = tables.firsts[ploidy] + best - start
    copy = 0
    for k in range(tables.offsets[table_row], tables.offsets[table_row + 1]):
        for _ in range(tables.copies[k]):
            is_called = best > start or second >= 1
            out.alleles[row, copy] = tables.alleles[k] if is_called else NO_CALL
            copy += 1
    out.qualities[row] = min(second, _HIGHEST_QUALITY)


@njit_inlined
def _select(
    records: _Records,
    record: Integer,
    phreds: NDArray[np.int32],
    first: Integer,
    out: RaggedView,
    row: Integer,
) -> None:
    """Write PL of the genotypes of the alleles of a record, less the lowest."""
    start = records.offsets[record]
    at = out.offsets[row]
    lowest = phreds[first]  # homozygous REF
    for high in range(records.offsets[record + 1] - start):
        for low in range(high + 1):
            one = np.int64(records.alleles[start + low])
            other = np.int64(records.alleles[start + high])
            phred = phreds[first + other * (other + 1) // 2 + one]
            lowest = min(lowest, phred)
            out.data[at] = phred
            at += 1
    for k in range(out.offsets[row], at):
        out.data[k] -= lowest


@njit_inlined
def _call(alleles: Integer, row: Integer, out: _Genotypes) -> None:
    """Write the genotype with the lowest PL, and its quality."""
    at = out.phreds.offsets[row]
    best, best_low, best_high, second = at, 0, 0, _HIGHEST_QUALITY
    for high in range(alleles):
        for low in range(high + 1):
            if out.phreds.data[at] < out.phreds.data[best]:
                second = out.phreds.data[best]
                best, best_low, best_high = at, low, high
            elif at != best:
                second = min(second, out.phreds.data[at])
            at += 1
    if best_high == 0 and second < 1:
        best_low, best_high = NO_CALL, NO_CALL
    out.alleles[row, 0], out.alleles[row, 1] = best_low, best_high
    out.qualities[row] = min(second, _HIGHEST_QUALITY)


def _without_common_suffix(alleles: Ragged, offsets: NDArray[np.int64]) -> Ragged:
    """Remove the suffix that all alleles of a record but symbolic ones have; each keeps a base."""
    common = np.zeros(offsets.size - 1, dtype=np.int64)
    is_kept = is_symbolic(alleles)
    _measure_suffixes(view_of(alleles), read_only(offsets), read_only(is_kept), common)
    removed = np.repeat(common, lengths_of(offsets))
    lengths = alleles.lengths - np.where(is_kept, 0, removed)
    return Ragged.gather(alleles.data, alleles.offsets[:-1], lengths)


@njit
def _measure_suffixes(
    alleles: RaggedView,
    offsets: NDArray[np.int64],
    is_symbolic: NDArray[np.bool_],
    out: NDArray[np.int64],
) -> None:
    for record in range(out.size):
        reference = offsets[record]
        length = alleles.offsets[reference + 1] - alleles.offsets[reference] - 1
        for row in range(reference + 1, offsets[record + 1]):
            if not is_symbolic[row]:
                length = _common_suffix(alleles, reference, row, length)
        out[record] = length


@njit_inlined
def _common_suffix(alleles: RaggedView, one: Integer, other: Integer, most: Integer) -> Integer:
    """Return the length of the common suffix, at most `most`, which leaves a base of each."""
    end, other_end = alleles.offsets[one + 1], alleles.offsets[other + 1]
    most = min(most, other_end - alleles.offsets[other] - 1)
    length = np.int64(0)
    while length < most and alleles.data[end - 1 - length] == alleles.data[other_end - 1 - length]:
        length += 1
    return length
