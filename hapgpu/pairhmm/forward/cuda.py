"""Pair-HMM on a GPU (`cuda/pairhmm/*.cu`): several pieces of a batch at work at a time."""

from __future__ import annotations

import functools
from collections.abc import Callable
from functools import partial
from types import TracebackType
from typing import Self

import cupy
import numpy as np
from numpy.typing import NDArray

from hapgpu.pairhmm.batches import HmmBatch
from hapgpu.pairhmm.cuda.arrays import array_store
from hapgpu.pairhmm.cuda.batches import DeviceHmmBatch
from hapgpu.pairhmm.cuda.piece_run import PieceRun
from hapgpu.pairhmm.cuda.pieces import split_in_two, split_into_pieces
from hapgpu.pairhmm.forward.cpu import exact_log10_likelihoods
from hapgpu.runtime.devices import CudaDevice, usable_cpus
from hapgpu.runtime.gpu.context import (
    OUT_OF_MEMORY,
    device_errors,
    pinned_array,
    thread_streams,
    wait_asleep,
)
from hapgpu.runtime.gpu.memory_turns import TooLittleMemoryError, memory_turns
from hapgpu.runtime.gpu_array import GpuArray

_PIECE_CELLS = 9_000_000_000  # a few milliseconds, longer than the host needs for the next piece
_PIECE_BASES = 1 << 23  # bounds the pinned memory
_DEVICE_PIECE_CELLS = 10 * _PIECE_CELLS  # of a batch on the GPU, which needs no uploads
_DEVICE_PIECE_BASES = 1 << 25
_PIECES_IN_FLIGHT = 3
_STREAMS = 4  # per piece, for its layouts
_BYTES_PER_BASE = 29  # five columns, and the constants of a row
_BYTES_PER_PAIR = 44
_SMALL_BYTES = 1 << 26  # of a piece that is tried without asking for the memory of the GPU
_LARGEST_INDEX = 2**31 - 1

_Memory = Callable[[], int]


def log10_likelihoods(batch: HmmBatch, device: CudaDevice) -> NDArray[np.float64]:
    """Compute log10 P(read | haplotype) by GATK's pair-HMM.

    Parameters
    ----------
    batch
        At least one pair; no sequence is empty.
    device
        The GPU.

    Returns
    -------
    float64[batch.pairs], in the order of `HmmBatch`; none is above 0.

    Raises
    ------
    DeviceError
        A single read with its haplotypes does not fit the memory of the device, or a launch fails.
    """
    with device_errors(device), cupy.cuda.Device(device.index):
        likelihoods: NDArray[np.float64] = pinned_array(batch.pairs, np.float64)
        has_too_small = _computed(batch, likelihoods, device)
    if has_too_small:
        rows = np.flatnonzero(np.isnan(likelihoods))
        likelihoods[rows] = exact_log10_likelihoods(batch, rows, usable_cpus())
    return likelihoods


def device_log10_likelihoods(
    batch: DeviceHmmBatch, device: CudaDevice, memory_budget: int | None = None
) -> GpuArray:
    """Compute log10 P(read | haplotype) of reads on the current GPU, and wait for it.

    Parameters
    ----------
    batch
        A batch of whole arrays; no sequence is empty.
    device
        The current GPU.
    memory_budget
        The memory budget of the GPU; None to ask it, which takes milliseconds.

    Returns
    -------
    cupy.ndarray
        float64[batch.pairs], as `log10_likelihoods` computes them for the same batch.

    Raises
    ------
    DeviceError
        A single read with its haplotypes does not fit the memory of the device.
    """
    likelihoods = cupy.empty(batch.pairs, dtype=np.float64)
    if _computed(batch, likelihoods, device, memory_budget):
        rows = cupy.flatnonzero(cupy.isnan(likelihoods))
        exact = exact_log10_likelihoods(batch.download(), rows.get(), usable_cpus())
        likelihoods[rows] = cupy.asarray(exact)
    return likelihoods


def _computed(
    batch: HmmBatch | DeviceHmmBatch,
    likelihoods: GpuArray,
    device: CudaDevice,
    memory_budget: int | None = None,
) -> bool:
    """Compute likelihoods, in memory of the kind of the batch; tell whether any is NaN."""
    budget: _Memory = functools.cache(device.memory_budget)  # asking takes long
    if memory_budget is not None:
        budget = partial(int, memory_budget)
    return memory_turns(device).compute(partial(_compute, batch, likelihoods, device, budget))


def _compute(
    batch: HmmBatch | DeviceHmmBatch, likelihoods: GpuArray, device: CudaDevice, budget: _Memory
) -> bool:
    with _PiecesInFlight(device, budget) as pieces:
        end = 0
        limits = (_PIECE_CELLS, _PIECE_BASES)
        if isinstance(batch, DeviceHmmBatch):
            limits = (_DEVICE_PIECE_CELLS, _DEVICE_PIECE_BASES)
        for piece in split_into_pieces(batch, *limits):
            start, end = end, end + piece.pairs
            pieces.start(piece, likelihoods[start:end])
    return pieces.has_too_small


