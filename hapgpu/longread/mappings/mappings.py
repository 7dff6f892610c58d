"""Mappings: chains sorted by score, with parents, and the selection to report.

Order, coordinates and estimates are as in minimap2 (Li 2018, Bioinformatics 34:3094).
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.bytes import Integer
from hapgpu.arrays.ragged_view import columns_of, read_only
from hapgpu.longread.batches import Chains, Mappings, Seeds
from hapgpu.longread.chain.chains import ChainColumns
from hapgpu.longread.index.minimizer_index import MinimizerIndex
from hapgpu.longread.mappings.seed_counts import count_seeds, mean_spans
from hapgpu.longread.mappings.selection import (
    CHAIN,
    COLUMNS,
    COUNT,
    IS_REVERSE,
    QUERY_END,
    QUERY_START,
    SCORE,
    SEQUENCE,
    TARGET_END,
    TARGET_START,
    Selected,
    all_mappings,
    select_mappings,
)
from hapgpu.longread.options import ChainOptions, MappingOptions
from hapgpu.longread.seed.radix_sort import sort_descending
from hapgpu.runtime.jit import njit, njit_inlined

_SEED: Final = 11
_HALF: Final = np.uint64(0xFFFFFFFF)
_SPAN: Final = np.uint64(0xFF)
_0, _1, _3, _6, _10, _11, _14, _15 = map(np.uint64, (0, 1, 3, 6, 10, 11, 14, 15))
_16, _21, _24, _28, _31, _32, _63, _265 = map(np.uint64, (16, 21, 24, 28, 31, 32, 63, 265))


@njit_inlined
def _mix32(value: Integer) -> Integer:
    """Mix 32 bits by Thomas Wang's hash."""
    key = value
    key = (key + ~(key << _15)) & _HALF
    key ^= key >> _10
    key = (key + (key << _3)) & _HALF
    key ^= key >> _6
    key = (key + ~(key << _11)) & _HALF
    return key ^ key >> _16


@njit_inlined
def _mix64(value: Integer) -> Integer:
    """Mix 64 bits by Thomas Wang's hash."""
    key = value
    key = ~key + (key << _21)
    key ^= key >> _24
    key *= _265
    key ^= key >> _14
    key *= _21
    key ^= key >> _28
    return key + (key << _31)


@njit_inlined
def tie_breaker(first_x: Integer, first_y: Integer, name_hash: Integer) -> Integer:
    """Return 32 bits from the first anchor of a chain and the hash of its read."""
    return _mix64(_mix64(first_x) + _mix64(first_y) ^ np.uint64(name_hash)) & _HALF


@njit
def _hash_names(
    text: NDArray[np.uint8],
    name_starts: NDArray[np.int32],
    name_lengths: NDArray[np.int32],
    lengths: NDArray[np.int32],
    hashes: NDArray[np.uint32],
) -> None:
    """Hash the name and the length of each read."""
    salt = _mix32(np.uint64(_SEED))
    for read in range(lengths.size):
        hashed = _0
        start = np.uint64(name_starts[read])
        for k in range(np.uint64(name_lengths[read])):
            hashed = (_31 * hashed + np.uint64(text[start + k])) & _HALF
        salted = (_mix32(np.uint64(lengths[read])) + salt) & _HALF
        hashes[read] = _mix32(hashed ^ salted)


def name_hashes(
    text: NDArray[np.uint8],
    name_starts: NDArray[np.int32],
    name_lengths: NDArray[np.int32],
    lengths: NDArray[np.int32],
    uses_names: bool,  # noqa: FBT001  (a stage takes its arguments by position)
) -> NDArray[np.uint32]:
    """Return hashes of the reads, which break ties between chains.

    Parameters
    ----------
    text
        uint8: the text with the names.
    name_starts, name_lengths
        int32[n]: offset in the text and length of each name.
    lengths
        int32[n]: lengths of the reads in bases.
    uses_names
        False: hash the lengths only.

    Returns
    -------
    uint32[n].
    """
    hashes = np.empty(lengths.size, dtype=np.uint32)
    hashed_lengths = name_lengths if uses_names else np.zeros_like(name_lengths)
    _hash_names(
        read_only(text),
        read_only(name_starts),
        read_only(hashed_lengths),
        read_only(lengths),
        hashes,
    )
    return hashes


@njit
def _sort_chains(
    chains: ChainColumns,
    offsets: NDArray[np.int64],
    hashes: NDArray[np.uint32],
    keys: NDArray[np.uint64],
    order: NDArray[np.uint64],
) -> None:
    """Sort the chains of each read in descending order of score; a hash breaks ties."""
    x, y, anchor_offsets, scores = chains
    for read in range(hashes.size):
        start, end = offsets[read], offsets[read + 1]
        for chain in range(start, end):
            first = anchor_offsets[chain]
            count = np.uint64(anchor_offsets[chain + 1] - first)
            key = np.uint64(scores[chain]) << _32 | count
            keys[chain] = key ^ tie_breaker(x[first], y[first], hashes[read])
            order[chain] = np.uint64(chain)
        sort_descending(keys, order, start, end)


