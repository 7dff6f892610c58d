"""Inversions between two parts of split mappings (Li 2018, Bioinformatics 34:3094).

The stretch between the parts is aligned locally with the other strand of the read; from the start
of this alignment it is then extended. Rules and limits: minimap2 2.30's `mm_align1_inv`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.bytes import Integer
from hapgpu.arrays.ragged_view import read_only
from hapgpu.longread.align.batches import (
    INVERSION,
    MAPPING,
    NO_PARENT,
    TEMPORARY_PRIMARY,
    PieceAlignments,
    Pieces,
    Row,
    SequenceCodes,
)
from hapgpu.longread.align.dp import results
from hapgpu.longread.align.dp.local import align_locally
from hapgpu.longread.align.parameters import AlignParameters, AlignScoring
from hapgpu.runtime.jit import njit

# Rows of the table of stretches.
_LEFT, _RIGHT, _QUERY_START, _QUERY_LENGTH, _TARGET_START, _TARGET_LENGTH, _COLUMNS = range(7)

_FIRST_PART, _LATER_PART = 1, 2


class Stretches(NamedTuple):
    """Stretches between two parts of split mappings, which may be inverted.

    Attributes
    ----------
    left, right
        int64[p]: rows of the mappings before and behind each stretch.
    pieces
        One piece of kind `INVERSION` per stretch.
    """

    left: NDArray[np.int64]
    right: NDArray[np.int64]
    pieces: Pieces


def find_stretches(
    mappings: NDArray[np.void],
    sequences: SequenceCodes,
    scoring: AlignScoring,
    parameters: AlignParameters,
) -> Stretches:
    """Find stretches between the parts of split mappings that align with the other strand.

    Parameters
    ----------
    mappings
        `MAPPING`[r]: aligned mappings, with their final coordinates.
    sequences
        Bases.
    scoring, parameters
        Scores and other parameters.
    """
    table = np.empty((_COLUMNS, mappings.size), dtype=np.int64)
    count = _find_stretches(read_only(mappings), sequences, scoring, parameters, table)
    pieces = Pieces(
        kinds=np.full(count, INVERSION, dtype=np.uint8),
        query_starts=table[_QUERY_START, :count],
        query_lengths=table[_QUERY_LENGTH, :count].astype(np.int32),
        target_starts=table[_TARGET_START, :count],
        target_lengths=table[_TARGET_LENGTH, :count].astype(np.int32),
        bands=np.full(count, parameters.inversion_band, dtype=np.int32),
        drops=np.full(count, parameters.drop, dtype=np.int32),
    )
    return Stretches(table[_LEFT, :count], table[_RIGHT, :count], pieces)


@njit
def _find_stretches(
    mappings: NDArray[np.void],
    sequences: SequenceCodes,
    scoring: AlignScoring,
    parameters: AlignParameters,
    table: NDArray[np.int64],
) -> Integer:
    """Fill the table; return the number of stretches.

    The rows of the parts of one mapping ascend, so that its stretches come in their order.
    """
    count = 0
    for row in range(mappings.size):
        left = mappings[row]
        if left.next < 0:
            continue
        right = mappings[left.next]
        if not _may_enclose_inversion(left, right):
            continue
        query_length, target_length = _gap(left, right)
        shortest = min(query_length, target_length)
        longest = max(query_length, target_length)
        if shortest < parameters.min_chain_score or longest > parameters.max_gap:
            continue
        query_start, target_start = _gap_starts(left, right, sequences)
        score, target_end, query_end = align_locally(
            sequences.reads.codes[query_start : query_start + query_length],
            sequences.targets.codes[target_start : target_start + target_length],
            results.BACKWARDS,
            scoring,
        )
        if score < parameters.min_score:
            continue
        # The query's end can lie in its padding: then the piece starts before the stretch.
        table[_LEFT, count] = row
        table[_RIGHT, count] = left.next
        table[_QUERY_START, count] = query_start + query_length - (query_end + 1)
        table[_QUERY_LENGTH, count] = query_end + 1
        table[_TARGET_START, count] = target_start + target_length - (target_end + 1)
        table[_TARGET_LENGTH, count] = target_end + 1
        count += 1
    return count


@njit
def _may_enclose_inversion(left: Row, right: Row) -> bool:
    return bool(
        right.is_split_inversion != 0
        and left.split & _FIRST_PART != 0
        and right.split & _LATER_PART != 0
        and _is_primary(left)
        and _is_primary(right)
        and left.sequence == right.sequence
        and left.is_reverse == right.is_reverse
    )


@njit
def _is_primary(mapping: Row) -> bool:
    is_own = mapping.parent == mapping.number
    return bool(is_own or mapping.parent == TEMPORARY_PRIMARY)


@njit
def _gap(left: Row, right: Row) -> tuple[Integer, Integer]:
    """Return the bases between two parts in the read and in the reference."""
    query = np.int64(right.query_start) - left.query_end
    if left.is_reverse != 0:
        query = np.int64(left.query_start) - right.query_end
    return query, np.int64(right.target_start) - left.target_end


@njit
def _gap_starts(left: Row, right: Row, sequences: SequenceCodes) -> tuple[Integer, Integer]:
    """Return the first codes between two parts: of the read's other strand, of the reference."""
    start = sequences.reads.starts[left.read]
    length = np.int64(sequences.reads.lengths[left.read])
    query = start + (2 * length - right.query_start)
    if left.is_reverse != 0:
        query = start + right.query_end
    return query, sequences.targets.starts[left.sequence] + left.target_end


