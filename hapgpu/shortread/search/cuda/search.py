"""Search of reads on a GPU: reads with few candidates by one kernel, other reads in steps.

The kernel packs the reads itself. Packed reads are searched in steps.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import cupy
import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.cuda import offsets_of
from hapgpu.runtime.devices import CudaDevice
from hapgpu.runtime.gpu.context import active_on, device_errors, multiprocessors
from hapgpu.runtime.gpu.kernel import Kernel
from hapgpu.runtime.gpu.launch import load_kernel
from hapgpu.runtime.gpu.parts import computed_in_parts
from hapgpu.runtime.gpu.scalars import last_values
from hapgpu.runtime.gpu_array import GpuArray
from hapgpu.shortread.index.cuda import DeviceIndex, resident_index
from hapgpu.shortread.index.fm_index import FMIndexArrays
from hapgpu.shortread.search.cuda.arrays import DeviceHits, DevicePackedReads, DeviceTextReads
from hapgpu.shortread.search.cuda.packing import pack_on_device
from hapgpu.shortread.search.cuda.row_search import RowSearch
from hapgpu.shortread.search.hits import MIN_READ_BASES, HitBatch, SearchOptions
from hapgpu.shortread.search.kernels import (
    PLACE_HITS,
    PLACE_OTHER_HITS,
    PLACE_POOL_HITS,
    SEARCH_THREADS,
    SLOTS,
    repeats_kernel,
    search_kernel,
)
from hapgpu.shortread.search.packed_reads import PackedReads

_THREADS: Final = 256
_WARP: Final = 32
_LONG_RECORD: Final = 290
"""Bytes per read of a text from which on reads have more than 126 bases, probably, in FASTQ."""
_BLOCKS_PER_MULTIPROCESSOR: Final = 6
_LEAST_POOL: Final = 1 << 16
"""Hits of other reads that there is room for, besides two per read."""


def search(
    index: FMIndexArrays, reads: PackedReads, options: SearchOptions, device: CudaDevice
) -> HitBatch:
    """Find all hits of reads, in pieces if they do not fit into the memory of the GPU.

    Parameters
    ----------
    index
        The index of the reference; it stays on the GPU as long as it is in use.
    reads
        The reads; reads shorter than `MIN_READ_BASES` get no hits.
    options
        The hits to find.
    device
        The GPU.

    Raises
    ------
    DeviceError
        The index or a single read does not fit, or the GPU failed.
    """
    with device_errors(device):
        resident = resident_index(index, device)

    def compute(part: PackedReads) -> HitBatch:
        return _search_packed(resident, part, options, device.index)

    with active_on(device):
        return HitBatch.concatenate(list(computed_in_parts(reads, compute, PackedReads.halves)))


def _search_packed(
    index: DeviceIndex, reads: PackedReads, options: SearchOptions, device: int
) -> HitBatch:
    """Search reads in host memory on the current stream of the current GPU."""
    on_device = DevicePackedReads(
        cupy.asarray(reads.words),
        cupy.asarray(reads.word_offsets.astype(np.int32)),
        cupy.asarray(reads.lengths),
        int(reads.word_offsets[-1]),
    )
    found = RowSearch(index, on_device, options, device).hits() if len(reads) else _no_hits()
    hits = HitBatch(cupy.asnumpy(found.offsets), cupy.asnumpy(found.hits))
    cupy.cuda.get_current_stream().synchronize()
    return hits


def _no_hits() -> DeviceHits:
    """Return the hits of no reads."""
    nothing = cupy.empty(0, dtype=np.int32)
    no_hits = cupy.empty(0, dtype=np.uint64)
    return DeviceHits(cupy.zeros(1, dtype=np.int64), no_hits, nothing, nothing)


def search_on_device(
    index: DeviceIndex, reads: DeviceTextReads, options: SearchOptions, device: int
) -> DeviceHits:
    """Find all hits of reads on the GPU, on the current stream."""
    return DeviceSearch(index, reads, options, device).hits() if len(reads) else _no_hits()


@dataclass(frozen=True, slots=True)
class _Found:
    """Hits of n reads, but of the rest of the reads.

    Attributes
    ----------
    slots
        uint64: the hits of reads with few candidates, `SLOTS` for each 32 successive reads.
    slot_starts
        uint8[n]: where those of each read start, 255 for the other reads.
    pool, pool_used
        uint64: hits of other reads; uint64[1]: how many it was asked for.
    pool_starts
        int32[n]: where those of each of the others start, -1 for the rest.
    others, rest
        int32[n] each: the numbers of these reads, in any order.
    other_count, rest_count
        uint64[1] each: how many these are.
    hit_counts
        int64[n + 1]: 0, and the number of hits of each read.
    exact, inexact
        int32[n]: number of hits without an error, and with one.
    """

    slots: GpuArray
    slot_starts: GpuArray
    pool: GpuArray
    pool_used: GpuArray
    pool_starts: GpuArray
    others: GpuArray
    rest: GpuArray
    other_count: GpuArray
    rest_count: GpuArray
    hit_counts: GpuArray
    exact: GpuArray
    inexact: GpuArray

    @classmethod
    def of(cls, count: int) -> _Found:
        """Allocate the arrays for a number of reads."""
        others, rest, pool_starts = cupy.empty((3, count), dtype=np.int32)
        exact, inexact = cupy.empty((2, count), dtype=np.int32)
        counters = cupy.zeros(3, dtype=np.uint64)
        return cls(
            slots=cupy.empty(-(-count // _WARP) * SLOTS, dtype=np.uint64),
            slot_starts=cupy.empty(count, dtype=np.uint8),
            pool=cupy.empty(2 * count + _LEAST_POOL, dtype=np.uint64),
            pool_used=counters[:1],
            pool_starts=pool_starts,
            others=others,
            rest=rest,
            other_count=counters[1:2],
            rest_count=counters[2:],
            hit_counts=cupy.empty(count + 1, dtype=np.int64),
            exact=exact,
            inexact=inexact,
        )

    @property
    def of_few_candidates(self) -> tuple[GpuArray | int, ...]:
        """The last arguments of the kernel `search_reads`: arrays and their lengths."""
        return (
            *(self.others.size, self.slots, self.slots.size // SLOTS, self.slot_starts),
            *(self.hit_counts, self.exact, self.inexact),
            *(self.others, self.other_count, self.rest, self.rest_count, 1),
        )

    @property
    def of_others(self) -> tuple[object, ...]:
        """The last arguments of the kernel `search_repeats`: arrays and their lengths."""
        return (
            *(self.others.size, self.others, self.other_count, (self.pool, self.pool.size)),
            *(self.pool_used, self.pool_starts, self.hit_counts, self.exact, self.inexact),
            *(self.rest, self.rest_count, 1),
        )


class DeviceSearch:
    """One search, on the current stream.

    `cuda/shortread/search_reads.cu` finds the hits of reads with few candidates, `repeats.cu` those
    of other reads. `RowSearch` searches the rest: reads with more than 8192 candidates or 1024
    hits, or of more than 126 bases. If these are more than half of the reads, or the text is long,
    the kernels for up to 190 bases search all.

    Parameters
    ----------
    index
        The index of the reference.
    reads
        The reads, at least one.
    options
        The hits to find.
    device
        The number of the GPU.
    most
        Of each read, only so many hits are needed, the least ones; None: all are needed.
    """

    def __init__(
        self,
        index: DeviceIndex,
        reads: DeviceTextReads,
        options: SearchOptions,
        device: int,
        most: int | None = None,
    ) -> None:
        self._count = len(reads)
        self._device = device
        is_long = reads.text.size > _LONG_RECORD * self._count
        rest = self._find(index, reads, options, 3 if is_long else 2)
        if not is_long and 2 * rest > self._count:
            del self._found  # frees its memory
            rest = self._find(index, reads, options, 3)
        self._rest = cupy.sort(self._found.rest[:rest]) if rest else self._found.rest[:0]
        self._search: RowSearch | None = None
        if rest:
            packed = pack_on_device(reads.take(self._rest), device)
            self._search = RowSearch(index, packed, options, device, most)
        self.rows = self._search.rows if self._search else 0
        """Number of candidate positions of reads of `RowSearch`, but those of surveyed reads."""

    def _find(
        self, index: DeviceIndex, reads: DeviceTextReads, options: SearchOptions, words: int
    ) -> int:
        """Search reads of up to `words` words of 64 bases, 2 or 3; return how many are the rest."""
        found = _Found.of(len(reads))
        template = (1 if options.forward_only else 2, options.errors + 1, words)
        read = (
            *(index.bwt, index.jump, index.suffixes, index.reference),
            *((reads.text, reads.text.size), reads.starts, reads.lengths),
        )
        threads = SEARCH_THREADS
        arguments = (*read, MIN_READ_BASES, options.indels, *found.of_few_candidates)
        kernel = load_kernel(search_kernel(*template), self._device)
        kernel.launch(-(-self._count // threads), threads, arguments)
        kernel = load_kernel(repeats_kernel(*template), self._device)
        arguments = (*read, options.indels, *found.of_others)
        kernel.launch(self._blocks(1), threads, arguments)
        self._found, self._offsets = found, cupy.cumsum(found.hit_counts)
        # Most batches have room enough: their hits are placed before the number is known.
        self._hits = cupy.empty(self._count * 5 // 4 + _LEAST_POOL, dtype=np.uint64)
        self._place(self._offsets, self._hits)
        self._total, rest = last_values(self._offsets, found.rest_count)
        return rest

    def _blocks(self, reads: int) -> int:
        """Return the number of thread blocks that loop over other reads, `reads` at a time each."""
        most = _BLOCKS_PER_MULTIPROCESSOR * multiprocessors(self._device)
        return min(-(-self._count // reads), most)

    def row_ends(self) -> NDArray[np.int64]:
        """Return int64[n + 1]: the number of these candidate positions before each of the reads."""
        reads = np.arange(self._count + 1)
        if self._search is None:
            return np.zeros(reads.size, dtype=np.int64)
        ends = self._search.row_ends()
        return ends[np.searchsorted(cupy.asnumpy(self._rest), reads)]

    def hits(self) -> DeviceHits:
        """Return the hits, at least those needed."""
        found, search, offsets = self._found, self._search, self._offsets
        if search is None:
            if self._total > self._hits.size:
                self._hits = cupy.empty(self._total, dtype=np.uint64)
                self._place(offsets, self._hits)
            return DeviceHits(offsets, self._hits[: self._total], found.exact, found.inexact)
        self._hits = cupy.empty(0, dtype=np.uint64)  # frees memory
        rest = search.hits()
        count = int(self._rest.size)
        if count == self._count:
            return rest
        counts = cupy.diff(offsets)
        counts[self._rest] = cupy.diff(rest.offsets)
        offsets = offsets_of(counts)
        size = self._total + int(rest.hits.size)
        hits = cupy.empty(size, dtype=np.uint64)
        self._place(offsets, hits)
        own = (rest.hits, rest.hits.size, rest.offsets, self._rest, count)
        arguments = (*own, offsets, self._count, hits, size)
        _launch(PLACE_OTHER_HITS, self._device, count * _WARP, arguments)
        found.exact[self._rest] = rest.exact
        found.inexact[self._rest] = rest.inexact
        return DeviceHits(offsets, hits, found.exact, found.inexact)

    def _place(self, offsets: GpuArray, hits: GpuArray) -> None:
        """Copy the hits of all reads but the rest to their offsets in `hits`, if it has room."""
        found = self._found
        result = (offsets, self._count, hits, hits.size)
        slots = (found.slots, found.slots.size // SLOTS, found.slot_starts)
        _launch(PLACE_HITS, self._device, self._count, (*slots, *result))
        pool = (found.pool, found.pool.size, found.pool_starts, found.others, found.other_count, 1)
        kernel = load_kernel(PLACE_POOL_HITS, self._device)
        kernel.launch(self._blocks(_THREADS // _WARP), _THREADS, (*pool, *result))


def _launch(kernel: Kernel, device: int, threads: int, arguments: tuple[object, ...]) -> None:
    """Launch a kernel with at least `threads` threads."""
    load_kernel(kernel, device).launch(-(-threads // _THREADS), _THREADS, arguments)
