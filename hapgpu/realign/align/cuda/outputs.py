"""Arrays that the kernels of the aligner fill, a row per pair in the order of the caller."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import cupy
import numpy as np

from hapgpu.arrays.cuda import DeviceRagged
from hapgpu.realign.align.cuda.batches import DeviceAlignments
from hapgpu.runtime.gpu.kernel import Array, KernelArgument, Length, Scalar, Struct
from hapgpu.runtime.gpu_array import GpuArray

FIXED_RUNS: Final = 3
"""CIGAR elements of an alignment without a gap, at most: clips around its matches. Such an
alignment of pair p is at `pool[FIXED_RUNS * p]`; others come after these of all pairs."""

OUTPUTS: Final = Struct(
    "outputs",
    (
        *(
            Array(name, np.int32, "count")
            for name in ("scores", "offsets", "cigar_starts", "cigar_counts")
        ),
        Array("pool", np.uint32, "pool_capacity"),
        *(Array("pool_used", np.uint64, "one"), Length("one")),
        *(Scalar("pool_capacity", np.int32), Scalar("count", np.int32)),
    ),
)


@dataclass(frozen=True, slots=True)
class Outputs:
    """Alignments of n pairs, in any order of the CIGARs.

    Attributes
    ----------
    scores, offsets
        int32[n].
    cigar_starts, cigar_counts
        int32[n]: where the CIGAR of each pair is in `pool`, and its elements.
    pool
        uint32: CIGAR elements in BAM encoding.
    pool_used
        uint64[1]: elements that are in use, those for alignments without a gap included; above the
        size of the pool, it was too small, and the CIGARs are undefined.
    """

    scores: GpuArray
    offsets: GpuArray
    cigar_starts: GpuArray
    cigar_counts: GpuArray
    pool: GpuArray
    pool_used: GpuArray

    @classmethod
    def for_pairs(cls, pairs: int, other_runs: int) -> Outputs:
        """Allocate for a number of pairs, and of elements of alignments with gaps."""
        fixed = FIXED_RUNS * pairs
        pool = cupy.empty(fixed + other_runs, dtype=np.uint32)
        scores, offsets, starts, counts = (cupy.empty(pairs, dtype=np.int32) for _ in range(4))
        used = cupy.full(1, fixed, dtype=np.uint64)
        return cls(scores, offsets, starts, counts, pool, used)

    @property
    def fields(self) -> tuple[KernelArgument, ...]:
        """The fields of `OUTPUTS`."""
        per_pair = (self.scores, self.offsets, self.cigar_starts, self.cigar_counts)
        counts = (self.pool_used.size, self.pool.size, self.scores.size)
        return (*per_pair, self.pool, self.pool_used, *counts)

    def alignments(self) -> DeviceAlignments:
        """Gather the CIGARs of all pairs in order; waits for the GPU."""
        cigars = DeviceRagged.gather(self.pool, self.cigar_starts, self.cigar_counts)
        return DeviceAlignments(self.scores, self.offsets, cigars)
