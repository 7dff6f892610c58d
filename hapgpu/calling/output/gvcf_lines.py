"""Lines of records of a genomic VCF, with `<NON_REF>`."""

from __future__ import annotations

import math
from functools import partial
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.bytes import Integer
from hapgpu.arrays.memory import Memory, memory_of
from hapgpu.arrays.ragged import Ragged
from hapgpu.arrays.ragged_view import RaggedView, read_only, view_of
from hapgpu.calling.batches import Annotations, VariantCalls
from hapgpu.calling.genotypes.annotation_fields import FIELDS
from hapgpu.calling.output.call_lines import (
    CallColumns,
    KnownColumns,
    called_alleles,
    put_counts,
    put_flags,
    put_fraction,
    put_place,
)
from hapgpu.calling.output.known_names import KnownNames
from hapgpu.calling.output.phasing import UNPHASED, Phasing
from hapgpu.io.text.builder import TextBuilder, put_byte, put_integer, put_two
from hapgpu.io.text.columns import put_row
from hapgpu.io.text.numbers import put_fixed
from hapgpu.io.vcf.numbers import put_genotype, put_known, put_values
from hapgpu.runtime.jit import njit

_TAB, _NEWLINE, _COLON, _SEMICOLON, _COMMA, _BAR, _POINT = b"\t\n:;,|."
_ZERO, _ONE, _UNDERSCORE = b"01_"
_RECORDS: Final = TextBuilder(row_bytes=300)
_INFO_KEYS: Final = (
    "BaseQRankSum",
    "DP",
    "ExcessHet",
    "MLEAC",
    "MLEAF",
    "MQRankSum",
    "RAW_MQandDP",
    "ReadPosRankSum",
)
_TEXTS: Final = Ragged.from_sequences(
    [
        *(f"{key}=" for key in _INFO_KEYS),
        "\tGT:AD:DP:GQ:PL:SB\t",
        "\tGT:AD:DP:GQ:PGT:PID:PL:PS:SB\t",
    ]
)
_BASE_QUALITY, _DP, _HETEROZYGOSITY, _COUNTS, _FRACTIONS, _MAPPING, _RAW, _POSITION = range(8)
_UNPHASED_FORMAT, _PHASED_FORMAT = range(8, 10)
_NAMES: Final = [field.name for field in FIELDS]
_STATISTICS: Final = np.array(
    [_NAMES.index(name) for name in ("BaseQRankSum", "ExcessHet", "MQRankSum", "ReadPosRankSum")]
)
"""Columns of the statistics that are written."""
_DECIMALS: Final = np.array([FIELDS[column].decimals or 0 for column in _STATISTICS])


class _Records(NamedTuple):
    """Records with their further columns."""

    calls: CallColumns
    groups: NDArray[np.int64]
    is_flipped: NDArray[np.bool_]
    strand_depths: NDArray[np.int64]
    mapping_qualities: NDArray[np.int64]
    is_own: NDArray[np.bool_]


def record_lines(
    contig: str,
    calls: VariantCalls,
    annotations: Annotations,
    phasing: Phasing,
    rows: NDArray[np.int64],
    known: KnownNames | None = None,
) -> Ragged:
    """Write a line for each of some records of one sample, as GATK in its GVCF mode.

    Parameters
    ----------
    contig
        Name of the contig.
    calls
        v records.
    annotations
        Of these records.
    phasing
        Of these records.
    rows
        int64[w]: the records to write.
    known
        Names of the records; None: none has a name.

    Returns
    -------
    uint8 text, w rows: lines, each with a newline at its end.
    """
    name = np.frombuffer(contig.encode("utf-8", "surrogateescape"), dtype=np.uint8)
    is_own = np.ones(len(calls.alleles), dtype=np.bool_)
    starts = calls.alleles.data[calls.alleles.offsets[:-1]]
    is_own[(starts == ord("*")) | (starts == ord("<"))] = False
    is_own[calls.allele_offsets[:-1]] = False
    records = _Records(
        CallColumns.of(calls, annotations, KnownColumns.of(known, len(calls), _INFO_KEYS)),
        read_only(phasing.groups),
        read_only(phasing.is_flipped),
        read_only(annotations.strand_depths[:, 0]),
        read_only(annotations.mapping_qualities),
        read_only(is_own),
    )
    offsets = np.zeros(rows.size + 1, dtype=np.int64)
    write = partial(_put_records, name, records, view_of(_TEXTS), read_only(rows), offsets)
    return Ragged(_RECORDS(rows.size, write), offsets)


@njit
def _put_records(
    name: NDArray[np.uint8],
    records: _Records,
    texts: RaggedView,
    rows: NDArray[np.int64],
    offsets: NDArray[np.int64],
    out: NDArray[np.uint8],
) -> Integer:
    """Write all lines and where each ends; return the end."""
    text, contig = memory_of(out), memory_of(name)
    at: Integer = np.int64(0)
    for k in range(rows.size):
        record = rows[k]
        at = put_place(text, at, contig, records.calls, record)
        at = _put_info(text, at, texts, records, record)
        is_phased = records.groups[record] != UNPHASED
        at = put_row(text, at, texts, np.int64(_PHASED_FORMAT if is_phased else _UNPHASED_FORMAT))
        at = _put_sample(text, at, records, record)
        at = put_byte(text, at, _NEWLINE)
        offsets[k + 1] = at
    return at


