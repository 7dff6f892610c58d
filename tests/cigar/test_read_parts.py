"""Reads clipped to intervals, against a walk over every base and against pysam."""

from __future__ import annotations

from pathlib import Path
from random import Random

import numpy as np
import pysam
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from hapgpu.arrays.batches import ReadBatch
from hapgpu.cigar.read_parts import ReadParts, clipped_parts
from hapgpu.io.alignments.reader import open_reads
from tests.example_counts import many
from tests.genotyping.short_reads import ShortRead, batch_of
from tests.pairhmm.clipping_oracle import clip

Interval = tuple[int, int]

ELEMENTS = st.tuples(st.integers(0, 9), st.sampled_from("MMMIDNSHP=X"))
CIGARS = st.lists(ELEMENTS, max_size=8).map(lambda e: "".join(f"{n}{op}" for n, op in e))
READS = st.lists(
    st.builds(
        ShortRead, st.just("r"), st.integers(0, 30), CIGARS, st.sampled_from([True] * 5 + [False])
    ),
    min_size=1,
    max_size=4,
)
INTERVALS = st.lists(
    st.tuples(st.integers(0, 90), st.integers(1, 25)).map(lambda x: (x[0], x[0] + x[1])),
    min_size=1,
    max_size=6,
)


def parts_of(reads: ReadBatch, intervals: list[Interval]) -> ReadParts:
    """Clip every read to every interval."""
    rows = np.repeat(np.arange(len(reads)), len(intervals))
    starts, ends = np.tile(np.array(intervals, dtype=np.int64).T, len(reads))
    return clipped_parts(reads, rows, starts, ends)


def found(parts: ReadParts) -> list[Interval]:
    return list(zip(parts.starts.tolist(), parts.ends.tolist(), strict=True))


def kept(cigar: str, start: int, end: int) -> str:
    """Clip a read at position 100 whose bases are letters of the alphabet; return its bases."""
    read = ShortRead("r", 100, cigar)
    ((first, end),) = found(parts_of(batch_of([read]), [(start, end)]))
    return "abcdefghijklmnopqrstuvwxyz"[first:end]


@pytest.mark.parametrize(
    ("cigar", "interval", "bases"),
    [
        ("10M", (90, 120), "abcdefghij"),
        ("10M", (103, 106), "def"),
        ("10M", (90, 101), "a"),
        ("10M", (109, 200), "j"),
        pytest.param("3S4M3S", (90, 120), "abcdefghij", id="soft clips are bases"),
        pytest.param("3S4M3S", (98, 105), "bcdefgh", id="soft clips have positions"),
        pytest.param("2H3S4M2H", (98, 105), "bcdefg", id="hard clips have none"),
        pytest.param("4M2I4M", (102, 106), "cdefgh", id="inserted within"),
        pytest.param("4M2I4M", (104, 106), "efgh", id="inserted before the first base"),
        pytest.param("4M2I4M", (102, 104), "cdef", id="inserted after the last base"),
        pytest.param("4M2I4M", (105, 106), "h", id="inserted outside"),
        pytest.param("2I8M", (100, 103), "abcde", id="inserted at the start of the read"),
        pytest.param("8M2I", (106, 108), "ghij", id="inserted at the end of the read"),
        pytest.param("4M9D4M", (103, 114), "de", id="deleted within"),
        pytest.param("4M9D4M", (106, 115), "ef", id="the start is deleted"),
        pytest.param("4M9D4M", (102, 107), "cd", id="the end is deleted"),
        pytest.param("4M9D4M", (104, 113), "", id="all is deleted"),
        pytest.param("4M9N4M", (106, 108), "", id="all is skipped"),
        pytest.param("4M2I9D2I4M", (106, 115), "ghij", id="a deletion from outside: inner side"),
        pytest.param("4M2I9D2I4M", (102, 107), "cdef", id="a deletion to outside: inner side"),
        pytest.param("4M2I9D2I4M", (106, 108), "", id="a deletion across"),
        pytest.param("10S", (90, 120), "", id="nothing is aligned"),
        pytest.param("", (90, 120), "", id="no CIGAR"),
    ],
)
def test_by_hand(cigar: str, interval: Interval, bases: str) -> None:
    assert kept(cigar, *interval) == bases
    count = ShortRead("r", 100, cigar).base_count
    first, end = clip(100, cigar, count, interval)
    assert end - first == len(bases)


@settings(max_examples=many(500))
@given(READS, INTERVALS)
@example([ShortRead("r", 0, "1M1S0M")], [(0, 1)])
@example([ShortRead("r", 10, "5M3S5M")], [(12, 15), (12, 16)])
def test_made_up_alignments(reads: list[ShortRead], intervals: list[Interval]) -> None:
    expected = [
        clip(read.position, read.cigar, read.base_count, interval)
        for read in reads
        for interval in intervals
    ]
    parts = parts_of(batch_of(reads), intervals)
    assert found(parts) == expected
    assert (parts.lengths >= 0).all()


def test_a_cigar_that_does_not_fit_the_bases() -> None:
    reads = batch_of([ShortRead("r", 100, "10M"), ShortRead("r", 100, "12M")])
    swapped = reads.take(np.array([1, 0]))
    damaged = ReadBatch(
        **{
            name: getattr(swapped if name == "cigars" else reads, name)
            for name in reads.__dataclass_fields__
        }
    )
    assert found(parts_of(damaged, [(90, 200)])) == [(0, 0), (0, 0)]


def test_no_parts() -> None:
    nothing = np.empty(0, dtype=np.int64)
    assert len(clipped_parts(batch_of([ShortRead("r", 1, "4M")]), nothing, nothing, nothing)) == 0


def mapped(path: Path) -> ReadBatch:
    with open_reads(str(path)) as source:
        batch = ReadBatch.concatenate(list(source.batches()))
    return batch.take(batch.has_flags(0, 4))


@pytest.mark.parametrize("sample", ["HG002", "NA12878"])
def test_real_reads(data_dir: Path, sample: str) -> None:
    """The aligned bases kept are the bases that pysam has within the interval."""
    path = data_dir / "illumina_na12878" / f"{sample}.chr20.dev.bam"
    random = Random(6)  # noqa: S311  (the same data on every run)
    reads = mapped(path)
    rows = np.sort(np.array(random.sample(range(len(reads)), 3000), dtype=np.int64))
    starts = reads.positions[rows].astype(np.int64) + random.choices(range(-40, 150), k=rows.size)
    ends = starts + random.choices(range(1, 90), k=rows.size)
    parts = clipped_parts(reads, rows, starts, ends)
    with pysam.AlignmentFile(str(path)) as file:
        records = [read for read in file.fetch(until_eof=True) if not read.is_unmapped]
    indels = clips = 0
    for row, start, end, part in zip(rows, starts, ends, found(parts), strict=True):
        record = records[row]
        interval = int(start), int(end)
        length = record.query_length
        assert part == clip(record.reference_start, record.cigarstring, length, interval)
        within = {b for b, at in record.get_aligned_pairs(matches_only=True) if start <= at < end}
        extra = set(range(*part)) - within
        assert within <= set(range(*part))
        aligned = {b for b, _ in record.get_aligned_pairs(matches_only=True)}
        assert not extra & aligned
        indels += bool({"I", "D"} & set(record.cigarstring))
        clips += bool(extra)
    assert indels > 10
    assert clips > 30
