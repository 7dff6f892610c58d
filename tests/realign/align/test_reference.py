"""The reference implementation of the aligner against all possible alignments and GATK's cases.

The oracle shares no recurrence with the code under test: it walks every path through the matrix,
one gap at a time, and states GATK's choice among equally good ones in terms of cell scores.
"""

from __future__ import annotations

from collections import defaultdict
from itertools import groupby, pairwise

import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from hapgpu.errors import InputError
from hapgpu.realign.scoring import PRESETS, Overhang, Scoring
from tests.example_counts import many
from tests.realign import compiled_aligner
from tests.realign.align.gatk_aligner_cases import (
    CASES,
    FLANKED,
    LOCAL_QUERY,
    LOCAL_REFERENCE,
    LOCAL_SCORING,
    Case,
)
from tests.realign.align.reference import Alignment, align_reference

Cell = tuple[int, int]
Cigar = list[tuple[int, str]]

READ = PRESETS["read-to-haplotype"]
SOFTCLIP, INDEL, LEADING_INDEL, IGNORE = Overhang
OVERHANGS = st.sampled_from(list(Overhang))
SENSIBLE = st.sampled_from([*PRESETS.values(), Scoring(1, -1, -1, -1), Scoring(2, -1, -3, 0)])
WEIGHT = st.integers(-4, 4)
ANY_SCORING = SENSIBLE | st.builds(Scoring, WEIGHT, WEIGHT, WEIGHT, WEIGHT)
TINY = st.text("AC", min_size=1, max_size=4) | st.text("ACNa", min_size=1, max_size=4)
SHORT = st.text("AC", min_size=1, max_size=25) | st.text("ACGTN", min_size=1, max_size=25)


def gap_score(length: int, scoring: Scoring) -> int:
    return scoring.gap_open + (length - 1) * scoring.gap_extend


def substitution(a: str, b: str, scoring: Scoring) -> int:
    return scoring.match if a == b else scoring.mismatch


def border_cells(
    reference: str, query: str, scoring: Scoring, overhang: Overhang
) -> dict[Cell, int]:
    """Return the cells where a path may start, with their scores."""
    cells = [(i, 0) for i in range(len(reference) + 1)] + [(0, j) for j in range(1, len(query) + 1)]
    if overhang in {SOFTCLIP, IGNORE}:
        return dict.fromkeys(cells, 0)
    return {(i, j): gap_score(i + j, scoring) if i + j else 0 for i, j in cells}


def best_scores(
    reference: str, query: str, scoring: Scoring, overhang: Overhang
) -> dict[Cell, int]:
    """Return the best score of all paths to each cell, over all matches, mismatches and gaps."""
    best: dict[Cell, int] = defaultdict(lambda: -(10**9))
    rows, columns = len(reference), len(query)

    def walk(i: int, j: int, score: int) -> None:
        best[i, j] = max(best[i, j], score)
        if i < rows and j < columns:
            walk(i + 1, j + 1, score + substitution(reference[i], query[j], scoring))
        if j:
            for length in range(1, rows - i + 1):
                walk(i + length, j, score + gap_score(length, scoring))
        if i:
            for length in range(1, columns - j + 1):
                walk(i, j + length, score + gap_score(length, scoring))

    for (i, j), score in border_cells(reference, query, scoring, overhang).items():
        walk(i, j, score)
    return best


def chosen_end(best: dict[Cell, int], rows: int, columns: int, overhang: Overhang) -> Cell:
    """Return GATK's end cell.

    The lowest of the best cells of the last column competes with the best cells of the last row:
    the one nearest to the main diagonal wins, then the one of the column, then the leftmost.
    """
    if overhang is INDEL:
        return rows, columns
    last_column = [(i, columns) for i in range(1, rows + 1)]
    lowest = max(last_column, key=lambda cell: (best[cell], cell[0]))
    if overhang is LEADING_INDEL:
        return lowest
    last_row = [(rows, j) for j in range(1, columns + 1)]
    candidates = [lowest, *last_row]
    highest = max(best[cell] for cell in candidates)
    equal = [cell for cell in candidates if best[cell] == highest]
    return min(equal, key=lambda cell: abs(cell[0] - cell[1]))  # the first of equals


