"""Search on a GPU: what `cpu.py` finds, bit for bit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import cupy
import numpy as np

from hapgpu.mapping.index.cuda import DeviceIndex, resident_index
from hapgpu.mapping.index.fm_index import FMIndexArrays
from hapgpu.mapping.search.hits import MIN_READ_BASES, HitBatch, SearchOptions
from hapgpu.mapping.search.kernels import (
    COLLECT,
    COUNT_WORDS,
    END_READS,
    EXPAND_SEEDS,
    ORDER_HITS,
    PACK_READS,
    seed_kernel,
    verify_kernel,
)
from hapgpu.mapping.search.packed_reads import PackedReads
from hapgpu.runtime.devices import CudaDevice
from hapgpu.runtime.gpu.context import OUT_OF_MEMORY, explained, thread_streams
from hapgpu.runtime.gpu.kernel import Kernel
from hapgpu.runtime.gpu.launch import load_kernel

_THREADS: Final = 256
_WARP: Final = 32
_CANDIDATES_AT_A_TIME: Final = 1 << 23
_RANKED_HITS: Final = 1 << 14
"""Hits of one read that are put in order by counting, of each, the lesser ones."""


@dataclass(frozen=True, slots=True)
class DeviceReads:
    """`PackedReads` on a GPU: words uint64, word offsets and lengths int32."""

    words: Any
    word_offsets: Any
    lengths: Any
    total_words: int

    def __len__(self) -> int:
        return int(self.lengths.size)


@dataclass(frozen=True, slots=True)
class DeviceHits:
    """`HitBatch` on a GPU: offsets int64, hits uint64."""

    offsets: Any
    hits: Any


def search(
    index: FMIndexArrays, reads: PackedReads, options: SearchOptions, device: CudaDevice
) -> HitBatch:
    """Find all hits of reads, in parts where the memory of the device does not hold them.

    Parameters
    ----------
    index
        Of the reference; it stays on the device as long as it is in use.
    reads
        Those with fewer than `MIN_READ_BASES` get no hits.
    options
        Which hits.
    device
        Where to compute.

    Raises
    ------
    DeviceError
        The index or a single read does not fit, or the device failed.
    """
    with explained(device):
        resident = resident_index(index, device)
        return HitBatch.concatenate(_search_in_parts(resident, reads, options, device))


def _search_in_parts(
    index: DeviceIndex, reads: PackedReads, options: SearchOptions, device: CudaDevice
) -> list[HitBatch]:
    try:
        return [_search_packed(index, reads, options, device)]
    except OUT_OF_MEMORY:
        if len(reads) < 2:  # CuPy has emptied its pool already
            raise
    middle = len(reads) // 2
    halves = (reads.slice(0, middle), reads.slice(middle, len(reads)))
    return [part for half in halves for part in _search_in_parts(index, half, options, device)]


def _search_packed(
    index: DeviceIndex, reads: PackedReads, options: SearchOptions, device: CudaDevice
) -> HitBatch:
    with cupy.cuda.Device(device.index), thread_streams(device.index, 1)[0] as stream:
        on_device = DeviceReads(
            cupy.asarray(reads.words),
            cupy.asarray(reads.word_offsets.astype(np.int32)),
            cupy.asarray(reads.lengths),
            int(reads.word_offsets[-1]),
        )
        found = search_on_device(index, on_device, options, device.index)
        hits = HitBatch(cupy.asnumpy(found.offsets), cupy.asnumpy(found.hits))
        stream.synchronize()
        return hits


def pack_on_device(text: Any, starts: Any, lengths: Any, device: int) -> DeviceReads:
    """Do what `packing.pack_reads` does, on the current stream.

    Parameters
    ----------
    text, starts, lengths
        uint8, int32[n] and int32[n] on the device.
    device
        Its number.
    """
    n = int(lengths.size)
    counts = cupy.empty(n + 1, dtype=np.int64)
    _launch(COUNT_WORDS, device, n, (lengths, counts, n))
    ends = cupy.cumsum(counts)
    total = int(ends[-1])
    word_offsets = cupy.empty(n + 1, dtype=np.int32)
    words = cupy.empty(6 * total, dtype=np.uint64)
    _launch(
        PACK_READS,
        device,
        n * _WARP,
        (text, text.size, starts, lengths, ends, word_offsets, words, n, total),
    )
    return DeviceReads(words, word_offsets, lengths, total)


def search_on_device(
    index: DeviceIndex, reads: DeviceReads, options: SearchOptions, device: int
) -> DeviceHits:
    """Find the hits of reads that are on the device, on the current stream."""
    if not len(reads):
        return DeviceHits(cupy.zeros(1, dtype=np.int64), cupy.empty(0, dtype=np.uint64))
    return _Search(index, reads, options, device).run()


class _Search:
    """The steps of one search; each is a kernel, with sums in between."""

    def __init__(
        self, index: DeviceIndex, reads: DeviceReads, options: SearchOptions, device: int
    ) -> None:
        self._index = index
        self._device = device
        self._count = len(reads)
        self._reads = (
            reads.words,
            reads.total_words,
            reads.word_offsets,
            reads.lengths,
            self._count,
        )
        self._indels = options.indels
        self._strands = 1 if options.forward_only else 2
        self._pieces = options.errors + 1
        self._seeds_per_read = self._strands * self._pieces
        self._seeds = self._count * self._seeds_per_read

    def run(self) -> DeviceHits:
        first_rows, places, seed_ends = self._seed()
        total = int(seed_ends[-1])
        offsets = cupy.empty(self._count + 1, dtype=np.int64)
        parts: list[tuple[Any, Any]] = []
        found = 0
        for begin in range(0, max(total, 1), _CANDIDATES_AT_A_TIME):
            count = min(total - begin, _CANDIDATES_AT_A_TIME)
            hits, hit_reads = self._verify(
                (first_rows, places, seed_ends), begin, count, (offsets, found)
            )
            found += int(hits.size)
            parts.append((hits, hit_reads))
        return DeviceHits(offsets, self._ordered(parts, offsets))

    def _seed(self) -> tuple[Any, Any, Any]:
        """Return first rows, places in reads and, once more than seeds, ends of their rows."""
        first_rows = cupy.empty(self._seeds, dtype=np.uint32)
        places = cupy.empty(self._seeds, dtype=np.int32)
        row_counts = cupy.empty(self._seeds + 1, dtype=np.int64)
        arguments = (
            *self._index.occurrences,
            *self._index.jump,
            *self._reads,
            MIN_READ_BASES,
            first_rows,
            places,
            row_counts,
            self._seeds,
        )
        _launch(seed_kernel(self._strands, self._pieces), self._device, self._seeds, arguments)
        return first_rows, places, cupy.cumsum(row_counts)

    def _verify(
        self, seeds: tuple[Any, Any, Any], begin: int, count: int, ends: tuple[Any, int]
    ) -> tuple[Any, Any]:
        """Check `count` candidates from `begin` on: return hits and reads, and end the reads.

        `ends` are the offsets of all hits, and the number of hits before these.
        """
        first_rows, places, seed_ends = seeds
        owners = self._owners(seed_ends, begin, count)
        found = cupy.empty(2 * count, dtype=np.uint64)
        hit_counts = cupy.empty(count + 1, dtype=np.int32)
        arguments = (
            *self._index.occurrences,
            *self._index.suffixes,
            *self._index.reference,
            *self._reads,
            self._indels,
            first_rows,
            places,
            seed_ends,
            self._seeds,
            begin,
            owners,
            found,
            hit_counts,
            count,
        )
        kernel = verify_kernel(self._strands, self._pieces)
        _launch(kernel, self._device, max(count, 1), arguments)
        hit_ends = cupy.cumsum(hit_counts, dtype=np.int32)
        offsets, before = ends
        _launch(
            END_READS,
            self._device,
            self._count,
            (
                seed_ends,
                self._seeds,
                self._seeds_per_read,
                hit_ends,
                count,
                begin,
                before,
                offsets,
                self._count,
            ),
        )
        return self._collect(found, hit_ends, owners)

    def _owners(self, seed_ends: Any, begin: int, count: int) -> Any:
        """int32: the seed of each of `count` candidates from `begin` on."""
        owners = cupy.empty(count, dtype=np.int32)
        _launch(
            EXPAND_SEEDS,
            self._device,
            self._seeds,
            (seed_ends, self._seeds, begin, begin + count, owners, count),
        )
        return owners

    def _collect(self, found: Any, hit_ends: Any, owners: Any) -> tuple[Any, Any]:
        """Return the hits of candidates without gaps between them, and their reads."""
        count, total = int(owners.size), int(hit_ends[-1])
        hits = cupy.empty(total, dtype=np.uint64)
        hit_reads = cupy.empty(total, dtype=np.int32)
        if total:
            _launch(
                COLLECT,
                self._device,
                count,
                (found, hit_ends, owners, count, self._seeds_per_read, hits, hit_reads, total),
            )
        return hits, hit_reads

    def _ordered(self, parts: list[tuple[Any, Any]], offsets: Any) -> Any:
        hits, hit_reads = parts[0]
        if len(parts) > 1:
            hits = cupy.concatenate([part[0] for part in parts])
            hit_reads = cupy.concatenate([part[1] for part in parts])
            parts.clear()
        if not hits.size:
            return hits
        ordered = cupy.empty_like(hits)
        has_more = cupy.zeros(1, dtype=np.int32)
        _launch(
            ORDER_HITS,
            self._device,
            int(hits.size),
            (
                hits,
                hit_reads,
                hits.size,
                offsets,
                self._count,
                _RANKED_HITS,
                ordered,
                has_more,
                1,
            ),
        )
        if int(has_more[0]):
            ends = cupy.asnumpy(offsets)
            for read in np.flatnonzero(np.diff(ends) > _RANKED_HITS):
                ordered[ends[read] : ends[read + 1]].sort()
        return ordered


def _launch(kernel: Kernel, device: int, threads: int, arguments: tuple[Any, ...]) -> None:
    """Launch a kernel with at least as many threads."""
    load_kernel(kernel, device).launch(-(-threads // _THREADS), _THREADS, arguments)
