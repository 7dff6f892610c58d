"""Pairs to align on a GPU, and what the CPU makes of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from hapgpu.longread.align.batches import PieceAlignments, Pieces, SequenceCodes
from hapgpu.longread.align.cpu import align_pieces
from hapgpu.longread.align.parameters import AlignScoring, align_parameters, align_scoring
from hapgpu.longread.options import LongReadOptions
from tests.longread.align.fills.made_pairs import Codes, mutated, packed
from tests.longread.align.fills.recorded_fills import recorded_fills

DEFAULT = align_scoring(2, 4, (4, 2), (24, 1))
UNFIT = ("expensive", "does not fit", "not aligned")
"""Names of scorings with which no pair is aligned in bands."""
SCORINGS = {
    "default": DEFAULT,
    "accurate": align_scoring(1, 4, (6, 2), (26, 1)),
    "single affine": align_scoring(2, 4, (4, 2), (4, 2)),
    "transitions": align_scoring(2, 5, (4, 2), (24, 1), ambiguous=0, transition=1),
    "free of ambiguous bases": align_scoring(2, 4, (4, 3), (24, 2), ambiguous=0),
    "ties": align_scoring(1, 1, (1, 1), (1, 1), ambiguous=1),
    "expensive": align_scoring(60, 70, (38, 2), (41, 1), ambiguous=80),
    "cheap gaps": align_scoring(20, 2, (1, 2), (3, 1)),
    "does not fit": align_scoring(120, 4, (4, 2), (24, 1)),
    "not aligned": align_scoring(2, 30, (4, 2), (24, 1)),
}


def whole_matrices(
    pieces: Pieces, sequences: SequenceCodes, scoring: AlignScoring
) -> PieceAlignments:
    """Return the alignments of the CPU; fills that it does not align side by side one by one."""
    options = LongReadOptions()
    parameters = align_parameters(options, options.sketch)._replace(max_cells=0)
    longest = np.full(pieces.kinds.size, 1 << 20, np.int32)
    return align_pieces(pieces._replace(bands=longest), sequences, scoring, parameters)


def pair(
    generator: np.random.Generator, length: int, rate: float, ambiguous: float = 0
) -> tuple[Codes, Codes]:
    """Return a query and its target with errors."""
    target = generator.integers(0, 4, length).astype(np.uint8)
    query = mutated(generator, target, rate)
    query[generator.random(query.size) < ambiguous] = 4
    target[generator.random(target.size) < ambiguous] = 4
    return query, target


def any_pairs(seed: int) -> list[tuple[Codes, Codes]]:
    """Return pairs of many lengths, alike and not, of repeats and with ambiguous bases."""
    generator = np.random.default_rng(seed)
    pairs = [pair(generator, length, 0.1) for length in (0, 1, 2, 3, 7, 8, 9, 31, 65)]
    rates = (1e-3, 0.08, 0.15, 0.3, 2.0)
    for rate in rates:
        pairs += [pair(generator, int(length), rate) for length in generator.integers(1, 300, 3)]
    pairs += [pair(generator, 200, 0.1, ambiguous) for ambiguous in (0.002, 0.05, 1)]
    pairs += [_of_two_lengths(generator, *lengths) for lengths in ((200, 150), (3, 40), (90, 20))]
    repeat = np.tile(np.array([0, 2, 2], np.uint8), 60)
    pairs += [(repeat[:150], repeat), (repeat[1:], repeat[:-3]), (repeat[:20], repeat[40:140])]
    pairs += [(query[::-1].copy(), target[::-1].copy()) for query, target in pairs[-5:]]
    return [pairs[k] for k in generator.permutation(len(pairs))]


def _of_two_lengths(
    generator: np.random.Generator, query_length: int, target_length: int
) -> tuple[Codes, Codes]:
    """Return sequences that have their ends in common."""
    longer = generator.integers(0, 4, max(query_length, target_length)).astype(np.uint8)
    shorter = min(query_length, target_length)
    first = shorter // 3
    joined = np.concatenate([longer[:first], longer[longer.size - (shorter - first) :]])
    return (longer, joined) if query_length > target_length else (joined, longer)


def long_pairs() -> list[tuple[Codes, Codes]]:
    """Return longer pairs."""
    generator = np.random.default_rng(5)
    shapes = ((600, 0.02), (600, 0.15), (1300, 0.08), (700, 0.3), (560, 2.0))
    pairs = [pair(generator, *shape) for shape in shapes]
    query, target = pair(generator, 500, 0.03)
    return [*pairs, (np.delete(query, slice(150, 250)), target)]


def check(
    found: Any,
    pairs: list[tuple[Codes, Codes]],
    scoring: AlignScoring,
) -> int:
    """Compare `DeviceFills` on the host with the CPU's; return how many pairs are aligned."""
    expected = whole_matrices(*packed(pairs), scoring)
    assert [column.dtype for column in found] == [np.int32, np.uint8, np.uint32, np.int64]
    assert found.offsets.size == len(pairs) + 1
    for row, (query, target) in enumerate(pairs):
        own, others = (
            each.operations[each.offsets[row] : each.offsets[row + 1]] for each in (found, expected)
        )
        is_done = bool(found.is_aligned[row])
        np.testing.assert_array_equal(own, others if is_done else [])
        has_score = is_done and query.size > 0 and target.size > 0
        assert found.scores[row] == (expected.scores[row] if has_score else 0)
        assert is_done or (query.size > 0 and target.size > 0)
    return int(found.is_aligned.sum())


def recorded_batches(directory: Path) -> list[tuple[list[tuple[Codes, Codes]], AlignScoring]]:
    """Return the recorded pairs and their scorings, a batch per scoring."""
    batches: dict[tuple[int, ...], tuple[list[tuple[Codes, Codes]], AlignScoring]] = {}
    for fill in recorded_fills(directory):
        pairs, _ = batches.setdefault(fill.scoring[:8], ([], fill.scoring))
        pairs.append((fill.query, fill.target))
    return list(batches.values())
