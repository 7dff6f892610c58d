"""Seed counts of mappings, from which their divergence is estimated."""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.bytes import Integer
from hapgpu.arrays.ragged_view import columns_of, read_only
from hapgpu.longread.batches import Chains, Seeds
from hapgpu.longread.chain.chains import ChainColumns
from hapgpu.longread.mappings.selection import (
    CHAIN,
    QUERY_START,
    SEQUENCE,
    TARGET_END,
    TARGET_START,
)
from hapgpu.runtime.jit import njit, njit_inlined

_HALF: Final = np.uint64(0xFFFFFFFF)
_SPAN: Final = np.uint64(0xFF)
_1, _32, _63 = map(np.uint64, (1, 32, 63))


class _SeedArrays(NamedTuple):
    """Columns of `Seeds` for compiled code."""

    positions: NDArray[np.uint32]
    offsets: NDArray[np.int64]
    mean_spans: NDArray[np.float32]


class _MappedReads(NamedTuple):
    """Mappings of reads, and lengths of the reads and reference sequences."""

    table: NDArray[np.int32]
    offsets: NDArray[np.int64]
    read_lengths: NDArray[np.int32]
    sequence_lengths: NDArray[np.int64]


@njit
def _average(
    spans: NDArray[np.uint8], offsets: NDArray[np.int64], means: NDArray[np.float32]
) -> None:
    """Set the mean span of the seeds of each read; 0 without seeds."""
    for read in range(means.size):
        start, end = np.uint64(offsets[read]), np.uint64(offsets[read + 1])
        total = np.uint64(0)
        for seed in range(start, end):
            total += np.uint64(spans[seed])
        count = max(end - start, _1)
        means[read] = np.float32(total) / np.float32(count)


def mean_spans(seeds: Seeds) -> NDArray[np.float32]:
    """Return float32[n]: the mean span of the seeds of each read; 0 without seeds."""
    means = np.empty(seeds.offsets.size - 1, dtype=np.float32)
    _average(read_only(seeds.spans), read_only(seeds.offsets), means)
    return means


@njit_inlined
def _first_at_least(
    positions: NDArray[np.uint32], start: Integer, end: Integer, position: Integer
) -> Integer:
    """Return the first seed of a read at or after `position`."""
    low, high = np.uint64(start), np.uint64(end)
    while low < high:
        middle = (low + high) >> _1
        if np.int64(positions[middle] >> 1) < position:
            low = middle + _1
        else:
            high = middle
    return low


@njit
def _count(
    chains: ChainColumns,
    seeds: _SeedArrays,
    mappings: _MappedReads,
    matched: NDArray[np.int32],
    expected: NDArray[np.int32],
) -> None:
    """Set the counts of each mapping by a merge of its seeds and its anchors."""
    x, y, anchor_offsets, _ = chains
    positions, seed_offsets, means = seeds.positions, seeds.offsets, seeds.mean_spans
    table, offsets = mappings.table, mappings.offsets
    read_lengths, sequence_lengths = mappings.read_lengths, mappings.sequence_lengths
    for read in range(offsets.size - 1):
        length, mean = np.int64(read_lengths[read]), means[read]
        seeds_end = np.uint64(seed_offsets[read + 1])
        for mapping in range(offsets[read], offsets[read + 1]):
            chain = table[CHAIN, mapping]
            anchor, end = anchor_offsets[chain], anchor_offsets[chain + 1]
            count = end - anchor
            is_reverse = x[anchor] >> _63
            step = np.int64(1)
            if is_reverse:
                anchor, step = end - 1, np.int64(-1)
            position = _position(y[anchor], is_reverse, length)
            seed = _first_at_least(positions, seed_offsets[read], seeds_end, position)
            first = last = seed
            in_chain = np.int64(0)
            while seed < seeds_end:
                if np.int64(positions[seed] >> 1) == position:
                    last = seed
                    in_chain += 1
                    if in_chain == count:
                        break
                    anchor += step
                    position = _position(y[anchor], is_reverse, length)
                seed += _1
            table_end = np.int64(sequence_lengths[table[SEQUENCE, mapping]])
            query_start = np.int64(table[QUERY_START, mapping])
            total = np.int64(last - first) + 1
            total += (query_start > mean) & (table[TARGET_START, mapping] > mean)
            # The start of the mapping in the read, not its end: as in minimap2.
            total += (length - query_start > mean) & (table_end - table[TARGET_END, mapping] > mean)
            matched[mapping] = in_chain
            expected[mapping] = total


@njit_inlined
def _position(y: Integer, is_reverse: Integer, length: Integer) -> Integer:
    """Return the position of an anchor in the read on its forward strand."""
    position = np.int64(y & _HALF)
    if not is_reverse:
        return position
    return length - 2 - position + np.int64(y >> _32 & _SPAN)


def count_seeds(
    chains: Chains,
    seeds: Seeds,
    means: NDArray[np.float32],
    table: NDArray[np.int32],
    offsets: NDArray[np.int64],
    read_lengths: NDArray[np.int32],
    sequence_lengths: NDArray[np.int64],
) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Count the seeds that are in the chain of each mapping, and that could be in it.

    Parameters
    ----------
    chains, seeds
        Chains and seeds of n reads.
    means
        float32[n]: result of `mean_spans`.
    table, offsets
        int32[COLUMNS, r] and int64[n + 1]: mappings of the reads.
    read_lengths, sequence_lengths
        int32[n] and int64[t]: lengths of the reads and reference sequences in bases.

    Returns
    -------
    int32[r], int32[r]
        The seeds in the chain; and the seeds of the read from its first to its last, plus one for
        each end with enough bases for another seed.
    """
    matched, expected = np.empty((2, table.shape[1]), dtype=np.int32)
    _count(
        columns_of(ChainColumns, chains),
        _SeedArrays(read_only(seeds.positions), read_only(seeds.offsets), read_only(means)),
        _MappedReads(
            read_only(table),
            read_only(offsets),
            read_only(read_lengths),
            read_only(sequence_lengths),
        ),
        matched,
        expected,
    )
    return matched, expected
