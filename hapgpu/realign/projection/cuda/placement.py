"""Alignments of haplotypes with the reference on a GPU (`cuda/realign/projection/placement.cu`).

Same as `hapgpu/realign/projection/placement.py`.
"""

from __future__ import annotations

from typing import Any, Final

import cupy
import numpy as np

from hapgpu.arrays.cuda import DeviceRagged, offsets_of
from hapgpu.haplotypes.pairing.extender_cuda import DeviceExtended
from hapgpu.realign.projection.cuda.project import DevicePlacedHaplotypes
from hapgpu.realign.projection.placement import Placement
from hapgpu.runtime.gpu.kernel import Array, Kernel, Scalar
from hapgpu.runtime.gpu.work_queue import launch_threads

_THREADS: Final = 128
_SOURCE: Final = "realign/projection/placement.cu"

_INPUTS: Final = (
    Array("cigars", np.uint32, "elements"),
    Array("offsets", np.int64, "haplotype_count", 1),
    Array("haplotypes", np.int32, "count"),
    Array("before", np.int64, "count"),
    Array("after", np.int64, "count"),
)
_SIZES: Final = (
    Scalar("elements", np.int64),
    Scalar("haplotype_count", np.int32),
    Scalar("count", np.int32),
)
MEASURE_LENGTHENED: Final = Kernel(
    _SOURCE, "measure_lengthened", (*_INPUTS, Array("sizes", np.int64, "count"), *_SIZES)
)
WRITE_LENGTHENED: Final = Kernel(
    _SOURCE,
    "write_lengthened",
    (
        *_INPUTS,
        Array("out_offsets", np.int64, "count", 1),
        Array("out", np.uint32, "written"),
        *_SIZES,
        Scalar("written", np.int64),
    ),
)


class DevicePlacement:
    """`Placement` for haplotypes that were extended on the current GPU."""

    def __init__(self, placement: Placement) -> None:
        self._cigars = DeviceRagged.upload(placement.cigars)
        self._flanks = cupy.asarray(placement.flanks)

    def place(self, extended: DeviceExtended) -> DevicePlacedHaplotypes:
        """Return the alignments of extended haplotypes with their windows; waits for the GPU."""
        rows = extended.haplotypes
        return DevicePlacedHaplotypes(
            lengthened(self._cigars, rows, extended.flanks - self._flanks[:, rows]),
            cupy.zeros(rows.size, dtype=np.int64),
            extended.windows,
            extended.references,
            extended.reference_starts,
        )


def lengthened(cigars: DeviceRagged, rows: Any, longer: Any) -> DeviceRagged:
    """Add matches before and after CIGARs, and wait for the GPU.

    Parameters
    ----------
    cigars
        uint32 in BAM encoding.
    rows
        int32[n], the row of `cigars` for each result.
    longer
        int64[2, n], the matches to add; none where the number is 0.
    """
    count = int(rows.size)
    inputs = (cigars.data, cigars.offsets, rows, longer[0], longer[1])
    lengths = (cigars.data.size, len(cigars), count)
    sizes = cupy.empty(count, dtype=np.int64)
    launch_threads(MEASURE_LENGTHENED, _THREADS, count, (*inputs, sizes, *lengths))
    offsets = offsets_of(sizes)
    out = cupy.empty(int(offsets[-1]), dtype=np.uint32)
    written = (*inputs, offsets, out, *lengths, out.size)
    launch_threads(WRITE_LENGTHENED, _THREADS, count, written)
    return DeviceRagged(out, offsets)
