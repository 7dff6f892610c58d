"""Pairs sorted by layout for `packed.py` (`cuda/realign/align/packed_layouts.cu`)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import cupy
import numpy as np

from hapgpu.realign.align.cuda.buckets import PairLengths
from hapgpu.realign.align.cuda.layouts import WARP_LANES, StripeLayout
from hapgpu.runtime.gpu.kernel import Array, Kernel, Scalar
from hapgpu.runtime.gpu.work_queue import launch_threads
from hapgpu.runtime.gpu_array import GpuArray

MAX_COLUMNS: Final = 25
"""Columns that a lane holds in registers at most."""

MAX_BASES: Final = 1 << 16
"""Bases of both sequences of a pair at most."""

_CLASSES: Final = 64  # of reference lengths, as in the keys of PairLengths
_LAUNCH_AT: Final = 32  # bits, as in the source
_LANES_AT, _COLUMNS_AT, _STRIPES_AT, _LAUNCH_BITS = 6, 9, 14, 31
_BORDER_WORDS: Final = 2
_THREADS: Final = 256

PACKED_LAYOUTS: Final = Kernel(
    "realign/align/packed_layouts.cu",
    "packed_layouts",
    (
        *(Array("keys", np.int64, "count"), Array("rows", np.int32, "count")),
        *(Scalar(name, np.int32) for name in ("count", "classes", "max_columns", "max_bases")),
        Array("numbers", np.int64, "count"),
    ),
)


@dataclass(frozen=True, slots=True)
class PackedScratch:
    """Offsets of the sections of a warp's scratch memory, in words."""

    borders_at: int
    last_rows_at: int
    words: int


@dataclass(frozen=True, slots=True)
class PackedBucket:
    """Pairs of one launch: `first` to `last` of the order, their references of at most `rows`."""

    layout: StripeLayout
    first: int
    last: int
    rows: int

    @property
    def max_columns(self) -> int:
        """Bases of the longest query that the layout is for."""
        return self.layout.lanes * self.layout.stripes * self.layout.columns

    @property
    def warps_needed(self) -> int:
        """Warps that have work; each takes two pairs per group of lanes."""
        return -(-(self.last - self.first) // (2 * self.layout.pairs_per_warp))

    @property
    def row_capacity(self) -> int:
        """Rows of which a group of lanes keeps codes and borders, a multiple of 32."""
        return -(-self.rows // WARP_LANES) * WARP_LANES

    @property
    def scratch(self) -> PackedScratch:
        """The layout of the scratch memory of a warp."""
        codes = self.layout.pairs_per_warp * self.row_capacity
        last_rows_at = codes + _BORDER_WORDS * codes
        last_rows = 2 * self.layout.stripes * self.layout.columns * WARP_LANES
        return PackedScratch(codes, last_rows_at, last_rows_at + last_rows)


def sort_packed(lengths: PairLengths, max_bases: int) -> tuple[GpuArray, list[PackedBucket]]:
    """Sort pairs into buckets of one layout, whose references differ at most twofold.

    Parameters
    ----------
    lengths
        Lengths of n pairs, at least one.
    max_bases
        Bases of both sequences of a pair in a bucket, at most `MAX_BASES`.

    Returns
    -------
    int64[n] on the GPU, the pairs, first those in no bucket, then by bucket, each bucket from its
    longest reference on; and the buckets.
    """
    count = int(lengths.rows.size)
    numbers = cupy.empty(count, dtype=np.int64)
    limits = (count, _CLASSES, MAX_COLUMNS, max_bases)
    launch_threads(PACKED_LAYOUTS, _THREADS, count, (lengths.keys, lengths.rows, *limits, numbers))
    order = cupy.argsort(numbers)
    numbers = numbers[order]
    launches = numbers >> _LAUNCH_AT
    heads = cupy.append(cupy.zeros(1, dtype=np.int64), cupy.flatnonzero(cupy.diff(launches)) + 1)
    firsts, found = cupy.asnumpy(cupy.stack([heads, numbers[heads]])).tolist()
    buckets = []
    for first, last, number in zip(firsts, [*firsts[1:], count], found, strict=True):
        launch, rows = number >> _LAUNCH_AT, 2**32 - 1 - number % 2**32
        if launch:
            layout = _layout_of(2**_LAUNCH_BITS - 1 - launch)
            buckets.append(PackedBucket(layout, first, last, rows))
    return order, buckets


def _layout_of(launch: int) -> StripeLayout:
    """Return the layout of the number of a launch."""
    columns = launch % 2**_STRIPES_AT >> _COLUMNS_AT
    lanes = 1 << (launch % 2**_COLUMNS_AT >> _LANES_AT)
    return StripeLayout(columns, lanes, launch >> _STRIPES_AT)
