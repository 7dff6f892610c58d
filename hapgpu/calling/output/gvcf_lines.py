"""Lines of genomic VCF: records with `<NON_REF>`, and blocks."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.bytes import Integer, copy_bytes
from hapgpu.arrays.ragged import Ragged
from hapgpu.arrays.ragged_view import RaggedView, read_only, view_of
from hapgpu.calling.batches import Annotations, VariantCalls
from hapgpu.calling.genotypes.annotation_fields import FIELDS
from hapgpu.calling.output.call_lines import (
    CallColumns,
    called_alleles,
    put_alleles,
    put_fraction,
    put_known,
    put_quality,
    put_values,
)
from hapgpu.calling.output.phasing import UNPHASED, Phasing
from hapgpu.calling.output.reference_blocks import (
    BASE,
    COLUMNS,
    DEPTH,
    END,
    HETEROZYGOUS,
    HOMOZYGOUS,
    MIN_DEPTH,
    QUALITY,
    START,
    BlockJoiner,
    Items,
    ReferencePositions,
)
from hapgpu.calling.reads.segments import EmptyIntervals
from hapgpu.io.text.numbers import FIXED_WIDTH, put_fixed, put_integer
from hapgpu.runtime.jit import njit

_TAB, _NEWLINE, _COLON, _SEMICOLON, _COMMA, _SLASH, _BAR, _POINT = b"\t\n:;,/|."
_ZERO, _ONE, _UNDERSCORE = b"01_"
_INTEGER_WIDTH: Final = 20
_TEXTS: Final = Ragged.from_sequences(
    [
        "BaseQRankSum=",
        "DP=",
        "ExcessHet=",
        "MLEAC=",
        "MLEAF=",
        "MQRankSum=",
        "RAW_MQandDP=",
        "ReadPosRankSum=",
        "\tGT:AD:DP:GQ:PL:SB\t",
        "\tGT:AD:DP:GQ:PGT:PID:PL:PS:SB\t",
        "\t<NON_REF>\t.\t.\tEND=",
        "\tGT:DP:GQ:MIN_DP:PL\t0/0:",
    ]
)
_BASE_QUALITY, _DP, _HETEROZYGOSITY, _COUNTS, _FRACTIONS, _MAPPING, _RAW, _POSITION = range(8)
_UNPHASED_FORMAT, _PHASED_FORMAT, _BLOCK_INFO, _BLOCK_FORMAT = range(8, 12)
_NAMES: Final = [field.name for field in FIELDS]
_STATISTICS: Final = np.array(
    [_NAMES.index(name) for name in ("BaseQRankSum", "ExcessHet", "MQRankSum", "ReadPosRankSum")]
)
"""Columns of the statistics that are written."""
NO_LINES: Final = Ragged(np.empty(0, dtype=np.uint8), np.zeros(1, dtype=np.int64))
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

    Returns
    -------
    uint8 text, w rows: lines, each with a newline at its end.
    """
    name = np.frombuffer(contig.encode("utf-8", "surrogateescape"), dtype=np.uint8)
    alleles = len(calls.alleles)
    numbers = annotations.allele_depths.data.size + calls.phred_likelihoods.data.size
    fixed = name.size + _TEXTS.data.size + 24 * (_INTEGER_WIDTH + FIXED_WIDTH)
    room = len(calls) * fixed + 2 * calls.alleles.data.size + numbers * (_INTEGER_WIDTH + 1)
    # PID repeats the alleles of another record.
    longest = int(calls.alleles.lengths.max(initial=0))
    room += 2 * alleles * (FIXED_WIDTH + _INTEGER_WIDTH + 2) + 2 * len(calls) * longest
    out = np.empty(room, dtype=np.uint8)
    is_own = np.ones(alleles, dtype=np.bool_)
    starts = calls.alleles.data[calls.alleles.offsets[:-1]]
    is_own[(starts == ord("*")) | (starts == ord("<"))] = False
    is_own[calls.allele_offsets[:-1]] = False
    records = _Records(
        CallColumns.of(calls, annotations),
        read_only(phasing.groups),
        read_only(phasing.is_flipped),
        read_only(annotations.strand_depths[:, 0]),
        read_only(annotations.mapping_qualities),
        read_only(is_own),
    )
    offsets = np.zeros(rows.size + 1, dtype=np.int64)
    _put_records(name, records, view_of(_TEXTS), read_only(rows), out, offsets)
    return Ragged(out[: offsets[-1]], offsets)


