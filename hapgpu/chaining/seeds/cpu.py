"""Seeds: minimizers of reads that occur in the reference, but not too often."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.bytes import Integer
from hapgpu.arrays.ragged_view import RaggedView, longest_row, read_only
from hapgpu.chaining.batches import Minimizers, Seeds
from hapgpu.chaining.index.cpu import (
    LOOKUPS,
    CompiledTable,
    Lookups,
    compiled_table,
    look_up,
    new_lookups,
)
from hapgpu.chaining.index.minimizer_index import MinimizerIndex
from hapgpu.chaining.options import SeedOptions
from hapgpu.chaining.seeds.frequent_kmers import drop_frequent
from hapgpu.chaining.seeds.repetitive_seeds import (
    SeedColumns,
    drop_repetitive,
    new_run_scratch,
)
from hapgpu.runtime.jit import njit

_1, _8, _255, _LOOKUPS = map(np.uint64, (1, 8, 255, LOOKUPS))


def find_seeds(
    index: MinimizerIndex,
    minimizers: Minimizers,
    lengths: NDArray[np.int32],
    cutoff: int,
    options: SeedOptions,
) -> Seeds:
    """Find the seeds of n reads, without most repetitive minimizers.

    A minimizer with more than `cutoff` occurrences is repetitive. Of a run of repetitive seeds, the
    seeds with the fewest occurrences are kept, one per `options.occurrence_distance` bases of the
    read (Li 2021, Bioinformatics 37:4572).

    Parameters
    ----------
    minimizers
        Minimizers of n reads, with the options of the index.
    lengths
        int32[n]: lengths of the reads in bases.
    cutoff
        Result of `repeat_cutoff`, at least 1.
    """
    minimizers = drop_frequent(minimizers, cutoff, options.read_fraction)
    max_seeds = minimizers.keys.size
    columns = SeedColumns(
        positions=np.empty(max_seeds, dtype=np.uint32),
        spans=np.empty(max_seeds, dtype=np.uint8),
        is_tandem=np.empty(max_seeds, dtype=np.uint8),
        first_occurrences=np.empty(max_seeds, dtype=np.int64),
        occurrence_counts=np.empty(max_seeds, dtype=np.int32),
    )
    offsets = np.empty(lengths.size + 1, dtype=np.int64)
    repeat_lengths = np.empty(lengths.size, dtype=np.int32)
    count = _find_seeds(
        compiled_table(index),
        RaggedView(read_only(minimizers.keys), read_only(minimizers.offsets)),
        read_only(minimizers.positions),
        read_only(lengths),
        cutoff,
        options.occurrence_distance,
        columns,
        offsets,
        repeat_lengths,
    )
    return Seeds(
        positions=columns.positions[:count],
        spans=columns.spans[:count],
        is_tandem=columns.is_tandem[:count],
        first_occurrences=columns.first_occurrences[:count],
        occurrence_counts=columns.occurrence_counts[:count],
        offsets=offsets,
        repeat_lengths=repeat_lengths,
    )


@njit
def _find_seeds(
    table: CompiledTable,
    minimizer_keys: RaggedView,
    minimizer_positions: NDArray[np.uint32],
    lengths: NDArray[np.int32],
    cutoff: int,
    distance: int,
    columns: SeedColumns,
    offsets: NDArray[np.int64],
    repeat_lengths: NDArray[np.int32],
) -> Integer:
    """Fill in the seeds and return their number."""
    lookups = new_lookups()
    scratch = new_run_scratch(longest_row(minimizer_keys))
    count: Integer = np.int64(0)
    for read in range(lengths.size):
        offsets[read] = count
        count, max_count = _append_read(
            table, minimizer_keys, minimizer_positions, read, lookups, columns, count
        )
        repeat_lengths[read] = 0
        if max_count > cutoff:
            count, repeat_lengths[read] = drop_repetitive(
                columns, offsets[read], count, lengths[read], cutoff, distance, scratch
            )
    offsets[lengths.size] = count
    return count


@njit
def _append_read(
    table: CompiledTable,
    minimizer_keys: RaggedView,
    minimizer_positions: NDArray[np.uint32],
    read: Integer,
    lookups: Lookups,
    columns: SeedColumns,
    count: Integer,
) -> tuple[Integer, Integer]:
    """Append the minimizers of a read that occur in the reference, after `count` seeds.

    Returns
    -------
    count, max_count
        The new number of seeds, and the largest number of occurrences of one of them.
    """
    keys, offsets = minimizer_keys.data, minimizer_keys.offsets
    positions, spans, is_tandem = columns.positions, columns.spans, columns.is_tandem
    first_occurrences, occurrence_counts = columns.first_occurrences, columns.occurrence_counts
    found_first_occurrences, found_occurrence_counts = (
        lookups.first_occurrences,
        lookups.occurrence_counts,
    )
    end = np.uint64(offsets[read + 1])
    equals_previous = np.uint8(0)
    max_count = np.int32(0)
    seed = np.uint64(count)
    for start in range(np.uint64(offsets[read]), end, _LOOKUPS):
        looked_up = min(_LOOKUPS, end - start)
        look_up(table, keys, start, looked_up, lookups)
        for k in range(looked_up):
            at = start + k
            equals_next = np.uint8(at + _1 < end and keys[at] >> _8 == keys[at + _1] >> _8)
            occurrences = found_occurrence_counts[k]
            positions[seed] = minimizer_positions[at]
            spans[seed] = keys[at] & _255
            is_tandem[seed] = equals_previous | equals_next
            first_occurrences[seed] = found_first_occurrences[k]
            occurrence_counts[seed] = occurrences
            equals_previous = equals_next
            max_count = max(max_count, occurrences)
            seed += np.uint64(occurrences > 0)
    return np.int64(seed), max_count
