"""Rewriter of the records of a file after the moves."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, NamedTuple, NoReturn

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.memory import memory_of, part_of, read_i32, read_u16
from hapgpu.arrays.ragged import Ragged
from hapgpu.arrays.ragged_view import columns_of, view_of
from hapgpu.cigar.encoding import cigar_strings
from hapgpu.errors import InputError
from hapgpu.io.alignments.record_order import OldOrder, RecordRun, is_ascending
from hapgpu.io.bam.constants import FIXED_BYTES
from hapgpu.io.bam.encode import reference_span
from hapgpu.io.bam.header import SamHeader
from hapgpu.io.bam.overlap import Intervals
from hapgpu.io.bam.record_layout import RecordBlock, RecordLayout
from hapgpu.io.bam.tags import HEAD_BYTES, field_bytes, find_field, find_field_in, name_number
from hapgpu.io.text.builder import TextBuilder
from hapgpu.realign.projection.move_table import (
    NOT_MOVED,
    MoveIndex,
    MoveTable,
    find_mate_move,
    find_move,
    has_moved_record,
    index_memory_of,
    rows_of_name,
)
from hapgpu.realign.projection.moves import Moves, MoveView, name_hash, name_hashes
from hapgpu.realign.records.changed_records import (
    NO_TEXT,
    UNCHANGED,
    Changes,
    Records,
    Sources,
    write_records,
)
from hapgpu.realign.records.mates import MateFields, set_mate_fields
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
        self._contig_names = view_of(Ragged.from_names(self._contigs))
        self._build = TextBuilder(row_bytes=1)  # a row is a byte before the moves

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
        found = self._table.gathered(affected.own[rows], affected.mates[rows])
        has_sa = affected.sa_changes[rows]
        sa = new_sa_texts(block, rows[has_sa], self._table, self._contigs)
        moves = columns_of(MoveView, found.moves)
        sources = Sources(moves, self._contig_names, view_of(sa))
        fields = MateFields.empty(rows.size)
        set_mate_fields(block.data, block.layout, rows, (found.own, found.mates), moves, fields)
        texts = np.where(has_sa, np.cumsum(has_sa) - 1, NO_TEXT)
        changes = Changes(rows, found.own, found.mates, texts, fields)
        change_of = np.empty(len(block), dtype=np.int32)
        _set_changes(rows, changes.fields.positions, change_of, keys)
        order = np.arange(len(block))
        if self._is_sorted and not is_ascending(keys):
            order = np.argsort(keys, kind="stable")
            keys = keys[order]
        offsets = np.empty(len(block) + 1, dtype=np.int64)

        def write(out: NDArray[np.uint8]) -> int:
            end, row = write_records(records, (order, change_of), changes, sources, out, offsets)
            if row >= 0:
                self._raise_malformed(block, int(row))
            return int(end)

        out = self._build(int(block.sizes.sum()), write)
        return Rewritten(old, RecordRun(out, offsets, keys), rows.size)

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


_REVERSE: Final = 0x10
_SEGMENT: Final = 0xC0
_FIELDS: Final = 6  # rname,pos,strand,CIGAR,mapQ,NM
_SA: Final = name_number("SA")
_TEXT: Final = ord("Z")


def new_sa_texts(
    block: RecordBlock, rows: NDArray[np.int64], table: MoveTable, contigs: tuple[str, ...]
) -> Ragged:
    """Return the updated values of `SA` of records, uint8 text, one row per record.

    Records are processed one by one: few reads have several alignments of which one moves.

    Parameters
    ----------
    block
        Records.
    rows
        int64: the records that have an `SA` field and a moved record of the same read.
    table
        All moves.
    contigs
        Names of the @SQ lines.
    """
    if not rows.size:
        return Ragged.from_sequences([])
    some = block.take(rows)
    names = Ragged.gather(some.data, some.layout.starts + FIXED_BYTES, some.layout.name_lengths)
    texts = []
    ends = (some.layout.starts + some.sizes).tolist()
    tags = some.layout.tag_starts.tolist()
    for hashed, flag, start, end in zip(name_hashes(names), some.flags, tags, ends, strict=True):
        moves = table.of_name(hashed)
        same_read = moves.take(np.flatnonzero((moves.flags ^ flag) & _SEGMENT == 0))
        texts.append(_updated(_sa_text(some.data, start, end), same_read, contigs))
    return Ragged.from_sequences(texts)


def _sa_text(data: NDArray[np.uint8], tags: int, end: int) -> bytes:
    """Return the text of the first `SA` among the fields data[tags:end]; empty without text."""
    at = int(find_field(data, tags, end, _SA))
    if data[at + HEAD_BYTES - 1] != _TEXT:
        return b""
    return data[at + HEAD_BYTES : at + int(field_bytes(data, at, end)) - 1].tobytes()


def _updated(text: bytes, moves: Moves, contigs: tuple[str, ...]) -> bytes:
    """Replace the moved alignments in `rname,pos,strand,CIGAR,mapQ,NM;...`."""
    cigars = cigar_strings(moves.cigars)
    numbers = {
        (contigs[moves.reference_ids[k]], str(moves.old_positions[k] + 1), _strand(moves, k)): k
        for k in range(len(moves))
    }
    entries = text.decode("utf-8", "surrogateescape").split(";")
    for number, entry in enumerate(entries):
        fields = entry.split(",")
        k = numbers.get((fields[0], fields[1], fields[2])) if len(fields) == _FIELDS else None
        if k is not None:
            fields[1], fields[3] = str(moves.positions[k] + 1), cigars[k]
            fields[5] = str(moves.edit_distances[k])
            entries[number] = ",".join(fields)
    return ";".join(entries).encode("utf-8", "surrogateescape")


def _strand(moves: Moves, row: int) -> str:
    return "-" if moves.flags[row] & _REVERSE else "+"


_PAIRED, _UNMAPPED = 1, 4


class AffectedRecords(NamedTuple):
    """The moves that affect n records, as rows of the move table.

    Attributes
    ----------
    own, mates
        int64[n]: the move of the record, and the move of its mate; or `NOT_MOVED`.
    sa_changes
        bool[n]: whether the record has an SA field and a record of the same read has moved.
    """

    own: NDArray[np.int64]
    mates: NDArray[np.int64]
    sa_changes: NDArray[np.bool_]

    @property
    def is_changed(self) -> NDArray[np.bool_]:
        """bool[n]: whether the record changes."""
        moved: NDArray[np.bool_] = (self.own != NOT_MOVED) | (self.mates != NOT_MOVED)
        return moved | self.sa_changes


def find_moves(block: RecordBlock, table: MoveTable) -> AffectedRecords:
    """Return the moves that affect the records of a block."""
    count = len(block)
    affected = AffectedRecords(
        np.full(count, NOT_MOVED, dtype=np.int64),
        np.full(count, NOT_MOVED, dtype=np.int64),
        np.zeros(count, dtype=np.bool_),
    )

    for index, first in zip(table.indexes, table.starts.tolist(), strict=False):
        _find(block.data, block.layout, index, first, affected)
    return affected


@njit
def _find(
    data: NDArray[np.uint8],
    layout: RecordLayout,
    index: MoveIndex,
    first: int,
    affected: AffectedRecords,
) -> None:
    """Look up the records of a block in one run of moves; `first` is the number of its first."""
    memory, moves = memory_of(data), index_memory_of(index)
    for row in range(layout.starts.size):
        at = layout.starts[row]
        name = part_of(memory, at + FIXED_BYTES, np.int64(layout.name_lengths[row]))
        hashed = name_hash(name)
        rows = rows_of_name(moves, hashed)
        if rows[0] == rows[1]:
            continue
        record = part_of(memory, at, 4 + read_i32(memory, at))
        flag = read_u16(record, 18)
        if not flag & _UNMAPPED:
            cigar_bytes = 4 * np.int64(layout.cigar_lengths[row])
            position = read_i32(record, 8)
            end = position + reference_span(part_of(memory, layout.cigar_starts[row], cigar_bytes))
            own = find_move(moves, rows, hashed, flag, (read_i32(record, 4), position, end))
            if own != NOT_MOVED:
                affected.own[row] = first + own
        if flag & _PAIRED:
            place = read_i32(record, 24), read_i32(record, 28)
            mate = find_mate_move(moves, rows, hashed, flag, place)
            if mate != NOT_MOVED:
                affected.mates[row] = first + mate
        if has_moved_record(moves, rows, hashed, flag):
            first_field = layout.tag_starts[row] - at
            found = find_field_in(record, first_field, record.size, _SA)
            affected.sa_changes[row] |= found >= 0
