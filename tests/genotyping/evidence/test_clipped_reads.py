"""Clipped reads, against a walk over every base in plain Python and against pysam."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from random import Random
from typing import NamedTuple

import numpy as np
import pysam
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hapgpu.arrays.batches import ReadBatch
from hapgpu.genotyping.batches import ClippedReads
from hapgpu.genotyping.reads.clipped_reads import clipped_reads_of
from hapgpu.haplotypes.batches import Loci
from hapgpu.io.alignments.reader import open_reads
from tests.example_counts import many
from tests.genotyping.short_reads import ShortRead, batch_of

Interval = tuple[int, int]


class Base(NamedTuple):
    position: int
    is_inserted: bool = False


class Walked(NamedTuple):
    """The bases of a read, and the reference intervals that it covers, half-open.

    `aligned` is without soft-clipped bases at the ends.
    """

    bases: list[Base]
    covered: Interval
    aligned: Interval


class Clipped(NamedTuple):
    read: int
    base_start: int
    base_end: int
    start: int
    end: int


NOTHING = Walked([], (0, 0), (0, 0))

Key = tuple[int, int]
"""A locus and a sample."""


def walked(read: ShortRead) -> Walked:
    """Walk a CIGAR base by base."""
    letters = "".join(operation * length for length, operation in read.elements)
    on_reference = [k for k, letter in enumerate(letters) if letter in "MDN=X"]
    if not read.base_count or not set(letters) & set("M=X"):
        return NOTHING
    first, last = on_reference[0], on_reference[-1]
    position = read.position - letters[:first].count("S")
    bases, start = [], position
    for k, letter in enumerate(letters):
        is_column = letter in "MDN=X" or (letter == "S" and not first < k < last)
        if letter in "MIS=X":
            bases.append(Base(position, is_inserted=not is_column))
        position += is_column
    end = position - letters[last:].count("S")
    return Walked(bases, (start, position), (read.position, end))


def walked_by_pysam(read: pysam.AlignedSegment) -> Walked:
    """Add the positions that pysam's aligned pairs lack: of clipped and inserted bases."""
    start, end = read.query_alignment_start, read.query_alignment_end
    bases: list[Base] = []
    position = read.reference_start
    for base, column in read.get_aligned_pairs():
        if base is None:
            position = column + 1
        elif base < start:
            bases.append(Base(read.reference_start - start + base))
        elif base >= end:
            bases.append(Base(read.reference_end + base - end))
        elif column is None:
            bases.append(Base(position, is_inserted=True))
        else:
            bases.append(Base(column))
            position = column + 1
    clips = len(bases) - end
    covered = read.reference_start - start, read.reference_end + clips
    return Walked(bases, covered, (read.reference_start, read.reference_end))


def expected(
    reads: Sequence[Walked],
    names: Sequence[str],
    samples: Sequence[int],
    loci: Sequence[Interval],
    margin: int,
    min_bases: int,
) -> list[tuple[Key, list[Clipped]]]:
    """Return the fragments of each locus and sample, in order."""
    fragments: dict[Key, dict[str, list[Clipped]]] = {}
    for locus, (start, end) in enumerate(loci):
        for row, (bases, covered, aligned) in enumerate(reads):
            if not bases or covered[1] <= start or covered[0] >= end:
                continue
            if aligned[1] <= start - margin or aligned[0] >= end + margin:
                continue
            inside = [
                k for k, base in enumerate(bases) if start - margin <= base.position < end + margin
            ]
            if len(inside) < min_bases:
                continue
            first, last = bases[inside[0]], bases[inside[-1]]
            covered_end = last.position + (not last.is_inserted)
            clipped = Clipped(row, inside[0], inside[-1] + 1, first.position, covered_end)
            name = names[row] if names[row] not in {"", "*"} else f"unnamed\t{row}"
            at_locus = fragments.setdefault((locus, samples[row]), {})
            at_locus.setdefault(name, []).append(clipped)
    return [(key, parts) for key in sorted(fragments) for parts in fragments[key].values()]


def found(clipped: ClippedReads) -> list[tuple[Key, list[Clipped]]]:
    columns = (
        clipped.reads, clipped.base_starts, clipped.base_ends, clipped.starts, clipped.ends
    )  # fmt: skip
    rows = [Clipped(*map(int, row)) for row in zip(*columns, strict=True)]
    keys = list(zip(clipped.loci.tolist(), clipped.samples.tolist(), strict=True))
    fragments = []
    for first, last in pairwise(clipped.fragment_offsets.tolist()):
        (key,) = set(keys[first:last])
        fragments.append((key, rows[first:last]))
    return fragments


def loci_of_intervals(intervals: Sequence[Interval]) -> Loci:
    table = np.array(intervals, dtype=np.int64).reshape(-1, 2)
    return Loci(np.arange(len(table) + 1), table[:, 0].copy(), table[:, 1].copy())


