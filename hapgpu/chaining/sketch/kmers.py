"""Slots of sequences: what the windows are made of in which minimizers are searched.

A sequence has a slot for each base (or run of equal bases) that ends a k-mer or interrupts them.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.bytes import Integer
from hapgpu.runtime.jit import njit, njit_inlined

SLOTS: Final = 512
"""So many slots are made at a time."""
LONGEST_SPAN: Final = 255
NO_KMER: Final = np.uint64(2**64 - 1)
"""Key of a slot without a k-mer."""

_AMBIGUOUS: Final = 4
_0, _1, _2, _3, _8, _14, _24, _28, _31 = map(np.uint64, (0, 1, 2, 3, 8, 14, 24, 28, 31))
_21, _265 = map(np.uint64, (21, 265))

# Where the numbers stand that are remembered of a sequence between one lot of slots and the next:
# the last k bases and their reverse complement, slots and runs of bases since the last ambiguous
# one, and the last bases of the latest runs.
_FORWARD, _REVERSE, SLOT_COUNT, _RUN_COUNT, _RUN_ENDS = range(5)
_RUNS: Final = 32  # a power of 2 above the longest k
_LAST_RUN: Final = _RUNS - 1


def _codes() -> NDArray[np.uint8]:
    table = np.full(256, _AMBIGUOUS, dtype=np.uint8)
    for code, letters in enumerate((b"Aa", b"Cc", b"Gg", b"TtUu")):
        table[list(letters)] = code
    return table


CODES: Final = _codes()


class Sequence(NamedTuple):
    """Letters, and what has been seen of them."""

    text: NDArray[np.uint8]
    start: Integer
    length: Integer
    codes: NDArray[np.uint8]
    state: NDArray[np.int64]


class KmerSlots(NamedTuple):
    """The last w slots and then the new ones: keys, places, and slots since an ambiguous base."""

    keys: NDArray[np.uint64]
    places: NDArray[np.uint32]
    counts: NDArray[np.int32]


@njit
def new_slots(w: Integer) -> KmerSlots:
    """Return room for the slots of windows of this width."""
    return KmerSlots(
        np.empty(w + SLOTS, np.uint64),
        np.empty(w + SLOTS, np.uint32),
        np.empty(w + SLOTS, np.int32),
    )


@njit
def new_state() -> NDArray[np.int64]:
    """Return room for what is remembered of a sequence."""
    return np.empty(_RUN_ENDS + _RUNS, np.int64)


@njit
def begin_sequence(state: NDArray[np.int64], w: Integer, slots: KmerSlots) -> None:
    """Forget the sequence before; the first window is empty."""
    for i in range(state.size):
        state[i] = 0
    state[_RUN_ENDS] = -1
    for slot in range(w):
        slots.keys[slot] = NO_KMER


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
def fill_slots(
    sequence: Sequence, at: Integer, k: Integer, w: Integer, slots: KmerSlots
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
def fill_slots_hpc(  # noqa: PLR0917  (compiled code takes no keywords)
    sequence: Sequence,
    at: Integer,
    k: Integer,
    w: Integer,
    is_hpc: bool,  # noqa: FBT001  (compiled code takes no keywords)
    most: Integer,
    slots: KmerSlots,
) -> tuple[Integer, Integer, bool]:
    """Make up to `most` slots; return where they end, how many, and if no base was ambiguous."""
    text, codes, state = sequence.text, sequence.codes, sequence.state
    mask, top = (_1 << np.uint64(2 * k)) - _1, np.uint64(2 * k - 2)
    forward, reverse = np.uint64(state[_FORWARD]), np.uint64(state[_REVERSE])
    slot_count, run_count = state[SLOT_COUNT], state[_RUN_COUNT]
    made, is_unbroken = np.int64(0), True
    while at < sequence.length and made < most:
        here = np.uint64(sequence.start + at)
        code = codes[text[here]]
        if is_hpc and code != _AMBIGUOUS:
            at += _run_beyond(text, here, sequence.length - at, codes)
        key: Integer = NO_KMER
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
    state[SLOT_COUNT], state[_RUN_COUNT] = slot_count, run_count
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


@njit_inlined
def keep_last(
    keys: NDArray[np.uint64], places: NDArray[np.uint32], w: Integer, made: Integer
) -> None:
    """Move the last w slots to the front, where the next windows begin."""
    for slot in range(w):
        keys[np.uint64(slot)] = keys[np.uint64(slot + made)]
        places[np.uint64(slot)] = places[np.uint64(slot + made)]
