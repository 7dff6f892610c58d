"""Columns of records for compiled writers, and the columns of a line before INFO."""

from __future__ import annotations

import math
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.bytes import Integer
from hapgpu.arrays.memory import Memory, memory_of
from hapgpu.arrays.ragged import Ragged
from hapgpu.arrays.ragged_view import RaggedView, read_only, view_of
from hapgpu.calling.annotations.fields import EnabledFields
from hapgpu.calling.batches import Annotations, VariantCalls
from hapgpu.calling.output.allele_texts import field_text
from hapgpu.calling.output.filters import filters_of
from hapgpu.calling.output.record_layout import INTEGERS, RecordLayout, text_fields
from hapgpu.calling.record_columns import RecordMarks
from hapgpu.io.text.builder import put_all, put_byte, put_count, put_integer
from hapgpu.io.text.columns import put_row
from hapgpu.io.text.fields import text_of
from hapgpu.io.text.numbers import in_units, put_sign, put_units
from hapgpu.io.vcf.numbers import put_double, put_values
from hapgpu.runtime.jit import njit

_TAB, _COLON, _SEMICOLON, _COMMA, _POINT = b"\t:;,."
_QUALITY_DECIMALS: Final = np.int64(2)
_HUNDREDTHS: Final = np.int64(100)
_INFINITE: Final = text_of("Infinity")
_MISSING: Final = text_of(".")
_NO_TEXTS: Final = Ragged(np.empty(0, dtype=np.uint8), np.zeros(1, dtype=np.int64))
_ONE: Final = np.uint32(1)


class CallColumns(NamedTuple):
    """`VariantCalls` and their `Annotations`, read-only.

    Attributes
    ----------
    starts, allele_offsets, alleles, qualities, genotypes, genotype_qualities, phred_likelihoods
        As in `VariantCalls`.
    likely_counts
        int32[a]: `maximum_likelihood_counts`.
    depths, sample_depths, allele_depths, strand_depths, mapping_qualities
        As in `Annotations`.
    statistics
        float64[v, k]: `values`.
    integers
        int64[v, 2]: the fields `INTEGERS`.
    texts
        uint8 text, t * v rows: the texts of t fields of all records, field by field.
    ploidies
        int64[v].
    ids
        uint8 text, v rows: ID, empty for none.
    flags
        uint8[v, f + 1]: the flags of `RecordMarks`, and whether a tandem repeat is changed.
    filters
        uint32[v]: a bit for each filter.
    """

    starts: NDArray[np.int64]
    allele_offsets: NDArray[np.int64]
    alleles: RaggedView
    qualities: NDArray[np.float64]
    genotypes: NDArray[np.int16]
    genotype_qualities: NDArray[np.int16]
    phred_likelihoods: RaggedView
    likely_counts: NDArray[np.int32]
    depths: NDArray[np.int32]
    sample_depths: NDArray[np.int32]
    allele_depths: RaggedView
    strand_depths: NDArray[np.int64]
    mapping_qualities: NDArray[np.int64]
    statistics: NDArray[np.float64]
    integers: NDArray[np.int64]
    texts: RaggedView
    ploidies: NDArray[np.int64]
    ids: RaggedView
    flags: NDArray[np.uint8]
    filters: NDArray[np.uint32]

    @classmethod
    def of(
        cls, calls: VariantCalls, annotations: Annotations, fields: EnabledFields
    ) -> CallColumns:
        """View records and annotations; make the texts of the fields of an output."""
        count = len(calls)
        marks = annotations.marks or RecordMarks.none(count)
        filters = filters_of(calls, annotations) if fields.has_filters else np.uint32(0)
        return cls(
            read_only(calls.starts),
            read_only(calls.allele_offsets),
            view_of(calls.alleles),
            read_only(calls.qualities),
            read_only(calls.genotypes),
            read_only(calls.genotype_qualities),
            view_of(calls.phred_likelihoods),
            read_only(calls.maximum_likelihood_counts),
            read_only(annotations.depths),
            read_only(annotations.sample_depths),
            view_of(annotations.allele_depths),
            read_only(annotations.strand_depths),
            read_only(annotations.mapping_qualities),
            read_only(annotations.values),
            read_only(_integers(annotations, count)),
            view_of(_texts(calls, annotations, fields)),
            read_only(calls.ploidies),
            view_of(marks.ids),
            read_only(_flags(annotations, marks)),
            read_only(marks.filters | filters),
        )


def _integers(annotations: Annotations, records: int) -> NDArray[np.int64]:
    """Return int64[v, 2]: the fields `INTEGERS`, 0 where they are not enabled."""
    columns = np.zeros((records, len(INTEGERS)), dtype=np.int64)
    for k, column in enumerate((annotations.zero_qualities, annotations.discovered_alleles)):
        if column is not None:
            columns[:, k] = column
    return columns


