"""PL of the genotypes of sites, by GATK's table of sums of logarithms."""

from __future__ import annotations

import math
from functools import cache
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.bytes import Integer
from hapgpu.arrays.ragged import Ragged, offsets_of
from hapgpu.arrays.ragged_view import RaggedView, read_only, view_of
from hapgpu.calling.batches import SiteReads
from hapgpu.runtime.jit import njit, njit_inlined

_STEPS: Final = 10_000  # of the table, per unit of log10
_LARGEST: Final = 8.0  # difference that the table has
_LOG10_2: Final = math.log10(2.0)
_HIGHEST_PHRED: Final = 2**31 - 1


class _Reads(NamedTuple):
    """Columns of `SiteReads`, with the sample of each of its reads."""

    offsets: NDArray[np.int64]
    samples: NDArray[np.int32]
    likelihoods: RaggedView


@cache
def log_sum_table() -> NDArray[np.float64]:
    """Return GATK's table: log10(1 + 10^-d) for d = 0, 0.0001, ... 8; float64, read-only."""
    exponents = np.arange(int(_LARGEST * _STEPS) + 1) / -_STEPS
    return read_only(np.log10(1.0 + 10.0**exponents))


def genotype_counts(alleles: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the diploid genotypes of numbers of alleles, REF included."""
    counts: NDArray[np.int64] = alleles * (alleles + 1) // 2
    return counts


def phred_likelihoods(
    allele_counts: NDArray[np.int64],
    reads: SiteReads,
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
        int32: the sample of each row of `ReadLikelihoods.reads`.
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
    """Return log10(10^one + 10^other) by GATK's table, `log_sum_table`; both finite."""
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
