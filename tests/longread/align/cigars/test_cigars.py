"""Final CIGARs: rules by hand, and the CPU against the reference implementation."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from hapgpu.cigar.encoding import OPERATIONS, parse_cigar
from hapgpu.longread.align.batches import MAPPING, ReadCodes, SequenceCodes, TargetCodes
from hapgpu.longread.align.cigars import finish_alignments, logarithm
from hapgpu.longread.align.parameters import AlignScoring, align_scoring
from hapgpu.longread.parameters import approximate_log2
from tests.longread.align.cigars.reference import (
    Alignment,
    Operation,
    counts_of,
    finished,
    max_score,
)

DEFAULT = align_scoring(2, 4, (4, 2), (24, 1))
SCORINGS = [
    DEFAULT,
    align_scoring(1, 4, (6, 2), (26, 1)),
    align_scoring(3, 7, (5, 3), (5, 3), ambiguous=0, transition=2),
]
COLUMNS = (
    *("query_start", "query_end", "target_start", "target_end", "operations", "matches", "length"),
    *("ambiguous", "gaps", "gap_bases", "dp_max", "first_dp_max"),
)
BEFORE, BEHIND = 3, 2
"""Bases before and behind each alignment, on the strand of the mapping."""


def codes_of(bases: str) -> list[int]:
    return ["ACGTN".index(base) for base in bases]


def complement(codes: list[int]) -> list[int]:
    return [code if code == 4 else 3 - code for code in reversed(codes)]


class Batch:
    """Alignments as mappings of one read each, in the middle of read and reference."""

    def __init__(self, alignments: list[tuple[Alignment, bool]]) -> None:
        query, target, operations = [0], [4, 4], [7]
        starts, lengths, target_starts, target_lengths = [], [], [], []
        self.mappings = np.zeros(len(alignments), dtype=MAPPING)
        for row, (alignment, is_reverse) in enumerate(alignments):
            strand = [1] * BEFORE + alignment.query + [2] * BEHIND
            forward = complement(strand) if is_reverse else strand
            starts.append(len(query))
            lengths.append(len(strand))
            query += [*forward, *complement(forward)]
            target_starts.append(len(target))
            target_lengths.append(len(alignment.target) + BEFORE + BEHIND)
            target += [1] * BEFORE + alignment.target + [2] * BEHIND
            self.mappings[row]["first_operation"] = len(operations)
            self.mappings[row]["operations"] = len(alignment.cigar)
            operations += [n << 4 | OPERATIONS.index(letter) for letter, n in alignment.cigar]
            query_start = BEHIND if is_reverse else BEFORE
            for name, value in (
                ("read", row),
                ("sequence", row),
                ("is_reverse", is_reverse),
                ("query_start", query_start),
                ("query_end", query_start + len(alignment.query)),
                ("target_start", BEFORE),
                ("target_end", BEFORE + len(alignment.target)),
            ):
                self.mappings[row][name] = value
        self.operations = np.array(operations, dtype=np.uint32)
        self.reads = ReadCodes(
            np.array(query, dtype=np.uint8),
            np.array(starts, dtype=np.int64),
            np.array(lengths, dtype=np.int32),
        )
        self.targets = TargetCodes(
            np.array(target, dtype=np.uint8),
            np.array(target_starts, dtype=np.int64),
            np.array(target_lengths, dtype=np.int64),
        )

    def finish(self, scoring: AlignScoring, rows: NDArray[np.int64] | None = None) -> None:
        if rows is None:
            rows = np.arange(self.mappings.size)
        sequences = SequenceCodes.of(self.reads, self.targets)
        finish_alignments(self.mappings, rows, self.operations, sequences, scoring)

    def cigar(self, row: int) -> list[Operation]:
        first, count = self.mappings[row]["first_operation"], self.mappings[row]["operations"]
        return [
            Operation(OPERATIONS[element & 15], element >> 4)
            for element in self.operations[first : first + count].tolist()
        ]


def operations_of(cigar: str) -> list[Operation]:
    return [Operation(OPERATIONS[each & 15], each >> 4) for each in parse_cigar(cigar).tolist()]


def text_of(cigar: list[Operation]) -> str:
    return "".join(f"{length}{letter}" for letter, length in cigar)


def finish(
    cigar: str, query: str, target: str, scoring: AlignScoring = DEFAULT
) -> tuple[str, dict[str, int]]:
    """Return the final CIGAR of an alignment on the forward strand, and columns of the mapping."""
    batch = Batch([(Alignment(operations_of(cigar), codes_of(query), codes_of(target)), False)])
    batch.finish(scoring)
    return text_of(batch.cigar(0)), dict(
        zip(COLUMNS, batch.mappings[list(COLUMNS)][0].tolist(), strict=True)
    )


@pytest.mark.parametrize(
    ("cigar", "query", "target", "expected"),
    [
        ("4M1D3M", "ACGGGTT", "ACGGGGTT", "2M1D5M"),  # through equal bases
        ("4M1I3M", "ACGGGGTT", "ACGGGTT", "2M1I5M"),
        ("6M2I2M", "TACACACAGG", "TACACAGG", "1M2I7M"),  # through a tandem repeat
        ("4M1D3M", "ANNNGTT", "ANNNNGTT", "1M1D6M"),  # ambiguous bases are equal
        ("4M1D3M", "ACGGTTT", "ACGGCTTT", "4M1D3M"),  # not at all
        ("2M1D2M1D3M", "AGGGTCC", "AGGGGGTCC", "1M2D6M"),  # to the gap before, through its bases
        ("3M1D3M", "GGGTTT", "GGGGTTT", "6M"),  # to the start: the gap is removed
        ("3M1I1M1I2M", "AGCGTGTT", "AGCTTT", "3M1I1M1I2M"),
        ("2M1I1M1D2M", "ACCCTA", "ACCTTA", "1M1I2M1D2M"),
    ],
)
def test_gaps_move_left(cigar: str, query: str, target: str, expected: str) -> None:
    assert finish(cigar, query, target)[0] == expected


@pytest.mark.parametrize(
    ("cigar", "expected"),
    [
        ("2M1I2D3I2M", "2M4I2D2M"),
        ("2M1D2I3D2M", "2M2I4D2M"),  # the insertion first
        ("2M1D2I2M", "2M1D2I2M"),  # only three or more
        ("2M1I1D0M1I2M", "2M2I1D2M"),  # an empty operation does not interrupt
        ("2M1I0M1D1I2M", "2M1I1D1I2M"),  # but does not start a run either
        ("1M1I1D1I", "1M2I1D"),
        ("1M1I1D", "1M1I1D"),
    ],
)
def test_adjacent_gaps_are_merged(cigar: str, expected: str) -> None:
    found, _ = finish(cigar, "ACGTACGTAC"[: bases(cigar, "MI")], "TGCAATGCAA"[: bases(cigar, "MD")])
    assert found == expected


def bases(cigar: str, letters: str) -> int:
    return sum(length for letter, length in operations_of(cigar) if letter in letters)


@pytest.mark.parametrize("is_reverse", [False, True])
@pytest.mark.parametrize(
    ("cigar", "expected", "query", "target"),
    [
        ("2I3M", "3M", 2, 0),
        ("2D3M", "3M", 0, 2),
        ("1I1D3M", "1D3M", 1, 0),  # one gap only
        ("3M2I", "3M2I", 0, 0),
        ("3I", "3I", 0, 0),  # a single operation stays
        ("0M2I", "", 2, 0),
    ],
)
def test_a_gap_at_the_start_is_removed(
    cigar: str, expected: str, query: int, target: int, is_reverse: bool
) -> None:
    query_codes, target_codes = [0] * bases(cigar, "MI"), [1] * bases(cigar, "MD")
    alignment = Alignment(operations_of(cigar), query_codes, target_codes)
    batch = Batch([(alignment, is_reverse)])
    before = batch.mappings.copy()
    batch.finish(DEFAULT)
    assert text_of(batch.cigar(0)) == expected
    end, start = ("query_start", "query_end") if is_reverse else ("query_end", "query_start")
    assert abs(batch.mappings[start] - before[start]) == query
    assert batch.mappings[end] == before[end]
    assert batch.mappings["target_start"] == before["target_start"] + target
    assert batch.mappings["target_end"] == before["target_end"]


def test_counts() -> None:
    _, found = finish("4M3I2M2D4M", "ACNNGNACATGCA", "ACGNACNTTGAA")
    assert found["ambiguous"] == 2 + 1 + 1
    assert found["matches"] == 2 + 0 + 3
    assert found["length"] == 4 + 3 + 2 + 2 + 4 - 4
    assert (found["gaps"], found["gap_bases"]) == (2, 5)


def test_a_gap_costs_the_logarithm_of_its_length() -> None:
    """2 * 40 - (4 + 2 * 3.0) + 2 * 40 for a gap of seven bases; the parabola gives 3.0049."""
    one, other = "ACGT" * 10, "GTCA" * 10
    _, found = finish("40M7I40M", one + "A" * 7 + other, one + other)
    assert found["dp_max"] == int(80 - (4 + 2 * 3.0049389) + 80 + 0.499) == 150
    assert found["first_dp_max"] == 150


def test_the_best_part_starts_anew_below_zero() -> None:
    """5 equal bases, 4 different ones, 20 equal ones: 10, then 0, then 40."""
    _, found = finish("29M", "ACGTA" + "CCCC" + "ACGT" * 5, "ACGTA" + "GGGG" + "ACGT" * 5)
    assert found["dp_max"] == 40


def test_mappings_without_alignment_stay() -> None:
    batch = Batch([(Alignment(operations_of("2I3M"), [0] * 5, [0] * 3), False)] * 3)
    batch.mappings[1]["operations"] = 0
    batch.mappings[1]["matches"] = 77
    before = batch.mappings.copy()
    batch.finish(DEFAULT, np.array([0, 1]))
    assert batch.mappings["matches"].tolist() == [3, 77, 0]
    assert (batch.mappings[1:] == before[1:]).all()


@st.composite
def alignments(draw: st.DrawFn) -> Alignment:
    """Draw an alignment of few different bases, with M of any length, also 0."""
    cigar: list[Operation] = []
    for _ in range(draw(st.integers(1, 9))):
        letter = draw(
            st.sampled_from([each for each in "MID" if not cigar or each != cigar[-1][0]])
        )
        smallest = letter != "M"
        cigar.append(Operation(letter, draw(st.integers(smallest, 5) | st.integers(smallest, 40))))
    generator = np.random.default_rng(draw(st.integers(0, 2**32)))
    chances = draw(st.sampled_from([[0.5, 0, 0, 0.4, 0.1], [0.96, 0.04, 0, 0, 0], [0.2] * 5]))
    query: list[int] = []
    target: list[int] = []
    for letter, length in cigar:
        made = generator.choice(5, length, p=chances)
        if letter != "D":
            query += made.tolist()
        if letter == "M":
            made = np.where(generator.random(length) < 0.1, generator.choice(5, length), made)
        if letter != "I":
            target += made.tolist()
    return Alignment(cigar, query, target)


@given(st.lists(st.tuples(alignments(), st.booleans()), max_size=4), st.sampled_from(SCORINGS))
@settings(max_examples=300)
def test_cigars_equal_the_reference_implementation(
    drawn: list[tuple[Alignment, bool]], scoring: AlignScoring
) -> None:
    batch = Batch(drawn)
    before = batch.mappings.copy()
    batch.finish(scoring)
    matrix = scoring.matrix.tolist()
    for row, (alignment, is_reverse) in enumerate(drawn):
        expected = finished(alignment)
        assert batch.cigar(row) == expected.cigar
        query = len(alignment.query) - len(expected.query)
        target = len(alignment.target) - len(expected.target)
        best = max_score(expected, matrix, scoring.gap_open, scoring.gap_extend)
        start, end = before[row]["query_start"], before[row]["query_end"]
        columns = (
            *((start, end - query) if is_reverse else (start + query, end)),
            *(before[row]["target_start"] + target, before[row]["target_end"]),
            *(len(expected.cigar), *counts_of(expected), best, best),
        )
        assert batch.mappings[list(COLUMNS)][row].tolist() == columns


@given(st.integers(1, 2**31 - 1))
@settings(max_examples=300)
def test_logarithm(value: int) -> None:
    assert logarithm(value) == approximate_log2(np.array([value], dtype=np.float32))[0]
