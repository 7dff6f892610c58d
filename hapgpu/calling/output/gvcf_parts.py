"""Parts of a genomic VCF: blocks are joined within each part by its worker, then between parts."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Final

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.ragged import Ragged
from hapgpu.calling.annotations.fields import DEFAULT_GENOMIC_FIELDS, EnabledFields
from hapgpu.calling.batches import Annotations, VariantCalls
from hapgpu.calling.options import GenomicOptions
from hapgpu.calling.output.block_lines import NO_LINES, empty_lines, item_lines
from hapgpu.calling.output.gvcf_lines import record_lines
from hapgpu.calling.output.phasing import Phasing
from hapgpu.calling.output.reference_blocks import (
    BASE,
    COPIES,
    END,
    PHREDS,
    START,
    BlockJoiner,
    Items,
    OpenBlock,
)
from hapgpu.calling.output.reference_positions import ReferencePositions
from hapgpu.calling.ploidies import DIPLOID_EVERYWHERE, Ploidies
from hapgpu.calling.reads.segments import CallingIntervals, EmptyIntervals

_HEAD: Final = 1000
"""Positions at the start of a part that depend on the part before, at most: no record of an active
region reaches that far behind the region."""
_REGION: Final = 300
"""Positions of an inactive region, at most: each has one ploidy."""
_DEFAULT: Final = GenomicOptions()


@dataclass(frozen=True, slots=True)
class Records:
    """v records of a contig.

    Attributes
    ----------
    starts, ends
        int64[v]: the interval of REF of each, ascending.
    lines
        uint8 text, v rows.
    """

    starts: NDArray[np.int64]
    ends: NDArray[np.int64]
    lines: Ragged


@dataclass(frozen=True, slots=True)
class GvcfPart:
    """Records and blocks of a segment.

    Attributes
    ----------
    contig
        Name of the contig.
    head, records
        The first positions, whose blocks may go on from the part before, and the records there.
    rest
        Lines of the positions after the head, which begin with a new block or a record.
    open_block
        The block at the end of the part; None if all positions are in the head.
    """

    contig: str
    head: ReferencePositions
    records: Records
    rest: bytes
    open_block: OpenBlock | None


def gvcf_records(
    contig: str,
    calls: VariantCalls,
    annotations: Annotations,
    chosen: NDArray[np.bool_],
    phasing: Phasing,
    fields: EnabledFields = DEFAULT_GENOMIC_FIELDS,
) -> Records:
    """Format some records.

    Parameters
    ----------
    contig
        Name of the contig.
    calls
        v records.
    annotations
        Of these records.
    chosen
        bool[v]: the records to format.
    phasing
        Of the records.
    fields
        The fields of the output.
    """
    rows = np.flatnonzero(chosen)
    lines = record_lines(contig, calls, annotations, phasing, rows, fields)
    starts = calls.starts[rows]
    ends = starts + calls.alleles.lengths[calls.allele_offsets[rows]]
    return Records(starts, ends, lines)


def no_records() -> Records:
    """Return no records."""
    none = np.empty(0, dtype=np.int64)
    return Records(none, none, NO_LINES)


def gvcf_part(
    contig: str,
    positions: ReferencePositions,
    records: Records,
    options: GenomicOptions = _DEFAULT,
) -> GvcfPart:
    """Join the positions of a segment to blocks, and format those that no other part changes.

    Parameters
    ----------
    contig
        Name of the contig.
    positions
        The positions of the segment.
    records
        The records at these positions.
    options
        Options of the blocks.
    """
    joiner = BlockJoiner(options, positions.phreds.shape[1])
    items = joiner.add(positions, records.starts, records.ends)
    is_record = items.order < 0
    starts = np.empty(items.order.size, dtype=np.int64)
    starts[is_record] = records.starts[-1 - items.order[is_record]]
    starts[~is_record] = items.blocks[items.order[~is_record], START]
    first = int(np.searchsorted(starts, positions.start + _HEAD))
    if first == starts.size:
        return GvcfPart(contig, positions, records, b"", None)
    count = int(is_record[:first].sum())
    head = Records(records.starts[:count], records.ends[:count], records.lines[:count])
    later = Items(items.blocks, items.order[first:])
    rest = item_lines(contig, later, records.lines, has_floors=options.has_floors)
    size = int(starts[first]) - positions.start
    return GvcfPart(contig, positions.first(size), head, rest, joiner.open_block())


class JoinedLines:
    """Lines of all parts, in order; blocks go on from part to part.

    Parameters
    ----------
    options
        Options of the blocks.
    ploidies
        Copies of the sample.
    """

    def __init__(
        self, options: GenomicOptions = _DEFAULT, ploidies: Ploidies = DIPLOID_EVERYWHERE
    ) -> None:
        self._joiner = BlockJoiner(options, ploidies.highest)
        self._contig = ""
        self._has_floors = options.has_floors
        self._ploidies = ploidies

    def add(self, part: bytes | GvcfPart | EmptyIntervals) -> bytes:
        """Return the lines that are complete with a part, or with intervals of other contigs.

        Lines without blocks are returned as they are.

        Raises
        ------
        ValueError
            A record reaches behind the head of the next part.
        """
        if isinstance(part, bytes):
            return part
        if isinstance(part, EmptyIntervals):
            return self.finish() + self._blocks_of(part)
        before = self.finish() if part.contig != self._contig else b""
        self._contig = part.contig
        end = part.head.start + part.head.depths.size
        if part.open_block is not None and self._joiner.covered_end > end:
            message = f"{part.contig}: a record covers {part.head.start + 1} to {end}"
            raise ValueError(message)
        items = self._joiner.add(part.head, part.records.starts, part.records.ends)
        lines = before + self._lines(items, part.records.lines)
        if part.open_block is None:
            return lines
        return lines + self._lines(self._joiner.go_on(part.open_block)) + part.rest

    def finish(self) -> bytes:
        """Return the last line of a contig, if there is one."""
        return self._lines(self._joiner.finish())

    def _lines(self, items: Items, records: Ragged = NO_LINES) -> bytes:
        return item_lines(self._contig, items, records, has_floors=self._has_floors)

    def _blocks_of(self, empty: EmptyIntervals) -> bytes:
        """Return a block for each interval, which has one ploidy: see `empty_blocks`."""
        intervals = empty.intervals
        blocks = np.zeros((len(intervals), PHREDS + self._ploidies.highest), dtype=np.int64)
        blocks[:, START], blocks[:, END] = intervals.starts, intervals.ends
        blocks[:, BASE], blocks[:, COPIES] = empty.bases, _ploidies_of(intervals, self._ploidies)
        names = Ragged.from_names(intervals.contigs)
        return empty_lines(names, blocks, has_floors=self._has_floors)


def empty_blocks(intervals: CallingIntervals, ploidies: Ploidies) -> CallingIntervals:
    """Cut intervals without reads where the ploidy changes.

    Inactive regions have one ploidy each, so the cuts are at multiples of their length from the
    start of the interval.
    """
    if not ploidies.contigs or not len(intervals):
        return intervals
    lengths = intervals.ends - intervals.starts
    is_cut = np.fromiter(map(ploidies.contigs.__contains__, intervals.contigs), dtype=np.bool_)
    counts = np.where(is_cut, -(-lengths // _REGION), 1)
    rows = np.repeat(np.arange(len(intervals)), counts)
    numbers = np.arange(rows.size) - np.repeat(np.cumsum(counts) - counts, counts)
    starts = intervals.starts[rows] + _REGION * numbers
    ends = np.where(is_cut[rows], starts + _REGION, intervals.ends[rows])
    ends = np.minimum(ends, intervals.ends[rows])
    contigs = [intervals.contigs[row] for row in rows.tolist()]
    found = _ploidies_of(CallingIntervals(contigs, starts, ends), ploidies)
    is_first = np.append(True, (np.diff(rows) != 0) | (np.diff(found) != 0))
    firsts = np.flatnonzero(is_first)
    lasts = np.append(firsts[1:], rows.size) - 1
    names = [contigs[row] for row in firsts.tolist()]
    return CallingIntervals(names, starts[firsts], ends[lasts])


def _ploidies_of(intervals: CallingIntervals, ploidies: Ploidies) -> NDArray[np.int64]:
    """Return int64[i]: the ploidy of each interval."""
    out = np.full(len(intervals), ploidies.default, dtype=np.int64)
    if not ploidies.contigs:
        return out
    for first, last in pairwise(intervals.runs()):
        rows = slice(first, last)
        starts, ends = intervals.starts[rows], intervals.ends[rows]
        out[rows] = ploidies.at(intervals.contigs[first], starts, ends)
    return out
