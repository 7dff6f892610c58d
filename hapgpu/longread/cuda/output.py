"""What lines of PAF need, copied from a GPU to the host."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import cupy
import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.cuda import DeviceRagged
from hapgpu.io.fastx.cuda import DeviceSpans
from hapgpu.longread.batches import Mappings, NamedReads
from hapgpu.runtime.gpu.context import pinned_array
from hapgpu.runtime.gpu_array import GpuArray

_UNIT: Final = 1 << 20  # of pinned memory: few different sizes, which are pooled
_ALIGNMENT: Final = 8
_COLUMNS: Final = tuple(Mappings.__dataclass_fields__)


def copy_to_host(
    text: GpuArray, spans: DeviceSpans, mappings: Mappings
) -> tuple[NamedReads, Mappings]:
    """Copy the names and lengths of reads, and their mappings; waits for the current stream.

    Parameters
    ----------
    text
        uint8 on the current device: text of the reads.
    spans
        Spans of the reads in the text.
    mappings
        Mappings of the reads, on the device.
    """
    names = DeviceRagged.gather(text, spans.name_starts, spans.name_lengths)
    starts = names.offsets[:-1].astype(np.int32)
    reads = (names.data, starts, spans.name_lengths, spans.lengths)
    copies = _copied((*reads, *(getattr(mappings, name) for name in _COLUMNS)))
    columns = dict(zip(_COLUMNS, copies[len(reads) :], strict=True))
    return NamedReads(*copies[: len(reads)]), Mappings(**columns)


def _copied(arrays: Sequence[GpuArray]) -> list[NDArray[Any]]:
    """Copy one-dimensional arrays from the device, and wait once."""
    sizes = [-(-array.nbytes // _ALIGNMENT) * _ALIGNMENT for array in arrays]
    units = max(-(-sum(sizes) // _UNIT), 1)
    memory = pinned_array(units * _UNIT, np.uint8)
    stream = cupy.cuda.get_current_stream()
    copies, start = [], 0
    for array, size in zip(arrays, sizes, strict=True):
        out = memory[start : start + array.nbytes].view(array.dtype)
        array.get(stream=stream, out=out, blocking=False)
        copies.append(out)
        start += size
    stream.synchronize()
    return copies
