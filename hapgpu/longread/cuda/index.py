"""A minimizer index in GPU memory."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import cupy
import numpy as np
from numpy.typing import NDArray

from hapgpu.longread.index.minimizer_index import MinimizerIndex
from hapgpu.longread.options import SketchOptions
from hapgpu.runtime.devices import CudaDevice
from hapgpu.runtime.gpu.resident import ResidentCopies
from hapgpu.runtime.gpu.staging import uploaded
from hapgpu.runtime.gpu_array import GpuArray


@dataclass(frozen=True, slots=True, eq=False)
class DeviceMinimizerIndex:
    """The arrays of a `MinimizerIndex` on one GPU.

    Attributes
    ----------
    lengths
        int32[n]: lengths of the n reference sequences.
    sketch
        Options of the minimizers.
    directory, directory_bits, entries, occurrences
        As in `MinimizerIndex`.
    """

    lengths: GpuArray
    sketch: SketchOptions
    directory: GpuArray
    directory_bits: int
    entries: GpuArray
    occurrences: GpuArray

    @property
    def distinct(self) -> int:
        """Number of distinct minimizers."""
        return int(self.entries.size) // 2 - 1


def index_bytes(index: MinimizerIndex) -> int:
    """Return the size of an index on a GPU in bytes."""
    arrays = (index.directory, index.entries, index.occurrences)
    return sum(array.nbytes for array in arrays) + 4 * index.lengths.size


def resident_index(index: MinimizerIndex, device: CudaDevice) -> DeviceMinimizerIndex:
    """Return an index on a device; it is copied once and stays while the index is in use.

    Raises
    ------
    DeviceError
        The index does not fit the device.
    """
    return _copies.on(index, device)


def _copied(index: MinimizerIndex) -> DeviceMinimizerIndex:
    return DeviceMinimizerIndex(
        lengths=cupy.asarray(index.lengths.astype(np.int32)),
        sketch=index.sketch,
        directory=_on_device(index.directory),
        directory_bits=index.directory_bits,
        entries=_on_device(index.entries),
        occurrences=_on_device(index.occurrences),
    )


def _on_device(array: NDArray[Any]) -> GpuArray:
    return uploaded(np.ascontiguousarray(array))


_copies = ResidentCopies("the minimizer index", index_bytes, _copied, "use --device cpu")