@njit
def _fill_table(
    chains: ChainColumns,
    offsets: NDArray[np.int64],
    order: NDArray[np.uint64],
    lengths: NDArray[np.int32],
    table: NDArray[np.int32],
) -> None:
    """Fill the table with scores and coordinates of the sorted chains."""
    x, y, anchor_offsets, scores = chains
    for read in range(lengths.size):
        length = np.int64(lengths[read])
        for row in range(offsets[read], offsets[read + 1]):
            chain = order[row]
            first, chain_end = anchor_offsets[chain], anchor_offsets[chain + _1]
            last = chain_end - 1
            span = np.int64(y[first] >> _32 & _SPAN)
            start = np.int64(y[first] & _HALF) + 1 - span
            end = np.int64(y[last] & _HALF) + 1
            is_reverse = x[first] >> _63
            table[SCORE, row] = scores[chain]
            table[COUNT, row] = chain_end - first
            table[SEQUENCE, row] = np.int64((x[first] << _1) >> (_32 + _1))
            table[IS_REVERSE, row] = np.int64(is_reverse)
            table[QUERY_START, row] = length - end if is_reverse else start
            table[QUERY_END, row] = length - start if is_reverse else end
            table[TARGET_START, row] = max(np.int64(x[first] & _HALF) + 1 - span, np.int64(0))
            table[TARGET_END, row] = np.int64(x[last] & _HALF) + 1
            table[CHAIN, row] = np.int64(chain)


@njit
def measure_chain(
    x: NDArray[np.uint64], y: NDArray[np.uint64], start: Integer, end: Integer
) -> tuple[Integer, Integer]:
    """Estimate matching bases and alignment length of anchors `start` to `end` of one chain.

    `x` and `y` are uint64[a], as in `Chains`.
    """
    matched = aligned = np.int64(y[start] >> _32 & _SPAN)
    for k in range(np.uint64(start) + _1, np.uint64(end)):
        target = np.int64(x[k] & _HALF) - np.int64(x[k - _1] & _HALF)
        query = np.int64(y[k] & _HALF) - np.int64(y[k - _1] & _HALF)
        aligned += max(target, query)
        matched += min(target, query, np.int64(y[k] >> _32 & _SPAN))
    return matched, aligned


@njit
def _measure(
    chains: ChainColumns,
    chain_numbers: NDArray[np.int32],
    matches: NDArray[np.int32],
    block_lengths: NDArray[np.int32],
) -> None:
    """Estimate matching bases and alignment length of the mappings' chains."""
    x, y, anchor_offsets = chains.x, chains.y, chains.anchor_offsets
    for mapping in range(chain_numbers.size):
        chain = chain_numbers[mapping]
        matches[mapping], block_lengths[mapping] = measure_chain(
            x, y, anchor_offsets[chain], anchor_offsets[chain + 1]
        )


def make_mappings(
    chains: Chains,
    seeds: Seeds,
    lengths: NDArray[np.int32],
    name_hashes: NDArray[np.uint32],
    index: MinimizerIndex,
    chain_options: ChainOptions,
    options: MappingOptions,
) -> Mappings:
    """Return the mappings of n reads to report.

    Parameters
    ----------
    chains
        Chains of the reads.
    seeds
        Seeds of the reads.
    lengths
        int32[n]: lengths of the reads in bases.
    name_hashes
        uint32[n]: result of the function `name_hashes`.
    index
        Index of the reference.
    chain_options, options
        Options for chaining and for mappings.

    Returns
    -------
    Mappings
        With `all_chains`, no mapping has a parent: `parents` is -1.
    """
    mappings, _ = chained_mappings(
        chains, seeds, lengths, name_hashes, index, chain_options, options
    )
    return mappings


def chained_mappings(
    chains: Chains,
    seeds: Seeds,
    lengths: NDArray[np.int32],
    name_hashes: NDArray[np.uint32],
    index: MinimizerIndex,
    chain_options: ChainOptions,
    options: MappingOptions,
) -> tuple[Mappings, NDArray[np.int32]]:
    """Return the result of `make_mappings`, and int32[r], the chain of each mapping.

    Parameters are as in `make_mappings`; `lengths` are int32[n], `name_hashes` are uint32[n].
    """
    columns, offsets = columns_of(ChainColumns, chains), read_only(chains.offsets)
    count = chains.scores.size
    order, keys = np.empty((2, count), dtype=np.uint64)
    _sort_chains(columns, offsets, read_only(name_hashes), keys, order)
    table = np.empty((COLUMNS, count), dtype=np.int32)
    _fill_table(columns, offsets, read_only(order), read_only(lengths), table)
    if options.all_chains:
        selected = all_mappings(table, chains.offsets)
    else:
        selected = select_mappings(table, chains.offsets, index.sketch.k, chain_options, options)
    mappings = _mappings_of(selected, chains, seeds, lengths, index.lengths)
    return mappings, selected.table[CHAIN]


def _mappings_of(
    selected: Selected,
    chains: Chains,
    seeds: Seeds,
    lengths: NDArray[np.int32],
    sequence_lengths: NDArray[np.int64],
) -> Mappings:
    """Return the selected mappings with their estimates."""
    table = selected.table
    matches, block_lengths = np.empty((2, table.shape[1]), dtype=np.int32)
    _measure(columns_of(ChainColumns, chains), read_only(table[CHAIN]), matches, block_lengths)
    spans = mean_spans(seeds)
    matched, expected = count_seeds(
        chains, seeds, spans, table, selected.offsets, lengths, sequence_lengths
    )
    return Mappings(
        scores=table[SCORE],
        counts=table[COUNT],
        sequences=table[SEQUENCE],
        is_reverse=table[IS_REVERSE].astype(np.uint8),
        query_starts=table[QUERY_START],
        query_ends=table[QUERY_END],
        target_starts=table[TARGET_START],
        target_ends=table[TARGET_END],
        matches=matches,
        lengths=block_lengths,
        parents=selected.parents,
        second_scores=selected.second_scores,
        n_sub=selected.n_sub,
        is_retained=selected.is_retained,
        seeds_matched=matched,
        seeds_expected=expected,
        offsets=selected.offsets,
        mean_spans=spans,
        repeat_lengths=seeds.repeat_lengths,
    )
