"""Working memory to build k-mer graphs, used again for each active region."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.bytes import Integer
from hapgpu.arrays.ragged_view import with_room
from hapgpu.runtime.jit import njit

KMER: Final = np.dtype(
    [
        ("hash", np.uint64),
        ("text_start", np.int32),
        ("successor", np.int32),
        ("last_sequence", np.int32),
        ("vertex", np.int32),
        ("is_non_unique", np.bool_),
    ],
    align=True,
)
"""A k-mer: its hash; its first occurrence in the text of the graph; the k-mer that followed it
first, -1 if none did; the last sequence that has it; its vertex if it is unique, -1 if it has none;
whether a sequence has it twice."""


class KmerSpace(NamedTuple):
    """The k-mers of an active region, numbered in the order of their first occurrence.

    Attributes
    ----------
    counts
        int64[3]: k-mers; those that occur twice in a sequence ("non-unique"); those with a vertex.
    slots
        int32[2^x]: the hash table: k-mers, or -1.
    entries
        Array of records of `KMER`, per k-mer.
    kmers
        int32 per base of the text: the k-mer that starts there.
    vertex_kmers
        int32 per vertex: its k-mer.
    sample_counts
        int32 per edge: reads of the sample that is threaded.
    """

    counts: NDArray[np.int64]
    slots: NDArray[np.int32]
    entries: Any
    kmers: NDArray[np.int32]
    vertex_kmers: NDArray[np.int32]
    sample_counts: NDArray[np.int32]


@njit
def new_space() -> KmerSpace:
    """Return working memory without room."""
    return KmerSpace(
        np.zeros(3, np.int64),
        np.empty(0, np.int32),
        np.empty(0, KMER),
        np.empty(0, np.int32),
        np.empty(0, np.int32),
        np.empty(0, np.int32),
    )


@njit
def cleared_space(space: KmerSpace, text: int) -> KmerSpace:
    """Return memory without k-mers, with room for a text of so many bases."""
    slots = 64
    while slots < 2 * text:
        slots *= 2
    table = space.slots if space.slots.size == slots else np.empty(slots, np.int32)
    for slot in range(slots):
        table[slot] = -1
    for k in range(3):
        space.counts[k] = 0
    return KmerSpace(
        space.counts,
        table,
        with_room(space.entries, text),
        with_room(space.kmers, text),
        with_room(space.vertex_kmers, text),
        with_room(space.sample_counts, text),
    )


@njit
def non_unique_kmers(space: KmerSpace) -> Integer:
    """Return the number of k-mers that some sequence has twice."""
    return np.int64(space.counts[1])


@njit
def forget_repeats(space: KmerSpace) -> None:
    """Make all k-mers unique: those that a sequence has twice get one vertex, too."""
    for kmer in range(space.counts[0]):
        space.entries[kmer].is_non_unique = False
    space.counts[1] = 0


@njit
def kmers_with_vertex(space: KmerSpace) -> Integer:
    """Return the number of unique k-mers in the graph."""
    return np.int64(space.counts[2])
