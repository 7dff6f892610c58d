"""Seeds: the rows whose suffixes begin with a piece of a read, or with the end of one.

A seed is a row of int64. Its columns are its name (read, strand and piece), its first row, its
number of rows, where in the read the suffixes begin, where they may begin at most, and where the
words of the strand begin.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.bits import reversed_bits, span_mask
from hapgpu.arrays.bytes import Integer
from hapgpu.mapping.index.cpu import CompiledIndex, preceded
from hapgpu.mapping.search.hits import MIN_READ_BASES
from hapgpu.runtime.jit import njit, njit_inlined

NAME: Final = 0
FIRST_ROW: Final = 1
ROWS: Final = 2
PLACE: Final = 3
BEGIN: Final = 4
WORDS: Final = 5
COLUMNS: Final = 6

# With few rows left, comparing in the reference is cheaper than searching on; some rows after many
# steps are copies of a repeat, and will hardly become fewer.
_FEW_ROWS: Final = 1
_SOME_ROWS: Final = 8
_MANY_STEPS: Final = 4

_0, _1, _2, _3, _4, _8, _32, _63, _64 = map(np.uint64, (0, 1, 2, 3, 4, 8, 32, 63, 64))


@njit
def find_seeds(  # noqa: PLR0913, PLR0917  (compiled code takes no keywords)
    index: CompiledIndex,
    words: NDArray[np.uint64],
    word_offsets: NDArray[np.int64],
    lengths: NDArray[np.int32],
    begin_read: Integer,
    end_read: Integer,
    pieces: Integer,
    strands: Integer,
    seeds: NDArray[np.int64],
) -> Integer:
    """Fill in the seeds of some reads whose last bases occur, and return their number.

    The columns of a seed are its name, its first row, its number of rows, where in the read its
    suffixes begin and may begin at most, and where the words of the strand begin. No seed
    has rows beyond the last one, whatever the jump table says, which is not checked at loading.
    """
    count: Integer = 0
    jump, jump_length = index.jump, np.int64(index.jump_length)
    every_row = jump[jump.size - 1]
    for read in range(begin_read, end_read):
        length = np.int64(lengths[read])
        if length < MIN_READ_BASES:
            continue
        for strand in range(strands):
            base = strand_base(word_offsets, read, strand)
            for piece in range(pieces):
                begin, end = bounds(piece, pieces, length)
                if _has_others(words, base, begin, end):
                    continue
                depth = min(jump_length, end - begin)
                unused = np.uint64(2 * (jump_length - depth))
                word = _jump_word(words, base, np.uint64(end - depth), np.uint64(depth))
                first = np.int64(jump[word << unused])
                rows = np.int64(min(jump[(word + _1) << unused], every_row)) - first
                seeds[count, NAME] = read << 2 | strand << 1 | piece
                seeds[count, FIRST_ROW] = first
                seeds[count, ROWS] = rows
                seeds[count, PLACE] = end - depth
                seeds[count, BEGIN] = begin
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
    """Search seeds backwards until few rows are left or their pieces end.

    All of them take a step before any takes the next: steps of one seed wait for each other.
    """
    counts, symbols, primary = index.counts, index.symbols, index.primary
    remaining: Integer = 0
    for seed in range(count):
        active[remaining] = seed
        remaining += seeds[seed, PLACE] > seeds[seed, BEGIN] and not _is_enough(
            seeds[seed, ROWS], 0
        )
    steps = 0
    while remaining:
        steps += 1
        before = remaining
        remaining = 0
        for k in range(before):
            seed = active[k]
            place = seeds[seed, PLACE] - 1
            at = np.uint64(seeds[seed, WORDS] + 3 * (place >> 6))
            bit = np.uint64(place & 63)
            low: Any = (words[at] >> bit) & _1
            high: Any = (words[at + _1] >> bit) & _1
            row = np.uint64(seeds[seed, FIRST_ROW])
            behind = row + np.uint64(seeds[seed, ROWS])
            first = preceded(counts, symbols, primary, low, high, row)
            rows = np.int64(preceded(counts, symbols, primary, low, high, behind) - first)
            seeds[seed, FIRST_ROW] = np.int64(first)
            seeds[seed, ROWS] = rows
            seeds[seed, PLACE] = place
            active[remaining] = seed
            remaining += place > seeds[seed, BEGIN] and not _is_enough(rows, steps)


@njit_inlined
def _is_enough(rows: Integer, steps: Integer) -> bool:
    """Tell whether comparing in the reference is cheaper than searching on."""
    return bool((rows <= _FEW_ROWS) | ((rows <= _SOME_ROWS) & (steps >= _MANY_STEPS)))


@njit_inlined
def named(seed: Integer) -> tuple[Integer, Integer, Integer]:
    """Return read, strand and piece of a seed."""
    return seed >> 2, (seed >> 1) & 1, seed & 1


@njit_inlined
def bounds(piece: Integer, pieces: Integer, length: Integer) -> tuple[Integer, Integer]:
    """Return where one of one or two pieces of a read begins and ends."""
    return length * piece >> (pieces - 1), length * (piece + 1) >> (pieces - 1)


@njit_inlined
def strand_base(word_offsets: NDArray[np.int64], read: Integer, strand: Integer) -> Integer:
    """Return where the words of a strand of a read begin."""
    begin, end = word_offsets[read], word_offsets[read + 1]
    return np.uint64(3 * (2 * begin + strand * (end - begin)))


@njit_inlined
def _has_others(words: NDArray[np.uint64], base: Integer, begin: Integer, end: Integer) -> bool:
    """Tell whether a part of a read has a base other than A, C, G, T."""
    for word in range(begin >> 6, (end + 63) >> 6):
        others = words[base + np.uint64(3 * word + 2)]
        if others & span_mask(begin - 64 * word, end - 64 * word):
            return True
    return False


@njit_inlined
def _bits_at(
    words: NDArray[np.uint64], base: Integer, plane: Integer, begin: Integer, length: Integer
) -> Integer:
    """Return up to 16 bits of a plane of a read from base `begin` on, the first one lowest."""
    at = base + _3 * (begin >> np.uint64(6)) + plane
    shift = begin & _63
    bits: Any = words[at] >> shift
    if shift + length > _64:
        bits |= words[at + _3] << (_64 - shift)
    bits &= (_1 << length) - _1
    return np.uint64(bits)


@njit_inlined
def _jump_word(words: NDArray[np.uint64], base: Integer, begin: Integer, length: Integer) -> Any:
    """Return up to 16 bases as a number in base four, the first being the most significant digit.

    The low bits of all bases are in one half of a word, the high bits in the other, until each bit
    i of a half has moved to bit 2 i.
    """
    low = _bits_at(words, base, _0, begin, length)
    high = _bits_at(words, base, _1, begin, length)
    bits: Any = reversed_bits(low | high << _32) >> (_32 - length)
    bits = (bits | bits << _8) & np.uint64(0x00FF00FF00FF00FF)
    bits = (bits | bits << _4) & np.uint64(0x0F0F0F0F0F0F0F0F)
    bits = (bits | bits << _2) & np.uint64(0x3333333333333333)
    bits = (bits | bits << _1) & np.uint64(0x5555555555555555)
    return (bits << _1 | bits >> _32) & np.uint64(0xFFFFFFFF)