def check(
    reads: Sequence[ShortRead],
    samples: Sequence[int],
    loci: Sequence[Interval],
    margin: int = 3,
    min_bases: int = 1,
) -> list[tuple[Key, list[Clipped]]]:
    """Compare with the plain walk; return the clipped reads found."""
    of_reads = np.array(samples, dtype=np.int32)
    one_file = np.zeros(len(reads), dtype=np.int32)
    clipped = clipped_reads_of(
        batch_of(reads), of_reads, one_file, loci_of_intervals(loci), margin, min_bases
    )
    assert clipped.samples.dtype == np.int32
    assert (
        clipped.reads.dtype
        == clipped.base_starts.dtype
        == clipped.fragment_offsets.dtype
        == np.int64
    )
    result = found(clipped)
    names = [read.name for read in reads]
    by_walk = expected([walked(read) for read in reads], names, samples, loci, margin, min_bases)
    assert result == by_walk
    return result


LENGTHS = st.integers(1, 7)
ELEMENTS = st.tuples(LENGTHS, st.sampled_from("MIDNSHP=X"))
ANY_CIGAR = st.lists(ELEMENTS, max_size=8)
CLIPS = st.lists(st.tuples(LENGTHS, st.just("S")), max_size=1)
INNER = st.lists(st.tuples(LENGTHS, st.sampled_from("MMMIDNP=X")), min_size=1, max_size=7)
SOUND_CIGAR = st.tuples(CLIPS, INNER, CLIPS).map(lambda parts: [*parts[0], *parts[1], *parts[2]])
CIGARS = st.one_of(ANY_CIGAR, SOUND_CIGAR).map(
    lambda elements: "".join(f"{length}{operation}" for length, operation in elements)
)
READS = st.builds(
    ShortRead,
    name=st.sampled_from(["a", "ab", "*", "", "x" * 254]),
    position=st.integers(0, 40),
    cigar=CIGARS,
    has_bases=st.sampled_from([True, True, True, True, False]),
)
LOCI = st.lists(
    st.tuples(st.integers(0, 60), st.integers(1, 9)).map(lambda pair: (pair[0], sum(pair))),
    max_size=6,
)


@settings(max_examples=many(300))
@given(
    rows=st.lists(st.tuples(READS, st.integers(0, 1)), max_size=10),
    loci=st.one_of(LOCI, LOCI.map(sorted)),
    margin=st.integers(0, 8),
    min_bases=st.integers(1, 4),
)
def test_equal_to_a_walk_over_all_bases(
    rows: list[tuple[ShortRead, int]], loci: list[Interval], margin: int, min_bases: int
) -> None:
    check([read for read, _ in rows], [sample for _, sample in rows], loci, margin, min_bases)


@pytest.mark.parametrize(
    ("cigar", "locus", "expected_rows"),
    [
        ("20M", (108, 110), [(5, 13, 105, 113)]),
        ("4S16M", (101, 103), [(2, 10, 98, 106)]),  # clipped bases are before the alignment
        ("4S16M", (97, 98), [(0, 5, 96, 101)]),  # only the clip overlaps the locus
        ("4S16M", (96, 97), []),  # the alignment does not overlap the margin
        ("16M4S", (117, 118), [(14, 20, 114, 120)]),
        ("16M4S", (119, 120), []),
        ("4H16M4H", (116, 118), []),  # hard-clipped bases do not
        ("8M3I9M", (108, 109), [(5, 15, 105, 112)]),  # inserted bases are within
        ("8M3I9M", (104, 105), [(1, 8, 101, 108)]),  # the position after them is outside
        ("8M3I9M", (111, 112), [(8, 18, 108, 115)]),  # it is the first position within
        ("8M3I", (104, 105), [(1, 8, 101, 108)]),
        ("8M3I", (106, 107), [(3, 11, 103, 108)]),
        ("8M20D8M", (115, 120), []),  # all of the interval is deleted
        ("8M20N8M", (108, 110), [(5, 8, 105, 108)]),  # it ends in the gap
        ("8M6D8M", (110, 113), [(7, 10, 107, 116)]),
        ("8M5P8M", (107, 109), [(4, 12, 104, 112)]),
        ("1M20N1M", (103, 105), [(0, 1, 100, 101)]),
    ],
)
def test_by_hand(cigar: str, locus: Interval, expected_rows: list[tuple[int, ...]]) -> None:
    fragments = check([ShortRead("r", 100, cigar)], [0], [locus])
    assert [tuple(part)[1:] for _, parts in fragments for part in parts] == expected_rows


def test_clips_before_the_contig() -> None:
    ((_, (clipped,)),) = check([ShortRead("r", 2, "9S10M")], [0], [(1, 3)], margin=50)
    assert clipped == (0, 0, 19, -7, 12)


def test_reads_without_an_aligned_base_overlap_nothing() -> None:
    cigars = ["", "20S", "10S20N", "20I", "5S5D5S", "20H"]
    reads = [ShortRead("r", 100, cigar) for cigar in cigars]
    reads.append(ShortRead("r", 100, "20M", has_bases=False))
    assert not check(reads, [0] * len(reads), [(90, 130)], margin=100)