def chosen_path(
    reference: str, query: str, scoring: Scoring, best: dict[Cell, int], end: Cell
) -> tuple[Cell, Cigar]:
    """Return the first cell of the path to `end`, and its runs.

    Of equally good last steps the diagonal goes first, then the longest insertion, then the
    longest deletion.
    """
    i, j = end
    steps: list[str] = []
    while i and j:
        score = best[i, j]
        insertions = [k for k in range(1, j + 1) if best[i, j - k] + gap_score(k, scoring) == score]
        deletions = [k for k in range(1, i + 1) if best[i - k, j] + gap_score(k, scoring) == score]
        if best[i - 1, j - 1] + substitution(reference[i - 1], query[j - 1], scoring) == score:
            steps.append("M")
            i, j = i - 1, j - 1
        elif insertions:
            steps += "I" * insertions[-1]
            j -= insertions[-1]
        else:
            steps += "D" * deletions[-1]
            i -= deletions[-1]
    return (i, j), [(len(list(run)), op) for op, run in groupby(reversed(steps))]


def with_ends(path: Cigar, start: Cell, trailing: int, overhang: Overhang) -> tuple[int, Cigar]:
    """Return offset and CIGAR of a path with `trailing` query bases to its right."""
    row, column = start
    if overhang is SOFTCLIP:
        return row, [(column, "S")] * bool(column) + path + [(trailing, "S")] * bool(trailing)
    if overhang is not IGNORE:
        return 0, [(row, "D")] * bool(row) + [(column, "I")] * bool(column) + path
    if path[-1][1] == "M":
        path = [*path[:-1], (path[-1][0] + trailing, "M")]
    elif trailing:
        path = [*path, (trailing, "M")]
    (length, operation), *others = path
    return row - column, [(length + column, operation), *others]


def align_exhaustively(
    reference: str, query: str, scoring: Scoring, overhang: Overhang
) -> Alignment:
    best = best_scores(reference, query, scoring, overhang)
    end = chosen_end(best, len(reference), len(query), overhang)
    start, path = chosen_path(reference, query, scoring, best, end)
    offset, cigar = with_ends(path, start, len(query) - end[1], overhang)
    return Alignment(best[end], offset, cigar)


def align(reference: str, query: str, scoring: Scoring, overhang: Overhang) -> Alignment:
    return align_reference(reference.encode(), query.encode(), scoring, overhang)


def spell(cigar: Cigar) -> str:
    return "".join(f"{length}{operation}" for length, operation in cigar)


def total(cigar: Cigar, operations: str) -> int:
    return sum(length for length, operation in cigar if operation in operations)


@settings(max_examples=many(1000))
@given(TINY, TINY, ANY_SCORING, OVERHANGS)
@example("AC", "CA", Scoring(0, 0, 0, 0), IGNORE)
@example("AAC", "CAAA", Scoring(-1, 2, 1, 1), SOFTCLIP)
def test_best_of_all_alignments(
    reference: str, query: str, scoring: Scoring, overhang: Overhang
) -> None:
    assume(overhang not in {SOFTCLIP, IGNORE} or query not in reference)
    expected = align_exhaustively(reference, query, scoring, overhang)
    assert align(reference, query, scoring, overhang) == expected


@settings(max_examples=60)
@given(TINY, st.data(), ANY_SCORING, st.sampled_from([SOFTCLIP, IGNORE]))
def test_exact_substrings(
    reference: str, data: st.DataObject, scoring: Scoring, overhang: Overhang
) -> None:
    """GATK returns the last occurrence; with usual weights it is the best alignment."""
    start = data.draw(st.integers(0, len(reference) - 1))
    query = reference[start : data.draw(st.integers(start + 1, len(reference)))]
    last = max(k for k in range(len(reference)) if reference[k:].startswith(query))
    expected = Alignment(scoring.match * len(query), last, [(len(query), "M")])
    assert align(reference, query, scoring, overhang) == expected
    if scoring.prefers_exact_match:
        assert align_exhaustively(reference, query, scoring, overhang) == expected


