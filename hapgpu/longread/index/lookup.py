"""Look-up of k-mers in a minimizer index, in compiled functions."""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.bytes import Integer
from hapgpu.arrays.ragged_view import read_only
from hapgpu.longread.index.minimizer_index import MIX, MinimizerIndex
from hapgpu.runtime.jit import njit

LOOKUPS: Final = 256
"""Keys looked up together, so that their memory loads overlap."""

_MIX, _1, _2, _3, _8 = map(np.uint64, (MIX, 1, 2, 3, 8))


class CompiledTable(NamedTuple):
    """Hash table of a minimizer index, for compiled code.

    Attributes
    ----------
    directory, entries
        As in `MinimizerIndex`, read-only.
    shift
        64 - `directory_bits`.
    """

    directory: NDArray[np.uint32]
    shift: np.uint64
    entries: NDArray[np.uint64]


class Lookups(NamedTuple):
    """Working arrays and results of k look-ups, k = `LOOKUPS`.

    Attributes
    ----------
    products
        uint64[k]: hash * MIX of each key.
    rows, nearest
        uint64[k]: row in the entries at which the search starts, and the entry there.
    first_occurrences, occurrence_counts
        int64[k], int32[k], results: the first occurrence of each key, and how many it has.
    """

    products: NDArray[np.uint64]
    rows: NDArray[np.uint64]
    nearest: NDArray[np.uint64]
    first_occurrences: NDArray[np.int64]
    occurrence_counts: NDArray[np.int32]


def compiled_table(index: MinimizerIndex) -> CompiledTable:
    """Return the hash table of an index, for compiled code."""
    shift = np.uint64(64 - index.directory_bits)
    return CompiledTable(read_only(index.directory), shift, read_only(index.entries))


@njit
def new_lookups() -> Lookups:
    """Return arrays for `LOOKUPS` look-ups."""
    return Lookups(
        np.empty(LOOKUPS, dtype=np.uint64),
        np.empty(LOOKUPS, dtype=np.uint64),
        np.empty(LOOKUPS, dtype=np.uint64),
        np.empty(LOOKUPS, dtype=np.int64),
        np.empty(LOOKUPS, dtype=np.int32),
    )


@njit
def look_up(
    table: CompiledTable,
    keys: NDArray[np.uint64],
    start: Integer,
    count: Integer,
    lookups: Lookups,
) -> None:
    """Look up the occurrences of `count` keys, at most `LOOKUPS`, from `keys[start]` on.

    `keys` are uint64, as in `Minimizers`. The loads of each loop are independent of each other. The
    last entry is larger than all keys: a hash has at most 56 bits, and no such hash has the product
    2**64 - 1.
    """
    directory, entries = table.directory, table.entries
    products, rows, nearest = lookups.products, lookups.rows, lookups.nearest
    first_occurrences, occurrence_counts = lookups.first_occurrences, lookups.occurrence_counts
    first, last = np.uint64(start), np.uint64(entries.size - 1)
    for k in range(np.uint64(count)):
        products[k] = (keys[first + k] >> _8) * _MIX
        rows[k] = _2 * np.uint64(directory[products[k] >> table.shift])
    for k in range(np.uint64(count)):
        nearest[k] = entries[rows[k]]
    for k in range(np.uint64(count)):
        row, found = rows[k], nearest[k]
        while found < products[k]:
            row += _2
            found = entries[row]
        occurrence = entries[row + _1]
        next_occurrence = entries[min(row + _3, last)]
        first_occurrences[k] = np.int64(occurrence)
        occurrence_counts[k] = (
            np.int32(next_occurrence - occurrence) if found == products[k] else np.int32(0)
        )
