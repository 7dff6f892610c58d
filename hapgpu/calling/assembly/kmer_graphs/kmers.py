"""Numbers for the k-mers of sequences, and which of them a sequence has twice.

Most k-mers follow the same k-mer as before: then comparing one base is enough. Others are found by
a hash table; bytes are compared, so that hashes may collide.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.bytes import Integer, are_equal
from hapgpu.calling.assembly.kmer_graphs.space import KmerSpace
from hapgpu.runtime.jit import njit, njit_inlined

_FACTOR: Final = np.uint64(0x9E3779B97F4A7C15)
_HIGH: Final = np.uint64(32)


@njit
def number_kmers(
    space: KmerSpace,
    text: NDArray[np.uint8],
    start: Integer,
    end: Integer,
    k: Integer,
    sequence: Integer,
) -> None:
    """Give numbers to all k-mers of text[start:end], and mark those that it has twice.

    `sequence` differs from that of all earlier calls, and ascends.
    """
    if end - start < k:
        return
    code, power = np.uint64(0), np.uint64(1)
    for at in range(start, start + k):
        code = code * _FACTOR + np.uint64(text[at])
        power *= _FACTOR
    previous: Integer = np.int64(-1)
    for at in range(start, end - k + 1):
        if at > start:
            code = code * _FACTOR + np.uint64(text[at + k - 1]) - power * np.uint64(text[at - 1])
        kmer: Integer = np.int64(-1)
        if previous >= 0:
            kmer = np.int64(space.entries[previous].successor)
            if kmer >= 0 and text[space.entries[kmer].text_start + k - 1] != text[at + k - 1]:
                kmer = np.int64(-1)
        if kmer < 0:
            kmer = _numbered(space, text, at, k, code)
            if previous >= 0 and space.entries[previous].successor < 0:
                space.entries[previous].successor = kmer
        if space.entries[kmer].last_sequence == sequence and not space.entries[kmer].is_non_unique:
            space.entries[kmer].is_non_unique = True
            space.counts[1] += 1
        space.entries[kmer].last_sequence = sequence
        space.kmers[at] = kmer
        previous = kmer


@njit_inlined
def _numbered(
    space: KmerSpace, text: NDArray[np.uint8], at: Integer, k: Integer, code: Integer
) -> Integer:
    """Return the number of the k-mer at an offset of the text; a new one if it is new."""
    last_slot = space.slots.size - 1
    slot = np.int64((code * _FACTOR) >> _HIGH) & last_slot
    while space.slots[slot] >= 0:
        kmer = np.int64(space.slots[slot])
        if space.entries[kmer].hash == code and are_equal(
            text, space.entries[kmer].text_start, at, k
        ):
            return kmer
        slot = (slot + 1) & last_slot
    kmer = np.int64(space.counts[0])
    space.counts[0] = kmer + 1
    space.slots[slot] = kmer
    space.entries[kmer].hash = code
    space.entries[kmer].text_start = at
    space.entries[kmer].successor = -1
    space.entries[kmer].last_sequence = -1
    space.entries[kmer].is_non_unique = False
    space.entries[kmer].vertex = -1
    return kmer
