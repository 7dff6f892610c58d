"""Minimizers of sequences on the CPU, exactly those of minimap2.

A sequence becomes slots, one for each base (or run of equal bases) that ends a k-mer or interrupts
them; w slots in a row are a window. Some hundred slots are made at a time and then searched: in
two loops that test nothing where there is nothing to test, and by every rule of minimap2 at the
beginning of a sequence and behind ambiguous bases.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hapgpu.chaining.batches import Minimizers
from hapgpu.chaining.options import SketchOptions
from hapgpu.io.byte_access import Integer
from hapgpu.jit import njit, njit_inlined
from hapgpu.rows import read_only, with_room

SLOTS: Final = 512
"""So many slots are made at a time."""
LONGEST_SPAN: Final = 255

_AMBIGUOUS: Final = 4
_NO_KMER: Final = np.uint64(2**64 - 1)
_0, _1, _2, _3, _8, _14, _24, _28, _31 = map(np.uint64, (0, 1, 2, 3, 8, 14, 24, 28, 31))
_21, _265 = map(np.uint64, (21, 265))

# Where the numbers stand that are remembered of a sequence between one lot of slots and the next:
# the last k bases and their reverse complement, slots and runs of bases since the last ambiguous
# one, and the last bases of the latest runs.
_FORWARD, _REVERSE, _SLOT_COUNT, _RUN_COUNT, _RUN_ENDS = range(5)
_RUNS: Final = 32  # a power of 2 above the longest k
_LAST_RUN: Final = _RUNS - 1


def _codes() -> NDArray[np.uint8]:
    table = np.full(256, _AMBIGUOUS, dtype=np.uint8)
    for code, letters in enumerate((b"Aa", b"Cc", b"Gg", b"TtUu")):
        table[list(letters)] = code
    return table


_CODES: Final = _codes()


class _Sequence(NamedTuple):
    """Letters, and what has been seen of them."""

    text: NDArray[np.uint8]
    start: Integer
    length: Integer
    codes: NDArray[np.uint8]
    state: NDArray[np.int64]


class _Slots(NamedTuple):
    """The last w slots and then the new ones: keys, places, and slots since an ambiguous base."""

    keys: NDArray[np.uint64]
    places: NDArray[np.uint32]
    counts: NDArray[np.int32]


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
        _CODES,
        found,
    )
    count = offsets[-1]
    return Minimizers(keys[:count], places[:count], offsets)


@njit
def _sketch_all(
    text: NDArray[np.uint8],
    starts: NDArray[np.int32],
    lengths: NDArray[np.int32],
    k: int,
    w: int,
    is_hpc: bool,
    codes: NDArray[np.uint8],
    found: _Found,
) -> tuple[NDArray[np.uint64], NDArray[np.uint32], NDArray[np.int64]]:
    """Return the keys and places, with room to spare, and the offsets."""
    offsets = np.zeros(lengths.size + 1, np.int64)
    slots = _Slots(
        np.empty(w + SLOTS, np.uint64),
        np.empty(w + SLOTS, np.uint32),
        np.empty(w + SLOTS, np.int32),
    )
    state = np.empty(_RUN_ENDS + _RUNS, np.int64)
    for row in range(lengths.size):
        sequence = _Sequence(text, np.int64(starts[row]), np.int64(lengths[row]), codes, state)
        found, offsets[row + 1] = _sketch_one(sequence, k, w, is_hpc, slots, found, offsets[row])
    return found.keys, found.places, offsets


@njit
def _sketch_one(
    sequence: _Sequence,
    k: Integer,
    w: Integer,
    is_hpc: bool,
    slots: _Slots,
    found: _Found,
    count: Integer,
) -> tuple[_Found, Integer]:
    """Append the minimizers of one sequence to `count` others; return these and their number."""
    state = sequence.state
    for i in range(state.size):
        state[i] = 0
    state[_RUN_ENDS] = -1
    for slot in range(w):
        slots.keys[slot] = _NO_KMER
    at: Integer = np.int64(0)
    least: Integer = np.int64(w - 1)  # the place of the last of the least among the last w slots
    while at < sequence.length:
        found = _Found(
            with_room(found.keys, count + w + SLOTS), with_room(found.places, count + w + SLOTS)
        )
        is_steady = state[_SLOT_COUNT] >= w + k
        made: Integer = np.int64(0)
        if is_steady and k % 2 and not is_hpc:
            made = _simple_slots(sequence, at, k, w, slots)
            at += made
        if not made:
            most = SLOTS if is_steady else w + k
            at, made, is_unbroken = _any_slots(sequence, at, k, w, is_hpc, most, slots)
            is_steady = is_steady and is_unbroken
        if is_steady:
            least, count = _steady_minima(slots, w, made, least, found, count)
        else:
            least, count = _any_minima(slots, k, w, made, least, found, count)
        _keep_last(slots.keys, slots.places, w, made)
        least -= made
    found = _Found(with_room(found.keys, count + 1), with_room(found.places, count + 1))
    count = _emit(slots.keys, slots.places, least, found.keys, found.places, count)
    return found, count


@njit_inlined
def _hash(kmer: Integer, mask: Integer) -> Integer:
    """Mix the bits of a k-mer, invertibly, after T. Wang."""
    mixed = (~kmer + (kmer << _21)) & mask
    mixed ^= mixed >> _24
    mixed = (mixed * _265) & mask
    mixed ^= mixed >> _14
    mixed = (mixed * _21) & mask
    mixed ^= mixed >> _28
    return (mixed + (mixed << _31)) & mask


@njit
def _simple_slots(
    sequence: _Sequence, at: Integer, k: Integer, w: Integer, slots: _Slots
) -> Integer:
    """Make slots where each base ends a k-mer, of odd length: none is its own complement.

    Returns how many, or 0 if a base among them is ambiguous; nothing has changed then.
    """
    text, codes, state, keys, places = (
        sequence.text, sequence.codes, sequence.state, slots.keys, slots.places
    )  # fmt: skip
    size = np.uint64(min(sequence.length - at, SLOTS))
    first, new, position = np.uint64(sequence.start + at), np.uint64(w), np.uint64(at)
    mask, top = (_1 << np.uint64(2 * k)) - _1, np.uint64(2 * k - 2)
    forward, reverse = np.uint64(state[_FORWARD]), np.uint64(state[_REVERSE])
    seen = _0
    for i in range(size):
        code = np.uint64(codes[text[first + i]])
        seen |= code
        forward = (forward << _2 | code) & mask
        reverse = reverse >> _2 | (_3 - code) << top
        keys[new + i] = min(forward, reverse)
        places[new + i] = (position + i) << _1 | np.uint64(reverse < forward)
    if seen & np.uint64(_AMBIGUOUS):
        return np.int64(0)
    for i in range(size):
        keys[new + i] = _hash(keys[new + i], mask) << _8 | np.uint64(k)
    state[_FORWARD], state[_REVERSE] = forward, reverse
    return np.int64(size)


@njit
def _any_slots(
    sequence: _Sequence,
    at: Integer,
    k: Integer,
    w: Integer,
    is_hpc: bool,
    most: Integer,
    slots: _Slots,
) -> tuple[Integer, Integer, bool]:
    """Make up to `most` slots; return where they end, how many, and if no base was ambiguous."""
    text, codes, state = sequence.text, sequence.codes, sequence.state
    mask, top = (_1 << np.uint64(2 * k)) - _1, np.uint64(2 * k - 2)
    forward, reverse = np.uint64(state[_FORWARD]), np.uint64(state[_REVERSE])
    slot_count, run_count = state[_SLOT_COUNT], state[_RUN_COUNT]
    made, is_unbroken = np.int64(0), True
    while at < sequence.length and made < most:
        here = np.uint64(sequence.start + at)
        code = codes[text[here]]
        if is_hpc and code != _AMBIGUOUS:
            at += _run_beyond(text, here, sequence.length - at, codes)
        key: Integer = _NO_KMER
        if code == _AMBIGUOUS:
            slot_count, run_count, is_unbroken = np.int64(0), np.int64(0), False
            state[_RUN_ENDS] = at
        else:
            forward = (forward << _2 | np.uint64(code)) & mask
            reverse = reverse >> _2 | (_3 - np.uint64(code)) << top
            run_count += 1
            state[_RUN_ENDS + (run_count & _LAST_RUN)] = at
            if forward == reverse:  # on neither strand: minimap2 passes over it
                at += 1
                continue
            slot_count += 1
            span = at - state[_RUN_ENDS + ((run_count - k) & _LAST_RUN)] if is_hpc else k
            if slot_count >= k and span <= LONGEST_SPAN:
                key = _hash(min(forward, reverse), mask) << _8 | np.uint64(span)
        slot = np.uint64(w + made)
        slots.keys[slot], slots.counts[slot] = key, slot_count
        slots.places[slot] = np.uint64(at) << _1 | np.uint64(reverse < forward)
        made += 1
        at += 1
    state[_FORWARD], state[_REVERSE] = forward, reverse
    state[_SLOT_COUNT], state[_RUN_COUNT] = slot_count, run_count
    return at, made, is_unbroken


@njit_inlined
def _run_beyond(
    text: NDArray[np.uint8], at: Integer, most: Integer, codes: NDArray[np.uint8]
) -> Integer:
    """Return how many of the `most - 1` bases behind this one are equal to it in a row."""
    code, length = codes[text[at]], np.int64(1)
    while length < most and codes[text[at + np.uint64(length)]] == code:
        length += 1
    return length - 1


@njit
def _steady_minima(
    slots: _Slots, w: Integer, made: Integer, least: Integer, found: _Found, count: Integer
) -> tuple[Integer, Integer]:
    """Search windows that lie within one stretch without ambiguous bases.

    Returns the place of the last of the least keys in the last window, and the new count.
    """
    keys, places, found_keys, found_places = slots.keys, slots.places, found.keys, found.places
    least_key = keys[np.uint64(least)]
    for slot in range(w, w + made):
        key = keys[np.uint64(slot)]
        if key <= least_key:
            count = _emit(keys, places, least, found_keys, found_places, count)
            least, least_key = slot, key
        elif slot - least == w:
            count = _emit(keys, places, least, found_keys, found_places, count)
            least = _last_least(keys, slot - w + 1, slot)
            least_key = keys[np.uint64(least)]
            count = _emit_equal(keys, places, slot - w + 1, least, found_keys, found_places, count)
    return least, count


@njit
def _any_minima(
    slots: _Slots,
    k: Integer,
    w: Integer,
    made: Integer,
    least: Integer,
    found: _Found,
    count: Integer,
) -> tuple[Integer, Integer]:
    """Search windows by all rules; the first of a stretch tells nothing that has left it."""
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
    least, least_key = first, keys[np.uint64(first)]
    for slot in range(first + 1, last + 1):
        if keys[np.uint64(slot)] <= least_key:
            least, least_key = slot, keys[np.uint64(slot)]
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
    return count + 1 if keys[here] != _NO_KMER else count


@njit_inlined
def _emit_equal(
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


@njit_inlined
def _keep_last(
    keys: NDArray[np.uint64], places: NDArray[np.uint32], w: Integer, made: Integer
) -> None:
    """Move the last w slots to the front, where the next windows begin."""
    for slot in range(w):
        keys[np.uint64(slot)] = keys[np.uint64(slot + made)]
        places[np.uint64(slot)] = places[np.uint64(slot + made)]
