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
from hapgpu.runtime.gpu.kernel import Array, Kernel, Length, Scalar
from hapgpu.runtime.gpu.scalars import last_values
from hapgpu.runtime.gpu.work_queue import launch_threads
from hapgpu.runtime.gpu_array import GpuArray

_CLASSES: Final = 64  # of reference lengths: powers of two
_INT32_SCORES: Final = 1 << 25
_MOST_SLOTS: Final = 1 << 16  # of a table of sizes
_NONE: Final = -(2**31)
_THREADS: Final = 256

PAIR_SIZES: Final = Kernel(
    "realign/pair_sizes.cu",
    "pair_sizes",
    (
        *(PAIRS, Scalar("classes", np.int32)),
        Array("keys", np.int64, "pairs.count"),
        Array("rows", np.int32, "pairs.count"),
        *(Array("extremes", np.int32, "four"), Length("four")),
    ),
)

COUNT_SIZES: Final = Kernel(
    "realign/pair_sizes.cu",
    "count_sizes",
    (
        Array("keys", np.int64, "count"),
        *(
            Scalar(name, np.int32)
            for name in ("count", "classes", "shortest", "first_class", "columns")
        ),
        Array("slots", np.int32, "count"),
        *(Array("counts", np.int32, "table"), Length("table")),
    ),
)


class Extremes(NamedTuple):
    """Bases of the longest and of the shortest sequences of a batch, or bounds of them."""

    rows: int
    columns: int
    fewest_rows: int
    fewest_columns: int

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
    extremes
        Bounds of all lengths.
    """

    keys: GpuArray
    rows: GpuArray
    extremes: Extremes

    @classmethod
    def of(cls, pairs: DevicePairs) -> PairLengths:
        """Measure pairs; waits for the GPU."""
        count = len(pairs)
        keys, rows = cupy.empty(count, dtype=np.int64), cupy.empty(count, dtype=np.int32)
        found = cupy.full(len(Extremes._fields), _NONE, dtype=np.int32)
        arguments = (pairs.fields, _CLASSES, keys, rows, found, found.size)
        launch_threads(PAIR_SIZES, _THREADS, count, arguments)
        longest, widest, *negative = last_values(*(found[k : k + 1] for k in range(found.size)))
        return cls(keys, rows, Extremes(longest, widest, *(-number for number in negative)))

    @property
    def columns(self) -> GpuArray:
        """int64[n]: the query lengths."""
        return self.keys // _CLASSES

    def take(self, rows: GpuArray) -> PairLengths:
        """Gather the lengths of the pairs of numbers `rows`, int64."""
        return PairLengths(self.keys[rows], self.rows[rows], self.extremes)

    def check(self, scoring: Scoring, overhang: Overhang) -> None:
        """Check that pairs can be aligned.

        Raises
        ------
        InputError
            A sequence is empty, or scores would not fit 32 bits.
        """
        rows, columns, fewest_rows, fewest_columns = self.extremes
        if not fewest_rows:
            raise _empty("reference", self.rows)
        if not fewest_columns:
            raise _empty("query", self.columns)
        scoring.check_range(rows, columns, overhang)


def _empty(kind: str, lengths: GpuArray) -> InputError:
    return InputError(f"pair {int(lengths.argmin())}: empty {kind}; give at least one base")


@dataclass(frozen=True, slots=True)
class PairSizes:
    """Sizes of n pairs.

    Attributes
    ----------
    keys, counts
        int64[s] in host memory: the distinct keys of `PairLengths`, ascending, and how many pairs
        have each.
    slots
        Any integer dtype[n] on the GPU: the slot of each pair in a table of sizes.
    of_slot
        int64[t] in host memory: the size of each slot that has pairs.
    rows
        int32[n] on the GPU: the reference length of each pair.
    max_rows
        The largest reference length, or more.
    """

    keys: NDArray[np.int64]
    counts: NDArray[np.int64]
    slots: GpuArray
    of_slot: NDArray[np.int64]
    rows: GpuArray
    max_rows: int

    @classmethod
    def of(cls, lengths: PairLengths) -> PairSizes:
        """Count the pairs of each size; at least one pair."""
        rows, max_rows = lengths.rows, lengths.extremes.rows
        found = _counted(lengths)
        if found is None:
            sizes = cupy.unique(lengths.keys, return_inverse=True, return_counts=True)
            keys, slots, counts = cupy.asnumpy(sizes[0]), sizes[1], cupy.asnumpy(sizes[2])
            found = keys, counts, slots, np.arange(keys.size)
        return cls(*found, rows, max_rows)

    def order(self, launch: NDArray[np.int64]) -> GpuArray:
        """Return int64[n]: the pairs by the `launch`, int64[s], of their sizes.

        In each launch, the longest references come first.
        """
        ranks = (launch + 1 << 32)[self.of_slot]
        return cupy.argsort(cupy.asarray(ranks)[self.slots] - self.rows)

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


def _counted(
    lengths: PairLengths,
) -> tuple[NDArray[np.int64], NDArray[np.int64], GpuArray, NDArray[np.int64]] | None:
    """Return the first fields of `PairSizes`, by a table of all sizes between the extremes.

    Reads vary little in length, so that the table is small; None if it is not.
    """
    longest, widest, fewest_rows, fewest_columns = lengths.extremes
    first_class = fewest_rows.bit_length()
    classes = longest.bit_length() - first_class + 1
    slot_count = (widest - fewest_columns + 1) * classes
    if slot_count > _MOST_SLOTS:
        return None
    count = int(lengths.keys.size)
    slots, counts = cupy.empty(count, dtype=np.int32), cupy.zeros(slot_count, dtype=np.int32)
    table = (_CLASSES, fewest_columns, first_class, classes, slots, counts, slot_count)
    launch_threads(COUNT_SIZES, _THREADS, count, (lengths.keys, count, *table))
    pairs = cupy.asnumpy(counts).astype(np.int64)
    used = np.flatnonzero(pairs)
    keys = (used // classes + fewest_columns) * _CLASSES + used % classes + first_class
    return keys, pairs[used], slots, np.cumsum(pairs > 0) - 1


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
    order = sizes.order(launch.astype(np.int64))
    max_rows = cupy.asnumpy(sizes.rows[order[cupy.asarray(bounds[:-1])]])
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
