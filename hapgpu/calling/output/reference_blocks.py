"""Confidence of the positions of a segment, and blocks of positions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.bytes import Integer
from hapgpu.arrays.ragged_view import read_only
from hapgpu.calling.batches import PADDING, ActiveRegions, RegionReads, SegmentReads
from hapgpu.calling.options import AssemblyOptions
from hapgpu.calling.output.call_lines import BANDS, MAX_QUALITY
from hapgpu.calling.output.reference_confidence import reference_confidence
from hapgpu.calling.reads.finalized import finalized_reads, passing, reads_in_spans
from hapgpu.runtime.jit import njit, njit_inlined

COLUMNS: Final = 8
START, END, BASE, DEPTH, MIN_DEPTH, HETEROZYGOUS, HOMOZYGOUS, QUALITY = range(COLUMNS)
"""Columns of blocks; the two before the last are PL of 0/1 and 1/1."""
_IS_OPEN, _START, _END, _BASE, _BAND, _FIRST, _SECOND, _MIN, _MAX, _COVERED = range(10)
_NOWHERE: Final = -1


class Items(NamedTuple):
    """Blocks and records in their order.

    Attributes
    ----------
    blocks
        int64[b, `COLUMNS`]: positions 0-based, half-open; PL of 0/0 is 0.
    order
        int64[b + v]: the rows of blocks, and `-1 - row` of records.
    """

    blocks: NDArray[np.int64]
    order: NDArray[np.int64]


class OpenBlock(NamedTuple):
    """State of a `BlockJoiner`, which another one can go on from.

    Attributes
    ----------
    columns
        int64[10]: the open block, if there is one, and the end of the last record.
    counts
        int64[d]: the number of positions of the block with each depth.
    """

    columns: NDArray[np.int64]
    counts: NDArray[np.int64]


class BlockJoiner:
    """Joiner of positions to blocks, over the borders of segments.

    Positions of one band of GQ make a block; records end blocks. Positions that REF of the last
    record covers are in no block. As GATK's GVCFBlockCombiner and HomRefBlock.

    Parameters
    ----------
    bands
        Lower bounds of the bands of GQ after the first, which begins at 0; ascending.
    """

    def __init__(self, bands: Sequence[int] = BANDS) -> None:
        qualities = np.arange(MAX_QUALITY + 1)
        self._bands = read_only(np.searchsorted(np.array(bands), qualities, side="right"))
        self._open = np.zeros(10, dtype=np.int64)
        self._open[_COVERED] = self._open[_BAND] = _NOWHERE
        self._counts = np.zeros(1, dtype=np.int64)

    def add(
        self,
        positions: ReferencePositions,
        record_starts: NDArray[np.int64],
        record_ends: NDArray[np.int64],
    ) -> Items:
        """Add positions; return the blocks that are complete, with the records.

        Parameters
        ----------
        positions
            Positions of one contig, after all that were added before, or of another contig after
            `finish`.
        record_starts, record_ends
            int64[v]: the interval of REF of the records at these positions, ascending.
        """
        size = positions.depths.size
        most = int(positions.depths.max(initial=0)) + 1
        if most > self._counts.size:
            self._counts = np.append(
                self._counts, np.zeros(most - self._counts.size, dtype=np.int64)
            )
        items = Items(
            np.empty((size + 1, COLUMNS), dtype=np.int64),
            np.empty(size + 1 + record_starts.size, dtype=np.int64),
        )
        columns = _Positions(
            positions.start,
            read_only(positions.bases),
            read_only(positions.depths),
            read_only(positions.phreds),
            self._bands,
        )
        records = read_only(record_starts), read_only(record_ends)
        return _complete(items, _join(columns, *records, self._open, self._counts, *items))

    @property
    def covered_end(self) -> int:
        """End of REF of the last record, which may be after the positions that were added."""
        return int(self._open[_COVERED])

    def open_block(self) -> OpenBlock:
        """Return the state after the positions that were added."""
        return OpenBlock(self._open.copy(), self._counts.copy())

    def go_on(self, block: OpenBlock) -> Items:
        """Return the last block, and go on from the state of another joiner.

        The other one began a block or had a record right after the positions that were added here.
        """
        items = self.finish()
        self._open, self._counts = block.columns.copy(), block.counts.copy()
        return items

    def finish(self) -> Items:
        """Return the last block of a contig."""
        items = Items(np.empty((1, COLUMNS), dtype=np.int64), np.empty(1, dtype=np.int64))
        count = _flush(self._open, self._counts, items.blocks, items.order, 0, 0)
        self._open[_COVERED] = _NOWHERE
        return _complete(items, (count, count))


def _complete(items: Items, counts: tuple[int, int]) -> Items:
    return Items(items.blocks[: counts[0]], items.order[: counts[1]])


class _Positions(NamedTuple):
    """Columns of `ReferencePositions`, and the band of each GQ."""

    start: int
    bases: NDArray[np.uint8]
    depths: NDArray[np.int32]
    phreds: NDArray[np.int32]
    bands: NDArray[np.int64]


@njit
def _join(
    positions: _Positions,
    record_starts: NDArray[np.int64],
    record_ends: NDArray[np.int64],
    block: NDArray[np.int64],
    counts: NDArray[np.int64],
    blocks: NDArray[np.int64],
    order: NDArray[np.int64],
) -> tuple[int, int]:
    """Write blocks, and the order of blocks and records; return the numbers of both."""
    done = record = at = 0
    if positions.depths.size and block[_IS_OPEN] and block[_END] != positions.start:
        done = _flush(block, counts, blocks, order, done, at)
        at = done
    for row in range(positions.depths.size):
        position = positions.start + row
        if record < record_starts.size and record_starts[record] == position:
            before = done
            done = _flush(block, counts, blocks, order, done, at)
            at += done - before
            order[at] = -1 - record
            at += 1
            block[_COVERED] = record_ends[record]
            record += 1
        elif position >= block[_COVERED]:
            quality = min(positions.phreds[row, 0], positions.phreds[row, 1], MAX_QUALITY)
            band = positions.bands[quality]
            if band != block[_BAND]:
                before = done
                done = _flush(block, counts, blocks, order, done, at)
                at += done - before
            _extend(positions, row, band, block, counts)
    return done, at


@njit_inlined
def _extend(
    positions: _Positions,
    row: Integer,
    band: Integer,
    block: NDArray[np.int64],
    counts: NDArray[np.int64],
) -> None:
    """Add a position to the open block, or open one."""
    depth = np.int64(positions.depths[row])
    one, other = np.int64(positions.phreds[row, 0]), np.int64(positions.phreds[row, 1])
    if not block[_IS_OPEN]:
        block[_IS_OPEN], block[_BAND] = 1, band
        block[_START], block[_BASE] = positions.start + row, positions.bases[row]
        block[_FIRST], block[_SECOND] = one, other
        block[_MIN], block[_MAX] = depth, depth
    block[_END] = positions.start + row + 1
    block[_FIRST], block[_SECOND] = min(block[_FIRST], one), min(block[_SECOND], other)
    block[_MIN], block[_MAX] = min(block[_MIN], depth), max(block[_MAX], depth)
    counts[depth] += 1


@njit
def _flush(
    block: NDArray[np.int64],
    counts: NDArray[np.int64],
    blocks: NDArray[np.int64],
    order: NDArray[np.int64],
    row: int,
    at: int,
) -> int:
    """Write the open block, if there is one, and close it; return the number of blocks."""
    if not block[_IS_OPEN]:
        return row
    blocks[row, START], blocks[row, END] = block[_START], block[_END]
    blocks[row, BASE], blocks[row, MIN_DEPTH] = block[_BASE], block[_MIN]
    blocks[row, DEPTH] = _median(counts, block[_MIN], block[_MAX], block[_END] - block[_START])
    blocks[row, HETEROZYGOUS], blocks[row, HOMOZYGOUS] = block[_FIRST], block[_SECOND]
    blocks[row, QUALITY] = min(block[_FIRST], block[_SECOND], MAX_QUALITY)
    order[at] = row
    for depth in range(block[_MIN], block[_MAX] + 1):
        counts[depth] = 0
    block[_IS_OPEN] = 0
    block[_BAND] = _NOWHERE
    return row + 1


@njit_inlined
def _median(counts: NDArray[np.int64], low: Integer, high: Integer, total: Integer) -> Integer:
    """Return the median of depths; of two in the middle, the mean, rounded up."""
    lower, upper, before = np.int64(-1), np.int64(-1), np.int64(0)
    for depth in range(low, high + 1):
        before += counts[depth]
        if lower < 0 and before > (total - 1) // 2:
            lower = np.int64(depth)
        if upper < 0 and before > total // 2:
            upper = np.int64(depth)
    return (lower + upper + 1) // 2


@dataclass(frozen=True, slots=True)
class ReferencePositions:
    """Consecutive positions, as if none had a variant.

    Attributes
    ----------
    start
        The first, 0-based.
    bases
        uint8 text[p]: REF.
    depths
        int32[p]: DP.
    phreds
        int32[p, 2]: PL of 0/1 and 1/1; PL of 0/0 is 0.
    """

    start: int
    bases: NDArray[np.uint8]
    depths: NDArray[np.int32]
    phreds: NDArray[np.int32]

    def first(self, size: int) -> ReferencePositions:
        """Return the first positions."""
        return ReferencePositions(
            self.start, self.bases[:size], self.depths[:size], self.phreds[:size]
        )


@dataclass(frozen=True, slots=True)
class CalledRegions:
    """c active regions with a genotype.

    Attributes
    ----------
    kept
        int64[c], ascending: rows of the active regions.
    spans
        Their variant spans, and the trimmed padded spans.
    reads
        Their realigned reads.
    """

    kept: NDArray[np.int64]
    spans: ActiveRegions
    reads: RegionReads


def reference_positions(
    segment: SegmentReads,
    inactive: ActiveRegions,
    active: ActiveRegions,
    reads: RegionReads,
    called: CalledRegions,
    options: AssemblyOptions,
) -> ReferencePositions:
    """Compute the confidence of each position of the regions that start in a segment.

    Positions of variant spans are computed from realigned reads; others from the reads of their
    region, clipped to the span between region and variant span with its padding.

    Parameters
    ----------
    segment
        Reads of the segment.
    inactive
        The inactive regions; they and the active ones are consecutive.
    active
        Active regions; those that start before the segment are left out.
    reads
        Finalized reads of the active regions.
    called
        Active regions with a genotype.
    options
        Options of finalized reads.
    """
    own = active.starts >= segment.segment.start
    starts = np.concatenate([inactive.starts, active.starts[own]])
    ends = np.concatenate([inactive.ends, active.ends[own]])
    start, end = int(starts.min(initial=segment.segment.end)), int(ends.max(initial=0))
    size = max(end - start, 0)
    first = start - segment.reference.start
    found = ReferencePositions(
        start,
        segment.reference.bases[first : first + size],
        np.zeros(size, dtype=np.int32),
        np.zeros((size, 2), dtype=np.int32),
    )
    _put(found, segment, inactive, finalized_reads(segment, inactive, options))
    kept, spans = _flanks(active, called, own)
    _put(found, segment, spans, reads_in_spans(reads, segment, kept, spans))
    is_own = own[called.kept]
    rows = np.flatnonzero(is_own)
    _put(found, segment, called.spans.take(rows), called.reads.of_regions(is_own))
    return found


def _put(
    out: ReferencePositions, segment: SegmentReads, spans: ActiveRegions, reads: RegionReads
) -> None:
    """Write the positions of some spans."""
    found = reference_confidence(
        reads, segment.reads, spans, segment.reference, passing(reads, segment)
    )
    counts = spans.ends - spans.starts
    rows = np.arange(found.depths.size) + np.repeat(
        spans.starts - out.start - found.offsets[:-1], counts
    )
    out.depths[rows], out.phreds[rows] = found.depths, found.phreds


def _flanks(
    active: ActiveRegions, called: CalledRegions, own: NDArray[np.bool_]
) -> tuple[NDArray[np.int64], ActiveRegions]:
    """Return the spans of active regions without variant spans, and the row of each region."""
    lefts, rights = active.ends.copy(), active.ends.copy()
    lefts[called.kept], rights[called.kept] = called.spans.starts, called.spans.ends
    rows = np.repeat(np.flatnonzero(own), 2)
    starts = np.column_stack([active.starts, rights])[own].ravel()
    ends = np.column_stack([lefts, active.ends])[own].ravel()
    is_span = starts < ends
    rows, starts, ends = rows[is_span], starts[is_span], ends[is_span]
    return rows, ActiveRegions(
        starts,
        ends,
        np.maximum(starts - PADDING, active.padded_starts[rows]),
        np.minimum(ends + PADDING, active.padded_ends[rows]),
    )
