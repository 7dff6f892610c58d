"""Minimizers of sequences on the CPU, identical to minimap2's.

A sequence becomes k-mer slots; w consecutive slots are a window. `SLOTS` slots are filled and then
searched at a time: by two fast loops in general, and by all rules of minimap2 at the start of a
sequence and after ambiguous bases.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.bytes import Integer
from hapgpu.arrays.ragged_view import read_only, with_room
from hapgpu.longread.batches import Minimizers
from hapgpu.longread.index.kmers import (
    CODES,
    NO_KMER,
    SLOT_COUNT,
    SLOTS,
    KmerSlots,
    Sequence,
    fill_slots,
    fill_slots_hpc,
    keep_last,
    new_slots,
    new_state,
    start_sequence,
)
from hapgpu.longread.options import SketchOptions
from hapgpu.runtime.jit import njit, njit_inlined


class _MinimizerColumns(NamedTuple):
    """Output arrays for minimizers, with spare rows."""

    keys: NDArray[np.uint64]
    positions: NDArray[np.uint32]


def sketch(
    text: NDArray[np.uint8],
    starts: NDArray[np.int32],
    lengths: NDArray[np.int32],
    options: SketchOptions,
) -> Minimizers:
    """Find the minimizers of sequences as minimap2 does (Li 2018, Bioinformatics 34:3094).

    Parameters
    ----------
    text
        uint8: A, C, G, T or U of either case; every other letter is ambiguous.
    starts, lengths
        int32[n]: offset in the text and length of each sequence; a sequence may be empty.
    options
        Options for minimizers.
    """
    bases = int(lengths.sum(dtype=np.int64))
    capacity = int(2.5 * bases / (options.w + 1))  # random letters need 2; the arrays can grow
    # NumPy allocates arrays in huge pages, compiled code does not.
    found = _MinimizerColumns(
        np.empty(capacity, dtype=np.uint64), np.empty(capacity, dtype=np.uint32)
    )
    keys, positions, offsets = _sketch_all(
        read_only(text),
        read_only(starts),
        read_only(lengths),
        options.k,
        options.w,
        options.is_hpc,
        CODES,
        found,
    )
    count = offsets[-1]
    return Minimizers(keys[:count], positions[:count], offsets)


@njit
def _sketch_all(
    text: NDArray[np.uint8],
    starts: NDArray[np.int32],
    lengths: NDArray[np.int32],
    k: int,
    w: int,
    is_hpc: bool,  # noqa: FBT001  (Numba: no keyword-only arguments)
    codes: NDArray[np.uint8],
    found: _MinimizerColumns,
) -> tuple[NDArray[np.uint64], NDArray[np.uint32], NDArray[np.int64]]:
    """Return keys and positions, with spare rows, and offsets."""
    offsets = np.zeros(lengths.size + 1, np.int64)
    slots, state = new_slots(w), new_state()
    for row in range(lengths.size):
        sequence = Sequence(text, np.int64(starts[row]), np.int64(lengths[row]), codes, state)
        found, offsets[row + 1] = _sketch_one(sequence, k, w, is_hpc, slots, found, offsets[row])
    return found.keys, found.positions, offsets


@njit
def _sketch_one(
    sequence: Sequence,
    k: Integer,
    w: Integer,
    is_hpc: bool,  # noqa: FBT001  (Numba: no keyword-only arguments)
    slots: KmerSlots,
    found: _MinimizerColumns,
    count: Integer,
) -> tuple[_MinimizerColumns, Integer]:
    """Append the minimizers of one sequence to `count` others; return arrays and new count."""
    state = sequence.state
    start_sequence(state, w, slots)
    at: Integer = np.int64(0)
    min_slot: Integer = np.int64(w - 1)  # slot of the minimum of the last w slots, the last of ties
    while at < sequence.length:
        found = _MinimizerColumns(
            with_room(found.keys, count + w + SLOTS), with_room(found.positions, count + w + SLOTS)
        )
        is_steady = state[SLOT_COUNT] >= w + k
        filled: Integer = np.int64(0)
        if is_steady and k % 2 and not is_hpc:
            filled = fill_slots(sequence, at, k, w, slots)
            at += filled
        if not filled:
            max_slots = SLOTS if is_steady else w + k
            at, filled, is_unbroken = fill_slots_hpc(sequence, at, k, w, is_hpc, max_slots, slots)
            is_steady = is_steady and is_unbroken
        if is_steady:
            min_slot, count = _steady_minima(slots, w, filled, min_slot, found, count)
        else:
            min_slot, count = _window_minima(slots, k, w, filled, min_slot, found, count)
        keep_last(slots.keys, slots.positions, w, filled)
        min_slot -= filled
    found = _MinimizerColumns(
        with_room(found.keys, count + 1), with_room(found.positions, count + 1)
    )
    count = _emit(slots.keys, slots.positions, min_slot, found.keys, found.positions, count)
    return found, count


@njit
def _steady_minima(
    slots: KmerSlots,
    w: Integer,
    filled: Integer,
    min_slot: Integer,
    found: _MinimizerColumns,
    count: Integer,
) -> tuple[Integer, Integer]:
    """Search windows without ambiguous bases.

    Return the slot of the minimum of the last window, the last of ties, and the new count.
    """
    keys, positions, found_keys, found_positions = (
        slots.keys,
        slots.positions,
        found.keys,
        found.positions,
    )
    min_key = keys[np.uint64(min_slot)]
    for slot in range(w, w + filled):
        key = keys[np.uint64(slot)]
        if key <= min_key:
            count = _emit(keys, positions, min_slot, found_keys, found_positions, count)
            min_slot, min_key = slot, key
        elif slot - min_slot == w:
            count = _emit(keys, positions, min_slot, found_keys, found_positions, count)
            min_slot = _last_minimum(keys, slot - w + 1, slot)
            min_key = keys[np.uint64(min_slot)]
            count = _emit_equal(
                keys, positions, slot - w + 1, min_slot, found_keys, found_positions, count
            )
    return min_slot, count


@njit
def _window_minima(
    slots: KmerSlots,
    k: Integer,
    w: Integer,
    filled: Integer,
    min_slot: Integer,
    found: _MinimizerColumns,
    count: Integer,
) -> tuple[Integer, Integer]:
    """Search windows by all rules of minimap2; an incomplete window emits nothing.

    Return the same as `_steady_minima`.
    """
    keys, positions, found_keys, found_positions = (
        slots.keys,
        slots.positions,
        found.keys,
        found.positions,
    )
    for slot in range(w, w + filled):
        first, length = slot - w + 1, slots.counts[np.uint64(slot)]
        if length == w + k - 1:  # ties were not emitted while the window was incomplete
            count = _emit_equal(
                keys, positions, first, min_slot, found_keys, found_positions, count
            )
        if keys[np.uint64(slot)] <= keys[np.uint64(min_slot)]:
            if length >= w + k:
                count = _emit(keys, positions, min_slot, found_keys, found_positions, count)
            min_slot = slot
        elif slot - min_slot == w:
            is_complete = length >= w + k - 1
            if is_complete:
                count = _emit(keys, positions, min_slot, found_keys, found_positions, count)
            min_slot = _last_minimum(keys, first, slot)
            if is_complete:
                count = _emit_equal(
                    keys, positions, first, min_slot, found_keys, found_positions, count
                )
    return min_slot, count


@njit_inlined
def _last_minimum(keys: NDArray[np.uint64], first: Integer, last: Integer) -> Integer:
    """Return the slot of the smallest key, the last of ties."""
    min_slot, min_key = first, keys[np.uint64(first)]
    for slot in range(first + 1, last + 1):
        if keys[np.uint64(slot)] <= min_key:
            min_slot, min_key = slot, keys[np.uint64(slot)]
    return min_slot


@njit_inlined
def _emit(
    keys: NDArray[np.uint64],
    positions: NDArray[np.uint32],
    slot: Integer,
    found_keys: NDArray[np.uint64],
    found_positions: NDArray[np.uint32],
    count: Integer,
) -> Integer:
    """Append the k-mer of a slot, if there is one; return the new count."""
    row, to = np.uint64(slot), np.uint64(count)
    found_keys[to], found_positions[to] = keys[row], positions[row]
    return count + 1 if keys[row] != NO_KMER else count


@njit_inlined
def _emit_equal(
    keys: NDArray[np.uint64],
    positions: NDArray[np.uint32],
    first: Integer,
    min_slot: Integer,
    found_keys: NDArray[np.uint64],
    found_positions: NDArray[np.uint32],
    count: Integer,
) -> Integer:
    """Append the k-mers from `first` on that are equal to the minimum at `min_slot`."""
    for slot in range(first, min_slot):
        if keys[np.uint64(slot)] == keys[np.uint64(min_slot)]:
            count = _emit(keys, positions, slot, found_keys, found_positions, count)
    return count
