"""The `SA` field of records of which another alignment of the same read has moved."""

from __future__ import annotations

from typing import Final

import numpy as np

from hapgpu.arrays.batches import ReadBatch
from hapgpu.arrays.ragged import Ragged
from hapgpu.cigar.encoding import cigar_strings
from hapgpu.realign.moves.move_table import MoveTable
from hapgpu.realign.moves.moves import Moves, name_hashes
from hapgpu.realign.records.tags import replace_texts, text_values
from hapgpu.realign.rewriting.affected_records import MoveHits

_REVERSE: Final = 0x10
_SEGMENT: Final = 0xC0
_FIELDS: Final = 6  # rname,pos,strand,CIGAR,mapQ,NM


def with_new_siblings(
    reads: ReadBatch, hits: MoveHits, table: MoveTable, contigs: tuple[str, ...]
) -> Ragged:
    """Return the optional fields of n records, with `SA` up to date.

    Read by read: few reads have several alignments of which one moves.

    Parameters
    ----------
    reads
        The records.
    hits
        Tells which have an `SA` field and a sibling that has moved.
    table
        All moves.
    contigs
        Names of the @SQ lines.
    """
    rows = np.flatnonzero(hits.has_siblings)
    if not rows.size:
        return reads.tags
    some = reads.take(rows)
    texts = []
    old = zip(name_hashes(some.names), some.flags, text_values(some.tags, "SA"), strict=True)
    for hashed, flag, text in old:
        moves = table.of_name(hashed)
        siblings = moves.take(np.flatnonzero((moves.flags ^ flag) & _SEGMENT == 0))
        texts.append(_updated(text.tobytes(), siblings, contigs))
    return replace_texts(reads.tags, "SA", hits.has_siblings, Ragged.from_sequences(texts))


def _updated(text: bytes, moves: Moves, contigs: tuple[str, ...]) -> bytes:
    """Replace the alignments that have moved in `rname,pos,strand,CIGAR,mapQ,NM;...`."""
    cigars = cigar_strings(moves.cigars)
    numbers = {
        (contigs[moves.reference_ids[k]], str(moves.old_positions[k] + 1), _strand(moves, k)): k
        for k in range(len(moves))
    }
    entries = text.decode("utf-8", "surrogateescape").split(";")
    for place, entry in enumerate(entries):
        fields = entry.split(",")
        k = numbers.get((fields[0], fields[1], fields[2])) if len(fields) == _FIELDS else None
        if k is not None:
            fields[1], fields[3] = str(moves.positions[k] + 1), cigars[k]
            fields[5] = str(moves.edit_distances[k])
            entries[place] = ",".join(fields)
    return ";".join(entries).encode("utf-8", "surrogateescape")


def _strand(moves: Moves, row: int) -> str:
    return "-" if moves.flags[row] & _REVERSE else "+"
