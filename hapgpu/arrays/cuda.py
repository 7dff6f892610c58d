"""Ragged arrays on a GPU (`cuda/common/ragged.cu`)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import cupy
import numpy as np

from hapgpu.arrays.ragged import Ragged
from hapgpu.runtime.gpu.kernel import Array, Kernel, Length, Scalar, Struct
from hapgpu.runtime.gpu.scalars import last_values
from hapgpu.runtime.gpu.staging import uploaded
from hapgpu.runtime.gpu.work_queue import WARP, launch_threads
from hapgpu.runtime.gpu_array import GpuArray

_THREADS: Final = 128


def _gather_kernel(name: str, item: type[np.generic]) -> Kernel:
    return Kernel(
        "common/ragged.cu",
        name,
        (
            Array("data", item, "size"),
            Array("starts", np.int64, "rows"),
            Array("offsets", np.int64, "rows", 1),
            Array("out", item, "total"),
            *(Length("size"), Length("total")),
            Scalar("rows", np.int32),
        ),
    )


GATHER_BYTES = _gather_kernel("gather_bytes", np.uint8)
GATHER_WORDS = _gather_kernel("gather_words", np.uint32)


def rows_struct(name: str, item: type[np.generic], rows: str = "count") -> Struct:
    """Declare a `DeviceRagged` of items, `Rows` of `cuda/common/rows.cuh`.

    `rows` names the number of rows that a kernel reads, if it is the number of another struct.
    """
    return Struct(
        name,
        (
            Array("data", item, "size"),
            Array("offsets", np.int64, rows, 1),
            *(Length("size"), Scalar("count", np.int32)),
        ),
    )


@dataclass(frozen=True, slots=True)
class DeviceRagged:
    """Rows of different lengths, end to end in one array of the current GPU, as in `Ragged`.

    Attributes
    ----------
    data
        Any dtype on the GPU, shape [offsets[-1]].
    offsets
        int64[n + 1] on the GPU, from 0, never decreasing.
    """

    data: GpuArray
    offsets: GpuArray

    def __len__(self) -> int:
        return int(self.offsets.size) - 1

    @property
    def fields(self) -> tuple[GpuArray | int, ...]:
        """The fields of `rows_struct`: data of any dtype, int64 offsets, and their sizes."""
        return self.data, self.offsets, self.data.size, len(self)

    @classmethod
    def upload(cls, rows: Ragged) -> DeviceRagged:
        """Copy `rows`, of any dtype, to the current GPU."""
        return cls(cupy.asarray(rows.data), cupy.asarray(rows.offsets))

    @classmethod
    def upload_large(cls, rows: Ragged) -> DeviceRagged:
        """Copy `rows`, of any dtype, through little pinned memory.

        `upload` keeps as much pinned memory as the rows take.
        """
        return cls(uploaded(rows.data), uploaded(rows.offsets))

    def download(self) -> Ragged:
        """Copy the rows, of any dtype, to host memory."""
        return Ragged(self.data.get(), self.offsets.get())

    @classmethod
    def from_lengths(cls, data: GpuArray, lengths: GpuArray) -> DeviceRagged:
        """Cut `data`, of any dtype, into rows of `lengths`, any integer dtype[n].

        The sum of the lengths is the size of `data`.
        """
        return cls(data, offsets_of(lengths))

    @classmethod
    def gather(cls, data: GpuArray, starts: GpuArray, lengths: GpuArray) -> DeviceRagged:
        """Copy rows end to end from anywhere in `data`, uint8 or uint32; waits for the GPU.

        `starts` and `lengths`, of any integer dtype, have shape [n].
        """
        return cls.gather_at(data, starts.astype(np.int64, copy=False), offsets_of(lengths))

    @classmethod
    def gather_at(cls, data: GpuArray, starts: GpuArray, offsets: GpuArray) -> DeviceRagged:
        """Copy rows from anywhere in `data` to `offsets`, int64[n + 1]; waits for the GPU.

        `data` is uint8 or uint32, and `starts` is int64[n].
        """
        rows, (total,) = int(starts.size), last_values(offsets)
        out = cupy.empty(total, dtype=data.dtype)
        if total:
            kernel = GATHER_BYTES if data.dtype.itemsize == 1 else GATHER_WORDS
            arguments = (data, starts, offsets, out, data.size, total, rows)
            launch_threads(kernel, _THREADS, rows * WARP, arguments)
        return cls(out, offsets)

    @classmethod
    def concatenate(cls, parts: Sequence[DeviceRagged]) -> DeviceRagged:
        """Concatenate the rows of arrays of one dtype, at least one."""
        data = cupy.concatenate([part.data for part in parts])
        return cls(data, offsets_of(cupy.concatenate([part.lengths for part in parts])))

    @property
    def lengths(self) -> GpuArray:
        """int64[n] on the GPU: the length of each row."""
        return self.offsets[1:] - self.offsets[:-1]

    def lengths_of(self, rows: GpuArray) -> GpuArray:
        """Return int64[r]: the lengths of `rows`, any integer dtype[r], which may repeat."""
        return self.offsets[rows + 1] - self.offsets[rows]

    def take(self, rows: GpuArray) -> DeviceRagged:
        """Gather `rows`, any integer dtype[r], in any order, with repeats; waits for the GPU.

        The data of this array must be uint8 or uint32.
        """
        return DeviceRagged.gather(self.data, self.offsets[rows], self.lengths_of(rows))


def offsets_of(lengths: GpuArray) -> GpuArray:
    """Return int64[n + 1]: the offsets of rows of `lengths`, any integer dtype[n], end to end."""
    offsets = cupy.zeros(lengths.size + 1, dtype=np.int64)
    cupy.cumsum(lengths, dtype=np.int64, out=offsets[1:])
    return offsets


def rows_of(offsets: GpuArray, total: int) -> GpuArray:
    """Return int64[total]: the row of each element, by `offsets`, int64[n + 1], up to `total`."""
    return cupy.searchsorted(offsets[1:], cupy.arange(total), side="right")


def chosen_rows(is_chosen: GpuArray) -> GpuArray:
    """Return int64[c]: the rows at which `is_chosen`, bool[n] or int64[n], is 1; waits for the GPU.

    CuPy's own functions keep other threads from launching kernels meanwhile.
    """
    if is_chosen.size == 0:
        return cupy.empty(0, dtype=np.int64)
    ends = cupy.cumsum(is_chosen, dtype=np.int64)
    (count,) = last_values(ends)
    return cupy.searchsorted(ends, cupy.arange(1, count + 1, dtype=np.int64))
