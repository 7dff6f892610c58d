"""Selection of the records that overlap given regions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.bytes import Integer
from hapgpu.arrays.memory import Memory, memory_of, part_of, read_64, read_i32, read_u16
from hapgpu.arrays.ragged import offsets_of
from hapgpu.errors import InputError
from hapgpu.io.bam.constants import FIXED_BYTES, UNMAPPED
from hapgpu.io.bam.encode import reference_span
from hapgpu.io.bam.header import SamHeader
from hapgpu.io.bam.record_layout import RecordLayout
from hapgpu.io.genome.regions import Region, RegionChoice, contig_hint
from hapgpu.runtime.jit import njit, njit_inlined


@njit_inlined
def _first_ending_after(ends: Memory, low: Integer, high: Integer, position: Integer) -> Integer:
    """Return the first interval of `low` to `high` that ends after a position, or `high`."""
    while low < high:
        middle = (low + high) // 2
        if read_64(ends, 8 * middle) > position:
            high = middle
        else:
            low = middle + 1
    return low


@njit
def _mark_overlaps(
    data: NDArray[np.uint8],
    layout: RecordLayout,
    references: NDArray[np.int64],
    offsets: NDArray[np.int64],
    starts: NDArray[np.int64],
    ends: NDArray[np.int64],
    out: NDArray[np.bool_],
) -> None:
    """Set which records overlap an interval, bool[n]; the intervals are sorted, by contig."""
    memory, ends_memory = memory_of(data), memory_of(ends)
    contig: Integer = np.int64(0)
    for row in range(out.size):
        record = part_of(memory, layout.starts[row], FIXED_BYTES)
        reference = read_i32(record, 4)
        position = read_i32(record, 8)
        out[row] = False
        if contig == references.size or references[contig] != reference:
            contig = np.searchsorted(references, reference)
        if contig == references.size or references[contig] != reference:
            continue
        span: Integer = 0
        if not read_u16(record, 18) & UNMAPPED:
            cigar_bytes = 4 * np.int64(layout.cigar_lengths[row])
            span = reference_span(part_of(memory, layout.cigar_starts[row], cigar_bytes))
        end = position + max(span, 1)
        low, high = np.int64(offsets[contig]), np.int64(offsets[contig + 1])
        first = _first_ending_after(ends_memory, low, high, position)
        out[row] = first < high and starts[first] < end


@dataclass(frozen=True, slots=True)
class Intervals:
    """Intervals of the contigs of a header, sorted, merged if they overlap or touch.

    Attributes
    ----------
    contigs
        Number of contigs in the header.
    references
        int64[m], ascending: the contigs with intervals.
    offsets
        int64[m + 1]: contig `references[k]` has the intervals `offsets[k]` to `offsets[k + 1]`.
    starts, ends
        int64[n], 0-based, half-open.
    further
        Intervals of which a record has to overlap one, too; None: no others.
    """

    contigs: int
    references: NDArray[np.int64]
    offsets: NDArray[np.int64]
    starts: NDArray[np.int64]
    ends: NDArray[np.int64]
    further: Intervals | None = None

    @classmethod
    def from_choice(cls, choice: RegionChoice, header: SamHeader, name: str) -> Intervals | None:
        """Return the intervals that the user chose; None for everything.

        Raises
        ------
        UsageError
            A text is not a region, or has two meanings.
        InputError
            The header lacks a contig.
        """
        chosen = None
        for regions in reversed(choice.sets(header.reference_ids)):
            chosen = replace(cls.from_regions(regions, header, name), further=chosen)
        return chosen

    @classmethod
    def from_regions(cls, regions: Sequence[Region], header: SamHeader, name: str) -> Intervals:
        """Look up the contigs of regions, sort and merge them.

        Raises
        ------
        InputError
            The header lacks a contig.
        """
        names = dict.fromkeys(region.contig for region in regions)
        numbers = {contig: _reference(contig, header, name) for contig in names}
        table = [(numbers[r.contig], r.start, r.end) for r in regions if r.start < r.end]
        references, starts, ends = np.array(table, dtype=np.int64).reshape(-1, 3).T
        order = np.lexsort((starts, references))
        references, starts, ends = references[order], starts[order], ends[order]
        # Ends as keys of contig and position: their maximum so far stays within the contig.
        last = np.maximum.accumulate(_keys(references, ends))
        is_first = np.ones(order.size, dtype=np.bool_)
        is_first[1:] = _keys(references, starts)[1:] > last[:-1]
        is_last = np.append(is_first[1:], True)[: order.size]
        present, counts = np.unique(references[is_first], return_counts=True)
        return cls(
            len(header.reference_names),
            present,
            offsets_of(counts),
            starts[is_first],
            last[is_last] - _keys(references[is_last], np.zeros(1, dtype=np.int64)),
        )

    def overlapped(self, data: NDArray[np.uint8], layout: RecordLayout) -> NDArray[np.bool_]:
        """Return bool[n]: which records in `data`, uint8, overlap an interval.

        An unmapped record spans one base.
        """
        out = np.empty(layout.starts.size, dtype=np.bool_)
        _mark_overlaps(data, layout, self.references, self.offsets, self.starts, self.ends, out)
        return out if self.further is None else out & self.further.overlapped(data, layout)

    def offsets_by_contig(self) -> NDArray[np.int64]:
        """Return int64[contigs + 1]: contig r has the intervals of two consecutive offsets."""
        counts = np.zeros(self.contigs, dtype=np.int64)
        counts[self.references] = np.diff(self.offsets)
        return offsets_of(counts)


def _keys(references: NDArray[np.int64], positions: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return int64[n]: keys that sort by contig and position."""
    return (references << 32) + positions


def _reference(contig: str, header: SamHeader, name: str) -> int:
    found = header.reference_id(contig)
    if found is None:
        hint = contig_hint(contig, header.reference_names)
        raise InputError(f"{name}: no contig '{contig}'{hint}")
    return found
