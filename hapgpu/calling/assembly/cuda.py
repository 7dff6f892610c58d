"""Assembly of active regions on a GPU (`cuda/calling/assemble.cu`): a warp per region."""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator
from typing import Final, NamedTuple

import cupy
import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.ragged import Ragged
from hapgpu.calling.assembly.coded_regions import CodedRegions
from hapgpu.calling.assembly.haplotypes import LEFT, AssembledPaths
from hapgpu.calling.options import AssemblyOptions
from hapgpu.runtime.devices import CudaDevice
from hapgpu.runtime.gpu.context import (
    OUT_OF_MEMORY,
    active_on,
    multiprocessors,
    release_memory,
    wait_asleep,
)
from hapgpu.runtime.gpu.kernel import Array, Kernel, Length, Scalar, Struct
from hapgpu.runtime.gpu.memory_turns import memory_turns
from hapgpu.runtime.gpu.staging import uploaded
from hapgpu.runtime.gpu.work_queue import WARP, launch_threads
from hapgpu.runtime.gpu_array import GpuArray
from hapgpu.runtime.jit import njit

_TEXTS: Final = (1 << 14, 1 << 16, 1 << 18)
"""Bases of a region, at most, of each launch: the memory of a warp depends on them."""
_WARPS: Final = 16  # per multiprocessor
_STRING_ROWS, _STRING_BYTES = 64, 1 << 14  # per region, on average
_FIXED_INTEGERS: Final = 190_000
_SHARE: Final = 4  # a quarter of the memory budget: two batches are at work, beside the pair-HMM
_MAX_HAPLOTYPES: Final = 512
_MAX_REGIONS: Final = 1 << 14  # of a launch: all their strings have less than 2**31 bases
_NUMBERS: Final = 1 << 16

ASSEMBLE: Final = Kernel(
    "calling/assemble.cu",
    "assemble",
    (
        Struct(
            "reads",
            (
                Array("bases", np.uint8, "size"),
                Array("offsets", np.int64, "count", 1),
                Array("region_reads", np.int64, "regions", 1),
                Array("samples", np.int32, "count"),
                *(Length("size"), Length("count"), Length("regions")),
            ),
        ),
        Struct(
            "references",
            (
                Array("bases", np.uint8, "size"),
                Array("offsets", np.int64, "regions", 1),
                *(Length("size"), Length("regions")),
            ),
        ),
        Struct(
            "queue",
            (
                Array("order", np.int64, "size"),
                Array("taken", np.int32, "one"),
                *(Scalar("size", np.int32), Length("one")),
            ),
        ),
        Struct(
            "rules",
            (
                Array("kmer_sizes", np.int64, "sizes"),
                *(
                    Scalar(name, np.int32)
                    for name in ("sizes", "min_pruning", "max_haplotypes", "is_strict", "samples")
                ),
            ),
        ),
        Struct(
            "logarithms", (Array("log10_of", np.float64, "numbers"), Scalar("numbers", np.int32))
        ),
        Struct(
            "memory",
            (
                Array("integers", np.int32, "all"),
                *(Scalar(name, np.int32) for name in ("warps", "stride", "text", "slots")),
                Length("all"),
            ),
        ),
        Struct(
            "strings",
            (
                *(Array(name, np.int32, "regions") for name in ("firsts", "counts", "flags")),
                Array("scores", np.float64, "row_room"),
                *(Array(name, np.int32, "row_room") for name in ("starts", "lengths")),
                Array("text", np.uint8, "text_room"),
                Array("used", np.int32, "two"),
                *(Scalar(name, np.int32) for name in ("row_room", "text_room")),
                *(Length("regions"), Length("two")),
            ),
        ),
    ),
)


def assembled_paths(
    regions: CodedRegions, options: AssemblyOptions, device: CudaDevice
) -> AssembledPaths:
    """Assemble active regions, as `assembler.assembled_paths` does, on a GPU.

    Parameters
    ----------
    regions
        r active regions.
    options
        k-mers, pruning, and the number of haplotypes.
    device
        The GPU.

    Returns
    -------
    AssembledPaths
        Without the paths of regions that are left to the CPU, whose flag is `LEFT`: those with
        cycles, with more bases, paths or steps than a warp has room for, or all with more than 512
        haplotypes or if all dangling branches are recovered.

    Raises
    ------
    DeviceError
        A launch fails.
    """
    if options.max_haplotypes > _MAX_HAPLOTYPES or options.recovers_all_branches:
        return AssembledPaths.left(len(regions))
    with active_on(device):
        parts = [
            _paths(regions[start : start + _MAX_REGIONS], options, device)
            for start in range(0, max(len(regions), 1), _MAX_REGIONS)
        ]
    return AssembledPaths.concatenate(parts)


def _paths(regions: CodedRegions, options: AssemblyOptions, device: CudaDevice) -> AssembledPaths:
    """Assemble regions; leave one that does not fit the memory, even alone, to the CPU."""

    def compute() -> AssembledPaths:
        return _assembled(regions, options, device).download()

    try:
        return memory_turns(device).compute(compute)
    except OUT_OF_MEMORY:
        pass  # without the traceback, which holds arrays
    release_memory()
    middle = len(regions) // 2
    if not middle:
        return AssembledPaths.left(len(regions))
    halves = regions[:middle], regions[middle:]
    return AssembledPaths.concatenate([_paths(half, options, device) for half in halves])


