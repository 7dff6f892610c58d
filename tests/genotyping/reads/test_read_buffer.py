"""Read buffer, against a list of all reads."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from types import TracebackType
from typing import Self

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from hapgpu.arrays.batches import ReadBatch
from hapgpu.errors import InputError
from hapgpu.genotyping.reads.filters import FilterOptions, ReadFilter
from hapgpu.genotyping.reads.locus_groups import NO_INTERVALS, LocusIntervals
from hapgpu.genotyping.reads.read_buffer import ReadBuffer
from hapgpu.io.bam.header import SamHeader
from tests.io.sam_oracle import Row, batch_of

CONTIGS = ("chr1", "chr2", "chr3")
HEADER = SamHeader.from_references(CONTIGS, [1000, 1000, 1000])


@dataclass
class Batches:
    """A source of given reads."""

    parts: list[list[Row]]
    header = HEADER
    is_fastq = False

    def batches(self) -> Iterator[ReadBatch]:
        return map(batch_of, self.parts)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None: ...


def read(name: str, contig: int, position: int, cigar: tuple[tuple[int, int], ...], **more) -> Row:
    length = sum(size for operation, size in cigar if operation in {0, 1, 4})
    columns = {"flag": 0, "mapping_quality": 60, "bases": "A" * length, **more}
    return Row(
        name=name,
        reference=contig,
        position=position,
        cigar=cigar,
        mate_reference=-1,
        mate_position=-1,
        template_length=0,
        qualities=None,
        tags=(),
        **columns,
    )


def plain(name: str, contig: int, position: int, **more) -> Row:
    return read(name, contig, position, ((0, 10),), **more)


def numbers(reads: ReadBatch, rows: NDArray[np.int64]) -> NDArray[np.int32]:
    """Return the number in the name of each read as its sample."""
    return np.array([int(reads.names[row].tobytes()) for row in rows], dtype=np.int32)


def zeros(_reads: ReadBatch, rows: NDArray[np.int64]) -> NDArray[np.int32]:
    return np.zeros(rows.size, dtype=np.int32)


def opened(
    parts: list[list[Row]], contig: int = 0, counted: LocusIntervals = NO_INTERVALS
) -> tuple[ReadBuffer, dict]:
    read_filter = ReadFilter(FilterOptions())
    reads = ReadBuffer(Batches(parts), "reads.sam", read_filter, zeros, contig, counted)
    return reads, read_filter.counts


def names_at(reads: ReadBuffer, *intervals: tuple[int, int]) -> list[str]:
    starts = np.array([start for start, _ in intervals])
    max_ends = np.maximum.accumulate([end for _, end in intervals])
    return [
        part.reads.names[row].tobytes().decode()
        for part in reads.at(starts, max_ends)
        for row in part.rows
    ]


def read_all(reads: ReadBuffer, batches: int) -> None:
    for _ in range(batches):
        reads.read_on()


def span_of(row: Row) -> int:
    return max(1, sum(size for operation, size in row.cigar if operation in {0, 2, 3}))


@st.composite
def sorted_rows(draw: st.DrawFn) -> list[Row]:
    cigars = st.sampled_from(
        [
            ((0, 10),),
            ((4, 30), (0, 5)),
            ((0, 5), (3, 200), (0, 5)),
            ((0, 4), (1, 3), (2, 9), (0, 4)),
            ((4, 7),),
        ]
    )
    positions = sorted(
        draw(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 300)), max_size=30))
    )
    return [read(str(k), *position, draw(cigars)) for k, position in enumerate(positions)]


@given(
    rows=sorted_rows(),
    cuts=st.lists(st.integers(1, 8), min_size=30, max_size=30),
    queries=st.lists(
        st.tuples(st.integers(0, 2), st.integers(0, 300), st.integers(1, 60), st.integers(1, 60)),
        min_size=1,
        max_size=8,
    ),
)
def test_reads_at_intervals(
    rows: list[Row], cuts: list[int], queries: list[tuple[int, int, int, int]]
) -> None:
    remaining = list(rows)
    parts = []
    for cut in cuts:
        parts.append(remaining[:cut])
        remaining = remaining[cut:]
    source = Batches([part for part in parts if part])
    reads = ReadBuffer(source, "reads", ReadFilter(FilterOptions()), numbers, 0, NO_INTERVALS)
    for contig, start, length, gap in sorted(queries):
        intervals = [(start, start + length), (start + gap, start + gap + 5)]
        end = max(end for _, end in intervals)
        reads.move_to(contig)
        reads.drop_before(start)
        while reads.frontier < end:
            reads.read_on()
        parts = reads.at(np.array([start, start + gap]), np.array([intervals[0][1], end]))
        found = [int(part.reads.names[row].tobytes()) for part in parts for row in part.rows]
        assert found == [
            k
            for k, row in enumerate(rows)
            if row.reference == contig
            and any(
                row.position < end and row.position + span_of(row) > start
                for start, end in intervals
            )
        ]
        assert [sample for part in parts for sample in part.samples] == found


def test_no_read_is_kept_longer_than_needed() -> None:
    parts = [[plain(f"r{10 * k + j}", 0, 10 * k) for j in range(10)] for k in range(50)]
    reads, _ = opened(parts)
    max_bases = 0
    for position in range(0, 490, 10):
        reads.drop_before(position)
        while reads.frontier < position + 10:
            reads.read_on()
        assert len(names_at(reads, (position, position + 1))) == 10
        max_bases = max(max_bases, reads.bases)
    assert max_bases <= 3 * 10 * 10


def test_one_long_read_does_not_keep_its_neighbours() -> None:
    long_read = read("long", 0, 0, ((0, 10), (3, 900), (0, 10)))
    reads, _ = opened([[long_read, *(plain(f"r{k}", 0, k) for k in range(50))], []])
    reads.read_on()
    reads.drop_before(500)
    assert names_at(reads, (500, 501)) == ["long"]
    assert reads.bases == 20


def test_reads_that_end_at_a_position_are_dropped() -> None:
    """They are half-open: their last base is before it."""
    reads, _ = opened([[plain("r0", 0, 0), plain("r1", 0, 0), plain("r2", 0, 1)]])
    reads.read_on()
    reads.drop_before(10)
    assert reads.bases == 10


def test_reads_that_end_at_a_position_are_not_buffered() -> None:
    reads, _ = opened([[plain("r0", 0, 0)]])
    reads.drop_before(10)
    reads.read_on()
    assert reads.bases == 0


def test_reads_of_earlier_contigs_are_not_kept() -> None:
    reads, _ = opened([[plain("r0", 0, 5)], [plain("r1", 1, 5), plain("r2", 2, 5)]])
    reads.move_to(1)
    reads.read_on()
    assert reads.bases == 0
    assert reads.frontier < 0
    reads.read_on()
    assert names_at(reads, (0, 100)) == ["r1"]
    reads.move_to(2)
    assert names_at(reads, (0, 100)) == ["r2"]


def test_reads_without_position_come_last() -> None:
    unmapped = read("u", -1, -1, (), flag=4)
    odd = read("v", -1, 7, (), flag=4)
    reads, counts = opened([[plain("r", 2, 990), odd, unmapped, odd]], contig=2)
    reads.read_on()
    assert reads.frontier > 1000
    assert counts["excluded_by_flags"] == 3


def test_filter_counts_each_read_under_one_reason() -> None:
    rows = [
        plain("kept", 0, 1, mapping_quality=20),
        plain("reverse", 0, 1, flag=0x10 | 0x40 | 0x1),
        *(plain("flagged", 0, 1, flag=flag, mapping_quality=0) for flag in (4, 256, 512, 1024)),
        plain("supplementary", 0, 1, flag=2048),
        read("no CIGAR", 0, 1, (), bases="ACGT", mapping_quality=0),
        plain("no bases", 0, 1, bases=""),
        plain("unsure", 0, 1, mapping_quality=19),
        plain("unplaced", 0, 1, mapping_quality=0),
        plain("unknown", 0, 1, mapping_quality=255),
    ]
    reads, counts = opened([rows])
    reads.read_on()
    assert names_at(reads, (0, 50)) == ["kept", "reverse"]
    assert counts == {
        "reads": 12,
        "excluded_by_flags": 5,
        "without_alignment": 2,
        "without_mapping_quality": 1,
        "low_mapping_quality": 2,
    }


def test_reads_counted_before_are_kept_and_not_counted() -> None:
    positions = {"before": 5, "adjoining": 8, "between": 12, "clear": 31, "in the second": 39}
    counted = LocusIntervals(np.array([0, 42]), np.array([8, 44]))
    rows = [plain(name, 1, position) for name, position in positions.items()]
    reads, counts = opened([rows, [plain("elsewhere", 2, 5)]], contig=1, counted=counted)
    read_all(reads, 2)
    assert names_at(reads, (9, 40)) == list(positions)
    assert counts["reads"] == len(["touching", "between", "clear", "elsewhere"])


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([[(0, 9), (0, 8)]], "'r1' at chr1:9 comes after a read at chr1:10;"),
        ([[(0, 9)], [(0, 8)]], "'r1' at chr1:9 comes after a read at chr1:10;"),
        ([[(1, 3), (0, 3)]], "'r1' at chr1:4 comes after a read at chr2:4;"),
        ([[(-1, -1), (0, 3)]], "'r1' at chr1:4 comes after a read at no position;"),
    ],
)
def test_unsorted_reads_are_errors(rows: list[list[tuple[int, int]]], message: str) -> None:
    numbers = iter(range(99))
    parts = [[plain(f"r{next(numbers)}", *position) for position in part] for part in rows]
    reads, _ = opened(parts)
    with pytest.raises(InputError) as caught:
        read_all(reads, len(parts))
    assert str(caught.value).startswith("reads.sam: not sorted by position: read ")
    assert message in str(caught.value)
    assert str(caught.value).endswith("run: samtools sort")


def test_an_earlier_contig_is_an_error() -> None:
    reads, _ = opened([])
    reads.move_to(2)
    with pytest.raises(InputError, match=r"sites of chr2 come after sites of chr3; sort the sites"):
        reads.move_to(1)


@given(rows=sorted_rows(), cuts=st.lists(st.integers(1, 8), min_size=30, max_size=30))
def test_contigs_with_reads(rows: list[Row], cuts: list[int]) -> None:
    """A read starts before the end on the contig; the reads of later contigs are kept for later."""
    parts, at = [], 0
    for cut in cuts:
        parts.append(rows[at : at + cut])
        at += cut
    reads, _ = opened([part for part in parts if part])
    for contig in range(3):
        own = [row for row in rows if row.reference == contig]
        for end in (100, 301):
            assert reads.has_reads(contig, end) == any(row.position < end for row in own)
        reads.move_to(contig)
        while reads.frontier < 301:
            reads.read_on()
        assert names_at(reads, (0, 10_000)) == [row.name for row in own]


@pytest.mark.parametrize(("end", "has_reads"), [(100, False), (101, True)])
def test_a_read_that_starts_at_the_end_is_not_before_it(end: int, *, has_reads: bool) -> None:
    reads, _ = opened([[plain("r", 0, 100)]])
    assert reads.has_reads(0, end) == has_reads


def test_a_contig_before_the_current_one() -> None:
    reads, _ = opened([[plain("r", 2, 5)]])
    assert reads.has_reads(2, 10)
    with pytest.raises(InputError, match="sites of chr2 come after sites of chr3"):
        reads.has_reads(1, 10)
