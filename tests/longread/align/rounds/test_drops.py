"""Test of fills for drops of the score."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hapgpu.longread.align.batches import (
    FILL,
    LEFT,
    PieceAlignments,
    Pieces,
    ReadCodes,
    SequenceCodes,
    TargetCodes,
)
from hapgpu.longread.align.drops import DROP, INVERSION_DROP, NO_DROP, find_drops
from hapgpu.longread.align.parameters import AlignScoring, align_scoring, gap_cost
from tests.longread.align.cigars.reference import Operation
from tests.longread.align.rounds.made_reads import reverse_complement
from tests.longread.align.rounds.reference import largest_drop
from tests.longread.align.rounds.test_rounds import PARAMETERS, SCORING

NEVER = 10**6
"""A limit that no drop reaches."""


class Fill(NamedTuple):
    """A fill with its alignment."""

    cigar: list[Operation]
    query: list[int]
    target: list[int]

    def score(self, scoring: AlignScoring) -> int:
        """Return the score of the alignment within the dynamic programming."""
        query, target = iter(self.query), iter(self.target)
        score = 0
        for letter, length in self.cigar:
            for _ in range(length):
                pair = (
                    next(target) if letter != "I" else None,
                    next(query) if letter != "D" else None,
                )
                score += int(scoring.dp_matrix[pair]) if None not in pair else 0
            score -= gap_cost(length, scoring) if letter != "M" else 0
        return score


def code_of(
    fill: Fill,
    scoring: AlignScoring = SCORING,
    *,
    kind: int = FILL,
    band: int = NEVER,
    **limits: int,
) -> int:
    """Return the result of the test of one fill."""
    parameters = PARAMETERS._replace(**{"drop": NEVER, "inversion_drop": NEVER, **limits})
    one, zero = np.ones(1, dtype=np.int32), np.zeros(1, dtype=np.int64)
    pieces = Pieces(
        np.array([kind], dtype=np.uint8),
        *(zero, one * len(fill.query), zero, one * len(fill.target)),
        *(one * band, one * parameters.drop),
    )
    flags = np.zeros(1, dtype=np.uint8)
    alignments = PieceAlignments(
        *(one * fill.score(scoring), 0 * one, -one, -one, -one, flags, flags),
        np.array([each << 4 | "MID".index(letter) for letter, each in fill.cigar], dtype=np.uint32),
        np.array([0, len(fill.cigar)]),
    )
    sequences = SequenceCodes.of(
        ReadCodes(np.array(fill.query, dtype=np.uint8), zero, one * len(fill.query)),
        TargetCodes(np.array(fill.target, dtype=np.uint8), zero, zero + len(fill.target)),
    )
    return int(find_drops(pieces, alignments, sequences, scoring, parameters)[0])


def matches(*lengths: int) -> Fill:
    """Return equal bases, then different ones, and so on; the other strand has no equal ones."""
    equal = [k % 2 == 0 for k, length in enumerate(lengths) for _ in range(length)]
    target = [k // 3 % 2 for k in range(len(equal))]
    query = [target[k] if is_equal else 1 - target[k] for k, is_equal in enumerate(equal)]
    return Fill([Operation("M", len(equal))], query, target)


def gapped(cigar: Sequence[Operation]) -> Fill:
    """Return a fill without mismatches."""
    query = [0 for letter, length in cigar for _ in range(length) if letter != "D"]
    target = [0 for letter, length in cigar for _ in range(length) if letter != "I"]
    return Fill(list(cigar), query, target)


def test_a_drop_must_exceed_the_limit() -> None:
    fill = matches(20, 10, 20)  # each of ten mismatches costs 4
    assert code_of(fill, drop=39) == DROP
    assert code_of(fill, drop=40) == NO_DROP


def test_the_best_part_counts_not_the_end() -> None:
    assert code_of(matches(20, 10, 1000), drop=39) == DROP
    assert code_of(matches(20, 5, 9, 5, 20), drop=21) == DROP  # -20 + 18 - 20
    assert code_of(matches(20, 5, 9, 5, 20), drop=22) == NO_DROP


def test_a_drop_at_the_start_counts_from_the_first_base() -> None:
    assert code_of(matches(0, 10, 20), drop=35) == DROP  # from -4 to -40
    assert code_of(matches(0, 10, 20), drop=36) == NO_DROP
    assert code_of(matches(0, 50), drop=195) == DROP  # from -4 to -200
    assert code_of(matches(0, 50), drop=196) == NO_DROP


@pytest.mark.parametrize("letter", ["I", "D"])
def test_a_gap_costs_no_more_than_to_open_it(letter: str) -> None:
    fill = gapped([Operation("M", 20), Operation(letter, 500), Operation("M", 20)])
    assert code_of(fill, drop=3) == DROP
    assert code_of(fill, drop=4) == NO_DROP


def test_gaps_of_both_kinds_cost_all_their_bases() -> None:
    gaps = [Operation("I", 100), Operation("D", 100)]  # 2 * (4 + 2 * 100), on one diagonal
    fill = gapped([Operation("M", 20), *gaps, Operation("M", 20)])
    assert code_of(fill, drop=407) == DROP
    assert code_of(fill, drop=408) == NO_DROP


def inverted(length: int) -> Fill:
    """Return a fill with an inversion between equal bases, aligned without gaps."""
    flank = [k * k % 4 for k in range(30)]
    inner = [(k // 3 + k * k) % 4 for k in range(length)]
    size = 60 + length
    return Fill(
        [Operation("M", size)],
        flank + reverse_complement(inner) + flank,
        flank + inner + flank,
    )


def test_an_inversion_needs_its_own_limit_only() -> None:
    fill = inverted(60)
    assert code_of(fill, inversion_drop=20) == INVERSION_DROP
    assert code_of(fill, drop=20, inversion_drop=20) == INVERSION_DROP
    assert code_of(fill, drop=20, inversion_drop=NEVER) == DROP
    assert code_of(matches(20, 60, 20), drop=NEVER, inversion_drop=20) == NO_DROP
    assert code_of(matches(20, 60, 20), drop=20, inversion_drop=20) == DROP


def test_an_inversion_is_long_and_good_enough() -> None:
    fill = inverted(60)
    size = largest_drop(*fill, SCORING).query.length
    assert code_of(fill, inversion_drop=20, max_gap=size + 1) == INVERSION_DROP
    assert code_of(fill, inversion_drop=20, max_gap=size) == NO_DROP
    # From the last equal base to the last but one inverted one: 58 pairs on the other strand.
    assert code_of(fill, inversion_drop=20, min_score=116) == INVERSION_DROP
    assert code_of(fill, inversion_drop=20, min_score=117) == NO_DROP
    assert code_of(fill, inversion_drop=20, min_chain_score=58) == INVERSION_DROP
    assert code_of(fill, inversion_drop=20, min_chain_score=59) == NO_DROP


def test_a_drop_at_an_inversion_must_exceed_the_limit() -> None:
    fill = inverted(60)  # 60 mismatches
    for band in (1, NEVER):  # with a narrow band, the score does not show that there is no drop
        assert code_of(fill, band=band, inversion_drop=239) == INVERSION_DROP
        assert code_of(fill, band=band, inversion_drop=240) == NO_DROP


@pytest.mark.parametrize("letter", ["I", "D"])
def test_neither_side_of_an_inversion_is_too_long(letter: str) -> None:
    """The drop has 60 bases, and the gap's 3 in the read or in the reference."""
    fill = inverted(60)
    cigar = [Operation("M", 60), Operation(letter, 3), Operation("M", 60)]
    query, target = list(fill.query), list(fill.target)
    (query if letter == "I" else target)[60:60] = [4, 4, 4]
    fill = Fill(cigar, query, target)
    assert code_of(fill, inversion_drop=20, max_gap=64) == INVERSION_DROP
    assert code_of(fill, inversion_drop=20, max_gap=63) == NO_DROP


