"""Launches that compute one piece of a batch on a GPU, in order."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import cupy
import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.large_arrays import copy_together
from hapgpu.arrays.ragged import lengths_of
from hapgpu.arrays.ragged_view import read_only
from hapgpu.pairhmm.batches import HmmBatch
from hapgpu.pairhmm.cuda.arrays import READ_COLUMN_NAMES, ArrayStore, PieceArrays, PieceSizes
from hapgpu.pairhmm.cuda.batches import DeviceHmmBatch
from hapgpu.pairhmm.cuda.kernels import (
    COUNT_PAIRS,
    EXACT,
    LENGTH_BINS,
    LIST_PAIRS,
    PREPARE_HAPLOTYPES,
    PREPARE_READS,
    SCAN_BINS,
    forward_kernel,
)
from hapgpu.pairhmm.cuda.layouts import masks_fit, plan_layouts
from hapgpu.pairhmm.cuda.pieces import PieceIndices, fill_indices
from hapgpu.pairhmm.model import (
    ERROR_PROBABILITIES,
    FLOAT_LONGEST_READ,
    FLOAT_SCALE,
    FLOAT_SCALE_EXPONENT,
    FLOAT_THRESHOLD,
    TRUSTED_GROWTH,
)
from hapgpu.runtime.devices import CudaDevice
from hapgpu.runtime.gpu.context import multiprocessors, pinned_array
from hapgpu.runtime.gpu.kernel import Kernel
from hapgpu.runtime.gpu.launch import load_kernel
from hapgpu.runtime.gpu_array import GpuArray

_WARPS_PER_MULTIPROCESSOR = 8
_EXACT_WARPS_PER_MULTIPROCESSOR = 16
_THREADS = 128
_WARP = 32
_EXACT_ROW_BYTES = 24  # of a row of a read, 3 * float64

_EXACT_COLUMNS_IN_REGISTERS = 640  # kManyColumns * kWarpLanes in exact.cu
_CONTINUATIONS = "reads.gap_continuations"


class PieceRun:
    """The launches of one piece, whose arrays are in host memory or on the device."""

    def __init__(
        self,
        batch: HmmBatch | DeviceHmmBatch,
        pairs: int,
        device: CudaDevice,
        streams: tuple[cupy.cuda.Stream, Sequence[cupy.cuda.Stream]],
        store: ArrayStore,
    ) -> None:
        self._batch = batch
        self._device = device
        self._stream, self._forward_streams = streams
        self._store = store
        reads_per_group = lengths_of(batch.read_offsets)
        haplotypes_per_group = lengths_of(batch.haplotype_offsets)
        pairs_per_haplotype = np.repeat(reads_per_group, haplotypes_per_group)
        lengths = batch.haplotype_lengths
        # `exact` needs memory only for haplotypes that do not fit its registers.
        self._longest = 0
        if lengths.max() > _EXACT_COLUMNS_IN_REGISTERS:
            self._longest = int(batch.read_lengths().max())
        self._plan = plan_layouts(
            lengths,
            pairs_per_haplotype,
            _WARPS_PER_MULTIPROCESSOR * multiprocessors(device.index),
        )
        # The last layout, of no columns, is for haplotypes that are too long for all others.
        self._words = np.array([*(layout.mask_words for layout in self._plan.layouts), 0])
        self._pairs_per_layout = np.bincount(
            self._plan.numbers, pairs_per_haplotype, self._words.size
        )
        one = batch.reads.uniform_continuation
        self._is_uniform = one is not None
        self._extend = 0.0 if one is None else float(ERROR_PROBABILITIES[one])
        bases = int(batch.group_bases.sum())
        self._sizes = PieceSizes(
            reads=int(batch.read_offsets[-1] - batch.read_offsets[0]),
            bases=bases,
            continuations=1 if self._is_uniform else bases,
            haplotypes=lengths.size,
            columns=int(lengths.sum()),
            groups=len(batch),
            pairs=pairs,
            layouts=self._words.size,
            mask_words=int(self._words[self._plan.numbers].sum()),
            scratch=0,
            is_on_device=isinstance(batch, DeviceHmmBatch),
        )
        self._blocks = 0
        self._scalars: dict[str, float] = {}
        self._given: dict[str, GpuArray] = {}
        self._arrays: PieceArrays

    def launch(self, likelihoods: GpuArray, memory: Callable[[], int]) -> NDArray[np.int32]:
        """Start the kernels and copies that write `likelihoods`, float64[pairs]; return int32[1].

        The likelihoods are in pinned memory, or on the device for a batch on the device. `memory`
        returns a bound in bytes for the edges of long haplotypes and for large masks. The
        device sets the returned number to 1 if a likelihood is too small for float64.

        Raises
        ------
        cupy.cuda.memory.OutOfMemoryError
            The piece does not fit, or its masks have too many words for 32-bit offsets; nothing was
            started.
        """
        if not masks_fit(self._sizes.mask_words, memory):
            raise cupy.cuda.memory.OutOfMemoryError(4 * self._sizes.mask_words, 0)
        too_small: NDArray[np.int32] = pinned_array(1, np.int32)
        with self._stream as stream:
            # Allocations may fail here, but not after other streams have started.
            self._start(self._exact_blocks(memory))
            self._forward()
            self._exact()
            computed = self._arrays.device["likelihoods"][: self._sizes.pairs]
            if self._sizes.is_on_device:
                likelihoods[:] = computed
            else:
                computed.get(stream=stream, out=likelihoods, blocking=False)
            self._arrays.device["too_small"].get(stream=stream, out=too_small, blocking=False)
        return too_small

    def forward_seconds(self, repeats: int) -> float:
        """Measure the float32 kernels: the median time of `repeats` runs, in seconds."""
        seconds = []
        with self._stream as stream:
            self._start(exact_blocks=1)
            for _ in range(repeats + 1):
                self._arrays.device["exact_pairs.count"].fill(0)
                start = stream.record(cupy.cuda.Event())
                self._forward()
                end = stream.record(cupy.cuda.Event())
                end.synchronize()
                seconds.append(cupy.cuda.get_elapsed_time(start, end) / 1e3)
        return float(np.median(seconds[1:]))

    def _start(self, exact_blocks: int) -> None:
        """Start all steps before the float32 kernels."""
        self._blocks = exact_blocks
        self._sizes = self._sizes._replace(scratch=3 * self._longest * exact_blocks)
        self._scalars = {**self._sizes.scalars()}
        self._arrays = self._store.arrays(self._sizes)
        self._fill_in()
        self._store.upload(self._arrays, self._stream)
        if isinstance(self._batch, DeviceHmmBatch):
            self._given = _sequences_of(self._batch)
        sizes = self._sizes
        limits = {"longest_read": FLOAT_LONGEST_READ, "exact_layout": sizes.layouts - 1}
        self._launch_over(PREPARE_HAPLOTYPES, sizes.haplotypes * _WARP)
        self._launch_over(
            PREPARE_READS,
            sizes.reads * _WARP,
            longest_read=FLOAT_LONGEST_READ,
            threshold=FLOAT_THRESHOLD,
            trusted_growth=TRUSTED_GROWTH,
        )
        # Also sort the pairs by layout and read length, and list the pairs that `exact` computes.
        self._launch_over(COUNT_PAIRS, sizes.reads, **limits)
        self._launch(SCAN_BINS, 1, LENGTH_BINS)
        self._launch_over(LIST_PAIRS, sizes.reads, **limits)

    def _fill_in(self) -> None:
        """Write the arrays that are uploaded."""
        batch, plan, host = self._batch, self._plan, self._arrays.host
        fill_indices(
            read_only(batch.read_offsets),
            read_only(batch.haplotype_offsets),
            read_only(batch.column_offsets),
            read_only(plan.numbers),
            read_only(self._words),
            PieceIndices(
                *(host[f"groups.{name}"] for name in ("reads", "haplotypes", "pairs")),
                *(host[f"haplotypes.{name}"] for name in ("offsets", "layouts", "mask_starts")),
            ),
        )
        shapes = [(layout.columns, layout.lanes) for layout in plan.layouts] + [(0, 0)]
        host["layouts.columns"][:], host["layouts.lanes"][:] = np.transpose(shapes)
        if isinstance(batch, DeviceHmmBatch):
            if self._is_uniform:
                host[_CONTINUATIONS][0] = batch.reads.gap_continuation
        else:
            host["reads.offsets"][: self._sizes.reads + 1] = batch.reads.bases.offsets
            *qualities, continuations = batch.reads.qualities
            columns = [batch.reads.bases.data, *qualities]
            copies = [
                (host[name], each) for name, each in zip(READ_COLUMN_NAMES, columns, strict=True)
            ]
            continuations = continuations[: self._sizes.continuations]
            copies.append((host[_CONTINUATIONS], continuations))
            copies.append((host["haplotypes.bases"], batch.haplotypes.data))
            copy_together(copies)

    def _forward(self) -> None:
        """Launch the layouts on several streams, so that one fills the idle ends of another."""
        pairs = self._pairs_per_layout[:-1]
        streams = self._forward_streams[: pairs.size] if pairs.size > 1 else []
        ready = self._stream.record() if streams else None
        for stream in streams:
            stream.wait_event(ready)
        for turn, number in enumerate(np.argsort(-pairs)[: np.count_nonzero(pairs)].tolist()):
            layout = self._plan.layouts[number]
            with streams[turn % len(streams)] if streams else self._stream:
                self._launch(
                    forward_kernel(layout.columns, is_uniform=self._is_uniform),
                    -(-int(pairs[number]) // layout.pairs_per_warp),
                    _WARP,
                    layout=number,
                    lanes=layout.lanes,
                    uniform_extend=self._extend,
                    start=FLOAT_SCALE,
                    start_exponent=FLOAT_SCALE_EXPONENT,
                )
        for stream in streams:
            self._stream.wait_event(stream.record())

    def _exact_blocks(self, memory: Callable[[], int]) -> int:
        """Return the number of warps for exact pairs, whose rows fit a fraction of the memory."""
        blocks = _EXACT_WARPS_PER_MULTIPROCESSOR * multiprocessors(self._device.index)
        if not self._longest:
            return blocks
        return min(blocks, max(1, memory() // (4 * _EXACT_ROW_BYTES * self._longest)))

    def _exact(self) -> None:
        """Compute the pairs listed for `exact`; only the device knows how many."""
        self._launch(EXACT, self._blocks, _WARP, longest=self._longest)

    def _launch_over(self, kernel: Kernel, threads: int, **scalars: float) -> None:
        """Launch a kernel with at least `threads` threads."""
        self._launch(kernel, -(-threads // _THREADS), _THREADS, **scalars)

    def _launch(self, kernel: Kernel, blocks: int, threads: int, **scalars: float) -> None:
        """Launch a kernel with the arrays and the sizes of the piece, and other scalars."""
        loaded = load_kernel(kernel, self._device.index)
        self._scalars.update(scalars)
        checked = self._arrays.arguments(loaded, self._scalars, self._given)
        loaded.launch_checked(blocks, threads, checked, self._scalars)


def _sequences_of(batch: DeviceHmmBatch) -> dict[str, GpuArray]:
    """Return the sequences of a batch on the device by the names of the kernels' fields."""
    first, end = batch.base_offsets[[0, -1]].tolist()
    first_read, end_read = batch.read_offsets[[0, -1]].tolist()
    first_column, end_column = batch.column_offsets[[0, -1]].tolist()
    offsets = batch.reads.bases.offsets[first_read : end_read + 1]
    columns = zip(READ_COLUMN_NAMES, batch.reads.columns, strict=True)
    sequences = {name: column[first:end] for name, column in columns}
    if not isinstance(batch.reads.gap_continuation, int):
        sequences[_CONTINUATIONS] = batch.reads.gap_continuation[first:end]
    sequences["haplotypes.bases"] = batch.haplotypes.data[first_column:end_column]
    sequences["reads.offsets"] = (offsets - first).astype(np.int32)
    return sequences
