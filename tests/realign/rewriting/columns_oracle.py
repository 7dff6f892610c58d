"""Records after moves, column by column: an oracle for tests."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.batches import ReadBatch
from hapgpu.arrays.ragged import Ragged
from hapgpu.arrays.ragged_view import RaggedView, row_of, view_of
from hapgpu.cigar.encoding import cigar_strings, cigar_text, reference_lengths
from hapgpu.io.bam.decode import decode_block
from hapgpu.io.bam.header import SamHeader
from hapgpu.io.bam.record_layout import RecordBlock
from hapgpu.io.bam.tags import field_bytes
from hapgpu.realign.projection.move_table import NOT_MOVED, MoveTable
from hapgpu.realign.projection.moves import Moves, name_hashes
from hapgpu.realign.records.build import NewTags, rewrite_tags, text_values
from hapgpu.realign.records.rewriter import find_moves
from hapgpu.realign.selection.choice import NO_SCORE
from hapgpu.runtime.jit import njit
from hapgpu.runtime.pool import Pool
from tests.io.bam.encoded_blocks import encode_block

_PROPER_PAIR, _UNMAPPED, _MATE_UNMAPPED, _REVERSE, _MATE_REVERSE = 0x2, 0x4, 0x8, 0x10, 0x20
_NOT_PRIMARY: Final = 0x900
_UNKNOWN: Final = -1
_ZERO, _NINE = b"09"
_SPANNING = b"MDN=X"
_SEGMENT: Final = 0xC0
_FIELDS: Final = 6  # rname,pos,strand,CIGAR,mapQ,NM


class Affected(NamedTuple):
    """The moves that affect n records, as `AffectedRecords`."""

    own: NDArray[np.int64]
    mates: NDArray[np.int64]
    sa_changes: NDArray[np.bool_]


def rewritten(block: RecordBlock, table: MoveTable, header: SamHeader) -> list[bytes]:
    """Return each record of a block after the moves."""
    affected = find_moves(block, table)
    data = block.data.tobytes()
    ends = (block.layout.starts + block.sizes).tolist()
    records = [data[at:end] for at, end in zip(block.layout.starts.tolist(), ends, strict=True)]
    rows = np.flatnonzero(affected.is_changed)
    if not rows.size:
        return records
    with Pool(1) as pool:
        reads = decode_block(block.take(rows), pool)
        some = Affected(*(column[rows] for column in affected))
        changed = encode_block(_rewritten(reads, some, table, header), header, pool)
    data = changed.data.tobytes()
    starts = [*changed.layout.starts.tolist(), len(data)]
    for number, row in enumerate(rows.tolist()):
        records[row] = data[starts[number] : starts[number + 1]]
    return records


def _rewritten(
    reads: ReadBatch, affected: Affected, table: MoveTable, header: SamHeader
) -> ReadBatch:
    has_moved = affected.own != NOT_MOVED
    new = table.take(affected.own[has_moved])
    positions = reads.positions.copy()
    positions[has_moved] = new.positions
    moved = replace(
        reads,
        positions=positions,
        cigars=_replaced(reads.cigars, has_moved, new.cigars),
        tags=_tags(reads, has_moved, new, header),
    )
    paired = with_new_mates(reads, moved, affected, table)
    contigs = header.reference_names
    return replace(paired, tags=with_new_sa_fields(paired, affected, table, contigs))


def _tags(reads: ReadBatch, has_moved: NDArray[np.bool_], new: Moves, header: SamHeader) -> Ragged:
    def spread(values: NDArray[np.int32]) -> NDArray[np.int32]:
        column = np.full(len(reads), NO_SCORE, dtype=np.int32)
        column[has_moved] = values
        return column

    second_scores = spread(new.second_scores)
    no_rows = Ragged(np.empty(0, dtype=np.uint8), np.zeros(len(reads) + 1, dtype=np.int64))
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
            mismatches=_replaced(no_rows, has_moved, new.mismatches),
            has_original=has_moved,
        ),
        Ragged.from_sequences(header.reference_names),
    )
    assert not malformed.any()
    return tags


def _replaced(rows: Ragged, mask: NDArray[np.bool_], others: Ragged) -> Ragged:
    order = np.arange(len(rows))
    order[mask] = len(rows) + np.arange(len(others))
    return Ragged.concatenate([rows, others]).take(order)


def with_new_mates(
    before: ReadBatch, after: ReadBatch, affected: Affected, table: MoveTable
) -> ReadBatch:
    """Update mate fields.

    Parameters
    ----------
    before
        n records as read.
    after
        The same records; moved reads have their new alignments.
    affected
        The moves of the records and of their mates.
    table
        All moves.

    Returns
    -------
    The records with updated PNEXT, TLEN, flag 0x2 and `MC`; unmapped reads have the positions of
    their moved mates. A record without `MC` gets none. `MQ` and flag 0x20 stay, because moves do
    not change MAPQ and strand.
    """
    has_mate = affected.mates != NOT_MOVED
    mates = table.take(affected.mates[has_mate])
    mate_positions = before.mate_positions.copy()
    mate_positions[has_mate] = mates.positions
    # An unmapped mate has the position of the mapped read.
    unmapped_mate = (before.flags & (_UNMAPPED | _MATE_UNMAPPED) == _MATE_UNMAPPED) & (
        (before.mate_reference_ids == before.reference_ids)
        & (before.mate_positions == before.positions)
    )
    mate_positions[unmapped_mate] = after.positions[unmapped_mate]
    positions = after.positions.copy()
    follows = (before.flags & _UNMAPPED > 0) & has_mate
    follows &= (before.reference_ids == before.mate_reference_ids) & (
        before.positions == before.mate_positions
    )
    positions[follows] = mate_positions[follows]
    ends = _FivePrimeEnds.of(before, after, has_mate, mates)
    tags = with_texts(after.tags, "MC", has_mate, cigar_text(mates.cigars))
    return replace(
        after,
        flags=_without_broken_pairs(after.flags, ends),
        positions=positions,
        mate_positions=mate_positions,
        template_lengths=_template_lengths(before, ends),
        tags=tags,
    )


@dataclass(frozen=True, slots=True)
class _FivePrimeEnds:
    """Positions of the 5' ends of n reads and of their mates, int64[n] each, old and new.

    The ends of mates are `_UNKNOWN` where the record does not imply them; `known` bool[n] is true
    for pairs mapped to one contig with both ends known.
    """

    old: NDArray[np.int64]
    new: NDArray[np.int64]
    mate_old: NDArray[np.int64]
    mate_new: NDArray[np.int64]
    known: NDArray[np.bool_]

    @classmethod
    def of(
        cls, before: ReadBatch, after: ReadBatch, has_mate: NDArray[np.bool_], mates: Moves
    ) -> _FivePrimeEnds:
        """Return the ends by the records and, in rows of a mask, by the moves of their mates."""
        old, new = _five_prime(before), _five_prime(after)
        mate_old = _mate_five_prime(before, old)
        mate_new = mate_old.copy()
        is_reverse = mates.flags & _REVERSE > 0
        mate_old[has_mate] = np.where(is_reverse, mates.old_ends, mates.old_positions)
        mate_new[has_mate] = np.where(is_reverse, mates.ends, mates.positions)
        on_one_contig = before.reference_ids == before.mate_reference_ids
        on_one_contig &= before.flags & (_UNMAPPED | _MATE_UNMAPPED) == 0
        return cls(old, new, mate_old, mate_new, on_one_contig & (mate_old != _UNKNOWN))


def _five_prime(reads: ReadBatch) -> NDArray[np.int64]:
    span = np.where(reads.flags & _REVERSE > 0, reference_lengths(reads.cigars), 0)
    return reads.positions.astype(np.int64) + span


def _mate_five_prime(reads: ReadBatch, own: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return int64[n]: 5' ends of mates by PNEXT, by PNEXT and MC, or by TLEN; or `_UNKNOWN`."""
    starts = reads.mate_positions.astype(np.int64)
    spans = _spans_of_texts(text_values(reads.tags, "MC"))
    lengths = reads.template_lengths.astype(np.int64)
    by_length = np.where(lengths != 0, own + lengths, _UNKNOWN)
    is_reverse = reads.flags & _MATE_REVERSE > 0
    return np.where(is_reverse, np.where(spans > 0, starts + spans, by_length), starts)


