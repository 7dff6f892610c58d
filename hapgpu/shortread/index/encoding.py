"""Encoding of a reference: bit planes of all letters, and the text to be indexed."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import Final

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.bits import popcount, trailing_zeros
from hapgpu.arrays.bytes import Integer
from hapgpu.runtime.jit import njit
from hapgpu.runtime.pool import Pool
from hapgpu.shortread.index.fm_index import BLOCK, ReferenceBases
from hapgpu.shortread.index.suffixes.text import KEY_BASES, PackedText, word_count

_N, _NAMED, _WRONG = 4, 5, 6
"""Kinds of letters after the codes of A, C, G and T: N, other nucleotides, and the rest."""
_OTHER_NUCLEOTIDES: Final = b"URYSWKMBDHVX"
_UPPER: Final = 0xDF  # clears the bit of lower case
_0, _1, _2, _63 = map(np.uint64, (0, 1, 2, 63))
_ALL: Final = np.uint64(2**64 - 1)


def _kinds() -> NDArray[np.uint8]:
    kinds = np.full(256, _WRONG, dtype=np.uint8)
    letters = {**dict(zip(b"ACGT", range(4), strict=True)), ord("N"): _N}
    for letter, kind in {**dict.fromkeys(_OTHER_NUCLEOTIDES, _NAMED), **letters}.items():
        kinds[[letter, letter | ~_UPPER & 0xFF]] = kind
    return kinds


_KINDS: Final = _kinds()


@dataclass(frozen=True, slots=True)
class TextRuns:
    """Runs of the text without a gap.

    Attributes
    ----------
    starts
        uint32[r] ascending from 0: the text position at which each run starts.
    shifts
        uint32[r]: the number of letters other than A, C, G and T before each run.
    """

    starts: NDArray[np.uint32]
    shifts: NDArray[np.uint32]


@dataclass(frozen=True, slots=True)
class EncodedReference:
    """A reference as an index needs it.

    Attributes
    ----------
    bases
        All letters.
    text, runs
        The A, C, G and T alone, and where they are.
    """

    bases: ReferenceBases
    text: PackedText
    runs: TextRuns


class NotANucleotideError(ValueError):
    """A letter is no nucleotide; the first of them is at `offset`."""

    def __init__(self, offset: int) -> None:
        super().__init__(f"letter {offset} is no nucleotide")
        self.offset = offset


def block_count(bases: int) -> int:
    """Return the number of blocks in the planes of `bases` bases, padding included."""
    return -(-bases // BLOCK) + 3


def encode(letters: NDArray[np.uint8], pool: Pool) -> EncodedReference:
    """Encode a reference.

    Parameters
    ----------
    letters
        uint8[p], text of either case, contigs end to end.
    pool
        Threads to use.

    Raises
    ------
    NotANucleotideError
        A letter is not a nucleotide of IUPAC, U or X.
    """
    bases = _pack_bases(letters, pool)
    runs, size = _find_runs(bases.others, pool)
    return EncodedReference(bases, _pack_text(letters, runs, size, pool), runs)


def _pack_bases(letters: NDArray[np.uint8], pool: Pool) -> ReferenceBases:
    blocks = block_count(letters.size)
    planes = np.zeros(2 * blocks, dtype=np.uint64)
    others = np.full(blocks, _ALL, dtype=np.uint64)

    def pack(start: int, end: int) -> tuple[Integer, Integer]:
        return _pack_blocks(letters, _KINDS, start, end, planes, others)

    cuts = [BLOCK * (blocks * part // pool.threads) for part in range(pool.threads)]
    spans = [*pairwise([*(min(cut, letters.size) for cut in cuts), letters.size])]
    found = pool.results([pool.submit(pack, *span) for span in spans])
    wrong = min(int(first) for _, first in found)
    if wrong < letters.size:
        raise NotANucleotideError(wrong)
    ends = list(accumulate(int(named) for named, _ in found))
    positions, named = np.empty(ends[-1], dtype=np.int64), np.empty(ends[-1], dtype=np.uint8)
    for (start, end), (count, _), last in zip(spans, found, ends, strict=True):
        if count:
            _take_named(letters, _KINDS, start, end, last - count, positions, named)
    return ReferenceBases(planes, others, positions, named)


def _find_runs(others: NDArray[np.uint64], pool: Pool) -> tuple[TextRuns, int]:
    """Return the runs of the text, and its size."""
    parts = pool.over_rows(lambda start, end: _runs(others, start, end), others.size)
    before = [0, *accumulate(int(size) for _, _, size in parts)]
    starts = [own + offset for (own, _, _), offset in zip(parts, before, strict=False)]
    positions = np.concatenate([own for _, own, _ in parts])
    joined = np.concatenate(starts)
    return TextRuns(joined.astype(np.uint32), (positions - joined).astype(np.uint32)), before[-1]


def _pack_text(letters: NDArray[np.uint8], runs: TextRuns, size: int, pool: Pool) -> PackedText:
    words = np.zeros(word_count(size), dtype=np.uint64)

    def pack(start: int, end: int) -> None:
        if start == end:
            return
        run = int(np.searchsorted(runs.starts, KEY_BASES * start, side="right")) - 1
        _pack_words(letters, _KINDS, runs.starts, runs.shifts, run, size, start, end, words)

    pool.over_rows(pack, -(-size // KEY_BASES))
    return PackedText(words, size)


@njit
def _pack_blocks(
    letters: NDArray[np.uint8],
    kinds: NDArray[np.uint8],
    start: int,
    end: int,
    planes: NDArray[np.uint64],
    others: NDArray[np.uint64],
) -> tuple[Integer, Integer]:
    """Fill the blocks of the letters from `start`, a multiple of 64, to `end`.

    Return how many are other nucleotides than A, C, G, T and N; and the first letter that is no
    nucleotide, or the number of letters.
    """
    named, wrong = np.int64(0), np.int64(letters.size)
    for first in range(np.uint64(start), np.uint64(end), np.uint64(BLOCK)):
        low, high, other = _0, _0, _ALL
        highest = np.uint8(0)
        for bit in range(min(np.uint64(BLOCK), np.uint64(end) - first)):
            kind = kinds[letters[first + bit]]
            highest = max(highest, kind)
            is_base = np.uint64(kind < _N)
            low |= (np.uint64(kind) & is_base) << bit
            high |= (np.uint64(kind) >> _1 & is_base) << bit
            other ^= is_base << bit
        block = np.uint64(first // np.uint64(BLOCK)) + _1
        planes[_2 * block], planes[_2 * block + _1], others[block] = low, high, other
        if highest > _N:
            for bit in range(min(np.uint64(BLOCK), np.uint64(end) - first)):
                kind = kinds[letters[first + bit]]
                named += kind == _NAMED
                if kind == _WRONG:
                    wrong = min(wrong, np.int64(first + bit))
    return named, wrong


@njit
def _take_named(
    letters: NDArray[np.uint8],
    kinds: NDArray[np.uint8],
    start: int,
    end: int,
    to: int,
    positions: NDArray[np.int64],
    named: NDArray[np.uint8],
) -> None:
    """Collect the letters other than A, C, G, T and N from `start` to `end`."""
    for i in range(start, end):
        if kinds[letters[i]] == _NAMED:
            positions[to], named[to] = i, letters[i] & np.uint8(_UPPER)
            to += 1


@njit
def _runs(
    others: NDArray[np.uint64], start: int, end: int
) -> tuple[NDArray[np.int64], NDArray[np.int64], Integer]:
    """Find the runs that start in the blocks from `start` to `end`.

    Return their starts in the text of these blocks and on the reference, and the size of this text.
    """
    count = _0
    for block in range(np.uint64(start), np.uint64(end)):
        count += popcount(_run_starts(others, block))
    starts, positions = np.empty(count, np.int64), np.empty(count, np.int64)
    size, to = _0, _0
    for block in range(np.uint64(start), np.uint64(end)):
        bases, left = ~others[block], _run_starts(others, block)
        while left:
            bit = trailing_zeros(left)
            starts[to] = size + popcount(bases & ((_1 << bit) - _1))
            positions[to] = (block - _1) * np.uint64(BLOCK) + bit
            left &= left - _1
            to += _1
        size += popcount(bases)
    return starts, positions, np.int64(size)


@njit
def _run_starts(others: NDArray[np.uint64], block: Integer) -> Integer:
    """Return the bits of a block at which a run starts; there is none in the first block."""
    bases = ~others[block]
    before = bases << _1
    if block:
        before |= ~others[block - _1] >> _63
    starts: Integer = bases & ~before
    return starts


@njit
def _pack_words(
    letters: NDArray[np.uint8],
    kinds: NDArray[np.uint8],
    starts: NDArray[np.uint32],
    shifts: NDArray[np.uint32],
    run: int,
    size: int,
    first: int,
    last: int,
    words: NDArray[np.uint64],
) -> None:
    """Fill the words from `first` to `last` of a text; its base 32 * `first` lies in `run`."""
    at, row = np.uint64(first * KEY_BASES), np.uint64(run)
    shift = np.uint64(shifts[row])
    run_end = np.uint64(starts[row + _1]) if row + _1 < np.uint64(starts.size) else np.uint64(size)
    for word in range(np.uint64(first), np.uint64(last)):
        key = _0
        count = min(np.uint64(KEY_BASES), np.uint64(size) - at)
        for _ in range(count):
            if at == run_end:
                row += _1
                shift = np.uint64(shifts[row])
                is_last = row + _1 == np.uint64(starts.size)
                run_end = np.uint64(size) if is_last else np.uint64(starts[row + _1])
            key = key << _2 | np.uint64(kinds[letters[at + shift]])
            at += _1
        words[word] = key << (_2 * (np.uint64(KEY_BASES) - count)) if count else _0
