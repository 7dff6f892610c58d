"""Reads that the dot plot shows: all of a small file, one in N of a large file."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.ragged import Ragged
from hapgpu.report.mappings.parse import Column

MAX_SEGMENTS: Final = 6000


class DrawnReads:
    """Mappings of every N-th read; N doubles when they become too many.

    Of a read with too many mappings, the longest are kept.

    Attributes
    ----------
    stride
        N.
    is_cut
        Whether shorter mappings of a read are left out.
    columns
        int64[n, columns]: the mappings, as in `Column`; `READ` and `CONTIG` replace two of them.
    """

    READ: Final = Column.QUERY
    CONTIG: Final = Column.TARGET

    def __init__(self) -> None:
        self.stride = 1
        self.is_cut = False
        self.columns = np.empty((0, len(Column)), dtype=np.int64)
        self._names: dict[int, str] = {}

    def add(
        self,
        text: NDArray[np.uint8],
        columns: NDArray[np.int64],
        reads: NDArray[np.int64],
        contigs: NDArray[np.int64],
    ) -> None:
        """Keep the mappings of some reads.

        Parameters
        ----------
        text
            The lines.
        columns
            int64[n, columns]: their columns, in the order of the file.
        reads, contigs
            int64[n]: number of the read in the file, and of the contig.
        """
        is_kept = reads % self.stride == 0
        while len(self.columns) + np.count_nonzero(is_kept) > MAX_SEGMENTS and (
            self._can_thin(reads[is_kept])
        ):
            self.stride *= 2
            self.columns = self.columns[self.columns[:, self.READ] % self.stride == 0]
            is_kept = reads % self.stride == 0
        kept = columns[is_kept]
        self._keep_names(text, kept, reads[is_kept])
        kept[:, self.READ], kept[:, self.CONTIG] = reads[is_kept], contigs[is_kept]
        self.columns = np.concatenate([self.columns, kept])
        if len(self.columns) > MAX_SEGMENTS:
            spans = self.columns[:, Column.TARGET_STOP] - self.columns[:, Column.TARGET_START]
            longest = np.argsort(-spans, kind="stable")[:MAX_SEGMENTS]
            self.columns = self.columns[np.sort(longest)]
            self.is_cut = True

    def _can_thin(self, reads: NDArray[np.int64]) -> bool:
        """Tell whether there are several reads: the mappings of one read stay together."""
        return np.unique(np.append(self.columns[:, self.READ], reads)).size > 1

    def _keep_names(
        self, text: NDArray[np.uint8], kept: NDArray[np.int64], reads: NDArray[np.int64]
    ) -> None:
        numbers, first = np.unique(reads, return_index=True)
        starts, ends = kept[first, Column.QUERY], kept[first, Column.QUERY_END]
        names = Ragged.gather(text, starts, ends - starts)
        self._names = {
            number: name for number, name in self._names.items() if number % self.stride == 0
        }
        for number, name in zip(numbers.tolist(), names, strict=True):
            self._names[number] = name.tobytes().decode("utf-8", "replace")

    def names(self) -> Iterator[str]:
        """Yield the name of the read of each mapping."""
        return (self._names[number] for number in self.columns[:, self.READ].tolist())