def _template_lengths(before: ReadBatch, ends: _FivePrimeEnds) -> NDArray[np.int32]:
    """Return int32[n]; of records that are not primary, the mapper's length plus the shift."""
    lengths = before.template_lengths.astype(np.int64)
    shifted = lengths + (ends.mate_new - ends.mate_old) - (ends.new - ends.old)
    is_primary = before.flags & _NOT_PRIMARY == 0
    updated = np.where(is_primary, ends.mate_new - ends.new, shifted)
    changes = ends.known & (is_primary | (lengths != 0))
    return np.where(changes, updated, lengths).astype(np.int32)


def _without_broken_pairs(flags: NDArray[np.uint16], ends: _FivePrimeEnds) -> NDArray[np.uint16]:
    """Clear flag 0x2 of reads that faced their mates and no longer do."""
    is_reverse = flags & _REVERSE > 0
    opposite = is_reverse != (flags & _MATE_REVERSE > 0)

    def facing(own: NDArray[np.int64], mate: NDArray[np.int64]) -> NDArray[np.bool_]:
        result: NDArray[np.bool_] = np.where(is_reverse, mate <= own, own <= mate)
        return result

    broken = ends.known & opposite & facing(ends.old, ends.mate_old)
    broken &= ~facing(ends.new, ends.mate_new)
    return np.where(broken, flags & ~np.uint16(_PROPER_PAIR), flags).astype(np.uint16)


