"""The pair-HMM on a GPU (`cuda/pairhmm*.cu`): pairs of like size side by side, pieces in flight."""

from __future__ import annotations

import functools
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import cupy
import numpy as np
from numpy.typing import NDArray

from hapgpu.batch import offsets_of
from hapgpu.device import CudaDevice
from hapgpu.errors import DeviceError
from hapgpu.gpu import multiprocessors, thread_streams
from hapgpu.kernels import Kernel, load_kernel
from hapgpu.pairhmm.batch import HmmBatch
from hapgpu.pairhmm.kernels import (
    COUNT_PAIRS,
    EXACT,
    LENGTH_BINS,
    LIST_PAIRS,
    PLACE_BINS,
    PREPARE_HAPLOTYPES,
    PREPARE_READS,
    forward_kernel,
)
from hapgpu.pairhmm.layouts import plan_layouts
from hapgpu.pairhmm.model import (
    ERROR_PROBABILITIES,
    FLOAT_LONGEST_READ,
    FLOAT_SCALE,
    FLOAT_THRESHOLD,
    TRUSTED_GROWTH,
)
from hapgpu.pairhmm.pieces import halves_of, pieces_of
from hapgpu.pairhmm.staging import pinned_array, upload

_PIECE_CELLS = 3_000_000_000
_PIECE_BASES = 1 << 25
_PIECES_IN_FLIGHT = 3
_STREAMS = 4
_WARPS_PER_MULTIPROCESSOR = 8
_EXACT_WARPS_PER_MULTIPROCESSOR = 16
_THREADS = 128
_WARP = 32
_BYTES_PER_BASE = 29  # five columns, and the constants of a row
_BYTES_PER_PAIR = 44
_EXACT_ROW_BYTES = 24
_LARGEST_INDEX = 2**31 - 1


def log10_likelihoods(batch: HmmBatch, device: CudaDevice) -> NDArray[np.float64]:
    """Compute log10 P(read | haplotype) by GATK's pair-HMM.

    Parameters
    ----------
    batch
        At least one pair, of sequences that are not empty.
    device
        Where to compute.

    Returns
    -------
    float64[batch.pairs], in the order of `HmmBatch`; none is above 0.

    Raises
    ------
    DeviceError
        If the memory of the device does not hold a single read with its haplotypes, or a launch
        fails.
    """
    likelihoods: NDArray[np.float64] = pinned_array(batch.pairs, np.float64)
    pieces = pieces_of(batch, _PIECE_CELLS, _PIECE_BASES)
    memory = device.memory_budget() // _PIECES_IN_FLIGHT
    ends = offsets_of([piece.pairs for piece in pieces])
    places = [likelihoods[ends[k] : ends[k + 1]] for k in range(len(pieces))]
    if len(pieces) == 1:
        _compute(pieces[0], places[0], device, memory)
        return likelihoods
    for done in [
        _workers().submit(_compute, piece, place, device, memory)
        for piece, place in zip(pieces, places, strict=True)
    ]:
        done.result()
    return likelihoods


@functools.cache
def _workers() -> ThreadPoolExecutor:
    """Threads that live on: their streams and pinned memory take long to make."""
    return ThreadPoolExecutor(_PIECES_IN_FLIGHT, thread_name_prefix="hapgpu-pairhmm")


def _compute(
    batch: HmmBatch, likelihoods: NDArray[np.float64], device: CudaDevice, memory: int
) -> None:
    """Compute a piece, in halves where that many bytes of the device do not hold it."""
    if not batch.pairs:
        return
    try:
        with cupy.cuda.Device(device.index):
            if _fits(batch, memory):
                _Run(batch, device, memory).into(likelihoods)
                return
    except cupy.cuda.memory.OutOfMemoryError:
        cupy.get_default_memory_pool().free_all_blocks()
    except (cupy.cuda.driver.CUDADriverError, cupy.cuda.runtime.CUDARuntimeError) as error:
        message = f"{device.name} failed: {error}"
        raise DeviceError(message) from error
    halves = halves_of(batch)
    if len(halves) == 1:
        length, haplotypes = len(batch.reads.bases.data), len(batch.haplotypes)
        message = f"{device.name} has too little memory for a read of {length:,} bases"
        raise DeviceError(f"{message} and {haplotypes:,} haplotypes: use --device cpu")
    for half in halves:
        _compute(half, likelihoods[: half.pairs], device, memory)
        likelihoods = likelihoods[half.pairs :]


def _fits(batch: HmmBatch, memory: int) -> bool:
    """Whether a piece takes at most half of the memory, and offsets fit 32 bits."""
    bases, pairs = batch.reads.bases.data.size, batch.pairs
    size = _BYTES_PER_BASE * bases + _BYTES_PER_PAIR * pairs + 8 * batch.haplotypes.data.size
    return size <= memory // 2 and max(size // 8, pairs) <= _LARGEST_INDEX


