"""INFO of records, written by compiled functions."""

from __future__ import annotations

import math
from typing import Final

import numpy as np

from hapgpu.arrays.bytes import Integer
from hapgpu.arrays.memory import Memory
from hapgpu.calling.annotations.fields import FIELDS
from hapgpu.calling.output.call_columns import CallColumns
from hapgpu.calling.output.record_layout import (
    ALLELE_NUMBER,
    COPIES,
    DEPTH,
    FLAG,
    INTEGER,
    LIKELY_COPIES,
    STATISTIC,
    TEXT,
    RecordLayout,
)
from hapgpu.io.text.builder import put_byte, put_integer
from hapgpu.io.text.columns import put_row
from hapgpu.io.text.numbers import put_fixed
from hapgpu.io.vcf.numbers import put_double
from hapgpu.runtime.jit import njit

_SEMICOLON, _COMMA, _MINUS = b";,-"
_QD: Final = [field.name for field in FIELDS].index("QD")
"""Column of QD."""


@njit
def put_info(
    text: Memory, at: Integer, layout: RecordLayout, calls: CallColumns, record: Integer
) -> Integer:
    """Write the fields of INFO that are defined; MLEAC is always, so that INFO is not empty."""
    called = called_alleles(calls, record)
    start = at
    for field in range(layout.kinds.size):
        kind, column = layout.kinds[field], layout.columns[field]
        if not _is_defined(calls, record, kind, column, called):
            continue
        if at > start:
            at = put_byte(text, at, _SEMICOLON)
        at = put_row(text, at, layout.names, field)
        if kind == STATISTIC:
            value = calls.statistics[record, column]
            if column == _QD and value == 0.0 and math.copysign(1.0, value) < 0.0:
                at = put_byte(text, at, _MINUS)  # of QUAL -0.0: see `kept_alleles`
            at = put_fixed(text, at, value, layout.decimals[field])
        elif kind in (COPIES, LIKELY_COPIES):
            at = _put_copies(text, at, calls, record, kind, column, called)
        elif kind == TEXT:
            at = put_row(text, at, calls.texts, column * calls.starts.size + record)
        elif kind != FLAG:
            at = _put_integers(text, at, calls, record, kind, column, called)
    return at


@njit
def _put_integers(
    text: Memory,
    at: Integer,
    calls: CallColumns,
    record: Integer,
    kind: Integer,
    column: Integer,
    called: Integer,
) -> Integer:
    """Write AN, DP, MQ0, NDA or RAW_MQandDP."""
    if kind == ALLELE_NUMBER:
        return put_integer(text, at, called)
    if kind == DEPTH:
        return put_integer(text, at, np.int64(calls.depths[record]))
    if kind == INTEGER:
        return put_integer(text, at, calls.integers[record, column])
    at = put_integer(text, at, calls.mapping_qualities[record, 0])
    return put_integer(text, put_byte(text, at, _COMMA), calls.mapping_qualities[record, 1])


@njit
def _is_defined(
    calls: CallColumns, record: Integer, kind: Integer, column: Integer, called: Integer
) -> bool:
    """Tell whether a record has a field."""
    if kind == STATISTIC:
        return math.isfinite(calls.statistics[record, column])
    if kind in (COPIES, ALLELE_NUMBER) or (kind == LIKELY_COPIES and column == 1):
        return bool(called > 0)
    if kind == TEXT:
        row = column * calls.starts.size + record
        return bool(calls.texts.offsets[row] < calls.texts.offsets[row + 1])
    if kind == FLAG:
        return bool(calls.flags[record, column] != 0)
    return True


@njit
def called_alleles(calls: CallColumns, record: Integer) -> Integer:
    """Return AN."""
    called = np.int64(0)
    for sample in range(calls.genotypes.shape[1]):
        for copy in range(calls.genotypes.shape[2]):
            called += calls.genotypes[record, sample, copy] >= 0
    return called


@njit
def _put_copies(
    text: Memory,
    at: Integer,
    calls: CallColumns,
    record: Integer,
    kind: Integer,
    is_fraction: Integer,
    called: Integer,
) -> Integer:
    """Write AC, AF, MLEAC or MLEAF of each ALT."""
    first, end = calls.allele_offsets[record] + 1, calls.allele_offsets[record + 1]
    for allele in range(first, end):
        if allele > first:
            at = put_byte(text, at, _COMMA)
        if kind == COPIES:
            count = _copies(calls, record, allele + 1 - first)
        else:
            count = np.int64(calls.likely_counts[allele])
        if is_fraction:
            at = put_double(text, at, min(1.0, count / called))
        else:
            at = put_integer(text, at, count)
    return at


@njit
def _copies(calls: CallColumns, record: Integer, allele: Integer) -> Integer:
    """Return AC of an allele."""
    count = np.int64(0)
    for sample in range(calls.genotypes.shape[1]):
        for copy in range(calls.genotypes.shape[2]):
            count += calls.genotypes[record, sample, copy] == allele
    return count