def _spans_of_texts(cigars: Ragged) -> NDArray[np.int64]:
    """Return int64[n]: reference bases that CIGARs in text span; 0 for other text."""
    spans = np.zeros(len(cigars), dtype=np.int64)
    _measure_texts(view_of(cigars), spans)
    return spans


@njit
def _measure_texts(texts: RaggedView, spans: NDArray[np.int64]) -> None:
    for row in range(spans.size):
        number, span = 0, 0
        for letter in row_of(texts, row):
            if _ZERO <= letter <= _NINE:
                number = 10 * number + letter - _ZERO
                continue
            for operation in _SPANNING:
                span += number if letter == operation else 0
            number = 0
        spans[row] = span


def with_new_sa_fields(
    reads: ReadBatch, affected: Affected, table: MoveTable, contigs: tuple[str, ...]
) -> Ragged:
    """Return the optional fields of n records, with updated `SA`.

    Reads are processed one by one: few reads have several alignments of which one moves.

    Parameters
    ----------
    reads
        The records.
    affected
        The moves that affect the records; `sa_changes` is used.
    table
        All moves.
    contigs
        Names of the @SQ lines.
    """
    rows = np.flatnonzero(affected.sa_changes)
    if not rows.size:
        return reads.tags
    changed = reads.take(rows)
    texts = []
    old_fields = zip(
        name_hashes(changed.names), changed.flags, text_values(changed.tags, "SA"), strict=True
    )
    for name_hash, flag, text in old_fields:
        moves = table.of_name(name_hash)
        same_read = moves.take(np.flatnonzero((moves.flags ^ flag) & _SEGMENT == 0))
        texts.append(_updated(text.tobytes(), same_read, contigs))
    return with_texts(reads.tags, "SA", affected.sa_changes, Ragged.from_sequences(texts))


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


def with_texts(tags: Ragged, name: str, rows: NDArray[np.bool_], texts: Ragged) -> Ragged:
    """Replace the values of a text field in the rows of a mask; a row without it gets none."""
    new = iter(texts)
    return Ragged.from_sequences(
        _with_text(fields.tobytes(), name.encode(), next(new).tobytes())
        if is_replaced
        else fields.tobytes()
        for fields, is_replaced in zip(tags, rows.tolist(), strict=True)
    )


def _with_text(fields: bytes, name: bytes, text: bytes) -> bytes:
    data, at, kept = np.frombuffer(fields, dtype=np.uint8), 0, b""
    while at < len(fields):
        size = int(field_bytes(data, at, len(fields)))
        if fields[at : at + 2] != name:
            kept += fields[at : at + size]
        at += size
    return kept if len(kept) == len(fields) else kept + name + b"Z" + text + b"\0"
