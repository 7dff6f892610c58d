"""Rows sorted in minimap2's order on a GPU (`cuda/longread/seed/radix_levels.cu`)."""

from __future__ import annotations

from typing import Final

import cupy
import numpy as np

from hapgpu.longread.kernels import chaining_kernel, sizes
from hapgpu.runtime.gpu.kernel import Array, Scalar
from hapgpu.runtime.gpu.launch import load_kernel
from hapgpu.runtime.gpu.work_queue import WARP, launch_threads
from hapgpu.runtime.gpu_array import GpuArray

_THREADS: Final = 128  # per block, as in the source
_TILE: Final = 256  # as in the source
_MIN_BLOCK: Final = 65  # elements; fewer are sorted by insertion
_LEVELS: Final = 8  # bytes of a key

_KEYS = Array("keys", np.uint64, "elements")
_VALUES = Array("values", np.uint32, "elements")
_ELEMENTS = Scalar("elements", np.int64)
_ROWS = (Array("offsets", np.int64, "rows", 1), Array("sizes", np.int32, "rows"))
_BLOCKS = Array("blocks", np.int32, "capacity", width=2)
_COUNTS = Array("counts", np.int32, "levels", 1)

LIST_LARGE_ROWS: Final = chaining_kernel(
    "seed/radix_levels.cu",
    "list_large_rows",
    (
        *_ROWS,
        Array("order", np.int64, "rows"),
        *sizes("rows"),
        _BLOCKS,
        _COUNTS,
        *sizes("capacity", "levels"),
    ),
)
DISTRIBUTE_BLOCKS: Final = chaining_kernel(
    "seed/radix_levels.cu",
    "distribute_blocks",
    (
        _KEYS,
        _VALUES,
        _ELEMENTS,
        _BLOCKS,
        Array("parts", np.int32, "capacity", width=2),
        _COUNTS,
        Array("taken", np.int32, "levels"),
        *sizes("capacity", "levels", "level"),
    ),
)
INSERT_ELEMENTS: Final = chaining_kernel(
    "seed/radix_levels.cu",
    "insert_elements",
    (
        _KEYS,
        _VALUES,
        *_ROWS,
        Array("sorted_keys", np.uint64, "elements"),
        Array("sorted_values", np.uint32, "elements"),
        _ELEMENTS,
        *sizes("rows"),
    ),
)


def sorted_rows(
    keys: GpuArray, values: GpuArray, offsets: GpuArray, unsorted: GpuArray
) -> tuple[GpuArray, GpuArray]:
    """Sort each row by key, equal keys in minimap2's order, as `radix_sort` does.

    Works on the current stream of the current device.

    Parameters
    ----------
    keys, values
        uint64[a], uint32[a] on the device, fewer than 2**31; in any order afterwards.
    offsets
        int64[n + 1] on the device: row i has the elements `offsets[i]` to `offsets[i + 1]`.
    unsorted
        int32[n] on the device: number of elements of each row; 0 if it is sorted already.

    Returns
    -------
    The keys and values, in other memory.
    """
    count, rows = int(keys.size), int(unsorted.size)
    capacity = count // _MIN_BLOCK + 1
    blocks, parts = (cupy.empty(2 * capacity, dtype=np.int32) for _ in range(2))
    counts, taken = (cupy.zeros(_LEVELS + 1, dtype=np.int32) for _ in range(2))
    order = cupy.argsort(-unsorted)  # the largest rows take longest
    listing = (offsets, unsorted, order, rows, blocks, counts, capacity, _LEVELS)
    launch_threads(LIST_LARGE_ROWS, _THREADS, rows, listing)
    for level in range(_LEVELS):
        arguments = (keys, values, count, blocks, parts, counts, taken, capacity, _LEVELS, level)
        launch_threads(DISTRIBUTE_BLOCKS, _THREADS, capacity * WARP, arguments)
        blocks, parts = parts, blocks
    sorted_keys, sorted_values = cupy.empty_like(keys), cupy.empty_like(values)
    row_sizes = cupy.diff(offsets).astype(np.int32)
    inserting = (keys, values, offsets, row_sizes, sorted_keys, sorted_values, count, rows)
    loaded = load_kernel(INSERT_ELEMENTS, cupy.cuda.Device().id)
    loaded.launch(max(-(-count // _TILE), 1), _TILE, inserting)
    return sorted_keys, sorted_values
