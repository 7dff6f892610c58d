"""Mate fields of records after moves.

As in `samtools fixmate`, template lengths are differences of half-open positions of 5' ends.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.batches import ReadBatch
from hapgpu.arrays.ragged import Ragged
from hapgpu.arrays.ragged_view import RaggedView, row_of, view_of
from hapgpu.cigar.encoding import cigar_text, reference_lengths
from hapgpu.realign.moves.move_table import NOT_MOVED, MoveTable
from hapgpu.realign.moves.moves import Moves
from hapgpu.realign.records.tags import replace_texts, text_values
from hapgpu.realign.rewriting.affected_records import AffectedRecords
from hapgpu.runtime.jit import njit

_PROPER_PAIR, _UNMAPPED, _MATE_UNMAPPED, _REVERSE, _MATE_REVERSE = 0x2, 0x4, 0x8, 0x10, 0x20
_NOT_PRIMARY: Final = 0x900
_UNKNOWN: Final = -1
_ZERO, _NINE = b"09"
_SPANNING = b"MDN=X"


def with_new_mates(
    before: ReadBatch, after: ReadBatch, affected: AffectedRecords, table: MoveTable
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
    tags = replace_texts(after.tags, "MC", has_mate, cigar_text(mates.cigars))
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
