"""Annotations of calls: depths, and the statistics of `FIELDS`."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.ragged import Ragged, lengths_of
from hapgpu.calling.annotations.evidence import Evidence
from hapgpu.calling.annotations.fields import FIELDS
from hapgpu.calling.annotations.heterozygosity import excess_heterozygosity
from hapgpu.calling.annotations.quality_by_depth import quality_by_depth
from hapgpu.calling.annotations.rank_sums import rank_sums
from hapgpu.calling.annotations.read_values import values_at
from hapgpu.calling.annotations.strand import strand_statistics
from hapgpu.calling.annotations.support import support_of
from hapgpu.calling.batches import (
    Annotations,
    CallSites,
    ReadLikelihoods,
    SegmentReads,
    SiteReads,
    VariantCalls,
)


def annotations_of(
    calls: VariantCalls,
    sites: CallSites,
    reads: SiteReads,
    likelihoods: ReadLikelihoods,
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
    evidence = Evidence.of(calls, reads.offsets, reads.reads, likelihoods.reads, segment.reads)
    others = Evidence.of(
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


def _mapping_qualities(evidence: Evidence, others: Evidence, records: int) -> NDArray[np.int64]:
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
