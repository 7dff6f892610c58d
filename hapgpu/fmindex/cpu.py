"""Search on the CPU: seeds from the jump table, hits checked in the bases of the reference.

A hit with one error has an exact half. The two halves of each read and strand (one piece, the
whole read, where no error is allowed) are searched in the index, from the jump table on base by
base until few rows are left; the place that each row stands for is compared base by base. A hit
belongs to the half it has no error in, an exact one to the left half, so none comes twice.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hapgpu.bits import leading_zeros, popcount, reversed_bits, trailing_zeros
from hapgpu.fmindex.hits import (
    DELETION,
    DISTANCE_SHIFT,
    INSERTION,
    KIND_SHIFT,
    LEAST_READ_BASES,
    START_SHIFT,
    STRAND_SHIFT,
    UNGAPPED,
    HitBatch,
    SearchOptions,
)
from hapgpu.fmindex.index_data import IndexData, SuffixSamples
from hapgpu.fmindex.packing import PackedReads
from hapgpu.io.byte_access import Integer
from hapgpu.jit import njit, njit_inlined
from hapgpu.rows import last_at_most, read_only, with_room

# With few rows left, comparing in the reference is cheaper than searching on; some rows after many
# steps are copies of a repeat, and will hardly become fewer.
_FEW_ROWS = 1
_SOME_ROWS = 8
_MANY_STEPS = 4

# Columns of the seeds.
_NAME, _FIRST_ROW, _ROWS, _PLACE, _BEGIN, _WORDS, _COLUMNS = range(7)

_READS_AT_A_TIME = 256
_CANDIDATES_AT_A_TIME = 2048

_0, _1, _2, _3, _4, _8, _32, _63, _64 = map(np.uint64, (0, 1, 2, 3, 4, 8, 32, 63, 64))
_ALL = np.uint64(2**64 - 1)

# Of one type, for functions are compiled anew for constants.
_NOWHERE = np.int64(0)
_ONE_ERROR = np.int64(1)
_INSERTION, _UNGAPPED, _DELETION = map(np.int64, (INSERTION, UNGAPPED, DELETION))


class CompiledIndex(NamedTuple):
    """The arrays of an index in compiled code; of two kinds of suffix array, one is empty."""

    planes: NDArray[np.uint64]
    others: NDArray[np.uint64]
    contig_offsets: NDArray[np.int64]
    counts: NDArray[np.uint32]
    symbols: NDArray[np.uint64]
    primary: np.uint64
    jump: NDArray[np.uint32]
    jump_length: np.uint64
    suffixes: NDArray[np.uint32]
    marks: NDArray[np.uint64]
    ranks: NDArray[np.uint32]
    sampled: NDArray[np.uint32]


def compiled_index(index: IndexData) -> CompiledIndex:
    """Hand an index to compiled code."""
    nothing = np.empty(0, dtype=np.uint32)
    suffixes, marks, ranks, sampled = index.suffixes, nothing.view(np.uint64), nothing, nothing
    if isinstance(suffixes, SuffixSamples):
        marks, ranks, sampled = suffixes.marks, suffixes.ranks, suffixes.positions
        suffixes = nothing
    return CompiledIndex(
        planes=read_only(index.bases.planes),
        others=read_only(index.bases.others),
        contig_offsets=read_only(index.contigs.offsets),
        counts=read_only(index.occurrences),
        symbols=read_only(index.occurrences.view(np.uint64)),
        primary=np.uint64(index.primary),
        jump=read_only(index.jump),
        jump_length=np.uint64(index.jump_length),
        suffixes=read_only(suffixes),
        marks=read_only(marks),
        ranks=read_only(ranks),
        sampled=read_only(sampled),
    )


def search(index: IndexData, reads: PackedReads, options: SearchOptions) -> HitBatch:
    """Find all hits of reads, in one thread.

    Parameters
    ----------
    index
        Of the reference.
    reads
        Those with fewer than `LEAST_READ_BASES` get no hits.
    options
        Which hits.
    """
    offsets = np.zeros(len(reads) + 1, dtype=np.int64)
    hits = _search_all(
        compiled_index(index),
        read_only(reads.words),
        read_only(reads.word_offsets),
        read_only(reads.lengths),
        options.errors,
        options.indels,
        options.forward_only,
        offsets,
    )
    return HitBatch(offsets, hits)


@njit
def _search_all(
    index: CompiledIndex,
    words: NDArray[np.uint64],
    word_offsets: NDArray[np.int64],
    lengths: NDArray[np.int32],
    errors: Integer,
    indels: bool,
    forward_only: bool,
    offsets: NDArray[np.int64],
) -> NDArray[np.uint64]:
    """Fill the offsets and return the hits.

    Each step has a loop of its own over some hundred reads: so many loads from memory are under
    way at a time, and the arrays are counted as in use once a loop instead of once a seed.
    """
    pieces = errors + 1
    strands = 1 if forward_only else 2
    seeds = np.empty((_READS_AT_A_TIME * strands * pieces + 1, _COLUMNS), dtype=np.int64)
    active = np.empty(seeds.shape[0], dtype=np.int64)
    rows = np.empty(_CANDIDATES_AT_A_TIME, dtype=np.uint64)
    places = np.empty(_CANDIDATES_AT_A_TIME, dtype=np.int64)
    owners = np.empty(_CANDIDATES_AT_A_TIME, dtype=np.int64)
    hits = np.empty(2 * lengths.size + 16, dtype=np.uint64)
    counts = offsets[1:]
    found: Integer = np.int64(0)
    for begin in range(0, lengths.size, _READS_AT_A_TIME):
        end = min(begin + _READS_AT_A_TIME, lengths.size)
        count = _jump(index, words, word_offsets, lengths, begin, end, pieces, strands, seeds)
        _extend(index, words, seeds, count, active)
        seed: Integer = np.int64(0)
        row: Integer = np.int64(0)
        while seed < count:
            seed, row, filled = _take_rows(seeds, count, seed, row, rows, owners)
            locate(index, rows, places, filled)
            hits = with_room(hits, found + 2 * filled)
            found = _check(
                index,
                words,
                lengths,
                pieces,
                indels,
                seeds,
                owners,
                places,
                filled,
                hits,
                found,
                counts,
            )
    for read in range(lengths.size):
        offsets[read + 1] += offsets[read]
        _sort(hits, offsets[read], offsets[read + 1])
    return hits[:found]


@njit
def _take_rows(
    seeds: NDArray[np.int64],
    count: Integer,
    seed: Integer,
    row: Integer,
    rows: NDArray[np.uint64],
    owners: NDArray[np.int64],
) -> tuple[Integer, Integer, Integer]:
    """Take rows from `row` of a seed on, until they are all taken or fill their array.

    Returns where to go on, and how many were taken.
    """
    filled: Integer = np.int64(0)
    while seed < count:
        end = min(seeds[seed, _ROWS], row + rows.size - filled)
        for k in range(row, end):
            rows[filled] = np.uint64(seeds[seed, _FIRST_ROW] + k)
            owners[filled] = seed
            filled += 1
        if end < seeds[seed, _ROWS]:
            return seed, end, filled
        seed += 1
        row = 0
    return seed, row, filled


@njit_inlined
def _named(seed: Integer) -> tuple[Integer, Integer, Integer]:
    """Return read, strand and piece of a seed."""
    return seed >> 2, (seed >> 1) & 1, seed & 1


@njit
def _jump(
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
    suffixes begin and may begin at most, and where the words of the strand begin.
    """
    count: Integer = 0
    jump, jump_length = index.jump, np.int64(index.jump_length)
    for read in range(begin_read, end_read):
        length = np.int64(lengths[read])
        if length < LEAST_READ_BASES:
            continue
        for strand in range(strands):
            base = strand_base(word_offsets, read, strand)
            for piece in range(pieces):
                begin, end = _bounds(piece, pieces, length)
                if _has_others(words, base, begin, end):
                    continue
                depth = min(jump_length, end - begin)
                unused = np.uint64(2 * (jump_length - depth))
                word = _jump_word(words, base, np.uint64(end - depth), np.uint64(depth))
                first = np.int64(jump[word << unused])
                rows = np.int64(jump[(word + _1) << unused]) - first
                seeds[count, _NAME] = read << 2 | strand << 1 | piece
                seeds[count, _FIRST_ROW] = first
                seeds[count, _ROWS] = rows
                seeds[count, _PLACE] = end - depth
                seeds[count, _BEGIN] = begin
                seeds[count, _WORDS] = np.int64(base)
                count += rows > 0
    return count