class _PiecesInFlight:
    """Pieces that a device computes at a time, each with its own streams and staging memory.

    A piece waits for the previous piece on the same streams, and reuses its memory. Leaving the
    context waits for all pieces: until then the device writes the likelihoods. Pieces wait for the
    work on the stream that is current when the object is made.
    """

    def __init__(self, device: CudaDevice, budget: _Memory) -> None:
        self._device = device
        self._budget = budget
        self._streams = thread_streams(device.index, _PIECES_IN_FLIGHT, urgent=True)
        self._forward_streams = thread_streams(device.index, _PIECES_IN_FLIGHT * _STREAMS)
        self._ready = cupy.cuda.get_current_stream().record()
        self._started = 0
        self._too_small: list[NDArray[np.int32]] = []

    @property
    def has_too_small(self) -> bool:
        """Whether some likelihoods are too small for float64, and NaN; valid after the context."""
        return any(flag[0] for flag in self._too_small)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        in_use = self._streams[: self._started]
        for stream in in_use if error is None else self._streams + self._forward_streams:
            wait_asleep(stream)

    def _memory(self) -> int:
        """Return the bytes that a piece may use beside the others."""
        return self._budget() // _PIECES_IN_FLIGHT

    def start(self, batch: HmmBatch | DeviceHmmBatch, likelihoods: GpuArray) -> None:
        """Start a piece; split it where it does not fit the memory of the device.

        Raises
        ------
        TooLittleMemoryError
            A single read with its haplotypes does not fit.
        """
        if not likelihoods.size:
            return
        if self._fits(batch, likelihoods.size, self._memory) and (
            self._start_piece(batch, likelihoods, self._memory)
            or self._start_piece_alone(batch, likelihoods, self._memory)
        ):
            return
        smaller: list[HmmBatch | DeviceHmmBatch] = split_in_two(batch)
        if len(smaller) == 1:
            if self._fits(batch, likelihoods.size, self._budget) and self._start_piece_alone(
                batch, likelihoods, self._budget
            ):
                return
            length, haplotypes = int(batch.group_bases.sum()), batch.haplotype_lengths.size
            message = f"{self._device.name}: too little memory for a read of {length:,} bases"
            raise TooLittleMemoryError(f"{message} and {haplotypes:,} haplotypes; use --device cpu")
        for piece in smaller:
            self.start(piece, likelihoods[: piece.pairs])
            likelihoods = likelihoods[piece.pairs :]

    def _start_piece(
        self, batch: HmmBatch | DeviceHmmBatch, likelihoods: GpuArray, memory: _Memory
    ) -> bool:
        turn = self._started % _PIECES_IN_FLIGHT
        forward_streams = self._forward_streams[turn * _STREAMS : (turn + 1) * _STREAMS]
        streams = (self._streams[turn], forward_streams)
        if self._started < _PIECES_IN_FLIGHT:
            self._streams[turn].wait_event(self._ready)
        try:
            store = array_store(self._device.index, turn)
            run = PieceRun(batch, likelihoods.size, self._device, streams, store)
            self._too_small.append(run.launch(likelihoods, memory))
        except OUT_OF_MEMORY:
            return False
        self._started += 1
        return True

    def _start_piece_alone(
        self, batch: HmmBatch | DeviceHmmBatch, likelihoods: GpuArray, memory: _Memory
    ) -> bool:
        for stream in self._streams:
            stream.synchronize()
        cupy.get_default_memory_pool().free_all_blocks()
        return self._start_piece(batch, likelihoods, memory)

    def _fits(self, batch: HmmBatch | DeviceHmmBatch, pairs: int, memory: _Memory) -> bool:
        """Return whether a piece needs at most half of the memory, and offsets fit 32 bits."""
        bases, columns = int(batch.group_bases.sum()), int(batch.group_columns.sum())
        size = _BYTES_PER_BASE * bases + _BYTES_PER_PAIR * pairs + 8 * columns
        if self._device.memory_limit is None and size <= _SMALL_BYTES:
            return True
        return size <= memory() // 2 and max(bases, 2 * pairs, columns) <= _LARGEST_INDEX


def forward_seconds(batch: HmmBatch, device: CudaDevice, repeats: int) -> float:
    """Measure the float32 kernels alone: the median of `repeats` runs, in seconds.

    The batch is computed as one piece, and must fit the memory of the device.
    """
    with device_errors(device), cupy.cuda.Device(device.index):
        stream = thread_streams(device.index, 1, urgent=True)[0]
        streams = (stream, thread_streams(device.index, _STREAMS))
        store = array_store(device.index, 0)
        return PieceRun(batch, batch.pairs, device, streams, store).forward_seconds(repeats)
