"""The pair-HMM on a GPU (`cuda/pairhmm*.cu`): pairs of like size side by side, pieces in flight."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self

import cupy
import numpy as np
from numpy.typing import NDArray

from hapgpu.batch import Ragged, offsets_of
from hapgpu.device import CudaDevice, usable_cpus
from hapgpu.errors import DeviceError
from hapgpu.gpu import multiprocessors, thread_streams
from hapgpu.kernels import Kernel, load_kernel
from hapgpu.pairhmm.batch import HmmBatch, HmmReads, is_uniform
from hapgpu.pairhmm.cpu import exact_log10_likelihoods
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
from hapgpu.pairhmm.staging import Staging, pinned_array, thread_staging

_PIECE_CELLS = 9_000_000_000
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
    with _explained(device), cupy.cuda.Device(device.index):
        likelihoods: NDArray[np.float64] = pinned_array(batch.pairs, np.float64)
        with _Flight(device) as flight:
            done = 0
            for piece in pieces_of(batch, _PIECE_CELLS, _PIECE_BASES):
                begin, done = done, done + piece.pairs
                flight.start(piece, likelihoods[begin:done])
    if flight.has_unknown:
        rows = np.flatnonzero(np.isnan(likelihoods))
        likelihoods[rows] = exact_log10_likelihoods(batch, rows, usable_cpus())
    return likelihoods


@contextmanager
def _explained(device: CudaDevice) -> Iterator[None]:
    """Turn what CUDA reports into an error for the user."""
    try:
        yield
    except cupy.cuda.memory.OutOfMemoryError as error:
        message = f"{device.name} has too little memory: use --device cpu"
        raise DeviceError(message) from error
    except (cupy.cuda.driver.CUDADriverError, cupy.cuda.runtime.CUDARuntimeError) as error:
        message = f"{device.name} failed: {error}"
        raise DeviceError(message) from error


class _Flight:
    """Pieces on their way through a device, each on streams and staging memory of its own.

    A piece waits in line behind the one that had the same streams, and takes its memory over.
    Leaving the context waits for all: until then the device writes the likelihoods.
    """

    def __init__(self, device: CudaDevice) -> None:
        self._device = device
        self._memory = device.memory_budget() // _PIECES_IN_FLIGHT
        self._streams = thread_streams(device.index, _PIECES_IN_FLIGHT, urgent=True)
        self._forward_streams = thread_streams(device.index, _PIECES_IN_FLIGHT * _STREAMS)
        self._started = 0
        self._unknown: list[NDArray[np.int32]] = []

    @property
    def has_unknown(self) -> bool:
        """Whether some likelihoods are beyond float64, and NaN; known once all is done."""
        return any(flag[0] for flag in self._unknown)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for stream in self._streams if error is None else self._streams + self._forward_streams:
            stream.synchronize()

    def start(self, batch: HmmBatch, likelihoods: NDArray[np.float64]) -> None:
        """Start a piece, in halves where the memory of the device does not hold it."""
        if not likelihoods.size:
            return
        if _fits(batch, likelihoods.size, self._memory) and (
            self._starts(batch, likelihoods) or self._starts_alone(batch, likelihoods)
        ):
            return
        halves = halves_of(batch)
        if len(halves) == 1:
            length, haplotypes = len(batch.reads.bases.data), len(batch.haplotypes)
            message = f"{self._device.name} has too little memory for a read of {length:,} bases"
            raise DeviceError(f"{message} and {haplotypes:,} haplotypes: use --device cpu")
        for half in halves:
            self.start(half, likelihoods[: half.pairs])
            likelihoods = likelihoods[half.pairs :]

    def _starts(self, batch: HmmBatch, likelihoods: NDArray[np.float64]) -> bool:
        turn = self._started % _PIECES_IN_FLIGHT
        forward_streams = self._forward_streams[turn * _STREAMS : (turn + 1) * _STREAMS]
        streams = (self._streams[turn], forward_streams)
        try:
            run = _Run(batch, likelihoods.size, self._device, streams, thread_staging(turn))
            self._unknown.append(run.launch(likelihoods, self._memory))
        except cupy.cuda.memory.OutOfMemoryError:
            return False
        self._started += 1
        return True

    def _starts_alone(self, batch: HmmBatch, likelihoods: NDArray[np.float64]) -> bool:
        for stream in self._streams:
            stream.synchronize()
        cupy.get_default_memory_pool().free_all_blocks()
        return self._starts(batch, likelihoods)


def _fits(batch: HmmBatch, pairs: int, memory: int) -> bool:
    """Whether a piece takes at most half of the memory, and offsets fit 32 bits."""
    bases = batch.reads.bases.data.size
    size = _BYTES_PER_BASE * bases + _BYTES_PER_PAIR * pairs + 8 * batch.haplotypes.data.size
    return (
        size <= memory // 2 and max(bases, 2 * pairs, batch.haplotypes.data.size) <= _LARGEST_INDEX
    )


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


@dataclass(frozen=True, slots=True)
class _Prepared:
    """What the kernels make of the inputs: constants of rows, values of reads, masks."""

    coefficients: Any
    emissions: Any
    log10_matching: Any
    last_insertions: Any
    thresholds: Any
    masks: Any

    @classmethod
    def empty(cls, bases: int, reads: int, mask_words: int) -> _Prepared:
        return cls(
            coefficients=cupy.empty(4 * bases, dtype=np.float32),
            emissions=cupy.empty(2 * bases, dtype=np.float32),
            log10_matching=cupy.empty(reads, dtype=np.float64),
            last_insertions=cupy.empty(reads, dtype=np.float32),
            thresholds=cupy.empty(reads, dtype=np.float32),
            masks=cupy.empty(mask_words, dtype=np.uint32),
        )

    @property
    def rows_and_reads(self) -> tuple[Any, ...]:
        """All but the masks, as the kernels take them."""
        return (
            self.coefficients,
            self.emissions,
            self.log10_matching,
            self.last_insertions,
            self.thresholds,
        )


@dataclass(frozen=True, slots=True)
class _Listed:
    """The pairs by layout and read length, those for `exact`, and what comes of them."""

    pairs: Any
    layout_starts: Any
    layout_pairs: Any
    exact_pairs: Any
    exact_count: Any
    unknown: Any
    likelihoods: Any

    @classmethod
    def empty(cls, pairs: int, layouts: int) -> _Listed:
        counts = cupy.zeros(2, dtype=np.int32)
        return cls(
            pairs=cupy.empty(8 * pairs, dtype=np.int32),
            layout_starts=cupy.empty(layouts, dtype=np.int32),
            layout_pairs=cupy.empty(layouts, dtype=np.int32),
            exact_pairs=cupy.empty(pairs, dtype=np.int32),
            exact_count=counts[:1],
            unknown=counts[1:],
            likelihoods=cupy.empty(pairs, dtype=np.float64),
        )


class _Run:
    """One piece on its way through the device."""

    def __init__(
        self,
        batch: HmmBatch,
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
        pairs_of_haplotype = np.repeat(
            np.diff(batch.read_offsets), np.diff(batch.haplotype_offsets)
        )
        self._plan = plan_layouts(
            batch.haplotypes.lengths,
            pairs_of_haplotype,
            _WARPS_PER_MULTIPROCESSOR * multiprocessors(device.index),
        )
        words = np.array([*(layout.mask_words for layout in self._plan.layouts), 0])
        self._masks = offsets_of(words[self._plan.numbers])
        self._mask_words = int(self._masks[-1])
        continuations = batch.reads.gap_continuations
        self._is_uniform = is_uniform(continuations)
        self._continuations = continuations[:1] if self._is_uniform else continuations
        self._pairs_of_layout = np.bincount(
            self._plan.numbers, pairs_of_haplotype, len(self._plan.layouts) + 1
        )

    def launch(self, likelihoods: NDArray[np.float64], memory: int) -> NDArray[np.int32]:
        """Start all that writes the likelihoods to pinned memory, float64[pairs].

        `memory` bounds what the rows of very long haplotypes take, and the masks: bytes. Returns
        one number that will not be 0 if likelihoods turn out to be beyond float64.
        """
        if 4 * self._mask_words > memory // 4:
            raise cupy.cuda.memory.OutOfMemoryError(4 * self._mask_words, 0)
        unknown: NDArray[np.int32] = pinned_array(1, np.int32)
        with self._stream as stream:
            inputs, prepared, listed = self._begin()
            # Memory may run out up to here, but not once other streams are at work.
            blocks, scratch = self._exact_scratch(memory)
            self._forward(prepared, listed)
            self._exact(inputs, listed, blocks, scratch)
            listed.likelihoods.get(stream=stream, out=likelihoods, blocking=False)
            listed.unknown.get(stream=stream, out=unknown, blocking=False)
        return unknown

    def forward_seconds(self, repeats: int) -> float:
        """Measure the float32 kernels: the median time of some runs, in seconds."""
        seconds = []
        with self._stream as stream:
            _, prepared, listed = self._begin()
            for _ in range(repeats + 1):
                listed.exact_count.fill(0)
                begin = stream.record(cupy.cuda.Event())
                self._forward(prepared, listed)
                end = stream.record(cupy.cuda.Event())
                end.synchronize()
                seconds.append(cupy.cuda.get_elapsed_time(begin, end) / 1e3)
        return float(np.median(seconds[1:]))

    def _begin(self) -> tuple[_Inputs, _Prepared, _Listed]:
        """Start all that comes before the float32 kernels."""
        inputs = self._upload()
        prepared = self._prepare(inputs)
        return inputs, prepared, self._list_pairs(inputs, prepared)

    def _upload(self) -> _Inputs:
        batch, plan = self._batch, self._plan
        arrays = self._staging.upload(
            [
                batch.reads.bases.data,
                *batch.reads.qualities[:-1],
                self._continuations,
                batch.haplotypes.data,
                ERROR_PROBABILITIES,
            ],
            [
                batch.reads.bases.offsets,
                batch.haplotypes.offsets,
                batch.read_offsets,
                batch.haplotype_offsets,
                batch.pair_offsets,
                plan.numbers,
                self._masks,
                np.array([*(layout.columns for layout in plan.layouts), 0]),
                np.array([*(layout.lanes for layout in plan.layouts), 0]),
            ],
            self._stream,
        )
        return _Inputs(tuple(arrays[:5]), *arrays[5:])

    def _prepare(self, inputs: _Inputs) -> _Prepared:
        """Compute what `forward` reads: constants of rows, values of reads, and masks."""
        reads, bases = len(self._batch.reads), self._batch.reads.bases.data.size
        haplotypes = len(self._batch.haplotypes)
        prepared = _Prepared.empty(bases, reads, self._mask_words)
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

    def _list_pairs(self, inputs: _Inputs, prepared: _Prepared) -> _Listed:
        """List the pairs by layout and read length, and those that only `exact` can compute."""
        reads, layouts = len(self._batch.reads), inputs.layout_lanes.size
        listed = _Listed.empty(self._pairs, layouts)
        bins = cupy.zeros(layouts * LENGTH_BINS, dtype=np.int32)
        regions = (inputs.read_offsets, inputs.region_reads, inputs.region_haplotypes)
        sizes = (reads, len(self._batch), len(self._batch.haplotypes), bins.size)
        kinds = (FLOAT_LONGEST_READ, layouts - 1)
        self._launch_over(
            COUNT_PAIRS,
            reads,
            *regions,
            inputs.layouts,
            prepared.log10_matching,
            bins,
            *sizes,
            *kinds,
        )
        load_kernel(PLACE_BINS, self._device.index).launch(
            1,
            LENGTH_BINS,
            (bins, listed.layout_starts, listed.layout_pairs, layouts, bins.size),
        )
        self._launch_over(
            LIST_PAIRS,
            reads,
            *regions,
            inputs.region_pairs,
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
            *kinds,
        )
        return listed

    def _forward(self, prepared: _Prepared, listed: _Listed) -> None:
        """Launch the layouts side by side, so that one fills the idle ends of another."""
        arguments = (
            *prepared.rows_and_reads,
            prepared.masks,
            listed.pairs,
            listed.layout_starts,
            listed.layout_pairs,
            listed.likelihoods,
            listed.exact_pairs,
            listed.exact_count,
            self._batch.reads.bases.data.size,
            len(self._batch.reads),
            prepared.masks.size,
            self._pairs,
            listed.layout_pairs.size,
            listed.exact_count.size,
            0,  # the layout and its lanes differ from launch to launch
            0,
            ERROR_PROBABILITIES[self._continuations[0]],
            FLOAT_SCALE,
            np.log10(FLOAT_SCALE),
        )
        pairs = self._pairs_of_layout[:-1]
        streams = self._forward_streams[: pairs.size]
        ready = self._stream.record()
        for stream in streams:
            stream.wait_event(ready)
        checked = None
        for turn, number in enumerate(np.argsort(-pairs)[: np.count_nonzero(pairs)]):
            layout = self._plan.layouts[number]
            kernel = load_kernel(
                forward_kernel(layout.columns, is_uniform=self._is_uniform), self._device.index
            )
            checked = checked or kernel.check(arguments)
            with streams[turn % len(streams)]:
                kernel.launch(
                    -(-int(pairs[number]) // layout.groups),
                    _WARP,
                    checked,
                    layout=number,
                    lanes=layout.lanes,
                )
        for stream in streams:
            self._stream.wait_event(stream.record())

    def _exact_scratch(self, memory: int) -> tuple[int, Any]:
        """Return how many warps compute exact pairs, and memory for their rows."""
        widest = int(self._batch.haplotypes.lengths.max())
        blocks = min(
            _EXACT_WARPS_PER_MULTIPROCESSOR * multiprocessors(self._device.index),
            max(1, memory // (4 * _EXACT_ROW_BYTES * widest)),
        )
        return blocks, cupy.empty(3 * widest * blocks, dtype=np.float64)

    def _exact(self, inputs: _Inputs, listed: _Listed, blocks: int, scratch: Any) -> None:
        """Compute the pairs that were listed for it meanwhile; how many, only the device knows."""
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
                listed.unknown,
                inputs.reads[0].size,
                self._continuations.size,
                len(self._batch.reads),
                inputs.haplotypes.size,
                len(self._batch.haplotypes),
                inputs.probabilities.size,
                self._pairs,
                listed.exact_count.size,
                scratch.size,
                scratch.size // (3 * blocks),
            ),
        )

    def _launch_over(self, kernel: Kernel, threads: int, *arguments: Any) -> None:
        """Launch with at least so many threads."""
        blocks = -(-threads // _THREADS)
        load_kernel(kernel, self._device.index).launch(blocks, _THREADS, arguments)


def in_pinned_memory(batch: HmmBatch) -> HmmBatch:
    """Copy the columns of the reads to where the GPU reads them by itself, at the full rate."""
    reads = batch.reads
    bases, *qualities = (
        column if is_uniform(column) else _pinned_copy(column)
        for column in (reads.bases.data, *reads.qualities)
    )
    pinned = HmmReads(Ragged(bases, reads.bases.offsets), *qualities)
    return HmmBatch(pinned, batch.haplotypes, batch.read_offsets, batch.haplotype_offsets)


def _pinned_copy(column: NDArray[np.uint8]) -> NDArray[np.uint8]:
    copy = pinned_array(column.size, column.dtype)
    copy[:] = column
    return copy


def forward_seconds(batch: HmmBatch, device: CudaDevice, repeats: int) -> float:
    """Measure the float32 kernels alone: the median of some runs, all else already done.

    The batch is computed as one piece, and has to fit the memory of the device.
    """
    with _explained(device), cupy.cuda.Device(device.index):
        stream = thread_streams(device.index, 1, urgent=True)[0]
        streams = (stream, thread_streams(device.index, _STREAMS))
        return _Run(batch, batch.pairs, device, streams, thread_staging(0)).forward_seconds(repeats)
