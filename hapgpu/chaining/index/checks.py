"""Whether the arrays of a minimizer index can be used, whoever wrote them.

What is checked is all that keeps a look-up within its arrays, near the place where it begins, and
that makes every hit a place of a k-mer in a sequence. Whether it is the right k-mer is not.
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
from hapgpu.runtime.chunk_checks import holds_everywhere, never_decreases
from hapgpu.runtime.jit import njit

_1, _2, _3, _32 = map(np.uint64, (1, 2, 3, 32))
_LOW_HALF = np.uint64(2**32 - 1)


def is_sound(index: MinimizerIndex) -> bool:
    """Tell whether no look-up leaves an array of an index, runs long or finds what is no k-mer."""
    return _are_sequences(index) and _is_table(index) and _are_hits(index)


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
    """Tell whether entries ascend from the first hit to the last, and the directory says where."""
    directory, entries = index.directory, index.entries
    distinct = entries.size // 2 - 1
    return (
        entries.size >= 2
        and entries.size % 2 == 0
        and index.directory_bits == max(distinct.bit_length(), 1)
        and directory.size == 2**index.directory_bits + 1
        and int(entries[-2]) == LAST_KEY
        and (entries[1], entries[-1]) == (0, index.hits.size)
        and (directory[0], directory[-1]) == (0, distinct)
        and never_decreases(directory)
        and holds_everywhere(partial(_are_entries, compiled_table(index)), distinct)
    )


@njit
def _are_entries(table: CompiledTable, start: int, stop: int) -> bool:
    """Tell whether entries from `start` to `stop` ascend, and lie where the directory says."""
    directory, shift, entries = table.directory, table.shift, table.entries
    for entry in range(np.uint64(start), np.uint64(stop)):
        at = _2 * entry
        bucket = entries[at] >> shift
        ascends = entries[at] < entries[at + _2] and entries[at + _1] < entries[at + _3]
        if not (ascends and directory[bucket] <= entry < directory[bucket + _1]):
            return False
    return True


def _are_hits(index: MinimizerIndex) -> bool:
    hits, least = read_only(index.hits), np.uint64(index.sketch.k - 1)
    places = np.append(np.maximum(index.lengths - (index.sketch.k - 1), 0), 0).astype(np.uint64)
    return holds_everywhere(partial(_are_places, hits, read_only(places), least), hits.size)


@njit
def _are_places(
    hits: NDArray[np.uint64], places: NDArray[np.uint64], least: np.uint64, start: int, stop: int
) -> bool:
    """Tell whether hits from `start` to `stop` are places where a k-mer ends.

    `least` is the first of the `places[i]` of sequence i, behind which none comes.
    """
    last = np.uint64(places.size - 1)
    for k in range(np.uint64(start), np.uint64(stop)):
        position = (hits[k] & _LOW_HALF) >> _1
        if position - least >= places[min(hits[k] >> _32, last)]:
            return False
    return True
