"""`SA` fields of records of reads with a moved alignment."""

from __future__ import annotations

from typing import Final

import numpy as np

from hapgpu.arrays.batches import ReadBatch
from hapgpu.arrays.ragged import Ragged
from hapgpu.cigar.encoding import cigar_strings
from hapgpu.realign.moves.move_table import MoveTable
from hapgpu.realign.moves.moves import Moves, name_hashes
from hapgpu.realign.records.tags import replace_texts, text_values
from hapgpu.realign.rewriting.affected_records import AffectedRecords

_REVERSE: Final = 0x10
_SEGMENT: Final = 0xC0
_FIELDS: Final = 6  # rname,pos,strand,CIGAR,mapQ,NM


def with_new_sa_fields(
    reads: ReadBatch, affected: AffectedRecords, table: MoveTable, contigs: tuple[str, ...]
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
    return replace_texts(reads.tags, "SA", affected.sa_changes, Ragged.from_sequences(texts))


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
