"""Indexes with wrong values in their arrays, in files that are not damaged."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hapgpu.shortread.index.fm_index import BLOCK, FMIndexArrays, SuffixSamples

Change = Callable[[NDArray[Any]], NDArray[Any]]

_PARTS = {
    "offsets": "contigs",
    "planes": "bases",
    "others": "bases",
    "letter_positions": "bases",
    "letters": "bases",
    "marks": "suffixes",
    "ranks": "suffixes",
    "positions": "suffixes",
}


def arrays_of(index: FMIndexArrays) -> list[str]:
    """Name the arrays of an index."""
    if isinstance(index.suffixes, SuffixSamples):
        return [*_PARTS, "occurrences", "jump"]
    return [*list(_PARTS)[:5], "occurrences", "jump", "suffixes"]


def with_array(index: FMIndexArrays, name: str, change: Change) -> FMIndexArrays:
    """Replace one array by `change` of a copy."""
    if name not in _PARTS:
        return replace(index, **{name: change(getattr(index, name).copy())})
    part = getattr(index, _PARTS[name])
    changed = replace(part, **{name: change(getattr(part, name).copy())})
    return replace(index, **{_PARTS[name]: changed})


def put(offset: int, value: int) -> Change:
    """Set one number."""

    def changed(array: NDArray[Any]) -> NDArray[Any]:
        array[offset] = value
        return array

    return changed


def occurrence_blocks(symbols: NDArray[np.uint8], size: int) -> NDArray[np.uint32]:
    """Return `occurrences` of `size` symbols, in whole blocks padded with 0."""
    blocks = symbols.reshape(-1, BLOCK)
    is_symbol = np.arange(symbols.size).reshape(blocks.shape) < size
    counts = np.stack([((blocks == base) & is_symbol).sum(axis=1) for base in range(4)], axis=1)
    totals = np.cumsum(counts, axis=0)
    firsts = np.cumsum([1, *totals[-1, :3]])
    out = np.empty((len(blocks), 8), dtype=np.uint32)
    out[:, :4] = firsts + totals - counts
    for plane in range(2):
        bits = np.packbits(blocks >> plane & 1, axis=1, bitorder="little")
        out[:, 4 + 2 * plane : 6 + 2 * plane] = bits.view(np.uint32)
    return out.reshape(-1)


def with_random_rows(index: FMIndexArrays, seed: int) -> FMIndexArrays:
    """Return a sound index with random rows: most walks to samples would be endless."""
    generator = np.random.default_rng(seed)
    size, total = int(index.jump[-1]) - 1, int(index.contigs.offsets[-1])
    symbols = np.zeros(BLOCK * (size // BLOCK + 1), dtype=np.uint8)
    symbols[:size] = generator.integers(0, 4, size)
    suffixes: NDArray[np.uint32] | SuffixSamples
    if isinstance(index.suffixes, SuffixSamples):
        kept = np.zeros(BLOCK * index.suffixes.marks.size, dtype=np.uint8)
        kept[[0, index.primary]] = 1
        marks = np.packbits(kept, bitorder="little").view(np.uint64)
        ranks = np.cumsum(kept.reshape(-1, BLOCK).sum(axis=1)) - np.bitwise_count(marks)
        positions = np.array([total, 2**32 - 1], dtype=np.uint32)
        suffixes = SuffixSamples(marks, ranks.astype(np.uint32), positions)
    else:
        suffixes = generator.integers(0, 8, size + 1).astype(np.uint32)  # each of them often
    jump = generator.integers(0, 2**32, index.jump.size).astype(np.uint32)
    jump[::2] %= size + 2
    jump[[0, -1]] = 0, size + 1
    return replace(
        index,
        occurrences=occurrence_blocks(symbols, size),
        jump=jump,
        suffixes=suffixes,
    )
