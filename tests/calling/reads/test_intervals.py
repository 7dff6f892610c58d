"""Calling intervals and their segments."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hapgpu.calling.batches import Segment
from hapgpu.calling.reads import segments as segments_module
from hapgpu.calling.reads.segments import (
    CallingIntervals,
    calling_intervals,
    groups_of,
    runs_of,
    segment_bases,
    segments_of,
)
from hapgpu.errors import UsageError
from hapgpu.io.genome.regions import EVERYTHING, Region, RegionChoice

LENGTHS = {"chr2": 1000, "chr1": 500, "chrM": 0}


def chosen(*regions: Region) -> RegionChoice:
    return RegionChoice(regions)


def test_everything_is_all_contigs() -> None:
    expected = [Region("chr2", 0, 1000), Region("chr1", 0, 500)]
    assert [*calling_intervals(EVERYTHING, LENGTHS)] == expected


def test_regions_are_merged_in_the_order_of_contigs_and_cut() -> None:
    regions = chosen(
        Region("chr1", 400, 900),
        Region("chr2", 300, 400),
        Region("chr2", 10, 20),
        Region("chr2", 350, 450),
        Region("chr2", 450, 460),
    )
    assert [*calling_intervals(regions, LENGTHS)] == [
        Region("chr2", 10, 20),
        Region("chr2", 300, 460),
        Region("chr1", 400, 500),
    ]
    assert [*calling_intervals(chosen(), LENGTHS)] == []


def test_regions_and_targets_have_bases_in_common() -> None:
    choice = RegionChoice(
        ("chr1:11-20", "chr2:1-400", Region("chr2", 300, 500)),
        (Region("chr2", 100, 200), Region("chr1", 20, 30), Region("chr2", 390, 2000)),
    )
    assert [*calling_intervals(choice, LENGTHS)] == [
        Region("chr2", 100, 200),
        Region("chr2", 390, 500),
    ]
    whole = RegionChoice(None, (Region("chr1", 5, 9),))
    assert [*calling_intervals(whole, LENGTHS)] == [Region("chr1", 5, 9)]


def test_a_contig_with_the_name_of_a_region() -> None:
    lengths = {"HLA*01:01": 90, "chr20": 9000, "chr20:50-90": 41}
    assert [*calling_intervals(RegionChoice(("HLA*01:01",)), lengths)] == [
        Region("HLA*01:01", 0, 90)
    ]
    with pytest.raises(UsageError, match=r"ambiguous.*write \{chr20\}:50-90 or \{chr20:50-90\}"):
        calling_intervals(RegionChoice(("chr20:50-90",)), lengths)
    meant = calling_intervals(RegionChoice(("{chr20}:50-90", "{chr20:50-90}")), lengths)
    assert [*meant] == [Region("chr20", 49, 90), Region("chr20:50-90", 0, 41)]


def test_intervals_that_abut_are_joined() -> None:
    apart = [
        Region("a", 0, 5),
        Region("a", 5, 9),
        Region("a", 9, 10),
        Region("a", 11, 12),
        Region("b", 12, 13),
        Region("b", 13, 20),
    ]
    joined = [Region("a", 0, 10), Region("a", 11, 12), Region("b", 12, 20)]
    assert [*CallingIntervals.of(apart).joined()] == joined
    assert [*CallingIntervals.of(joined).joined()] == joined
    assert [*CallingIntervals.of([]).joined()] == []


@pytest.mark.parametrize(
    ("region", "message"),
    [
        (Region("2", 5, 9), "no contig '2' in the reference; found 'chr2' instead"),
        (Region("chr1", 500, 501), "chr1 has only 500 bases"),
    ],
)
def test_regions_outside_the_reference(region: Region, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        calling_intervals(chosen(region), LENGTHS)


@given(st.lists(st.integers(1, 700), min_size=1, max_size=5), st.integers(1, 300))
def test_segments_tile_the_intervals(sizes: list[int], most: int) -> None:
    starts = [1000 * number for number in range(len(sizes))]
    intervals = [
        Region("c", start, start + size) for start, size in zip(starts, sizes, strict=True)
    ]
    segments = list(segments_of(intervals, {"c": 9000}, most))
    tiled = [[s for s in segments if s.interval_start == each.start] for each in intervals]
    assert list(chain.from_iterable(tiled)) == segments
    for interval, parts in zip(intervals, tiled, strict=True):
        assert parts[0].start == interval.start
        assert parts[-1].end == interval.end
        assert [part.start for part in parts[1:]] == [part.end for part in parts[:-1]]
        assert all(0 < part.end - part.start <= most for part in parts)
        assert {(part.interval_end, part.contig_length) for part in parts} == {(interval.end, 9000)}


def test_sizes_of_segments() -> None:
    assert segment_bases(50_000, 4) == 20_000
    assert segment_bases(1_600_000, 10) == 40_000
    assert segment_bases(3_000_000_000, 64) == 200_000


Run = tuple[CallingIntervals, bool]


def run(contig: str, *sizes: int, has_reads: bool = True) -> Run:
    """Return intervals of a contig of these sizes, and whether it has reads."""
    intervals = [Region(contig, 100 * k, 100 * k + size) for k, size in enumerate(sizes)]
    return CallingIntervals.of(intervals), has_reads


def grouped(runs: Sequence[Run], shared_bases: int) -> list[list[str]]:
    """Return the contigs of the parts of each group of segments of at most 60 bases.

    Contigs whose segments are read one by one have a star, those without reads are in brackets.
    """
    found: list[list[str]] = []
    for group in groups_of(runs, dict.fromkeys("abcd", 1000), 60, shared_bases):
        if isinstance(group, list):
            names = (p.contig if isinstance(p, Segment) else f"({p.contigs[0]})" for p in group)
            found.append(list(names))
        else:
            found.append([f"{segment.contig}*" for segment in group])
    return found


@pytest.mark.parametrize(
    ("runs", "shared_bases", "expected"),
    [
        ([run("a", 30), run("b", 30), run("c", 1)], 60, [["a", "b"], ["c"]]),
        ([run("a", 60), run("b", 60), run("c", 61)], 60, [["a"], ["b"], ["c*", "c*"]]),
        ([run("a", 30), run("b", 9, 9), run("c", 9)], 60, [["a"], ["b*", "b*"], ["c"]]),
        ([run("a", 9), run("b", 99, has_reads=False), run("c", 9)], 60, [["a", "(b)", "c"]]),
        ([run("a", 9), run("b", 9)], 0, [["a*"], ["b*"]]),
    ],
)
def test_small_contigs_are_read_together(
    runs: list[Run], shared_bases: int, expected: list[list[str]]
) -> None:
    """Those of one interval each, of so many bases together, at most."""
    assert grouped(runs, shared_bases) == expected


def test_intervals_of_one_part_of_the_work(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(segments_module, "_MAX_TOGETHER", 3)
    runs = [run("a", 9), run("b", 9, 9, has_reads=False), run("c", 9), run("d", 9)]
    assert grouped(runs, 60) == [["a", "(b)"], ["c", "d"]]
    monkeypatch.setattr(segments_module, "_MAX_EMPTY", 2)
    intervals = [Region(contig, 10 * k, 10 * k + 5) for contig in "abcdee" for k in range(2)]
    asked = []

    def have_reads(contigs: Iterable[str], ends: Iterable[int]) -> Iterator[bool]:
        for contig, end in zip(contigs, ends, strict=True):
            asked.append((contig, end))
            yield contig == "d"

    found = runs_of(CallingIntervals.of(intervals), have_reads)
    names = [("".join(run_.contigs), has_reads) for run_, has_reads in found]
    empty = [(contigs, False) for contigs in ("aa", "bb", "cc", "ee", "ee")]
    assert names == [*empty[:3], ("dd", True), *empty[3:]]
    assert asked == [(contig, 15) for contig in "abcde"]
    assert [*runs_of(CallingIntervals.of([]), have_reads)] == []
