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
    Region,
    merge_regions,
    parse_region,
    read_bed,
)

LENGTHS = {"chr1": 1000, "chr2": 50_000, "HLA:A:01": 300, "chr1:5-9": 70, "20": 60}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("chr1", Region("chr1", 0, 1000)),
        ("chr1:100", Region("chr1", 99, 1000)),
        ("chr1:100-", Region("chr1", 99, 1000)),
        ("chr1:-200", Region("chr1", 0, 200)),
        ("chr1:100-200", Region("chr1", 99, 200)),
        ("chr1:100-100", Region("chr1", 99, 100)),
        ("chr2:1,000-2,000", Region("chr2", 999, 2000)),
        ("chr1:100-5000", Region("chr1", 99, 1000)),
        ("HLA:A:01", Region("HLA:A:01", 0, 300)),
        ("HLA:A:01:10-20", Region("HLA:A:01", 9, 20)),
        ("{HLA:A:01}:10-20", Region("HLA:A:01", 9, 20)),
        ("{chr1:5-9}", Region("chr1:5-9", 0, 70)),
        ("{chr1}:5-9", Region("chr1", 4, 9)),
        ("chr1:5-9:7-8", Region("chr1:5-9", 6, 8)),
    ],
)
def test_regions_as_samtools_takes_them(text: str, expected: Region) -> None:
    assert parse_region(text, LENGTHS) == expected


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
        ("chr1:1001", "has only 1,000 bases"),
        ("chr1:5-9", "ambiguous"),
        ("chr20:1-5", "unknown contig 'chr20'; found '20' instead"),
        ("2", "unknown contig '2'; found 'chr2' instead"),
        ("chrUn", "unknown contig 'chrUn'"),
        ("{chr1", "malformed; write {contig}:start-end"),
        ("{chr1}5-9", "malformed; write {contig}:start-end"),
        ("{}:5-9", "malformed; write {contig}:start-end"),
    ],
)
def test_bad_regions_are_usage_errors(text: str, message: str) -> None:
    with pytest.raises(UsageError, match=re.escape(message)):
        parse_region(text, LENGTHS)


def test_regions_without_known_lengths() -> None:
    assert parse_region("chr1:100") == Region("chr1", 99, END_OF_CONTIG)
    assert parse_region("chr1:100-200") == Region("chr1", 99, 200)
    assert parse_region("HLA:A*01") == Region("HLA:A*01", 0, END_OF_CONTIG)


@given(st.integers(0, 899), st.integers(1, 100))
def test_text_of_a_region_reads_back(start: int, length: int) -> None:
    region = Region("chr1", start, start + length)
    assert parse_region(str(region)) == region
    assert parse_region(f"{{chr1}}:{start + 1:,}-{start + length:,}", LENGTHS) == region


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
