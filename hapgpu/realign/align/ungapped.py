"""Alignments without a gap that are proved to be the best, without any matrix.

Most reads differ from their haplotype at no or one base. Without a gap, an alignment is a diagonal
of the matrix; the search of all diagonals leaves most of them after a few bases.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.batches import AlignmentBatch, PairBatch
from hapgpu.arrays.bytes import Integer
from hapgpu.arrays.memory import Memory, part_of, read_64, read_u8
from hapgpu.arrays.ragged import Ragged
from hapgpu.arrays.ragged_memory import ragged_memory_of, row_memory
from hapgpu.arrays.ragged_view import RaggedView, read_only, view_of
from hapgpu.cigar.encoding import match_cigars
from hapgpu.realign.align.losses import EndCells, Losses, losses_of
from hapgpu.realign.scoring import LOWEST_SCORE, Overhang, Scoring
from hapgpu.runtime.jit import njit, njit_inlined

UNPROVED: Final = -1
"""Offset of a pair whose best alignment may be another one."""

_UNPROVED: Final = np.int64(UNPROVED)

# Of the eight bytes of a word.
_ONES: Final = np.uint64(0x0101010101010101)
_LOW_BITS: Final = np.uint64(0x7F7F7F7F7F7F7F7F)
_HIGH_BITS: Final = np.uint64(0x8080808080808080)


class _Diagonals(NamedTuple):
    """The result, int32, a value per pair: `offsets` in the reference, `mismatches` there."""

    offsets: NDArray[np.int32]
    mismatches: NDArray[np.int32]


class _Rules(NamedTuple):
    """Most mismatches; score lost by a mismatch, and by a query base outside the reference."""

    max_mismatches: np.int64
    mismatch_loss: np.int64
    outside_loss: np.int64


def ungapped_alignments(
    pairs: PairBatch, scoring: Scoring, overhang: Overhang
) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Find the pairs whose best alignment is within the reference and without a gap.

    Parameters
    ----------
    pairs
        n pairs of non-empty sequences.
    scoring, overhang
        Weights, and the treatment of query bases outside the reference.

    Returns
    -------
    int32[n], the offsets in the references, UNPROVED for other pairs; int32[n], their scores.
    """
    limit = max_mismatches(scoring, overhang)
    if limit < 0 or not len(pairs) or bounds_apply(pairs, scoring):
        none = np.full(len(pairs), UNPROVED, dtype=np.int32)
        return none, none
    offsets = np.empty(len(pairs), dtype=np.int32)
    found = _Diagonals(offsets, np.empty_like(offsets))
    loss = scoring.match - scoring.mismatch
    rules = _Rules(np.int64(limit), np.int64(loss), np.int64(scoring.match))
    _search(
        view_of(pairs.references),
        view_of(pairs.queries),
        read_only(pairs.reference_index),
        read_only(pairs.query_index),
        rules,
        found,
    )
    scores = scoring.match * pairs.query_lengths - loss * found.mismatches
    return offsets, scores.astype(np.int32)


def completed(
    pairs: PairBatch,
    offsets: NDArray[np.int32],
    scores: NDArray[np.int32],
    others: AlignmentBatch,
) -> AlignmentBatch:
    """Return the alignments of all pairs.

    Parameters
    ----------
    pairs
        n pairs.
    offsets, scores
        int32[n], of `ungapped_alignments`.
    others
        The alignments of the pairs whose offset is UNPROVED, in their order.
    """
    found, rest = np.flatnonzero(offsets != UNPROVED), np.flatnonzero(offsets == UNPROVED)
    lengths = pairs.queries.lengths_of(pairs.query_index[found])
    cigars = Ragged.concatenate([match_cigars(lengths), others.cigars])
    order = np.empty(len(pairs), dtype=np.int64)
    order[found], order[rest] = np.arange(found.size), np.arange(found.size, len(pairs))
    offsets, scores = offsets.copy(), scores.copy()
    offsets[rest], scores[rest] = others.offsets, others.scores
    return AlignmentBatch(scores, offsets, cigars.take(order))


def max_mismatches(scoring: Scoring, overhang: Overhang) -> int:
    """Return the most mismatches with which a query loses less than by any gap; -1 for none.

    A query of m bases scores at most m * match. A mismatch loses match - mismatch, a base outside
    the reference match. With the signs of `prefers_exact_match`, a deletion loses at least
    -gap_open, and an insertion match per base more, since its bases match nothing. So every
    alignment with a gap loses at least -gap_open.
    """
    if not (overhang.has_free_ends and scoring.prefers_exact_match):
        return -1
    return (-scoring.gap_open - 1) // (scoring.match - scoring.mismatch)


def bounds_apply(pairs: PairBatch, scoring: Scoring) -> bool:
    """Return whether GATK's lowest score could raise the score of a cell of a matrix."""
    steps = int(pairs.reference_lengths.max()) + int(pairs.query_lengths.max()) + 2
    return scoring.largest * steps >= -LOWEST_SCORE


