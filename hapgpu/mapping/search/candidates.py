"""Candidates: the positions of reads that follow from their seeds, and the hits there."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.bits import leading_zeros, popcount, span_mask, trailing_zeros
from hapgpu.arrays.bytes import Integer
from hapgpu.arrays.ragged_view import last_at_most
from hapgpu.mapping.index.cpu import CompiledIndex
from hapgpu.mapping.search.hits import (
    DELETION,
    DISTANCE_SHIFT,
    INSERTION,
    KIND_SHIFT,
    START_SHIFT,
    STRAND_SHIFT,
    UNGAPPED,
)
from hapgpu.mapping.search.seeds import OFFSET, SEED_ID, WORDS, piece_bounds, split_id
from hapgpu.runtime.jit import njit, njit_inlined

_1, _2, _63 = map(np.uint64, (1, 2, 63))

# All of one type: Numba compiles a function again for each constant.
_ZERO = np.int64(0)
_ONE_ERROR = np.int64(1)
_INSERTION, _UNGAPPED, _DELETION = map(np.int64, (INSERTION, UNGAPPED, DELETION))


@njit
def check_candidates(
    index: CompiledIndex,
    words: NDArray[np.uint64],
    lengths: NDArray[np.int32],
    pieces: Integer,
    indels: bool,  # noqa: FBT001  (Numba: no keyword-only arguments)
    seeds: NDArray[np.int64],
    owners: NDArray[np.int64],
    positions: NDArray[np.int64],
    count: Integer,
    hits: NDArray[np.uint64],
    hit_count: Integer,
    counts: NDArray[np.int64],
) -> Integer:
    """Append the hits of candidates, add them to the count of each read; return their number."""
    planes, others, contig_offsets = index.planes, index.others, index.contig_offsets
    total = contig_offsets[contig_offsets.size - 1]
    for candidate in range(count):
        seed = owners[candidate]
        read, strand, piece = split_id(seeds[seed, SEED_ID])
        length = np.int64(lengths[read])
        diagonal: Integer = positions[candidate] - seeds[seed, OFFSET]
        if diagonal < -1 or diagonal + length > total + 1:
            continue
        base = np.uint64(seeds[seed, WORDS])
        start, end = piece_bounds(piece, pieces, length)
        mismatches, first, last = _compare(
            planes, others, words, base, length, diagonal, start, end
        )
        anchor = diagonal if piece == 0 else diagonal + length - 1
        if mismatches < 0 or anchor < 0 or anchor >= total:
            continue
        before = hit_count
        contig = last_at_most(contig_offsets, contig_offsets.size, anchor)
        low: Any = contig_offsets[contig]
        high: Any = contig_offsets[contig + 1]
        if mismatches < pieces and diagonal >= low and diagonal + length <= high:
            if mismatches > 0 or piece == 0:
                error = first if mismatches else _ZERO
                hits[hit_count] = _hit(mismatches, diagonal, strand, _UNGAPPED, error)
                hit_count += 1
        elif indels and pieces > 1:
            hit_count = _gapped(
                planes,
                others,
                words,
                base,
                length,
                strand,
                piece,
                diagonal,
                first,
                last,
                low,
                high,
                hits,
                hit_count,
            )
        counts[read] += hit_count - before
    return hit_count


@njit
def _gapped(
    planes: NDArray[np.uint64],
    others: NDArray[np.uint64],
    words: NDArray[np.uint64],
    base: Integer,
    length: Integer,
    strand: Integer,
    piece: Integer,
    diagonal: Integer,
    first: Integer,
    last: Integer,
    low: Integer,
    high: Integer,
    hits: NDArray[np.uint64],
    hit_count: Integer,
) -> Integer:
    """Append the hits with a gap that start (left half) or end (right half) at a candidate.

    The candidate, whose first and last mismatch are given, has no ungapped hit in its contig,
    which spans `low` to `high`. An ungapped hit with the same end (start) excludes a hit.
    """
    half = length >> 1
    is_left = piece == 0
    step = 1 if is_left else -1
    for kind in (_DELETION, _INSERTION):
        start: Integer = diagonal
        if not is_left:
            start = diagonal - 1 if kind == _DELETION else diagonal + 1
        if start < low or start + length + kind - 1 > high:
            continue
        beside: Integer = diagonal + step if kind == _DELETION else diagonal - step
        mismatches, first_beside, last_beside = _compare(
            planes, others, words, base, length, beside, _ZERO, _ZERO
        )
        if mismatches <= 1 and beside >= low and beside + length <= high:
            continue
        error: Integer = (last_beside if is_left else last) + 1
        if kind == _INSERTION:
            error = max(error - 1, _ZERO)
        is_owned = error >= half if is_left else error < half
        if is_owned and error <= (first if is_left else first_beside):
            hits[hit_count] = _hit(_ONE_ERROR, start, strand, kind, error)
            hit_count += 1
    return hit_count


@njit_inlined
def _compare(
    planes: NDArray[np.uint64],
    others: NDArray[np.uint64],
    words: NDArray[np.uint64],
    base: Integer,
    length: Integer,
    position: Integer,
    exact_start: Integer,
    exact_end: Integer,
) -> tuple[Integer, Integer, Integer]:
    """Compare a read with the reference from a position on.

    Returns the number of mismatches and the offsets of the first and the last mismatch, `length`
    and -1 without mismatches. After a mismatch within the exact part, the number is -1.
    """
    bit = np.uint64(position + 64)
    block = bit >> np.uint64(6)
    shift = bit & _63
    carry = _63 - shift
    low, high = planes[_2 * block], planes[_2 * block + _1]
    other = others[block]
    mismatches: Integer = 0
    first: Integer = length
    last: Integer = -1
    for word in range((length + 63) >> 6):
        block += _1
        next_low, next_high = planes[_2 * block], planes[_2 * block + _1]
        next_other = others[block]
        at = base + np.uint64(3 * word)
        differs = (
            ((low >> shift | (next_low << _1) << carry) ^ words[at])
            | ((high >> shift | (next_high << _1) << carry) ^ words[at + _1])
            | (other >> shift | (next_other << _1) << carry)
            | words[at + _2]
        )
        low, high, other = next_low, next_high, next_other
        start = 64 * word
        if length - start < 64:
            differs &= (_1 << np.uint64(length - start)) - _1
        if differs:
            if differs & span_mask(exact_start - start, exact_end - start):
                return -1, 0, 0
            if last < 0:
                first = start + np.int64(trailing_zeros(differs))
            last = start + 63 - np.int64(leading_zeros(differs))
            mismatches += np.int64(popcount(differs))
    return mismatches, first, last


@njit_inlined
def _hit(
    distance: Integer, start: Integer, strand: Integer, kind: Integer, error: Integer
) -> Integer:
    return (
        np.uint64(distance) << np.uint64(DISTANCE_SHIFT)
        | np.uint64(start) << np.uint64(START_SHIFT)
        | np.uint64(strand) << np.uint64(STRAND_SHIFT)
        | np.uint64(kind) << np.uint64(KIND_SHIFT)
        | np.uint64(error)
    )
