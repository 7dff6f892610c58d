"""Alignments of haplotypes with the reference on a GPU (`cuda/realign/projection/placement.cu`).

Same as `hapgpu/realign/projection/placement.py`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final, Self

import cupy
import numpy as np

from hapgpu.arrays.cuda import DeviceRagged, offsets_of
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


@dataclass(frozen=True, slots=True)
class DevicePlacement:
    """CIGARs and flanks of `Placement` on the current GPU: h haplotypes.

    Attributes
    ----------
    cigars
        uint32 in BAM encoding, h rows.
    flanks
        int64[2, h].
    """

    cigars: DeviceRagged
    flanks: Any

    @classmethod
    def upload(cls, placement: Placement) -> Self:
        """Copy a placement to the current GPU."""
        return cls(DeviceRagged.upload(placement.cigars), cupy.asarray(placement.flanks))

    def place(
        self,
        haplotypes: Any,
        flanks: Any,
        windows: Any,
        references: DeviceRagged,
        reference_starts: Any,
    ) -> DevicePlacedHaplotypes:
        """Return the alignments of e extended haplotypes with their windows; waits for the GPU.

        Parameters
        ----------
        haplotypes, flanks, windows, references, reference_starts
            Columns of `ExtendedHaplotypes` on the GPU: int32[e], int64[2, e], int32[e], uint8 text
            and int64[w].
        """
        longer = flanks - self.flanks[:, haplotypes]
        return DevicePlacedHaplotypes(
            lengthened(self.cigars, haplotypes, longer),
            cupy.zeros(haplotypes.size, dtype=np.int64),
            windows,
            references,
            reference_starts,
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
