"""Columns of records that only some outputs have."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.ragged import Ragged


@dataclass(frozen=True, slots=True)
class AlleleAnnotations:
    """Allele-specific raw annotations of the a alleles of v records of one sample.

    Attributes
    ----------
    rank_sums
        int64[3, a]: bins of 0.1 of the z scores of `ALLELE_RANK_SUMS`; `NO_SCORE` for an ALT
        without reads, `NO_REFERENCE` for all alleles of a record without reads of REF, and for REF.
    squares
        int64[a]: sum of squared mapping qualities of the reads that support the allele.
    strands
        int64[a, 2]: reads that support the allele, forward and reverse.
    """

    rank_sums: NDArray[np.int64]
    squares: NDArray[np.int64]
    strands: NDArray[np.int64]


NO_SCORE: Final = -(2**62)
NO_REFERENCE: Final = NO_SCORE - 1
"""Instead of a bin."""


@dataclass(frozen=True, slots=True)
class TandemRepeats:
    """Tandem repeats whose lengths v records change.

    Attributes
    ----------
    units
        uint8 text, v rows: the unit, empty if there is none.
    counts
        int64[a]: units in each of the a alleles of the records.
    """

    units: Ragged
    counts: NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class DragstrTexts:
    """Texts of v records by the DRAGstr model, empty without an indel.

    Attributes
    ----------
    repeats, values
        uint8 text, v rows: bases of the unit and copies; gap open, gap continuation, prior.
    """

    repeats: Ragged
    values: Ragged


@dataclass(frozen=True, slots=True)
class RecordMarks:
    """ID, flags and filters of v records.

    Attributes
    ----------
    ids
        uint8 text, v rows; empty for a record without ID.
    flags
        uint8[v, f]: whether INFO has each of f flags, whose names the writer knows.
    filters
        uint32[v]: bit k for filter k of `output.filters.FILTERS`.
    """

    ids: Ragged
    flags: NDArray[np.uint8]
    filters: NDArray[np.uint32]

    @classmethod
    def none(cls, records: int) -> RecordMarks:
        """Return the marks of records without any."""
        return cls(
            Ragged(np.empty(0, dtype=np.uint8), np.zeros(records + 1, dtype=np.int64)),
            np.zeros((records, 0), dtype=np.uint8),
            np.zeros(records, dtype=np.uint32),
        )
