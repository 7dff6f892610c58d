"""Variants and their genotypes as arrays, for callers in Python."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.called_variants import CalledVariants
from hapgpu.arrays.ragged import Ragged, row_texts
from hapgpu.calling.annotations.fields import DEFAULT_FIELDS, FIELDS
from hapgpu.calling.batches import VariantCalls
from hapgpu.calling.genotypes.calls import NO_CALL
from hapgpu.calling.segment_calls import SegmentRecords

_STATISTICS: Final = {
    field.name: column for column, field in enumerate(FIELDS) if DEFAULT_FIELDS.has(field.name)
}
"""Columns of the statistics of a run without options."""


@dataclass(frozen=True, slots=True, kw_only=True, repr=False, eq=False)
class Calls(CalledVariants):
    """v variants, with the genotypes of m samples.

    Attributes
    ----------
    samples
        Names of the samples.
    contig_names
        Names of the contigs of the reference.
    contigs
        int32[v]: the contig of each variant, a number in `contig_names`.
    positions
        int64[v]: 0-based position in bases of the first base of REF.
    alleles
        v tuples: REF and ALTs; `*` is a spanning deletion.
    qualities
        float64[v]: QUAL, Phred.
    genotypes
        int16[v, m, p]: numbers of alleles, 0 for REF, ascending; -1 for no call. p is the highest
        ploidy of the run; -2 for the copies that a sample does not have.
    genotype_qualities
        int16[v, m]: GQ, Phred; -1 for no call.
    depths
        int32[v, m]: DP, the informative reads.
    allele_depths
        Ragged int32, v * m rows, variant by variant: AD, the reads of each allele.
    phred_likelihoods
        Ragged int32, v * m rows, variant by variant: PL, in the order of VCF; none for no call.
    total_depths
        int32[v]: DP of INFO, all reads.
    annotations
        float64[v] by the name of the INFO field, such as `FS`; NaN where it is not defined.
    """

    total_depths: NDArray[np.int32]
    annotations: dict[str, NDArray[np.float64]]

    def _further_columns(self) -> dict[str, NDArray[Any]]:
        return {"total_depth": self.total_depths, **self.annotations}


def no_calls(samples: tuple[str, ...], contig_names: tuple[str, ...], ploidy: int = 2) -> Calls:
    """Return no variants of some samples; `ploidy` is the highest of the run."""
    return Calls(
        **Calls.empty_columns(samples, contig_names, ploidy=ploidy),
        total_depths=np.empty(0, dtype=np.int32),
        annotations={name: np.empty(0) for name in _STATISTICS},
    )


def calls_of(
    records: SegmentRecords, contig: int, samples: tuple[str, ...], contig_names: tuple[str, ...]
) -> Calls:
    """Return the chosen records of a segment on a contig, given by its number."""
    calls, annotations = records.calls, records.annotations
    rows = np.flatnonzero(records.rows)
    genotypes = calls.genotypes[rows]
    is_called = (genotypes != NO_CALL).all(axis=2)
    likelihoods = _of_samples(calls.phred_likelihoods, rows, len(samples))
    return Calls(
        samples=samples,
        contig_names=contig_names,
        contigs=np.full(rows.size, contig, dtype=np.int32),
        positions=calls.starts[rows],
        alleles=_alleles(calls, rows),
        qualities=calls.qualities[rows],
        genotypes=genotypes,
        genotype_qualities=np.where(is_called, calls.genotype_qualities[rows], np.int16(-1)),
        depths=annotations.sample_depths[rows],
        allele_depths=_of_samples(annotations.allele_depths, rows, len(samples)),
        phred_likelihoods=_of_called(likelihoods, is_called.ravel()),
        total_depths=annotations.depths[rows],
        annotations={
            name: annotations.values[rows, column] for name, column in _STATISTICS.items()
        },
    )


def _of_samples(values: Ragged, rows: NDArray[np.int64], samples: int) -> Ragged:
    """Return the rows of all samples of some records."""
    return values.take((rows[:, None] * samples + np.arange(samples)).ravel())


def _of_called(likelihoods: Ragged, is_called: NDArray[np.bool_]) -> Ragged:
    """Return rows that are empty where there is no call."""
    lengths = np.where(is_called, likelihoods.lengths, 0)
    return Ragged.gather(likelihoods.data, likelihoods.offsets[:-1], lengths)


def _alleles(calls: VariantCalls, rows: NDArray[np.int64]) -> tuple[tuple[str, ...], ...]:
    """Return the alleles of some records."""
    texts, bounds = row_texts(calls.alleles), calls.allele_offsets.tolist()
    return tuple(tuple(texts[bounds[row] : bounds[row + 1]]) for row in rows.tolist())
