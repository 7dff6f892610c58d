"""Tags of mappings with base alignments in minimap2's order (`write_tags`), and MD, cs and ds.

Bases are codes; a code above 3 is any ambiguous base, and equal codes are equal bases. Letters are
on the strand of the reference. Positions are addresses; see `hapgpu.io.text.at_addresses`.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from hapgpu.arrays.bytes import Integer
from hapgpu.arrays.memory import load_u8_at, load_u32_at
from hapgpu.cigar.encoding import DELETION, INSERTION
from hapgpu.io.text.at_addresses import (
    put_byte,
    put_copy,
    put_count_at,
    put_fraction,
    put_head,
    put_number_tag,
    put_two,
    tag_head,
)
from hapgpu.io.text.fields import TAB
from hapgpu.longread.align.batches import Row
from hapgpu.longread.options import Difference
from hapgpu.longread.output.cigars import (
    LOWER_CASE,
    OPERATION_BYTES,
    UPPER_CASE,
    Alignment,
    backward_match_length,
    match_length,
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
def put_tags(at: Integer, mapping: Row) -> Integer:
    """Write the tags from NM to zd; a mapping without an alignment has fewer."""
    is_primary = mapping.number == mapping.parent
    if mapping.operations:
        at = put_number_tag(at, _NM, edit_distance(mapping))
        at = put_number_tag(at, _MS, np.int64(mapping.first_dp_max))
        at = put_number_tag(at, _AS, np.int64(mapping.dp_score))
        at = put_number_tag(at, _NN, np.int64(mapping.ambiguous))
    kind = _TYPES[np.int64(is_primary) + 2 * np.int64(mapping.is_inversion)]
    at = put_byte(put_head(at, _TP), kind)
    at = put_number_tag(at, _CM, np.int64(mapping.anchors))
    at = put_number_tag(at, _S1, np.int64(mapping.score))
    if is_primary:
        at = put_number_tag(at, _S2, np.int64(mapping.second_score))
    if mapping.operations:
        at = put_fraction(put_head(at, _DE), divergence(mapping))
    if mapping.split:
        at = put_number_tag(at, _ZD, np.int64(mapping.split))
    return at


@njit
def put_difference(at: Integer, mapping: Row, alignment: Alignment, tag: Integer) -> Integer:
    """Write the tag of a `Difference`, if there is an alignment."""
    if alignment.operation_count == 0:
        return at
    if tag == _TAG_MD:
        return put_md(put_head(at, _MD), alignment)
    if tag == _TAG_CS:
        return put_cs(put_head(at, _CS), alignment, _SHORT)
    if tag == _TAG_LONG_CS:
        return put_cs(put_head(at, _CS), alignment, _LONG)
    if tag == _TAG_DS:
        query_length = np.int64(mapping.query_end) - mapping.query_start
        target_length = np.int64(mapping.target_end) - mapping.target_start
        return put_ds(put_head(at, _DS), alignment, query_length, target_length)
    return at


@njit_inlined
def put_comment(at: Integer, read: Row) -> Integer:
    """Write a tab and the comment of a read, if there is one."""
    if read.comment_length == 0:
        return at
    return put_copy(put_byte(at, TAB), read.comment, read.comment_length)


_UPPER: Final = np.frombuffer(b"ACGTN", dtype=np.uint8)
_LOWER: Final = np.frombuffer(b"acgtn", dtype=np.uint8)
_CARET, _COLON, _EQUAL, _STAR, _PLUS, _MINUS, _OPEN, _CLOSE = b"^:=*+-[]"


@njit
def put_md(at: Integer, alignment: Alignment) -> Integer:
    """Write the value of MD; a count of 0 at its end is left out."""
    query, target = alignment.query, alignment.target
    equal: Integer = np.int64(0)
    for k in range(alignment.operation_count):
        word = load_u32_at(alignment.operations + OPERATION_BYTES * k)
        length, operation = word >> 4, word & 15
        if operation == INSERTION:
            query += length
            continue
        if operation == DELETION:
            at = put_byte(put_count_at(at, equal), _CARET)
            at = put_letters(at, target, length, UPPER_CASE)
            target += length
            equal = np.int64(0)
            continue
        end = query + length
        while query < end:
            run = match_length(query, target, end - query)
            equal += run
            query += run
            target += run
            if query < end:
                at = put_byte(put_count_at(at, equal), np.int64(_UPPER[load_u8_at(target)]))
                equal = np.int64(0)
                query += 1
                target += 1
    return put_count_at(at, equal) if equal else at


@njit_inlined
def _put_aligned(
    at: Integer, query: Integer, target: Integer, length: Integer, is_long: Integer
) -> Integer:
    """Write aligned bases as cs has them."""
    end = query + length
    while query < end:
        run = match_length(query, target, end - query)
        if run:
            if is_long:
                at = put_letters(put_byte(at, _EQUAL), query, run, UPPER_CASE)
            else:
                at = put_count_at(put_byte(at, _COLON), run)
            query += run
            target += run
        while query < end:
            one, other = load_u8_at(target), load_u8_at(query)
            if one == other:
                break
            at = put_two(put_byte(at, _STAR), _LOWER[one], _LOWER[other])
            query += 1
            target += 1
    return at


@njit
def put_cs(at: Integer, alignment: Alignment, is_long: Integer) -> Integer:
    """Write the value of cs, with equal bases as their number or, in long form, themselves."""
    query, target = alignment.query, alignment.target
    for k in range(alignment.operation_count):
        word = load_u32_at(alignment.operations + OPERATION_BYTES * k)
        length, operation = word >> 4, word & 15
        if operation == INSERTION:
            at = put_letters(put_byte(at, _PLUS), query, length, LOWER_CASE)
            query += length
        elif operation == DELETION:
            at = put_letters(put_byte(at, _MINUS), target, length, LOWER_CASE)
            target += length
        else:
            at = _put_aligned(at, query, target, length, is_long)
            query += length
            target += length
    return at


@njit
def _put_gap(
    at: Integer, codes: Integer, length: Integer, before: Integer, after: Integer
) -> Integer:
    """Write the bases of a gap, with those that it can move over in brackets.

    Parameters
    ----------
    at
        Where to write.
    codes, length
        Bases of the gap.
    before, after
        Numbers of aligned bases of the same sequence before and after them.
    """
    left = backward_match_length(codes - 1, codes + length - 1, before)
    right = match_length(codes, codes + length, after)
    if left + right >= length:
        return put_byte(put_letters(put_byte(at, _OPEN), codes, length, LOWER_CASE), _CLOSE)
    if right:
        at = put_byte(put_letters(put_byte(at, _OPEN), codes, right, LOWER_CASE), _CLOSE)
    at = put_letters(at, codes + right, length - left - right, LOWER_CASE)
    if left:
        at = put_byte(
            put_letters(put_byte(at, _OPEN), codes + length - left, left, LOWER_CASE), _CLOSE
        )
    return at


@njit
def put_ds(
    at: Integer, alignment: Alignment, query_length: Integer, target_length: Integer
) -> Integer:
    """Write the value of ds: cs with the ambiguity of gaps; lengths are those of aligned bases."""
    query, target = alignment.query, alignment.target
    query_end, target_end = query + query_length, target + target_length
    for k in range(alignment.operation_count):
        word = load_u32_at(alignment.operations + OPERATION_BYTES * k)
        length, operation = word >> 4, word & 15
        if operation == INSERTION:
            before, after = query - alignment.query, query_end - query - length
            at = _put_gap(put_byte(at, _PLUS), query, length, before, after)
            query += length
        elif operation == DELETION:
            before, after = target - alignment.target, target_end - target - length
            at = _put_gap(put_byte(at, _MINUS), target, length, before, after)
            target += length
        else:
            at = _put_aligned(at, query, target, length, _SHORT)
            query += length
            target += length
    return at
