"""Reads that support the alleles of calls: depths, and bias between strands."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.batches import ReadBatch
from hapgpu.arrays.bytes import Integer
from hapgpu.arrays.ragged import Ragged, lengths_of
from hapgpu.arrays.ragged_view import RaggedView, read_only, view_of
from hapgpu.calling.batches import ReadsAtSites, RegionReads, VariantCalls
from hapgpu.runtime.jit import njit, njit_inlined

REFERENCE, ALTERNATE, NEITHER = 0, 1, -1
"""Sides of reads: the allele that a read supports."""
MIN_READS: Final = 3
"""Samples with fewer informative reads do not count in FS and AS_SB_TABLE."""

_INFORMATIVE: Final = 0.2
"""A read supports its best allele if it is more than this above the next, in log10."""

_REVERSE: Final = 16
NO_MAPPING_QUALITY: Final = 255


@dataclass(frozen=True, slots=True)
class ReadEvidence:
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
    ) -> ReadEvidence:
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
        """Return float64[v] and int64[v]: each record's sum of squared MAPQ, and number of reads.

        Reads without a mapping quality do not count.
        """
        is_counted = (self.mapping_qualities != NO_MAPPING_QUALITY) & (self.records >= 0)
        at = self.records[is_counted]
        squares = np.square(self.mapping_qualities[is_counted].astype(np.float64))
        sums = np.bincount(at, weights=squares, minlength=records).astype(np.float64)
        return sums, np.bincount(at, minlength=records).astype(np.int64)

    def usable(self, sides: NDArray[np.int8]) -> NDArray[np.int8]:
        """Return int8[x]: `sides`, int8[x], for rank sums: `NEITHER` for a MAPQ of 0 or 255."""
        is_excluded = (self.mapping_qualities == 0) | (self.mapping_qualities == NO_MAPPING_QUALITY)
        return np.where(is_excluded, np.int8(NEITHER), sides)

    def zero_qualities(self, records: int) -> NDArray[np.int64]:
        """Count the reads with MAPQ 0 at each record, int64[v]."""
        is_counted = (self.mapping_qualities == 0) & (self.records >= 0)
        return np.bincount(self.records[is_counted], minlength=records).astype(np.int64)

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


@dataclass(frozen=True, slots=True)
class Support:
    """Alleles that reads support.

    Attributes
    ----------
    allele_depths
        int32 rows, v * n of them: the reads of each sample that support each allele of the record,
        best among the alleles of the record.
    sides
        int8[x]: `REFERENCE` or `ALTERNATE` if the read supports REF or an ALT of the record, best
        among all alleles of the site; else `NEITHER`.
    alleles
        int16[x]: this allele's number in the record, 0 for REF; `NEITHER` for none.
    """

    allele_depths: Ragged
    sides: NDArray[np.int8]
    alleles: NDArray[np.int16]


class _Records(NamedTuple):
    """Records as in `VariantCalls`, and their reads as in `ReadsAtSites`."""

    sites: NDArray[np.int64]
    allele_offsets: NDArray[np.int64]
    site_alleles: NDArray[np.int16]
    read_offsets: NDArray[np.int64]


def support_of(
    calls: VariantCalls, reads: ReadsAtSites, samples_of: NDArray[np.int32], samples: int
) -> Support:
    """Find the alleles that reads support.

    Parameters
    ----------
    calls
        v records.
    reads
        x reads at all sites.
    samples_of
        int32[x]: the sample of each.
    samples
        Samples in all, n.

    Returns
    -------
    Support of v records, v * n samples and x reads; reads at sites without a record have none.
    """
    lengths = np.repeat(lengths_of(calls.allele_offsets), samples)
    depths = Ragged.from_lengths(np.zeros(int(lengths.sum()), dtype=np.int32), lengths)
    sides = np.full(reads.reads.size, NEITHER, dtype=np.int8)
    alleles = np.full(reads.reads.size, NEITHER, dtype=np.int16)
    records = _Records(
        read_only(calls.sites),
        read_only(calls.allele_offsets),
        read_only(calls.site_alleles),
        read_only(reads.offsets),
    )
    likelihoods = view_of(reads.likelihoods)
    out = _Counts(depths.data, sides, alleles)
    _count(records, likelihoods, read_only(samples_of), samples, out)
    return Support(depths, sides, alleles)


class _Counts(NamedTuple):
    """Columns of `Support`."""

    depths: NDArray[np.int32]
    sides: NDArray[np.int8]
    alleles: NDArray[np.int16]


@njit
def _count(
    records: _Records,
    likelihoods: RaggedView,
    samples_of: NDArray[np.int32],
    samples: int,
    out: _Counts,
) -> None:
    for record in range(records.sites.size):
        site = records.sites[record]
        first, end = records.allele_offsets[record], records.allele_offsets[record + 1]
        for x in range(records.read_offsets[site], records.read_offsets[site + 1]):
            allele = _best_of_record(likelihoods, x, records.site_alleles, first, end)
            if allele >= 0:
                out.depths[first * samples + samples_of[x] * (end - first) + allele] += 1
            best = best_of_site(likelihoods, x)
            number = _number(best, records.site_alleles, first, end)
            out.alleles[x] = number
            out.sides[x] = min(number, ALTERNATE)


@njit_inlined
def _best_of_record(
    likelihoods: RaggedView,
    x: Integer,
    site_alleles: NDArray[np.int16],
    first: Integer,
    end: Integer,
) -> Integer:
    """Return the allele of the record that a read supports; -1 if none."""
    start = likelihoods.offsets[x]
    best: Integer = np.int64(-1)
    highest, second = -np.inf, -np.inf
    for k in range(first, end):
        value = likelihoods.data[start + site_alleles[k]]
        if value > highest:
            best, highest, second = k - first, value, highest
        elif value > second:
            second = value
    return best if highest - second > _INFORMATIVE else np.int64(-1)


@njit_inlined
def best_of_site(likelihoods: RaggedView, x: Integer) -> Integer:
    """Return the allele of the site that a read supports; -1 if none.

    `likelihoods` are float64 rows, a value per allele of the site; x is the row of the read.
    """
    start, end = likelihoods.offsets[x], likelihoods.offsets[x + 1]
    best: Integer = np.int64(-1)
    highest, second = -np.inf, -np.inf
    for k in range(start, end):
        value = likelihoods.data[k]
        if value > highest:
            best, highest, second = k - start, value, highest
        elif value > second:
            second = value
    return best if highest - second > _INFORMATIVE else np.int64(-1)


@njit_inlined
def _number(
    allele: Integer, site_alleles: NDArray[np.int16], first: Integer, end: Integer
) -> Integer:
    """Return the number in the record of an allele of the site; -1 if the record has it not."""
    for k in range(first, end):
        if site_alleles[k] == allele:
            return k - first
    return np.int64(NEITHER)
