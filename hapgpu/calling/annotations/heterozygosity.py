"""Excess of heterozygous genotypes: the exact test of Wigginton et al. (2005)."""

from __future__ import annotations

import math
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.bytes import Integer
from hapgpu.arrays.ragged_view import RaggedView, read_only, view_of
from hapgpu.calling.batches import VariantCalls
from hapgpu.runtime.jit import njit

_NEGLIGIBLE: Final = 1e-16
"""Numbers of heterozygous samples that are so improbable, next to the mode, are left out."""
_MIN_P: Final = 1e-59
_MAX_PHRED: Final = 160.0
"""Phred-scaled p-value below `_MIN_P`, as in GATK."""


class _Likelihoods(NamedTuple):
    allele_offsets: NDArray[np.int64]
    phred: RaggedView


def excess_heterozygosity(calls: VariantCalls, samples: int) -> NDArray[np.float64]:
    """Return ExcessHet, float64[v]: the Phred-scaled p-value of at least as many heterozygotes.

    Each sample counts with its most likely genotype, by its likelihoods: homozygous REF,
    heterozygous with REF, or without REF. It is right-sided, without GATK's former mid-p
    correction: 0 for one sample. NaN if no sample has likelihoods.
    """
    values = np.empty(calls.qualities.size, dtype=np.float64)
    likelihoods = _Likelihoods(read_only(calls.allele_offsets), view_of(calls.phred_likelihoods))
    _test(likelihoods, samples, np.empty(2 * samples + 3, dtype=np.float64), values)
    return values


@njit
def _test(
    likelihoods: _Likelihoods,
    samples: int,
    scratch: NDArray[np.float64],
    values: NDArray[np.float64],
) -> None:
    offsets = likelihoods.phred.offsets
    counts = np.empty(3, dtype=np.int64)
    for record in range(values.size):
        alleles = likelihoods.allele_offsets[record + 1] - likelihoods.allele_offsets[record]
        counts[0], counts[1], counts[2] = 0, 0, 0
        for row in range(record * samples, (record + 1) * samples):
            if offsets[row] < offsets[row + 1]:
                _count_genotype(likelihoods.phred, row, alleles, counts)
        has_likelihoods = offsets[record * samples] < offsets[(record + 1) * samples]
        p = right_tail(counts[0], counts[1], counts[2], scratch)
        values[record] = _phred_of(p) if has_likelihoods else np.nan


@njit
def _phred_of(p: float) -> float:
    if p < _MIN_P:
        return _MAX_PHRED
    return -10.0 * math.log10(p) if p < 1.0 else 0.0


@njit
def _count_genotype(
    phred: RaggedView, row: Integer, alleles: Integer, counts: NDArray[np.int64]
) -> None:
    """Count a sample as homozygous REF, heterozygous with REF, or without REF.

    It counts if the probability of the genotype is at least 1/2: of the genotypes of REF and the
    ALT with the likeliest heterozygote. Among several ALTs, a genotype of two of them that is the
    likeliest counts as without REF. Of equal probabilities the genotype with more REF counts.
    """
    first = phred.offsets[row]
    alternate = np.int64(1)
    if alleles > 2:
        best = first
        for k in range(first, phred.offsets[row + 1]):
            best = k if phred.data[k] < phred.data[best] else best
        if not _has_reference(best - first, alleles):
            counts[2] += 1
            return
        for allele in range(2, alleles):
            if (
                phred.data[first + genotype_row(0, allele)]
                < phred.data[first + genotype_row(0, alternate)]
            ):
                alternate = np.int64(allele)
    homozygous = phred.data[first]
    heterozygous = phred.data[first + genotype_row(0, alternate)]
    other = phred.data[first + genotype_row(alternate, alternate)]
    least = min(homozygous, heterozygous, other)
    p0, p1 = 10.0 ** (-0.1 * (homozygous - least)), 10.0 ** (-0.1 * (heterozygous - least))
    p2 = 10.0 ** (-0.1 * (other - least))
    half = 0.5 * (p0 + p1 + p2)
    counts[0] += p0 >= half
    counts[1] += p1 >= half and p1 != p0
    counts[2] += p2 >= half and p2 != p1


@njit
def genotype_row(one: Integer, other: Integer) -> Integer:
    """Return the row of the genotype of two alleles, ascending, among all genotypes."""
    return other * (other + 1) // 2 + one


@njit
def _has_reference(genotype: Integer, alleles: Integer) -> bool:
    found = False
    for allele in range(alleles):
        found = found or genotype == genotype_row(0, allele)
    return found


@njit
def right_tail(
    homozygous: Integer, heterozygous: Integer, other: Integer, scratch: NDArray[np.float64]
) -> float:
    """Return the probability of at least as many heterozygotes, given the allele counts.

    `scratch`, float64, has more elements than there are copies of the rarer allele, by two.
    """
    rare = 2 * min(homozygous, other) + heterozygous
    samples = homozygous + heterozygous + other
    if rare <= 1:
        return 1.0
    for k in range(rare + 1):
        scratch[k] = 0.0
    mode = np.int64(math.floor(rare * (2.0 * samples - rare) / (2.0 * samples - 1.0)))
    mode += (mode ^ rare) & 1
    scratch[mode] = 1.0
    hets = mode
    while hets >= 2:
        rarer, commoner = (rare - hets) // 2, samples - (rare + hets) // 2
        p = scratch[hets] * hets * (hets - 1.0) / (4.0 * (rarer + 1.0) * (commoner + 1.0))
        if p < _NEGLIGIBLE:
            break
        hets -= 2
        scratch[hets] = p
    hets = mode
    while hets <= rare - 2:
        rarer, commoner = (rare - hets) // 2, samples - (rare + hets) // 2
        p = scratch[hets] * 4.0 * rarer * commoner / ((hets + 2.0) * (hets + 1.0))
        if p < _NEGLIGIBLE:
            break
        hets += 2
        scratch[hets] = p
    total, tail = 0.0, 0.0
    for k in range(rare + 1):
        total += scratch[k]
        if k >= heterozygous:
            tail += scratch[k]
    return float(min(tail / total, 1.0))
