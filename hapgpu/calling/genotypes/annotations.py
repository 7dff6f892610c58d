"""Annotations of calls: depths, and the statistics of `FIELDS`."""

from __future__ import annotations

import math
from typing import Final

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.bytes import Integer
from hapgpu.arrays.ragged import Ragged, lengths_of
from hapgpu.arrays.ragged_view import RaggedView, read_only, view_of
from hapgpu.calling.batches import (
    Annotations,
    CallSites,
    ReadsAtSites,
    RegionLikelihoods,
    SegmentReads,
    VariantCalls,
)
from hapgpu.calling.genotypes.annotation_fields import FIELDS
from hapgpu.calling.genotypes.evidence import ReadEvidence, strand_statistics, support_of
from hapgpu.calling.genotypes.rank_sums import rank_sums, values_at
from hapgpu.calling.ploidies import DIPLOID
from hapgpu.runtime.jit import njit

_MAX_RATIO: Final = 35.0
_IDEAL_RATIO: Final = 30.0
"""From `_MAX_RATIO` on, GATK draws QD from a normal distribution around this value."""

_NEGLIGIBLE: Final = 1e-16
"""Numbers of heterozygous samples that are so improbable, next to the mode, are left out."""
_MIN_P: Final = 1e-59
_MAX_PHRED: Final = 160.0
"""Phred-scaled p-value below `_MIN_P`, as in GATK."""


def annotations_of(
    calls: VariantCalls,
    sites: CallSites,
    reads: ReadsAtSites,
    likelihoods: RegionLikelihoods,
    segment: SegmentReads,
    samples: int,
) -> Annotations:
    """Annotate calls by GATK's rules.

    Reads that do not pass count in DP of INFO and in MQ; in QD only for a sample without a read
    that supports an allele.

    Parameters
    ----------
    calls
        v records.
    sites
        s sites.
    reads
        Reads at the sites.
    likelihoods
        The reads that `reads` refers to.
    segment
        The reads that `likelihoods` refers to.
    samples
        Samples in all.

    Returns
    -------
    Annotations of v records.
    """
    evidence = ReadEvidence.of(calls, reads.offsets, reads.reads, likelihoods.reads, segment.reads)
    others = ReadEvidence.of(
        calls, reads.other_offsets, reads.others, likelihoods.others, segment.reads
    )
    support = support_of(calls, reads, evidence.samples, samples)
    depths = evidence.depths(len(calls), samples) + others.depths(len(calls), samples)
    strands = evidence.strand_tables(support.sides, len(calls), samples)
    fisher, odds = strand_statistics(strands)
    squares = _mapping_qualities(evidence, others, len(calls))
    lengths = lengths_of(reads.offsets)
    references = np.repeat(sites.starts, lengths), np.repeat(sites.ends, lengths)
    qualities, distances = values_at(likelihoods.reads, segment.reads, reads.reads, *references)
    rows = reads.offsets[calls.sites], reads.offsets[calls.sites + 1]
    sides = evidence.usable(support.sides)
    statistics = {
        "BaseQRankSum": rank_sums(rows, sides, qualities),
        "ExcessHet": excess_heterozygosity(calls, samples),
        "FS": fisher,
        "MQ": _root_means(squares),
        "MQRankSum": rank_sums(rows, sides, evidence.mapping_qualities.astype(np.int64)),
        "QD": quality_by_depth(calls, support.allele_depths, depths),
        "ReadPosRankSum": rank_sums(rows, sides, distances),
        "SOR": odds,
    }
    return Annotations(
        depths.sum(axis=1).astype(np.int32),
        _row_sums(support.allele_depths).reshape(len(calls), samples),
        support.allele_depths,
        np.column_stack([statistics[field.name] for field in FIELDS]),
        strands,
        squares,
    )


def _row_sums(rows: Ragged) -> NDArray[np.int32]:
    """Return the sum of each row; no row is empty."""
    before = np.concatenate(([0], np.cumsum(rows.data, dtype=np.int64)))
    sums: NDArray[np.int32] = np.diff(before[rows.offsets]).astype(np.int32)
    return sums


