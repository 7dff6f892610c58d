"""Rewriter of the records of a file after the moves."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, NoReturn

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.ragged import Ragged
from hapgpu.errors import InputError
from hapgpu.io.alignments.record_order import OldOrder, RecordRun, is_ascending
from hapgpu.io.bam.constants import FIXED_BYTES
from hapgpu.io.bam.header import SamHeader
from hapgpu.io.bam.overlap import Intervals
from hapgpu.io.bam.record_block import RecordBlock
from hapgpu.realign.moves.move_table import MoveTable
from hapgpu.realign.moves.move_view import address_of
from hapgpu.realign.rewriting.affected_records import find_moves
from hapgpu.realign.rewriting.changed_records import (
    NO_TEXT,
    UNCHANGED,
    Changes,
    Records,
    Sources,
    Texts,
    max_growth,
    write_records,
)
from hapgpu.realign.rewriting.mates import MateFields, set_mate_fields
from hapgpu.realign.rewriting.supplementary import new_sa_texts
from hapgpu.runtime.jit import njit

_POSITION_BITS: Final = np.int64(0x7FFFFFFF)  # of a sort key


@dataclass(frozen=True, slots=True)
class WrittenReads:
    """Filter of the records to write: by overlap with intervals, if given, and by flags."""

    intervals: Intervals | None = None
    require_flags: int = 0
    exclude_flags: int = 0

    def of(self, block: RecordBlock) -> RecordBlock:
        """Return the records of a block to write."""
        if self == WrittenReads():
            return block
        flags = block.flags
        is_written = (flags & self.require_flags == self.require_flags) & (
            flags & self.exclude_flags == 0
        )
        if self.intervals is not None:
            is_written &= self.intervals.overlapped(block.data, block.layout)
        return block if is_written.all() else block.take(is_written)


@dataclass(frozen=True, slots=True)
class Rewritten:
    """n records after the moves.

    Attributes
    ----------
    old
        The order of the records before the moves.
    after
        The records; sorted if the file is.
    changed
        Number of changed records.
    """

    old: OldOrder
    after: RecordRun
    changed: int


class Rewriter:
    """Writes new alignments to records, and updates their fields about other records.

    Threads may share an object.

    Parameters
    ----------
    table
        The moves.
    header
        The header of the input.
    written
        Filter of the records to write.
    is_sorted
        Whether the file is sorted: each block is then sorted again.
    source
        Name of the input, for errors.
    """

    def __init__(
        self,
        table: MoveTable,
        header: SamHeader,
        written: WrittenReads,
        source: str,
        *,
        is_sorted: bool,
    ) -> None:
        self._table = table
        self._contigs = header.reference_names
        self._written = written
        self._source = source
        self._is_sorted = is_sorted
        self._contig_names = Ragged.from_sequences(
            name.encode("utf-8", "surrogateescape") for name in self._contigs
        )
        names = self._contig_names
        self._names = len(names), address_of(names.data), address_of(names.offsets)

    def __call__(self, block: RecordBlock) -> Rewritten:
        """Rewrite the records of a block that change; the others keep all bytes.

        Returns
        -------
        Rewritten
            It shares no memory with the block.

        Raises
        ------
        InputError
            The optional fields of a record are malformed.
        """
        block = self._written.of(block)
        affected = find_moves(block, self._table)
        rows = np.flatnonzero(affected.is_changed)
        keys = block.sort_keys
        old = OldOrder.of(keys)
        if not rows.size:
            return Rewritten(old, _unchanged(block, keys), 0)
        records = Records(block.data, block.layout)
        # `found` and `sa` hold the arrays of which compiled functions get only addresses.
        found = self._table.gathered(affected.own[rows], affected.mates[rows])
        has_sa = affected.sa_changes[rows]
        sa = new_sa_texts(block, rows[has_sa], self._table, self._contigs)
        sources = Sources(found.view, self._texts(sa))
        fields = MateFields.empty(rows.size)
        set_mate_fields(
            block.data, block.layout, rows, (found.own, found.mates), found.view, fields
        )
        texts = np.where(has_sa, np.cumsum(has_sa) - 1, NO_TEXT)
        changes = Changes(rows, found.own, found.mates, texts, fields)
        change_of = np.empty(len(block), dtype=np.int32)
        _set_changes(rows, changes.fields.positions, change_of, keys)
        order = np.arange(len(block))
        if self._is_sorted and not is_ascending(keys):
            order = np.argsort(keys, kind="stable")
            keys = keys[order]
        growth = max_growth(records, changes, sources)
        out = np.empty(int(block.sizes.sum() + growth), dtype=np.uint8)
        offsets = np.empty(len(block) + 1, dtype=np.int64)
        malformed = int(write_records(records, (order, change_of), changes, sources, out, offsets))
        if malformed >= 0:
            self._raise_malformed(block, malformed)
        return Rewritten(old, RecordRun(out, offsets, keys), rows.size)

    def _texts(self, sa: Ragged) -> Texts:
        """Return the texts of fields, with new values of SA."""
        return Texts(*self._names, address_of(sa.data), address_of(sa.offsets))

    def _raise_malformed(self, block: RecordBlock, row: int) -> NoReturn:
        start = int(block.layout.starts[row]) + FIXED_BYTES
        name = block.data[start : start + int(block.layout.name_lengths[row])]
        raise InputError(
            f"{self._source}, read '{name.tobytes().decode(errors='replace')}': malformed optional"
            " fields; copy the file again"
        )


def _unchanged(block: RecordBlock, keys: NDArray[np.int64]) -> RecordRun:
    """Return a copy of the records of a block; in one go if they are end to end."""
    starts, sizes = block.layout.starts, block.sizes
    if sizes.size and (np.diff(starts) == sizes[:-1]).all():
        offsets = np.append(starts, starts[-1] + sizes[-1])
        data = block.data[offsets[0] : offsets[-1]].copy()
        return RecordRun(data, offsets - offsets[0], keys)
    records = Ragged.gather(block.data, starts, sizes)
    return RecordRun(records.data, records.offsets, keys)


@njit
def _set_changes(
    rows: NDArray[np.int64],
    positions: NDArray[np.int32],
    change_of: NDArray[np.int32],
    keys: NDArray[np.int64],
) -> None:
    """Set the change of each record, and the sort keys by the new positions."""
    for row in range(change_of.size):
        change_of[row] = UNCHANGED
    for k in range(rows.size):
        row = rows[k]
        change_of[row] = k
        keys[row] = keys[row] & ~_POSITION_BITS | (positions[k] + np.int64(1)) & _POSITION_BITS
