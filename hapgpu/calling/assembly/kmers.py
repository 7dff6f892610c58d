"""Inputs and work space of the assembly, and the numbers of k-mers."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.bytes import Integer, are_equal
from hapgpu.arrays.memory import Memory, memory_of, read_64, read_u8
from hapgpu.arrays.ragged_view import RaggedView, with_room
from hapgpu.runtime.jit import njit, njit_inlined

KMER: Final = np.dtype(
    [
        ("hash", np.uint64),
        ("text_start", np.int32),
        ("successor", np.int32),
        ("last_sequence", np.int32),
        ("vertex", np.int32),
        ("slot", np.int32),
        ("is_non_unique", np.bool_),
    ],
    align=True,
)
"""A k-mer: its hash; its first occurrence in the text of the graph; the k-mer that followed it
first, -1 if none did; the last sequence that has it; its vertex if it is unique, -1 if it has none;
its slot of the hash table; whether a sequence has it twice."""

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
            kmer = _successor(space, text, previous, at, k)
        if kmer < 0:
            kmer = _numbered(space, text, at, k, code)
            _set_successor(space, previous, kmer)
        _mark(space, kmer, sequence)
        space.kmers[at] = kmer
        previous = kmer


@njit
def number_kmers_beside(
    space: KmerSpace,
    text: NDArray[np.uint8],
    start: Integer,
    end: Integer,
    k: Integer,
    sequence: Integer,
    references: Integer,
) -> None:
    """Give numbers to k-mers of a read as `number_kmers` does, faster to those of the reference.

    `text`, uint8, starts with the reference, which has so many k-mers and none twice: each has its
    offset as number. While a read has them in ascending order, it has none of them twice, and their
    last sequence is not set.
    """
    if end - start < k:
        return
    memory = memory_of(text)
    code, power = np.uint64(0), np.uint64(1)
    for base in range(start, start + k):
        code = code * _FACTOR + np.uint64(text[base])
        power *= _FACTOR
    previous: Integer = np.int64(-1)
    last_reference: Integer = np.int64(-1)
    is_ordered = True
    at = np.int64(start)
    while at <= end - k:
        kmer: Integer = np.int64(-1)
        if previous >= 0:
            code = code * _FACTOR + np.uint64(text[at + k - 1]) - power * np.uint64(text[at - 1])
            kmer = _successor(space, text, previous, at, k)
        if kmer < 0:
            kmer = _numbered(space, text, at, k, code)
            _set_successor(space, previous, kmer)
        if is_ordered and kmer <= min(last_reference, references - 1):
            is_ordered = False
            for before in range(start, at):
                space.entries[space.kmers[before]].last_sequence = sequence
        if is_ordered and kmer < references:
            room = min(end - at - k, references - 1 - kmer)
            more = equal_length(memory, at + k, kmer + k, room)
            for step in range(more + 1):
                space.kmers[np.uint64(at + step)] = np.int32(kmer + step)
            last_reference = previous = kmer + more
            code = space.entries[previous].hash
            at += more + 1
        else:
            _mark(space, kmer, sequence)
            space.kmers[at] = kmer
            previous = kmer
            at += 1


@njit_inlined
def _successor(
    space: KmerSpace, text: NDArray[np.uint8], previous: Integer, at: Integer, k: Integer
) -> Integer:
    """Return the k-mer at an offset of the text if it is the one that first followed another."""
    kmer = np.int64(space.entries[previous].successor)
    last = space.entries[max(kmer, 0)].text_start + k - 1
    is_same = np.int64(kmer >= 0) & np.int64(text[last] == text[at + k - 1])
    return is_same * (kmer + 1) - 1


@njit_inlined
def _set_successor(space: KmerSpace, previous: Integer, kmer: Integer) -> None:
    """Note that a k-mer follows another one, unless that is -1, or another has followed it."""
    known = space.entries[max(previous, 0)].successor
    is_first = np.int64(previous >= 0) & np.int64(known < 0)
    space.entries[max(previous, 0)].successor += is_first * (kmer - known)


@njit_inlined
def _mark(space: KmerSpace, kmer: Integer, sequence: Integer) -> None:
    """Note that a sequence has a k-mer; it is not unique if the same one had it last."""
    # Without branches: with them, Numba would count references to all arrays, at a higher cost.
    is_second = np.int64(space.entries[kmer].last_sequence == sequence)
    space.counts[1] += is_second & np.int64(not space.entries[kmer].is_non_unique)
    space.entries[kmer].is_non_unique |= is_second != 0
    space.entries[kmer].last_sequence = sequence


@njit_inlined
def equal_length(text: Memory, one: Integer, other: Integer, longest: Integer) -> Integer:
    """Return how many bases from two offsets on are equal, at most `longest`."""
    length = np.int64(0)
    while length + 8 <= longest and read_64(text, one + length) == read_64(text, other + length):
        length += 8
    while length < longest and read_u8(text, one + length) == read_u8(text, other + length):
        length += 1
    return length


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
    space.entries[kmer].slot = slot
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
    recovers_all
        1 where dangling branches that fork are recovered by their heaviest edges, else 0.
    """

    k: int
    is_last_try: int
    min_pruning: int
    min_base_quality: int
    min_matching: int = -1
    min_tail: int = 4
    min_head: int = 4
    is_unrolled: int = 0
    recovers_all: int = 0


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
    reference_steps
        int32 per vertex of the reference: reads of the sample that start to follow the reference
        there, less those that stop.
    runs
        int32: starts and ends in the text, in turn, of runs of at least k good bases of the reads.
    run_starts
        int32 per read, and the end: its first element in `runs`.
    """

    counts: NDArray[np.int64]
    slots: NDArray[np.int32]
    entries: Any
    kmers: NDArray[np.int32]
    vertex_kmers: NDArray[np.int32]
    sample_counts: NDArray[np.int32]
    reference_steps: NDArray[np.int32]
    runs: NDArray[np.int32]
    run_starts: NDArray[np.int32]


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
        np.empty(0, np.int32),
        np.empty(0, np.int32),
        np.empty(0, np.int32),
    )


@njit
def cleared_space(space: KmerSpace, text: int) -> KmerSpace:
    """Return memory without k-mers, with room for a text of so many bases."""
    table = space.slots
    if table.size < 2 * text:
        slots = 64
        while slots < 2 * text:
            slots *= 2
        table = np.full(slots, -1, np.int32)
    else:  # only few slots are in use
        for kmer in range(space.counts[0]):
            table[space.entries[kmer].slot] = -1
    for k in range(3):
        space.counts[k] = 0
    return KmerSpace(
        space.counts,
        table,
        with_room(space.entries, text),
        with_room(space.kmers, text),
        with_room(space.vertex_kmers, text),
        with_room(space.sample_counts, text),
        with_room(space.reference_steps, text),
        with_room(space.runs, text + 1),
        with_room(space.run_starts, text + 1),
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
