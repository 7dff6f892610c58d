"""Differences between reads and reference: the values of the tags MD, cs and ds.

Bases are codes; a code above 3 is any ambiguous base, and equal codes are equal bases. Letters are
on the strand of the reference. Positions are addresses; see `hapgpu.io.text.at_addresses`.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from hapgpu.arrays.bytes import Integer
from hapgpu.arrays.memory import load_u8_at, load_u32_at
from hapgpu.chaining.output.alignments.cigars import OPERATION_BYTES, Alignment
from hapgpu.chaining.output.alignments.matches import (
    LOWER_CASE,
    UPPER_CASE,
    backward_match_length,
    match_length,
    put_letters,
)
from hapgpu.cigar.encoding import DELETION, INSERTION
from hapgpu.io.text.at_addresses import put_byte, put_count_at, put_two
from hapgpu.runtime.jit import njit, njit_inlined

_UPPER: Final = np.frombuffer(b"ACGTN", dtype=np.uint8)
_LOWER: Final = np.frombuffer(b"acgtn", dtype=np.uint8)
_SHORT: Final = np.int64(0)
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
