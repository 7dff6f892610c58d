"""The reference alignment against enumerated alignments and recorded ones of minimap2."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hapgpu.longread.align.dp.results import PairOptions
from hapgpu.longread.align.parameters import AlignScoring, gap_cost
from tests.longread.align.dp import reference
from tests.longread.align.dp.made_pairs import scorings, texts_of
from tests.longread.align.dp.recorded_cases import recorded_cases

FEW_CELLS = 600
FAR = -(10**6)


def best_scores(query: bytes, target: bytes, scoring: AlignScoring) -> dict[tuple[int, int], int]:
    """Return the best score of each pair of prefixes, over all sequences of columns."""
    costs = [int(gap_cost(length, scoring)) for length in range(len(query) + len(target) + 1)]

    @cache
    def best(i: int, j: int) -> int:
        if i == 0 and j == 0:
            return 0
        scores = [best(i - length, j) - costs[length] for length in range(1, i + 1)]
        scores += [best(i, j - length) - costs[length] for length in range(1, j + 1)]
        if i and j:
            pair_score = int(scoring.dp_matrix[target[i - 1], query[j - 1]])
            scores.append(best(i - 1, j - 1) + pair_score)
        return max(scores)

    return {(i, j): best(i, j) for i in range(len(target) + 1) for j in range(len(query) + 1)}


@settings(max_examples=60)
@given(
    st.binary(min_size=1, max_size=9).map(lambda text: bytes(byte % 5 for byte in text)),
    st.binary(min_size=1, max_size=9).map(lambda text: bytes(byte % 5 for byte in text)),
    scorings(),
)
def test_scores_are_those_of_the_best_alignments(
    query: bytes, target: bytes, scoring: AlignScoring
) -> None:
    found = reference.align_pair(query, target, PairOptions(), scoring)
    if scoring.matrix.min() < -2 * (scoring.gap_open + scoring.gap_extend):
        assert found == reference.PairAlignment()
        return
    scores = best_scores(query, target, scoring)
    ends = range(1, len(target) + 1), range(1, len(query) + 1)
    cells = [scores[i, j] for i in ends[0] for j in ends[1]]
    assert found.score == scores[len(target), len(query)]
    assert found.max_score == max(0, *cells)
    if found.max_score:
        assert scores[found.max_target + 1, found.max_query + 1] == found.max_score
    at_query_end = {i - 1: scores[i, len(query)] for i in ends[0]}
    assert found.query_end_score == max(at_query_end.values())
    assert at_query_end[found.query_end_target] == found.query_end_score
    at_target_end = {j - 1: scores[len(target), j] for j in ends[1]}
    assert found.target_end_score == max(at_target_end.values())
    assert at_target_end[found.target_end_query] == found.target_end_score
    assert found.score == score_of(found.operations, query, target, scoring)


def score_of(
    operations: list[tuple[int, int]], query: bytes, target: bytes, scoring: AlignScoring
) -> int:
    """Return the score of a path through both sequences."""
    score = i = j = 0
    for length, code in operations:
        if code == 0:
            codes = zip(target[i : i + length], query[j : j + length], strict=True)
            score += sum(int(scoring.dp_matrix[pair]) for pair in codes)
        else:
            score -= int(gap_cost(length, scoring))
        i += length if code != 1 else 0
        j += length if code != 2 else 0
    assert (i, j) == (len(target), len(query))
    return score


def test_recorded_cases_of_few_cells(data_dir: Path) -> None:
    tried = 0
    for case in recorded_cases(data_dir):
        if case.function == "ll" or case.cells > FEW_CELLS:
            continue
        found = reference.align_pair(case.query, case.target, case.options, case.scoring)
        assert texts_of(found) == case.expected, case.name
        tried += 1
    assert tried > 100


@pytest.mark.exhaustive
def test_recorded_cases_of_more_cells(data_dir: Path) -> None:
    for case in recorded_cases(data_dir):
        if case.function == "ll" or not FEW_CELLS < case.cells <= 20 * FEW_CELLS:
            continue
        found = reference.align_pair(case.query, case.target, case.options, case.scoring)
        assert texts_of(found) == case.expected, case.name