def _mapping_qualities(
    evidence: ReadEvidence, others: ReadEvidence, records: int
) -> NDArray[np.int64]:
    """Return the sum of squared mapping qualities of each record, and the reads that have one."""
    sums, counts = evidence.mapping_quality_sums(records)
    other_sums, other_counts = others.mapping_quality_sums(records)
    return np.column_stack([(sums + other_sums).astype(np.int64), counts + other_counts])


def _root_means(squares: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return MQ, float64[v]; NaN without a read that has a mapping quality."""
    means = np.full(len(squares), np.nan)
    np.divide(squares[:, 0], squares[:, 1], out=means, where=squares[:, 1] > 0)
    roots: NDArray[np.float64] = np.sqrt(means)
    return roots


def quality_by_depth(
    calls: VariantCalls, allele_depths: Ragged, depths: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Return QD, float64[v]: QUAL per read of the samples with a variant.

    Parameters
    ----------
    calls
        v records of n samples.
    allele_depths
        int32 rows, v * n of them. A sample with at most one ALT read counts only if all such
        samples do. A sample without any read that supports an allele counts with all its reads.
    depths
        int64[v, n]: all reads.

    Returns
    -------
    NaN without reads; 30 for a ratio of at least 35.
    """
    ratios = np.empty(calls.qualities.size, dtype=np.float64)
    _divide(
        read_only(calls.genotypes),
        read_only(calls.qualities),
        view_of(allele_depths),
        read_only(depths),
        ratios,
    )
    return ratios


@njit
def _divide(
    genotypes: NDArray[np.int16],
    qualities: NDArray[np.float64],
    allele_depths: RaggedView,
    depths: NDArray[np.int64],
    ratios: NDArray[np.float64],
) -> None:
    """Set QUAL by depth of each record, float64[v]: GATK's `QualByDepth`."""
    samples = depths.shape[1]
    for record in range(ratios.size):
        depth, supported = np.int64(0), np.int64(0)
        for sample in range(samples):
            if not _has_variant(genotypes, record, sample):
                continue
            first = allele_depths.offsets[record * samples + sample]
            end = allele_depths.offsets[record * samples + sample + 1]
            total = np.int64(0)
            for k in range(first, end):
                total += allele_depths.data[k]
            if total == 0:
                depth += depths[record, sample]
                continue
            depth += total
            if total - allele_depths.data[first] > 1:
                supported += total
        depth = supported if supported > 0 else depth
        ratio = qualities[record] / depth if depth > 0 else np.nan
        ratios[record] = _IDEAL_RATIO if ratio >= _MAX_RATIO else ratio


@njit
def _has_variant(genotypes: NDArray[np.int16], record: Integer, sample: Integer) -> bool:
    copies = np.int64(0)
    for copy in range(genotypes.shape[2]):
        copies += genotypes[record, sample, copy] > 0
    return bool(copies > 0)


def excess_heterozygosity(calls: VariantCalls, samples: int) -> NDArray[np.float64]:
    """Return ExcessHet, float64[v]: the Phred-scaled p-value of at least as many heterozygotes.

    Each sample counts with its most likely genotype, by its likelihoods: homozygous REF,
    heterozygous with REF, or without REF. It is right-sided, without GATK's former mid-p
    correction: 0 for one sample. NaN if no sample has likelihoods, or a record is not diploid.
    """
    values = np.empty(calls.qualities.size, dtype=np.float64)
    _test(
        read_only(calls.allele_offsets),
        view_of(calls.phred_likelihoods),
        read_only(calls.ploidies),
        samples,
        np.empty(2 * samples + 3, dtype=np.float64),
        values,
    )
    return values


@njit
def _test(
    allele_offsets: NDArray[np.int64],
    phreds: RaggedView,
    ploidies: NDArray[np.int64],
    samples: int,
    scratch: NDArray[np.float64],
    values: NDArray[np.float64],
) -> None:
    offsets = phreds.offsets
    counts = np.empty(3, dtype=np.int64)
    for record in range(values.size):
        if ploidies[record] != DIPLOID:
            values[record] = np.nan
            continue
        alleles = allele_offsets[record + 1] - allele_offsets[record]
        counts[0], counts[1], counts[2] = 0, 0, 0
        for row in range(record * samples, (record + 1) * samples):
            if offsets[row] < offsets[row + 1]:
                _count_genotype(phreds, row, alleles, counts)
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
