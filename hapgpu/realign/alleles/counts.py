"""Numbers of reads per sample and haplotype: of batches, and of a whole run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class AlleleCounts:
    """Numbers of reads of some batches.

    A sample has two cells per haplotype: of the reads that it alone explains best, and of those
    that another one explains as well. The last cell is of reads that no haplotype explains.

    Attributes
    ----------
    cells
        int64[c]: cells of one sample after the other, in any order.
    reads
        int64[c]: numbers of reads to add to them.
    """

    cells: NDArray[np.int64]
    reads: NDArray[np.int64]

    @classmethod
    def concatenate(cls, parts: Sequence[Self]) -> Self:
        """Join counts, at least one."""
        return cls(
            np.concatenate([part.cells for part in parts]),
            np.concatenate([part.reads for part in parts]),
        )


def count_alleles(
    samples: NDArray[np.int32],
    reads: NDArray[np.int64],
    haplotypes: NDArray[np.int32],
    are_tied: NDArray[np.bool_],
    count: int,
) -> AlleleCounts:
    """Count the reads of a batch.

    Parameters
    ----------
    samples
        int32[n]: the sample of each read.
    reads, haplotypes
        int64[m] and int32[m]: the reads that a haplotype explains, and this haplotype.
    are_tied
        bool[n]: whether another haplotype explains the read as well.
    count
        Number of haplotypes.
    """
    chosen = np.full(samples.size, 2 * count, dtype=np.int64)
    chosen[reads] = 2 * haplotypes.astype(np.int64) + are_tied[reads]
    cells, numbers = np.unique(samples * np.int64(2 * count + 1) + chosen, return_counts=True)
    return AlleleCounts(cells, numbers.astype(np.int64))


class AlleleTally:
    """Numbers of reads of a whole run.

    Parameters
    ----------
    samples, haplotypes
        Their numbers, s and h.
    """

    def __init__(self, samples: int, haplotypes: int) -> None:
        self._cells = np.zeros((samples, 2 * haplotypes + 1), dtype=np.int64)

    def add(self, counts: AlleleCounts) -> None:
        """Add the counts of some batches."""
        np.add.at(self._cells.reshape(-1), counts.cells, counts.reads)

    @property
    def alone(self) -> NDArray[np.int64]:
        """int64[s, h]: reads that this haplotype alone explains best."""
        return self._cells[:, :-1:2]

    @property
    def tied(self) -> NDArray[np.int64]:
        """int64[s, h]: reads that this haplotype, the first of the best, and others explain."""
        return self._cells[:, 1:-1:2]

    @property
    def unexplained(self) -> NDArray[np.int64]:
        """int64[s]: reads that no haplotype explains."""
        return self._cells[:, -1]
