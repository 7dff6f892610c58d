"""Cells of the matrices in which the best alignments end, in GPU memory."""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np

from hapgpu.runtime.gpu.kernel import Array, KernelArgument, Struct
from hapgpu.runtime.gpu_array import GpuArray

UNCERTIFIED: Final = -1
"""Row of a pair whose best end cell 16 bits did not prove."""

ALIGNED: Final = -2
"""Row of a pair that is aligned: its outputs stay as they are."""

END_CELLS: Final = Struct(
    "end_cells",
    tuple(Array(name, np.int32, "pairs.count") for name in ("scores", "rows", "columns")),
)


class EndCells(NamedTuple):
    """The best end cell of each of n pairs, by GATK's rules for equal scores.

    Attributes
    ----------
    scores
        int32[n], in the unit of the weights.
    rows, columns
        int32[n]: bases of the reference and of the query up to the end, 1-based row and column of
        the matrix; the row is `UNCERTIFIED` where another kernel has to align the pair, and the
        score and the column are undefined then.
    """

    scores: GpuArray
    rows: GpuArray
    columns: GpuArray

    @property
    def fields(self) -> tuple[KernelArgument, ...]:
        """The fields of `END_CELLS`."""
        return tuple(self)