def test_a_drop_is_from_the_last_best_score_to_the_first_lowest_one() -> None:
    """It has 60 bases, though scores before and behind are the same.

    Before the inversion, one mismatch and two matches leave the score; behind it, 15 mismatches
    take what 30 matches gave.
    """
    fill = inverted(60)
    query = fill.query[:30] + [1, 0, 0] + fill.query[30:] + [1] * 15
    target = fill.target[:30] + [0, 0, 0] + fill.target[30:] + [0] * 15
    fill = Fill([Operation("M", len(query))], query, target)
    assert code_of(fill, inversion_drop=20, max_gap=61) == INVERSION_DROP
    assert code_of(fill, inversion_drop=20, max_gap=60) == NO_DROP


def test_only_fills_are_tested() -> None:
    assert code_of(matches(20, 10, 20), kind=LEFT, drop=0) == NO_DROP
    assert code_of(Fill([], [0], [0]), drop=0) == NO_DROP


@st.composite
def fills(draw: st.DrawFn) -> Fill:
    letters = draw(st.lists(st.sampled_from("MMMID"), min_size=1, max_size=8))
    letters = [b for a, b in zip(["", *letters], letters, strict=False) if a != b]
    cigar = [
        Operation(letter, draw(st.integers(1, 12 if letter == "M" else 30))) for letter in letters
    ]
    query, target = [], []
    for letter, length in cigar:
        codes = st.lists(st.integers(0, 4), min_size=length, max_size=length)
        at_target = draw(codes)
        at_query = draw(codes) if draw(st.booleans()) else at_target
        query += at_query if letter != "D" else []
        target += at_target if letter != "I" else []
    return Fill(cigar, query, target)


@given(
    fills(),
    st.sampled_from(
        [
            SCORING,
            align_scoring(1, 4, (6, 2), (26, 1), ambiguous=0),
            align_scoring(2, 4, (4, 2), (4, 2), transition=2),
            align_scoring(4, 2, (10, 3), (40, 1), ambiguous=1, transition=5),
        ]
    ),
    st.sampled_from([NEVER, 1]),
    st.integers(-3, 3),
)
def test_drops_equal_the_reference_implementation(
    fill: Fill, scoring: AlignScoring, band: int, shift: int
) -> None:
    drop = largest_drop(*fill, scoring)
    limit = drop.size + shift
    assert code_of(fill, scoring, band=band, drop=limit) == (DROP if shift < 0 else NO_DROP)