def item_lines(contig: str, items: Items, records: Ragged) -> bytes:
    """Write blocks and the lines of records, in their order."""
    name = Ragged.from_sequences([contig.encode("utf-8", "surrogateescape")])
    contigs = np.zeros(len(items.blocks), dtype=np.int64)
    return _item_lines(name, contigs, items, records)


def empty_lines(
    names: Ragged, starts: NDArray[np.int64], ends: NDArray[np.int64], bases: NDArray[np.uint8]
) -> bytes:
    """Write a block for each of n intervals without reads.

    Parameters
    ----------
    names
        uint8 text, n rows: their contigs.
    starts, ends
        int64[n], 0-based, half-open.
    bases
        uint8 text[n]: the first base of each.
    """
    blocks = np.zeros((starts.size, COLUMNS), dtype=np.int64)
    blocks[:, START], blocks[:, END], blocks[:, BASE] = starts, ends, bases
    rows = np.arange(starts.size)
    return _item_lines(names, rows, Items(blocks, rows), NO_LINES)


def _item_lines(names: Ragged, contigs: NDArray[np.int64], items: Items, records: Ragged) -> bytes:
    """Write items; block k is of the contig of row `contigs[k]` of the names."""
    texts = _TEXTS.lengths[[_BLOCK_INFO, _BLOCK_FORMAT]].sum()
    line = int(texts) + COLUMNS * (_INTEGER_WIDTH + 1) + 8
    room = len(items.blocks) * line + int(names.lengths[contigs].sum()) + records.data.size
    out = np.empty(room, dtype=np.uint8)
    end = _put_items(
        view_of(names),
        read_only(contigs),
        read_only(items.blocks),
        read_only(items.order),
        view_of(_TEXTS),
        view_of(records),
        out,
    )
    return out[:end].tobytes()


@njit
def _put_row(out: NDArray[np.uint8], at: Integer, texts: RaggedView, row: Integer) -> Integer:
    start = texts.offsets[row]
    length = np.int64(texts.offsets[row + 1] - start)
    copy_bytes(texts.data, start, out, at, length)
    return at + length


@njit
def _put_items(
    names: RaggedView,
    contigs: NDArray[np.int64],
    blocks: NDArray[np.int64],
    order: NDArray[np.int64],
    texts: RaggedView,
    records: RaggedView,
    out: NDArray[np.uint8],
) -> Integer:
    """Write blocks, and for a negative item a finished record, in their order; return the end."""
    at: Integer = np.int64(0)
    for item in order:
        if item < 0:
            at = _put_row(out, at, records, -1 - item)
            continue
        at = _put_row(out, at, names, contigs[item])
        out[at] = _TAB
        at = put_integer(out, at + 1, blocks[item, START] + 1)
        out[at], out[at + 1], out[at + 2] = _TAB, _POINT, _TAB
        out[at + 3] = blocks[item, BASE]
        at = _put_row(out, at + 4, texts, np.int64(_BLOCK_INFO))
        at = put_integer(out, at, blocks[item, END])
        at = _put_row(out, at, texts, np.int64(_BLOCK_FORMAT))
        for column in (DEPTH, QUALITY, MIN_DEPTH):
            at = put_integer(out, at, blocks[item, column])
            out[at] = _COLON
            at += 1
        out[at], out[at + 1] = _ZERO, _COMMA
        at = put_integer(out, at + 2, blocks[item, HETEROZYGOUS])
        out[at] = _COMMA
        at = put_integer(out, at + 1, blocks[item, HOMOZYGOUS])
        out[at] = _NEWLINE
        at += 1
    return at