def test_fragments_have_one_name_sample_and_locus() -> None:
    long_name = "x" * 253
    rows = [
        ("late", 1), ("pair", 0), ("pair", 1), (f"{long_name}1", 0), ("pai", 0), ("*", 0),
        (f"{long_name}2", 0), ("pair", 0), ("*", 0), ("pair1", 0), ("late", 1), ("pair", 0),
        ("", 0), ("", 0),
    ]  # fmt: skip
    reads = [ShortRead(name, 100, "20M") for name, _ in rows]
    fragments = check(reads, [sample for _, sample in rows], [(105, 106), (110, 112)])
    of_locus = [[1, 7, 11], [3], [4], [5], [6], [8], [9], [12], [13], [0, 10], [2]]
    assert [[part.read for part in parts] for _, parts in fragments] == of_locus * 2


def test_names_with_a_common_prefix_are_distinct() -> None:
    reads = [ShortRead("x" * length, 100, "20M") for length in range(1, 255)]
    assert len(check(reads, [0] * len(reads), [(105, 106)])) == len(reads)


def test_loci_that_adjoin_a_read_do_not_overlap_it() -> None:
    read = ShortRead("r", 100, "20M")
    loci = [(90, 130), (95, 100), (96, 101), (119, 120), (120, 130), (110, 111)]
    fragments = check([read], [0], loci, margin=50)
    assert [locus for (locus, _), _ in fragments] == [0, 2, 3, 5]


def test_mates_at_different_loci_are_different_fragments() -> None:
    reads = [ShortRead("p", 100, "20M"), ShortRead("q", 100, "90M"), ShortRead("p", 160, "20M")]
    fragments = check(reads, [0, 0, 0], [(105, 110), (165, 170)])
    parts = [(key[0], [part.read for part in parts]) for key, parts in fragments]
    assert parts == [(0, [0]), (0, [1]), (1, [1]), (1, [2])]


def test_no_reads_or_loci() -> None:
    assert not check([], [], [(3, 5)])
    assert not check([ShortRead("r", 3, "9M")], [0], [])
    assert not check([ShortRead("r", 3, "9M")], [0], [(40, 50)])


def test_many_names_and_samples() -> None:
    random = Random(4)  # noqa: S311  (the same data on every run)
    reads = [
        ShortRead(f"{random.randrange(1500):o}", 100 + random.randrange(50), "30M")
        for _ in range(3000)
    ]
    samples = [random.randrange(3) for _ in reads]
    assert len(check(reads, samples, [(120, 130), (135, 150)])) > 2000


def test_long_reads_overlap_many_loci() -> None:
    random = Random(5)  # noqa: S311  (the same data on every run)

    def long_read(name: str) -> ShortRead:
        gaps = "".join(
            f"{random.randint(1, 40)}M{random.randint(1, 12)}{random.choice('IDDN')}"
            for _ in range(200)
        )
        return ShortRead(name, random.randrange(2000), f"{random.randint(1, 90)}S{gaps}5M7S")

    loci = [(start, start + random.randint(1, 30)) for start in range(0, 7000, 80)]
    loci[10] = (loci[10][0], 6000)  # overlaps most of the loci after it
    loci[40], loci[41] = loci[41], loci[40]
    reads = [long_read(f"r{number % 5}") for number in range(6)]
    result = check(reads, [0] * len(reads), loci, margin=60, min_bases=10)
    assert len(result) > len(loci)


def mapped(path: Path) -> ReadBatch:
    with open_reads(str(path)) as source:
        batch = ReadBatch.concatenate(list(source.batches()))
    return batch.take(batch.has_flags(0, 4))


@pytest.mark.parametrize("sample", ["HG002", "NA12878"])
def test_real_reads_as_pysam_aligns_them(data_dir: Path, sample: str) -> None:
    path = data_dir / "illumina_na12878" / f"{sample}.chr20.dev.bam"
    random = Random(6)  # noqa: S311  (the same data on every run)
    starts = sorted(random.randrange(10_010_000, 10_016_000) for _ in range(30))
    loci = [(start, start + random.randint(1, 40)) for start in starts]
    reads = mapped(path)
    zeros = np.zeros(len(reads), dtype=np.int32)
    clipped = clipped_reads_of(reads, zeros, zeros, loci_of_intervals(loci), 60, 10)
    with pysam.AlignmentFile(str(path)) as file:
        records = [read for read in file.fetch(until_eof=True) if not read.is_unmapped]
    assert len(records) == len(reads)
    near = [abs(read.reference_start - 10_013_000) < 5000 for read in records]
    walks = [
        walked_by_pysam(read) if is_near else NOTHING
        for read, is_near in zip(records, near, strict=True)
    ]
    names = [read.query_name for read in records]
    by_pysam = expected(walks, names, [0] * len(records), loci, 60, 10)
    assert found(clipped) == by_pysam
    assert len(by_pysam) > 500
    assert max(len(parts) for _, parts in by_pysam) == 2
