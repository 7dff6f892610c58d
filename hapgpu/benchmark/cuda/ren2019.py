"""Alignment on a GPU by the design of Ren et al. 2019 (`cuda/benchmark/ren2019.cu`).

For a comparison with the aligner of `hapgpu.realign`, which gives the same alignments.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import cupy
import numpy as np

from hapgpu.arrays.batches import AlignmentBatch, PairBatch
from hapgpu.arrays.cuda import rows_struct
from hapgpu.arrays.ragged import Ragged
from hapgpu.realign.align.cuda.batches import DevicePairs
from hapgpu.realign.scoring import Scoring
from hapgpu.runtime.gpu.kernel import Array, Kernel, KernelArgument, Length, Scalar, Struct
from hapgpu.runtime.gpu.launch import load_kernel
from hapgpu.runtime.gpu_array import GpuArray

THREADS: Final = (64, 128, 160, 256, 416, 576, 1024)
"""Sizes of thread blocks: the smallest one that has a thread per base is taken."""

MAX_ROWS: Final = 2**15 - 1
"""Longest reference, since lengths of runs have 16 bits."""

MAX_RUNS: Final = 128
"""Most runs of a CIGAR, as in the paper."""

_TRACE_THREADS: Final = 64

_PAIRS: Final = Struct(
    "pairs",
    (
        rows_struct("references", np.uint8),
        rows_struct("queries", np.uint8),
        Array("reference_index", np.int32, "count"),
        Array("query_index", np.int32, "count"),
        Scalar("count", np.int32),
    ),
)
_WEIGHTS: Final = Struct(
    "weights",
    tuple(Scalar(name, np.int32) for name in ("match", "mismatch", "gap_open", "gap_extend")),
)
_STEPS: Final = Struct(
    "steps",
    (
        Array("cells", np.int32, "all_cells"),
        Length("all_cells"),
        Scalar("size", np.int64),
        Scalar("columns", np.int32),
    ),
)


def _fill_kernel(threads: int) -> Kernel:
    return Kernel(
        "benchmark/ren2019.cu",
        f"fill_by_antidiagonals<{threads}>",
        (_PAIRS, _WEIGHTS, _STEPS, Array("ends", np.int32, "pairs.count", width=4)),
    )


_FILLS: Final = {threads: _fill_kernel(threads) for threads in THREADS}

TRACE: Final = Kernel(
    "benchmark/ren2019.cu",
    "trace_runs",
    (
        _PAIRS,
        _STEPS,
        Array("ends", np.int32, "pairs.count", width=4),
        Scalar("capacity", np.int32),
        Array("runs", np.uint32, "room"),
        Length("room"),
        Array("counts", np.int32, "pairs.count"),
        Array("offsets", np.int32, "pairs.count"),
    ),
)


def fill_kernels() -> list[Kernel]:
    """Return the kernels of the first stage."""
    return list(_FILLS.values())


@dataclass(frozen=True, slots=True)
class BlockAlignments:
    """Alignments of n pairs on the current GPU.

    Attributes
    ----------
    ends
        int32[n, 4]: score, row and column of the end cell (from 1), and 0.
    runs
        uint32[n, MAX_RUNS] in BAM encoding, the last run first.
    counts
        int32[n], number of runs.
    offsets
        int32[n], 0-based starts in the references.
    """

    ends: GpuArray
    runs: GpuArray
    counts: GpuArray
    offsets: GpuArray

    def download(self) -> AlignmentBatch:
        """Copy the alignments to host memory.

        Raises
        ------
        ValueError
            A CIGAR has more than MAX_RUNS runs.
        """
        counts = cupy.asnumpy(self.counts)
        if counts.max() > MAX_RUNS:
            message = f"{counts.max()} runs in a CIGAR: more than {MAX_RUNS}"
            raise ValueError(message)
        runs = cupy.asnumpy(self.runs[:, : counts.max()])[:, ::-1]
        is_run = np.arange(runs.shape[1])[::-1] < counts[:, None]
        cigars = Ragged.from_lengths(runs[is_run], counts)
        scores = np.ascontiguousarray(cupy.asnumpy(self.ends)[:, 0])
        return AlignmentBatch(scores, cupy.asnumpy(self.offsets), cigars)


class BlockAligner:
    """Aligner of pairs on the current GPU, overhangs soft-clipped; all its memory is allocated.

    Parameters
    ----------
    pairs
        n pairs, at least one, of non-empty sequences.
    longest
        Lengths of the longest reference and of the longest query.
    scoring
        Weights.
    device
        Number of the GPU.

    Raises
    ------
    ValueError
        A sequence is too long.
    """

    def __init__(
        self, pairs: DevicePairs, longest: tuple[int, int], scoring: Scoring, device: int
    ) -> None:
        rows, columns = longest
        if rows > MAX_ROWS or columns > THREADS[-1]:
            message = f"pair of {rows} x {columns} bases: more than {MAX_ROWS} x {THREADS[-1]}"
            raise ValueError(message)
        self._threads = next(threads for threads in THREADS if threads >= columns)
        self._device = device
        self._pairs: tuple[KernelArgument, ...] = (
            pairs.references.fields,
            pairs.queries.fields,
            *(pairs.reference_index, pairs.query_index, len(pairs)),
        )
        self._weights = scoring.weights
        size = (rows + columns - 1) * columns
        cells = cupy.empty(len(pairs) * size, dtype=np.int32)
        self._steps: tuple[KernelArgument, ...] = (cells, cells.size, size, columns)
        self._count = len(pairs)

    def run(self) -> BlockAlignments:
        """Launch both stages on the current stream."""
        count = self._count
        ends = cupy.empty((count, 4), dtype=np.int32)
        runs = cupy.empty((count, MAX_RUNS), dtype=np.uint32)
        counts = cupy.empty(count, dtype=np.int32)
        offsets = cupy.empty(count, dtype=np.int32)
        fill = load_kernel(_FILLS[self._threads], self._device)
        fill.launch(count, self._threads, (self._pairs, self._weights, self._steps, ends))
        blocks = -(-count // _TRACE_THREADS)
        arguments = (self._pairs, self._steps, ends, MAX_RUNS, runs, runs.size, counts, offsets)
        load_kernel(TRACE, self._device).launch(blocks, _TRACE_THREADS, arguments)
        return BlockAlignments(ends, runs, counts, offsets)


def align_by_blocks(pairs: PairBatch, scoring: Scoring, device: int) -> AlignmentBatch:
    """Align pairs of host memory on the current GPU; the results are in host memory.

    Parameters
    ----------
    pairs
        n pairs, at least one, of non-empty sequences.
    scoring
        Weights.
    device
        Number of the GPU.

    Raises
    ------
    ValueError
        A sequence is too long, or a CIGAR has too many runs.
    """
    longest = int(pairs.reference_lengths.max()), int(pairs.query_lengths.max())
    aligner = BlockAligner(DevicePairs.upload(pairs), longest, scoring, device)
    return aligner.run().download()