@njit
def _put_records(
    name: NDArray[np.uint8],
    records: _Records,
    texts: RaggedView,
    rows: NDArray[np.int64],
    out: NDArray[np.uint8],
    offsets: NDArray[np.int64],
) -> None:
    """Write all lines, and where they end."""
    calls = records.calls
    at: Integer = np.int64(0)
    for k in range(rows.size):
        record = rows[k]
        copy_bytes(name, 0, out, at, name.size)
        at += name.size
        out[at] = _TAB
        at = put_integer(out, at + 1, calls.starts[record] + 1)
        out[at], out[at + 1] = _TAB, _POINT
        at = put_alleles(out, at + 2, calls, record)
        out[at] = _TAB
        at = put_quality(out, at + 1, calls.qualities[record])
        out[at], out[at + 1], out[at + 2] = _TAB, _POINT, _TAB
        at = _put_info(out, at + 3, texts, records, record)
        is_phased = records.groups[record] != UNPHASED
        at = _put_row(out, at, texts, np.int64(_PHASED_FORMAT if is_phased else _UNPHASED_FORMAT))
        at = _put_sample(out, at, records, record)
        out[at] = _NEWLINE
        at += 1
        offsets[k + 1] = at


@njit
def _put_info(
    out: NDArray[np.uint8], at: Integer, texts: RaggedView, records: _Records, record: Integer
) -> Integer:
    """Write INFO; DP comes second, so that all fields after it follow a semicolon."""
    calls = records.calls
    start = at
    at = _put_statistic(out, at, texts, calls, record, np.int64(0), np.int64(_BASE_QUALITY))
    if at > start:
        out[at] = _SEMICOLON
        at += 1
    at = put_integer(out, _put_row(out, at, texts, np.int64(_DP)), calls.depths[record])
    at = _put_statistic(out, at, texts, calls, record, np.int64(1), np.int64(_HETEROZYGOSITY))
    called = called_alleles(calls, record)
    for field in (_COUNTS, _FRACTIONS):
        if field == _FRACTIONS and called == 0:
            continue
        out[at] = _SEMICOLON
        at = _put_row(out, at + 1, texts, np.int64(field))
        first, end = calls.allele_offsets[record] + 1, calls.allele_offsets[record + 1]
        for allele in range(first, end):
            if allele > first:
                out[at] = _COMMA
                at += 1
            count = np.int64(calls.likely_counts[allele])
            if field == _COUNTS:
                at = put_integer(out, at, count)
            else:
                at = put_fraction(out, at, min(1.0, count / called))
    at = _put_statistic(out, at, texts, calls, record, np.int64(2), np.int64(_MAPPING))
    out[at] = _SEMICOLON
    at = _put_row(out, at + 1, texts, np.int64(_RAW))
    at = put_integer(out, at, records.mapping_qualities[record, 0])
    out[at] = _COMMA
    at = put_integer(out, at + 1, records.mapping_qualities[record, 1])
    return _put_statistic(out, at, texts, calls, record, np.int64(3), np.int64(_POSITION))


@njit
def _put_statistic(
    out: NDArray[np.uint8],
    at: Integer,
    texts: RaggedView,
    calls: CallColumns,
    record: Integer,
    number: Integer,
    text: Integer,
) -> Integer:
    """Write a statistic if it is defined, after a semicolon, but the first."""
    value = calls.statistics[record, _STATISTICS[number]]
    if not math.isfinite(value):
        return at
    if number:
        out[at] = _SEMICOLON
        at += 1
    return put_fixed(out, _put_row(out, at, texts, text), value, _DECIMALS[number])


