"""Local alignment of pairs on a GPU (`cuda/longread/align/dp/local.cu`)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, NamedTuple

import cupy
import numpy as np

from hapgpu.longread.align.batches import SequenceCodes
from hapgpu.longread.align.parameters import AlignScoring
from hapgpu.longread.cuda.align.rows import (
    READ_CODES,
    SCORING,
    TARGET_CODES,
    align_kernel,
    read_code_fields,
    scoring_fields,
    target_code_fields,
)
from hapgpu.longread.kernels import sizes
from hapgpu.runtime.gpu.kernel import Array, Length, Struct
from hapgpu.runtime.gpu.scalars import last_values
from hapgpu.runtime.gpu.work_queue import launch_threads
from hapgpu.runtime.gpu_array import GpuArray

_THREADS: Final = 128  # per block, as in the source
_PAIR_WORDS: Final = 5
_ROW: Final = 8  # in numbers of 32 bits

PAIR_LIST: Final = Struct(
    "list",
    (
        Array("pairs", np.int64, "capacity", width=_PAIR_WORDS),
        Array("counters", np.uint64, "two"),
        *(Length("capacity"), Length("two")),
    ),
)


def pair_array(length: str) -> Array:
    """Declare pairs for local alignment."""
    return Array("pairs", np.int64, length, width=_PAIR_WORDS)


_RESULTS: Final = Struct(
    "results",
    tuple(Array(name, np.int32, "count") for name in ("scores", "target_ends", "query_ends")),
)
ALIGN_LOCALLY: Final = align_kernel(
    "dp/local.cu",
    "align_locally",
    (
        pair_array("count"),
        *sizes("count"),
        READ_CODES,
        TARGET_CODES,
        SCORING,
        *sizes("is_backwards"),
        Array("boundaries", np.uint32, "words"),
        Length("words"),
        _RESULTS,
    ),
)


class LocalResults(NamedTuple):
    """Local alignments of pairs.

    Attributes
    ----------
    scores, target_ends, query_ends
        int32[n] each: as in `align_locally`.
    """

    scores: GpuArray
    target_ends: GpuArray
    query_ends: GpuArray


@dataclass(frozen=True, slots=True)
class LocalPairs:
    """Pairs for local alignment; kernels append them (`cuda/longread/align/dp/local_pairs.cuh`).

    Attributes
    ----------
    rows
        int64[capacity, 5]: one pair per row, in any order.
    counters
        uint64[2]: number of pairs, words of scratch memory.
    """

    rows: GpuArray
    counters: GpuArray

    @classmethod
    def empty(cls, capacity: int) -> LocalPairs:
        """Allocate memory for up to `capacity` pairs."""
        rows = cupy.empty((capacity, _PAIR_WORDS), dtype=np.int64)
        return cls(rows, cupy.zeros(2, dtype=np.uint64))

    @property
    def fields(self) -> tuple[GpuArray | int, ...]:
        """The fields of `PAIR_LIST`: int64 pairs, uint64 counters, and their sizes."""
        return self.rows, self.counters, self.rows.shape[0], 2

    def numbers(self, count: int) -> GpuArray:
        """Return int32[count]: the row of a mapping or piece that each pair belongs to."""
        return self.rows.view(np.int32)[:count, _ROW]

    def sizes(self) -> tuple[int, ...]:
        """Return the number of pairs and the words of scratch memory; waits for the GPU."""
        return last_values(self.counters[:1], self.counters)


def align_pairs_locally(
    pairs: LocalPairs,
    count: int,
    words: int,
    sequences: SequenceCodes,
    scoring: AlignScoring,
    *,
    is_backwards: bool,
) -> LocalResults:
    """Align pairs locally.

    Parameters
    ----------
    pairs
        The pairs.
    count, words
        Their `sizes`.
    sequences
        Bases, on the GPU.
    scoring
        Scores.
    is_backwards
        Read both sequences from their last base on; otherwise, replace the query by its reverse
        complement.
    """
    results = LocalResults(*cupy.empty((3, count), dtype=np.int32))
    arguments = (
        *(pairs.rows, count, read_code_fields(sequences.reads)),
        *(target_code_fields(sequences.targets), scoring_fields(scoring)),
        *(int(is_backwards), cupy.empty(words, dtype=np.uint32), words, results),
    )
    launch_threads(ALIGN_LOCALLY, _THREADS, count * _THREADS, arguments)
    return results
