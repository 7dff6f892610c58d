"""K-mer slots: the elements of the windows in which minimizers are searched.

A sequence has a slot per base (or run of equal bases) that ends a k-mer or is ambiguous.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.bytes import Integer
from hapgpu.runtime.jit import njit, njit_inlined

SLOTS: Final = 512
"""Number of slots filled at a time."""
LONGEST_SPAN: Final = 255
NO_KMER: Final = np.uint64(2**64 - 1)
"""Key of a slot without a k-mer."""

_AMBIGUOUS: Final = 4
_0, _1, _2, _3, _8, _14, _24, _28, _31 = map(np.uint64, (0, 1, 2, 3, 8, 14, 24, 28, 31))
_21, _265 = map(np.uint64, (21, 265))

# Rows of the state of a sequence between two fillings of the slots: the last k bases and their
# reverse complement, the numbers of slots and runs of bases since the last ambiguous base, and the
# positions of the last bases of the latest runs.
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
    """A sequence in a text, and the state after the bases read so far.

    Attributes
    ----------
    text
        uint8 text.
    start, length
        The sequence in the text, in bytes.
    codes
        uint8[256]: `CODES`, A, C, G and T or U as 0 to 3, other letters as 4.
    state
        int64: see `new_state`.
    """

    text: NDArray[np.uint8]
    start: Integer
    length: Integer
    codes: NDArray[np.uint8]
    state: NDArray[np.int64]


class KmerSlots(NamedTuple):
    """The last w slots, then the new slots.

    Attributes
    ----------
    keys
        uint64[w + SLOTS]: key, or `NO_KMER`.
    positions
        uint32[w + SLOTS]: position << 1 | strand.
    counts
        int32[w + SLOTS]: number of slots since the last ambiguous base.
    """

    keys: NDArray[np.uint64]
    positions: NDArray[np.uint32]
    counts: NDArray[np.int32]


@njit
def new_slots(w: Integer) -> KmerSlots:
    """Return slots for windows of w k-mers."""
    return KmerSlots(
        np.empty(w + SLOTS, np.uint64),
        np.empty(w + SLOTS, np.uint32),
        np.empty(w + SLOTS, np.int32),
    )


@njit
def new_state() -> NDArray[np.int64]:
    """Return int64: an uninitialised state of a sequence."""
    return np.empty(_RUN_ENDS + _RUNS, np.int64)


@njit
def start_sequence(state: NDArray[np.int64], w: Integer, slots: KmerSlots) -> None:
    """Reset `state`, int64, and the slots; the first window is empty."""
    for i in range(state.size):
        state[i] = 0
    state[_RUN_ENDS] = -1
    for slot in range(w):
        slots.keys[slot] = NO_KMER


@njit_inlined
def _hash(kmer: Integer, mask: Integer) -> Integer:
    """Hash a k-mer by T. Wang's invertible mix."""
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
    """Fill slots where each base ends a k-mer of odd length, which is not its own complement.

    Return the number of slots, or 0 if a base is ambiguous; the state is unchanged then.
    """
    text, codes, state, keys, positions = (
        sequence.text, sequence.codes, sequence.state, slots.keys, slots.positions
    )  # fmt: skip
    size = np.uint64(min(sequence.length - at, SLOTS))
    first, new, position = np.uint64(sequence.start + at), np.uint64(w), np.uint64(at)
    mask, top = (_1 << np.uint64(2 * k)) - _1, np.uint64(2 * k - 2)
    forward, reverse = np.uint64(state[_FORWARD]), np.uint64(state[_REVERSE])
    all_codes = _0
    for i in range(size):
        code = np.uint64(codes[text[first + i]])
        all_codes |= code
        forward = (forward << _2 | code) & mask
        reverse = reverse >> _2 | (_3 - code) << top
        keys[new + i] = min(forward, reverse)
        positions[new + i] = (position + i) << _1 | np.uint64(reverse < forward)
    if all_codes & np.uint64(_AMBIGUOUS):
        return np.int64(0)
    for i in range(size):
        keys[new + i] = _hash(keys[new + i], mask) << _8 | np.uint64(k)
    state[_FORWARD], state[_REVERSE] = forward, reverse
    return np.int64(size)


@njit
def fill_slots_hpc(
    sequence: Sequence,
    at: Integer,
    k: Integer,
    w: Integer,
    is_hpc: bool,  # noqa: FBT001  (Numba: no keyword-only arguments)
    max_slots: Integer,
    slots: KmerSlots,
) -> tuple[Integer, Integer, bool]:
    """Fill at most `max_slots` slots.

    Return the end of their bases, the number of slots, and whether no base was ambiguous.
    """
    text, codes, state = sequence.text, sequence.codes, sequence.state
    mask, top = (_1 << np.uint64(2 * k)) - _1, np.uint64(2 * k - 2)
    forward, reverse = np.uint64(state[_FORWARD]), np.uint64(state[_REVERSE])
    slot_count, run_count = state[SLOT_COUNT], state[_RUN_COUNT]
    filled, is_unbroken = np.int64(0), True
    while at < sequence.length and filled < max_slots:
        offset = np.uint64(sequence.start + at)
        code = codes[text[offset]]
        if is_hpc and code != _AMBIGUOUS:
            at += _run_after(text, offset, sequence.length - at, codes)
        key: Integer = NO_KMER
        if code == _AMBIGUOUS:
            slot_count, run_count, is_unbroken = np.int64(0), np.int64(0), False
            state[_RUN_ENDS] = at
        else:
            forward = (forward << _2 | np.uint64(code)) & mask
            reverse = reverse >> _2 | (_3 - np.uint64(code)) << top
            run_count += 1
            state[_RUN_ENDS + (run_count & _LAST_RUN)] = at
            if forward == reverse:  # equal on both strands: minimap2 skips it
                at += 1
                continue
            slot_count += 1
            span = at - state[_RUN_ENDS + ((run_count - k) & _LAST_RUN)] if is_hpc else k
            if slot_count >= k and span <= LONGEST_SPAN:
                key = _hash(min(forward, reverse), mask) << _8 | np.uint64(span)
        slot = np.uint64(w + filled)
        slots.keys[slot], slots.counts[slot] = key, slot_count
        slots.positions[slot] = np.uint64(at) << _1 | np.uint64(reverse < forward)
        filled += 1
        at += 1
    state[_FORWARD], state[_REVERSE] = forward, reverse
    state[SLOT_COUNT], state[_RUN_COUNT] = slot_count, run_count
    return at, filled, is_unbroken


@njit_inlined
def _run_after(
    text: NDArray[np.uint8], at: Integer, max_length: Integer, codes: NDArray[np.uint8]
) -> Integer:
    """Return the number of equal bases after `at`, at most `max_length - 1`."""
    code, length = codes[text[at]], np.int64(1)
    while length < max_length and codes[text[at + np.uint64(length)]] == code:
        length += 1
    return length - 1


@njit_inlined
def keep_last(
    keys: NDArray[np.uint64], positions: NDArray[np.uint32], w: Integer, filled: Integer
) -> None:
    """Move the last w slots to the front, for the next windows.

    `keys`, uint64, and `positions`, uint32, are as in `KmerSlots`.
    """
    for slot in range(w):
        keys[np.uint64(slot)] = keys[np.uint64(slot + filled)]
        positions[np.uint64(slot)] = positions[np.uint64(slot + filled)]
