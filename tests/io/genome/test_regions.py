"""Regions, against sets of positions and against samtools."""

from __future__ import annotations

import gzip
import re
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hapgpu.errors import InputError, UsageError
from hapgpu.io.genome.regions import (
    END_OF_CONTIG,
    EVERYTHING,
    Region,
    RegionChoice,
    common_regions,
    merge_regions,
    parse_region,
    read_bed,
)

CONTIGS = {"chr1", "chr2", "HLA:A:01", "chr1:5-9", "chr2:0-100", "20"}
END = END_OF_CONTIG


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("chr1", Region("chr1", 0, END)),
        ("chr1:100", Region("chr1", 99, END)),
        ("chr1:100-", Region("chr1", 99, END)),
        ("chr1:-200", Region("chr1", 0, 200)),
        ("chr1:100-200", Region("chr1", 99, 200)),
        ("chr1:100-100", Region("chr1", 99, 100)),
        ("chr2:1,000-2,000", Region("chr2", 999, 2000)),
        ("HLA:A:01", Region("HLA:A:01", 0, END)),
        ("HLA:A:01:10-20", Region("HLA:A:01", 9, 20)),
        ("{HLA:A:01}:10-20", Region("HLA:A:01", 9, 20)),
        ("{chr1:5-9}", Region("chr1:5-9", 0, END)),
        ("{chr1}:5-9", Region("chr1", 4, 9)),
        ("chr1:5-9:7-8", Region("chr1:5-9", 6, 8)),
        ("{chr2:0-100}", Region("chr2:0-100", 0, END)),
        ("chrUn:5-9", Region("chrUn", 4, 9)),
        ("chrUn:x", Region("chrUn:x", 0, END)),
    ],
)
def test_regions_as_samtools_takes_them(text: str, expected: Region) -> None:
    assert parse_region(text, CONTIGS) == expected


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "malformed; write contig:start-end"),
        (":1-5", "malformed; write contig:start-end"),
        ("chr1:", "malformed; write contig:start-end"),
        ("chr1:-", "malformed; write contig:start-end"),
        ("chr1:a-b", "malformed; write contig:start-end"),
        ("chr1:5--9", "malformed; write contig:start-end"),
        (f"chr1:{'1' * 5000}", "a position is greater than 2,147,483,647"),
        ("chr1:1-2147483648", "a position is greater than 2,147,483,647"),
        ("chr1:99999999999999999999-", "a position is greater than 2,147,483,647"),
        ("chr1:0-9", "positions start at 1"),
        ("chr1:9-5", "its end is before its start"),
        (
            "chr1:5-9",
            "ambiguous, contigs 'chr1' and 'chr1:5-9' exist; write {chr1}:5-9 or {chr1:5-9}",
        ),
        ("chr2:0-100", "ambiguous"),
        ("{chr1", "malformed; write {contig}:start-end"),
        ("{chr1}5-9", "malformed; write {contig}:start-end"),
        ("{}:5-9", "malformed; write {contig}:start-end"),
    ],
)
def test_bad_regions_are_usage_errors(text: str, message: str) -> None:
    with pytest.raises(UsageError, match=re.escape(message)):
        parse_region(text, CONTIGS)


@pytest.mark.parametrize("name", ["HLA*01:01:01:01", "chr20:5000-9000", "x:0-100", "x:9-5"])
def test_a_contig_of_exactly_the_name_comes_first(name: str) -> None:
    assert parse_region(name, {name, "other"}) == Region(name, 0, END)
    with pytest.raises(UsageError, match="ambiguous"):
        parse_region(name, {name, name.rpartition(":")[0]})


@given(st.integers(0, 899), st.integers(1, 100))
def test_text_of_a_region_reads_back(start: int, length: int) -> None:
    region = Region("chr1", start, start + length)
    assert parse_region(str(region)) == region
    assert parse_region(f"{{chr1}}:{start + 1:,}-{start + length:,}", CONTIGS) == region


def test_a_choice_without_known_contigs_has_all_meanings() -> None:
    texts = "chr20:5-9", "{a:1-2}", "b", "x:0-100"
    regions, targets = RegionChoice(texts, (Region("b", 3, 4),)).possible_sets()
    assert regions == [
        *(Region("chr20:5-9", 0, END), Region("chr20", 4, 9)),
        *[Region("a:1-2", 0, END)] * 2,
        *[Region("b", 0, END)] * 2,
        Region("x:0-100", 0, END),
    ]
    assert targets == [Region("b", 3, 4)]
    assert EVERYTHING.possible_sets() == EVERYTHING.sets({"b"}) == []


@pytest.mark.parametrize("compressed", [False, True])
def test_bed(tmp_path: Path, *, compressed: bool) -> None:
    text = "#a comment\ntrack name=x\nbrowser hide\nchr2\t5\t9\tname\t0\t+\n\nchr1 0 3\r\n"
    path = tmp_path / "targets.bed"
    path.write_bytes(gzip.compress(text.encode()) if compressed else text.encode())
    assert read_bed(path) == [Region("chr2", 5, 9), Region("chr1", 0, 3)]


@pytest.mark.parametrize(
    "line", ["chr1\t5", "chr1\t-5\t9", "chr1\tx\t9", "chr1\t9\t5", "chr1\t5\t5"]
)
def test_bad_bed_line_is_named(tmp_path: Path, line: str) -> None:
    path = tmp_path / "targets.bed"
    path.write_text(f"chr1\t5\t9\n{line}\n")
    with pytest.raises(InputError, match=r"targets\.bed, line 2: "):
        read_bed(path)


def test_unreadable_bed(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"absent\.bed: no such file"):
        read_bed(tmp_path / "absent.bed")
    cut = tmp_path / "cut.bed.gz"
    cut.write_bytes(gzip.compress(b"chr1\t5\t9\n" * 1000)[:-12])
    with pytest.raises(InputError, match=r"cut\.bed\.gz: truncated compressed file"):
        read_bed(cut)
    binary = tmp_path / "binary.bed"
    binary.write_bytes(b"\xff\xfe\x00\xff\n")
    with pytest.raises(InputError, match=r"binary\.bed: not BED"):
        read_bed(binary)


REGION_LISTS = st.lists(
    st.builds(
        lambda contig, start, length: Region(contig, start, start + length),
        st.sampled_from(["chr1", "chr2"]),
        st.integers(0, 40),
        st.integers(1, 12),
    ),
    max_size=12,
)


def positions(regions: list[Region]) -> list[tuple[str, int]]:
    return [(r.contig, p) for r in regions for p in range(r.start, r.end)]


@given(REGION_LISTS)
def test_merged_regions_cover_the_same_bases_once(regions: list[Region]) -> None:
    merged = merge_regions(regions)
    covered = positions(merged)
    assert len(covered) == len(set(covered))
    assert set(covered) == set(positions(regions))
    assert all(a.contig != b.contig or a.end < b.start for a, b in pairwise(merged))


@given(REGION_LISTS, REGION_LISTS)
def test_common_regions_cover_the_bases_of_both(first: list[Region], second: list[Region]) -> None:
    covered = positions(common_regions(first, second))
    assert len(covered) == len(set(covered))
    assert set(covered) == set(positions(first)) & set(positions(second))
    for contig in ("chr1", "chr2"):
        inside = [position for name, position in covered if name == contig]
        assert inside == sorted(inside)