@njit_inlined
def strand_base(word_offsets: NDArray[np.int64], read: Integer, strand: Integer) -> Integer:
    """Return where the words of a strand of a read begin."""
    begin, end = word_offsets[read], word_offsets[read + 1]
    return np.uint64(3 * (2 * begin + strand * (end - begin)))


@njit_inlined
def _bounds(piece: Integer, pieces: Integer, length: Integer) -> tuple[Integer, Integer]:
    return length * piece >> (pieces - 1), length * (piece + 1) >> (pieces - 1)


@njit_inlined
def _has_others(words: NDArray[np.uint64], base: Integer, begin: Integer, end: Integer) -> bool:
    """Tell whether a part of a read has a base other than A, C, G, T."""
    for word in range(begin >> 6, (end + 63) >> 6):
        others = words[base + np.uint64(3 * word + 2)]
        if others & _span_mask(begin - 64 * word, end - 64 * word):
            return True
    return False


@njit_inlined
def _span_mask(begin: Integer, end: Integer) -> Integer:
    """Return a word with the bits from `begin` to `end` set, of which both may lie outside."""
    upper = _ALL if end >= 64 else (_1 << np.uint64(max(end, 0))) - _1
    if begin >= 64:
        return _0
    return upper & (_ALL << np.uint64(max(begin, 0)))


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