def _texts(calls: VariantCalls, annotations: Annotations, fields: EnabledFields) -> Ragged:
    """Return the texts of all fields; no rows for repeats that a genomic VCF has never."""
    names = text_fields(fields)
    if not names:
        return _NO_TEXTS
    empty = RecordMarks.none(len(calls)).ids
    is_known = {"RPA": not fields.is_genomic, "RU": not fields.is_genomic}
    return Ragged.concatenate(
        [
            field_text(name, calls, annotations) if is_known.get(name, True) else empty
            for name in names
        ]
    )


def _flags(annotations: Annotations, marks: RecordMarks) -> NDArray[np.uint8]:
    repeats = np.zeros(marks.filters.size, dtype=np.uint8)
    if annotations.repeats is not None:
        repeats = (annotations.repeats.units.lengths > 0).astype(np.uint8)
    return np.column_stack([marks.flags, repeats])


@njit
def put_place(
    text: Memory,
    at: Integer,
    contig: Memory,
    layout: RecordLayout,
    calls: CallColumns,
    record: Integer,
) -> Integer:
    """Write CHROM to FILTER, and a tab."""
    at = put_byte(text, put_all(text, at, contig), _TAB)
    at = put_integer(text, at, calls.starts[record] + 1)
    at = put_byte(text, at, _TAB)
    if calls.ids.offsets[record] < calls.ids.offsets[record + 1]:
        at = put_row(text, at, calls.ids, record)
    else:
        at = put_byte(text, at, _POINT)
    first = calls.allele_offsets[record]
    for allele in range(first, calls.allele_offsets[record + 1]):
        at = put_byte(text, at, _TAB if allele < first + 2 else _COMMA)
        at = put_row(text, at, calls.alleles, allele)
    at = put_quality(text, put_byte(text, at, _TAB), calls.qualities[record])
    at = put_byte(text, at, _TAB)
    at = _put_filters(text, at, layout, calls.filters[record])
    return put_byte(text, at, _TAB)


@njit
def put_quality(text: Memory, at: Integer, value: float) -> Integer:
    """Write QUAL with two decimals, or as an integer if both are 0; infinite for given alleles."""
    if not math.isfinite(value):
        return put_all(text, at, memory_of(_INFINITE if value > 0.0 else _MISSING))
    at = put_sign(text, at, value)
    units = in_units(abs(value), _QUALITY_DECIMALS)
    if units % _HUNDREDTHS == 0:
        return put_count(text, at, units // _HUNDREDTHS)
    return put_units(text, at, units, _QUALITY_DECIMALS)


@njit
def _put_filters(text: Memory, at: Integer, layout: RecordLayout, bits: Integer) -> Integer:
    if bits == 0:
        return put_all(text, at, memory_of(layout.no_filter))
    start = at
    for k in range(layout.filters.offsets.size - 1):
        if bits >> np.uint32(k) & _ONE:
            at = put_byte(text, at, _SEMICOLON) if at > start else at
            at = put_row(text, at, layout.filters, k)
    return at


@njit
def put_counts(
    text: Memory,
    at: Integer,
    layout: RecordLayout,
    calls: CallColumns,
    record: Integer,
    sample: Integer,
) -> Integer:
    """Write AD, AF, DP and GQ, each after a colon; GATK has no depths without a call."""
    row = record * calls.genotypes.shape[1] + sample
    is_called = calls.genotypes[record, sample, 0] >= 0
    if layout.samples.allele_depths:
        at = put_byte(text, at, _COLON)
        if is_called:
            at = put_values(text, at, calls.allele_depths, row)
        else:
            at = put_byte(text, at, _POINT)
    if layout.samples.allele_fractions:
        at = put_byte(text, at, _COLON)
        if is_called:
            at = _put_fractions(text, at, calls.allele_depths, row)
        else:
            at = put_byte(text, at, _POINT)
    if layout.samples.depth:
        at = put_byte(text, at, _COLON)
        if is_called:
            at = put_integer(text, at, np.int64(calls.sample_depths[record, sample]))
        else:
            at = put_byte(text, at, _POINT)
    at = put_byte(text, at, _COLON)
    return put_integer(text, at, np.int64(calls.genotype_qualities[record, sample]))


@njit
def _put_fractions(text: Memory, at: Integer, depths: RaggedView, row: Integer) -> Integer:
    """Write the fraction of the reads that support each ALT; NaN without reads, as GATK."""
    start, end = depths.offsets[row], depths.offsets[row + 1]
    total = np.int64(0)
    for k in range(start, end):
        total += depths.data[k]
    for k in range(start + 1, end):
        at = put_byte(text, at, _COMMA) if k > start + 1 else at
        at = put_double(text, at, depths.data[k] / total if total else np.nan)
    return at


@njit
def put_strands(
    text: Memory,
    at: Integer,
    layout: RecordLayout,
    calls: CallColumns,
    record: Integer,
    sample: Integer,
) -> Integer:
    """Write SB after a colon, if samples have it; GATK has none without a call."""
    if not layout.samples.strands:
        return at
    if calls.genotypes[record, sample, 0] < 0:
        return put_byte(text, put_byte(text, at, _COLON), _POINT)
    for k in range(calls.strand_depths.shape[2]):
        at = put_byte(text, at, _COMMA if k else _COLON)
        at = put_integer(text, at, calls.strand_depths[record, sample, k])
    return at
