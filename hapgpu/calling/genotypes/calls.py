"""Records of the sites that are called, with their genotypes."""

from __future__ import annotations

import math
from functools import cache
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.bytes import Integer
from hapgpu.arrays.ragged import Ragged, lengths_of, offsets_of
from hapgpu.arrays.ragged_view import RaggedView, read_only, view_of
from hapgpu.calling.batches import CallSites, ReadsAtSites, RegionLikelihoods, VariantCalls
from hapgpu.calling.genotypes.kept_alleles import KeptAlleles, is_symbolic, kept_alleles
from hapgpu.calling.options import VariantOptions
from hapgpu.runtime.jit import njit, njit_inlined

_STEPS: Final = 10_000  # of the table, per unit of log10
_LARGEST: Final = 8.0  # difference that the table has
_LOG10_2: Final = math.log10(2.0)
_HIGHEST_PHRED: Final = 2**31 - 1

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
    """
    allele_counts = lengths_of(sites.allele_offsets)
    phreds = phred_likelihoods(allele_counts, reads, likelihoods.reads.samples, samples)
    return variants_of(sites, phreds, kept_alleles(sites, phreds, samples, options), samples)


def variants_of(sites: CallSites, phreds: Ragged, kept: KeptAlleles, samples: int) -> VariantCalls:
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
    genotypes = _genotypes_of(records, phreds, samples)
    return VariantCalls(
        called,
        sites.starts[called],
        offsets,
        _without_common_suffix(sites.alleles.take(rows), offsets),
        records.alleles,
        kept.qualities[called],
        genotypes.alleles.reshape(called.size, samples, 2),
        genotypes.qualities.reshape(called.size, samples),
        Ragged(genotypes.phreds.data, genotypes.phreds.offsets),
        kept.counts[rows],
        np.full(called.size, 2),
    )


def _genotypes_of(records: _Records, phreds: Ragged, samples: int) -> _Genotypes:
    counts = np.repeat(genotype_counts(lengths_of(records.offsets)), samples)
    offsets = offsets_of(counts)
    out = _Genotypes(
        np.empty((counts.size, 2), dtype=np.int16),
        np.empty(counts.size, dtype=np.int16),
        RaggedView(np.empty(int(offsets[-1]), dtype=np.int32), read_only(offsets)),
    )
    _put_genotypes(records, view_of(phreds), samples, out)
    return out


@njit
def _put_genotypes(records: _Records, phreds: RaggedView, samples: int, out: _Genotypes) -> None:
    for record in range(records.sites.size):
        for sample in range(samples):
            row = record * samples + sample
            first = phreds.offsets[records.sites[record] * samples + sample]
            _select(records, record, phreds.data, first, out.phreds, row)
            count = records.offsets[record + 1] - records.offsets[record]
            _call(count, row, out)


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


class _Reads(NamedTuple):
    """Columns of `ReadsAtSites`, with the sample of each of its reads."""

    offsets: NDArray[np.int64]
    samples: NDArray[np.int32]
    likelihoods: RaggedView


@cache
def log_sum_table() -> NDArray[np.float64]:
    """Return GATK's table: log10(1 + 10^-d) for d = 0, 0.0001, ... 8; float64, read-only."""
    exponents = np.arange(int(_LARGEST * _STEPS) + 1) / -_STEPS
    return read_only(np.log10(1.0 + 10.0**exponents))


def genotype_counts(alleles: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return int64[s]: the numbers of diploid genotypes of `alleles`, int64[s], REF included."""
    counts: NDArray[np.int64] = alleles * (alleles + 1) // 2
    return counts


def phred_likelihoods(
    allele_counts: NDArray[np.int64],
    reads: ReadsAtSites,
    read_samples: NDArray[np.int32],
    samples: int,
) -> Ragged:
    """Compute the likelihoods of diploid genotypes.

    With the likelihoods a and b of a read given two alleles, log10, a genotype has the sum of a
    over reads, or the sum of log10((10^a + 10^b) / 2), approximately: as in GATK, logarithms are
    added by a table of steps of 0.0001.

    Parameters
    ----------
    allele_counts
        int64[s]: alleles of each site, REF included.
    reads
        Reads of the s sites, with their likelihoods given the alleles.
    read_samples
        int32: the sample of each row of `RegionLikelihoods.reads`.
    samples
        Number of samples, n.

    Returns
    -------
    int32 rows, s * n of them: PL of each genotype in the order of VCF, 0 for the best.
    """
    counts = genotype_counts(allele_counts)
    offsets = offsets_of(np.repeat(counts, samples))
    phreds = Ragged(np.empty(int(offsets[-1]), dtype=np.int32), offsets)
    _put_phreds(
        _Reads(
            read_only(reads.offsets),
            read_only(read_samples[reads.reads]),
            view_of(reads.likelihoods),
        ),
        read_only(allele_counts),
        samples,
        log_sum_table(),
        np.empty((samples, int(counts.max(initial=0)))),
        RaggedView(phreds.data, read_only(offsets)),
    )
    return phreds


@njit
def _put_phreds(
    reads: _Reads,
    allele_counts: NDArray[np.int64],
    samples: int,
    table: NDArray[np.float64],
    sums: NDArray[np.float64],
    out: RaggedView,
) -> None:
    for site in range(allele_counts.size):
        alleles = allele_counts[site]
        for sample in range(samples):
            for genotype in range(alleles * (alleles + 1) // 2):
                sums[sample, genotype] = 0.0
        for row in range(reads.offsets[site], reads.offsets[site + 1]):
            first = reads.likelihoods.offsets[row]
            _add_read(reads.likelihoods.data, first, alleles, table, sums, reads.samples[row])
        for sample in range(samples):
            row = site * samples + sample
            _round_phreds(sums, sample, out.data, out.offsets[row], out.offsets[row + 1])


@njit_inlined
def _add_read(
    likelihoods: NDArray[np.float64],
    first: Integer,
    alleles: Integer,
    table: NDArray[np.float64],
    sums: NDArray[np.float64],
    sample: Integer,
) -> None:
    """Add the likelihood of a read to that of each genotype."""
    genotype = 0
    for high in range(alleles):
        for low in range(high):
            one, other = float(likelihoods[first + low]), float(likelihoods[first + high])
            total = log10_sum(one, other, table)
            sums[sample, genotype] += total - _LOG10_2
            genotype += 1
        sums[sample, genotype] += likelihoods[first + high]
        genotype += 1


@njit_inlined
def log10_sum(one: float, other: float, table: NDArray[np.float64]) -> float:
    """Return log10(10^one + 10^other), both finite, by `table`, float64, of `log_sum_table`."""
    difference = abs(one - other)
    if difference >= _LARGEST:
        return max(one, other)
    return max(one, other) + float(table[np.int64(difference * _STEPS + 0.5)])


@njit_inlined
def _round_phreds(
    sums: NDArray[np.float64], sample: Integer, out: NDArray[np.int32], start: Integer, end: Integer
) -> None:
    best = -np.inf
    for k in range(end - start):
        best = max(best, sums[sample, k])
    for k in range(end - start):
        phred = math.floor(-10.0 * (sums[sample, k] - best) + 0.5)
        out[start + k] = min(phred, _HIGHEST_PHRED)
