"""Inputs and work space of the assembly, and the numbers of k-mers."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.bytes import Integer, are_equal
from hapgpu.arrays.ragged_view import RaggedView, with_room
from hapgpu.runtime.jit import njit, njit_inlined

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
    """Give numbers to all k-mers of uint8 text[start:end], and mark those that it has twice.

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


class AssemblyData(NamedTuple):
    """Reads of active regions, and the reference; all arrays are read-only.

    Attributes
    ----------
    bases, qualities
        uint8 rows of equal lengths, one per read.
    samples
        int32 per read, at least 0.
    reference
        uint8: bases of the contig, or of a part of it.
    """

    bases: RaggedView
    qualities: RaggedView
    samples: NDArray[np.int32]
    reference: NDArray[np.uint8]


class RegionRows(NamedTuple):
    """One active region: reads `first_read` to `end_read`, and a range of `reference`."""

    first_read: int
    end_read: int
    reference_start: int
    reference_end: int


class GraphRules(NamedTuple):
    """Rules of a k-mer graph.

    Attributes
    ----------
    k
        Bases of a k-mer.
    is_last_try
        1 for the largest k, where repeats in the reference and many in reads are accepted, else 0.
    min_pruning
        Chains of edges that fewer reads of each sample support are removed.
    min_base_quality
        Bases of lower quality are not threaded.
    min_matching
        GATK's `--num-matching-bases-in-dangling-end-to-recover`; -1 for its legacy rules.
    min_tail, min_head
        Vertices of a dangling branch, at least; GATK has one option for both,
        `--min-dangling-branch-length`.
    is_unrolled
        1 where GATK's rules do not suffice, else 0: k-mers that a read has twice have one vertex,
        and cycles are unrolled.
    """

    k: int
    is_last_try: int
    min_pruning: int
    min_base_quality: int
    min_matching: int = -1
    min_tail: int = 4
    min_head: int = 4
    is_unrolled: int = 0


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
