"""Clipped reads grouped by locus, sample and fragment."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.bytes import Integer, are_equal, hash_of
from hapgpu.arrays.ragged import Ragged, offsets_of
from hapgpu.arrays.ragged_view import RaggedView, read_only, view_of
from hapgpu.runtime.jit import njit, njit_inlined

_UNKNOWN_NAME: Final = ord("*")
_FOLD: Final = np.uint64(32)


def by_fragment(
    names: Ragged, origins: NDArray[np.int32], reads: NDArray[np.int64], loci: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Order clipped reads by locus, origin and fragment.

    Any number of clipped reads of one locus, one origin and one name are a fragment; a read without
    a name (`*`, or empty) is a fragment by itself. Fragments are in the order of their first
    clipped read, and the clipped reads of a fragment in the order of the reads.

    Parameters
    ----------
    names, origins
        Names of n reads; int32[n], from 0: a number for each sample and file.
    reads, loci
        int64[w], ascending rows of reads, and the locus of each clipped read.

    Returns
    -------
    order, offsets
        int64[w]: rows of the clipped reads, and int64[f + 1]: the fragments in that order.
    """
    if not reads.size:
        return reads, offsets_of([])
    keys = loci * (np.int64(origins.max()) + 1) + origins[reads]
    by_origin = np.argsort(keys, kind="stable")
    mates = _first_mates(view_of(names), read_only(origins), read_only(reads))
    first = _first_parts(mates[by_origin], loci[by_origin], len(names))
    sizes = np.bincount(first)
    return by_origin[np.argsort(first, kind="stable")], offsets_of(sizes[sizes > 0])


@njit
def _first_mates(
    names: RaggedView, origins: NDArray[np.int32], reads: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Return, for each of `reads`, the first of them with the same name and origin."""
    text, offsets = names.data, names.offsets
    size = 4
    while size < 2 * reads.size:
        size *= 2
    table = np.full(size, -1, dtype=np.int64)
    mates = np.empty(reads.size, dtype=np.int64)
    for part in range(reads.size):
        read = reads[part]
        if part > 0 and reads[part - 1] == read:
            mates[part] = mates[part - 1]
        elif is_unnamed(text, offsets, read):
            mates[part] = read
        else:
            slot = _folded(hash_of(text, offsets[read], offsets[read + 1])) & (size - 1)
            while table[slot] >= 0 and not _are_mates(text, offsets, origins, table[slot], read):
                slot = (slot + 1) & (size - 1)
            if table[slot] < 0:
                table[slot] = read
            mates[part] = table[slot]
    return mates


@njit
def _first_parts(
    mates: NDArray[np.int64], loci: NDArray[np.int64], reads: int
) -> NDArray[np.int64]:
    """Return, for each clipped read, the first of its locus with the same first mate."""
    seen = np.full(reads, -1, dtype=np.int64)
    first = np.empty(mates.size, dtype=np.int64)
    for part in range(mates.size):
        before = seen[mates[part]]
        if before < 0 or loci[before] != loci[part]:
            before = part
            seen[mates[part]] = part
        first[part] = before
    return first


@njit_inlined
def _folded(value: Integer) -> Integer:
    """Return the exclusive or of both halves of 64 bits, not negative."""
    return np.int64(np.uint32(value ^ (value >> _FOLD)))


@njit_inlined
def is_unnamed(text: NDArray[np.uint8], offsets: NDArray[np.int64], read: Integer) -> bool:
    """Return whether a name is empty or `*`.

    `text` is uint8, the names of n reads end to end; `offsets` is int64[n + 1].
    """
    start, length = offsets[read], offsets[read + 1] - offsets[read]
    return bool(length == 0 or (length == 1 and text[start] == _UNKNOWN_NAME))


@njit_inlined
def _are_mates(
    text: NDArray[np.uint8],
    offsets: NDArray[np.int64],
    origins: NDArray[np.int32],
    one: Integer,
    other: Integer,
) -> bool:
    length = offsets[one + 1] - offsets[one]
    if origins[one] != origins[other] or offsets[other + 1] - offsets[other] != length:
        return False
    return bool(are_equal(text, offsets[one], offsets[other], length))