@njit
def _extend(
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
        remaining += seeds[seed, _PLACE] > seeds[seed, _BEGIN] and not _is_enough(
            seeds[seed, _ROWS], 0
        )
    steps = 0
    while remaining:
        steps += 1
        before = remaining
        remaining = 0
        for k in range(before):
            seed = active[k]
            place = seeds[seed, _PLACE] - 1
            at = np.uint64(seeds[seed, _WORDS] + 3 * (place >> 6))
            bit = np.uint64(place & 63)
            low: Any = (words[at] >> bit) & _1
            high: Any = (words[at + _1] >> bit) & _1
            row = np.uint64(seeds[seed, _FIRST_ROW])
            behind = row + np.uint64(seeds[seed, _ROWS])
            first = preceded(counts, symbols, primary, low, high, row)
            rows = np.int64(preceded(counts, symbols, primary, low, high, behind) - first)
            seeds[seed, _FIRST_ROW] = np.int64(first)
            seeds[seed, _ROWS] = rows
            seeds[seed, _PLACE] = place
            active[remaining] = seed
            remaining += place > seeds[seed, _BEGIN] and not _is_enough(rows, steps)


@njit_inlined
def _is_enough(rows: Integer, steps: Integer) -> bool:
    """Tell whether comparing in the reference is cheaper than searching on."""
    return bool((rows <= _FEW_ROWS) | ((rows <= _SOME_ROWS) & (steps >= _MANY_STEPS)))


@njit_inlined
def preceded(
    counts: NDArray[np.uint32],
    symbols: NDArray[np.uint64],
    primary: Integer,
    low: Integer,
    high: Integer,
    row: Integer,
) -> Integer:
    """Return where suffixes begin that are a base and then a suffix from `row` on.

    That is C(c) + O(c, row) of Seide 2012, Algorithm 2; the base is given by its two bits.
    """
    symbol = row - np.uint64(row > primary)
    block = symbol >> np.uint64(6)
    of_base = (symbols[_4 * block + _2] ^ (low - _1)) & (symbols[_4 * block + _3] ^ (high - _1))
    before = of_base & ((_1 << (symbol & _63)) - _1)
    first: Integer = np.uint64(counts[_8 * block + (high << _1 | low)]) + popcount(before)
    return first


@njit
def locate(
    index: CompiledIndex, rows: NDArray[np.uint64], places: NDArray[np.int64], count: Integer
) -> None:
    """Find the positions of the suffixes in some rows."""
    suffixes, marks, ranks, sampled = index.suffixes, index.marks, index.ranks, index.sampled
    counts, symbols, primary = index.counts, index.symbols, index.primary
    if marks.size == 0:
        for k in range(count):
            places[k] = suffixes[rows[k]]
        return
    for k in range(count):
        row = rows[k]
        steps = 0
        while not (marks[row >> np.uint64(6)] >> (row & _63)) & _1:
            symbol = row - np.uint64(row > primary)
            block = symbol >> np.uint64(6)
            low = (symbols[_4 * block + _2] >> (symbol & _63)) & _1
            high = (symbols[_4 * block + _3] >> (symbol & _63)) & _1
            row = preceded(counts, symbols, primary, low, high, row)
            steps += 1
        word = row >> np.uint64(6)
        before = popcount(marks[word] & ((_1 << (row & _63)) - _1))
        places[k] = np.int64(sampled[np.uint64(ranks[word]) + before]) + steps


@njit_inlined
def _compare(
    planes: NDArray[np.uint64],
    others: NDArray[np.uint64],
    words: NDArray[np.uint64],
    base: Integer,
    length: Integer,
    position: Integer,
    exact_begin: Integer,
    exact_end: Integer,
) -> tuple[Integer, Integer, Integer]:
    """Compare a read with the reference from a position on, base by base.

    Returns the number of mismatches, the place of the first and of the last, `length` and -1 if
    there is none. A mismatch within the part that has to be exact ends it: the number is -1.
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
        begin = 64 * word
        if length - begin < 64:
            differs &= (_1 << np.uint64(length - begin)) - _1
        if differs:
            if differs & _span_mask(exact_begin - begin, exact_end - begin):
                return -1, 0, 0
            if last < 0:
                first = begin + np.int64(trailing_zeros(differs))
            last = begin + 63 - np.int64(leading_zeros(differs))
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


@njit
def _check(
    index: CompiledIndex,
    words: NDArray[np.uint64],
    lengths: NDArray[np.int32],
    pieces: Integer,
    indels: bool,
    seeds: NDArray[np.int64],
    owners: NDArray[np.int64],
    places: NDArray[np.int64],
    count: Integer,
    hits: NDArray[np.uint64],
    found: Integer,
    counts: NDArray[np.int64],
) -> Integer:
    """Append the hits that belong to candidates, and count those of each read."""
    planes, others, contig_offsets = index.planes, index.others, index.contig_offsets
    total = contig_offsets[contig_offsets.size - 1]
    for candidate in range(count):
        seed = owners[candidate]
        read, strand, piece = _named(seeds[seed, _NAME])
        length = np.int64(lengths[read])
        diagonal: Integer = places[candidate] - seeds[seed, _PLACE]
        if diagonal < -1 or diagonal + length > total + 1:
            continue
        base = np.uint64(seeds[seed, _WORDS])
        begin, end = _bounds(piece, pieces, length)
        mismatches, first, last = _compare(
            planes, others, words, base, length, diagonal, begin, end
        )
        anchor = diagonal if piece == 0 else diagonal + length - 1
        if mismatches < 0 or anchor < 0 or anchor >= total:
            continue
        before = found
        contig = last_at_most(contig_offsets, contig_offsets.size, anchor)
        low: Any = contig_offsets[contig]
        high: Any = contig_offsets[contig + 1]
        if mismatches < pieces and diagonal >= low and diagonal + length <= high:
            if mismatches > 0 or piece == 0:
                error = first if mismatches else _NOWHERE
                hits[found] = _hit(mismatches, diagonal, strand, _UNGAPPED, error)
                found += 1
        elif indels and pieces > 1:
            found = _gapped(
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
                found,
            )
        counts[read] += found - before
    return found


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
    found: Integer,
) -> Integer:
    """Append the hits with a gap that start (left half) or end (right half) at a candidate.

    No ungapped hit is at the candidate itself, whose first and last mismatch are given, in the
    contig from `low` to `high`. One that shares the other end of a hit leaves it in its shadow.
    """
    half = length >> 1
    is_left = piece == 0
    toward = 1 if is_left else -1
    for kind in (_DELETION, _INSERTION):
        start: Integer = diagonal
        if not is_left:
            start = diagonal - 1 if kind == _DELETION else diagonal + 1
        if start < low or start + length + kind - 1 > high:
            continue
        beside: Integer = diagonal + toward if kind == _DELETION else diagonal - toward
        mismatches, first_beside, last_beside = _compare(
            planes, others, words, base, length, beside, _NOWHERE, _NOWHERE
        )
        if mismatches <= 1 and beside >= low and beside + length <= high:
            continue
        error: Integer = (last_beside if is_left else last) + 1
        if kind == _INSERTION:
            error = max(error - 1, _NOWHERE)
        is_owned = error >= half if is_left else error < half
        if is_owned and error <= (first if is_left else first_beside):
            hits[found] = _hit(_ONE_ERROR, start, strand, kind, error)
            found += 1
    return found


@njit
def _sort(values: NDArray[np.uint64], begin: Integer, end: Integer) -> None:
    """Sort a part of an array (Shell's method with gaps of Ciura's kind)."""
    gap = 1
    while gap < (end - begin) // 3:
        gap = 3 * gap + 1
    while gap > 0:
        for k in range(begin + gap, end):
            value = values[k]
            at = k
            while at >= begin + gap and values[at - gap] > value:
                values[at] = values[at - gap]
                at -= gap
            values[at] = value
        gap //= 3
