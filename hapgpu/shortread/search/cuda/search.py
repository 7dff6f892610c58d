"""Search of reads on a GPU: reads with few candidates by one kernel, other reads in steps.

The kernel packs the reads itself. Packed reads are searched in steps.
"""

from __future__ import annotations

from typing import Final

import cupy
import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.cuda import offsets_of
from hapgpu.runtime.devices import CudaDevice
from hapgpu.runtime.gpu.context import active_on, device_errors
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
    SEARCH_THREADS,
    SLOTS,
    search_kernel,
)
from hapgpu.shortread.search.packed_reads import PackedReads

_THREADS: Final = 256
_WARP: Final = 32


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


class DeviceSearch:
    """One search, on the current stream: `cuda/shortread/search_reads.cu`, and `RowSearch`.

    `RowSearch` searches reads that have more than 64 candidates, or do not fit with their hits
    among the 128 hits of 32 successive reads, or are longer than 126 bases. If these are more than
    half of the reads, the kernel for up to 190 bases searches all.

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
        self._count = count = len(reads)
        self._device = device
        self._slots = cupy.empty(-(-count // _WARP) * SLOTS, dtype=np.uint64)
        self._distances = cupy.empty((2, count), dtype=np.int32)
        self._find(index, reads, options, 2)
        if 2 * self._others.size > count:
            self._find(index, reads, options, 3)
        self._search: RowSearch | None = None
        if self._others.size:
            packed = pack_on_device(reads.take(self._others), device)
            self._search = RowSearch(index, packed, options, device, most)
        self.rows = self._search.rows if self._search else 0
        """Number of candidate positions of reads of `RowSearch`, but those of surveyed reads."""

    def _find(
        self, index: DeviceIndex, reads: DeviceTextReads, options: SearchOptions, words: int
    ) -> None:
        """Search reads of up to `words` words of 64 bases, 2 or 3; list the others."""
        count, warps = self._count, self._slots.size // SLOTS
        hit_counts = cupy.empty(count + 1, dtype=np.int32)
        others = cupy.empty(count, dtype=np.int32)
        other_count = cupy.zeros(1, dtype=np.int32)
        arguments = (
            *(index.bwt, index.jump, index.suffixes, index.reference),
            *((reads.text, reads.text.size), reads.starts, reads.lengths),
            *(MIN_READ_BASES, options.indels, count),
            *(self._slots, warps, hit_counts, *self._distances, others, other_count, 1),
        )
        kernel = search_kernel(1 if options.forward_only else 2, options.errors + 1, words)
        blocks = -(-count // SEARCH_THREADS)
        load_kernel(kernel, self._device).launch(blocks, SEARCH_THREADS, arguments)
        self._offsets = cupy.cumsum(hit_counts, dtype=np.int64)
        self._total, other = last_values(self._offsets, other_count)
        self._others = cupy.sort(others[:other]) if other else others[:0]

    def row_ends(self) -> NDArray[np.int64]:
        """Return int64[n + 1]: the number of these candidate positions before each of the reads."""
        reads = np.arange(self._count + 1)
        if self._search is None:
            return np.zeros(reads.size, dtype=np.int64)
        ends = self._search.row_ends()
        return ends[np.searchsorted(cupy.asnumpy(self._others), reads)]

    def hits(self) -> DeviceHits:
        """Return the hits, at least those needed."""
        if self._search is None:
            return self._placed(self._offsets, self._total, None)
        found = self._search.hits()
        if self._others.size == self._count:
            return found
        counts = cupy.diff(self._offsets)
        counts[self._others] = cupy.diff(found.offsets)
        offsets = offsets_of(counts)
        return self._placed(offsets, self._total + int(found.hits.size), found)

    def _placed(self, offsets: GpuArray, size: int, others: DeviceHits | None) -> DeviceHits:
        """Return all hits: those in slots, and those of the other reads."""
        hits = cupy.empty(size, dtype=np.uint64)
        slots = (self._slots, self._slots.size // SLOTS)
        arguments = (*slots, self._offsets, offsets, self._count, hits, size)
        _launch(PLACE_HITS, self._device, self._count, arguments)
        exact, inexact = self._distances
        if others is not None:
            count = int(self._others.size)
            found = (others.hits, others.hits.size, others.offsets, self._others, count)
            _launch(
                PLACE_OTHER_HITS,
                self._device,
                count * _WARP,
                (*found, offsets, self._count, hits, size),
            )
            exact[self._others] = others.exact
            inexact[self._others] = others.inexact
        return DeviceHits(offsets, hits, exact, inexact)


def _launch(kernel: Kernel, device: int, threads: int, arguments: tuple[object, ...]) -> None:
    """Launch a kernel with at least `threads` threads."""
    load_kernel(kernel, device).launch(-(-threads // _THREADS), _THREADS, arguments)
