"""Minimizers on a GPU (`cuda/longread/sketch`); same as `hapgpu/longread/index/sketch.py`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import cupy
import numpy as np

from hapgpu.longread.batches import Minimizers
from hapgpu.longread.kernels import LENGTHS, chaining_kernel, sizes
from hapgpu.longread.options import SketchOptions
from hapgpu.runtime.gpu.kernel import Array, Kernel, Length, Scalar
from hapgpu.runtime.gpu.scalars import last_values
from hapgpu.runtime.gpu.work_queue import WARP, launch_threads
from hapgpu.runtime.gpu_array import GpuArray

_THREADS: Final = 256
_MARKING_THREADS: Final = 128  # 32 kWarpsPerBlock in the source
_TILE_WORDS: Final = 8  # kMarkWords in the source
_MAX_SHORT_KMER: Final = 15  # kMaxShortKmer in the source

_TEXT = Array("text", np.uint8, "text_bytes")
_TEXT_BYTES = Scalar("text_bytes", np.int64)
_STARTS = Array("starts", np.int32, "reads")
_SLOTS = Array("slots", np.uint64, "total_slots")
_SLOT_POSITIONS = Array("slot_positions", np.uint32, "total_slots")
_SLOT_OFFSETS = Array("slot_offsets", np.int64, "reads", 1)
_SLOT_COUNTS = Array("slot_counts", np.int32, "reads")
_TILE_OFFSETS = Array("tile_offsets", np.int32, "reads", 1)
_MARKS = Array("marks", np.uint32, "tiles", width=_TILE_WORDS)
_COUNTS = Array("counts", np.int64, "tiles", 1)
_FOUND = (
    Array("offsets", np.int64, "tiles", 1),
    Array("keys", np.uint64, "minimizers"),
    Array("positions", np.uint32, "minimizers"),
)
_MINIMIZERS = Length("minimizers")
_TOTAL_SLOTS = Length("total_slots")


COUNT_TILES: Final = chaining_kernel(
    "seed/slots.cu",
    "count_tiles",
    (_SLOT_COUNTS, Array("tile_counts", np.int32, "reads", 1), *sizes("reads")),
)


def _marking_kernel(hash_type: str) -> Kernel:
    """Return the kernel for hashes of 2k bits, fewer than those of the type."""
    return chaining_kernel(
        "seed/text.cu",
        f"mark_minimizers<{hash_type}>",
        (
            *(_TEXT, _STARTS, LENGTHS, _TILE_OFFSETS, _MARKS, _COUNTS),
            *(_TEXT_BYTES, *sizes("reads", "tiles", "k", "w")),
        ),
    )


MARK_SHORT: Final = _marking_kernel("unsigned")
MARK_LONG: Final = _marking_kernel("unsigned long long")
WRITE_MINIMIZERS: Final = chaining_kernel(
    "seed/text.cu",
    "write_minimizers",
    (
        *(_TEXT, _STARTS, LENGTHS, _TILE_OFFSETS, _MARKS, *_FOUND),
        _TEXT_BYTES,
        *sizes("reads", "tiles", "k"),
        _MINIMIZERS,
    ),
)
LIST_SLOTS: Final = chaining_kernel(
    "seed/slots.cu",
    "list_slots",
    (
        *(_TEXT, _STARTS, LENGTHS, _SLOT_OFFSETS, _SLOTS, _SLOT_POSITIONS, _SLOT_COUNTS),
        Length("text_bytes"),
        *sizes("reads", "k", "is_hpc"),
        _TOTAL_SLOTS,
    ),
)
COUNT_IN_SLOTS: Final = chaining_kernel(
    "seed/slots.cu",
    "count_in_slots",
    (
        *(_SLOTS, _SLOT_OFFSETS, _SLOT_COUNTS, _TILE_OFFSETS, _COUNTS),
        _TOTAL_SLOTS,
        *sizes("reads", "tiles", "w"),
    ),
)
WRITE_IN_SLOTS: Final = chaining_kernel(
    "seed/slots.cu",
    "write_in_slots",
    (
        *(_SLOTS, _SLOT_POSITIONS, _SLOT_OFFSETS, _SLOT_COUNTS, _TILE_OFFSETS, *_FOUND),
        _TOTAL_SLOTS,
        *sizes("reads", "tiles", "w"),
        _MINIMIZERS,
    ),
)


def sketch(
    text: GpuArray, starts: GpuArray, lengths: GpuArray, options: SketchOptions
) -> Minimizers:
    """Find the minimizers of sequences, as `hapgpu.longread.index.sketch.sketch` does.

    Works on the current stream of the text's device, which must be the current device, and waits
    for it.

    Parameters
    ----------
    text
        uint8 on the device, below 2**31 bytes.
    starts, lengths
        int32[n] on the device: offset in the text and length of each sequence.
    options
        Options for minimizers. An even k or homopolymer compression needs 12 bytes of working
        memory per base.

    Returns
    -------
    Minimizers
        In CuPy arrays.
    """
    if not lengths.size:
        return Minimizers(
            cupy.empty(0, dtype=np.uint64),
            cupy.empty(0, dtype=np.uint32),
            cupy.zeros(1, dtype=np.int64),
        )
    if options.is_hpc or options.k % 2 == 0:
        return _sketch_slots(_listed_slots(text, starts, lengths, options), options)
    return _sketch_text(text, starts, lengths, options)


def _sketch_text(
    text: GpuArray, starts: GpuArray, lengths: GpuArray, options: SketchOptions
) -> Minimizers:
    """Find minimizers if each base is a slot: k is odd, and homopolymers are not compressed."""
    reads = lengths.size
    tile_offsets = _tile_offsets(lengths)
    (tiles,) = last_values(tile_offsets)
    inputs = (text, starts, lengths, tile_offsets)
    sizes = (text.size, reads, tiles, options.k)
    marks = cupy.empty(tiles * _TILE_WORDS, dtype=np.uint32)
    counts = cupy.empty(tiles + 1, dtype=np.int64)
    kernel = MARK_SHORT if options.k <= _MAX_SHORT_KMER else MARK_LONG
    launch_threads(
        kernel, _MARKING_THREADS, tiles * WARP, (*inputs, marks, counts, *sizes, options.w)
    )
    found = _new_minimizers(counts)
    launch_threads(
        WRITE_MINIMIZERS,
        _THREADS,
        tiles * WARP,
        (*inputs, marks, *found, *sizes, found[1].size),
    )
    return _of_reads(found, tile_offsets)


@dataclass(frozen=True, slots=True)
class _DeviceKmerSlots:
    """K-mer slots, in the order in which windows slide over them.

    Attributes
    ----------
    entries
        uint64[p], as in `cuda/longread/seed/kmer.cuh`.
    positions
        uint32[p]: as in `Minimizers`.
    offsets
        int64[n + 1]: first slot of each read; the last slots of a read may be unused.
    counts
        int32[n]: slots of each read.
    """

    entries: GpuArray
    positions: GpuArray
    offsets: GpuArray
    counts: GpuArray


def _listed_slots(
    text: GpuArray, starts: GpuArray, lengths: GpuArray, options: SketchOptions
) -> _DeviceKmerSlots:
    reads = lengths.size
    offsets = cupy.zeros(reads + 1, dtype=np.int64)
    offsets[1:] = cupy.cumsum(lengths, dtype=np.int64)
    (total,) = last_values(offsets)
    slots = _DeviceKmerSlots(
        cupy.empty(total, dtype=np.uint64),
        cupy.empty(total, dtype=np.uint32),
        offsets,
        cupy.empty(reads, dtype=np.int32),
    )
    columns = (starts, lengths, offsets, slots.entries, slots.positions, slots.counts)
    sizes = (text.size, reads, options.k, options.is_hpc, total)
    launch_threads(LIST_SLOTS, _THREADS, reads * WARP, (text, *columns, *sizes))
    return slots


def _sketch_slots(slots: _DeviceKmerSlots, options: SketchOptions) -> Minimizers:
    reads = slots.counts.size
    tile_offsets = _tile_offsets(slots.counts)
    (tiles,) = last_values(tile_offsets)
    inputs = (slots.offsets, slots.counts, tile_offsets)
    sizes = (slots.entries.size, reads, tiles, options.w)
    counts = cupy.empty(tiles + 1, dtype=np.int64)
    launch_threads(
        *(COUNT_IN_SLOTS, _THREADS, tiles * WARP), (slots.entries, *inputs, counts, *sizes)
    )
    found = _new_minimizers(counts)
    columns = (slots.entries, slots.positions, *inputs, *found)
    launch_threads(*(WRITE_IN_SLOTS, _THREADS, tiles * WARP), (*columns, *sizes, found[1].size))
    return _of_reads(found, tile_offsets)


def _tile_offsets(slot_counts: GpuArray) -> GpuArray:
    """Return int32[n + 1]: the first tile of each read."""
    reads = slot_counts.size
    tile_counts = cupy.empty(reads + 1, dtype=np.int32)
    launch_threads(COUNT_TILES, _THREADS, reads, (slot_counts, tile_counts, reads))
    return cupy.cumsum(tile_counts, dtype=np.int32)


def _new_minimizers(counts: GpuArray) -> tuple[GpuArray, GpuArray, GpuArray]:
    """Return the offsets of the tiles, and arrays for all keys and positions."""
    offsets = cupy.cumsum(counts, dtype=np.int64)
    (total,) = last_values(offsets)
    return offsets, cupy.empty(total, dtype=np.uint64), cupy.empty(total, dtype=np.uint32)


def _of_reads(found: tuple[GpuArray, GpuArray, GpuArray], tile_offsets: GpuArray) -> Minimizers:
    offsets, keys, positions = found
    return Minimizers(keys, positions, offsets[tile_offsets])