@dataclass(frozen=True, slots=True)
class _Inputs:
    """A piece on the device: text, qualities and offsets as the kernels take them."""

    reads: tuple[Any, ...]  # bases and qualities
    haplotypes: Any
    probabilities: Any
    read_offsets: Any
    haplotype_offsets: Any
    region_reads: Any
    region_haplotypes: Any
    region_pairs: Any
    layouts: Any
    mask_starts: Any
    layout_columns: Any
    layout_lanes: Any


class _Run:
    """One piece on its way through the device."""

    def __init__(self, batch: HmmBatch, device: CudaDevice, memory: int) -> None:
        self._memory = memory
        self._batch = batch
        self._device = device
        self._pair_offsets = batch.pair_offsets
        self._pairs = int(self._pair_offsets[-1])
        self._streams = thread_streams(device.index, _STREAMS)
        self._multiprocessors = multiprocessors(device.index)
        reads_of_region = np.diff(batch.read_offsets)
        haplotypes_of_region = np.diff(batch.haplotype_offsets)
        self._pairs_of_haplotype = np.repeat(reads_of_region, haplotypes_of_region)
        self._plan = plan_layouts(
            batch.haplotypes.lengths,
            self._pairs_of_haplotype,
            _WARPS_PER_MULTIPROCESSOR * self._multiprocessors,
        )
        self._pairs_of_layout = np.bincount(
            self._plan.numbers, self._pairs_of_haplotype, len(self._plan.layouts) + 1
        ).astype(np.int64)

    def into(self, likelihoods: NDArray[np.float64]) -> None:
        """Compute, and write to pinned memory, float64[pairs]."""
        with self._streams[0] as stream:
            self._launch().get(stream=stream, out=likelihoods, blocking=False)
            stream.synchronize()

    def _launch(self) -> Any:
        """Start everything on the current stream; the likelihoods, once it has ended."""
        inputs, mask_words = self._upload()
        prepared = self._prepare(inputs, mask_words)
        likelihoods = cupy.empty(self._pairs, dtype=np.float64)
        pairs = (*self._list_pairs(inputs), likelihoods)
        self._forward(inputs, prepared, pairs)
        self._exact(inputs, pairs)
        return likelihoods

    def _upload(self) -> tuple[_Inputs, int]:
        batch, plan = self._batch, self._plan
        words = np.array([layout.mask_words for layout in plan.layouts] + [0])
        mask_offsets = offsets_of(words[plan.numbers])
        columns = [layout.columns for layout in plan.layouts]
        lanes = [layout.lanes for layout in plan.layouts]
        indices: list[NDArray[Any]] = [
            batch.reads.bases.offsets,
            batch.haplotypes.offsets,
            batch.read_offsets,
            batch.haplotype_offsets,
            self._pair_offsets,
            plan.numbers,
            mask_offsets[:-1],
            np.array([*columns, 0]),
            np.array([*lanes, 0]),
        ]
        arrays = upload(
            [
                batch.reads.bases.data,
                *batch.reads.qualities,
                batch.haplotypes.data,
                ERROR_PROBABILITIES,
                *(array.astype(np.int32, copy=False) for array in indices),
            ],
            self._streams[0],
        )
        inputs = _Inputs(tuple(arrays[:5]), *arrays[5:])
        return inputs, int(mask_offsets[-1])

    def _prepare(self, inputs: _Inputs, mask_words: int) -> tuple[Any, ...]:
        """Compute what `forward` reads: row constants, values of reads, and masks."""
        reads, bases = len(self._batch.reads), self._batch.reads.bases.data.size
        masks = cupy.empty(mask_words, dtype=np.uint32)
        odd_letters = cupy.zeros(ERROR_PROBABILITIES.size, dtype=np.int32)
        haplotypes = len(self._batch.haplotypes)
        self._launch_over(
            PREPARE_HAPLOTYPES,
            haplotypes * _WARP,
            inputs.haplotypes,
            inputs.haplotype_offsets,
            inputs.layouts,
            inputs.mask_starts,
            inputs.layout_columns,
            inputs.layout_lanes,
            masks,
            odd_letters,
            inputs.haplotypes.size,
            haplotypes,
            inputs.layout_columns.size,
            mask_words,
            odd_letters.size,
        )
        rows = (
            cupy.empty(4 * bases, dtype=np.float32),
            cupy.empty(2 * bases, dtype=np.float32),
        )
        values = (
            cupy.empty(reads, dtype=np.float64),
            cupy.empty(reads, dtype=np.float32),
            cupy.empty(reads, dtype=np.float32),
        )
        self._launch_over(
            PREPARE_READS,
            reads * _WARP,
            *inputs.reads,
            inputs.read_offsets,
            inputs.probabilities,
            odd_letters,
            *rows,
            *values,
            bases,
            reads,
            odd_letters.size,
            FLOAT_THRESHOLD,
            TRUSTED_GROWTH,
        )
        return (*rows, *values, masks)

    def _list_pairs(self, inputs: _Inputs) -> tuple[Any, ...]:
        """List the pairs by layout and read length, and those that only `exact` can compute."""
        reads, regions = len(self._batch.reads), len(self._batch)
        layouts, pairs = inputs.layout_lanes.size, self._pairs
        bins = cupy.zeros(layouts * LENGTH_BINS, dtype=np.int32)
        layout_pairs = tuple(cupy.empty(layouts, dtype=np.int32) for _ in range(2))
        listed = cupy.empty(8 * pairs, dtype=np.int32)
        exact_pairs = cupy.empty(pairs, dtype=np.int32)
        exact_count = cupy.zeros(1, dtype=np.int32)
        regions_of = (inputs.read_offsets, inputs.region_reads, inputs.region_haplotypes)
        sizes = (reads, regions, len(self._batch.haplotypes), bins.size)
        kinds = (FLOAT_LONGEST_READ, layouts - 1)
        self._launch_over(COUNT_PAIRS, reads, *regions_of, inputs.layouts, bins, *sizes, *kinds)
        load_kernel(PLACE_BINS, self._device.index).launch(
            1, LENGTH_BINS, (bins, *layout_pairs, layouts, bins.size)
        )
        self._launch_over(
            LIST_PAIRS,
            reads,
            *regions_of,
            inputs.region_pairs,
            inputs.layouts,
            inputs.mask_starts,
            inputs.haplotype_offsets,
            bins,
            listed,
            exact_pairs,
            exact_count,
            *sizes,
            pairs,
            exact_count.size,
            *kinds,
        )
        return listed, layout_pairs, exact_pairs, exact_count

    def _forward(self, inputs: _Inputs, prepared: tuple[Any, ...], pairs: tuple[Any, ...]) -> None:
        """Launch the layouts side by side, so that one fills the idle ends of another."""
        listed, layout_pairs, exact_pairs, exact_count, likelihoods = pairs
        arguments = (
            *prepared,
            listed,
            *layout_pairs,
            likelihoods,
            exact_pairs,
            exact_count,
            inputs.reads[0].size,
            len(self._batch.reads),
            prepared[-1].size,
            self._pairs,
            layout_pairs[0].size,
            exact_count.size,
        )
        first, *others = self._streams[: len(self._plan.layouts)] or self._streams[:1]
        ready = first.record()
        for stream in others:
            stream.wait_event(ready)
        for number in np.argsort(-self._pairs_of_layout[:-1]):
            layout = self._plan.layouts[number]
            with self._streams[number % (1 + len(others))]:
                load_kernel(forward_kernel(layout.columns), self._device.index).launch(
                    -(-int(self._pairs_of_layout[number]) // layout.groups),
                    _WARP,
                    (*arguments, number, layout.lanes, FLOAT_SCALE, np.log10(FLOAT_SCALE)),
                )
        for stream in others:
            first.wait_event(stream.record())

    def _exact(self, inputs: _Inputs, pairs: tuple[Any, ...]) -> None:
        """Compute the pairs that were listed for it meanwhile; how many, only the device knows."""
        listed, _, exact_pairs, exact_count, likelihoods = pairs
        widest = int(self._batch.haplotypes.lengths.max())
        blocks = min(
            _EXACT_WARPS_PER_MULTIPROCESSOR * self._multiprocessors,
            max(1, self._memory // (4 * _EXACT_ROW_BYTES * widest)),
        )
        scratch = cupy.empty(3 * widest * blocks, dtype=np.float64)
        load_kernel(EXACT, self._device.index).launch(
            blocks,
            _WARP,
            (
                *inputs.reads,
                inputs.read_offsets,
                inputs.haplotypes,
                inputs.haplotype_offsets,
                inputs.probabilities,
                listed,
                exact_pairs,
                exact_count,
                scratch,
                likelihoods,
                inputs.reads[0].size,
                len(self._batch.reads),
                inputs.haplotypes.size,
                len(self._batch.haplotypes),
                inputs.probabilities.size,
                self._pairs,
                exact_count.size,
                scratch.size,
                widest,
            ),
        )

    def _launch_over(self, kernel: Kernel, threads: int, *arguments: Any) -> None:
        """Launch with at least so many threads."""
        blocks = -(-threads // _THREADS)
        load_kernel(kernel, self._device.index).launch(blocks, _THREADS, arguments)
