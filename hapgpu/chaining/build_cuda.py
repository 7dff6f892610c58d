"""Minimizers of a reference found and grouped by their hashes on a GPU."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import cupy
import numpy as np
from numpy.typing import NDArray

from hapgpu.batch import Ragged
from hapgpu.chaining.minimizers_cuda import sketch
from hapgpu.chaining.options import SketchOptions
from hapgpu.chaining.work_queue import launch_threads
from hapgpu.kernels import Array, Kernel, Scalar

_THREADS: Final = 256
_PART_BASES: Final = 1 << 28  # sketched at a time, and what more the last sequence has

MAKE_HITS: Final = Kernel(
    "index_hits.cu",
    "make_hits",
    (
        Array("keys", np.uint64, "minimizers"),
        Array("places", np.uint32, "minimizers"),
        Array("offsets", np.int64, "sequences", 1),
        Array("mixed", np.uint64, "minimizers"),
        Array("hits", np.uint64, "minimizers"),
        Scalar("minimizers", np.int64),
        Scalar("sequences", np.int32),
        Scalar("first", np.int32),
    ),
)


def group_on_device(
    sequences: Ragged, options: SketchOptions
) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
    """Find the minimizers of a reference and sort them by `hash * MIX`.

    Works on the current stream of the current device, and waits for it. The result is that of
    `hapgpu.chaining.grouping.group_by_hash` for the minimizers that `minimizers.sketch` finds.

    Parameters
    ----------
    sequences
        At least one, in the memory of the host, of less than 2**31 bases each.
    options
        The minimizers to find.

    Returns
    -------
    uint64[h] with `hash * MIX`, ascending, and uint64[h] with sequence << 32 | position << 1 |
    strand, ascending for each minimizer; both in the memory of the host.

    Raises
    ------
    cupy.cuda.memory.OutOfMemoryError
        The reference is too large for the device.
    """
    parts = [_hits_of(sequences, *rows, options) for rows in _parts(sequences.offsets)]
    mixed, hits = (cupy.concatenate(column) for column in zip(*parts, strict=True))
    del parts
    order = cupy.argsort(mixed, kind="stable")  # so hits keep the order of the reference
    return mixed[order].get(), hits[order].get()


def _parts(offsets: NDArray[np.int64]) -> Iterator[tuple[int, int]]:
    """Yield the first and the end of rows whose starts lie within `_PART_BASES`."""
    first = 0
    while first < offsets.size - 1:
        end = int(np.searchsorted(offsets[:-1], offsets[first] + _PART_BASES))
        yield first, end
        first = end


def _hits_of(sequences: Ragged, first: int, end: int, options: SketchOptions) -> tuple[Any, Any]:
    """Return the sort keys and the hits of the minimizers of some rows, on the device."""
    rows = sequences.slice(first, end)
    minimizers = sketch(
        cupy.asarray(rows.data),
        cupy.asarray(rows.offsets[:-1].astype(np.int32)),
        cupy.asarray(rows.lengths.astype(np.int32)),
        options,
    )
    count = minimizers.keys.size
    mixed, hits = (cupy.empty(count, dtype=np.uint64) for _ in range(2))
    columns = (minimizers.keys, minimizers.places, minimizers.offsets)
    launch_threads(
        *(MAKE_HITS, _THREADS, count), (*columns, mixed, hits, count, end - first, first)
    )
    return mixed, hits
