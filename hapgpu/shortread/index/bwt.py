"""Arrays of an FM index computed from its suffix array: occurrences, jump table, positions.

As in `encoding`, each pass takes NumPy or CuPy as `xp`, and works in chunks.
"""

from __future__ import annotations

from dataclasses import dataclass
from types import ModuleType
from typing import Any, Final

import numpy as np

from hapgpu.shortread.index.encoding import OTHER, XpArray, chunks, pack_bits
from hapgpu.shortread.index.fm_index import BLOCK, SAMPLING, SuffixSamples

MAX_JUMP: Final = 14
"""Maximum k of the k-mers in a jump table."""

_MIN_JUMP: Final = 4
_JUMP_BYTES: Final = 64 << 20
_JUMP_BYTES_PER_BASE: Final = 0.4


@dataclass(frozen=True, slots=True)
class TextRuns:
    """Runs of the text without a gap, as arrays of NumPy or CuPy.

    Attributes
    ----------
    starts
        uint32[r] ascending from 0: the text position at which each run starts.
    shifts
        uint32[r]: the number of letters other than A, C, G and T before each run.
    """

    starts: XpArray
    shifts: XpArray

    def run_of(self, text_positions: XpArray, xp: ModuleType) -> XpArray:
        """Return the run of each text position."""
        return xp.searchsorted(self.starts, text_positions, side="right") - 1


def find_runs(codes: XpArray, xp: ModuleType) -> TextRuns:
    """Find the runs of A, C, G and T between other letters; there must be one."""
    is_base = codes != OTHER
    changes = xp.flatnonzero(is_base[1:] != is_base[:-1]) + 1
    bounds = xp.concatenate([xp.zeros(1, dtype=np.int64), changes, xp.full(1, codes.size)])
    first = 0 if bool(is_base[0]) else 1
    positions = bounds[:-1][first::2]
    lengths = xp.diff(bounds)[first::2]
    starts = xp.cumsum(lengths) - lengths
    return TextRuns(starts.astype(np.uint32), (positions - starts).astype(np.uint32))


def jump_length_for(symbols: int) -> int:
    """Choose the k-mer length of the jump table of a text.

    The aim is about one suffix per k-mer, and a table much smaller than the rest of the index.
    """
    max_bytes = max(_JUMP_BYTES, _JUMP_BYTES_PER_BASE * symbols)
    length = _MIN_JUMP
    while length < MAX_JUMP and 4 ** (length + 1) <= min(symbols, max_bytes / 4):
        length += 1
    return length


def kmers(
    codes: XpArray, length: int, dtype: type[np.unsignedinteger[Any]], xp: ModuleType
) -> XpArray:
    """Return the k-mer at each offset, as a number in base 4.

    Parameters
    ----------
    codes
        uint8[n], 0 to 3; after the end, zeros are assumed.
    length
        k, at least 1; two bits of `dtype` per base.
    dtype
        Type of the result.
    xp
        The module of the array.
    """
    one = codes.astype(dtype)
    kmer, width = one, 1
    for digit in f"{length:b}"[1:]:
        kmer = _with_next(kmer, width, kmer, width, xp)
        width *= 2
        if digit == "1":
            kmer = _with_next(kmer, width, one, 1, xp)
            width += 1
    return kmer


def _with_next(
    kmer: XpArray, width: int, following: XpArray, count: int, xp: ModuleType
) -> XpArray:
    """Append to k-mers of `width` bases the k-mers of `count` bases that follow them."""
    joined = xp.left_shift(kmer, kmer.dtype.type(2 * count))
    joined[:-width] |= following[width:]
    return joined


def jump_table(text: XpArray, length: int, xp: ModuleType) -> XpArray:
    """Return uint32[4**length + 1]: see `FMIndexArrays.jump`."""
    entries = 4**length
    counts = xp.zeros(entries + 1, dtype=np.int64)
    counts[1] = 1  # the empty suffix, padded with A
    for part in chunks(text.size, at_least=entries):
        entry = xp.empty(part.stop - part.start, dtype=np.int64)
        for piece in chunks(entry.size):
            codes = text[part.start + piece.start : part.start + piece.stop + length - 1]
            entry[piece] = kmers(codes, length, np.uint32, xp)[: piece.stop - piece.start]
        counts[1:] += xp.bincount(entry, minlength=entries)
    return xp.cumsum(counts).astype(np.uint32)


def transform(text: XpArray, suffixes: XpArray, xp: ModuleType) -> tuple[XpArray, int]:
    """Compute the Burrows-Wheeler transform without `$`.

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
    uint8[64 * (n // 64 + 1)], the symbols, 0 after the last; and the row of the whole text.
    """
    primary = int(suffixes.argmin())
    symbols = xp.zeros(BLOCK * (text.size // BLOCK + 1), dtype=np.uint8)
    for start, end, target in (
        (0, primary, 0),
        (primary + 1, text.size + 1, primary),
    ):
        rows, out = suffixes[start:end], symbols[target:]
        for part in chunks(end - start):
            out[part] = text[rows[part].astype(np.int64) - 1]
    return symbols, primary


def occurrence_blocks(symbols: XpArray, size: int, xp: ModuleType) -> XpArray:
    """Store the transform in blocks with counts.

    Parameters
    ----------
    symbols
        uint8[64 k], from `transform`.
    size
        The number of symbols without padding.
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


def to_positions(suffixes: XpArray, runs: TextRuns, bases: int, xp: ModuleType) -> XpArray:
    """Convert text positions of suffixes to reference positions, in place; row 0 gets `bases`."""
    for part in chunks(suffixes.size):
        suffixes[part] += runs.shifts[runs.run_of(suffixes[part], xp)]
    suffixes[0] = bases
    return suffixes


def sample(suffixes: XpArray, runs: TextRuns, bases: int, xp: ModuleType) -> SuffixSamples:
    """Sample a suffix array of text positions: see `SuffixSamples`."""
    marks = xp.zeros(-(-suffixes.size // BLOCK), dtype=np.uint64)
    positions = []
    for part in chunks(suffixes.size):
        offsets = suffixes[part]
        run = runs.run_of(offsets, xp)
        is_kept = (offsets % SAMPLING == 0) | (offsets == runs.starts[run])
        if part.start == 0:
            is_kept[0] = True
        bits = xp.zeros(-(-offsets.size // BLOCK) * BLOCK, dtype=np.uint8)
        bits[: offsets.size] = is_kept
        first_word = part.start // BLOCK
        marks[first_word : first_word + bits.size // BLOCK] = pack_bits(bits, xp)
        positions.append((offsets + runs.shifts[run])[is_kept])
    positions[0][0] = bases
    counts = xp.bitwise_count(marks).astype(np.int64)
    ranks = (xp.cumsum(counts) - counts).astype(np.uint32)
    return SuffixSamples(marks, ranks, xp.concatenate(positions))
