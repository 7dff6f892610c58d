"""Ranking of aligned mappings on a GPU (`cuda/longread/align`); the same as `align/ranking.py`."""

from __future__ import annotations

from typing import Final

import cupy
import numpy as np

from hapgpu.longread.align.batches import AlignedMappings
from hapgpu.longread.align.parameters import AlignParameters, AlignScoring
from hapgpu.longread.cuda.align import logarithms
from hapgpu.longread.cuda.align.logarithms import LOGARITHMS, Logarithms
from hapgpu.longread.cuda.align.rows import MAPPING_WORDS, align_kernel, mapping_array
from hapgpu.longread.cuda.mappings import SELECTION_LIMITS
from hapgpu.longread.kernels import LENGTHS, OFFSETS, READS, sizes
from hapgpu.longread.mappings.selection import COLUMNS, NO_SCORE
from hapgpu.longread.options import MappingOptions
from hapgpu.runtime.gpu.kernel import Array, Length, Scalar, Struct
from hapgpu.runtime.gpu.scalars import last_values
from hapgpu.runtime.gpu.work_queue import WARP, launch_threads
from hapgpu.runtime.gpu_array import GpuArray

_THREADS: Final = 128  # per block, as in the source
_N_SUB: Final = COLUMNS + 6  # columns of `cuda/longread/align/ranking.cuh`
_DP_MAX: Final = COLUMNS + 8
_ALL_COLUMNS: Final = COLUMNS + 9

_FOUND: Final = ("max_score", "max_n_sub", "has_inversion")

_MAPPINGS = mapping_array("mappings", "count")
_SCORES = Array("scores", np.int32, "count")
_BEST_ROWS = Array("best_rows", np.int32, "count")
_COUNT = Scalar("count", np.int32)
_SORTED = (Array("keys", np.uint64, "count"), Array("order", np.uint32, "count"))
_RANK_COLUMNS = Array("columns", np.int32, "count", width=_ALL_COLUMNS)

ASSESS_MAPPINGS: Final = align_kernel(
    "rescale.cu",
    "assess_mappings",
    (
        *(_MAPPINGS, OFFSETS, LENGTHS, READS),
        Struct("limits", sizes("min_anchors", "min_chain_score", "min_score")),
        *(_SCORES, _BEST_ROWS, Length("count")),
    ),
)
RESCALE_MAPPINGS: Final = align_kernel(
    "rescale.cu",
    "rescale_mappings",
    (
        *(_MAPPINGS, Array("operations", np.uint32, "operation_count"), _BEST_ROWS),
        *(Scalar("match", np.int32), Scalar("mismatch", np.int32), _SCORES),
        *(Length("operation_count"), _COUNT),
    ),
)
RANK_READS: Final = align_kernel(
    "rank_reads.cu",
    "rank_reads",
    (
        *(_MAPPINGS, OFFSETS, _SCORES, _COUNT, READS),
        Struct(
            "rules",
            (
                *sizes("all_chains", "min_score", "near_score"),
                Scalar("mask_level", np.float32),
            ),
        ),
        SELECTION_LIMITS,
        Struct(
            "scratch",
            (
                *(*_SORTED, Array("covered", np.int32, "count", width=2), _RANK_COLUMNS),
                Array("is_retained", np.uint8, "count"),
            ),
        ),
        Array("counts", np.int64, "reads", 1),
        Struct("found", tuple(Array(name, np.int32, "one") for name in _FOUND)),
        Length("one"),
    ),
)
WRITE_RANKED: Final = align_kernel(
    "qualities.cu",
    "write_ranked",
    (
        *(_MAPPINGS, OFFSETS, Array("repeat_lengths", np.int32, "reads")),
        *(_RANK_COLUMNS, _COUNT, READS),
        Struct("rules", sizes("all_chains", "match", "min_chain_score")),
        *(LOGARITHMS, Array("ranked_offsets", np.int64, "reads", 1)),
        *(mapping_array("ranked", "ranked_count"), Length("ranked_count")),
    ),
)
ASSESS_INVERSIONS: Final = align_kernel(
    "inversion_qualities.cu",
    "assess_inversions",
    (*(_MAPPINGS, OFFSETS), *_SORTED, *(Length("count"), READS)),
)


def rank(
    aligned: AlignedMappings,
    lengths: GpuArray,
    repeat_lengths: GpuArray,
    options: MappingOptions,
    scoring: AlignScoring,
    parameters: AlignParameters,
) -> AlignedMappings:
    """Return the mappings to report, in the order of their lines, with parents and qualities.

    Works on the current stream of the mappings' device, which must be the current device.

    Parameters
    ----------
    aligned, lengths, repeat_lengths, options, scoring, parameters
        As in `align.ranking.rank`, on the device.

    Returns
    -------
    AlignedMappings
        On the device, with the same `operations`.
    """
    ranking = _Ranking(aligned, options, scoring, parameters)
    ranking.rank_reads(lengths)
    return ranking.result(repeat_lengths)


