"""Alignment of single pairs, against minimap2, the reference and the whole matrix."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hapgpu.arrays.ragged import Ragged
from hapgpu.longread.align.dp import results
from hapgpu.longread.align.dp.antidiagonals import fill_matrix, set_codes
from hapgpu.longread.align.dp.bands import Band, has_narrow_bands, is_certified, max_directions
from hapgpu.longread.align.dp.pairs import trace
from hapgpu.longread.align.dp.results import PairOptions, new_scratch, with_room_for
from hapgpu.longread.align.parameters import AlignScoring, align_scoring, costs_of
from tests.longread.align.dp import reference
from tests.longread.align.dp.compiled_pairs import align_pairs
from tests.longread.align.dp.made_pairs import (
    DEFAULT,
    alignment_of,
    noisy_copy,
    pairs,
    scorings,
    texts_of,
)
from tests.longread.align.dp.recorded_cases import recorded_cases
from tests.longread.align.dp.reference import PairAlignment

GLOBAL = PairOptions(results.APPROXIMATE)


def test_recorded_cases(data_dir: Path) -> None:
    tried = 0
    for case in recorded_cases(data_dir):
        if case.function != "ll":
            found = alignment_of(case.query, case.target, case.options, case.scoring)
            assert texts_of(found) == case.expected, case.name
            tried += 1
    assert tried > 2000


@settings(max_examples=80)
@given(
    pairs(max_length=70),
    scorings(),
    st.builds(
        PairOptions,
        modes=st.sampled_from([0, 1, 8, 64, 64 | 2 | 128, 2, 8 | 16, 8 | 64]),
        bandwidth=st.sampled_from([-1, 0, 1, 2, 5, 15, 16, 17, 30, 80]),
        zdrop=st.sampled_from([-1, 5, 20, 60, 400]),
        end_bonus=st.sampled_from([-1, 0, 10, 100]),
    ),
)
def test_result_is_that_of_the_reference(
    pair: tuple[bytes, bytes], scoring: AlignScoring, options: PairOptions
) -> None:
    found = alignment_of(*pair, options, scoring)
    assert found == reference.align_pair(*pair, options, scoring)


@given(pairs(max_length=60), st.sampled_from([64, 64 | 2 | 128, 8]))
def test_backwards_is_the_alignment_of_reversed_sequences(
    pair: tuple[bytes, bytes], modes: int
) -> None:
    query, target = pair
    expected = alignment_of(query[::-1], target[::-1], PairOptions(modes, 30, 40), DEFAULT)
    options = PairOptions(modes | results.BACKWARDS, 30, 40)
    assert alignment_of(query, target, options, DEFAULT) == expected
    assert reference.align_pair(query, target, options, DEFAULT) == expected


def in_band(
    pair: tuple[bytes, bytes], lowest: int, highest: int, scoring: AlignScoring
) -> PairAlignment:
    """Align a pair within a band that does not leak."""
    query, target = (np.frombuffer(sequence, dtype=np.uint8) for sequence in pair)
    result = np.zeros(results.RESULT_COLUMNS, dtype=np.int32)
    band = Band(query.size, target.size, lowest, highest, leaks=False)
    scratch = with_room_for(new_scratch(), query.size, target.size, max_directions(band))
    set_codes(query, target, GLOBAL.modes, scratch)
    fill_matrix(band, scoring, GLOBAL, scratch, result)
    words = np.zeros(query.size + target.size, dtype=np.uint32)
    end = trace(scratch, target.size - 1, query.size - 1, GLOBAL.modes, words, 0)
    operations = [(int(word) >> 4, int(word) & 15) for word in words[:end]]
    return PairAlignment(*result.tolist(), operations=operations)


def whole_matrix(pair: tuple[bytes, bytes], scoring: AlignScoring) -> PairAlignment:
    """Align a pair in the mode that never uses bands."""
    found = alignment_of(*pair, PairOptions(), scoring)
    return replace(PairAlignment(), score=found.score, operations=found.operations)


@settings(max_examples=80)
@given(pairs(max_length=200), st.integers(1, 80), scorings() | st.just(DEFAULT))
def test_certified_band_has_the_path_of_the_whole_matrix(
    pair: tuple[bytes, bytes], width: int, scoring: AlignScoring
) -> None:
    query_length, target_length = map(len, pair)
    difference = target_length - query_length
    lowest, highest = min(0, difference) - width, max(0, difference) + width
    expected = whole_matrix(pair, scoring)
    assert alignment_of(*pair, GLOBAL, scoring) == expected
    if not has_narrow_bands(costs_of(scoring)) or expected.score == results.NO_SCORE:
        return
    found = in_band(pair, lowest, highest, scoring)
    assert found.score <= expected.score
    if is_certified(found.score, target_length, query_length, lowest, highest, scoring):
        assert found == expected


@pytest.mark.parametrize("errors", [0.0, 0.02, 0.1, 0.3, 1.0])
@pytest.mark.parametrize("gap", [0, 400])
@pytest.mark.parametrize("long_gaps", [(24, 1), (4, 2)])
def test_long_pairs_are_aligned_as_in_the_whole_matrix(
    errors: float, gap: int, long_gaps: tuple[int, int]
) -> None:
    rng = np.random.default_rng(round(100 * errors) + gap)
    target = rng.integers(0, 4, 3000)
    query = np.delete(noisy_copy(rng, target, errors), slice(1000, 1000 + gap))
    pair = bytes(query.tolist()), bytes(target.tolist())
    scoring = align_scoring(2, 4, (4, 2), long_gaps)
    assert alignment_of(*pair, GLOBAL, scoring) == whole_matrix(pair, scoring)


def test_a_narrow_band_is_certified_for_an_accurate_pair() -> None:
    rng = np.random.default_rng(7)
    target = rng.integers(0, 4, 400)
    query = noisy_copy(rng, target, 0.01)
    found = in_band((bytes(query.tolist()), bytes(target.tolist())), -16, 16, DEFAULT)
    assert is_certified(found.score, target.size, query.size, -16, 16, DEFAULT)
    assert not is_certified(found.score - 400, target.size, query.size, -16, 16, DEFAULT)


def test_a_score_that_a_path_outside_reaches_is_not_certified() -> None:
    # Three deleted and three inserted bases reach diagonal 3 and cost 2 * (4 + 3 * 2).
    assert is_certified(-19, 3, 3, -2, 2, DEFAULT)
    assert not is_certified(-20, 3, 3, -2, 2, DEFAULT)


@pytest.mark.parametrize(("match", "is_narrow"), [(7, True), (8, False)])
def test_bands_are_narrow_if_differences_fit_in_bytes(match: int, is_narrow: bool) -> None:
    # A match is kept plus two gaps of one base: 120 and more.
    scoring = align_scoring(match, 4, (50, 10), (50, 10))
    assert has_narrow_bands(costs_of(scoring)) == is_narrow


def test_the_best_cell_may_be_far_from_the_path_of_the_whole_matrix() -> None:
    rng = np.random.default_rng(1)
    query = rng.integers(0, 4, 200)
    target = np.concatenate([rng.integers(0, 4, 40), query[:160]])
    scoring = align_scoring(2, 1, (20, 6), (20, 6))
    found = alignment_of(bytes(query.tolist()), bytes(target.tolist()), PairOptions(), scoring)
    # 160 matches after a gap of 40 bases.
    assert (found.max_score, found.max_target, found.max_query) == (60, 199, 159)
    assert found.operations == [(200, results.MATCH)]


@pytest.mark.parametrize("modes", [0, results.APPROXIMATE])
@pytest.mark.parametrize("length", [2, 200])
def test_a_band_of_one_diagonal_ends_after_a_cell(modes: int, length: int) -> None:
    # The second antidiagonal has no cell of the diagonal.
    found = alignment_of(bytes(length), bytes(length), PairOptions(modes, bandwidth=0), DEFAULT)
    assert found.dropped
    assert found.score == results.NO_SCORE


def test_without_tolerance_any_lower_antidiagonal_ends_the_alignment() -> None:
    found = alignment_of(b"\0\1\2", b"\0\1\2", PairOptions(zdrop=0), DEFAULT)
    expected = PairAlignment(max_score=2, max_target=0, max_query=0, dropped=1)
    assert found == replace(expected, operations=[(1, results.MATCH)])


def test_a_band_with_equal_gap_costs_leaks_as_in_minimap2() -> None:
    # ksw_extz2_sse of minimap2 2.30; the lanes that ksw_extd2_sse reads outside of the band have
    # other values: a score of -47.
    pair = bytes(map(int, "100111110001120311")), bytes(map(int, "10110111000110010110"))
    found = alignment_of(*pair, PairOptions(bandwidth=2), align_scoring(7, 13, (35, 19), (35, 19)))
    assert found == PairAlignment(-27, 51, 12, 12, 26, 17, -27, 17, 0, 0, [(13, 0), (2, 2), (5, 0)])


@pytest.mark.parametrize(("modes", "cigar"), [(0, "20M30D30M30D20M"), (results.RIGHT, "50M60D20M")])
@pytest.mark.parametrize("gap", "ID")
def test_a_long_gap_begins_anew_rather_than_goes_on(modes: int, cigar: str, gap: str) -> None:
    """To the right it goes on rather.

    A second long gap opens for 24, as much as the 4 mismatches cost that it saves.
    """
    rng = np.random.default_rng(1)
    start, unit, between, end = (rng.integers(0, 4, length) for length in (20, 30, 30, 20))
    changed = unit.copy()
    changed[[3, 10, 17, 24]] ^= 1
    short = np.concatenate([start, unit, end])
    long = np.concatenate([start, changed, unit, between, end])
    query, target = (short, long) if gap == "D" else (long, short)
    pair = bytes(query.tolist()), bytes(target.tolist())
    found = alignment_of(*pair, PairOptions(modes), DEFAULT)
    assert (found.score, texts_of(found)[-1]) == (32, cigar.replace("D", gap))


def test_empty_and_rejected_pairs_are_not_aligned() -> None:
    for pair in ((b"", b"\0\1"), (b"\0", b""), (b"", b"")):
        for modes in (0, results.EXTENSION, results.APPROXIMATE):
            assert alignment_of(*pair, PairOptions(modes, 751, 400), DEFAULT) == PairAlignment()
    costly = align_scoring(2, 13, (4, 2), (24, 1))
    assert alignment_of(b"\0\1", b"\0\1", PairOptions(), costly) == PairAlignment()
    allowed = align_scoring(2, 12, (4, 2), (24, 1))
    assert alignment_of(b"\0\1", b"\0\1", PairOptions(), allowed).score == 4


def test_memory_of_a_long_pair_serves_shorter_ones() -> None:
    rng = np.random.default_rng(3)
    targets = [rng.integers(0, 4, length) for length in (30, 700, 1, 200, 0, 64)]
    queries = [noisy_copy(rng, target, 0.2) for target in targets]
    rows = [Ragged.from_sequences([bytes(s.tolist()) for s in seqs]) for seqs in (queries, targets)]
    options = PairOptions(results.EXTENSION, 40, 50)
    aligned = align_pairs(*rows, options, DEFAULT)
    for k, (query, target) in enumerate(zip(queries, targets, strict=True)):
        alone = align_pairs(
            Ragged.from_sequences([bytes(query.tolist())]),
            Ragged.from_sequences([bytes(target.tolist())]),
            options,
            DEFAULT,
        )
        np.testing.assert_array_equal(aligned.results[k], alone.results[0])
        operations = aligned.operations[aligned.offsets[k] : aligned.offsets[k + 1]]
        np.testing.assert_array_equal(operations, alone.operations)
