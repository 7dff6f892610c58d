"""Lines of a genomic VCF, made of the parts of segments."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.ragged import Ragged
from hapgpu.calling.batches import Annotations, VariantCalls
from hapgpu.calling.gvcf.blocks import BlockJoiner
from hapgpu.calling.gvcf.lines import NO_LINES, empty_lines, item_lines, record_lines
from hapgpu.calling.gvcf.phasing import Phasing
from hapgpu.calling.gvcf.positions import ReferencePositions
from hapgpu.calling.reads.segments import EmptyIntervals


@dataclass(frozen=True, slots=True)
class GvcfPart:
    """Records and reference positions of a segment.

    Attributes
    ----------
    contig
        Name of the contig.
    positions
        The positions.
    starts, ends
        int64[v]: the interval of REF of the records there.
    lines
        uint8 text, v rows.
    """

    contig: str
    positions: ReferencePositions
    starts: NDArray[np.int64]
    ends: NDArray[np.int64]
    lines: Ragged


def gvcf_part(
    contig: str,
    calls: VariantCalls,
    annotations: Annotations,
    chosen: NDArray[np.bool_],
    reference: tuple[ReferencePositions, Phasing],
) -> GvcfPart:
    """Format the records of a segment.

    Parameters
    ----------
    contig
        Name of the contig.
    calls
        v records.
    annotations
        Of these records.
    chosen
        bool[v]: the records at the positions.
    reference
        The positions, and the phases of the records.
    """
    positions, phasing = reference
    rows = np.flatnonzero(chosen)
    lines = record_lines(contig, calls, annotations, phasing, rows)
    starts = calls.starts[rows]
    ends = starts + calls.alleles.lengths[calls.allele_offsets[rows]]
    return GvcfPart(contig, positions, starts, ends, lines)


class JoinedLines:
    """Lines of all parts, in order; blocks go on from part to part."""

    def __init__(self) -> None:
        self._joiner = BlockJoiner()
        self._contig = ""

    def add(self, part: bytes | GvcfPart | EmptyIntervals) -> bytes:
        """Return the lines that are complete with a part, or with intervals of other contigs.

        Lines of a VCF without blocks are returned as they are.
        """
        if isinstance(part, bytes):
            return part
        if isinstance(part, EmptyIntervals):
            return self.finish() + _blocks_of(part)
        before = self.finish() if part.contig != self._contig else b""
        self._contig = part.contig
        items = self._joiner.add(part.positions, part.starts, part.ends)
        return before + item_lines(part.contig, items, part.lines)

    def finish(self) -> bytes:
        """Return the last line of a contig, if there is one."""
        return item_lines(self._contig, self._joiner.finish(), NO_LINES)


def _blocks_of(empty: EmptyIntervals) -> bytes:
    """Return a block for each interval."""
    starts = np.array([each.start for each in empty.intervals], dtype=np.int64)
    ends = np.array([each.end for each in empty.intervals], dtype=np.int64)
    names = [each.contig.encode("utf-8", "surrogateescape") for each in empty.intervals]
    return empty_lines(Ragged.from_sequences(names), starts, ends, empty.bases)
