"""Checks of the arrays of a minimizer index.

They ensure that a look-up stays within the arrays and short, and that every occurrence is a
position of a k-mer in a sequence. They do not check that it is the right k-mer.
"""

from __future__ import annotations

from functools import partial

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.ragged_view import read_only
from hapgpu.chaining.index.build import MAX_BASES
from hapgpu.chaining.index.cpu import CompiledTable, compiled_table
from hapgpu.chaining.index.hash_table import LAST_KEY
from hapgpu.chaining.index.minimizer_index import MinimizerIndex
from hapgpu.chaining.options import LONGEST_KMER, WIDEST_WINDOW
from hapgpu.io.array_files.chunk_checks import holds_everywhere, never_decreases
from hapgpu.runtime.jit import njit

_1, _2, _3, _32 = map(np.uint64, (1, 2, 3, 32))
_LOW_HALF = np.uint64(2**32 - 1)


def is_sound(index: MinimizerIndex) -> bool:
    """Return True if look-ups stay within the arrays, are short and find positions of k-mers."""
    return _are_sequences(index) and _is_table(index) and _are_occurrences(index)


def _are_sequences(index: MinimizerIndex) -> bool:
    lengths, sketch = index.lengths, index.sketch
    return (
        1 <= sketch.k <= LONGEST_KMER
        and 1 <= sketch.w <= WIDEST_WINDOW
        and lengths.size == len(index.names)
        and bool(((lengths >= 0) & (lengths <= MAX_BASES)).all())
        and all(name.split() == [name] for name in index.names)
    )


def _is_table(index: MinimizerIndex) -> bool:
    """Return True if the entries ascend and the directory matches them."""
    directory, entries = index.directory, index.entries
    distinct = entries.size // 2 - 1
    return (
        entries.size >= 2
        and entries.size % 2 == 0
        and index.directory_bits == max(distinct.bit_length(), 1)
        and directory.size == 2**index.directory_bits + 1
        and int(entries[-2]) == LAST_KEY
        and (entries[1], entries[-1]) == (0, index.occurrences.size)
        and (directory[0], directory[-1]) == (0, distinct)
        and never_decreases(directory)
        and holds_everywhere(partial(_are_entries, compiled_table(index)), distinct)
    )


@njit
def _are_entries(table: CompiledTable, start: int, end: int) -> bool:
    """Return True if the entries from `start` to `end` ascend and match the directory."""
    directory, shift, entries = table.directory, table.shift, table.entries
    for entry in range(np.uint64(start), np.uint64(end)):
        at = _2 * entry
        bucket = entries[at] >> shift
        ascends = entries[at] < entries[at + _2] and entries[at + _1] < entries[at + _3]
        if not (ascends and directory[bucket] <= entry < directory[bucket + _1]):
            return False
    return True


def _are_occurrences(index: MinimizerIndex) -> bool:
    occurrences, min_position = read_only(index.occurrences), np.uint64(index.sketch.k - 1)
    position_counts = np.append(np.maximum(index.lengths - (index.sketch.k - 1), 0), 0).astype(
        np.uint64
    )
    return holds_everywhere(
        partial(_are_positions, occurrences, read_only(position_counts), min_position),
        occurrences.size,
    )


@njit
def _are_positions(
    occurrences: NDArray[np.uint64],
    position_counts: NDArray[np.uint64],
    min_position: np.uint64,
    start: int,
    end: int,
) -> bool:
    """Return True if the occurrences from `start` to `end` are positions of k-mers.

    Sequence i has `position_counts[i]` positions, from `min_position` on; the last row is 0.
    """
    last = np.uint64(position_counts.size - 1)
    for k in range(np.uint64(start), np.uint64(end)):
        position = (occurrences[k] & _LOW_HALF) >> _1
        if position - min_position >= position_counts[min(occurrences[k] >> _32, last)]:
            return False
    return True
