"""Arrays of a piece on the GPU, by the names of the fields of the pair-HMM kernels."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from itertools import accumulate
from typing import Any, Final, NamedTuple

import cupy
import numpy as np
from numpy.typing import NDArray

from hapgpu.pairhmm.cuda.kernels import LENGTH_BINS
from hapgpu.pairhmm.model import ERROR_PROBABILITIES
from hapgpu.runtime.gpu.arguments import Checked
from hapgpu.runtime.gpu.context import pinned_array
from hapgpu.runtime.gpu.kernel import KernelArgument, Parameter, Struct
from hapgpu.runtime.gpu.launch import LoadedKernel
from hapgpu.runtime.gpu_array import GpuArray

_ALIGNMENT: Final = 256
_KEPT_BYTES: Final = 1 << 25
"""Arrays of pieces up to this size are kept for the next piece of about the same size."""

READ_COLUMN_NAMES: Final = tuple(
    f"reads.columns.{name}"
    for name in ("bases", "base_qualities", "insertion_qualities", "deletion_qualities")
)

_thread = threading.local()
_Field = tuple[str, type[np.generic], int]


class PieceSizes(NamedTuple):
    """Numbers of items of a piece; `continuations` is 1, or the number of bases."""

    reads: int
    bases: int
    continuations: int
    haplotypes: int
    columns: int
    groups: int
    pairs: int
    layouts: int
    mask_words: int
    scratch: int
    is_on_device: bool
    """Whether the sequences are on the device already, in arrays of their own."""

    def rounded(self) -> PieceSizes:
        """Return sizes at least as large, which many pieces have in common."""
        reads, bases, haplotypes, columns, groups, pairs, mask_words = (
            1 << max(size - 1, 0).bit_length()
            for size in (
                *(self.reads, self.bases, self.haplotypes, self.columns, self.groups),
                *(self.pairs, self.mask_words),
            )
        )
        continuations = 1 if self.continuations == 1 else bases
        return PieceSizes(
            *(reads, bases, continuations, haplotypes, columns, groups, pairs),
            *(self.layouts, mask_words, self.scratch, self.is_on_device),
        )

    def uploaded_fields(self) -> list[_Field]:
        """Return name, dtype and size of each array that is copied to the device."""
        sequences: list[_Field] = [
            *((name, np.uint8, self.bases) for name in READ_COLUMN_NAMES),
            ("haplotypes.bases", np.uint8, self.columns),
            ("reads.offsets", np.int32, self.reads + 1),
        ]
        if self.is_on_device:
            sequences = []
        if not self.is_on_device or self.continuations == 1:
            sequences.append(("reads.gap_continuations", np.uint8, self.continuations))
        return [
            *sequences,
            ("probabilities", np.float64, ERROR_PROBABILITIES.size),
            ("haplotypes.offsets", np.int32, self.haplotypes + 1),
            ("groups.reads", np.int32, self.groups + 1),
            ("groups.haplotypes", np.int32, self.groups + 1),
            ("groups.pairs", np.int32, self.groups + 1),
            ("haplotypes.layouts", np.int32, self.haplotypes),
            ("haplotypes.mask_starts", np.int32, self.haplotypes + 1),
            ("layouts.columns", np.int32, self.layouts),
            ("layouts.lanes", np.int32, self.layouts),
            ("bins", np.int32, self.layouts * LENGTH_BINS),
            ("exact_pairs.count", np.int32, 1),
            ("too_small", np.int32, 1),
            ("taken", np.int32, 1),
        ]

    @property
    def uploaded_bytes(self) -> int:
        """Bytes of the arrays that are copied to the device, with the room between them."""
        return _starts(self.uploaded_fields())[-1]

    @property
    def total_bytes(self) -> int:
        """Bytes of all arrays on the device, with the room between them."""
        return _starts([*self.uploaded_fields(), *self.computed_fields()])[-1]

    def computed_fields(self) -> list[_Field]:
        """Return name, dtype and size of each array that kernels fill in."""
        return [
            ("coefficients.rows", np.float32, 4 * self.bases),
            ("coefficients.emissions", np.float32, 2 * self.bases),
            ("coefficients.products", np.float64, self.reads),
            ("coefficients.thresholds", np.float64, self.reads),
            ("coefficients.last_insertions", np.float32, self.reads),
            ("masks", np.uint32, self.mask_words),
            ("pairs", np.int32, 8 * self.pairs),
            ("layouts.starts", np.int32, self.layouts),
            ("layouts.pairs", np.int32, self.layouts),
            ("exact_pairs.pairs", np.int32, self.pairs),
            ("likelihoods", np.float64, self.pairs),
            ("scratch", np.float64, self.scratch),
        ]

    def scalars(self) -> dict[str, int]:
        """Return the sizes by the names of the kernels' fields."""
        return {
            "reads.columns.count": self.bases,
            "reads.continuations": self.continuations,
            "reads.count": self.reads,
            "byte_values": ERROR_PROBABILITIES.size,
            "haplotypes.count": self.haplotypes,
            "haplotypes.base_count": self.columns,
            "groups.count": self.groups,
            "bin_count": self.layouts * LENGTH_BINS,
            "layouts.count": self.layouts,
            "coefficients.row_count": self.bases,
            "coefficients.read_count": self.reads,
            "pair_count": self.pairs,
            "mask_words": self.mask_words,
            "scratch_size": self.scratch,
            "exact_pairs.one": 1,
            "one": 1,
        }


