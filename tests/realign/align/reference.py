"""Reference implementation of GATK's semi-global affine aligner.

Follows SmithWatermanJavaAligner of GATK 4 (the recurrences of Ren et al. 2019, eq. 1-3, with
GATK's tie rules): every cell stores the source of its best path, a gap with its full length.
"""

from __future__ import annotations

from typing import NamedTuple

from hapgpu.errors import InputError
from hapgpu.realign.scoring import Overhang, Scoring

LOWEST_SCORE = -100_000_000  # SmithWatermanJavaAligner: MATRIX_MIN_CUTOFF
UNREACHABLE = -(2**30)  # SmithWatermanJavaAligner: Integer.MIN_VALUE / 2


class Alignment(NamedTuple):
    """Score, 0-based start in the reference, and (length, operation) runs."""

    score: int
    offset: int
    cigar: list[tuple[int, str]]


class _Matrices(NamedTuple):
    """Scores and steps, both [reference length + 1][query length + 1].

    A step is 0 for the diagonal, k for a deletion and -k for an insertion of k bases.
    """

    scores: list[list[int]]
    steps: list[list[int]]


def align_reference(
    reference: bytes, query: bytes, scoring: Scoring, overhang: Overhang
) -> Alignment:
    """Align one query to one reference; O(len(reference) * len(query)) time and memory.

    Raises
    ------
    InputError
        A sequence is empty.
    """
    if not reference or not query:
        raise InputError("pair: empty sequence; give at least one base")
    if overhang.has_free_ends and query in reference:
        start = reference.rindex(query)
        return Alignment(scoring.match * len(query), start, [(len(query), "M")])
    matrices = _fill(reference, query, scoring, overhang)
    row, column = _end_cell(matrices.scores, overhang)
    offset, cigar = _trace_back(matrices.steps, row, column, overhang)
    return Alignment(matrices.scores[row][column], offset, cigar)


def _border(length: int, scoring: Scoring, overhang: Overhang) -> list[int]:
    if overhang.has_free_ends:
        return [0] * (length + 1)
    return [0] + [scoring.gap_open + k * scoring.gap_extend for k in range(length)]


def _fill(reference: bytes, query: bytes, scoring: Scoring, overhang: Overhang) -> _Matrices:
    columns = len(query) + 1
    scores = [_border(len(query), scoring, overhang)]
    steps = [[0] * columns]
    first_column = _border(len(reference), scoring, overhang)
    deletion = [UNREACHABLE] * columns
    deletion_length = [0] * columns
    for i, reference_base in enumerate(reference, start=1):
        row = [first_column[i]]
        row_steps = [0]
        insertion, insertion_length = UNREACHABLE, 0
        above = scores[-1]
        for j, query_base in enumerate(query, start=1):
            matched = scoring.match if reference_base == query_base else scoring.mismatch
            diagonal = above[j - 1] + matched
            deletion[j], deletion_length[j] = _longer_gap(
                above[j], deletion[j], deletion_length[j], scoring
            )
            insertion, insertion_length = _longer_gap(
                row[j - 1], insertion, insertion_length, scoring
            )
            if diagonal >= deletion[j] and diagonal >= insertion:
                best, step = diagonal, 0
            elif insertion >= deletion[j]:
                best, step = insertion, -insertion_length
            else:
                best, step = deletion[j], deletion_length[j]
            row.append(max(best, LOWEST_SCORE))
            row_steps.append(step)
        scores.append(row)
        steps.append(row_steps)
    return _Matrices(scores, steps)


def _longer_gap(score: int, gap: int, gap_length: int, scoring: Scoring) -> tuple[int, int]:
    """Open a gap after `score`, or extend the current gap, also on a tie."""
    opened = score + scoring.gap_open
    extended = gap + scoring.gap_extend
    return (opened, 1) if opened > extended else (extended, gap_length + 1)


def _end_cell(scores: list[list[int]], overhang: Overhang) -> tuple[int, int]:
    last_row, last_column = len(scores) - 1, len(scores[0]) - 1
    if overhang is Overhang.INDEL:
        return last_row, last_column
    best = max(scores[i][last_column] for i in range(1, last_row + 1))
    row = max(i for i in range(1, last_row + 1) if scores[i][last_column] == best)
    column = last_column
    if overhang is Overhang.LEADING_INDEL:
        return row, column
    for j in range(1, last_column + 1):
        score = scores[last_row][j]
        nearer_diagonal = abs(last_row - j) < abs(row - column)
        if score > best or (score == best and nearer_diagonal):
            best, row, column = score, last_row, j
    return row, column


def _trace_back(
    steps: list[list[int]], row: int, column: int, overhang: Overhang
) -> tuple[int, list[tuple[int, str]]]:
    runs = _Runs()
    trailing = len(steps[0]) - 1 - column
    if trailing and overhang is Overhang.SOFTCLIP:
        runs.add(trailing, "S")
    elif trailing and overhang is Overhang.IGNORE:
        runs.add(trailing, "M")
    while row > 0 and column > 0:
        step = steps[row][column]
        if step > 0:
            runs.add(step, "D")
            row -= step
        elif step < 0:
            runs.add(-step, "I")
            column += step
        else:
            runs.add(1, "M")
            row, column = row - 1, column - 1
    return _close(runs, row, column, overhang)


def _close(
    runs: _Runs, row: int, column: int, overhang: Overhang
) -> tuple[int, list[tuple[int, str]]]:
    """Add the rest of a sequence after the other one has ended; return offset and CIGAR."""
    if overhang is Overhang.SOFTCLIP:
        if column:
            runs.add(column, "S")
        return row, runs.left_to_right()
    if overhang is Overhang.IGNORE:
        runs.lengthen(column)
        return row - column, runs.left_to_right()
    if row:
        runs.add(row, "D")
    elif column:
        runs.add(column, "I")
    return 0, runs.left_to_right()


class _Runs:
    """Builder of a CIGAR from right to left."""

    def __init__(self) -> None:
        self._runs: list[tuple[int, str]] = []

    def add(self, length: int, operation: str) -> None:
        """Lengthen the current run, or start a new one."""
        if self._runs and self._runs[-1][1] == operation:
            self.lengthen(length)
        else:
            self._runs.append((length, operation))

    def lengthen(self, length: int) -> None:
        """Lengthen the current run, of any operation, as GATK does with an overhang."""
        self._runs[-1] = (self._runs[-1][0] + length, self._runs[-1][1])

    def left_to_right(self) -> list[tuple[int, str]]:
        return self._runs[::-1]