@njit
def _put_sample(out: NDArray[np.uint8], at: Integer, records: _Records, record: Integer) -> Integer:
    """Write the fields of the sample of a record, with its phase if it has one; return the end."""
    calls, group = records.calls, records.groups[record]
    at = _put_genotype(out, at, records, record)
    out[at] = _COLON
    is_called = calls.genotypes[record, 0, 0] >= 0  # GATK has no depths without a call
    if is_called:
        at = put_values(out, at + 1, calls.allele_depths, record)
        out[at] = _COLON
        at = put_integer(out, at + 1, calls.sample_depths[record, 0])
    else:
        out[at + 1], out[at + 2], out[at + 3] = _POINT, _COLON, _POINT
        at += 4
    out[at] = _COLON
    at = put_integer(out, at + 1, np.int64(calls.genotype_qualities[record, 0]))
    if group != UNPHASED:
        first = _ONE if records.is_flipped[record] else _ZERO
        out[at], out[at + 1], out[at + 2] = _COLON, first, _BAR
        out[at + 3], out[at + 4] = _ONE + _ZERO - first, _COLON
        at = put_integer(out, at + 5, calls.starts[group] + 1)
        row = calls.allele_offsets[group]
        for allele in range(row, row + 2):
            out[at] = _UNDERSCORE
            at = _put_row(out, at + 1, calls.alleles, allele)
    out[at] = _COLON
    at = put_values(out, at + 1, calls.phred_likelihoods, record)
    if group != UNPHASED:
        out[at] = _COLON
        at = put_integer(out, at + 1, calls.starts[group] + 1)
    if not is_called:
        out[at], out[at + 1] = _COLON, _POINT
        return at + 2
    for k in range(records.strand_depths.shape[1]):
        out[at] = _COMMA if k else _COLON
        at = put_integer(out, at + 1, records.strand_depths[record, k])
    return at


@njit
def _put_genotype(
    out: NDArray[np.uint8], at: Integer, records: _Records, record: Integer
) -> Integer:
    """Write GT; of a phased record, with the ALT where its phase says, if it is heterozygous."""
    calls = records.calls
    first = np.int64(calls.genotypes[record, 0, 0])
    second = np.int64(calls.genotypes[record, 0, 1])
    separator = _SLASH
    if records.groups[record] != UNPHASED:
        separator = _BAR
        named = first if records.is_flipped[record] else second
        is_own = named >= 0 and records.is_own[calls.allele_offsets[record] + max(named, 0)]
        if first != second and not is_own:
            first, second = second, first
    at = put_known(out, at, first)
    out[at] = separator
    return put_known(out, at + 1, second)


@dataclass(frozen=True, slots=True)
class GvcfPart:
    """Records and reference positions of a segment.

    Attributes
    ----------
    contig
        Name of the contig.
    positions
        The positions.
    starts, ends
        int64[v]: the interval of REF of the records there.
    lines
        uint8 text, v rows.
    """

    contig: str
    positions: ReferencePositions
    starts: NDArray[np.int64]
    ends: NDArray[np.int64]
    lines: Ragged


def gvcf_part(
    contig: str,
    calls: VariantCalls,
    annotations: Annotations,
    chosen: NDArray[np.bool_],
    positions: ReferencePositions,
    phasing: Phasing,
) -> GvcfPart:
    """Format the records of a segment.

    Parameters
    ----------
    contig
        Name of the contig.
    calls
        v records.
    annotations
        Of these records.
    chosen
        bool[v]: the records at the positions.
    positions
        The positions.
    phasing
        Of the records.
    """
    rows = np.flatnonzero(chosen)
    lines = record_lines(contig, calls, annotations, phasing, rows)
    starts = calls.starts[rows]
    ends = starts + calls.alleles.lengths[calls.allele_offsets[rows]]
    return GvcfPart(contig, positions, starts, ends, lines)


class JoinedLines:
    """Lines of all parts, in order; blocks go on from part to part."""

    def __init__(self) -> None:
        self._joiner = BlockJoiner()
        self._contig = ""

    def add(self, part: bytes | GvcfPart | EmptyIntervals) -> bytes:
        """Return the lines that are complete with a part, or with intervals of other contigs.

        Lines of a VCF without blocks are returned as they are.
        """
        if isinstance(part, bytes):
            return part
        if isinstance(part, EmptyIntervals):
            return self.finish() + _blocks_of(part)
        before = self.finish() if part.contig != self._contig else b""
        self._contig = part.contig
        items = self._joiner.add(part.positions, part.starts, part.ends)
        return before + item_lines(part.contig, items, part.lines)

    def finish(self) -> bytes:
        """Return the last line of a contig, if there is one."""
        return item_lines(self._contig, self._joiner.finish(), NO_LINES)


def _blocks_of(empty: EmptyIntervals) -> bytes:
    """Return a block for each interval."""
    intervals = empty.intervals
    names = Ragged.from_names(intervals.contigs)
    return empty_lines(names, intervals.starts, intervals.ends, empty.bases)
