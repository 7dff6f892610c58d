"""Parts of a genomic VCF: blocks are joined within each part by its worker, then between parts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.ragged import Ragged
from hapgpu.calling.batches import Annotations, VariantCalls
from hapgpu.calling.output.gvcf_lines import NO_LINES, empty_lines, item_lines, record_lines
from hapgpu.calling.output.known_names import KnownNames
from hapgpu.calling.output.phasing import Phasing
from hapgpu.calling.output.reference_blocks import (
    START,
    BlockJoiner,
    Items,
    OpenBlock,
    ReferencePositions,
)
from hapgpu.calling.reads.segments import EmptyIntervals

_HEAD: Final = 1000
"""Positions at the start of a part that depend on the part before, at most: no record of an active
region reaches that far behind the region."""


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
    known: KnownNames | None = None,
    *,
    phasing: Phasing,
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
    known
        Names of the records; None: none has a name.
    phasing
        Of the records.
    """
    rows = np.flatnonzero(chosen)
    lines = record_lines(contig, calls, annotations, phasing, rows, known)
    starts = calls.starts[rows]
    ends = starts + calls.alleles.lengths[calls.allele_offsets[rows]]
    return Records(starts, ends, lines)


def no_records() -> Records:
    """Return no records."""
    none = np.empty(0, dtype=np.int64)
    return Records(none, none, NO_LINES)


def gvcf_part(contig: str, positions: ReferencePositions, records: Records) -> GvcfPart:
    """Join the positions of a segment to blocks, and format those that no other part changes.

    Parameters
    ----------
    contig
        Name of the contig.
    positions
        The positions of the segment.
    records
        The records at these positions.
    """
    joiner = BlockJoiner()
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
    rest = item_lines(contig, Items(items.blocks, items.order[first:]), records.lines)
    size = int(starts[first]) - positions.start
    return GvcfPart(contig, positions.first(size), head, rest, joiner.open_block())


class JoinedLines:
    """Lines of all parts, in order; blocks go on from part to part."""

    def __init__(self) -> None:
        self._joiner = BlockJoiner()
        self._contig = ""

    def add(self, part: bytes | GvcfPart | EmptyIntervals) -> bytes:
        """Return the lines that are complete with a part, or with intervals of other contigs.

        Lines of a VCF without blocks are returned as they are.

        Raises
        ------
        ValueError
            A record reaches behind the head of the next part.
        """
        if isinstance(part, bytes):
            return part
        if isinstance(part, EmptyIntervals):
            return self.finish() + _blocks_of(part)
        before = self.finish() if part.contig != self._contig else b""
        self._contig = part.contig
        end = part.head.start + part.head.depths.size
        if part.open_block is not None and self._joiner.covered_end > end:
            message = f"{part.contig}: a record covers {part.head.start + 1} to {end}"
            raise ValueError(message)
        items = self._joiner.add(part.head, part.records.starts, part.records.ends)
        lines = before + item_lines(part.contig, items, part.records.lines)
        if part.open_block is None:
            return lines
        last = item_lines(part.contig, self._joiner.go_on(part.open_block), NO_LINES)
        return lines + last + part.rest

    def finish(self) -> bytes:
        """Return the last line of a contig, if there is one."""
        return item_lines(self._contig, self._joiner.finish(), NO_LINES)


def _blocks_of(empty: EmptyIntervals) -> bytes:
    """Return a block for each interval."""
    intervals = empty.intervals
    names = Ragged.from_names(intervals.contigs)
    return empty_lines(names, intervals.starts, intervals.ends, empty.bases)
