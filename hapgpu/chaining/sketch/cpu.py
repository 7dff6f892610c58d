"""Minimizers of sequences on the CPU, exactly those of minimap2.

A sequence becomes `slots`; w of them in a row are a window. Some hundred are made at a time and
then searched: in two loops that test nothing where there is nothing to test, and by every rule of
minimap2 at the beginning of a sequence and behind ambiguous bases.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.bytes import Integer
from hapgpu.arrays.ragged_view import read_only, with_room
from hapgpu.chaining.batches import Minimizers
from hapgpu.chaining.options import SketchOptions
from hapgpu.chaining.sketch.kmers import (
    CODES,
    NO_KMER,
    SLOT_COUNT,
    SLOTS,
    KmerSlots,
    Sequence,
    begin_sequence,
    fill_slots,
    fill_slots_hpc,
    keep_last,
    new_slots,
    new_state,
)
from hapgpu.runtime.jit import njit, njit_inlined


class _Found(NamedTuple):
    """Room for minimizers."""

    keys: NDArray[np.uint64]
    places: NDArray[np.uint32]


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
        uint8; A, C, G, T or U of either case, every other letter is ambiguous.
    starts, lengths
        int32[n]: where the sequences lie in the text; a sequence may be empty.
    options
        The k-mers and windows.
    """
    room = int(2.5 * int(lengths.sum(dtype=np.int64)) / (options.w + 1))  # random letters: 2
    # NumPy's arrays lie in huge pages, which those of compiled code do not.
    found = _Found(np.empty(room, dtype=np.uint64), np.empty(room, dtype=np.uint32))
    keys, places, offsets = _sketch_all(
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
    return Minimizers(keys[:count], places[:count], offsets)


@njit
def _sketch_all(  # noqa: PLR0917  (compiled code takes no keywords)
    text: NDArray[np.uint8],
    starts: NDArray[np.int32],
    lengths: NDArray[np.int32],
    k: int,
    w: int,
    is_hpc: bool,  # noqa: FBT001  (compiled code takes no keywords)
    codes: NDArray[np.uint8],
    found: _Found,
) -> tuple[NDArray[np.uint64], NDArray[np.uint32], NDArray[np.int64]]:
    """Return the keys and places, with room to spare, and the offsets."""
    offsets = np.zeros(lengths.size + 1, np.int64)
    slots, state = new_slots(w), new_state()
    for row in range(lengths.size):
        sequence = Sequence(text, np.int64(starts[row]), np.int64(lengths[row]), codes, state)
        found, offsets[row + 1] = _sketch_one(sequence, k, w, is_hpc, slots, found, offsets[row])
    return found.keys, found.places, offsets


@njit
def _sketch_one(  # noqa: PLR0917  (compiled code takes no keywords)
    sequence: Sequence,
    k: Integer,
    w: Integer,
    is_hpc: bool,  # noqa: FBT001  (compiled code takes no keywords)
    slots: KmerSlots,
    found: _Found,
    count: Integer,
) -> tuple[_Found, Integer]:
    """Append the minimizers of one sequence to `count` others; return these and their number."""
    state = sequence.state
    begin_sequence(state, w, slots)
    at: Integer = np.int64(0)
    least: Integer = np.int64(w - 1)  # the place of the last of the least among the last w slots
    while at < sequence.length:
        found = _Found(
            with_room(found.keys, count + w + SLOTS), with_room(found.places, count + w + SLOTS)
        )
        is_steady = state[SLOT_COUNT] >= w + k
        made: Integer = np.int64(0)
        if is_steady and k % 2 and not is_hpc:
            made = fill_slots(sequence, at, k, w, slots)
            at += made
        if not made:
            most = SLOTS if is_steady else w + k
            at, made, is_unbroken = fill_slots_hpc(sequence, at, k, w, is_hpc, most, slots)
            is_steady = is_steady and is_unbroken
        if is_steady:
            least, count = _steady_minima(slots, w, made, least, found, count)
        else:
            least, count = _any_minima(slots, k, w, made, least, found, count)
        keep_last(slots.keys, slots.places, w, made)
        least -= made
    found = _Found(with_room(found.keys, count + 1), with_room(found.places, count + 1))
    count = _emit(slots.keys, slots.places, least, found.keys, found.places, count)
    return found, count


@njit
def _steady_minima(
    slots: KmerSlots, w: Integer, made: Integer, least: Integer, found: _Found, count: Integer
) -> tuple[Integer, Integer]:
    """Search windows that lie within one stretch without ambiguous bases.

    Returns the place of the last of the least keys in the last window, and the new count.
    """
    keys, places, found_keys, found_places = slots.keys, slots.places, found.keys, found.places
    min_key = keys[np.uint64(least)]
    for slot in range(w, w + made):
        key = keys[np.uint64(slot)]
        if key <= min_key:
            count = _emit(keys, places, least, found_keys, found_places, count)
            least, min_key = slot, key
        elif slot - least == w:
            count = _emit(keys, places, least, found_keys, found_places, count)
            least = _last_least(keys, slot - w + 1, slot)
            min_key = keys[np.uint64(least)]
            count = _emit_equal(keys, places, slot - w + 1, least, found_keys, found_places, count)
    return least, count


@njit
def _any_minima(  # noqa: PLR0917  (compiled code takes no keywords)
    slots: KmerSlots,
    k: Integer,
    w: Integer,
    made: Integer,
    least: Integer,
    found: _Found,
    count: Integer,
) -> tuple[Integer, Integer]:
    """Search windows by all parameters; the first of a stretch tells nothing that has left it."""
    keys, places, found_keys, found_places = slots.keys, slots.places, found.keys, found.places
    for slot in range(w, w + made):
        first, length = slot - w + 1, slots.counts[np.uint64(slot)]
        if length == w + k - 1:  # equal ones were not told while the window was incomplete
            count = _emit_equal(keys, places, first, least, found_keys, found_places, count)
        if keys[np.uint64(slot)] <= keys[np.uint64(least)]:
            if length >= w + k:
                count = _emit(keys, places, least, found_keys, found_places, count)
            least = slot
        elif slot - least == w:
            is_complete = length >= w + k - 1
            if is_complete:
                count = _emit(keys, places, least, found_keys, found_places, count)
            least = _last_least(keys, first, slot)
            if is_complete:
                count = _emit_equal(keys, places, first, least, found_keys, found_places, count)
    return least, count


@njit_inlined
def _last_least(keys: NDArray[np.uint64], first: Integer, last: Integer) -> Integer:
    """Return the place of the least key, the last of equal ones."""
    least, min_key = first, keys[np.uint64(first)]
    for slot in range(first + 1, last + 1):
        if keys[np.uint64(slot)] <= min_key:
            least, min_key = slot, keys[np.uint64(slot)]
    return least


@njit_inlined
def _emit(
    keys: NDArray[np.uint64],
    places: NDArray[np.uint32],
    slot: Integer,
    found_keys: NDArray[np.uint64],
    found_places: NDArray[np.uint32],
    count: Integer,
) -> Integer:
    """Append the k-mer of a slot, if there is one; return the new count."""
    here, to = np.uint64(slot), np.uint64(count)
    found_keys[to], found_places[to] = keys[here], places[here]
    return count + 1 if keys[here] != NO_KMER else count


@njit_inlined
def _emit_equal(  # noqa: PLR0917  (compiled code takes no keywords)
    keys: NDArray[np.uint64],
    places: NDArray[np.uint32],
    first: Integer,
    least: Integer,
    found_keys: NDArray[np.uint64],
    found_places: NDArray[np.uint32],
    count: Integer,
) -> Integer:
    """Append the k-mers from `first` on that are equal to the last of the least."""
    for slot in range(first, least):
        if keys[np.uint64(slot)] == keys[np.uint64(least)]:
            count = _emit(keys, places, slot, found_keys, found_places, count)
    return count
