"""The arrays of an index that its sorted suffixes give: occurrences, jump table, positions.

As in `encoding`, each pass takes NumPy or CuPy as `xp`, and works in chunks.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from hapgpu.mapping.index.encoding import OTHER, XpArray, chunks, pack_bits
from hapgpu.mapping.index.fm_index import BLOCK, SAMPLING, SuffixSamples

MAX_JUMP: Final = 14
"""Bases of the words in a jump table, at most."""

_MIN_JUMP: Final = 4
_JUMP_BYTES: Final = 64 << 20
_JUMP_BYTES_PER_BASE: Final = 0.4


@dataclass(frozen=True, slots=True)
class TextRuns:
    """Stretches of the text without a gap, as arrays of the module in use.

    Attributes
    ----------
    starts
        uint32[r] ascending from 0: where each run begins in the text.
    shifts
        uint32[r]: how many letters other than A, C, G and T lie before each.
    """

    starts: XpArray
    shifts: XpArray

    def run_of(self, text_positions: XpArray, xp: Any) -> XpArray:
        """Return the run of each text position."""
        return xp.searchsorted(self.starts, text_positions, side="right") - 1


def find_runs(codes: XpArray, xp: Any) -> TextRuns:
    """Find the stretches of bases between other letters; there has to be one."""
    is_base = codes != OTHER
    changes = xp.flatnonzero(is_base[1:] != is_base[:-1]) + 1
    bounds = xp.concatenate([xp.zeros(1, dtype=np.int64), changes, xp.full(1, codes.size)])
    first = 0 if bool(is_base[0]) else 1
    positions = bounds[:-1][first::2]
    lengths = xp.diff(bounds)[first::2]
    starts = xp.cumsum(lengths) - lengths
    return TextRuns(starts.astype(np.uint32), (positions - starts).astype(np.uint32))


def jump_length_for(symbols: int) -> int:
    """Choose the length of the words in the jump table of a text.

    About one suffix a word is wanted, and a table that is small beside the rest of the index.
    """
    max_bytes = max(_JUMP_BYTES, _JUMP_BYTES_PER_BASE * symbols)
    length = _MIN_JUMP
    while length < MAX_JUMP and 4 ** (length + 1) <= min(symbols, max_bytes / 4):
        length += 1
    return length


def words(codes: XpArray, length: int, dtype: type[np.unsignedinteger[Any]], xp: Any) -> XpArray:
    """Return the word of `length` bases at each place, as a number of base 4.

    Parameters
    ----------
    codes
        uint8[n], 0 to 3; behind the end lie zeros.
    length
        Of the words, at least 1; two bits of `dtype` for each base.
    dtype
        Of the result.
    xp
        The module of the array.
    """
    one = codes.astype(dtype)
    word, width = one, 1
    for digit in f"{length:b}"[1:]:
        word = _with_next(word, width, word, width, xp)
        width *= 2
        if digit == "1":
            word = _with_next(word, width, one, 1, xp)
            width += 1
    return word


def _with_next(word: XpArray, width: int, following: XpArray, count: int, xp: Any) -> XpArray:
    """Append to words of `width` bases the words of `count` bases that follow them."""
    joined = xp.left_shift(word, word.dtype.type(2 * count))
    joined[:-width] |= following[width:]
    return joined


def jump_table(text: XpArray, length: int, xp: Any) -> XpArray:
    """uint32[4**length + 1]: see `FMIndexArrays.jump`."""
    entries = 4**length
    counts = xp.zeros(entries + 1, dtype=np.int64)
    counts[1] = 1  # the empty suffix, filled up with A
    for part in chunks(text.size, at_least=entries):
        found = xp.empty(part.stop - part.start, dtype=np.int64)
        for piece in chunks(found.size):
            codes = text[part.start + piece.start : part.start + piece.stop + length - 1]
            found[piece] = words(codes, length, np.uint32, xp)[: piece.stop - piece.start]
        counts[1:] += xp.bincount(found, minlength=entries)
    return xp.cumsum(counts).astype(np.uint32)


def transform(text: XpArray, suffixes: XpArray, xp: Any) -> tuple[XpArray, int]:
    """Make the Burrows-Wheeler transform without `$`.

    Parameters
    ----------
    text
        uint8[n], codes.
    suffixes
        uint32[n + 1]: the text position of the suffix in each row.
    xp
        The module of the arrays.

    Returns
    -------
    uint8[64 * (n // 64 + 1)], the symbols, 0 beyond the last; and the row of the whole text.
    """
    primary = int(suffixes.argmin())
    symbols = xp.zeros(BLOCK * (text.size // BLOCK + 1), dtype=np.uint8)
    for first, last, target in (
        (0, primary, 0),
        (primary + 1, text.size + 1, primary),
    ):
        rows, out = suffixes[first:last], symbols[target:]
        for part in chunks(last - first):
            out[part] = text[rows[part].astype(np.int64) - 1]
    return symbols, primary


def occurrence_blocks(symbols: XpArray, size: int, xp: Any) -> XpArray:
    """Lay out the transform for counting.

    Parameters
    ----------
    symbols
        uint8[64 k]: of `transform`.
    size
        The number of symbols that are not filling.
    xp
        The module of the array.

    Returns
    -------
    uint32[8 k]: see `FMIndexArrays.occurrences`.
    """
    blocks = symbols.size // BLOCK
    out = xp.empty((blocks, 8), dtype=np.uint32)
    planes = out.view(np.uint64)
    for part in chunks(symbols.size):
        rows = slice(part.start // BLOCK, part.stop // BLOCK)
        planes[rows, 2] = pack_bits(symbols[part] & np.uint8(1), xp)
        planes[rows, 3] = pack_bits(symbols[part] >> 1, xp)
    low, high = planes[:, 2], planes[:, 3]
    before = xp.arange(blocks, dtype=np.int64) * BLOCK  # becomes the number of A
    totals = []
    for base, members in ((1, low & ~high), (2, high & ~low), (3, low & high)):
        counts = xp.bitwise_count(members).astype(np.int64)
        sums = xp.cumsum(counts)
        totals.append(int(sums[-1]))
        sums -= counts
        before -= sums
        out[:, base] = sums
    out[:, 0] = before
    first_rows = np.cumsum([1, size - sum(totals), *totals[:2]]).astype(np.uint32)
    out[:, :4] += xp.asarray(first_rows)
    return out.reshape(-1)


def to_positions(suffixes: XpArray, runs: TextRuns, bases: int, xp: Any) -> XpArray:
    """Turn text positions of suffixes into positions, in place; row 0 gets `bases`."""
    for part in chunks(suffixes.size):
        suffixes[part] += runs.shifts[runs.run_of(suffixes[part], xp)]
    suffixes[0] = bases
    return suffixes


def sample(suffixes: XpArray, runs: TextRuns, bases: int, xp: Any) -> SuffixSamples:
    """Keep some rows of a suffix array of text positions: see `SuffixSamples`."""
    marks = xp.zeros(-(-suffixes.size // BLOCK), dtype=np.uint64)
    positions = []
    for part in chunks(suffixes.size):
        places = suffixes[part]
        run = runs.run_of(places, xp)
        is_kept = (places % SAMPLING == 0) | (places == runs.starts[run])
        if part.start == 0:
            is_kept[0] = True
        bits = xp.zeros(-(-places.size // BLOCK) * BLOCK, dtype=np.uint8)
        bits[: places.size] = is_kept
        first_word = part.start // BLOCK
        marks[first_word : first_word + bits.size // BLOCK] = pack_bits(bits, xp)
        positions.append((places + runs.shifts[run])[is_kept])
    positions[0][0] = bases
    counts = xp.bitwise_count(marks).astype(np.int64)
    ranks = (xp.cumsum(counts) - counts).astype(np.uint32)
    return SuffixSamples(marks, ranks, xp.concatenate(positions))
