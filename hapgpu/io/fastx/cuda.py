"""Parser of blocks of FASTQ and FASTA on a GPU (`cuda/io/fastx.cu`)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import cupy
import numpy as np

from hapgpu.io.fastx.limits import ReadLimits
from hapgpu.runtime.gpu.kernel import Array, Kernel, Scalar
from hapgpu.runtime.gpu.launch import load_kernel
from hapgpu.runtime.gpu.scalars import last_values
from hapgpu.runtime.gpu_array import GpuArray

_THREADS: Final = 256
_WARPS_PER_BLOCK: Final = _THREADS // 32
_MAX_BLOCKS: Final = 4096
_TILE_BYTES: Final = 1024  # kTileBytes in fastx.cu

_TEXT = Array("text", np.uint8, "size")
_NEWLINES = Array("newlines", np.int32, "newline_count")


def _sizes(*names: str) -> tuple[Scalar, ...]:
    return tuple(Scalar(name, np.int32) for name in names)


COUNT_NEWLINES: Final = Kernel(
    "io/fastx.cu",
    "count_newlines",
    (_TEXT, Array("counts", np.int32, "tiles"), *_sizes("size", "tiles")),
)
LIST_NEWLINES: Final = Kernel(
    "io/fastx.cu",
    "list_newlines",
    (_TEXT, Array("ends", np.int32, "tiles"), _NEWLINES, *_sizes("size", "tiles", "newline_count")),
)
FIND_READS: Final = Kernel(
    "io/fastx.cu",
    "find_reads",
    (
        _TEXT,
        _NEWLINES,
        Array("name_starts", np.int32, "reads"),
        Array("name_lengths", np.int32, "reads"),
        Array("base_starts", np.int32, "reads"),
        Array("quality_starts", np.int32, "reads"),
        Array("lengths", np.int32, "reads"),
        Array("is_faulty", np.int32, "one"),
        *_sizes("size", "newline_count", "reads", "one", "is_fasta"),
        *_sizes("max_name", "max_bases", "for_sam"),
        Scalar("low_bases", np.uint64),
        Scalar("high_bases", np.uint64),
    ),
)


@dataclass(frozen=True, slots=True)
class DeviceSpans:
    """`ReadSpans` in CuPy arrays.

    Attributes
    ----------
    name_starts, name_lengths, base_starts, quality_starts, lengths, has_qualities
        As in `ReadSpans`.
    """

    name_starts: GpuArray
    name_lengths: GpuArray
    base_starts: GpuArray
    quality_starts: GpuArray
    lengths: GpuArray
    has_qualities: bool

    def __len__(self) -> int:
        return int(self.lengths.size)


def parse_text(text: GpuArray, limits: ReadLimits, *, is_fasta: bool) -> DeviceSpans | None:
    """Find and check all reads of a text; same as `hapgpu.io.fastx.cpu.parse_block`.

    Runs on the current stream of the device of the text, which must be the current device, and
    waits for the stream twice.

    Parameters
    ----------
    text
        uint8 on the device, less than 2**31 bytes, ending with a newline.
    limits
        Limits of the reads.
    is_fasta
        Whether the text is FASTA of two lines per record; otherwise FASTQ of four.

    Returns
    -------
    DeviceSpans | None
        None if a record is malformed; `parse_block` then raises the error.
    """
    newlines = newlines_of(text)
    reads = newlines.size // (2 if is_fasta else 4)
    columns = [cupy.empty(reads, dtype=np.int32) for _ in range(5)]
    is_faulty = cupy.zeros(1, dtype=np.int32)
    load_kernel(FIND_READS, text.device.id).launch(
        _blocks(min(reads, _MAX_BLOCKS * _WARPS_PER_BLOCK)),
        _THREADS,
        (
            text,
            newlines,
            *columns,
            is_faulty,
            text.size,
            newlines.size,
            reads,
            1,
            is_fasta,
            limits.max_name,
            limits.max_bases,
            limits.for_sam,
            *limits.bit_masks(),
        ),
    )
    if any(last_values(is_faulty)):
        return None
    return DeviceSpans(
        name_starts=columns[0],
        name_lengths=columns[1],
        base_starts=columns[2],
        quality_starts=columns[3],
        lengths=columns[4],
        has_qualities=not is_fasta,
    )


def newlines_of(text: GpuArray) -> GpuArray:
    """Return int32 on the device: offsets of the newlines, ascending; waits for the stream."""
    device = text.device.id
    tiles = max(-(-text.size // _TILE_BYTES), 1)
    counts = cupy.empty(tiles, dtype=np.int32)
    load_kernel(COUNT_NEWLINES, device).launch(
        _blocks(tiles), _THREADS, (text, counts, text.size, tiles)
    )
    ends = cupy.cumsum(counts, dtype=np.int32)
    newlines = cupy.empty(*last_values(ends), dtype=np.int32)
    load_kernel(LIST_NEWLINES, device).launch(
        _blocks(tiles), _THREADS, (text, ends, newlines, text.size, tiles, newlines.size)
    )
    return newlines


def _blocks(warps: int) -> int:
    """Return the number of thread blocks for `warps` warps, at least 1."""
    return max(-(-warps // _WARPS_PER_BLOCK), 1)
