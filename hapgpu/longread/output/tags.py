"""Tags of mappings with base alignments in minimap2's order (`write_tags`), and MD, cs and ds.

Bases are codes; a code above 3 is any ambiguous base, and equal codes are equal bases. Letters are
on the strand of the reference. Functions write as described in `hapgpu.io.text.builder`.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from hapgpu.arrays.bytes import Integer
from hapgpu.arrays.memory import Memory, read_u8
from hapgpu.cigar.encoding import DELETION, INSERTION
from hapgpu.io.text.builder import (
    put_byte,
    put_bytes,
    put_count,
    put_four_decimals,
    put_head,
    put_number_tag,
    put_word,
    tag_head,
)
from hapgpu.io.text.fields import TAB
from hapgpu.longread.align.batches import Row
from hapgpu.longread.options import Difference
from hapgpu.longread.output.cigars import (
    LOWER_CASE,
    UPPER_CASE,
    Alignment,
    backward_match_length,
    match_length,
    operation_at,
    put_letters,
)
from hapgpu.runtime.jit import njit, njit_inlined

_NM: Final = tag_head("NM", "i")
_MS: Final = tag_head("ms", "i")
_AS: Final = tag_head("AS", "i")
_NN: Final = tag_head("nn", "i")
_TP: Final = tag_head("tp", "A")
_CM: Final = tag_head("cm", "i")
_S1: Final = tag_head("s1", "i")
_S2: Final = tag_head("s2", "i")
_DE: Final = tag_head("de", "f")
_ZD: Final = tag_head("zd", "i")
RL: Final = tag_head("rl", "i")
_MD: Final = tag_head("MD", "Z")
_CS: Final = tag_head("cs", "Z")
_DS: Final = tag_head("ds", "Z")
_SHORT, _LONG = np.int64(0), np.int64(1)
_TYPES: Final = np.frombuffer(b"SPiI", dtype=np.uint8)
_TAG_MD, _TAG_CS, _TAG_LONG_CS, _TAG_DS = (
    Difference.MD.value,
    Difference.CS.value,
    Difference.LONG_CS.value,
    Difference.DS.value,
)


@njit_inlined
def edit_distance(mapping: Row) -> Integer:
    """Return the mismatches, ambiguous bases, and bases in gaps of an alignment (tag NM)."""
    errors = np.int64(mapping.length) - np.int64(mapping.matches)
    return errors + np.int64(mapping.ambiguous)


@njit_inlined
def divergence(mapping: Row) -> float:
    """Return the fraction of differences, a gap of any length as one (tag de)."""
    columns = np.int64(mapping.length) + mapping.ambiguous - mapping.gap_bases + mapping.gaps
    return float(1.0 - np.float64(mapping.matches) / np.float64(columns))


@njit
def put_tags(text: Memory, at: Integer, mapping: Row) -> Integer:
    """Write the tags from NM to zd; a mapping without an alignment has fewer."""
    is_primary = mapping.number == mapping.parent
    if mapping.operations:
        at = put_number_tag(text, at, _NM, edit_distance(mapping))
        at = put_number_tag(text, at, _MS, np.int64(mapping.first_dp_max))
        at = put_number_tag(text, at, _AS, np.int64(mapping.dp_score))
        at = put_number_tag(text, at, _NN, np.int64(mapping.ambiguous))
    kind = _TYPES[np.int64(is_primary) + 2 * np.int64(mapping.is_inversion)]
    at = put_byte(text, put_head(text, at, _TP), kind)
    at = put_number_tag(text, at, _CM, np.int64(mapping.anchors))
    at = put_number_tag(text, at, _S1, np.int64(mapping.score))
    if is_primary:
        at = put_number_tag(text, at, _S2, np.int64(mapping.second_score))
    if mapping.operations:
        at = put_four_decimals(text, put_head(text, at, _DE), divergence(mapping))
    if mapping.split:
        at = put_number_tag(text, at, _ZD, np.int64(mapping.split))
    return at


@njit
def put_difference(text: Memory, at: Integer, alignment: Alignment, tag: Integer) -> Integer:
    """Write the tag of a `Difference`, if there is an alignment."""
    if alignment.operation_count == 0:
        return at
    if tag == _TAG_MD:
        return put_md(text, put_head(text, at, _MD), alignment)
    if tag == _TAG_CS:
        return put_cs(text, put_head(text, at, _CS), alignment, _SHORT)
    if tag == _TAG_LONG_CS:
        return put_cs(text, put_head(text, at, _CS), alignment, _LONG)
    if tag == _TAG_DS:
        return put_ds(text, put_head(text, at, _DS), alignment)
    return at


@njit_inlined
def put_comment(text: Memory, at: Integer, read: Row, source: Memory) -> Integer:
    """Write a tab and the comment of a read, if there is one; `source` is the text of the reads."""
    if read.comment_length == 0:
        return at
    return put_bytes(text, put_byte(text, at, TAB), source, read.comment, read.comment_length)


_UPPER: Final = np.frombuffer(b"ACGTN", dtype=np.uint8)
_LOWER: Final = np.frombuffer(b"acgtn", dtype=np.uint8)
_LOWER_AT_8, _LOWER_AT_16 = _LOWER.astype(np.int64) << 8, _LOWER.astype(np.int64) << 16
_CARET, _COLON, _EQUAL, _STAR, _PLUS, _MINUS, _OPEN, _CLOSE = b"^:=*+-[]"


@njit
def put_md(text: Memory, at: Integer, alignment: Alignment) -> Integer:
    """Write the value of MD; a count of 0 at its end is left out."""
    queries, targets = alignment.query, alignment.target
    query, target, equal = np.int64(0), np.int64(0), np.int64(0)
    for k in range(alignment.operation_count):
        length, operation = operation_at(alignment, k)
        if operation == INSERTION:
            query += length
            continue
        if operation == DELETION:
            at = put_byte(text, put_count(text, at, equal), _CARET)
            at = put_letters(text, at, targets, target, length, UPPER_CASE)
            target += length
            equal = np.int64(0)
            continue
        end = query + length
        while query < end:
            run = match_length(queries, query, targets, target, end - query)
            equal += run
            query += run
            target += run
            if query < end:
                at = put_count(text, at, equal)
                at = put_byte(text, at, np.int64(_UPPER[read_u8(targets, target)]))
                equal = np.int64(0)
                query += 1
                target += 1
    return put_count(text, at, equal) if equal else at


@njit_inlined
def _put_aligned(
    text: Memory,
    at: Integer,
    alignment: Alignment,
    query: Integer,
    target: Integer,
    length: Integer,
    is_long: Integer,
) -> Integer:
    """Write aligned bases, from offsets in both sequences on, as cs has them."""
    queries, targets = alignment.query, alignment.target
    end = query + length
    while query < end:
        run = match_length(queries, query, targets, target, end - query)
        if run:
            if is_long:
                at = put_byte(text, at, _EQUAL)
                at = put_letters(text, at, queries, query, run, UPPER_CASE)
            else:
                at = put_count(text, put_byte(text, at, _COLON), run)
            query += run
            target += run
        while query < end:
            one, other = read_u8(targets, target), read_u8(queries, query)
            if one == other:
                break
            at = put_word(text, at, _STAR | _LOWER_AT_8[one] | _LOWER_AT_16[other], 3)
            query += 1
            target += 1
    return at


@njit
def put_cs(text: Memory, at: Integer, alignment: Alignment, is_long: Integer) -> Integer:
    """Write the value of cs, with equal bases as their number or, in long form, themselves."""
    query, target = np.int64(0), np.int64(0)
    for k in range(alignment.operation_count):
        length, operation = operation_at(alignment, k)
        if operation == INSERTION:
            at = put_byte(text, at, _PLUS)
            at = put_letters(text, at, alignment.query, query, length, LOWER_CASE)
            query += length
        elif operation == DELETION:
            at = put_byte(text, at, _MINUS)
            at = put_letters(text, at, alignment.target, target, length, LOWER_CASE)
            target += length
        else:
            at = _put_aligned(text, at, alignment, query, target, length, is_long)
            query += length
            target += length
    return at


@njit
def _put_gap(text: Memory, at: Integer, codes: Memory, start: Integer, length: Integer) -> Integer:
    """Write the bases of a gap, with those that it can move over in brackets.

    Parameters
    ----------
    text, at
        Where to write.
    codes
        Aligned bases of the sequence.
    start, length
        Where in them the gap starts, and its bases.
    """
    end = start + length
    left = backward_match_length(codes, start - 1, end - 1, start)
    right = match_length(codes, start, codes, end, codes.size - end)
    if left + right >= length:
        at = put_letters(text, put_byte(text, at, _OPEN), codes, start, length, LOWER_CASE)
        return put_byte(text, at, _CLOSE)
    if right:
        at = put_letters(text, put_byte(text, at, _OPEN), codes, start, right, LOWER_CASE)
        at = put_byte(text, at, _CLOSE)
    at = put_letters(text, at, codes, start + right, length - left - right, LOWER_CASE)
    if left:
        at = put_letters(text, put_byte(text, at, _OPEN), codes, end - left, left, LOWER_CASE)
        at = put_byte(text, at, _CLOSE)
    return at


@njit
def put_ds(text: Memory, at: Integer, alignment: Alignment) -> Integer:
    """Write the value of ds: cs with the ambiguity of gaps."""
    query, target = np.int64(0), np.int64(0)
    for k in range(alignment.operation_count):
        length, operation = operation_at(alignment, k)
        if operation == INSERTION:
            at = _put_gap(text, put_byte(text, at, _PLUS), alignment.query, query, length)
            query += length
        elif operation == DELETION:
            at = _put_gap(text, put_byte(text, at, _MINUS), alignment.target, target, length)
            target += length
        else:
            at = _put_aligned(text, at, alignment, query, target, length, _SHORT)
            query += length
            target += length
    return at