def _assembled(regions: CodedRegions, options: AssemblyOptions, device: CudaDevice) -> _Strings:
    strings = _Strings.allocate(len(regions))
    inputs = _Inputs.upload(regions, options)
    for rows, text in _launches(regions.sizes()):
        memory = _memory_for(text, rows.size, device)
        order = uploaded(rows), cupy.zeros(1, dtype=np.int32), rows.size, 1
        arguments = (*inputs.before_queue, order, *inputs.after_queue, memory.fields)
        launch_threads(ASSEMBLE, WARP, memory.warps * WARP, (*arguments, strings.fields))
    return strings


def _launches(sizes: NDArray[np.int64]) -> Iterator[tuple[NDArray[np.int64], int]]:
    """Yield the regions of each launch, the largest first, and the largest size it allows."""
    least = -1
    for text in _TEXTS:
        rows = np.flatnonzero((sizes > least) & (sizes <= text))
        if rows.size:
            yield rows[np.argsort(-sizes[rows], kind="stable")], text
        least = text


class _Memory(NamedTuple):
    """Memory of the warps of a launch."""

    integers: GpuArray
    warps: int
    stride: int
    text: int

    @property
    def fields(self) -> tuple[GpuArray | int, ...]:
        """The fields of the struct `memory`."""
        return self.integers, self.warps, self.stride, self.text, self.text, self.integers.size


def _memory_for(text: int, regions: int, device: CudaDevice) -> _Memory:
    """Return memory for regions of up to `text` bases, for as many warps as are useful and fit.

    Raises
    ------
    MemoryError
        The memory of one warp does not fit.
    """
    stride = 23 * text + _FIXED_INTEGERS
    most = device.memory_budget() // (_SHARE * 4 * stride)
    warps = max(min(multiprocessors(device.index) * _WARPS, regions, most), 1)
    return _Memory(cupy.empty(warps * stride, dtype=np.int32), warps, stride, text)


class _Inputs(NamedTuple):
    """Arguments of the kernel before and after its queue."""

    before_queue: tuple[tuple[GpuArray | int, ...], ...]
    after_queue: tuple[tuple[GpuArray | int, ...], ...]

    @classmethod
    def upload(cls, regions: CodedRegions, options: AssemblyOptions) -> _Inputs:
        """Copy regions and rules to the current GPU."""
        reads, references, count = regions.reads, regions.references, len(regions)
        kmer_sizes = np.array(options.kmer_sizes, dtype=np.int64)
        return cls(
            (
                (
                    uploaded(reads.data),
                    uploaded(reads.offsets),
                    uploaded(regions.region_offsets),
                    uploaded(regions.samples),
                    *(reads.data.size, len(reads), count),
                ),
                (
                    uploaded(references.data),
                    uploaded(references.offsets),
                    *(references.data.size, count),
                ),
            ),
            (
                (
                    cupy.asarray(kmer_sizes),
                    kmer_sizes.size,
                    options.min_pruning,
                    options.max_haplotypes,
                    int(options.is_strict),
                    int(regions.samples.max(initial=0)) + 1,
                ),
                (cupy.asarray(_logarithms(_NUMBERS)), _NUMBERS),
            ),
        )


class _Strings(NamedTuple):
    """Strings of the regions, in any order; see `Strings` in the source of the kernel."""

    firsts: GpuArray
    counts: GpuArray
    flags: GpuArray
    scores: GpuArray
    starts: GpuArray
    lengths: GpuArray
    text: GpuArray
    used: GpuArray

    @classmethod
    def allocate(cls, regions: int) -> _Strings:
        """Allocate for a number of regions, all of which are left to the CPU at first."""
        rows = max(_STRING_ROWS * regions, 2 * _MAX_HAPLOTYPES)
        return cls(
            firsts=cupy.zeros(regions, dtype=np.int32),
            counts=cupy.zeros(regions, dtype=np.int32),
            flags=cupy.full(regions, LEFT, dtype=np.int32),
            scores=cupy.empty(rows, dtype=np.float64),
            starts=cupy.empty(rows, dtype=np.int32),
            lengths=cupy.empty(rows, dtype=np.int32),
            text=cupy.empty(max(_STRING_BYTES * regions, 1 << 20), dtype=np.uint8),
            used=cupy.zeros(2, dtype=np.int32),
        )

    @property
    def fields(self) -> tuple[GpuArray | int, ...]:
        """The fields of the struct `strings`."""
        sizes = self.scores.size, self.text.size
        return (*self, *sizes, self.flags.size, self.used.size)

    def download(self) -> AssembledPaths:
        """Return the strings region by region; waits for the GPU."""
        wait_asleep()
        used_rows, used_bytes = (int(value) for value in self.used.get())
        firsts, counts = self.firsts.get().astype(np.int64), self.counts.get()
        regions = np.repeat(np.arange(counts.size), counts)
        before = np.cumsum(counts) - counts
        rows = np.arange(regions.size) + (firsts - before)[regions]
        starts, lengths = self.starts[:used_rows].get()[rows], self.lengths[:used_rows].get()[rows]
        return AssembledPaths(
            regions,
            Ragged.gather(self.text[:used_bytes].get(), starts, lengths),
            self.scores[:used_rows].get()[rows],
            self.flags.get().astype(np.uint8),
        )


@functools.cache
def _logarithms(count: int) -> NDArray[np.float64]:
    """Return float64[count]: log10 as the CPU computes it, so that scores have the same bits."""
    logarithms = np.empty(count)
    _put_logarithms(logarithms)
    return logarithms


@njit
def _put_logarithms(out: NDArray[np.float64]) -> None:
    out[0] = -np.inf
    for number in range(1, out.size):
        out[number] = math.log10(number)
