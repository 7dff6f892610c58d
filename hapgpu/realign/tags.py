"""Optional fields of realigned records, in BAM encoding, rewritten in bulk."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hapgpu.batch import Ragged, ReadBatch
from hapgpu.jit import njit
from hapgpu.realign.cigar import (
    DELETION,
    INSERTION,
    Rows,
    cigar_text,
    consumes_query,
    consumes_reference,
    is_alignment,
    length_of,
    operation_of,
    row_of,
    rows_of,
    with_room,
    write_number,
)

_UNMAPPED, _REVERSE = 4, 16  # SAM flags
_ANY_BASE = 15
_HEAD = 3  # bytes of a field before its value: two of the name, one of the type
_LONGEST_NUMBER = 11


def _name(text: str) -> int:
    """Turn the name of a field into a number of its own."""
    first, second = text.encode("ascii")
    return first | second << 8


def _base_codes() -> NDArray[np.uint8]:
    """Four-bit codes of bases as htslib reads them from text."""
    codes = np.full(256, _ANY_BASE, dtype=np.uint8)
    for code, letter in enumerate("=ACMGRSVTWYHKDBN"):
        codes[[ord(letter), ord(letter.lower())]] = code
    for letter, same in zip("Uu0123", "TTACGT", strict=True):
        codes[ord(letter)] = codes[ord(same)]
    return codes


def _value_sizes() -> NDArray[np.int64]:
    """Bytes of a value by its type; 0 where the type does not tell."""
    sizes = np.zeros(256, dtype=np.int64)
    for types, size in (("AcC", 1), ("sS", 2), ("iIf", 4), ("d", 8)):
        sizes[list(types.encode())] = size
    return sizes


_BASE_CODES = _base_codes()
_VALUE_SIZES = _value_sizes()
_AS, _XS, _NM, _MD = (_name(text) for text in ("AS", "XS", "NM", "MD"))
_OC, _OP, _OA = (_name(text) for text in ("OC", "OP", "OA"))
_TEXT, _HEX, _ARRAY = b"ZHB"
_PLUS, _MINUS, _COMMA, _SEMICOLON, _CARET = b"+-,;^"
_INT8, _UINT8, _INT16, _UINT16, _INT32, _UINT32 = b"cCsSiI"


@dataclass(frozen=True, slots=True)
class NewTags:
    """What to write into n records.

    Attributes
    ----------
    changed
        bool[n]: the records to rewrite; the others keep their fields as they are.
    has_score, scores
        bool[n] and int32[n], for AS.
    has_second_score, second_scores
        bool[n] and int32[n], for XS.
    has_mismatches, edit_distances, mismatches
        bool[n], int32[n] and uint8 text, for NM and MD.
    has_original
        bool[n]: whether OC, OP and OA shall tell of the alignment before; only records that
        were mapped get them.
    """

    changed: NDArray[np.bool_]
    has_score: NDArray[np.bool_]
    scores: NDArray[np.int32]
    has_second_score: NDArray[np.bool_]
    second_scores: NDArray[np.int32]
    has_mismatches: NDArray[np.bool_]
    edit_distances: NDArray[np.int32]
    mismatches: Ragged
    has_original: NDArray[np.bool_]


def rewrite_tags(
    reads: ReadBatch, dropped: Iterable[str], new: NewTags, reference_names: Ragged
) -> tuple[Ragged, NDArray[np.bool_]]:
    """Take fields out of records and append new ones.

    Fields that are written anew are taken out by themselves. An OA is appended to, as the SAM
    tags specification allows; numbers take the smallest type that holds them.

    Parameters
    ----------
    reads
        n records as they were.
    dropped
        Two-letter names of the fields to take out of changed records.
    new
        What to write.
    reference_names
        uint8 text, one row per @SQ line of the header of `reads`.

    Returns
    -------
    The fields in BAM encoding, uint8, n rows, and bool[n]: changed records whose fields were
    malformed, which have no fields now.
    """
    is_dropped = np.zeros(2**16, dtype=np.bool_)
    is_dropped[[_name(name) for name in dropped]] = True
    originals = _Originals(
        reads.flags,
        reads.reference_ids,
        reads.positions,
        reads.mapping_qualities,
        rows_of(cigar_text(reads.cigars)),
        rows_of(reference_names),
    )
    columns = _NewColumns(
        new.changed,
        new.has_score,
        new.scores,
        new.has_second_score,
        new.second_scores,
        new.has_mismatches,
        new.edit_distances,
        rows_of(new.mismatches),
        new.has_original & _were_mapped(reads, len(reference_names)),
    )
    data, offsets, malformed = _rewrite_rows(rows_of(reads.tags), originals, columns, is_dropped)
    return Ragged(data, offsets), malformed


def mismatch_tags(
    bases: Ragged,
    cigars: Ragged,
    positions: NDArray[np.int32],
    references: Ragged,
    reference_index: NDArray[np.int32],
) -> tuple[NDArray[np.int32], Ragged]:
    """Count and spell differences from the reference as `samtools calmd` does.

    Parameters
    ----------
    bases
        uint8 text, n rows: the reads, soft-clipped bases among them.
    cigars
        uint32 in BAM encoding, n rows.
    positions
        int32[n], 0-based.
    references
        uint8 text, upper or lower case.
    reference_index
        int32[n], the reference of each read; -1 for none.

    Returns
    -------
    NM, int32[n], and MD, uint8 text. MD is empty, and NM 0, for reads without bases, reference
    or position; what lies outside the reference is left out of both.
    """
    distances, data, offsets = _mismatch_rows(
        rows_of(bases), rows_of(cigars), positions, rows_of(references), reference_index
    )
    return distances, Ragged(data, offsets)


def _were_mapped(reads: ReadBatch, references: int) -> NDArray[np.bool_]:
    has_reference = (reads.reference_ids >= 0) & (reads.reference_ids < references)
    mapped: NDArray[np.bool_] = (
        (reads.flags & _UNMAPPED == 0) & has_reference & (reads.positions >= 0)
    )
    return mapped


class _Originals(NamedTuple):
    """The alignments that records had, for OC, OP and OA."""

    flags: NDArray[np.uint16]
    reference_ids: NDArray[np.int32]
    positions: NDArray[np.int32]
    mapping_qualities: NDArray[np.uint8]
    cigars: Rows
    reference_names: Rows


class _NewColumns(NamedTuple):
    """NewTags for compiled code."""

    changed: NDArray[np.bool_]
    has_score: NDArray[np.bool_]
    scores: NDArray[np.int32]
    has_second_score: NDArray[np.bool_]
    second_scores: NDArray[np.int32]
    has_mismatches: NDArray[np.bool_]
    edit_distances: NDArray[np.int32]
    mismatches: Rows
    has_original: NDArray[np.bool_]


@njit
def _rewrite_rows(
    tags: Rows, originals: _Originals, new: _NewColumns, is_dropped: NDArray[np.bool_]
) -> tuple[NDArray[np.uint8], NDArray[np.int64], NDArray[np.bool_]]:
    count = tags.offsets.size - 1
    offsets = np.zeros(count + 1, dtype=np.int64)
    malformed = np.zeros(count, dtype=np.bool_)
    out = np.empty(tags.data.size + 64 * count, dtype=np.uint8)
    for row in range(count):
        fields = row_of(tags, row)
        begin = offsets[row]
        out = with_room(out, begin + fields.size + _largest_addition(originals, new, row))
        if not new.changed[row]:
            end = _put_bytes(out, begin, fields)
        elif _are_well_formed(fields):
            end = _put_kept(out, begin, fields, new, row, is_dropped)
            end = _put_new(out, end, new, row)
            if new.has_original[row]:
                end = _put_originals(out, end, fields, originals, row)
        else:
            malformed[row] = True
            end = begin
        offsets[row + 1] = end
    return out[: offsets[-1]], offsets, malformed


@njit
def _largest_addition(originals: _Originals, new: _NewColumns, row: int) -> int:
    """Bytes that new fields take at most beyond those of the fields before."""
    number = _HEAD + 4
    size = 3 * number
    if new.has_mismatches[row]:
        size += _HEAD + row_of(new.mismatches, row).size + 1
    if new.has_original[row]:
        cigar = row_of(originals.cigars, row).size
        name = row_of(originals.reference_names, originals.reference_ids[row]).size
        entry = name + cigar + 3 * _LONGEST_NUMBER + 7
        size += _HEAD + cigar + 1 + number + _HEAD + entry + 1
    return size


@njit
def _are_well_formed(fields: NDArray[np.uint8]) -> bool:
    at = 0
    while at < fields.size:
        at = _field_end(fields, at)
        if at < 0:
            return False
    return True


@njit
def _field_end(fields: NDArray[np.uint8], at: int) -> int:
    """Where the field that begins at `at` ends; -1 if it is malformed."""
    value = at + _HEAD
    if value >= fields.size:
        return -1
    kind = fields[at + 2]
    end = value + _VALUE_SIZES[kind]
    if kind in (_TEXT, _HEX):
        while end < fields.size and fields[end] != 0:
            end += 1
        end += 1
    elif kind == _ARRAY:
        if value + 5 > fields.size:
            return -1
        size = _VALUE_SIZES[fields[value]]
        if size == 0:
            return -1
        end = value + 5 + size * _integer(fields, value + 1, _UINT32)
    elif end == value:
        return -1
    return end if end <= fields.size else -1


@njit
def _integer(fields: NDArray[np.uint8], at: int, kind: int) -> int:
    """Integer of a type at a place."""
    size = _VALUE_SIZES[kind]
    number = 0
    for k in range(size):
        number |= int(np.int64(fields[at + k])) << (8 * k)
    is_signed = kind in (_INT8, _INT16, _INT32)
    if is_signed and number >> (8 * size - 1):
        number -= 1 << (8 * size)
    return number


@njit
def _name_at(fields: NDArray[np.uint8], at: int) -> int:
    return int(np.int64(fields[at]) | np.int64(fields[at + 1]) << 8)


@njit
def _find(fields: NDArray[np.uint8], name: int) -> int:
    """Where the first field of this name begins in well-formed fields; -1 if there is none."""
    at = 0
    while at < fields.size:
        if _name_at(fields, at) == name:
            return at
        at = _field_end(fields, at)
    return -1


@njit
def _is_renewed(new: _NewColumns, row: int, name: int) -> bool:
    if name == _AS:
        return bool(new.has_score[row])
    if name == _XS:
        return bool(new.has_second_score[row])
    if name in (_NM, _MD):
        return bool(new.has_mismatches[row])
    return bool(new.has_original[row]) and name in (_OC, _OP, _OA)


@njit
def _put_kept(
    out: NDArray[np.uint8],
    end: int,
    fields: NDArray[np.uint8],
    new: _NewColumns,
    row: int,
    is_dropped: NDArray[np.bool_],
) -> int:
    at = 0
    while at < fields.size:
        following = _field_end(fields, at)
        name = _name_at(fields, at)
        if not is_dropped[name] and not _is_renewed(new, row, name):
            end = _put_bytes(out, end, fields[at:following])
        at = following
    return end


@njit
def _put_new(out: NDArray[np.uint8], end: int, new: _NewColumns, row: int) -> int:
    if new.has_score[row]:
        end = _put_integer(out, end, _AS, new.scores[row])
    if new.has_second_score[row]:
        end = _put_integer(out, end, _XS, new.second_scores[row])
    if new.has_mismatches[row]:
        end = _put_integer(out, end, _NM, new.edit_distances[row])
        end = _put_head(out, end, _MD, _TEXT)
        end = _put_byte(out, _put_bytes(out, end, row_of(new.mismatches, row)), 0)
    return end


@njit
def _put_originals(
    out: NDArray[np.uint8], end: int, fields: NDArray[np.uint8], originals: _Originals, row: int
) -> int:
    end = _put_head(out, end, _OC, _TEXT)
    end = _put_byte(out, _put_bytes(out, end, row_of(originals.cigars, row)), 0)
    end = _put_integer(out, end, _OP, int(originals.positions[row]) + 1)
    end = _put_head(out, end, _OA, _TEXT)
    before = _find(fields, _OA)
    if before >= 0 and fields[before + 2] == _TEXT:
        text = fields[before + _HEAD : _field_end(fields, before) - 1]
        end = _put_bytes(out, end, text)
    return _put_byte(out, _put_original_alignment(out, end, fields, originals, row), 0)


@njit
def _put_original_alignment(
    out: NDArray[np.uint8], end: int, fields: NDArray[np.uint8], originals: _Originals, row: int
) -> int:
    """Write an entry of OA: RNAME,POS,strand,CIGAR,MAPQ,NM;."""
    name = row_of(originals.reference_names, originals.reference_ids[row])
    end = _put_byte(out, _put_bytes(out, end, name), _COMMA)
    end = _put_byte(out, write_number(int(originals.positions[row]) + 1, out, end), _COMMA)
    strand = _MINUS if originals.flags[row] & _REVERSE else _PLUS
    end = _put_byte(out, _put_byte(out, end, strand), _COMMA)
    end = _put_byte(out, _put_bytes(out, end, row_of(originals.cigars, row)), _COMMA)
    quality = int(np.int64(originals.mapping_qualities[row]))
    end = _put_byte(out, write_number(quality, out, end), _COMMA)
    distance = _find(fields, _NM)
    if distance >= 0 and _is_integer(fields[distance + 2]):
        number = _integer(fields, distance + _HEAD, fields[distance + 2])
        if number < 0:
            end = _put_byte(out, end, _MINUS)
        end = write_number(abs(number), out, end)
    return _put_byte(out, end, _SEMICOLON)


@njit
def _is_integer(kind: int) -> bool:
    return kind in (_INT8, _UINT8, _INT16, _UINT16, _INT32, _UINT32)


@njit
def _put_byte(out: NDArray[np.uint8], end: int, value: int) -> int:
    out[end] = value
    return end + 1


@njit
def _put_bytes(out: NDArray[np.uint8], end: int, values: NDArray[np.uint8]) -> int:
    for value in values:
        out[end] = value
        end += 1
    return end


@njit
def _put_head(out: NDArray[np.uint8], end: int, name: int, kind: int) -> int:
    return _put_byte(out, _put_byte(out, _put_byte(out, end, name & 255), name >> 8), kind)


@njit
def _put_integer(out: NDArray[np.uint8], end: int, name: int, number: int) -> int:
    """Write a field of 32 bits or less."""
    kind, size = _smallest_type(number)
    end = _put_head(out, end, name, kind)
    for k in range(size):
        out[end + k] = number >> (8 * k) & 255
    return end + size


@njit
def _smallest_type(number: int) -> tuple[int, int]:
    """Type and bytes that samtools takes for an integer."""
    if number < 0:
        if number >= -(2**7):
            return _INT8, 1
        return (_INT16, 2) if number >= -(2**15) else (_INT32, 4)
    if number < 2**8:
        return _UINT8, 1
    return (_UINT16, 2) if number < 2**16 else (_UINT32, 4)


@njit
def _mismatch_rows(
    bases: Rows,
    cigars: Rows,
    positions: NDArray[np.int32],
    references: Rows,
    reference_index: NDArray[np.int32],
) -> tuple[NDArray[np.int32], NDArray[np.uint8], NDArray[np.int64]]:
    count = positions.size
    distances = np.zeros(count, dtype=np.int32)
    offsets = np.zeros(count + 1, dtype=np.int64)
    out = np.empty(8 * count, dtype=np.uint8)
    for row in range(count):
        end = offsets[row]
        read = row_of(bases, row)
        if read.size > 0 and reference_index[row] >= 0 and positions[row] >= 0:
            reference = row_of(references, reference_index[row])
            cigar = row_of(cigars, row)
            out = with_room(out, end + _largest_text(read, cigar, reference))
            end, distances[row] = _put_mismatches(out, end, read, cigar, positions[row], reference)
        offsets[row + 1] = end
    return distances, out[: offsets[-1]], offsets


@njit
def _largest_text(
    read: NDArray[np.uint8], cigar: NDArray[np.uint32], reference: NDArray[np.uint8]
) -> int:
    """Bytes that MD can take: two a base of the read, and the deletions."""
    size, deleted = 2 * read.size + _LONGEST_NUMBER, 0
    for element in cigar:
        if operation_of(element) == DELETION:
            size += _LONGEST_NUMBER + 1
            deleted += length_of(element)
    return size + min(deleted, reference.size)


@njit
def _put_mismatches(
    out: NDArray[np.uint8],
    end: int,
    read: NDArray[np.uint8],
    cigar: NDArray[np.uint32],
    position: int,
    reference: NDArray[np.uint8],
) -> tuple[int, int]:
    """Write MD; return its end and NM. Stops where read or reference ends, as calmd does."""
    matched, distance, on_read, on_reference = 0, 0, 0, int(position)
    for element in cigar:
        operation, length = operation_of(element), length_of(element)
        there = length
        if is_alignment(operation):
            there = min(length, max(0, min(read.size - on_read, reference.size - on_reference)))
            bases = read[on_read : on_read + there]
            against = reference[on_reference : on_reference + there]
            end, matched, mismatched = _put_aligned(out, end, matched, bases, against)
            distance += mismatched
        elif operation == DELETION:
            there = min(length, max(0, reference.size - on_reference))
            against = reference[on_reference : on_reference + there]
            end = _put_deleted(out, end, matched, against)
            matched, distance = 0, distance + there
        elif operation == INSERTION:
            distance += length
        if there < length:
            break
        on_read += length if consumes_query(operation) else 0
        on_reference += length if consumes_reference(operation) else 0
    return write_number(matched, out, end), distance


@njit
def _put_aligned(
    out: NDArray[np.uint8],
    end: int,
    matched: int,
    bases: NDArray[np.uint8],
    against: NDArray[np.uint8],
) -> tuple[int, int, int]:
    """Write mismatches; return the end, matches since the last one, and how many there are."""
    mismatched = 0
    for k in range(bases.size):
        if _matches(bases[k], against[k]):
            matched += 1
        else:
            end = _put_byte(out, write_number(matched, out, end), _upper(against[k]))
            matched, mismatched = 0, mismatched + 1
    return end, matched, mismatched


@njit
def _put_deleted(out: NDArray[np.uint8], end: int, matched: int, deleted: NDArray[np.uint8]) -> int:
    end = _put_byte(out, write_number(matched, out, end), _CARET)
    for base in deleted:
        end = _put_byte(out, end, _upper(base))
    return end


@njit
def _matches(base: int, reference_base: int) -> bool:
    """Whether calmd takes two bases as equal: `=` always, N never."""
    code = _BASE_CODES[base]
    return bool(code == 0 or (code == _BASE_CODES[reference_base] and code != _ANY_BASE))


@njit
def _upper(letter: int) -> int:
    return letter - 32 if ord("a") <= letter <= ord("z") else letter
