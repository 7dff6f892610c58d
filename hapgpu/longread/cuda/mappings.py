"""Mappings on a GPU (`cuda/longread/mappings.cu`); the same as `longread/mappings`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import cupy
import numpy as np

from hapgpu.longread.batches import Chains, Mappings, Seeds
from hapgpu.longread.cuda.index import DeviceMinimizerIndex
from hapgpu.longread.kernels import (
    CHAINS,
    LENGTHS,
    OFFSETS,
    READS,
    SEEDS,
    chain_fields,
    chaining_kernel,
    seed_fields,
    seeds_struct,
    sizes,
)
from hapgpu.longread.mappings.selection import COLUMNS, STRAND_FRACTION
from hapgpu.longread.options import ChainOptions, MappingOptions
from hapgpu.runtime.gpu.kernel import Array, Length, Scalar, Struct
from hapgpu.runtime.gpu.scalars import last_values
from hapgpu.runtime.gpu.work_queue import WARP, launch_threads
from hapgpu.runtime.gpu_array import GpuArray

_THREADS: Final = 128  # per block, as in the source
_COLUMNS: Final = (  # of `Mappings`, in the order of the source
    *("scores", "counts", "sequences", "query_starts", "query_ends", "target_starts"),
    *("target_ends", "matches", "lengths", "parents", "second_scores", "n_sub"),
    *("seeds_matched", "seeds_expected"),
)
_MAPPED_CHAINS: Final = len(_COLUMNS)  # row of the table of mappings after these columns
_NO_PARENT: Final = -1

_LENGTHS = Array("lengths", np.int32, "chains.reads")


def _table(name: str, length: str) -> Array:
    return Array(name, np.int32, length, width=COLUMNS)


def _rows(names: tuple[str, ...], length: str) -> tuple[Array, ...]:
    return tuple(Array(name, np.int32, length) for name in names)


_TABLE = Struct("table", (_table("values", "chains"), OFFSETS, *sizes("chains", "reads")))
_PARENTS = ("rows", "second_scores", "n_sub")


def _selection(length: str) -> Struct:
    fields = (*_rows(("rows", "numbers"), length), Array("is_retained", np.uint8, length))
    return Struct("selection", fields)


SELECTION_LIMITS: Final = Struct(
    "limits",
    (
        *sizes("keeps_all"),
        Scalar("score_ratio", np.float32),
        *sizes("max_secondary", "near_score", "strand_score"),
    ),
)


HASH_NAMES: Final = chaining_kernel(
    "mappings.cu",
    "hash_names",
    (
        *(Array("text", np.uint8, "text_bytes"), Length("text_bytes")),
        Array("name_starts", np.int32, "reads"),
        Array("name_lengths", np.int32, "reads"),
        *(LENGTHS, Scalar("uses_names", np.int32)),
        *(Array("hashes", np.uint32, "reads"), READS),
    ),
)
SORT_CHAINS: Final = chaining_kernel(
    "mappings.cu",
    "sort_chains",
    (
        *(CHAINS, _LENGTHS, Array("hashes", np.uint32, "chains.reads")),
        Array("keys", np.uint64, "chains.count"),
        Array("order", np.uint32, "chains.count"),
        _table("table", "chains.count"),
    ),
)
FIND_PARENTS: Final = chaining_kernel(
    "mappings.cu",
    "find_parents",
    (
        *(_TABLE, Scalar("mask_level", np.float32)),
        Array("covered", np.int32, "table.chains", width=2),
        Array("primaries", np.int32, "table.chains"),
        Struct("parents", _rows(_PARENTS, "table.chains")),
    ),
)
SELECT_ROWS: Final = chaining_kernel(
    "mappings.cu",
    "select_rows",
    (
        *(_TABLE, Array("parents", np.int32, "table.chains")),
        SELECTION_LIMITS,
        _selection("table.chains"),
        Array("new_rows", np.int32, "table.chains"),
        Array("counts", np.int64, "table.reads", 1),
    ),
)
AVERAGE_SPANS: Final = chaining_kernel(
    "mappings.cu", "average_spans", (SEEDS, Array("means", np.float32, "seeds.reads"))
)
MEASURE_MAPPINGS: Final = chaining_kernel(
    "mappings.cu",
    "measure_mappings",
    (
        *(CHAINS, _LENGTHS, _table("table", "chains.count"), _selection("chains.count")),
        Struct("parents", _rows(_PARENTS, "chains.count")),
        *(seeds_struct("chains.reads"), Array("means", np.float32, "chains.reads")),
        *(Array("sequence_lengths", np.int32, "sequences"), Length("sequences")),
        Struct(
            "mappings",
            (
                Array("columns", np.int32, "count", width=_MAPPED_CHAINS + 1),
                Array("is_reverse", np.uint8, "count"),
                Array("is_retained", np.uint8, "count"),
                Array("offsets", np.int64, "chains.reads", 1),
                *sizes("count"),
            ),
        ),
    ),
)


@dataclass(frozen=True, slots=True)
class _Selection:
    """Rows of the table to report, and their parents, secondaries and flags.

    Attributes
    ----------
    kept, numbers, is_retained
        int32[c], int32[c] and uint8[c]: row within the read, number of the parent among the kept
        rows, and flag as in `Mappings`. The kept rows of a read start at its first chain.
    parents, second_scores, n_sub
        int32[c]: as in `Mappings`, per row of the table.
    offsets
        int64[n + 1]: offsets of the reads among the kept rows.
    """

    kept: GpuArray
    numbers: GpuArray
    is_retained: GpuArray
    parents: GpuArray
    second_scores: GpuArray
    n_sub: GpuArray
    offsets: GpuArray


def name_hashes(
    text: GpuArray,
    name_starts: GpuArray,
    name_lengths: GpuArray,
    lengths: GpuArray,
    uses_names: bool,  # noqa: FBT001  (a stage takes its arguments by position)
) -> GpuArray:
    """Return hashes of the reads, which break ties between chains.

    Works on the current stream of the text's device, which must be the current device.

    Parameters
    ----------
    text, name_starts, name_lengths, lengths, uses_names
        As in `mappings.mappings.name_hashes`, on the device.

    Returns
    -------
    uint32[n] on the device.
    """
    reads = lengths.size
    hashes = cupy.empty(reads, dtype=np.uint32)
    arguments = (text, text.size, name_starts, name_lengths, lengths, uses_names, hashes, reads)
    launch_threads(HASH_NAMES, _THREADS, reads, arguments)
    return hashes


def make_mappings(
    chains: Chains,
    seeds: Seeds,
    lengths: GpuArray,
    name_hashes: GpuArray,
    index: DeviceMinimizerIndex,
    chain_options: ChainOptions,
    options: MappingOptions,
) -> Mappings:
    """Return the mappings of n reads to report.

    Works on the current stream of the chains' device, which must be the current device.

    Parameters
    ----------
    chains, seeds, lengths, name_hashes, index, chain_options, options
        As in `mappings.mappings.make_mappings`, on the device.

    Returns
    -------
    Mappings
        On the device.
    """
    mappings, _ = chained_mappings(
        chains, seeds, lengths, name_hashes, index, chain_options, options
    )
    return mappings


def chained_mappings(
    chains: Chains,
    seeds: Seeds,
    lengths: GpuArray,
    name_hashes: GpuArray,
    index: DeviceMinimizerIndex,
    chain_options: ChainOptions,
    options: MappingOptions,
) -> tuple[Mappings, GpuArray]:
    """Return the result of `make_mappings`, and int32[r], the chain of each mapping.

    Parameters are as in `make_mappings`; `lengths` are int32[n], `name_hashes` are uint32[n].
    """
    table = _chain_table(chains, lengths, name_hashes)
    selection = _selected(table, chains.offsets, index.sketch.k, chain_options, options)
    return _mappings_of(table, chains, seeds, lengths, index, selection)


def _chain_table(chains: Chains, lengths: GpuArray, name_hashes: GpuArray) -> GpuArray:
    """Return int32[COLUMNS, c]: the chains of each read, the highest score first."""
    count = chains.scores.size
    table = cupy.empty((COLUMNS, count), dtype=np.int32)
    scratch = (cupy.empty(count, dtype=np.uint64), cupy.empty(count, dtype=np.uint32))
    arguments = (chain_fields(chains), lengths, name_hashes, *scratch, table)
    launch_threads(SORT_CHAINS, _THREADS, lengths.size * WARP, arguments)
    return table


def _selected(
    table: GpuArray, offsets: GpuArray, k: int, chain_options: ChainOptions, options: MappingOptions
) -> _Selection:
    """Find the parents of chains, and keep the primaries and the best of the others."""
    count, reads = table.shape[1], offsets.size - 1
    parents, second_scores, n_sub = _parents(table, offsets, options)
    kept, new_rows, numbers = (cupy.empty(count, dtype=np.int32) for _ in range(3))
    is_retained = cupy.empty(count, dtype=np.uint8)
    counts = cupy.empty(reads + 1, dtype=np.int64)
    limits = (
        options.all_chains or np.float32(options.score_ratio) <= 0,
        *(options.score_ratio, options.max_secondary),
        *(2 * k, int(STRAND_FRACTION * chain_options.max_gap)),
    )
    arguments = (
        *((table, offsets, count, reads), parents, limits),
        *((kept, numbers, is_retained), new_rows, counts),
    )
    launch_threads(SELECT_ROWS, _THREADS, reads, arguments)
    found = (parents, second_scores, n_sub)
    return _Selection(kept, numbers, is_retained, *found, cupy.cumsum(counts))


def _parents(
    table: GpuArray, offsets: GpuArray, options: MappingOptions
) -> tuple[GpuArray, GpuArray, GpuArray]:
    """Return int32[c] each: parent, highest score of the secondaries, number of these."""
    count, reads = table.shape[1], offsets.size - 1
    second_scores, n_sub = (cupy.zeros(count, dtype=np.int32) for _ in range(2))
    if options.all_chains:
        return cupy.full(count, _NO_PARENT, dtype=np.int32), second_scores, n_sub
    parents, primaries = (cupy.empty(count, dtype=np.int32) for _ in range(2))
    arguments = (
        *((table, offsets, count, reads), options.mask_level),
        *(cupy.empty(2 * count, dtype=np.int32), primaries, (parents, second_scores, n_sub)),
    )
    launch_threads(FIND_PARENTS, _THREADS, reads * WARP, arguments)
    return parents, second_scores, n_sub


def _mappings_of(
    table: GpuArray,
    chains: Chains,
    seeds: Seeds,
    lengths: GpuArray,
    index: DeviceMinimizerIndex,
    selection: _Selection,
) -> tuple[Mappings, GpuArray]:
    """Return the selected mappings with their estimates, and int32[r], their chains."""
    (count,) = last_values(selection.offsets)
    means = _mean_spans(seeds)
    columns = cupy.empty((_MAPPED_CHAINS + 1, count), dtype=np.int32)
    is_reverse, is_retained = (cupy.empty(count, dtype=np.uint8) for _ in range(2))
    arguments = (
        *(chain_fields(chains), lengths, table),
        (selection.kept, selection.numbers, selection.is_retained),
        (selection.parents, selection.second_scores, selection.n_sub),
        *(seed_fields(seeds), means, index.lengths, index.lengths.size),
        (columns, is_reverse, is_retained, selection.offsets, count),
    )
    launch_threads(MEASURE_MAPPINGS, _THREADS, count * WARP, arguments)
    mappings = Mappings(
        **dict(zip(_COLUMNS, columns[:_MAPPED_CHAINS], strict=True)),
        is_reverse=is_reverse,
        is_retained=is_retained,
        offsets=selection.offsets,
        mean_spans=means,
        repeat_lengths=seeds.repeat_lengths,
    )
    return mappings, columns[_MAPPED_CHAINS]


def _mean_spans(seeds: Seeds) -> GpuArray:
    """Return float32[n]: the mean span of the seeds of each read; 0 without seeds."""
    reads = seeds.offsets.size - 1
    means = cupy.empty(reads, dtype=np.float32)
    launch_threads(AVERAGE_SPANS, _THREADS, reads * WARP, (seed_fields(seeds), means))
    return means