def score_of(reference: str, query: str, alignment: Alignment, scoring: Scoring) -> int:
    """Score an alignment from the bases; the first and the last run may be free."""
    score, i, j = 0, alignment.offset, 0
    for number, (length, operation) in enumerate(alignment.cigar):
        if operation == "M":
            score += sum(
                substitution(reference[i + k], query[j + k], scoring) for k in range(length)
            )
        elif operation in "ID":
            # A gap at the start of an end-to-end alignment is one gap; other gaps may be several.
            extend = max(scoring.gap_open, scoring.gap_extend) if number else scoring.gap_extend
            score += scoring.gap_open + (length - 1) * extend
        i += length if operation in "MD" else 0
        j += length if operation in "MIS" else 0
    return score


@settings(max_examples=many(300))
@given(SHORT, SHORT, SENSIBLE, st.sampled_from([SOFTCLIP, INDEL, LEADING_INDEL]))
def test_cigar_accounts_for_score_and_bases(
    reference: str, query: str, scoring: Scoring, overhang: Overhang
) -> None:
    alignment = align(reference, query, scoring, overhang)
    cigar = alignment.cigar
    assert score_of(reference, query, alignment, scoring) == alignment.score
    assert total(cigar, "MIS") == len(query)
    assert all(length > 0 for length, _ in cigar)
    assert all(a != b for (_, a), (_, b) in pairwise(cigar))
    assert all(operation != "S" for _, operation in cigar[1:-1])
    assert overhang is SOFTCLIP or total(cigar, "S") == 0
    reference_end = alignment.offset + total(cigar, "MD")
    if overhang is INDEL:
        assert (alignment.offset, reference_end) == (0, len(reference))
    elif overhang is LEADING_INDEL:
        assert alignment.offset == 0
        assert reference_end <= len(reference)
    else:
        assert 0 <= alignment.offset < reference_end <= len(reference)
        # A query is clipped only where it extends beyond the reference.
        assert cigar[0][1] != "S" or alignment.offset == 0
        assert cigar[-1][1] != "S" or reference_end == len(reference)


@settings(max_examples=100)
@given(SHORT, SHORT, SENSIBLE)
def test_ignored_overhangs_are_clipped_ones_counted_as_aligned(
    reference: str, query: str, scoring: Scoring
) -> None:
    score, offset, clipped = align(reference, query, scoring, SOFTCLIP)
    leading = clipped[0][0] if clipped[0][1] == "S" else 0
    trailing = clipped[-1][0] if clipped[-1][1] == "S" else 0
    path = [run for run in clipped if run[1] != "S"]
    expected = with_ends(path, (offset, leading), trailing, IGNORE)
    assert align(reference, query, scoring, IGNORE) == (score, *expected)


@settings(max_examples=60)
@given(SHORT, SHORT, SENSIBLE, OVERHANGS)
def test_a_common_divisor_changes_nothing(
    reference: str, query: str, scoring: Scoring, overhang: Overhang
) -> None:
    score, *alignment = align(reference, query, scoring.divided(), overhang)
    expected = [score * scoring.divisor, *alignment]
    assert list(align(reference, query, scoring, overhang)) == expected


@settings(max_examples=many(300))
@given(SHORT, SHORT, ANY_SCORING, OVERHANGS)
def test_the_compiled_recurrence_of_the_oracles(
    reference: str, query: str, scoring: Scoring, overhang: Overhang
) -> None:
    found = compiled_aligner.align(reference.encode(), query.encode(), scoring, overhang)
    assert found == align(reference, query, scoring, overhang)


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.name}-{case.overhang.name}")
def test_gatk_unit_tests(case: Case) -> None:
    _, offset, cigar = align(case.reference, case.query, case.scoring, case.overhang)
    assert (offset, spell(cigar)) == (case.offset, case.cigar)


def test_gatk_flank_lengths_do_not_move_indels() -> None:
    """GATK's testForIdenticalAlignmentsWithDifferingFlankLengths."""
    scoring = PRESETS["haplotype-to-reference"]
    short, long = (align(*pair, scoring, SOFTCLIP).cigar for pair in FLANKED)
    assert len(short) == len(long)
    assert [run for run in short if run[1] != "M"] == [run for run in long if run[1] != "M"]


