"""Launches that compute one piece of a batch on a GPU, in order."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import cupy
import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.ragged import offsets_of
from hapgpu.pairhmm.batches import HmmBatch, is_uniform
from hapgpu.pairhmm.device_batches import DeviceHmmBatch
from hapgpu.pairhmm.launch.device_arrays import Inputs, PairLists, PreparedArrays
from hapgpu.pairhmm.launch.kernels import (
    COUNT_PAIRS,
    EXACT,
    LENGTH_BINS,
    LIST_PAIRS,
    PREPARE_HAPLOTYPES,
    PREPARE_READS,
    SCAN_BINS,
    forward_kernel,
)
from hapgpu.pairhmm.launch.layouts import plan_layouts
from hapgpu.pairhmm.launch.staging import Staging
from hapgpu.pairhmm.model import (
    ERROR_PROBABILITIES,
    FLOAT_LONGEST_READ,
    FLOAT_SCALE,
    FLOAT_THRESHOLD,
    TRUSTED_GROWTH,
)
from hapgpu.runtime.devices import CudaDevice
from hapgpu.runtime.gpu.context import multiprocessors, pinned_array
from hapgpu.runtime.gpu.kernel import Kernel
from hapgpu.runtime.gpu.launch import load_kernel

_WARPS_PER_MULTIPROCESSOR = 8
_EXACT_WARPS_PER_MULTIPROCESSOR = 16
_THREADS = 128
_WARP = 32
_EXACT_ROW_BYTES = 24


class PieceRun:
    """The launches of one piece, whose arrays are in host memory or on the device."""

    def __init__(
        self,
        batch: HmmBatch | DeviceHmmBatch,
        pairs: int,
        device: CudaDevice,
        streams: tuple[Any, Sequence[Any]],
        staging: Staging,
    ) -> None:
        self._batch = batch
        self._pairs = pairs
        self._device = device
        self._stream, self._forward_streams = streams
        self._staging = staging
        pairs_per_haplotype = np.repeat(
            np.diff(batch.read_offsets), np.diff(batch.haplotype_offsets)
        )
        self._lengths = batch.haplotype_lengths
        self._reads = int(batch.read_offsets[-1] - batch.read_offsets[0])
        self._bases = int(batch.group_bases.sum())
        self._plan = plan_layouts(
            self._lengths,
            pairs_per_haplotype,
            _WARPS_PER_MULTIPROCESSOR * multiprocessors(device.index),
        )
        words = np.array([*(layout.mask_words for layout in self._plan.layouts), 0])
        self._masks = offsets_of(words[self._plan.numbers])
        self._mask_words = int(self._masks[-1])
        self._continuations = _continuations_of(batch)
        self._is_uniform = self._continuations.size == 1
        self._pairs_per_layout = np.bincount(
            self._plan.numbers, pairs_per_haplotype, len(self._plan.layouts) + 1
        )

    def launch(self, likelihoods: Any, memory: int) -> NDArray[np.int32]:
        """Start the kernels and copies that write the likelihoods, float64[pairs].

        They are in pinned memory, or on the device for a batch on the device. `memory` is a bound
        in bytes for the rows of very long haplotypes and for the masks. Returns one number; the
        device sets it to 1 if a likelihood is too small for float64.
        """
        if 4 * self._mask_words > memory // 4:
            raise cupy.cuda.memory.OutOfMemoryError(4 * self._mask_words, 0)
        too_small: NDArray[np.int32] = pinned_array(1, np.int32)
        with self._stream as stream:
            inputs, prepared, listed = self._start()
            # Allocations may fail here, but not after other streams have started.
            blocks, scratch = self._exact_scratch(memory)
            self._forward(prepared, listed)
            self._exact(inputs, listed, blocks, scratch)
            if isinstance(self._batch, DeviceHmmBatch):
                likelihoods[:] = listed.likelihoods
            else:
                listed.likelihoods.get(stream=stream, out=likelihoods, blocking=False)
            listed.too_small.get(stream=stream, out=too_small, blocking=False)
        return too_small

    def forward_seconds(self, repeats: int) -> float:
        """Measure the float32 kernels: the median time of `repeats` runs, in seconds."""
        seconds = []
        with self._stream as stream:
            _, prepared, listed = self._start()
            for _ in range(repeats + 1):
                listed.exact_count.fill(0)
                start = stream.record(cupy.cuda.Event())
                self._forward(prepared, listed)
                end = stream.record(cupy.cuda.Event())
                end.synchronize()
                seconds.append(cupy.cuda.get_elapsed_time(start, end) / 1e3)
        return float(np.median(seconds[1:]))

    def _start(self) -> tuple[Inputs, PreparedArrays, PairLists]:
        """Start all steps before the float32 kernels."""
        inputs = self._upload()
        prepared = self._prepare(inputs)
        return inputs, prepared, self._list_pairs(inputs, prepared)

    def _upload(self) -> Inputs:
        batch, plan = self._batch, self._plan
        columns: list[NDArray[Any]] = [ERROR_PROBABILITIES]
        indices: list[NDArray[Any]] = [
            offsets_of(self._lengths),
            batch.read_offsets - batch.read_offsets[0],
            batch.haplotype_offsets - batch.haplotype_offsets[0],
            batch.pair_offsets,
            plan.numbers,
            self._masks,
            np.array([*(layout.columns for layout in plan.layouts), 0]),
            np.array([*(layout.lanes for layout in plan.layouts), 0]),
        ]
        if isinstance(self._continuations, np.ndarray):
            columns.insert(0, self._continuations)
        if isinstance(batch, DeviceHmmBatch):
            arrays = self._staging.upload(columns, indices, self._stream)
            given = [] if len(columns) > 1 else [self._continuations]
            return _inputs(_sliced(batch), *given, *arrays)
        reads = [batch.reads.bases.data, *batch.reads.qualities[:-1], batch.haplotypes.data]
        arrays = self._staging.upload(
            [*reads, *columns], [batch.reads.bases.offsets, *indices], self._stream
        )
        first = len(reads)
        continuations, probabilities, read_offsets = arrays[first : first + 3]
        return _inputs(
            (*arrays[:first], read_offsets), continuations, probabilities, *arrays[first + 3 :]
        )

    def _prepare(self, inputs: Inputs) -> PreparedArrays:
        """Compute the coefficients of rows, the values of reads, and the masks."""
        reads, bases, haplotypes = self._reads, self._bases, self._lengths.size
        prepared = PreparedArrays.empty(bases, reads, self._mask_words)
        self._launch_over(
            PREPARE_HAPLOTYPES,
            haplotypes * _WARP,
            inputs.haplotypes,
            inputs.haplotype_offsets,
            inputs.layouts,
            inputs.mask_starts,
            inputs.layout_columns,
            inputs.layout_lanes,
            prepared.masks,
            inputs.haplotypes.size,
            haplotypes,
            inputs.layout_columns.size,
            self._mask_words,
        )
        self._launch_over(
            PREPARE_READS,
            reads * _WARP,
            *inputs.reads,
            inputs.read_offsets,
            inputs.probabilities,
            *prepared.rows_and_reads,
            bases,
            self._continuations.size,
            reads,
            inputs.probabilities.size,
            FLOAT_LONGEST_READ,
            FLOAT_THRESHOLD,
            TRUSTED_GROWTH,
        )
        return prepared

    def _list_pairs(self, inputs: Inputs, prepared: PreparedArrays) -> PairLists:
        """Sort the pairs by layout and read length, and list the pairs that `exact` computes."""
        reads, layouts = self._reads, inputs.layout_lanes.size
        listed = PairLists.empty(self._pairs, layouts)
        bins = cupy.zeros(layouts * LENGTH_BINS, dtype=np.int32)
        groups = (inputs.read_offsets, inputs.group_reads, inputs.group_haplotypes)
        sizes = (reads, len(self._batch), self._lengths.size, bins.size)
        limits = (FLOAT_LONGEST_READ, layouts - 1)
        self._launch_over(
            COUNT_PAIRS,
            reads,
            *groups,
            inputs.layouts,
            prepared.log10_matching,
            bins,
            *sizes,
            *limits,
        )
        load_kernel(SCAN_BINS, self._device.index).launch(
            1,
            LENGTH_BINS,
            (bins, listed.layout_starts, listed.layout_pairs, layouts, bins.size),
        )
        self._launch_over(
            LIST_PAIRS,
            reads,
            *groups,
            inputs.group_pairs,
            inputs.layouts,
            inputs.mask_starts,
            inputs.haplotype_offsets,
            bins,
            listed.pairs,
            listed.exact_pairs,
            listed.exact_count,
            *sizes,
            self._pairs,
            listed.exact_count.size,
            *limits,
        )
        return listed

    def _forward(self, prepared: PreparedArrays, listed: PairLists) -> None:
        """Launch the layouts on several streams, so that one fills the idle ends of another."""
        arguments = (
            *prepared.rows_and_reads,
            prepared.masks,
            listed.pairs,
            listed.layout_starts,
            listed.layout_pairs,
            listed.likelihoods,
            listed.exact_pairs,
            listed.exact_count,
            self._bases,
            self._reads,
            prepared.masks.size,
            self._pairs,
            listed.layout_pairs.size,
            listed.exact_count.size,
            0,  # the layout and its lanes differ from launch to launch
            0,
            ERROR_PROBABILITIES[self._continuations[0]] if self._is_uniform else 0.0,
            FLOAT_SCALE,
            np.log10(FLOAT_SCALE),
        )
        pairs = self._pairs_per_layout[:-1]
        streams = self._forward_streams[: pairs.size] if pairs.size > 1 else []
        ready = self._stream.record() if streams else None
        for stream in streams:
            stream.wait_event(ready)
        checked = None
        for turn, number in enumerate(np.argsort(-pairs)[: np.count_nonzero(pairs)]):
            layout = self._plan.layouts[number]
            declared = forward_kernel(layout.columns, is_uniform=self._is_uniform)
            kernel = load_kernel(declared, self._device.index)
            checked = checked or kernel.check(arguments)
            with streams[turn % len(streams)] if streams else self._stream:
                kernel.launch(
                    -(-int(pairs[number]) // layout.pairs_per_warp),
                    _WARP,
                    checked,
                    layout=number,
                    lanes=layout.lanes,
                )
        for stream in streams:
            self._stream.wait_event(stream.record())

    def _exact_scratch(self, memory: int) -> tuple[int, Any]:
        """Return the number of warps for exact pairs, and memory for their rows."""
        widest = int(self._lengths.max())
        blocks = min(
            _EXACT_WARPS_PER_MULTIPROCESSOR * multiprocessors(self._device.index),
            max(1, memory // (4 * _EXACT_ROW_BYTES * widest)),
        )
        return blocks, cupy.empty(3 * widest * blocks, dtype=np.float64)

    def _exact(self, inputs: Inputs, listed: PairLists, blocks: int, scratch: Any) -> None:
        """Compute the pairs listed for `exact`; only the device knows how many."""
        load_kernel(EXACT, self._device.index).launch(
            blocks,
            _WARP,
            (
                *inputs.reads,
                inputs.read_offsets,
                inputs.haplotypes,
                inputs.haplotype_offsets,
                inputs.probabilities,
                listed.pairs,
                listed.exact_pairs,
                listed.exact_count,
                scratch,
                listed.likelihoods,
                listed.too_small,
                inputs.reads[0].size,
                self._continuations.size,
                self._reads,
                inputs.haplotypes.size,
                self._lengths.size,
                inputs.probabilities.size,
                self._pairs,
                listed.exact_count.size,
                scratch.size,
                scratch.size // (3 * blocks),
            ),
        )

    def _launch_over(self, kernel: Kernel, threads: int, *arguments: Any) -> None:
        """Launch a kernel with at least `threads` threads."""
        blocks = -(-threads // _THREADS)
        load_kernel(kernel, self._device.index).launch(blocks, _THREADS, arguments)


def _continuations_of(batch: HmmBatch | DeviceHmmBatch) -> Any:
    """Return the gap continuations, one for all bases or one per base, where the batch has them."""
    if isinstance(batch, HmmBatch):
        continuations = batch.reads.gap_continuations
        return continuations[:1] if is_uniform(continuations) else continuations
    if isinstance(batch.reads.gap_continuation, int):
        return np.full(1, batch.reads.gap_continuation, dtype=np.uint8)
    first, end = batch.base_offsets[[0, -1]].tolist()
    return batch.reads.gap_continuation[first:end]


def _sliced(batch: DeviceHmmBatch) -> tuple[Any, ...]:
    """Return the columns of the reads, the haplotypes, and the offsets of the reads, int32."""
    first, end = batch.base_offsets[[0, -1]].tolist()
    first_read, end_read = batch.read_offsets[[0, -1]].tolist()
    first_column, end_column = batch.column_offsets[[0, -1]].tolist()
    offsets = batch.reads.bases.offsets[first_read : end_read + 1]
    return (
        *(column[first:end] for column in batch.reads.columns),
        batch.haplotypes.data[first_column:end_column],
        (offsets - first).astype(np.int32),
    )


def _inputs(
    sequences: tuple[Any, ...],
    continuations: Any,
    probabilities: Any,
    haplotype_offsets: Any,
    *layouts: Any,
) -> Inputs:
    *reads, haplotypes, read_offsets = sequences
    return Inputs(
        (*reads, continuations),
        haplotypes,
        probabilities,
        read_offsets,
        haplotype_offsets,
        *layouts,
    )
