"""An FM index in GPU memory."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import cupy
import numpy as np
from numpy.typing import NDArray

from hapgpu.runtime.devices import CudaDevice
from hapgpu.runtime.gpu.resident import ResidentCopies
from hapgpu.runtime.gpu.staging import uploaded
from hapgpu.runtime.gpu_array import GpuArray
from hapgpu.shortread.index.fm_index import FMIndexArrays, SuffixSamples


@dataclass(frozen=True, slots=True)
class DeviceIndex:
    """The arrays of `FMIndexArrays` on one GPU, as arguments of kernels.

    Attributes
    ----------
    occurrences
        Blocks, number of blocks, and the primary row.
    jump
        Table, k-mer length, number of entries.
    suffixes
        Suffix array or sampled positions, their number, then the marks, their ranks and the
        number of words of marks (0 with a whole suffix array).
    reference
        Planes, others, number of blocks, contig offsets and number of contigs.
    letters
        Positions and letters of `ReferenceBases`.
    """

    occurrences: tuple[object, ...]
    jump: tuple[object, ...]
    suffixes: tuple[object, ...]
    reference: tuple[object, ...]
    letters: tuple[GpuArray, GpuArray]


def index_bytes(index: FMIndexArrays) -> int:
    """Return the number of bytes that an index takes on a GPU."""
    return sum(array.nbytes for array in index.arrays().values())


def resident_index(index: FMIndexArrays, device: CudaDevice) -> DeviceIndex:
    """Return an index on a GPU, copied there once for as long as the index is in use.

    Raises
    ------
    DeviceError
        The index does not fit.
    """
    return _copies.on(index, device)


def _copied(index: FMIndexArrays) -> DeviceIndex:
    nothing = cupy.empty(2, dtype=np.uint32)
    bases, suffixes = index.bases, index.suffixes
    marks: tuple[object, ...] = (nothing.view(np.uint64), nothing, 0)
    if isinstance(suffixes, SuffixSamples):
        marks = (_on_device(suffixes.marks), _on_device(suffixes.ranks), suffixes.marks.size)
        suffixes = suffixes.positions
    return DeviceIndex(
        occurrences=(
            _on_device(index.occurrences),
            index.occurrences.size // 8,
            index.primary,
        ),
        jump=(_on_device(index.jump), index.jump_length, index.jump.size),
        suffixes=(_on_device(suffixes), suffixes.size, *marks),
        reference=(
            _on_device(bases.planes),
            _on_device(bases.others),
            bases.others.size,
            _on_device(index.contigs.offsets),
            index.contigs.offsets.size - 1,
        ),
        letters=(_on_device(bases.letter_positions), _on_device(bases.letters)),
    )


def _on_device(array: NDArray[Any]) -> GpuArray:
    return uploaded(np.ascontiguousarray(array))


_copies = ResidentCopies(
    "the index", index_bytes, _copied, "build it with --low-memory, or use --device cpu"
)