@njit
def _put_info(
    text: Memory, at: Integer, texts: RaggedView, records: _Records, record: Integer
) -> Integer:
    """Write INFO; DP is always there, so that all fields after it follow a semicolon."""
    calls, known = records.calls, records.calls.known
    start = at
    at = put_flags(text, at, known, record, np.int64(_BASE_QUALITY), start)
    at = _put_statistic(text, at, start, texts, calls, record, 0, np.int64(_BASE_QUALITY))
    at = put_flags(text, at, known, record, np.int64(_DP), start)
    if at > start:
        at = put_byte(text, at, _SEMICOLON)
    at = put_row(text, at, texts, np.int64(_DP))
    at = put_integer(text, at, np.int64(calls.depths[record]))
    at = put_flags(text, at, known, record, np.int64(_HETEROZYGOSITY), start)
    at = _put_statistic(text, at, start, texts, calls, record, 1, np.int64(_HETEROZYGOSITY))
    called = called_alleles(calls, record)
    for field in (_COUNTS, _FRACTIONS):
        at = put_flags(text, at, known, record, np.int64(field), start)
        if field == _FRACTIONS and called == 0:
            continue
        at = put_row(text, put_byte(text, at, _SEMICOLON), texts, np.int64(field))
        first, end = calls.allele_offsets[record] + 1, calls.allele_offsets[record + 1]
        for allele in range(first, end):
            if allele > first:
                at = put_byte(text, at, _COMMA)
            count = np.int64(calls.likely_counts[allele])
            if field == _COUNTS:
                at = put_integer(text, at, count)
            else:
                at = put_fraction(text, at, min(1.0, count / called))
    at = put_flags(text, at, known, record, np.int64(_MAPPING), start)
    at = _put_statistic(text, at, start, texts, calls, record, 2, np.int64(_MAPPING))
    at = put_flags(text, at, known, record, np.int64(_RAW), start)
    at = put_row(text, put_byte(text, at, _SEMICOLON), texts, np.int64(_RAW))
    at = put_integer(text, at, records.mapping_qualities[record, 0])
    at = put_integer(text, put_byte(text, at, _COMMA), records.mapping_qualities[record, 1])
    at = put_flags(text, at, known, record, np.int64(_POSITION), start)
    at = _put_statistic(text, at, start, texts, calls, record, 3, np.int64(_POSITION))
    return put_flags(text, at, known, record, np.int64(len(_INFO_KEYS)), start)


@njit
def _put_statistic(
    text: Memory,
    at: Integer,
    start: Integer,
    texts: RaggedView,
    calls: CallColumns,
    record: Integer,
    number: Integer,
    name: Integer,
) -> Integer:
    """Write a statistic if it is defined, in an INFO that begins at `start`."""
    value = calls.statistics[record, _STATISTICS[number]]
    if not math.isfinite(value):
        return at
    if at > start:
        at = put_byte(text, at, _SEMICOLON)
    return put_fixed(text, put_row(text, at, texts, name), value, _DECIMALS[number])


@njit
def _put_sample(text: Memory, at: Integer, records: _Records, record: Integer) -> Integer:
    """Write the fields of the sample of a record, with its phase if it has one; return the end."""
    calls, group = records.calls, records.groups[record]
    at = _put_genotype(text, at, records, record)
    at = put_counts(text, at, calls, record, np.int64(0))
    if group != UNPHASED:
        at = _put_phase(text, at, records, record)
    at = put_values(text, put_byte(text, at, _COLON), calls.phred_likelihoods, record)
    if group != UNPHASED:
        at = put_integer(text, put_byte(text, at, _COLON), calls.starts[group] + 1)
    if calls.genotypes[record, 0, 0] < 0:  # GATK has no depths without a call
        return put_two(text, at, _COLON, _POINT)
    for k in range(records.strand_depths.shape[1]):
        at = put_byte(text, at, _COMMA if k else _COLON)
        at = put_integer(text, at, records.strand_depths[record, k])
    return at


@njit
def _put_phase(text: Memory, at: Integer, records: _Records, record: Integer) -> Integer:
    """Write PGT and PID, each after a colon."""
    calls, group = records.calls, records.groups[record]
    first = _ONE if records.is_flipped[record] else _ZERO
    at = put_two(text, put_two(text, at, _COLON, first), _BAR, _ONE + _ZERO - first)
    at = put_integer(text, put_byte(text, at, _COLON), calls.starts[group] + 1)
    row = calls.allele_offsets[group]
    for allele in range(row, row + 2):
        at = put_row(text, put_byte(text, at, _UNDERSCORE), calls.alleles, allele)
    return at


@njit
def _put_genotype(text: Memory, at: Integer, records: _Records, record: Integer) -> Integer:
    """Write GT; of a phased record, with the ALT where its phase says, if it is heterozygous."""
    calls = records.calls
    genotype = calls.genotypes[record, 0]
    if records.groups[record] == UNPHASED:
        return put_genotype(text, at, calls.genotypes[record], np.int64(0))
    last = np.int64(calls.ploidies[record] - 1)
    named = np.int64(genotype[0 if records.is_flipped[record] else min(last, np.int64(1))])
    is_own = named >= 0 and records.is_own[calls.allele_offsets[record] + max(named, 0)]
    is_reversed = genotype[0] != genotype[last] and not is_own
    for copy in range(last + 1):
        if copy:
            at = put_byte(text, at, _BAR)
        at = put_known(text, at, np.int64(genotype[last - copy if is_reversed else copy]))
    return at
