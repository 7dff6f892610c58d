"""Seeds: minimizers of reads that occur in the reference, not too often."""

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
    """Find the minimizers of n reads in the reference, and drop most repetitive ones.

    A minimizer with more than `cutoff` hits is repetitive. Of neighbouring seeds that are, those
    with the fewest hits are kept, one per `options.occurrence_distance` bases of the read (Li
    2021, Bioinformatics 37:4572).

    Parameters
    ----------
    minimizers
        Of n reads, made as those of the index were.
    lengths
        int32[n]: bases of the reads.
    cutoff
        As `repeat_cutoff` gives it, at least 1.
    """
    minimizers = drop_frequent(minimizers, cutoff, options.read_fraction)
    most = minimizers.keys.size
    columns = SeedColumns(
        places=np.empty(most, dtype=np.uint32),
        spans=np.empty(most, dtype=np.uint8),
        is_tandem=np.empty(most, dtype=np.uint8),
        first_hits=np.empty(most, dtype=np.int64),
        hit_counts=np.empty(most, dtype=np.int32),
    )
    offsets = np.empty(lengths.size + 1, dtype=np.int64)
    repeat_lengths = np.empty(lengths.size, dtype=np.int32)
    count = _find_seeds(
        compiled_table(index),
        RaggedView(read_only(minimizers.keys), read_only(minimizers.offsets)),
        read_only(minimizers.places),
        read_only(lengths),
        cutoff,
        options.occurrence_distance,
        columns,
        offsets,
        repeat_lengths,
    )
    return Seeds(
        places=columns.places[:count],
        spans=columns.spans[:count],
        is_tandem=columns.is_tandem[:count],
        first_hits=columns.first_hits[:count],
        hit_counts=columns.hit_counts[:count],
        offsets=offsets,
        repeat_lengths=repeat_lengths,
    )


@njit
def _find_seeds(  # noqa: PLR0913, PLR0917  (compiled code takes no keywords)
    table: CompiledTable,
    minimizer_keys: RaggedView,
    minimizer_places: NDArray[np.uint32],
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
        count, highest = _append_read(
            table, minimizer_keys, minimizer_places, read, lookups, columns, count
        )
        repeat_lengths[read] = 0
        if highest > cutoff:
            count, repeat_lengths[read] = drop_repetitive(
                columns, offsets[read], count, lengths[read], cutoff, distance, scratch
            )
    offsets[lengths.size] = count
    return count


@njit
def _append_read(  # noqa: PLR0917  (compiled code takes no keywords)
    table: CompiledTable,
    minimizer_keys: RaggedView,
    minimizer_places: NDArray[np.uint32],
    read: Integer,
    lookups: Lookups,
    columns: SeedColumns,
    count: Integer,
) -> tuple[Integer, Integer]:
    """Append the minimizers of a read that occur, behind `count` seeds.

    Returns
    -------
    count, highest
        The number of seeds now, and of the hits of that with the most of them.
    """
    keys, offsets = minimizer_keys.data, minimizer_keys.offsets
    places, spans, is_tandem = columns.places, columns.spans, columns.is_tandem
    first_hits, hit_counts = columns.first_hits, columns.hit_counts
    found_first_hits, found_hit_counts = lookups.first_hits, lookups.hit_counts
    end = np.uint64(offsets[read + 1])
    is_as_before = np.uint8(0)
    highest = np.int32(0)
    seed = np.uint64(count)
    for begin in range(np.uint64(offsets[read]), end, _LOOKUPS):
        looked_up = min(_LOOKUPS, end - begin)
        look_up(table, keys, begin, looked_up, lookups)
        for k in range(looked_up):
            at = begin + k
            is_as_next = np.uint8(at + _1 < end and keys[at] >> _8 == keys[at + _1] >> _8)
            hits = found_hit_counts[k]
            places[seed] = minimizer_places[at]
            spans[seed] = keys[at] & _255
            is_tandem[seed] = is_as_before | is_as_next
            first_hits[seed] = found_first_hits[k]
            hit_counts[seed] = hits
            is_as_before = is_as_next
            highest = max(highest, hits)
            seed += np.uint64(hits > 0)
    return np.int64(seed), highest
