"""Input of the pair-HMM on the current GPU: the columns of `batches`."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

import cupy
import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.cuda import DeviceRagged
from hapgpu.arrays.ragged import offsets_of
from hapgpu.pairhmm.batches import HmmBatch, HmmReads
from hapgpu.pairhmm.normalize import (
    ERRORS_PER_BASE,
    LOG10_OF_ERROR,
    MAX_ERRORS,
    WORST_DIFFERENCE,
)
from hapgpu.runtime.gpu.kernel import Array, Kernel, Length, Scalar, Struct
from hapgpu.runtime.gpu.work_queue import launch_threads
from hapgpu.runtime.gpu_array import GpuArray

READ_COLUMNS: Final = Struct(
    "columns",
    (
        Array("bases", np.uint8, "count"),
        Array("base_qualities", np.uint8, "count"),
        Array("insertion_qualities", np.uint8, "count"),
        Array("deletion_qualities", np.uint8, "count"),
        Length("count"),
    ),
)
"""The bases and the qualities per base of `DeviceHmmReads`."""


@dataclass(frozen=True, slots=True)
class DeviceHmmReads:
    """The columns of `HmmReads` on the current GPU.

    Attributes
    ----------
    bases
        uint8 text, n rows.
    base_qualities, insertion_qualities, deletion_qualities
        uint8 Phred with the rows of `bases`.
    gap_continuation
        Phred, 0 to 255, of all bases; or uint8 with the rows of `bases`.
    """

    bases: DeviceRagged
    base_qualities: GpuArray
    insertion_qualities: GpuArray
    deletion_qualities: GpuArray
    gap_continuation: GpuArray

    def __len__(self) -> int:
        return len(self.bases)

    @property
    def uniform_continuation(self) -> int | None:
        """The gap continuation, if it is that of all bases."""
        return self.gap_continuation if isinstance(self.gap_continuation, int) else None

    @property
    def columns(self) -> tuple[GpuArray, ...]:
        """Bases and qualities per base, uint8 each."""
        return (
            self.bases.data,
            self.base_qualities,
            self.insertion_qualities,
            self.deletion_qualities,
        )

    def download(self) -> HmmReads:
        """Copy the reads to host memory."""
        bases = self.bases.download()
        if isinstance(self.gap_continuation, int):
            continuation = np.full(1, self.gap_continuation, dtype=np.uint8)
            continuations = np.broadcast_to(continuation, bases.data.shape)
        else:
            continuations = self.gap_continuation.get()
        return HmmReads(
            bases,
            self.base_qualities.get(),
            self.insertion_qualities.get(),
            self.deletion_qualities.get(),
            continuations,
        )


@dataclass(frozen=True, slots=True)
class DeviceHmmBatch:
    """b groups of reads and haplotypes on the current GPU, as in `HmmBatch`.

    Sizes are in host memory, where the launches are planned. Slices share the arrays of the GPU;
    the offsets of a slice need not start at 0.

    Attributes
    ----------
    reads
        Reads, group by group.
    haplotypes
        uint8 text, group by group.
    read_offsets, haplotype_offsets
        int64[b + 1] in host memory: the rows of each group.
    base_offsets
        int64[b + 1] in host memory: where the reads of each group start in `reads.bases.data`.
    column_offsets
        int64[h + 1] in host memory: where the haplotypes of these groups start in
        `haplotypes.data`.
    """

    reads: DeviceHmmReads
    haplotypes: DeviceRagged
    read_offsets: NDArray[np.int64]
    haplotype_offsets: NDArray[np.int64]
    base_offsets: NDArray[np.int64]
    column_offsets: NDArray[np.int64]

    @classmethod
    def of(
        cls,
        reads: DeviceHmmReads,
        haplotypes: DeviceRagged,
        read_offsets: GpuArray,
        members: GpuArray,
    ) -> DeviceHmmBatch:
        """Make a batch of whole arrays; waits for the GPU.

        `read_offsets` and `members` are int64[b + 1] on the GPU: the rows of the reads and of the
        haplotypes of each group.
        """
        columns = (read_offsets, members, reads.bases.offsets[read_offsets], haplotypes.offsets)
        sizes = cupy.concatenate(columns).get()
        ends = np.cumsum([column.size for column in columns])
        return cls(reads, haplotypes, *np.split(sizes, ends[:-1]))

    def __len__(self) -> int:
        return self.read_offsets.size - 1

    @property
    def pair_offsets(self) -> NDArray[np.int64]:
        """int64[b + 1]: offsets of the likelihoods of each group."""
        return offsets_of(np.diff(self.read_offsets) * np.diff(self.haplotype_offsets))

    @property
    def pairs(self) -> int:
        """Number of likelihoods."""
        return int(self.pair_offsets[-1])

    @property
    def cells(self) -> int:
        """Matrix cells of all pairs: the sum of read length times haplotype length."""
        return int((self.group_bases * self.group_columns).sum())

    @property
    def group_bases(self) -> NDArray[np.int64]:
        """int64[b]: bases of the reads of each group."""
        return np.diff(self.base_offsets)

    @property
    def group_columns(self) -> NDArray[np.int64]:
        """int64[b]: bases of the haplotypes of each group."""
        first_rows = self.haplotype_offsets - self.haplotype_offsets[0]
        columns: NDArray[np.int64] = np.diff(self.column_offsets[first_rows])
        return columns

    @property
    def haplotype_lengths(self) -> NDArray[np.int64]:
        """int64[h]: bases of each haplotype."""
        return np.diff(self.column_offsets)

    def read_lengths(self) -> NDArray[np.int64]:
        """Return int64[n]: the bases of each read; waits for the GPU."""
        first, end = self.read_offsets[[0, -1]].tolist()
        lengths: NDArray[np.int64] = np.diff(self.reads.bases.offsets[first : end + 1].get())
        return lengths

    def slice(self, start: int, end: int) -> DeviceHmmBatch:
        """Return groups start to end, sharing memory with this batch."""
        members = self.haplotype_offsets[start : end + 1]
        first, last = (members[[0, -1]] - self.haplotype_offsets[0]).tolist()
        return replace(
            self,
            read_offsets=self.read_offsets[start : end + 1],
            haplotype_offsets=members,
            base_offsets=self.base_offsets[start : end + 1],
            column_offsets=self.column_offsets[first : last + 1],
        )

    def some_reads(self, start: int, end: int) -> DeviceHmmBatch:
        """Return reads start to end of a batch of one group; waits for the GPU."""
        rows = self.read_offsets[0] + np.array([start, end])
        bases = [int(self.reads.bases.offsets[row]) for row in rows.tolist()]
        return replace(self, read_offsets=rows, base_offsets=np.array(bases, dtype=np.int64))

    def download(self) -> HmmBatch:
        """Copy a batch of whole arrays to host memory."""
        return HmmBatch(
            self.reads.download(),
            self.haplotypes.download(),
            self.read_offsets,
            self.haplotype_offsets,
        )


_THREADS: Final = 128

NORMALIZE_LIKELIHOODS: Final = Kernel(
    "pairhmm/normalize.cu",
    "normalize_likelihoods",
    (
        Array("likelihoods", np.float64, "count"),
        Array("offsets", np.int64, "rows", 1),
        Array("lengths", np.int64, "rows"),
        Array("is_explained", np.uint8, "rows"),
        Length("count"),
        Scalar("rows", np.int32),
        Scalar("worst_difference", np.float64),
        Scalar("errors_per_base", np.float64),
        Scalar("max_errors", np.float64),
        Scalar("log10_of_error", np.float64),
    ),
)


def normalize(likelihoods: GpuArray, offsets: GpuArray, lengths: GpuArray) -> GpuArray:
    """Raise likelihoods in place that are far below the best likelihood of the read.

    Parameters
    ----------
    likelihoods
        float64[offsets[-1]], log10, on the current GPU, read by read.
    offsets
        int64[n + 1]: the likelihoods of each read, at least one.
    lengths
        int64[n], bases of each read.

    Returns
    -------
    cupy.ndarray
        bool[n]: which reads have a haplotype that explains them.
    """
    rows = int(lengths.size)
    is_explained = cupy.empty(rows, dtype=np.bool_)
    arguments = (likelihoods, offsets, lengths, is_explained.view(np.uint8), likelihoods.size, rows)
    limits = (WORST_DIFFERENCE, ERRORS_PER_BASE, MAX_ERRORS, LOG10_OF_ERROR)
    launch_threads(NORMALIZE_LIKELIHOODS, _THREADS, rows, (*arguments, *limits))
    return is_explained
