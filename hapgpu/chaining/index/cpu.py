"""The hits of k-mers in a minimizer index, within compiled functions."""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.bytes import Integer
from hapgpu.arrays.ragged_view import read_only
from hapgpu.chaining.index.minimizer_index import MIX, MinimizerIndex
from hapgpu.runtime.jit import njit

LOOKUPS: Final = 256
"""Keys looked up together, so that the memory is waited for once and not for each of them."""

_MIX, _1, _2, _3, _8 = map(np.uint64, (MIX, 1, 2, 3, 8))


class CompiledTable(NamedTuple):
    """The part of a minimizer index in which keys are looked up."""

    directory: NDArray[np.uint32]
    shift: np.uint64
    entries: NDArray[np.uint64]


class Lookups(NamedTuple):
    """What `LOOKUPS` lookups need and find; only `first_hits` and `hit_counts` are results."""

    wanted: NDArray[np.uint64]
    places: NDArray[np.uint64]
    nearest: NDArray[np.uint64]
    first_hits: NDArray[np.int64]
    hit_counts: NDArray[np.int32]


def compiled_table(index: MinimizerIndex) -> CompiledTable:
    """Hand an index to compiled code."""
    shift = np.uint64(64 - index.directory_bits)
    return CompiledTable(read_only(index.directory), shift, read_only(index.entries))


@njit
def new_lookups() -> Lookups:
    """Return room for lookups."""
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
    begin: Integer,
    count: Integer,
    lookups: Lookups,
) -> None:
    """Find the hits of `count` keys, up to `LOOKUPS`, from `keys[begin]` on.

    The loads of each loop do not wait for each other. The last entry is above all keys: the span
    is not part of a hash, which has at most 56 bits, and only a longer one has it as its product.
    """
    directory, entries = table.directory, table.entries
    wanted, places, nearest = lookups.wanted, lookups.places, lookups.nearest
    first_hits, hit_counts = lookups.first_hits, lookups.hit_counts
    first, last = np.uint64(begin), np.uint64(entries.size - 1)
    for k in range(np.uint64(count)):
        wanted[k] = (keys[first + k] >> _8) * _MIX
        places[k] = _2 * np.uint64(directory[wanted[k] >> table.shift])
    for k in range(np.uint64(count)):
        nearest[k] = entries[places[k]]
    for k in range(np.uint64(count)):
        place, product = places[k], nearest[k]
        while product < wanted[k]:
            place += _2
            product = entries[place]
        hit = entries[place + _1]
        behind = entries[min(place + _3, last)]
        first_hits[k] = np.int64(hit)
        hit_counts[k] = np.int32(behind - hit) if product == wanted[k] else np.int32(0)
