"""Union, intersection, padding, exclusion and merging, against sets of positions."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from itertools import chain
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hapgpu.errors import InputError, UsageError
from hapgpu.io.intervals.choice import IntervalChoice, IntervalRules, read_choice
from hapgpu.io.intervals.given import GivenRows
from hapgpu.io.intervals.rows import Fields, IntervalRows, numbers_of
from hapgpu.io.intervals.sets import Line
from tests.io.intervals.interval_oracle import (
    Interval,
    common,
    grown,
    longest_runs,
    merged_if_overlapping,
    positions_of,
    without,
)

LENGTHS = {"b": 20, "a": 31, "none": 0, "a:1": 12}
MAX_RECORD = 1 << 20


def placed(choice: IntervalChoice, lengths: dict[str, int] | None = None) -> list[Interval]:
    """Return the intervals of a choice."""
    lengths = lengths or LENGTHS
    line = Line(lengths)
    found = line.placed(choice.on(line, lengths, lambda: lengths))
    return list(zip(found[0], found[1].tolist(), found[2].tolist(), strict=True))


def shown(intervals: Sequence[Interval]) -> list[str]:
    """Return intervals as text."""
    return [f"{contig}:{start + 1}-{end}" for contig, start, end in intervals]


def rows_of(intervals: Sequence[Interval]) -> GivenRows:
    """Return intervals as those of a file."""
    fields = Fields(
        [each[0] for each in intervals],
        numbers_of(each[1] for each in intervals),
        numbers_of(each[2] for each in intervals),
    )
    return GivenRows("made.bed", IntervalRows.of([fields]), {})


@st.composite
def interval(draw: st.DrawFn) -> Interval:
    contig = draw(st.sampled_from([name for name, length in LENGTHS.items() if length]))
    start = draw(st.integers(0, LENGTHS[contig] - 1))
    return contig, start, draw(st.integers(start + 1, LENGTHS[contig]))


INTERVALS = st.lists(interval(), max_size=4)
RULES = st.builds(
    IntervalRules,
    padding=st.integers(0, 4),
    exclusion_padding=st.integers(0, 4),
    is_intersection=st.booleans(),
    keeps_abutting=st.just(value=False),
)


@given(st.lists(INTERVALS, max_size=3), st.lists(INTERVALS, max_size=2), RULES)
def test_as_sets_of_positions(
    included: list[list[Interval]], excluded: list[list[Interval]], rules: IntervalRules
) -> None:
    sets = [positions_of(grown(each, rules.padding, LENGTHS)) for each in included]
    whole = positions_of((name, 0, length) for name, length in LENGTHS.items())
    join = set.intersection if rules.is_intersection else set.union
    kept = join(*sets) if sets else whole
    for each in excluded:
        kept = kept - positions_of(grown(each, rules.exclusion_padding, LENGTHS))
    choice = IntervalChoice(list(map(rows_of, included)), list(map(rows_of, excluded)), rules)
    if not kept and (excluded or (rules.is_intersection and len(included) > 1)):
        with pytest.raises(UsageError, match=r"nothing is left|no base in common"):
            placed(choice)
    else:
        assert placed(choice) == longest_runs(kept, LENGTHS)


@given(
    st.lists(INTERVALS, min_size=1, max_size=3),
    st.lists(INTERVALS, max_size=1),
    st.booleans(),
    st.integers(0, 3),
)
def test_intervals_that_abut_stay_apart(
    included: list[list[Interval]],
    excluded: list[list[Interval]],
    is_intersection: bool,
    padding: int,
) -> None:
    rules = IntervalRules(padding=padding, is_intersection=is_intersection, keeps_abutting=True)
    parts: list[list[Interval]] = []
    for each in included:
        wide = grown(each, padding, LENGTHS)
        parts.append(
            longest_runs(positions_of(wide), LENGTHS)
            if padding
            else merged_if_overlapping(wide, LENGTHS)
        )
    joined = reduce(common, parts) if is_intersection else [*chain.from_iterable(parts)]
    left = without(
        merged_if_overlapping(joined, LENGTHS), positions_of(chain.from_iterable(excluded))
    )
    choice = IntervalChoice(list(map(rows_of, included)), list(map(rows_of, excluded)), rules)
    if not left and (excluded or (is_intersection and len(included) > 1)):
        with pytest.raises(UsageError):
            placed(choice)
    else:
        assert placed(choice) == left


HG = {"1": 1000, "2": 2000, "chr20": 64_444_167}
Cases = tuple[list[str], list[str], IntervalRules, list[str]]
CASES: list[Cases] = [
    # call_options.md 4.7.
    (["chr20:10,000-10,010"], [], IntervalRules(padding=5), ["chr20:9995-10015"]),
    (["1:100-200", "1:150-300"], [], IntervalRules(is_intersection=True), ["1:150-200"]),
    (["1:100-200"], ["1:120-130"], IntervalRules(), ["1:100-119", "1:131-200"]),
    # IntervalUtilsUnitTest, IntervalArgumentCollectionUnitTest.
    (["1:1-2"], [], IntervalRules(), ["1:1-2"]),
    (["2:1-2", "1:1-2"], [], IntervalRules(), ["1:1-2", "2:1-2"]),
    (["1:1-10", "1:5-15"], [], IntervalRules(), ["1:1-15"]),
    (["1:1-10", "1:5-15"], [], IntervalRules(is_intersection=True), ["1:5-10"]),
    (["1:5-5"], [], IntervalRules(padding=5), ["1:1-10"]),
    ([], ["1", "2"], IntervalRules(), ["chr20:1-64444167"]),
    (["1:1-100"], ["1:90-100"], IntervalRules(exclusion_padding=10), ["1:1-79"]),
    (["1:1-100"], ["1:90-200"], IntervalRules(), ["1:1-89"]),
    (["1:20-30"], [], IntervalRules(padding=10), ["1:10-40"]),
    (["1:1-100", "1:101-200"], [], IntervalRules(), ["1:1-200"]),
    (
        ["1:1-100", "1:101-200"],
        [],
        IntervalRules(keeps_abutting=True),
        ["1:1-100", "1:101-200"],
    ),
    (["1:1", "1:3", "1:2"], [], IntervalRules(), ["1:1-3"]),
    (["1:1", "1:3", "1:2"], [], IntervalRules(keeps_abutting=True), ["1:1-1", "1:2-2", "1:3-3"]),
    (["1:1", "1"], [], IntervalRules(keeps_abutting=True), ["1:1-1000"]),
    (["unmapped"], [], IntervalRules(), []),
    (["unmapped", "1:10-20", "UNMAPPED", "2:1-5"], ["1"], IntervalRules(), ["2:1-5"]),
    (["1:100-200", "Unmapped"], [], IntervalRules(padding=50), ["1:50-250"]),
    (["1:990+", "2:1990-2000"], [], IntervalRules(padding=30), ["1:960-1000", "2:1960-2000"]),
]


@pytest.mark.parametrize(("included", "excluded", "rules", "expected"), CASES)
def test_cases(
    included: list[str], excluded: list[str], rules: IntervalRules, expected: list[str]
) -> None:
    choice = read_choice(included, excluded, rules, MAX_RECORD)
    assert shown(placed(choice, HG)) == expected


@pytest.mark.parametrize(
    ("included", "excluded", "message"),
    [
        (["1:10-20"], ["1:1-200"], "--exclude-intervals: nothing is left"),
        (["1:10-20", "1:50-200"], [], "-L: no base in common"),
        (["1:1-100", "1:101-200", "1:90-110"], [], "-L: no base in common"),
        (["1", "unmapped"], [], "-L: no base in common"),
        ([], ["unmapped"], "--exclude-intervals unmapped: cannot exclude"),
        (["1;2"], [], "-L 1;2: ';' joins no intervals"),
        ([], ["3:1-5"], "--exclude-intervals 3:1-5: no contig '3' in the reference"),
        (["20:1-5"], [], "-L 20:1-5: no contig '20' in the reference; found 'chr20' instead"),
        (["1:1-1001"], [], "-L 1:1-1001: 1 has only 1,000 bases"),
    ],
)
def test_errors(included: list[str], excluded: list[str], message: str) -> None:
    rules = IntervalRules(is_intersection=True)

    def run() -> None:
        placed(read_choice(included, excluded, rules, MAX_RECORD), HG)

    with pytest.raises(UsageError) as error:
        run()
    assert str(error.value).startswith(message)


def test_files_and_texts_together(tmp_path: Path) -> None:
    bed = tmp_path / "one.bed"
    bed.write_text("chr20\t99\t200\n")
    given = tmp_path / "two.list"
    given.write_text(" 1:5-6 \n\nchr20:150-300\nunmapped\n")
    rules = IntervalRules()
    found = placed(read_choice([str(bed), str(given), "2:7"], [], rules, MAX_RECORD), HG)
    assert shown(found) == ["1:5-6", "2:7-7", "chr20:100-300"]
    given.write_text("chr20:150-300\n")
    found = placed(read_choice([str(bed)], [str(given)], rules, MAX_RECORD), HG)
    assert shown(found) == ["chr20:100-149"]


def test_a_line_of_a_list(tmp_path: Path) -> None:
    path = tmp_path / "bad.intervals"
    for line, kind, message in (
        ("1:9-5", InputError, "end 5 is before start 9"),
        ("3:1-2", UsageError, "no contig '3'"),
    ):
        path.write_text(f"1:1-2\n\n{line}\n")
        with pytest.raises(kind, match=rf"bad\.intervals, line 3: {message}"):
            placed(read_choice([str(path)], [], IntervalRules(), MAX_RECORD), HG)


def test_files_without_intervals(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """BED only: a file of another kind without intervals is an error."""
    path = tmp_path / "none.bed"
    path.write_text("# none\n")
    choice = read_choice([str(path)], [], IntervalRules(), MAX_RECORD)
    assert placed(choice, HG) == []
    assert caplog.messages == [f"{path}: no region, nothing selected"]
    choice = read_choice(["1"], [str(path)], IntervalRules(), MAX_RECORD)
    assert shown(placed(choice, HG)) == ["1:1-1000"]
    assert caplog.messages[1:] == [f"{path}: no region, nothing excluded"]
    both = read_choice([str(path), "1"], [], IntervalRules(is_intersection=True), MAX_RECORD)
    with pytest.raises(UsageError, match="no base in common"):
        placed(both, HG)
