"""Reads at records: their samples, strands and mapping qualities."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.batches import ReadBatch
from hapgpu.arrays.ragged import lengths_of
from hapgpu.calling.annotations.strand import NEITHER
from hapgpu.calling.batches import RegionReads, VariantCalls

_REVERSE: Final = 16
_NO_MAPPING_QUALITY: Final = 255


@dataclass(frozen=True, slots=True)
class Evidence:
    """x reads at s sites.

    Attributes
    ----------
    records
        int64[x]: the record at the site of each read; -1 for none.
    samples
        int32[x].
    mapping_qualities
        uint8[x].
    is_reverse
        bool[x].
    """

    records: NDArray[np.int64]
    samples: NDArray[np.int32]
    mapping_qualities: NDArray[np.uint8]
    is_reverse: NDArray[np.bool_]

    @classmethod
    def of(
        cls,
        calls: VariantCalls,
        site_offsets: NDArray[np.int64],
        rows: NDArray[np.int64],
        reads: RegionReads,
        records: ReadBatch,
    ) -> Evidence:
        """Gather columns of reads.

        Parameters
        ----------
        calls
            v records.
        site_offsets
            int64[s + 1]: the reads of site i are `site_offsets[i]` to `site_offsets[i + 1]`.
        rows
            int64[x]: rows of `reads`.
        reads
            Rows of `records`.
        records
            The reads of the segment.
        """
        of_sites = np.full(site_offsets.size - 1, -1, dtype=np.int64)
        of_sites[calls.sites] = np.arange(len(calls))
        source = reads.rows[rows]
        return cls(
            np.repeat(of_sites, lengths_of(site_offsets)),
            reads.samples[rows],
            records.mapping_qualities[source],
            records.flags[source] & _REVERSE != 0,
        )

    def depths(self, records: int, samples: int) -> NDArray[np.int64]:
        """Count the reads of each sample at each record, int64[v, n]."""
        return self._counts(self.records >= 0, self.samples, records, samples)

    def mapping_quality_sums(self, records: int) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        """Return the sum of squared mapping qualities of each record, and the number of reads.

        Reads without a mapping quality do not count.
        """
        is_counted = (self.mapping_qualities != _NO_MAPPING_QUALITY) & (self.records >= 0)
        at = self.records[is_counted]
        squares = np.square(self.mapping_qualities[is_counted].astype(np.float64))
        sums = np.bincount(at, weights=squares, minlength=records).astype(np.float64)
        return sums, np.bincount(at, minlength=records).astype(np.int64)

    def usable(self, sides: NDArray[np.int8]) -> NDArray[np.int8]:
        """Return int8[x]: the sides for rank sums: `NEITHER` for a MAPQ of 0 or 255."""
        is_excluded = (self.mapping_qualities == 0) | (
            self.mapping_qualities == _NO_MAPPING_QUALITY
        )
        return np.where(is_excluded, np.int8(NEITHER), sides)

    def strand_tables(
        self, sides: NDArray[np.int8], records: int, samples: int
    ) -> NDArray[np.int64]:
        """Count reads by side and strand, int64[v, n, 4], for `strand_statistics`.

        `sides` is int8[x], `NEITHER` for reads that are not counted.
        """
        cells = 4 * self.samples + 2 * sides + self.is_reverse
        tables = self._counts(sides != NEITHER, cells, records, 4 * samples)
        return tables.reshape(records, samples, 4)

    def _counts(
        self,
        is_counted: NDArray[np.bool_],
        columns: NDArray[np.int32],
        records: int,
        width: int,
    ) -> NDArray[np.int64]:
        """Count reads by record and column, int64[records, width]."""
        cells = self.records[is_counted] * width + columns[is_counted]
        return np.bincount(cells, minlength=records * width).reshape(records, width)
