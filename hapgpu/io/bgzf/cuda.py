"""Inflating of BGZF blocks on a GPU (`cuda/io/bgzf/{inflate,crc}.cu`)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import cupy
import numpy as np
from numpy.typing import NDArray

from hapgpu.io.bgzf.block_table import BlockTable
from hapgpu.runtime.gpu.context import pinned_array
from hapgpu.runtime.gpu.kernel import Array, Kernel, Length, Scalar
from hapgpu.runtime.gpu.launch import load_kernel
from hapgpu.runtime.gpu.shared_input import pin_shared
from hapgpu.runtime.gpu_array import GpuArray

PADDING: Final = 16
"""Bytes behind inflated data, of any value, that kernels may read."""

_THREADS: Final = 128
_BLOCKS_PER_THREAD_BLOCK: Final = 4  # kWarps in both sources
_FOOTER_BYTES: Final = 8

INFLATE_BLOCKS: Final = Kernel(
    "io/bgzf/inflate.cu",
    "inflate_blocks",
    (
        Array("packed", np.uint8, "packed_size"),
        Array("starts", np.int64, "blocks"),
        Array("sizes", np.int32, "blocks"),
        Array("offsets", np.int64, "blocks", 1),
        Array("out", np.uint8, "out_size"),
        Array("verdicts", np.int32, "blocks"),
        Array("fault", np.int32, "one"),
        *(Length("packed_size"), Length("out_size")),
        Scalar("blocks", np.int32),
        Length("one"),
    ),
)
CHECK_SUMS: Final = Kernel(
    "io/bgzf/crc.cu",
    "check_sums",
    (
        Array("data", np.uint8, "data_size"),
        Array("offsets", np.int64, "blocks", 1),
        Array("sums", np.uint32, "blocks"),
        Array("verdicts", np.int32, "blocks"),
        Array("fault", np.int32, "one"),
        Length("data_size"),
        Scalar("blocks", np.int32),
        Length("one"),
    ),
)


@dataclass(frozen=True, slots=True)
class Inflated:
    """Content of n blocks on the GPU.

    Attributes
    ----------
    data
        uint8: some bytes of room, the content end to end, and `PADDING` bytes.
    verdicts
        int32[n]: 1 for a damaged block, whose content is anything.
    fault
        int32[1]: whether a block is damaged.
    held
        uint8: host memory that copies read; it must be kept until the stream was waited for.
    """

    data: GpuArray
    verdicts: GpuArray
    fault: GpuArray
    held: tuple[NDArray[np.uint8], ...]


def inflate_blocks(raw: NDArray[np.uint8], table: BlockTable, room: int = 0) -> Inflated:
    """Inflate blocks end to end, and compare their checksums, on the current stream.

    Does not wait: `raw` must not change until the stream was waited for.

    Parameters
    ----------
    raw
        uint8: bytes of a file; copies from pinned memory run beside kernels.
    table
        n > 0 blocks in it, as `scan_blocks` finds them.
    room
        Bytes before the content, of any value.
    """
    first, end = int(table.starts[0]), int(table.ends[-1]) + _FOOTER_BYTES
    blocks = table.starts.size
    sizes = table.sizes
    # All memory first: if there is too little, nothing runs that reads memory which is let go.
    packed = cupy.empty(end - first + PADDING, dtype=np.uint8)
    data = cupy.empty(room + int(sizes.sum()) + PADDING, dtype=np.uint8)
    verdicts = cupy.empty(blocks, dtype=np.int32)
    fault = cupy.zeros(1, dtype=np.int32)
    columns = (
        (table.starts - first).astype(np.int64, copy=False),
        np.concatenate([[room], room + np.cumsum(sizes)]),
        (table.ends - table.starts).astype(np.int32),
        table.crcs,
    )
    (starts, offsets, packed_sizes, sums), staged = _upload(columns)
    stream = cupy.cuda.get_current_stream()
    pin_shared(raw)
    packed[: end - first].set(raw[first:end], stream=stream)
    _launch(
        INFLATE_BLOCKS,
        (packed, starts, packed_sizes, offsets, data, verdicts, fault),
        (packed.size, data.size, blocks, 1),
    )
    _launch(CHECK_SUMS, (data, offsets, sums, verdicts, fault), (data.size, blocks, 1))
    return Inflated(data, verdicts, fault, (staged, raw))


def _upload(columns: tuple[NDArray[np.generic], ...]) -> tuple[list[GpuArray], NDArray[np.uint8]]:
    """Copy columns in one piece of pinned memory: small copies of other memory would wait."""
    ends = np.cumsum([column.nbytes for column in columns]).tolist()
    staged = pinned_array(ends[-1], np.uint8)
    on_gpu = cupy.empty(ends[-1], dtype=np.uint8)
    views = []
    for column, end in zip(columns, ends, strict=True):
        start = end - column.nbytes
        staged[start:end] = np.ascontiguousarray(column).view(np.uint8)
        views.append(on_gpu[start:end].view(column.dtype))
    on_gpu.set(staged, stream=cupy.cuda.get_current_stream())
    return views, staged


def _launch(kernel: Kernel, arrays: tuple[GpuArray, ...], scalars: tuple[int, ...]) -> None:
    grid = -(-scalars[-2] // _BLOCKS_PER_THREAD_BLOCK)
    load_kernel(kernel, cupy.cuda.Device().id).launch(grid, _THREADS, (*arrays, *scalars))