def losses_add_up(pairs: PairBatch, scoring: Scoring, overhang: Overhang) -> bool:
    """Return whether every step of an alignment loses a part of match * m, or nothing.

    m is the number of bases of the query. Ends must be free, the weights those of
    `prefers_exact_match`, and GATK's lowest score too low to raise any score.
    """
    is_usual = overhang.has_free_ends and scoring.prefers_exact_match
    return is_usual and len(pairs) > 0 and not bounds_apply(pairs, scoring)


def are_straight(pairs: PairBatch, ends: EndCells, scoring: Scoring) -> NDArray[np.bool_]:
    """Return bool[n]: the best alignment is the diagonal of its end cell.

    It is, if this diagonal loses no more: then each cell of the diagonal has the score of the
    diagonal so far, and GATK's rules prefer the diagonal to a gap of the same score.

    Parameters
    ----------
    pairs
        n pairs; see `losses_add_up`.
    ends
        Their end cells, with known losses.
    scoring
        Weights.
    """
    is_straight = np.empty(len(pairs), dtype=np.bool_)
    _compare_diagonals(
        view_of(pairs.references),
        view_of(pairs.queries),
        read_only(pairs.reference_index),
        read_only(pairs.query_index),
        ends,
        losses_of(scoring),
        is_straight,
    )
    return is_straight


@njit
def _search(
    references: RaggedView,
    queries: RaggedView,
    reference_index: NDArray[np.int32],
    query_index: NDArray[np.int32],
    rules: _Rules,
    found: _Diagonals,
) -> None:
    """Write the diagonal with the fewest mismatches of each pair, if these prove it the optimum."""
    all_references, all_queries = ragged_memory_of(references), ragged_memory_of(queries)
    for pair in range(reference_index.size):
        reference = row_memory(all_references, reference_index[pair], 1)
        query = row_memory(all_queries, query_index[pair], 1)
        rows, columns = reference.size, query.size
        best: Integer = rules.max_mismatches + 1
        offset: Integer = _UNPROVED
        # Most diagonals differ in the first word by enough.
        has_word = columns >= 8
        word = read_64(query, 0) if has_word else np.int64(0)
        # Of equal diagonals, the matrix gives the last: the end cell in the largest row.
        for first in range(rows - columns, -1, -1):
            if has_word and _different_bytes(read_64(reference, first) ^ word) >= best:
                continue
            count = _mismatches(part_of(reference, first, columns), query, best)
            if count < best:
                best, offset = count, first
                if best == 0:
                    break
        # Bases outside the reference may lose less than the mismatches.
        loss = best * rules.mismatch_loss
        if offset != _UNPROVED:
            for outside in range(1, min(loss // rules.outside_loss, columns - 1) + 1):
                left, inside = loss - outside * rules.outside_loss, columns - outside
                head, tail = part_of(query, 0, inside), part_of(query, outside, inside)
                # Before the reference: with an equal score, its end cell is in a smaller row.
                least = -(-left // rules.mismatch_loss)
                if _mismatches(part_of(reference, 0, inside), tail, least) < least:
                    offset = _UNPROVED
                # After it: with an equal score, its end cell may be taken.
                least = left // rules.mismatch_loss + 1
                if _mismatches(part_of(reference, rows - inside, inside), head, least) < least:
                    offset = _UNPROVED
        found.offsets[pair], found.mismatches[pair] = offset, best


@njit
def _compare_diagonals(
    references: RaggedView,
    queries: RaggedView,
    reference_index: NDArray[np.int32],
    query_index: NDArray[np.int32],
    ends: EndCells,
    losses: Losses,
    is_straight: NDArray[np.bool_],
) -> None:
    all_references, all_queries = ragged_memory_of(references), ragged_memory_of(queries)
    for pair in range(reference_index.size):
        reference = row_memory(all_references, reference_index[pair], 1)
        query = row_memory(all_queries, query_index[pair], 1)
        row, column = np.int64(ends.rows[pair]), np.int64(ends.columns[pair])
        inside = min(row, column)
        left = np.int64(ends.losses[pair]) - losses.match * (query.size - inside)
        above = part_of(reference, row - inside, inside)
        most = left // losses.mismatch
        count = _mismatches(above, part_of(query, column - inside, inside), most + 1)
        is_straight[pair] = left >= 0 and count == most and most * losses.mismatch == left


@njit_inlined
def _different_bytes(word: Integer) -> Integer:
    """Count the bytes of a word that are not 0."""
    bits = np.uint64(word)
    is_different = ((bits & _LOW_BITS) + _LOW_BITS | bits) & _HIGH_BITS
    return np.int64((is_different >> np.uint64(7)) * _ONES >> np.uint64(56))


@njit_inlined
def _mismatches(one: Memory, other: Memory, enough: Integer) -> Integer:
    """Count mismatches of two sequences of one length, at least up to `enough`."""
    count, done = np.int64(0), np.int64(0)
    while done + 8 <= one.size and count < enough:
        bits = read_64(one, done) ^ read_64(other, done)
        if bits != 0:
            count += _different_bytes(bits)
        done += 8
    while done < one.size and count < enough:
        count += read_u8(one, done) != read_u8(other, done)
        done += 1
    return count