class _Ranking:
    """Ranking of the mappings of n reads: working memory of r rows, one per mapping."""

    def __init__(
        self,
        aligned: AlignedMappings,
        options: MappingOptions,
        scoring: AlignScoring,
        parameters: AlignParameters,
    ) -> None:
        self._aligned, self._options = aligned, options
        self._scoring, self._parameters = scoring, parameters
        self._count, self._reads = aligned.mappings.shape[0], aligned.offsets.size - 1
        self._columns = cupy.empty((_ALL_COLUMNS, self._count), dtype=np.int32)
        self._sorted = (
            cupy.empty(self._count, dtype=np.uint64),
            cupy.empty(self._count, dtype=np.uint32),
        )
        self._counts = cupy.empty(self._reads + 1, dtype=np.int64)
        self._found = [*cupy.zeros((len(_FOUND), 1), dtype=np.int32)]

    def rank_reads(self, lengths: GpuArray) -> None:
        """Fill the columns of the mappings, and count the mappings to report."""
        mappings, _, offsets = self._aligned
        count, reads, options = self._count, self._reads, self._options
        scores = self._scores(lengths)
        all_chains, min_score = int(options.all_chains), self._parameters.min_score
        near_score = 2 * self._scoring.match + self._scoring.mismatch
        keeps_all = int(np.float32(options.score_ratio) <= 0)
        near_chain_score = 2 * self._parameters.k
        arguments = (
            *(mappings, offsets, scores, count, reads),
            (all_chains, min_score, near_score, options.mask_level),
            (keeps_all, options.score_ratio, options.max_secondary, near_chain_score, NO_SCORE),
            (
                *(*self._sorted, cupy.empty(2 * count, dtype=np.int32), self._columns),
                cupy.empty(count, dtype=np.uint8),
            ),
            *(self._counts, self._found, 1),
        )
        launch_threads(RANK_READS, _THREADS, reads * WARP, arguments)

    def _scores(self, lengths: GpuArray) -> GpuArray:
        """Return int32[r]: the rescaled scores of good mappings, the lowest number for others."""
        mappings, operations, offsets = self._aligned
        scoring, parameters = self._scoring, self._parameters
        scores = cupy.empty(self._count, dtype=np.int32)
        best_rows = cupy.empty(self._count, dtype=np.int32)
        arguments = (
            *(mappings, offsets, lengths, self._reads),
            (parameters.min_anchors, parameters.min_chain_score, parameters.min_score),
            *(scores, best_rows, self._count),
        )
        launch_threads(ASSESS_MAPPINGS, _THREADS, self._reads * WARP, arguments)
        if not self._options.all_chains:
            costs = (scoring.match, scoring.mismatch)
            launch_threads(
                *(RESCALE_MAPPINGS, _THREADS, self._count * WARP),
                (mappings, operations, best_rows, *costs, scores, operations.size, self._count),
            )
        return scores

    def result(self, repeat_lengths: GpuArray) -> AlignedMappings:
        """Return the mappings to report; waits for the GPU."""
        mappings, operations, offsets = self._aligned
        ranked_offsets = cupy.cumsum(self._counts)
        sizes_found = last_values(ranked_offsets, *self._found)
        ranked_count, max_score, max_n_sub, has_inversion = sizes_found
        ranked = cupy.empty((ranked_count, MAPPING_WORDS), dtype=np.int64)
        all_chains, match = int(self._options.all_chains), self._scoring.match
        is_by_row = max(max_score, max_n_sub) >= logarithms.MAX_SIZE
        tables = self._by_row() if is_by_row else self._tables(max_score, max_n_sub)
        arguments = (
            *(mappings, offsets, repeat_lengths, self._columns, self._count, self._reads),
            (all_chains, match, self._parameters.min_chain_score),
            (*tables, int(is_by_row), tables.of_scores.size, tables.costs.size),
            *(ranked_offsets, ranked, ranked_count),
        )
        launch_threads(WRITE_RANKED, _THREADS, self._reads * WARP, arguments)
        if has_inversion:
            launch_threads(
                *(ASSESS_INVERSIONS, _THREADS, self._reads * WARP),
                (ranked, ranked_offsets, *self._sorted, ranked_count, self._reads),
            )
        return AlignedMappings(ranked, operations, ranked_offsets)

    def _tables(self, max_score: int, max_n_sub: int) -> Logarithms:
        return logarithms.logarithm_tables(max_score, max_n_sub, self._scoring.match)

    def _by_row(self) -> Logarithms:
        columns, match = self._columns, self._scoring.match
        return logarithms.logarithms_by_row(columns[_DP_MAX], columns[_N_SUB], match)
