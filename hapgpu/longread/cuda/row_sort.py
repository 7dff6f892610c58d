"""Rows sorted in minimap2's order on a GPU (`cuda/longread/seed/radix_levels.cu`)."""

from __future__ import annotations

from typing import Final

import cupy
import numpy as np

from hapgpu.longread.kernels import chaining_kernel, sizes
from hapgpu.runtime.gpu.kernel import Array, Length, Scalar
from hapgpu.runtime.gpu.launch import load_kernel
from hapgpu.runtime.gpu.work_queue import WARP, launch_threads
from hapgpu.runtime.gpu_array import GpuArray

_THREADS: Final = 128  # per block, as in the source
_TILE: Final = 256  # as in the source
_MIN_BLOCK: Final = 65  # elements; fewer are sorted by insertion
_WORD_BITS: Final = 32
_ROUNDS: Final = 8  # bytes of a key

_KEYS = Array("keys", np.uint64, "elements")
_VALUES = Array("values", np.uint32, "elements")
_STARTS: Final = Array("starts", np.uint32, "words")
_WORDS: Final = Length("words")
_ROOM: Final = (Length("capacity"), Length("rounds"))
_BLOCKS = Array("blocks", np.int32, "capacity", width=2)
_COUNTS = Array("counts", np.int32, "rounds", 1)

LIST_LARGE_ROWS: Final = chaining_kernel(
    "seed/radix_levels.cu",
    "list_large_rows",
    (
        Array("offsets", np.int64, "rows", 1),
        Array("sizes", np.int32, "rows"),
        *sizes("rows"),
        *(_STARTS, _WORDS),
        *(_BLOCKS, _COUNTS, *_ROOM),
    ),
)
DISTRIBUTE_BLOCKS: Final = chaining_kernel(
    "seed/radix_levels.cu",
    "distribute_blocks",
    (
        *(_KEYS, _VALUES, Length("elements")),
        *(_STARTS, _WORDS),
        *(_BLOCKS, _COUNTS, Array("taken", np.int32, "rounds")),
        *_ROOM,
        *sizes("round"),
    ),
)
INSERT_ELEMENTS: Final = chaining_kernel(
    "seed/radix_levels.cu",
    "insert_elements",
    (
        _KEYS,
        _VALUES,
        _STARTS,
        Array("sorted_keys", np.uint64, "elements"),
        Array("sorted_values", np.uint32, "elements"),
        *(Scalar("elements", np.int64), Scalar("words", np.int32)),
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
    The keys, uint64[a], and the values, uint32[a], in other memory.
    """
    count, rows = int(keys.size), int(unsorted.size)
    capacity = _ROUNDS * (count // _MIN_BLOCK + 1)
    blocks = cupy.empty(2 * capacity, dtype=np.int32)
    counts, taken = cupy.zeros((2, _ROUNDS + 1), dtype=np.int32)
    words = count // _WORD_BITS + 1
    starts = cupy.zeros(words, dtype=np.uint32)
    listing = (offsets, unsorted, rows, starts, words, blocks, counts, capacity, _ROUNDS)
    launch_threads(LIST_LARGE_ROWS, _THREADS, rows, listing)
    for round_ in range(_ROUNDS):
        arguments = (keys, values, count, starts, words, blocks, counts, taken)
        launch_threads(
            *(DISTRIBUTE_BLOCKS, _THREADS, capacity * WARP),
            (*arguments, capacity, _ROUNDS, round_),
        )
    sorted_keys, sorted_values = cupy.empty_like(keys), cupy.empty_like(values)
    inserting = (keys, values, starts, sorted_keys, sorted_values, count, words)
    loaded = load_kernel(INSERT_ELEMENTS, cupy.cuda.Device().id)
    loaded.launch(max(-(-count // _TILE), 1), _TILE, inserting)
    return sorted_keys, sorted_values
