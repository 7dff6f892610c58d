"""Names to their rows: a hash table for compiled functions, exact."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.bytes import FNV_BASIS, FNV_PRIME, Integer, hash_of
from hapgpu.arrays.memory import Memory, read_u8
from hapgpu.arrays.ragged import Ragged
from hapgpu.arrays.ragged_view import read_only, view_of
from hapgpu.runtime.jit import njit, njit_inlined


class NameTable(NamedTuple):
    """Table of n names.

    Attributes
    ----------
    names, offsets
        uint8: the names, end to end, and int64[n + 1].
    slots
        int32[2**k], more than n: rows of names by their hash, -1 in free slots.
    """

    names: NDArray[np.uint8]
    offsets: NDArray[np.int64]
    slots: NDArray[np.int32]


def name_table(names: Sequence[str]) -> NameTable:
    """Make the table of names, which all differ."""
    rows = Ragged.from_names(names)
    view = view_of(rows)
    slots = np.full(1 << (2 * len(rows)).bit_length(), -1, dtype=np.int32)
    _fill_slots(view.data, view.offsets, slots)
    return NameTable(view.data, view.offsets, read_only(slots))


@njit
def _fill_slots(
    names: NDArray[np.uint8], offsets: NDArray[np.int64], slots: NDArray[np.int32]
) -> None:
    mask = np.uint64(slots.size - 1)
    for row in range(offsets.size - 1):
        slot = hash_of(names, offsets[row], offsets[row + 1]) & mask
        while slots[slot] >= 0:
            slot = (slot + np.uint64(1)) & mask
        slots[slot] = row


@njit
def find_name(table: NameTable, name: Memory) -> Integer:
    """Return the row of a name; -1 if the table lacks it."""
    value = FNV_BASIS
    for k in range(name.size):
        value = (value ^ np.uint64(read_u8(name, k))) * FNV_PRIME
    mask = np.uint64(table.slots.size - 1)
    slot = value & mask
    while table.slots[slot] >= 0:
        row = np.int64(table.slots[slot])
        if _is_name(table, row, name):
            return row
        slot = (slot + np.uint64(1)) & mask
    return np.int64(-1)


@njit_inlined
def _is_name(table: NameTable, row: Integer, name: Memory) -> bool:
    start = table.offsets[row]
    if table.offsets[row + 1] - start != name.size:
        return False
    same = np.int64(0)
    while same < name.size and table.names[start + same] == read_u8(name, same):
        same += 1
    return bool(same == name.size)
