"""An FM index for compiled code, and its two basic steps."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.bits import popcount
from hapgpu.arrays.bytes import Integer
from hapgpu.arrays.ragged_view import read_only
from hapgpu.runtime.jit import njit, njit_inlined
from hapgpu.shortread.index.fm_index import SAMPLING, FMIndexArrays, SuffixSamples

_1, _2, _3, _4, _8, _63 = map(np.uint64, (1, 2, 3, 4, 8, 63))


class CompiledIndex(NamedTuple):
    """The arrays of an index for compiled code; either `suffixes` or the samples are empty.

    Attributes
    ----------
    planes, others
        As in `ReferenceBases`.
    contig_offsets
        int64[c + 1]: `Contigs.offsets`.
    counts, symbols
        uint32[8 k], uint64[4 k]: two views of `FMIndexArrays.occurrences`.
    primary, jump, jump_length
        As in `FMIndexArrays`.
    suffixes
        uint32[n + 1]: as in `FMIndexArrays`.
    marks, ranks
        As in `SuffixSamples`.
    sampled
        uint32: `SuffixSamples.positions`.
    """

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


def compiled_index(index: FMIndexArrays) -> CompiledIndex:
    """View an index for compiled code."""
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


@njit_inlined
def backward_step(
    counts: NDArray[np.uint32],
    symbols: NDArray[np.uint64],
    primary: Integer,
    low: Integer,
    high: Integer,
    row: Integer,
) -> Integer:
    """Return the first row of the suffixes that are a base followed by a suffix from `row` on.

    That is C(c) + O(c, row) of Seide 2012, Algorithm 2; the base is given by its two bits.
    `counts`, uint32, and `symbols`, uint64, are of a `CompiledIndex`.
    """
    symbol = row - np.uint64(row > primary)
    block = symbol >> np.uint64(6)
    of_base = (symbols[_4 * block + _2] ^ (low - _1)) & (symbols[_4 * block + _3] ^ (high - _1))
    before = of_base & ((_1 << (symbol & _63)) - _1)
    first: Integer = np.uint64(counts[_8 * block + (high << _1 | low)]) + popcount(before)
    return first


@njit
def locate(
    index: CompiledIndex, rows: NDArray[np.uint64], positions: NDArray[np.int64], count: Integer
) -> None:
    """Set `positions`, int64, of the suffixes in the first `count` of `rows`, uint64.

    A walk to a sample takes fewer than `SAMPLING` steps. In an incorrect index, a longer walk
    ends in row 0, which is a sample.
    """
    suffixes, marks, ranks, sampled = index.suffixes, index.marks, index.ranks, index.sampled
    counts, symbols, primary = index.counts, index.symbols, index.primary
    if marks.size == 0:
        for k in range(count):
            positions[k] = suffixes[rows[k]]
        return
    for k in range(count):
        row = rows[k]
        steps = 0
        while not (marks[row >> np.uint64(6)] >> (row & _63)) & _1:
            symbol = row - np.uint64(row > primary)
            block = symbol >> np.uint64(6)
            low = (symbols[_4 * block + _2] >> (symbol & _63)) & _1
            high = (symbols[_4 * block + _3] >> (symbol & _63)) & _1
            steps += 1
            before = backward_step(counts, symbols, primary, low, high, row)
            row = before if steps < SAMPLING else np.uint64(0)
        word = row >> np.uint64(6)
        kept = popcount(marks[word] & ((_1 << (row & _63)) - _1))
        positions[k] = np.int64(sampled[np.uint64(ranks[word]) + kept]) + steps
