"""`SA` fields of records of reads with a moved alignment."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.ragged import Ragged
from hapgpu.cigar.encoding import cigar_strings
from hapgpu.io.bam.constants import FIXED_BYTES
from hapgpu.io.bam.record_block import RecordBlock
from hapgpu.io.bam.tags import HEAD_BYTES, field_bytes, find_field, name_number
from hapgpu.realign.moves.move_table import MoveTable
from hapgpu.realign.moves.moves import Moves, name_hashes

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
    for name_hash, flag, start, end in zip(name_hashes(names), some.flags, tags, ends, strict=True):
        moves = table.of_name(name_hash)
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
