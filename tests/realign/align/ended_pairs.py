"""Pairs with their end cells, and their alignments by the matrices of the oracle alone."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random
from typing import Any, Final

import numpy as np

from hapgpu.arrays.batches import PairBatch
from hapgpu.arrays.ragged import Ragged
from hapgpu.cigar.encoding import cigar_strings
from hapgpu.realign.scoring import PRESETS, Overhang, Scoring
from tests.realign.align.reference import _end_cell, _trace_back
from tests.realign.compiled_aligner import filled

SCORINGS: Final = [
    *PRESETS.values(),
    Scoring(1, -1, -1, -1),
    Scoring(2, -3, -1, -4),  # opening a gap again is cheaper than extending it
    Scoring(0, -1, -1, -1),
    Scoring(0, 0, 0, 0),
    Scoring(3, -2, -5, 0),
    Scoring(1, 1, -2, -1),
    Scoring(-1, 2, -3, -1),
    Scoring(-2, -3, -1, -1),
    Scoring(5, -4, 0, -1),
]
"""Weights of both kinds that bands are for: usual ones, and those with which most cells tie."""

Row = tuple[int, int, str]
"""Score, offset and CIGAR."""


@dataclass(frozen=True)
class Ended:
    """Pairs, int32[n] scores, rows and columns of their end cells, and their alignments.

    `is_diagonal` tells which tracebacks have no step of a gap.
    """

    pairs: PairBatch
    ends: tuple[Any, Any, Any]
    expected: list[Row]
    is_diagonal: list[bool]


def made_sequences(count: int, seed: int, longest: int = 60) -> list[tuple[bytes, bytes]]:
    """Make sequences that differ by a few edits, with short repeats, overhangs and pads."""
    random = Random(seed)  # noqa: S311  (the same pairs on every run)
    return [_made_pair(random, longest) for _ in range(count)]


def _made_pair(random: Random, longest: int) -> tuple[bytes, bytes]:
    letters = "ACGT"[: random.randint(1, 4)]
    unit = "".join(random.choices(letters, k=random.randint(1, 30)))
    reference = (unit * longest)[: random.randint(1, longest)]
    start = random.choice([0, 0, random.randint(0, len(reference) - 1)])
    query = reference[start : start + random.choice([longest, random.randint(1, longest)])]
    for _ in range(random.choice([0, 0, 1, 1, 2, 6])):
        at, length = random.randint(0, len(query)), random.randint(0, random.choice([2, 20]))
        inserted = "".join(random.choices(letters, k=random.choice([0, 1, 1, length])))
        query = query[:at] + inserted + query[at + random.choice([0, 1, 1, length]) :]
    ends = ["".join(random.choices(letters, k=random.choice([0, 0, 3, 9]))) for _ in "12"]
    pad = "N" * random.choice([0, 0, 10])
    query = f"{pad}{ends[0]}{query}{ends[1]}{pad}" or "A"
    return f"{pad}{reference}{pad}".encode(), query.encode()


def ended(sequences: list[tuple[bytes, bytes]], scoring: Scoring, overhang: Overhang) -> Ended:
    """Fill the matrices of pairs: also of exact matches, unlike `align_reference`."""
    cells, expected, is_diagonal = [], [], []
    for reference, query in sequences:
        scores, steps = filled(reference, query, scoring, overhang)
        matrix = scores.tolist()
        row, column = _end_cell(matrix, overhang)
        offset, cigar = _trace_back(steps.tolist(), row, column, overhang)
        cells.append((matrix[row][column], row, column))
        steps_back = range(min(row, column))
        is_diagonal.append(all(steps[row - k, column - k] == 0 for k in steps_back))
        text = "".join(f"{length}{operation}" for length, operation in cigar)
        expected.append((matrix[row][column], offset, text))
    numbers = np.arange(len(sequences), dtype=np.int32)
    pairs = PairBatch(
        Ragged.from_sequences(reference for reference, _ in sequences),
        Ragged.from_sequences(query for _, query in sequences),
        numbers,
        numbers,
    )
    score, row, column = np.array(cells, dtype=np.int32).T.copy()
    return Ended(pairs, (score, row, column), expected, is_diagonal)


def found_rows(arrays: tuple[Any, ...]) -> list[Row | None]:
    """Return the alignments of arrays like those of `Outputs`; None without runs."""
    scores, offsets, starts, counts, pool = arrays
    ends = np.append(0, np.cumsum(counts))
    runs = np.arange(ends[-1]) + np.repeat(starts - ends[:-1], counts)
    cigars = cigar_strings(Ragged(pool[runs], ends.astype(np.int64)))
    rows = zip(scores.tolist(), offsets.tolist(), cigars, strict=True)
    return [row if count else None for row, count in zip(rows, counts, strict=True)]
