"""Excess heterozygosity and inbreeding of samples, by their genotype likelihoods."""

from __future__ import annotations

import math
from typing import Final

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.bytes import Integer
from hapgpu.arrays.ragged_view import RaggedView, read_only, view_of
from hapgpu.calling.annotations.fields import MIN_INBREEDING_SAMPLES
from hapgpu.calling.batches import VariantCalls
from hapgpu.calling.ploidies import DIPLOID
from hapgpu.runtime.jit import njit

_NEGLIGIBLE: Final = 1e-16
"""Numbers of heterozygous samples that are so improbable, next to the mode, are left out."""
_MIN_P: Final = 1e-59
_MAX_PHRED: Final = 160.0
"""Phred-scaled p-value below `_MIN_P`, as in GATK."""


def excess_heterozygosity(calls: VariantCalls, samples: int) -> NDArray[np.float64]:
    """Return ExcessHet, float64[v]: the Phred-scaled p-value of at least as many heterozygotes.

    Each sample counts with its most likely genotype, by its likelihoods: homozygous REF,
    heterozygous with REF, or without REF. It is right-sided, without GATK's former mid-p
    correction: 0 for one sample. NaN if no sample has likelihoods, and for another ploidy than 2.
    """
    values = np.empty(calls.qualities.size, dtype=np.float64)
    _test(
        read_only(calls.allele_offsets),
        view_of(calls.phred_likelihoods),
        read_only(calls.ploidies),
        np.empty(2 * samples + 3, dtype=np.float64),
        values,
    )
    return values


def inbreeding_coefficients(calls: VariantCalls, samples: int) -> NDArray[np.float64]:
    """Return InbreedingCoeff, float64[v]: 1 less heterozygotes per expected heterozygotes.

    Samples count as in `excess_heterozygosity`, but in part, by the probabilities of the three
    kinds of genotypes. NaN if less than 10 samples have likelihoods, if no heterozygotes are
    expected, and for another ploidy than 2.
    """
    values = np.full(calls.qualities.size, np.nan)
    if samples >= MIN_INBREEDING_SAMPLES:
        _compare(
            read_only(calls.allele_offsets),
            view_of(calls.phred_likelihoods),
            read_only(calls.ploidies),
            samples,
            values,
        )
    return values


@njit
def _test(
    allele_offsets: NDArray[np.int64],
    phreds: RaggedView,
    ploidies: NDArray[np.int64],
    scratch: NDArray[np.float64],
    values: NDArray[np.float64],
) -> None:
    offsets = phreds.offsets
    samples = (scratch.size - 3) // 2
    for record in range(values.size):
        values[record] = np.nan
        has_likelihoods = offsets[record * samples] < offsets[(record + 1) * samples]
        if ploidies[record] != DIPLOID or not has_likelihoods:
            continue
        alleles = allele_offsets[record + 1] - allele_offsets[record]
        homozygous, heterozygous, other = np.int64(0), np.int64(0), np.int64(0)
        for row in range(record * samples, (record + 1) * samples):
            if offsets[row] < offsets[row + 1]:
                p0, p1, p2 = _genotype_weights(phreds, row, alleles)
                half = 0.5 * (p0 + p1 + p2)
                homozygous += p0 >= half
                heterozygous += p1 >= half and p1 != p0
                other += p2 >= half and p2 != p1
        values[record] = _phred_of(right_tail(homozygous, heterozygous, other, scratch))


@njit
def _compare(
    allele_offsets: NDArray[np.int64],
    phreds: RaggedView,
    ploidies: NDArray[np.int64],
    samples: int,
    values: NDArray[np.float64],
) -> None:
    """Set the coefficients of diploid records with enough samples and expected heterozygotes."""
    offsets = phreds.offsets
    for record in range(values.size):
        if ploidies[record] != DIPLOID:
            continue
        alleles = allele_offsets[record + 1] - allele_offsets[record]
        counted = np.int64(0)
        homozygous, heterozygous, other = 0.0, 0.0, 0.0
        for row in range(record * samples, (record + 1) * samples):
            if offsets[row] < offsets[row + 1]:
                counted += 1
                p0, p1, p2 = _genotype_weights(phreds, row, alleles)
                total = p0 + p1 + p2
                homozygous += p0 / total
                heterozygous += p1 / total
                other += p2 / total
        if counted < MIN_INBREEDING_SAMPLES:
            continue
        p = (2.0 * homozygous + heterozygous) / (2.0 * (homozygous + heterozygous + other))
        expected = 2.0 * p * (1.0 - p) * counted
        if expected > 0.0:
            values[record] = 1.0 - heterozygous / expected


@njit
def _phred_of(p: float) -> float:
    if p < _MIN_P:
        return _MAX_PHRED
    return -10.0 * math.log10(p) if p < 1.0 else 0.0


@njit
def _genotype_weights(
    phred: RaggedView, row: Integer, alleles: Integer
) -> tuple[float, float, float]:
    """Return relative probabilities: homozygous REF, heterozygous with REF, and without REF.

    They are of the genotypes of REF and the ALT with the likeliest heterozygote. Among several
    ALTs, a genotype of two of them that is the likeliest has all the probability. A genotype counts
    if its probability is at least 1/2; of equal ones the genotype with more REF counts.
    """
    first = phred.offsets[row]
    alternate = np.int64(1)
    if alleles > 2:
        best = first
        for k in range(first, phred.offsets[row + 1]):
            best = k if phred.data[k] < phred.data[best] else best
        if not _has_reference(best - first, alleles):
            return 0.0, 0.0, 1.0
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
    return (
        10.0 ** (-0.1 * (homozygous - least)),
        10.0 ** (-0.1 * (heterozygous - least)),
        10.0 ** (-0.1 * (other - least)),
    )


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
