"""Allele-specific raw annotations of genomic VCF, from which joint tools make AS_ fields."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from hapgpu.calling.annotations.fields import ALLELE_RANK_SUMS
from hapgpu.calling.annotations.rank_sums import allele_rank_sums
from hapgpu.calling.annotations.read_values import RankedValues
from hapgpu.calling.batches import VariantCalls
from hapgpu.calling.genotypes.evidence import MIN_READS, NEITHER, NO_MAPPING_QUALITY, ReadEvidence
from hapgpu.calling.record_columns import NO_REFERENCE, NO_SCORE, AlleleAnnotations

ALLELE_FIELDS: Final = (*ALLELE_RANK_SUMS, "AS_RAW_MQ", "AS_SB_TABLE")
"""INFO fields that `allele_annotations` computes."""

_BIN: Final = 0.1
_BIN_EPSILON: Final = 0.01
"""A z score is in the bin above a bound if it is less than this part of a bin below."""


def allele_annotations(
    calls: VariantCalls,
    rows: tuple[NDArray[np.int64], NDArray[np.int64]],
    evidence: ReadEvidence,
    alleles: NDArray[np.int16],
    values: RankedValues,
) -> AlleleAnnotations:
    """Annotate the alleles of records of one sample.

    Parameters
    ----------
    calls
        v records with a alleles in all.
    rows
        int64[v] each: the first read of each record, and the end of its reads.
    evidence
        x reads.
    alleles
        int16[x]: the number of the allele in the record that each read supports; `NEITHER`.
    values
        Values of these reads.
    """
    first_alleles = calls.allele_offsets[evidence.records]
    supported = np.flatnonzero((alleles != NEITHER) & (evidence.records >= 0))
    at = first_alleles[supported] + alleles[supported]
    count = int(calls.allele_offsets[-1])
    qualities = evidence.mapping_qualities[supported].astype(np.int64)
    squares = np.where(qualities == NO_MAPPING_QUALITY, 0, qualities * qualities)
    cells = 2 * at + evidence.is_reverse[supported]
    strands = np.bincount(cells, minlength=2 * count).reshape(count, 2)
    first, end = calls.allele_offsets[:-1], calls.allele_offsets[1:]
    sums = np.concatenate(([0], np.cumsum(strands.sum(axis=1))))
    has_few = sums[end] - sums[first] < MIN_READS
    strands[np.repeat(has_few, end - first)] = 0
    usable = np.where(evidence.usable(np.zeros(alleles.size, dtype=np.int8)) == 0, alleles, NEITHER)
    bins = [
        _bins(
            allele_rank_sums(
                rows, calls.allele_offsets, usable.astype(np.int16), values.of(_pooled(name))
            ),
            calls.allele_offsets,
        )
        for name in ALLELE_RANK_SUMS
    ]
    totals = np.bincount(at, weights=squares, minlength=count).astype(np.int64)
    return AlleleAnnotations(np.array(bins).reshape(len(bins), count), totals, strands)


def _pooled(name: str) -> str:
    """Return the field of the test of all ALTs: `MQRankSum` of `AS_RAW_MQRankSum`."""
    return name.removeprefix("AS_RAW_")


def _bins(scores: NDArray[np.float64], allele_offsets: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return int64[a]: the bins of z scores, float64[a], as GATK's Histogram has them."""
    first, end = allele_offsets[:-1], allele_offsets[1:]
    bins = np.full(scores.size, NO_SCORE, dtype=np.int64)
    is_known = ~np.isnan(scores)
    bins[is_known] = np.floor((scores[is_known] + _BIN_EPSILON * _BIN) / _BIN).astype(np.int64)
    bins[np.repeat(np.isnan(scores[first]), end - first)] = NO_REFERENCE
    bins[first] = NO_REFERENCE
    return bins
