"""Rewriter of the records of a file after the moves."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.batches import ReadBatch
from hapgpu.arrays.ragged import Ragged
from hapgpu.errors import InputError
from hapgpu.io.bam.decode import decode_block, encode_block
from hapgpu.io.bam.header import SamHeader
from hapgpu.io.bam.overlap import Intervals
from hapgpu.io.bam.record_block import RecordBlock, with_replaced
from hapgpu.realign.moves.move_table import NOT_MOVED, MoveTable
from hapgpu.realign.moves.moves import Moves
from hapgpu.realign.records.tags import NewTags, rewrite_tags
from hapgpu.realign.rewriting.affected_records import AffectedRecords, find_moves
from hapgpu.realign.rewriting.mates import with_new_mates
from hapgpu.realign.rewriting.supplementary import with_new_sa_fields
from hapgpu.realign.selection.by_score import NO_SCORE
from hapgpu.runtime.pool import Pool


@dataclass(frozen=True, slots=True)
class WrittenReads:
    """Filter of the records to write: by overlap with intervals, if given, and by flags."""

    intervals: Intervals | None = None
    require_flags: int = 0
    exclude_flags: int = 0

    def of(self, block: RecordBlock) -> RecordBlock:
        """Return the records of a block to write."""
        flags = block.flags
        is_written = (flags & self.require_flags == self.require_flags) & (
            flags & self.exclude_flags == 0
        )
        if self.intervals is not None:
            is_written &= self.intervals.overlapped(block.data, block.layout)
        return block if is_written.all() else block.take(is_written)


@dataclass(frozen=True, slots=True)
class Rewritten:
    """n records before and after, and the number of changed records."""

    before: RecordBlock
    after: RecordBlock
    changed: int


class Rewriter:
    """Writes new alignments to records, and updates their fields about other records.

    Parameters
    ----------
    table
        The moves.
    header
        The header of the input.
    written
        Filter of the records to write.
    pool
        Threads that look up slices of a block.
    source
        Name of the input, for errors.
    """

    def __init__(
        self, table: MoveTable, header: SamHeader, written: WrittenReads, pool: Pool, source: str
    ) -> None:
        self._table = table
        self._header = header
        self._written = written
        self._pool = pool
        self._source = source
        self._contig_names = Ragged.from_sequences(
            name.encode("utf-8", "surrogateescape") for name in header.reference_names
        )

    def __call__(self, block: RecordBlock) -> Rewritten:
        """Rewrite the records of a block that change; the others keep all bytes.

        Raises
        ------
        InputError
            The optional fields of a record are malformed.
        """
        block = self._written.of(block)
        affected = find_moves(block, self._table, self._pool)
        is_changed = affected.is_changed
        rows = np.flatnonzero(is_changed)
        if not rows.size:
            return Rewritten(block, block, 0)
        reads = decode_block(block.take(rows), self._pool)
        records = encode_block(
            self._rewritten(reads, affected.take(is_changed)), self._header, self._pool
        )
        return Rewritten(block, with_replaced(block, rows, records), rows.size)

    def _rewritten(self, reads: ReadBatch, affected: AffectedRecords) -> ReadBatch:
        moved = self._moved(reads, affected.own)
        paired = with_new_mates(reads, moved, affected, self._table)
        contigs = self._header.reference_names
        return replace(paired, tags=with_new_sa_fields(paired, affected, self._table, contigs))

    def _moved(self, reads: ReadBatch, own: NDArray[np.int64]) -> ReadBatch:
        """Return the reads; moved reads have their new alignments and the tags of these."""
        has_moved = own != NOT_MOVED
        new = self._table.take(own[has_moved])
        positions = reads.positions.copy()
        positions[has_moved] = new.positions
        return replace(
            reads,
            positions=positions,
            cigars=_replaced(reads.cigars, has_moved, new.cigars),
            tags=self._tags(reads, has_moved, new),
        )

    def _tags(self, reads: ReadBatch, has_moved: NDArray[np.bool_], new: Moves) -> Ragged:
        def spread(values: NDArray[np.int32]) -> NDArray[np.int32]:
            column = np.full(len(reads), NO_SCORE, dtype=np.int32)
            column[has_moved] = values
            return column

        second_scores = spread(new.second_scores)
        tags, malformed = rewrite_tags(
            reads,
            ("AS", "XS", "NM", "MD"),
            (),
            NewTags(
                changed=has_moved,
                has_score=has_moved,
                scores=spread(new.scores),
                has_second_score=second_scores != NO_SCORE,
                second_scores=second_scores,
                has_mismatches=has_moved,
                edit_distances=spread(new.edit_distances),
                mismatches=_replaced(_empty_rows(len(reads)), has_moved, new.mismatches),
                has_original=has_moved,
            ),
            self._contig_names,
        )
        if malformed.any():
            name = reads.names[int(np.argmax(malformed))].tobytes().decode(errors="replace")
            raise InputError(
                f"{self._source}, read '{name}': malformed optional fields; copy the file again"
            )
        return tags


def _replaced(rows: Ragged, mask: NDArray[np.bool_], others: Ragged) -> Ragged:
    """Replace the rows of a mask by the rows of another array, in order."""
    order = np.arange(len(rows))
    order[mask] = len(rows) + np.arange(len(others))
    return Ragged.concatenate([rows, others]).take(order)


def _empty_rows(count: int) -> Ragged:
    return Ragged(np.empty(0, dtype=np.uint8), np.zeros(count + 1, dtype=np.int64))
