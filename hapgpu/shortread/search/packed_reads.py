"""Reads packed into bit planes: 64 bases per word, both strands."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.bits import reversed_bits
from hapgpu.arrays.bytes import Integer
from hapgpu.arrays.memory import Memory, memory_of, read_64, read_u8
from hapgpu.arrays.ragged import offsets_of
from hapgpu.arrays.ragged_view import read_only
from hapgpu.runtime.jit import njit
from hapgpu.shortread.index.fm_index import BLOCK

PLANES: Final = 3
"""Low bits, high bits, and whether a base is other than A, C, G, T."""

_ALL = np.uint64(2**64 - 1)
_0, _1, _2, _56, _64 = map(np.uint64, (0, 1, 2, 56, 64))
_LOW_BITS = np.uint64(0x0101010101010101)
_GATHER = np.uint64(0x0102040810204080)
_UPPER_CASE = np.uint64(0xDFDFDFDFDFDFDFDF)
_A = np.uint64(0x4141414141414141)
_T_FROM_E = np.uint64(0x11)


def _codes() -> NDArray[np.uint8]:
    table = np.full(256, 4, dtype=np.uint8)
    for code, letters in enumerate((b"Aa", b"Cc", b"Gg", b"Tt")):
        table[list(letters)] = code
    return table


BASE_CODES: Final = _codes()
"""uint8[256]: 0 to 3 for A, C, G, T of either case, 4 for every other byte."""


@dataclass(frozen=True, slots=True)
class PackedReads:
    """n reads, each forward and reverse-complemented.

    Attributes
    ----------
    words
        uint64[6 w]. Read i takes k = ceil(lengths[i] / 64) words per plane; its strand s (0
        forward, 1 reverse) starts at 3 (2 word_offsets[i] + s k), with the three planes of each
        64 bases side by side. Base j is bit j % 64; bits after the read are 0.
    word_offsets
        int64[n + 1].
    lengths
        int32[n], in bases.
    """

    words: NDArray[np.uint64]
    word_offsets: NDArray[np.int64]
    lengths: NDArray[np.int32]

    def __len__(self) -> int:
        return self.lengths.size

    def slice(self, start: int, end: int) -> PackedReads:
        """Return reads start to end; the words share memory with this batch."""
        offsets = self.word_offsets[start : end + 1]
        first, last = 2 * PLANES * offsets[0], 2 * PLANES * offsets[-1]
        return PackedReads(self.words[first:last], offsets - offsets[0], self.lengths[start:end])

    def halves(self) -> list[PackedReads]:
        """Split the batch in two; return nothing for fewer than two reads."""
        middle = len(self) // 2
        return [self.slice(0, middle), self.slice(middle, len(self))] if middle else []


def pack_reads(
    text: NDArray[np.uint8], starts: NDArray[np.int32], lengths: NDArray[np.int32]
) -> PackedReads:
    """Pack reads whose bases start at `starts` in a text; every byte is a base.

    Parameters
    ----------
    text
        uint8; letters in either case.
    starts, lengths
        int32[n].
    """
    word_offsets = offsets_of((lengths + (BLOCK - 1)) // BLOCK)
    words = np.empty(2 * PLANES * int(word_offsets[-1]), dtype=np.uint64)
    _pack_all(read_only(text), starts, lengths, word_offsets, BASE_CODES, words)
    return PackedReads(words, word_offsets, lengths)


@njit
def _pack_all(
    text: NDArray[np.uint8],
    starts: NDArray[np.int32],
    lengths: NDArray[np.int32],
    word_offsets: NDArray[np.int64],
    codes: NDArray[np.uint8],
    words: NDArray[np.uint64],
) -> None:
    bases = memory_of(text)
    for read in range(lengths.size):
        at = np.uint64(6 * word_offsets[read])
        length = np.int64(lengths[read])
        count = word_offsets[read + 1] - word_offsets[read]
        start = np.int64(starts[read])
        for word in range(count):
            done = word * 64
            to = at + np.uint64(3 * word)
            _pack_word(bases, start + done, min(np.int64(64), length - done), codes, words, to)
        _reverse_complement(words, at, np.uint64(count), length)


@njit
def _pack_word(
    bases: Memory,
    start: Integer,
    length: Integer,
    codes: NDArray[np.uint8],
    words: NDArray[np.uint64],
    at: Integer,
) -> None:
    """Pack up to 64 bases, eight at a time if all eight are A, C, G or T.

    Bit 2 of the letters A, C, G, T is the high bit of their codes; the low bit is set if bits 1
    and 2 differ.
    """
    low, high, other = _0, _0, _0
    done = 0
    while done < length:
        shift = np.uint64(done)
        if done + 8 <= length:
            letters = np.uint64(read_64(bases, start + done)) & _UPPER_CASE
            bit_1 = (letters >> _1) & _LOW_BITS
            bit_2 = (letters >> _2) & _LOW_BITS
            expected = _A ^ (bit_1 << _1) ^ (bit_2 << _2) ^ ((bit_2 & ~bit_1) * _T_FROM_E)
            if letters == expected:
                low |= (((bit_1 ^ bit_2) * _GATHER) >> _56) << shift
                high |= ((bit_2 * _GATHER) >> _56) << shift
                done += 8
                continue
        for k in range(done, min(done + 8, length)):
            code = np.uint64(codes[read_u8(bases, start + k)])
            bit = np.uint64(k)
            low |= (code & _1) << bit
            high |= ((code >> _1) & _1) << bit
            other |= (code >> _2) << bit
        done += 8
    words[at] = low
    words[at + _1] = high
    words[at + _2] = other


@njit
def _reverse_complement(
    words: NDArray[np.uint64], at: Integer, count: Integer, length: Integer
) -> None:
    """Fill the reverse strand of a read, whose forward strand starts at word `at`."""
    reverse = at + np.uint64(3) * count
    unused = np.uint64(64) * count - np.uint64(length)
    for word in range(count):
        source = at + np.uint64(3) * (count - _1 - word)
        target = reverse + np.uint64(3) * word
        used = _ALL if word + _1 < count else _ALL >> unused
        for plane in range(np.uint64(3)):
            bits = reversed_bits(words[source + plane]) >> unused
            if word + _1 < count and unused:
                before = reversed_bits(words[source - np.uint64(3) + plane])
                bits |= before << (_64 - unused)
            flipped = ~bits if plane < _2 else bits
            words[target + plane] = flipped & used
