"""Chains to mappings on a GPU (`cuda/chaining/mappings.cu`); as `cpu`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import cupy
import numpy as np

from hapgpu.chaining.batches import Chains, Mappings, Seeds
from hapgpu.chaining.index.cuda import DeviceMinimizerIndex
from hapgpu.chaining.mappings.columns import COLUMNS
from hapgpu.chaining.mappings.selection import STRAND_SHARE
from hapgpu.chaining.options import ChainOptions, MappingOptions
from hapgpu.runtime.gpu.kernel import Array, Kernel, Scalar
from hapgpu.runtime.gpu.work_queue import WARP, launch_threads

_THREADS: Final = 128  # of a block, as in the source
_COLUMNS: Final = (  # of `Mappings`, in the order of the source
    *("scores", "counts", "sequences", "query_starts", "query_ends", "target_starts"),
    *("target_ends", "matches", "lengths", "parents", "second_scores", "rivals"),
    *("seeds_matched", "seeds_expected"),
)
_NO_PARENT: Final = -1

_READS, _CHAINS = Scalar("reads", np.int32), Scalar("chains", np.int32)
_ANCHORS = (
    Array("x", np.uint64, "anchors"),
    Array("y", np.uint64, "anchors"),
    Scalar("anchors", np.int64),
    Array("anchor_offsets", np.int64, "chains", 1),
)
_OFFSETS = Array("offsets", np.int64, "reads", 1)
_LENGTHS = Array("lengths", np.int32, "reads")
_TABLE = Array("table", np.int32, "chains", width=COLUMNS)


def _of_chains(*names: str) -> tuple[Array, ...]:
    return tuple(Array(name, np.int32, "chains") for name in names)


HASH_NAMES: Final = Kernel(
    "chaining/mappings.cu",
    "hash_names",
    (
        Array("text", np.uint8, "text_bytes"),
        Scalar("text_bytes", np.int64),
        Array("name_starts", np.int32, "reads"),
        Array("name_lengths", np.int32, "reads"),
        _LENGTHS,
        Scalar("uses_names", np.int32),
        Array("hashes", np.uint32, "reads"),
        _READS,
    ),
)
SORT_CHAINS: Final = Kernel(
    "chaining/mappings.cu",
    "sort_chains",
    (
        *_ANCHORS,
        *_of_chains("scores"),
        _CHAINS,
        _OFFSETS,
        _LENGTHS,
        Array("hashes", np.uint32, "reads"),
        _READS,
        Array("keys", np.uint64, "chains"),
        Array("order", np.uint32, "chains"),
        _TABLE,
    ),
)
FIND_PARENTS: Final = Kernel(
    "chaining/mappings.cu",
    "find_parents",
    (
        _TABLE,
        _CHAINS,
        _OFFSETS,
        _READS,
        Scalar("mask_level", np.float32),
        Array("covered", np.int32, "chains", width=2),
        *_of_chains("primaries", "parents", "second_scores", "rivals"),
    ),
)
SELECT_ROWS: Final = Kernel(
    "chaining/mappings.cu",
    "select_rows",
    (
        _TABLE,
        _CHAINS,
        _OFFSETS,
        _READS,
        *_of_chains("parents"),
        Scalar("keeps_all", np.int32),
        Scalar("score_ratio", np.float32),
        Scalar("max_secondary", np.int32),
        Scalar("near_score", np.int32),
        Scalar("strand_score", np.int32),
        *_of_chains("kept", "places", "numbers"),
        Array("is_retained", np.uint8, "chains"),
        Array("counts", np.int64, "reads", 1),
    ),
)
AVERAGE_SPANS: Final = Kernel(
    "chaining/mappings.cu",
    "average_spans",
    (
        Array("spans", np.uint8, "seeds"),
        Scalar("seeds", np.int64),
        _OFFSETS,
        _READS,
        Array("means", np.float32, "reads"),
    ),
)
MEASURE_MAPPINGS: Final = Kernel(
    "chaining/mappings.cu",
    "measure_mappings",
    (
        *_ANCHORS,
        _CHAINS,
        _OFFSETS,
        _LENGTHS,
        _READS,
        _TABLE,
        *_of_chains("kept", "numbers"),
        Array("is_retained", np.uint8, "chains"),
        *_of_chains("second_scores", "rivals"),
        Array("places", np.uint32, "seeds"),
        Scalar("seeds", np.int64),
        Array("seed_offsets", np.int64, "reads", 1),
        Array("means", np.float32, "reads"),
        Array("sequence_lengths", np.int32, "sequences"),
        Scalar("sequences", np.int32),
        Array("mapping_offsets", np.int64, "reads", 1),
        Array("columns", np.int32, "mappings", width=len(_COLUMNS)),
        Array("is_reverse", np.uint8, "mappings"),
        Array("mapping_is_retained", np.uint8, "mappings"),
        Scalar("mappings", np.int32),
    ),
)


@dataclass(frozen=True, slots=True)
class _Selection:
    """Which rows of the table are kept, and what is known of them.

    Attributes
    ----------
    kept, numbers, is_retained
        int32[c], int32[c] and uint8[c], those of each read from its first chain on: rows within
        the read, their parents among them, whether they lie on the other strand.
    second_scores, rivals
        int32[c], of the rows.
    offsets
        int64[n + 1]: of the rows kept.
    """

    kept: Any
    numbers: Any
    is_retained: Any
    second_scores: Any
    rivals: Any
    offsets: Any


def name_hashes(
    text: Any,
    name_starts: Any,
    name_lengths: Any,
    lengths: Any,
    uses_names: bool,  # noqa: FBT001  (a stage takes its arguments by position)
) -> Any:
    """Hash what decides between equal chains of a read.

    Works on the current stream of the text's device, which has to be the current one.

    Parameters
    ----------
    text, name_starts, name_lengths, lengths, uses_names
        As for `mappings.name_hashes`, on the device.

    Returns
    -------
    uint32[n] on the device.
    """
    reads = lengths.size
    hashes = cupy.empty(reads, dtype=np.uint32)
    arguments = (text, text.size, name_starts, name_lengths, lengths, uses_names, hashes, reads)
    launch_threads(HASH_NAMES, _THREADS, reads, arguments)
    return hashes


def make_mappings(  # noqa: PLR0917  (a stage takes its arguments by position)
    chains: Chains,
    seeds: Seeds,
    lengths: Any,
    name_hashes: Any,
    index: DeviceMinimizerIndex,
    chain_options: ChainOptions,
    options: MappingOptions,
) -> Mappings:
    """Turn the chains of n reads into the mappings to report.

    Works on the current stream of the chains' device, which has to be the current one.

    Parameters
    ----------
    chains, seeds, lengths, name_hashes, index, chain_options, options
        As for `mappings.make_mappings`, on the device.

    Returns
    -------
    Mappings
        On the device.
    """
    table = _sorted_table(chains, lengths, name_hashes)
    selection = _selected(table, chains.offsets, index.sketch.k, chain_options, options)
    return _measured(table, chains, seeds, lengths, index, selection)


def mappings_to_host(mappings: Mappings) -> Mappings:
    """Copy mappings from the device, once what the current stream does is done."""
    return Mappings(
        **{name: cupy.asnumpy(getattr(mappings, name)) for name in Mappings.__dataclass_fields__}
    )


def _sorted_table(chains: Chains, lengths: Any, name_hashes: Any) -> Any:
    """int32[COLUMNS, c]: the chains of each read, that of the best score first."""
    count, reads = chains.scores.size, lengths.size
    table = cupy.empty((COLUMNS, count), dtype=np.int32)
    arguments = (
        *(chains.x, chains.y, chains.x.size, chains.anchor_offsets, chains.scores, count),
        *(chains.offsets, lengths, name_hashes, reads),
        *(cupy.empty(count, dtype=np.uint64), cupy.empty(count, dtype=np.uint32), table),
    )
    launch_threads(SORT_CHAINS, _THREADS, reads * WARP, arguments)
    return table


def _selected(
    table: Any, offsets: Any, k: int, chain_options: ChainOptions, options: MappingOptions
) -> _Selection:
    """Find the parents of chains, and keep the primaries and the best of the others."""
    count, reads = table.shape[1], offsets.size - 1
    parents, second_scores, rivals = _families(table, offsets, options)
    kept, places, numbers = (cupy.empty(count, dtype=np.int32) for _ in range(3))
    is_retained = cupy.empty(count, dtype=np.uint8)
    counts = cupy.empty(reads + 1, dtype=np.int64)
    arguments = (
        *(table, count, offsets, reads, parents),
        options.all_chains or options.score_ratio <= 0,
        *(options.score_ratio, options.max_secondary),
        *(2 * k, int(STRAND_SHARE * chain_options.max_gap)),
        *(kept, places, numbers, is_retained, counts),
    )
    launch_threads(SELECT_ROWS, _THREADS, reads, arguments)
    return _Selection(kept, numbers, is_retained, second_scores, rivals, cupy.cumsum(counts))


def _families(table: Any, offsets: Any, options: MappingOptions) -> tuple[Any, Any, Any]:
    """int32[c] each: the parent of a chain, and what it knows of those whose parent it is."""
    count, reads = table.shape[1], offsets.size - 1
    second_scores, rivals = (cupy.zeros(count, dtype=np.int32) for _ in range(2))
    if options.all_chains:
        return cupy.full(count, _NO_PARENT, dtype=np.int32), second_scores, rivals
    parents, primaries = (cupy.empty(count, dtype=np.int32) for _ in range(2))
    arguments = (
        *(table, count, offsets, reads, options.mask_level),
        *(cupy.empty(2 * count, dtype=np.int32), primaries, parents, second_scores, rivals),
    )
    launch_threads(FIND_PARENTS, _THREADS, reads * WARP, arguments)
    return parents, second_scores, rivals


def _measured(
    table: Any,
    chains: Chains,
    seeds: Seeds,
    lengths: Any,
    index: DeviceMinimizerIndex,
    selection: _Selection,
) -> Mappings:
    """Measure what was selected."""
    count, reads = int(selection.offsets[-1]), lengths.size
    means = _mean_spans(seeds)
    columns = cupy.empty((len(_COLUMNS), count), dtype=np.int32)
    is_reverse, is_retained = (cupy.empty(count, dtype=np.uint8) for _ in range(2))
    arguments = (
        *(chains.x, chains.y, chains.x.size, chains.anchor_offsets, chains.scores.size),
        *(chains.offsets, lengths, reads, table),
        *(selection.kept, selection.numbers, selection.is_retained),
        *(selection.second_scores, selection.rivals),
        *(seeds.places, seeds.places.size, seeds.offsets, means),
        *(index.lengths, index.lengths.size),
        *(selection.offsets, columns, is_reverse, is_retained, count),
    )
    launch_threads(MEASURE_MAPPINGS, _THREADS, count * WARP, arguments)
    return Mappings(
        **dict(zip(_COLUMNS, columns, strict=True)),
        is_reverse=is_reverse,
        is_retained=is_retained,
        offsets=selection.offsets,
        mean_spans=means,
        repeat_lengths=seeds.repeat_lengths,
    )


def _mean_spans(seeds: Seeds) -> Any:
    """float32[n]: the mean span of the seeds of each read, 0 where there are none."""
    reads = seeds.offsets.size - 1
    means = cupy.empty(reads, dtype=np.float32)
    arguments = (seeds.spans, seeds.spans.size, seeds.offsets, reads, means)
    launch_threads(AVERAGE_SPANS, _THREADS, reads * WARP, arguments)
    return means
