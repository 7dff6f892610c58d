"""Rows of a Ragged as `Memory`, for the innermost loops of compiled functions."""

from __future__ import annotations

from typing import NamedTuple

from hapgpu.arrays.bytes import Integer
from hapgpu.arrays.memory import Memory, memory_of, part_of, read_64
from hapgpu.arrays.ragged_view import RaggedView
from hapgpu.runtime.jit import njit_inlined

_OFFSET_BYTES = 8


class RaggedMemory(NamedTuple):
    """Bytes of a Ragged: its items, and their offsets, int64[n + 1]; see `Memory`."""

    data: Memory
    offsets: Memory


@njit_inlined
def ragged_memory_of(rows: RaggedView) -> RaggedMemory:
    """Return the bytes of C-contiguous `rows`, of any dtype; the caller holds them."""
    return RaggedMemory(memory_of(rows.data), memory_of(rows.offsets))


@njit_inlined
def row_memory(rows: RaggedMemory, row: Integer, width: int) -> Memory:
    """Return the bytes of one row of items of `width` bytes, a constant for the compiler."""
    start = read_64(rows.offsets, _OFFSET_BYTES * row)
    end = read_64(rows.offsets, _OFFSET_BYTES * (row + 1))
    return part_of(rows.data, width * start, width * (end - start))
