"""Annotations of calls: depths, the statistics of `FIELDS`, and columns that options enable."""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.bytes import Integer
from hapgpu.arrays.ragged import Ragged, lengths_of
from hapgpu.arrays.ragged_view import RaggedView, read_only, view_of
from hapgpu.calling.annotations.allele_specific import ALLELE_FIELDS, allele_annotations
from hapgpu.calling.annotations.fields import DEFAULT_FIELDS, FIELDS, EnabledFields
from hapgpu.calling.annotations.heterozygosity import (
    excess_heterozygosity,
    inbreeding_coefficients,
)
from hapgpu.calling.annotations.rank_sums import rank_sums
from hapgpu.calling.annotations.read_values import RANK_SUMS, RankedValues
from hapgpu.calling.annotations.strand_bias import strand_statistics
from hapgpu.calling.annotations.tandem_repeats import tandem_repeats
from hapgpu.calling.batches import (
    Annotations,
    CallSites,
    ReadsAtSites,
    RegionLikelihoods,
    SegmentReads,
    VariantCalls,
)
from hapgpu.calling.genotypes.calls import NO_CALL
from hapgpu.calling.genotypes.evidence import ReadEvidence, Support, support_of
from hapgpu.runtime.jit import njit

_MAX_RATIO: Final = 35.0
_IDEAL_RATIO: Final = 30.0
"""From `_MAX_RATIO` on, GATK draws QD from a normal distribution around this value."""
_OF_SAMPLES: Final = {
    "ExcessHet": excess_heterozygosity,
    "InbreedingCoeff": inbreeding_coefficients,
}
"""Functions of records and the number of samples, by INFO field."""


class _Found(NamedTuple):
    """Counts of the reads of v records of n samples.

    Attributes
    ----------
    evidence, support
        Reads that are genotyped, and the alleles that they support.
    depths
        int64[v, n]: all reads.
    strands, squares
        As `strand_depths` and `mapping_qualities` of `Annotations`.
    """

    evidence: ReadEvidence
    support: Support
    depths: NDArray[np.int64]
    strands: NDArray[np.int64]
    squares: NDArray[np.int64]


def annotations_of(
    calls: VariantCalls,
    sites: CallSites,
    reads: ReadsAtSites,
    likelihoods: RegionLikelihoods,
    segment: SegmentReads,
    samples: int,
    *,
    fields: EnabledFields = DEFAULT_FIELDS,
) -> Annotations:
    """Annotate calls by GATK's rules.

    Reads that do not pass count in DP of INFO and in MQ; in QD only for a sample without a read
    that supports an allele. A field that is not enabled is not computed, but depths are.

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
    fields
        Fields of the output.

    Returns
    -------
    Annotations of v records.
    """
    evidence = ReadEvidence.of(calls, reads.offsets, reads.reads, likelihoods.reads, segment.reads)
    others = ReadEvidence.of(
        calls, reads.other_offsets, reads.others, likelihoods.others, segment.reads
    )
    support = support_of(calls, reads, evidence.samples, samples)
    found = _Found(
        evidence,
        support,
        evidence.depths(len(calls), samples) + others.depths(len(calls), samples),
        evidence.strand_tables(support.sides, len(calls), samples),
        _mapping_qualities(evidence, others, len(calls)),
    )
    values = RankedValues(sites, reads, likelihoods.reads, segment.reads)
    rows = reads.offsets[calls.sites], reads.offsets[calls.sites + 1]
    has_repeats = fields.has("RU") and not fields.is_genomic  # `<NON_REF>` is no indel
    return Annotations(
        found.depths.sum(axis=1).astype(np.int32),
        _row_sums(support.allele_depths).reshape(len(calls), samples),
        support.allele_depths,
        _statistics(calls, fields, found, rows, values),
        found.strands,
        found.squares,
        _zero_qualities(evidence, others, len(calls)) if fields.has("MQ0") else None,
        lengths_of(sites.allele_offsets)[calls.sites] - 1 if fields.has("NDA") else None,
        (
            allele_annotations(calls, rows, evidence, support.alleles, values)
            if fields.has(*ALLELE_FIELDS)
            else None
        ),
        tandem_repeats(calls, segment.reference) if has_repeats else None,
    )


def _statistics(
    calls: VariantCalls,
    fields: EnabledFields,
    found: _Found,
    rows: tuple[NDArray[np.int64], NDArray[np.int64]],
    values: RankedValues,
) -> NDArray[np.float64]:
    """Return float64[v, k]: `Annotations.values`; NaN where a field is not enabled."""
    made: dict[str, NDArray[np.float64]] = {}
    sides = found.evidence.usable(found.support.sides)
    for name in RANK_SUMS:
        if fields.has(name):
            made[name] = rank_sums(rows, sides, values.of(name))
    if fields.has("FS", "SOR"):
        made["FS"], made["SOR"] = strand_statistics(found.strands)
    for name, of_samples in _OF_SAMPLES.items():
        if fields.has(name):
            made[name] = of_samples(calls, found.depths.shape[1])
    if fields.has("MQ"):
        made["MQ"] = _root_means(found.squares)
    if fields.has("QD"):
        known = found.support.allele_depths if "AD" in fields.formats else None
        made["QD"] = quality_by_depth(calls, known, found.depths)
    table = np.full((len(calls), len(FIELDS)), np.nan)
    for column, field in enumerate(FIELDS):
        if field.name in made:
            table[:, column] = made[field.name]
    return table


def _zero_qualities(
    evidence: ReadEvidence, others: ReadEvidence, records: int
) -> NDArray[np.int64]:
    """Return MQ0, int64[v]."""
    return evidence.zero_qualities(records) + others.zero_qualities(records)


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
    calls: VariantCalls, allele_depths: Ragged | None, depths: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Return QD, float64[v]: QUAL per read of the samples with a variant.

    Parameters
    ----------
    calls
        v records of n samples.
    allele_depths
        int32 rows, v * n of them. A sample with at most one ALT read counts only if all such
        samples do. A sample without any read that supports an allele counts with all its reads.
        None: AD is not enabled, and GATK counts all reads.
    depths
        int64[v, n]: all reads.

    Returns
    -------
    NaN without reads; 30 for a ratio of at least 35.
    """
    ratios = np.empty(calls.qualities.size, dtype=np.float64)
    if allele_depths is None:
        none = np.zeros(depths.size, dtype=np.int64)
        allele_depths = Ragged.from_lengths(np.empty(0, dtype=np.int32), none)
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
    found, is_called = False, True
    for copy in range(genotypes.shape[2]):
        found = found or genotypes[record, sample, copy] > 0
        is_called = is_called and genotypes[record, sample, copy] != NO_CALL
    return found and is_called