def insert_inversions(
    mappings: NDArray[np.void],
    stretches: Stretches,
    alignments: PieceAlignments,
    sequences: SequenceCodes,
    first_operation: int,
) -> NDArray[np.void]:
    """Insert a mapping for each inversion, behind the parts that it lies between.

    An inversion is the left neighbour of the next part, if the mapping was split again: no other
    inversion can follow.

    Parameters
    ----------
    mappings
        `MAPPING`[r]: `next` is changed in place.
    stretches
        Stretches that may be inverted.
    alignments
        Their alignments.
    sequences
        Bases.
    first_operation
        Number of operations of all mappings, which precede those of the alignments.

    Returns
    -------
    `MAPPING`[r + i]: the mappings, and behind them the i inversions.
    """
    inversions = np.zeros(stretches.left.size, dtype=MAPPING)
    inversions["first_operation"] = alignments.offsets[:-1] + first_operation
    inversions["operations"] = alignments.offsets[1:] - alignments.offsets[:-1]
    inversions["dp_score"] = alignments.max_scores
    _place(inversions, mappings, stretches, alignments, sequences)
    count = _link(mappings, read_only(stretches.left), read_only(stretches.right), inversions)
    return np.concatenate([mappings, inversions[:count]])


def _place(
    inversions: NDArray[np.void],
    mappings: NDArray[np.void],
    stretches: Stretches,
    alignments: PieceAlignments,
    sequences: SequenceCodes,
) -> None:
    """Set where the inversions lie."""
    right, pieces = mappings[stretches.right], stretches.pieces
    read, sequence = right["read"], right["sequence"]
    length = sequences.reads.lengths[read]
    is_reverse = right["is_reverse"] == 0
    strand_start = sequences.reads.starts[read] + np.where(is_reverse, length, 0)
    start = pieces.query_starts - strand_start
    end = start + alignments.max_queries + 1
    target_start = pieces.target_starts - sequences.targets.starts[sequence]
    inversions["read"], inversions["sequence"] = read, sequence
    inversions["is_reverse"] = is_reverse
    inversions["query_start"] = np.where(is_reverse, length - end, start)
    inversions["query_end"] = np.where(is_reverse, length - start, end)
    inversions["target_start"] = target_start
    inversions["target_end"] = target_start + alignments.max_targets + 1
    inversions["number"] = inversions["parent"] = NO_PARENT
    inversions["is_inversion"] = 1


@njit
def _link(
    mappings: NDArray[np.void],
    left: NDArray[np.int64],
    right: NDArray[np.int64],
    inversions: NDArray[np.void],
) -> Integer:
    """Link the inversions to their neighbours, and move them to the front; return their number."""
    count = 0
    for stretch in range(left.size):
        is_aligned = inversions[stretch].operations > 0
        if is_aligned and mappings[left[stretch]].next == right[stretch]:
            before = mappings[right[stretch]]
            inversions[count] = inversions[stretch]
            inversions[count].next = before.next
            before.next = mappings.size + count
            count += 1
    return count
