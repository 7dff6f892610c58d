"""Lines of genomic VCF: records with `<NON_REF>`."""

from __future__ import annotations

from functools import partial
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.bytes import Integer
from hapgpu.arrays.memory import Memory, memory_of
from hapgpu.arrays.ragged import Ragged
from hapgpu.arrays.ragged_view import read_only
from hapgpu.calling.annotations.fields import DEFAULT_GENOMIC_FIELDS, EnabledFields
from hapgpu.calling.batches import Annotations, VariantCalls
from hapgpu.calling.output.call_columns import CallColumns, put_counts, put_place, put_strands
from hapgpu.calling.output.info_fields import put_info
from hapgpu.calling.output.phasing import UNPHASED, Phasing
from hapgpu.calling.output.record_layout import PHASED, RecordLayout, record_layout
from hapgpu.calling.output.record_layout import UNPHASED as WITHOUT_PHASE
from hapgpu.io.text.builder import TextBuilder, put_byte, put_integer, put_two
from hapgpu.io.text.columns import put_row
from hapgpu.io.vcf.numbers import put_genotype, put_known, put_values
from hapgpu.runtime.jit import njit

_TAB, _NEWLINE, _COLON, _BAR = b"\t\n:|"
_ZERO, _ONE, _UNDERSCORE = b"01_"
_RECORDS: Final = TextBuilder(row_bytes=300)


class _Records(NamedTuple):
    """Records with their further columns."""

    calls: CallColumns
    groups: NDArray[np.int64]
    is_flipped: NDArray[np.bool_]
    is_own: NDArray[np.bool_]


def record_lines(
    contig: str,
    calls: VariantCalls,
    annotations: Annotations,
    phasing: Phasing,
    rows: NDArray[np.int64],
    fields: EnabledFields = DEFAULT_GENOMIC_FIELDS,
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
    fields
        The fields of the records.

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
        CallColumns.of(calls, annotations, fields),
        read_only(phasing.groups),
        read_only(phasing.is_flipped),
        read_only(is_own),
    )
    offsets = np.zeros(rows.size + 1, dtype=np.int64)
    layout = record_layout(fields)
    write = partial(_put_records, name, records, layout, read_only(rows), offsets)
    return Ragged(_RECORDS(rows.size, write), offsets)


@njit
def _put_records(
    name: NDArray[np.uint8],
    records: _Records,
    layout: RecordLayout,
    rows: NDArray[np.int64],
    offsets: NDArray[np.int64],
    out: NDArray[np.uint8],
) -> Integer:
    """Write all lines and where each ends; return the end."""
    text, contig = memory_of(out), memory_of(name)
    at: Integer = np.int64(0)
    for k in range(rows.size):
        record = rows[k]
        at = put_place(text, at, contig, layout, records.calls, record)
        at = put_info(text, at, layout, records.calls, record)
        is_phased = records.groups[record] != UNPHASED
        at = put_row(text, at, layout.formats, np.int64(PHASED if is_phased else WITHOUT_PHASE))
        at = put_byte(text, at, _TAB)
        at = _put_sample(text, at, layout, records, record)
        at = put_byte(text, at, _NEWLINE)
        offsets[k + 1] = at
    return at


@njit
def _put_sample(
    text: Memory, at: Integer, layout: RecordLayout, records: _Records, record: Integer
) -> Integer:
    """Write the fields of the sample of a record, with its phase if it has one; return the end."""
    calls, group = records.calls, records.groups[record]
    at = _put_genotype(text, at, records, record)
    at = put_counts(text, at, layout, calls, record, np.int64(0))
    if group != UNPHASED:
        at = _put_phase(text, at, records, record)
    at = put_values(text, put_byte(text, at, _COLON), calls.phred_likelihoods, record)
    if group != UNPHASED:
        at = put_integer(text, put_byte(text, at, _COLON), calls.starts[group] + 1)
    return put_strands(text, at, layout, calls, record, np.int64(0))


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
