"""Search in steps (`cuda/shortread/search.cu`, `survey.cu`), for reads with many candidates."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import cupy
import numpy as np
from numpy.typing import NDArray

from hapgpu.runtime.gpu.kernel import Kernel
from hapgpu.runtime.gpu.launch import load_kernel
from hapgpu.runtime.gpu.scalars import last_values
from hapgpu.runtime.gpu_array import GpuArray
from hapgpu.shortread.index.cuda import DeviceIndex
from hapgpu.shortread.search.cuda.arrays import DeviceHits, DeviceKeptHits, DevicePackedReads
from hapgpu.shortread.search.hits import DISTANCE_SHIFT, MIN_READ_BASES, SearchOptions
from hapgpu.shortread.search.kernels import (
    COLLECT,
    COUNT_DISTANCES,
    END_READS,
    EXPAND_SEEDS,
    KEY_HITS,
    ORDER_HITS,
    seed_kernel,
    survey_kernel,
    verify_kernel,
)

_THREADS: Final = 256
_CANDIDATES_PER_STEP: Final = 1 << 23
_INEXACT: Final = np.uint64(1 << DISTANCE_SHIFT)  # the least number of a hit with an error
_RANKED_HITS: Final = 256
"""Largest number of hits of a read that are sorted by rank, the number of lesser hits."""
_MOST_HITS: Final = 2  # of a candidate, as in the source
_MAX_KEPT: Final = 64
"""Largest number of hits that a survey of a read keeps; as in the source."""


@dataclass(frozen=True, slots=True)
class _Seeds:
    """Rows of the pieces of reads on a GPU.

    Attributes
    ----------
    first_rows, read_offsets
        uint32[s], int32[s]: the first row of each seed, and where its suffixes start in the read.
    ends
        int64[s + 1]: the number of rows before each seed.
    """

    first_rows: GpuArray
    read_offsets: GpuArray
    ends: GpuArray

    @property
    def fields(self) -> tuple[GpuArray | int, ...]:
        """The fields of the struct `seeds`."""
        return self.first_rows, self.read_offsets, self.ends, self.first_rows.size


@dataclass(frozen=True, slots=True)
class _Survey:
    """Reads with many candidates, of whose hits only the least are kept.

    Attributes
    ----------
    seeds, other_seeds
        All seeds; the same, but without rows in these reads.
    reads
        int64[r], on the GPU.
    most
        Hits to keep of each.
    """

    seeds: _Seeds
    other_seeds: _Seeds
    reads: GpuArray
    most: int

    @classmethod
    def of(cls, seeds: _Seeds, seeds_per_read: int, most: int) -> _Survey | None:
        """Choose the reads; None if so many hits are kept that all must be found."""
        if most > _MAX_KEPT:
            return None
        counts = cupy.diff(seeds.ends)
        is_chosen = counts.reshape(-1, seeds_per_read).sum(axis=1) > _RANKED_HITS // _MOST_HITS
        others = cupy.where(cupy.repeat(is_chosen, seeds_per_read), 0, counts)
        ends = cupy.zeros_like(seeds.ends)
        cupy.cumsum(others, out=ends[1:])
        other_seeds = _Seeds(seeds.first_rows, seeds.read_offsets, ends)
        numbers = cupy.cumsum(is_chosen, dtype=np.int64)
        reads = cupy.searchsorted(numbers, cupy.arange(1, 1 + last_values(numbers)[0]))
        return cls(seeds, other_seeds, reads, most)

    @property
    def room(self) -> int:
        """Number of hits that there is room for."""
        return self.most * int(self.reads.size)

    def offsets_with(self, offsets: GpuArray) -> GpuArray:
        """Return the offsets of the hits of all reads, given those of the other reads."""
        counts = cupy.diff(offsets)
        counts[self.reads] = self.most
        all_offsets = cupy.zeros_like(offsets)
        cupy.cumsum(counts, out=all_offsets[1:])
        return all_offsets


class RowSearch:
    """The steps of one search: kernels, with running sums between them, on the current stream.

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
        reads: DevicePackedReads,
        options: SearchOptions,
        device: int,
        most: int | None = None,
    ) -> None:
        self._index = index
        self._device = device
        self._count = len(reads)
        self._reads = reads
        self._indels = options.indels
        self._strands = 1 if options.forward_only else 2
        self._pieces = options.errors + 1
        self._seeds_per_read = self._strands * self._pieces
        self._seeds = self._count * self._seeds_per_read
        seeds = self._seed()
        self._found = seeds
        self._survey = _Survey.of(seeds, self._seeds_per_read, most) if most else None
        if self._survey is not None:
            self._found = self._survey.other_seeds
        (self.rows,) = last_values(self._found.ends)
        """Number of candidate positions of all reads, but those of surveyed reads."""

    def row_ends(self) -> NDArray[np.int64]:
        """Return int64[n + 1]: the number of these candidate positions before each of the reads."""
        ends: NDArray[np.int64] = cupy.asnumpy(self._found.ends[:: self._seeds_per_read])
        return ends

    def hits(self) -> DeviceHits:
        """Return the hits, at least those needed."""
        offsets = cupy.empty(self._count + 1, dtype=np.int64)
        parts: list[tuple[GpuArray, GpuArray]] = []
        hit_count = 0
        for start in range(0, max(self.rows, 1), _CANDIDATES_PER_STEP):
            count = min(self.rows - start, _CANDIDATES_PER_STEP)
            hits, hit_reads = self._verify(self._found, start, count, (offsets, hit_count))
            hit_count += int(hits.size)
            parts.append((hits, hit_reads))
        return self._ordered(parts, offsets)

    def least_hits(self, most: int, after: int) -> DeviceKeptHits:
        """Return the least hits of the only read.

        Parameters
        ----------
        most
            Maximum of hits to keep.
        after
            Only greater hits are kept.
        """
        offsets = cupy.empty(2, dtype=np.int64)
        kept = cupy.empty(0, dtype=np.uint64)
        total = exact = 0
        for start in range(0, self.rows, _CANDIDATES_PER_STEP):
            count = min(self.rows - start, _CANDIDATES_PER_STEP)
            hits, _ = self._verify(self._found, start, count, (offsets, total))
            total += int(hits.size)
            exact += int((hits < _INEXACT).sum())
            kept = cupy.concatenate([kept, hits[hits > np.uint64(after)]])
            if kept.size:
                kept.sort()
            kept = kept[:most].copy()
        return DeviceKeptHits(kept, exact, total - exact)

    def _seed(self) -> _Seeds:
        """Search the pieces of the reads."""
        first_rows = cupy.empty(self._seeds, dtype=np.uint32)
        read_offsets = cupy.empty(self._seeds, dtype=np.int32)
        row_counts = cupy.empty(self._seeds + 1, dtype=np.int64)
        arguments = (
            self._index.bwt,
            self._index.jump,
            self._reads.fields,
            MIN_READ_BASES,
            first_rows,
            read_offsets,
            row_counts,
            self._seeds,
        )
        _launch(seed_kernel(self._strands, self._pieces), self._device, self._seeds, arguments)
        return _Seeds(first_rows, read_offsets, cupy.cumsum(row_counts))

    def _verify(
        self,
        seeds: _Seeds,
        start: int,
        count: int,
        ends: tuple[GpuArray, int],
    ) -> tuple[GpuArray, GpuArray]:
        """Verify `count` candidates from `start` on; return their hits, and the read of each hit.

        `ends` are the offsets of all hits, filled in for reads whose last candidate is among these,
        and the number of earlier hits.
        """
        owners = self._owners(seeds.ends, start, count)
        candidate_hits = cupy.empty(2 * count, dtype=np.uint64)
        hit_counts = cupy.empty(count + 1, dtype=np.int32)
        arguments = (*self._seeded(seeds), start, owners, candidate_hits, hit_counts, count)
        kernel = verify_kernel(self._strands, self._pieces)
        _launch(kernel, self._device, max(count, 1), arguments)
        hit_ends = cupy.cumsum(hit_counts, dtype=np.int32)
        offsets, before = ends
        _launch(
            END_READS,
            self._device,
            self._count,
            (
                seeds.ends,
                self._seeds,
                self._seeds_per_read,
                hit_ends,
                count,
                start,
                before,
                offsets,
                self._count,
            ),
        )
        return self._collect(candidate_hits, hit_ends, owners)

    def _seeded(self, seeds: _Seeds) -> tuple[object, ...]:
        """Return the arguments of kernels that compare candidates."""
        return (
            self._index.bwt,
            self._index.suffixes,
            self._index.reference,
            self._reads.fields,
            seeds.fields,
            self._indels,
        )

    def _owners(self, seed_ends: GpuArray, start: int, count: int) -> GpuArray:
        """Return int32[count]: the seed of each candidate from `start` on."""
        owners = cupy.empty(count, dtype=np.int32)
        _launch(
            EXPAND_SEEDS,
            self._device,
            self._seeds,
            (seed_ends, self._seeds, start, start + count, owners, count),
        )
        return owners

    def _collect(
        self, candidate_hits: GpuArray, hit_ends: GpuArray, owners: GpuArray
    ) -> tuple[GpuArray, GpuArray]:
        """Return the hits of candidates without gaps in the array, and their reads."""
        count, (total,) = int(owners.size), last_values(hit_ends)
        hits = cupy.empty(total, dtype=np.uint64)
        hit_reads = cupy.empty(total, dtype=np.int32)
        if total:
            _launch(
                COLLECT,
                self._device,
                count,
                (
                    candidate_hits,
                    hit_ends,
                    owners,
                    count,
                    self._seeds_per_read,
                    hits,
                    hit_reads,
                    total,
                ),
            )
        return hits, hit_reads

    def _ordered(self, parts: list[tuple[GpuArray, GpuArray]], offsets: GpuArray) -> DeviceHits:
        """Concatenate hits and sort the hits of each read; add those of surveyed reads.

        `offsets` are those of the hits in the parts, which hold none of surveyed reads.
        """
        hits, hit_reads = parts[0]
        if len(parts) > 1:
            hits = cupy.concatenate([part[0] for part in parts])
            hit_reads = cupy.concatenate([part[1] for part in parts])
            parts.clear()
        count, survey = int(hits.size), self._survey
        all_offsets = offsets if survey is None else survey.offsets_with(offsets)
        size = count if survey is None else count + survey.room
        ordered = cupy.empty(size, dtype=np.uint64)
        if count:
            has_more = cupy.zeros(1, dtype=np.int32)
            arguments = (hits, hit_reads, count, offsets, self._count, _RANKED_HITS)
            result = (all_offsets, ordered, size, has_more, 1)
            _launch(ORDER_HITS, self._device, count, (*arguments, *result))
            if any(last_values(has_more)):
                keys = cupy.empty_like(hits)
                _launch(KEY_HITS, self._device, count, (hits, hit_reads, count, keys))
                ordered = hits[cupy.argsort(keys)]
        found = DeviceHits(all_offsets, ordered, *cupy.empty((2, self._count), dtype=np.int32))
        counting = (ordered, size, all_offsets, self._count, found.exact, found.inexact)
        _launch(COUNT_DISTANCES, self._device, self._count, counting)
        if survey is not None and survey.reads.size:
            kernel = survey_kernel(self._strands, self._pieces)
            chosen = (survey.reads, survey.reads.size, survey.most)
            result = (all_offsets, ordered, size, found.exact, found.inexact)
            arguments = (*self._seeded(survey.seeds), *chosen, *result)
            _launch(kernel, self._device, survey.reads.size * _THREADS, arguments)
        return found


def _launch(kernel: Kernel, device: int, threads: int, arguments: tuple[object, ...]) -> None:
    """Launch a kernel with at least `threads` threads."""
    load_kernel(kernel, device).launch(-(-threads // _THREADS), _THREADS, arguments)