class PieceArrays:
    """Arrays of a piece on the current device, and the host memory of those that are uploaded.

    Parameters
    ----------
    sizes
        Sizes of the arrays; a piece may have less of everything except layouts.
    memory
        uint8, pinned: `sizes.uploaded_bytes` bytes.

    Attributes
    ----------
    sizes
        As given.
    device
        Arrays on the device, by name.
    host
        Arrays to fill in before `upload`, by name.
    """

    def __init__(self, sizes: PieceSizes, memory: NDArray[np.uint8]) -> None:
        self.sizes = sizes
        fields = [*sizes.uploaded_fields(), *sizes.computed_fields()]
        *starts, size = _starts(fields)
        on_device = cupy.empty(size, dtype=np.uint8)
        self._memory, self._uploaded = memory, on_device[: memory.size]
        self.device: dict[str, GpuArray] = {
            name: cupy.ndarray((count,), dtype, on_device.data + start)
            for (name, dtype, count), start in zip(fields, starts, strict=True)
        }
        self.host: dict[str, NDArray[Any]] = {
            name: memory[start : start + count * np.dtype(dtype).itemsize].view(dtype)
            for (name, dtype, count), start in zip(sizes.uploaded_fields(), starts, strict=False)
        }
        self.host["probabilities"][:] = ERROR_PROBABILITIES
        for name in ("bins", "exact_pairs.count", "too_small", "taken"):
            self.host[name][:] = 0
        self._checked: dict[int, Checked] = {}

    def upload(self, stream: cupy.cuda.Stream) -> cupy.cuda.Event:
        """Start the copy of all arrays of `host`; return an event at its end."""
        self._uploaded.set(self._memory, stream=stream)
        return stream.record()

    def arguments(
        self, kernel: LoadedKernel, scalars: Mapping[str, float], given: Mapping[str, GpuArray]
    ) -> Checked:
        """Return the arguments of a kernel: these arrays and their sizes.

        `given`, uint8 or int32, are other arrays by name, always the same; `scalars` are those that
        are not sizes.

        Raises
        ------
        TypeError, ValueError, OverflowError
            As `LoadedKernel.check`.
        """
        key = id(kernel.parameters)
        if key not in self._checked:
            values = {**scalars, **self.device, **self.sizes.scalars(), **given}
            arguments = [_argument(parameter, values) for parameter in kernel.parameters]
            self._checked[key] = kernel.check(arguments)
        return self._checked[key]


def _argument(parameter: Parameter, values: Mapping[str, Any], prefix: str = "") -> KernelArgument:
    """Return an argument, or the arguments of a struct, from values by the names of fields."""
    name = f"{prefix}{parameter.name}"
    if isinstance(parameter, Struct):
        return tuple(_argument(field, values, f"{name}.") for field in parameter.fields)
    argument: KernelArgument = values[name]
    return argument


def _starts(fields: Sequence[_Field]) -> list[int]:
    """Return the offset of each array in one memory, and the end of the last."""
    sizes = (count * np.dtype(dtype).itemsize for _, dtype, count in fields)
    return list(accumulate((-(-size // _ALIGNMENT) * _ALIGNMENT for size in sizes), initial=0))


class ArrayStore:
    """Memory of pieces that follow each other on one stream.

    Making arrays takes longer than the kernels of a small piece: the arrays of the last small piece
    are kept, for pieces of about the same size. Large pieces share pinned memory, which takes long
    to get.
    """

    def __init__(self) -> None:
        self._kept: PieceArrays | None = None
        self._memory: NDArray[np.uint8] = np.empty(0, dtype=np.uint8)
        self._copied: cupy.cuda.Event | None = None

    def arrays(self, sizes: PieceSizes) -> PieceArrays:
        """Return arrays of at least these sizes, after the upload from their memory has ended."""
        if self._copied is not None:
            self._copied.synchronize()
        rounded = sizes.rounded()
        if self._kept is not None and self._kept.sizes == rounded:
            return self._kept
        if sizes.is_on_device or rounded.total_bytes > _KEPT_BYTES:
            return PieceArrays(sizes, self._large_memory(sizes.uploaded_bytes))
        self._kept = None
        memory = pinned_array(rounded.uploaded_bytes, np.uint8)
        self._kept = PieceArrays(rounded, memory)
        return self._kept

    def upload(self, arrays: PieceArrays, stream: cupy.cuda.Stream) -> None:
        """Start the copy of all arrays of `arrays.host`."""
        self._copied = arrays.upload(stream)

    def _large_memory(self, size: int) -> NDArray[np.uint8]:
        if self._memory.size < size:
            self._memory = np.empty(0, dtype=np.uint8)  # released before more is taken
            self._memory = pinned_array(size + size // 4, np.uint8)
        return self._memory[:size]


def array_store(device: int, number: int) -> ArrayStore:
    """Return the calling thread's memory of this number for a GPU, the same at each call."""
    own: dict[tuple[int, int], ArrayStore] = _thread.__dict__.setdefault("stores", {})
    return own.setdefault((device, number), ArrayStore())
