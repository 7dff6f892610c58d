"""Seeds and candidates of reads, and the hits at the candidates.

A seed is the rows whose suffixes start with a piece of a read, or with the end of a piece. A
candidate is a position of the read that follows from a seed. Seeds are rows of int64:

- `SEED_ID`: read, strand and piece,
- `FIRST_ROW` and `ROWS`: its first row in the index, and its number of rows,
- `OFFSET`: the offset in the read at which its suffixes start,
- `PIECE_START`: the start of the piece, the least `OFFSET`,
- `WORDS`: the index of the first word of the strand.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.bits import leading_zeros, popcount, reversed_bits, span_mask, trailing_zeros
from hapgpu.arrays.bytes import Integer
from hapgpu.arrays.ragged_view import last_at_most
from hapgpu.runtime.jit import njit, njit_inlined
from hapgpu.shortread.index.cpu import CompiledIndex, backward_step
from hapgpu.shortread.search.hits import (
    DELETION,
    DISTANCE_SHIFT,
    INSERTION,
    KIND_SHIFT,
    MIN_READ_BASES,
    START_SHIFT,
    STRAND_SHIFT,
    UNGAPPED,
)

SEED_ID: Final = 0
FIRST_ROW: Final = 1
ROWS: Final = 2
OFFSET: Final = 3
PIECE_START: Final = 4
WORDS: Final = 5
COLUMNS: Final = 6

# With few rows left, a comparison with the reference is cheaper than further search; some rows
# after many steps are copies of a repeat, and will hardly become fewer.
_FEW_ROWS: Final = 1
_SOME_ROWS: Final = 8
_MANY_STEPS: Final = 4

_0, _1, _2, _3, _4, _8, _32, _63, _64 = map(np.uint64, (0, 1, 2, 3, 4, 8, 32, 63, 64))


@njit
def find_seeds(
    index: CompiledIndex,
    words: NDArray[np.uint64],
    word_offsets: NDArray[np.int64],
    lengths: NDArray[np.int32],
    start_read: Integer,
    end_read: Integer,
    pieces: Integer,
    strands: Integer,
    seeds: NDArray[np.int64],
) -> Integer:
    """Fill in the seeds of some reads from the jump table; return the number of seeds with rows.

    Rows are limited to the last row: the jump table is not checked at loading.

    Parameters
    ----------
    index
        The index.
    words, word_offsets, lengths
        As in `PackedReads`.
    start_read, end_read
        The reads to search.
    pieces, strands
        Pieces per read, and strands to search.
    seeds
        int64[s, COLUMNS]: receives the seeds, with a row more than there can be seeds.
    """
    count: Integer = 0
    jump, jump_length = index.jump, np.int64(index.jump_length)
    total_rows = jump[jump.size - 1]
    for read in range(start_read, end_read):
        length = np.int64(lengths[read])
        if length < MIN_READ_BASES:
            continue
        for strand in range(strands):
            base = strand_base(word_offsets, read, strand)
            for piece in range(pieces):
                start, end = piece_bounds(piece, pieces, length)
                if _has_others(words, base, start, end):
                    continue
                depth = min(jump_length, end - start)
                unused = np.uint64(2 * (jump_length - depth))
                kmer = _jump_kmer(words, base, np.uint64(end - depth), np.uint64(depth))
                first = np.int64(jump[kmer << unused])
                rows = np.int64(min(jump[(kmer + _1) << unused], total_rows)) - first
                seeds[count, SEED_ID] = read << 2 | strand << 1 | piece
                seeds[count, FIRST_ROW] = first
                seeds[count, ROWS] = rows
                seeds[count, OFFSET] = end - depth
                seeds[count, PIECE_START] = start
                seeds[count, WORDS] = np.int64(base)
                count += rows > 0
    return count


@njit
def extend_seeds(
    index: CompiledIndex,
    words: NDArray[np.uint64],
    seeds: NDArray[np.int64],
    count: Integer,
    active: NDArray[np.int64],
) -> None:
    """Extend seeds backwards until few rows are left or their pieces end.

    All seeds take a step before any seed takes the next: steps of one seed wait for each other.

    Parameters
    ----------
    index
        The index.
    words
        As in `PackedReads`.
    seeds
        int64[s, COLUMNS]: the seeds, changed.
    count
        Number of seeds.
    active
        int64[s]: scratch memory.
    """
    counts, symbols, primary = index.counts, index.symbols, index.primary
    remaining: Integer = 0
    for seed in range(count):
        active[remaining] = seed
        remaining += seeds[seed, OFFSET] > seeds[seed, PIECE_START] and not _is_enough(
            seeds[seed, ROWS], 0
        )
    steps = 0
    while remaining:
        steps += 1
        before = remaining
        remaining = 0
        for k in range(before):
            seed = active[k]
            offset = seeds[seed, OFFSET] - 1
            at = np.uint64(seeds[seed, WORDS] + 3 * (offset >> 6))
            bit = np.uint64(offset & 63)
            low: Any = (words[at] >> bit) & _1
            high: Any = (words[at + _1] >> bit) & _1
            row = np.uint64(seeds[seed, FIRST_ROW])
            end = row + np.uint64(seeds[seed, ROWS])
            first = backward_step(counts, symbols, primary, low, high, row)
            rows = np.int64(backward_step(counts, symbols, primary, low, high, end) - first)
            seeds[seed, FIRST_ROW] = np.int64(first)
            seeds[seed, ROWS] = rows
            seeds[seed, OFFSET] = offset
            active[remaining] = seed
            remaining += offset > seeds[seed, PIECE_START] and not _is_enough(rows, steps)


@njit_inlined
def _is_enough(rows: Integer, steps: Integer) -> bool:
    """Tell whether a comparison with the reference is cheaper than further search."""
    return bool((rows <= _FEW_ROWS) | ((rows <= _SOME_ROWS) & (steps >= _MANY_STEPS)))


@njit_inlined
def split_id(seed: Integer) -> tuple[Integer, Integer, Integer]:
    """Return the read, strand and piece of a seed ID."""
    return seed >> 2, (seed >> 1) & 1, seed & 1


@njit_inlined
def piece_bounds(piece: Integer, pieces: Integer, length: Integer) -> tuple[Integer, Integer]:
    """Return the start and the end of one of one or two pieces of a read."""
    return length * piece >> (pieces - 1), length * (piece + 1) >> (pieces - 1)


@njit_inlined
def strand_base(word_offsets: NDArray[np.int64], read: Integer, strand: Integer) -> Integer:
    """Return the index of the first word of a strand of a read; `word_offsets` are int64[n + 1]."""
    start, end = word_offsets[read], word_offsets[read + 1]
    return np.uint64(3 * (2 * start + strand * (end - start)))


@njit_inlined
def _has_others(words: NDArray[np.uint64], base: Integer, start: Integer, end: Integer) -> bool:
    """Tell whether an interval of a read has a base other than A, C, G, T."""
    for word in range(start >> 6, (end + 63) >> 6):
        others = words[base + np.uint64(3 * word + 2)]
        if others & span_mask(start - 64 * word, end - 64 * word):
            return True
    return False


@njit_inlined
def _bits_at(
    words: NDArray[np.uint64], base: Integer, plane: Integer, start: Integer, length: Integer
) -> Integer:
    """Return up to 16 bits of a plane of a read from base `start` on, the first one lowest."""
    at = base + _3 * (start >> np.uint64(6)) + plane
    shift = start & _63
    bits: Any = words[at] >> shift
    if shift + length > _64:
        bits |= words[at + _3] << (_64 - shift)
    bits &= (_1 << length) - _1
    return np.uint64(bits)


@njit_inlined
def _jump_kmer(words: NDArray[np.uint64], base: Integer, start: Integer, length: Integer) -> Any:
    """Return up to 16 bases as a number in base 4, the first base as the most significant digit.

    The low bits of all bases are in one half of a word, the high bits in the other; then bit i of
    each half moves to bit 2 i.
    """
    low = _bits_at(words, base, _0, start, length)
    high = _bits_at(words, base, _1, start, length)
    bits: Any = reversed_bits(low | high << _32) >> (_32 - length)
    bits = (bits | bits << _8) & np.uint64(0x00FF00FF00FF00FF)
    bits = (bits | bits << _4) & np.uint64(0x0F0F0F0F0F0F0F0F)
    bits = (bits | bits << _2) & np.uint64(0x3333333333333333)
    bits = (bits | bits << _1) & np.uint64(0x5555555555555555)
    return (bits << _1 | bits >> _32) & np.uint64(0xFFFFFFFF)


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
    """Append the hits of candidates, add them to the count of each read; return their number.

    Parameters
    ----------
    index
        The index.
    words, lengths
        As in `PackedReads`.
    pieces
        Pieces per read.
    indels
        Whether hits may have an insertion or a deletion.
    seeds
        int64[s, COLUMNS]: the seeds.
    owners, positions
        int64 each: the seed of each candidate, and its position in the reference.
    count
        Number of candidates.
    hits
        uint64: receives the hits from `hit_count` on, at most two per candidate.
    hit_count
        Number of hits before.
    counts
        int64: hits of each read, to which the hits are added.
    """
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