def test_gatk_local_alignment() -> None:
    """GATK's testLocalAlignment: the longest run of equal bases is 48 long."""
    _, i, cigar = align(LOCAL_REFERENCE, LOCAL_QUERY, LOCAL_SCORING, SOFTCLIP)
    j, longest = 0, 0
    for length, operation in cigar:
        if operation == "M":
            equal = [LOCAL_REFERENCE[i + k] == LOCAL_QUERY[j + k] for k in range(length)]
            longest = max(longest, *(sum(run) for _, run in groupby(equal)))
        i += length if operation in "MD" else 0
        j += length if operation in "MIS" else 0
    assert longest == 48


# Small cases, computed by hand from GATK's rules.
@pytest.mark.parametrize(
    ("reference", "query", "scoring", "overhang", "expected"),
    [
        # Overhanging bases lengthen the first and the last run; the offset may be negative.
        ("ACGTT", "GGACGTT", READ, SOFTCLIP, (50, 0, "2S5M")),
        ("ACGTT", "GGACGTT", READ, IGNORE, (50, -2, "7M")),
        ("GGACG", "ACGTT", READ, SOFTCLIP, (30, 2, "3M2S")),
        ("GGACG", "ACGTT", READ, IGNORE, (30, 2, "5M")),
        # The first run is a deletion and is lengthened too; the query length is then wrong.
        ("CAC", "AAA", Scoring(3, -9, -1, -1), SOFTCLIP, (2, 0, "2S1D1M")),
        ("CAC", "AAA", Scoring(3, -9, -1, -1), IGNORE, (2, -2, "3D1M")),
        # The end of the reference is not in the CIGAR, or deleted.
        ("ACGTACGTAA", "ACGTA", READ, LEADING_INDEL, (50, 0, "5M")),
        ("ACGTACGTAA", "ACGTA", READ, INDEL, (0, 0, "4M5D1M")),
        ("ACGTGGGGG", "ACGT", READ, INDEL, (-10, 0, "4M5D")),
        ("TTTACGTA", "ACGTA", READ, INDEL, (10, 0, "3D5M")),
        ("ACGTA", "TTTACGTA", READ, INDEL, (10, 0, "3I5M")),
        # Bytes are compared as they are.
        ("NNNNN", "NNNNN", READ, SOFTCLIP, (50, 0, "5M")),
        ("NNNNN", "AAAAA", READ, INDEL, (-75, 0, "5M")),
        ("ACGT", "acgt", READ, INDEL, (-60, 0, "4M")),
        ("ACGTacgt", "acgt", READ, SOFTCLIP, (40, 4, "4M")),
        # The last of several occurrences, also where matches gain nothing.
        ("ACGACGACG", "ACG", READ, SOFTCLIP, (30, 6, "3M")),
        ("ACGACGACG", "ACG", Scoring(-1, 5, 5, 5), IGNORE, (-3, 6, "3M")),
        # No cell is below -100,000,000; later weights are added to this score.
        ("AA", "CC", Scoring(1, -60_000_000, -90_000_000, -90_000_000), INDEL, (-(10**8), 0, "2M")),
        (
            "AAG",
            "CCG",
            Scoring(1, -60_000_000, -90_000_000, -90_000_000),
            INDEL,
            (1 - 10**8, 0, "3M"),
        ),
    ],
)
def test_by_hand(
    reference: str,
    query: str,
    scoring: Scoring,
    overhang: Overhang,
    expected: tuple[int, int, str],
) -> None:
    score, offset, cigar = align(reference, query, scoring, overhang)
    assert (score, offset, spell(cigar)) == expected


@pytest.mark.parametrize(("reference", "query"), [("", "A"), ("A", ""), ("", "")])
def test_empty_sequences_are_refused(reference: str, query: str) -> None:
    with pytest.raises(InputError, match="empty sequence"):
        align(reference, query, READ, SOFTCLIP)
