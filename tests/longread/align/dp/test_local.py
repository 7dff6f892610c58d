"""Local alignment against recorded cases of minimap2 and the reference."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from hapgpu.longread.align.dp import results
from hapgpu.longread.align.dp.local import align_locally
from hapgpu.longread.align.parameters import AlignScoring, align_scoring
from tests.longread.align.dp import reference
from tests.longread.align.dp.made_pairs import DEFAULT, pairs, scorings
from tests.longread.align.dp.recorded_cases import recorded_cases


def found_of(
    query: bytes, target: bytes, scoring: AlignScoring, modes: int = 0
) -> tuple[int, int, int]:
    codes = (np.frombuffer(sequence, dtype=np.uint8) for sequence in (query, target))
    score, target_end, query_end = align_locally(*codes, modes, scoring)
    return int(score), int(target_end), int(query_end)


def test_recorded_cases(data_dir: Path) -> None:
    tried = 0
    for case in recorded_cases(data_dir):
        if case.function == "ll":
            _, score, target_end, query_end, *_ = case.expected
            expected = int(score), int(target_end), int(query_end)
            assert found_of(case.query, case.target, case.scoring) == expected, case.name
            if case.cells < 5000:
                found = reference.align_locally(case.query, case.target, case.scoring)
                assert found == expected, case.name
            tried += 1
    assert tried > 200


@given(pairs(max_length=40), scorings(), st.booleans())
def test_result_is_that_of_the_reference(
    pair: tuple[bytes, bytes], scoring: AlignScoring, backwards: bool
) -> None:
    query, target = pair
    found = found_of(query, target, scoring, results.BACKWARDS if backwards else 0)
    step = -1 if backwards else 1
    assert found == reference.align_locally(query[::step], target[::step], scoring)


def test_empty_sequences_score_nothing() -> None:
    assert found_of(b"", b"\0", DEFAULT)[0] == 0
    assert found_of(b"\0", b"", DEFAULT) == (0, -1, -1)


def test_scores_end_at_16_bits() -> None:
    same = bytes(4000)
    assert found_of(same, same, align_scoring(10, 4, (4, 2), (24, 1)))[0] == 2**15 - 1
