"""Likelihoods of the genotypes of sites, from those of their reads given the alleles."""

from __future__ import annotations

import math
from functools import cache
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.bytes import Integer
from hapgpu.arrays.ragged import Ragged, lengths_of, offsets_of
from hapgpu.arrays.ragged_view import RaggedView, read_only, view_of
from hapgpu.calling.batches import ReadsAtSites
from hapgpu.calling.genotypes.genotype_tables import GenotypeTables, SiteGenotypes
from hapgpu.calling.ploidies import DIPLOID
from hapgpu.runtime.jit import njit, njit_inlined

_STEPS: Final = 10_000  # of the table, per unit of log10
_LARGEST: Final = 8.0  # difference that the table has
_LOG10_2: Final = math.log10(2.0)
_HIGHEST_PHRED: Final = 2**31 - 1
_MANY_ALLELES: Final = 3
"""Genotypes of so many different alleles are summed up exactly, as in GATK."""


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


def phred_likelihoods(
    genotypes: SiteGenotypes, reads: ReadsAtSites, read_samples: NDArray[np.int32], samples: int
) -> Ragged:
    """Compute the likelihoods of genotypes.

    With the likelihoods a and b of a read given two alleles, log10, a genotype of i and j copies
    has the sum over reads of log10((i 10^a + j 10^b) / (i + j)), approximately: as in GATK,
    logarithms are added by a table of steps of 0.0001. Genotypes of three or more different alleles
    are added exactly.

    Parameters
    ----------
    genotypes
        The genotypes of s sites.
    reads
        Reads of the sites, with their likelihoods given the alleles.
    read_samples
        int32: the sample of each row of `RegionLikelihoods.reads`.
    samples
        Number of samples, n.

    Returns
    -------
    int32 rows, s * n of them: PL of each genotype in the order of VCF, 0 for the best.
    """
    counts = lengths_of(genotypes.offsets)
    offsets = offsets_of(np.repeat(counts, samples))
    phreds = Ragged(np.empty(int(offsets[-1]), dtype=np.int32), offsets)
    alleles = genotypes.alleles
    scratch = _Scratch(
        np.empty((samples, int(counts.max(initial=0)))), np.empty(int(alleles.max(initial=0)))
    )
    _put_phreds(
        _Reads(
            read_only(reads.offsets),
            read_only(read_samples[reads.reads]),
            view_of(reads.likelihoods),
        ),
        genotypes,
        samples,
        log_sum_table(),
        scratch,
        RaggedView(phreds.data, read_only(offsets)),
    )
    return phreds


class _Scratch(NamedTuple):
    """Scratch memory: a sum per sample and genotype, and a likelihood per allele."""

    sums: NDArray[np.float64]
    likelihoods: NDArray[np.float64]


@njit
def _put_phreds(
    reads: _Reads,
    genotypes: SiteGenotypes,
    samples: int,
    table: NDArray[np.float64],
    scratch: _Scratch,
    out: RaggedView,
) -> None:
    sums = scratch.sums
    for site in range(genotypes.alleles.size):
        alleles = genotypes.alleles[site]
        for sample in range(samples):
            for genotype in range(genotypes.offsets[site + 1] - genotypes.offsets[site]):
                sums[sample, genotype] = 0.0
        if genotypes.ploidies[site] == DIPLOID:
            for row in range(reads.offsets[site], reads.offsets[site + 1]):
                first = reads.likelihoods.offsets[row]
                _add_read(reads.likelihoods.data, first, alleles, table, sums, reads.samples[row])
        else:
            _add_reads_of_site(reads, genotypes, site, table, scratch)
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


@njit
def _add_reads_of_site(
    reads: _Reads,
    genotypes: SiteGenotypes,
    site: Integer,
    table: NDArray[np.float64],
    scratch: _Scratch,
) -> None:
    """Add the likelihoods of the reads of a site of any ploidy to those of its genotypes."""
    tables, alleles, ploidy = genotypes.tables, genotypes.alleles[site], genotypes.ploidies[site]
    first_row = tables.firsts[ploidy]
    count = genotypes.offsets[site + 1] - genotypes.offsets[site]
    for read in range(reads.offsets[site], reads.offsets[site + 1]):
        first, sample = reads.likelihoods.offsets[read], reads.samples[read]
        best = -np.inf
        for allele in range(alleles):
            best = max(best, reads.likelihoods.data[first + allele])
        for allele in range(alleles):
            scratch.likelihoods[allele] = 10.0 ** (reads.likelihoods.data[first + allele] - best)
        for genotype in range(count):
            row = first_row + genotype
            start, end = tables.offsets[row], tables.offsets[row + 1]
            one = float(reads.likelihoods.data[first + tables.alleles[start]])
            if end - start >= _MANY_ALLELES:
                total = best + math.log10(_sum_of_copies(tables, start, end, scratch.likelihoods))
            elif end - start == 1:
                scratch.sums[sample, genotype] += one
                continue
            else:
                other = float(reads.likelihoods.data[first + tables.alleles[start + 1]])
                one += tables.log10_copies[tables.copies[start]]
                other += tables.log10_copies[tables.copies[start + 1]]
                total = log10_sum(one, other, table)
            scratch.sums[sample, genotype] += total - tables.log10_copies[ploidy]


@njit_inlined
def _sum_of_copies(
    tables: GenotypeTables, start: Integer, end: Integer, likelihoods: NDArray[np.float64]
) -> float:
    """Return the sum of the likelihoods of the alleles of a genotype, times their copies."""
    total = 0.0
    for k in range(start, end):
        total += tables.copies[k] * likelihoods[tables.alleles[k]]
    return total


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
