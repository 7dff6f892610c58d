"""Pairs with many ties for the end cells of the aligner on a GPU, and their oracle."""

from __future__ import annotations

from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.batches import PairBatch
from hapgpu.arrays.ragged import Ragged
from hapgpu.realign.scoring import PRESETS, Overhang, Scoring
from tests.realign.align.reference import _end_cell, _fill

SCORINGS: Final = (
    *PRESETS.values(),
    Scoring(0, -1, -1, -1),
    Scoring(1, 1, 0, 0),
    Scoring(2, -3, -1, -4),  # a new gap costs less than a longer one
    Scoring(2000, -40, -30, -47),
)
Ends: TypeAlias = list[tuple[int, ...]]
"""Score, row and column of the end cell of each pair."""

UNCERTIFIED: Final = -1
ALPHABETS: Final = (b"A", b"AC", b"ACGTNacgt\x00\xff")


def made_pairs(seed: int, count: int, columns: tuple[int, int], longest: int) -> PairBatch:
    """Make pairs whose queries are changed parts of references or unrelated to them.

    Parameters
    ----------
    seed, count
        Of the pairs.
    columns
        The shortest and the longest query.
    longest
        The longest reference.
    """
    rng = np.random.default_rng(seed)
    references, queries = [], []
    for _ in range(count):
        letters = np.frombuffer(ALPHABETS[rng.integers(len(ALPHABETS))], dtype=np.uint8)
        reference = rng.choice(letters, rng.integers(1, longest + 1))
        length = int(rng.integers(columns[0], columns[1] + 1))
        query = rng.choice(letters, length)
        if rng.random() < 0.7:
            query = _changed(np.resize(np.roll(reference, rng.integers(longest)), length), rng)
            query = np.resize(query, length)
        references.append(reference.tobytes())
        queries.append(query.tobytes())
    rows = np.arange(count, dtype=np.int32)
    return PairBatch(
        Ragged.from_sequences(references),
        Ragged.from_sequences(queries),
        rows,
        rng.permutation(rows),
    )


def _changed(bases: NDArray[np.uint8], rng: np.random.Generator) -> NDArray[np.uint8]:
    """Return bases with some substitutions and one gap."""
    bases = bases.copy()
    is_changed = rng.random(bases.size) < 0.1
    bases[is_changed] = ord("T")
    at, gap = int(rng.integers(bases.size)), int(rng.integers(4))
    if rng.random() < 0.5:
        return np.delete(bases, slice(at, min(at + gap, bases.size - 1)))
    return np.insert(bases, at, bases[at : at + gap])


def expected_ends(pairs: PairBatch, scoring: Scoring, overhang: Overhang) -> Ends:
    """Return score, row and column of the end cell of each pair."""
    return [_expected(*both, scoring, overhang) for both in _sequences(pairs)]


def _sequences(pairs: PairBatch) -> list[tuple[bytes, bytes]]:
    return [
        (pairs.references[int(r)].tobytes(), pairs.queries[int(q)].tobytes())
        for r, q in zip(pairs.reference_index, pairs.query_index, strict=True)
    ]


def _expected(
    reference: bytes, query: bytes, scoring: Scoring, overhang: Overhang
) -> tuple[int, ...]:
    scores = _fill(reference, query, scoring, overhang).scores
    row, column = _end_cell(scores, overhang)
    return scores[row][column], row, column


def check_ends(found: Ends, pairs: PairBatch, scoring: Scoring, overhang: Overhang) -> None:
    """Check end cells; exactly those whose score is as low as the cap are not certified."""
    queries = pairs.query_lengths.tolist()
    for ends, best, columns in zip(
        found, expected_ends(pairs, scoring, overhang), queries, strict=True
    ):
        is_certified = scoring.match * columns - best[0] < _lost_at_cap(scoring)
        assert ends[1] == UNCERTIFIED if not is_certified else ends == best


def _lost_at_cap(scoring: Scoring) -> int:
    """Return the score that a cell at the cap has lost: 65,535 less the largest steps."""
    match, mismatch, gap_open, gap_extend = scoring.divided().weights
    steps = (match - mismatch, match - gap_open, match - gap_extend, -gap_open, -gap_extend)
    return (65_535 - max(steps) + 8 * gap_open) * scoring.divisor
