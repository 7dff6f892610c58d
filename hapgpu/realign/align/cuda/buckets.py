"""Buckets of pairs of similar size, one launch each (`cuda/realign/pair_sizes.cu`)."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Final, NamedTuple

import cupy
import numpy as np
from numpy.typing import NDArray

from hapgpu.errors import InputError
from hapgpu.realign.align.cuda.batches import PAIRS, DevicePairs
from hapgpu.realign.align.cuda.kernels import MAX_COLUMNS, ScoreType
from hapgpu.realign.align.cuda.layouts import (
    ScratchLayout,
    StripeLayout,
    choose_layout,
    scratch_layout,
)
from hapgpu.realign.scoring import LOWEST_SCORE, Overhang, Scoring
from hapgpu.runtime.gpu.kernel import Array, Kernel, Scalar
from hapgpu.runtime.gpu.scalars import last_values
from hapgpu.runtime.gpu.work_queue import launch_threads
from hapgpu.runtime.gpu_array import GpuArray

_CLASSES: Final = 64  # of reference lengths: powers of two
_INT32_SCORES: Final = 1 << 25
_THREADS: Final = 256

PAIR_SIZES: Final = Kernel(
    "realign/pair_sizes.cu",
    "pair_sizes",
    (
        *(PAIRS, Scalar("classes", np.int32)),
        Array("keys", np.int64, "pairs.count"),
        Array("rows", np.int32, "pairs.count"),
    ),
)


class Longest(NamedTuple):
    """Bases of the longest reference, and of the longest query, of a batch."""

    rows: int
    columns: int

    def reaches_lowest(self, scoring: Scoring) -> bool:
        """Return whether GATK's lowest score could raise the score of a cell of a matrix."""
        return scoring.largest * (self.rows + self.columns + 2) >= -LOWEST_SCORE


@dataclass(frozen=True, slots=True)
class PairLengths:
    """Lengths of the sequences of n pairs, at least one, on the current GPU.

    Attributes
    ----------
    keys
        int64[n]: the query length, and the number of binary digits of the reference length.
    rows
        int32[n]: the reference length.
    """

    keys: GpuArray
    rows: GpuArray

    @classmethod
    def of(cls, pairs: DevicePairs) -> PairLengths:
        """Measure pairs."""
        count = len(pairs)
        keys, rows = cupy.empty(count, dtype=np.int64), cupy.empty(count, dtype=np.int32)
        launch_threads(PAIR_SIZES, _THREADS, count, (pairs.fields, _CLASSES, keys, rows))
        return cls(keys, rows)

    @property
    def columns(self) -> GpuArray:
        """int64[n]: the query lengths."""
        return self.keys // _CLASSES

    def take(self, rows: GpuArray) -> PairLengths:
        """Gather the lengths of the pairs of numbers `rows`, int64."""
        return PairLengths(self.keys[rows], self.rows[rows])

    def checked(self, scoring: Scoring, overhang: Overhang) -> Longest:
        """Check that pairs can be aligned; return the longest lengths.

        Raises
        ------
        InputError
            A sequence is empty, or scores would not fit 32 bits.
        """
        columns = self.columns
        extremes = (self.rows.min(), columns.min(), self.rows.max(), columns.max())
        shortest_row, shortest_column, rows, longest = last_values(
            *(length.reshape(1) for length in extremes)
        )
        for kind, shortest, lengths in (
            ("reference", shortest_row, self.rows),
            ("query", shortest_column, columns),
        ):
            if not shortest:
                message = f"pair {int(lengths.argmin())}: empty {kind}; give at least one base"
                raise InputError(message)
        scoring.check_range(rows, longest, overhang)
        return Longest(rows, longest)


@dataclass(frozen=True, slots=True)
class PairSizes:
    """Sizes of n pairs.

    Attributes
    ----------
    keys, counts
        int64[s] in host memory: the distinct keys of `PairLengths`, ascending, and how many pairs
        have each.
    size_index
        int64[n] on the GPU: the size of each pair.
    rows
        int32[n] on the GPU: the reference length of each pair.
    max_rows
        The largest reference length.
    """

    keys: NDArray[np.int64]
    counts: NDArray[np.int64]
    size_index: GpuArray
    rows: GpuArray
    max_rows: int

    @classmethod
    def of(cls, lengths: PairLengths) -> PairSizes:
        """Count the pairs of each size; at least one pair."""
        sizes, index, counts = cupy.unique(lengths.keys, return_inverse=True, return_counts=True)
        rows = lengths.rows
        (longest,) = last_values(rows.max().reshape(1))
        return cls(cupy.asnumpy(sizes), cupy.asnumpy(counts), index, rows, longest)

    @property
    def columns(self) -> NDArray[np.int64]:
        """int64[s]: the query length of each size."""
        return self.keys // _CLASSES

    @property
    def row_classes(self) -> NDArray[np.int64]:
        """int64[s]: the number of binary digits of the reference lengths of each size."""
        return self.keys % _CLASSES

    @property
    def max_columns(self) -> int:
        """The largest query length."""
        return int(self.columns[-1])

    def score_type(self, scoring: Scoring) -> ScoreType:
        """Return the narrowest type for all tagged scores, and for GATK's lowest if needed."""
        steps = self.max_rows + self.max_columns + 2
        return np.int32 if scoring.largest * steps < _INT32_SCORES else np.int64


@dataclass(frozen=True, slots=True)
class Bucket:
    """Pairs of one launch: `first` to `last` of the sorted batch."""

    layout: StripeLayout
    scratch: ScratchLayout
    first: int
    last: int


def plan_buckets(
    sizes: PairSizes, score_type: ScoreType, *, with_trace: bool
) -> tuple[GpuArray, list[Bucket]]:
    """Sort pairs into buckets of one layout and of similar scratch size.

    Returns
    -------
    int64[n] on the GPU, the pairs by bucket, each bucket from its longest reference on; and the
    buckets.
    """
    # Every warp of a launch has scratch for the largest pair, so references differ at most twofold.
    columns, row_classes = sizes.columns, sizes.row_classes
    layouts = [
        choose_layout(query_length, 1 << row_class, MAX_COLUMNS[score_type])
        for query_length, row_class in zip(columns.tolist(), row_classes.tolist(), strict=True)
    ]
    numbers = {layout: number for number, layout in enumerate(sorted(set(layouts)))}
    layout_number = np.array([numbers[layout] for layout in layouts], dtype=np.int64)
    launches, launch = np.unique(-(layout_number * _CLASSES + row_classes), return_inverse=True)
    counts, max_columns = (np.zeros(launches.size, dtype=np.int64) for _ in range(2))
    np.add.at(counts, launch, sizes.counts)
    np.maximum.at(max_columns, launch, columns)
    bounds = np.append(0, np.cumsum(counts))
    # Within a launch, the longest references come first.
    ranks = cupy.asarray(launch.astype(np.int64))[sizes.size_index]
    order = cupy.argsort((ranks + 1 << 32) - sizes.rows)
    max_rows = sizes.rows[order[cupy.asarray(bounds[:-1])]].get()
    layout_of_launch = dict(zip(launch.tolist(), layouts, strict=True))
    score_words = np.dtype(score_type).itemsize // 4
    buckets = []
    for number, (first, last) in enumerate(pairwise(bounds.tolist())):
        layout = layout_of_launch[number]
        scratch = scratch_layout(
            layout,
            int(max_rows[number]),
            int(max_columns[number]),
            score_words=score_words,
            with_trace=with_trace,
        )
        buckets.append(Bucket(layout, scratch, first, last))
    return order, buckets
