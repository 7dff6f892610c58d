"""Reads of segments, from any kind of input, compared with another reader."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pysam
import pytest

from hapgpu.calling.batches import Segment, SegmentReads
from hapgpu.calling.options import CallOptions
from hapgpu.calling.reads import segment_reader, windows
from hapgpu.calling.reads.segment_reader import SegmentReader
from hapgpu.calling.reads.segments import segments_of
from hapgpu.calling.reads.windows import Room
from hapgpu.errors import InputError
from hapgpu.io.genome.reference import ReferenceFasta
from hapgpu.io.genome.regions import EVERYTHING, Region, RegionChoice
from tests.calling.segments import segment_reads
from tests.cli.realign.command import make_example

ROOM = Room(before=2000, far_before=5000, after=1000)
CONTIG = "chr20"
ALL_READS = CallOptions(max_reads_per_start=0)
SIZES = [20_000, 6_000, 1_700]


@pytest.fixture(scope="module")
def example(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make the example, its reads also as SAM and CRAM, and in two halves."""
    directory = make_example(tmp_path_factory.mktemp("example"))
    bam, fasta = str(directory / "reads.bam"), str(directory / "reference.fa")
    pysam.view("-h", "-o", str(directory / "reads.sam"), bam, catch_stdout=False)
    cram = str(directory / "reads.cram")
    pysam.view("-C", "-T", fasta, "-o", cram, bam, catch_stdout=False)
    pysam.index(cram)
    for name, flag in (("first", "-f"), ("second", "-F")):
        half = str(directory / f"{name}.bam")
        pysam.view("-b", flag, "64", "-o", half, bam, catch_stdout=False)
        pysam.index(half)
    return directory


@contextmanager
def reader(
    directory: Path, *names: str, options: CallOptions = ALL_READS, room: Room = ROOM
) -> Iterator[SegmentReader]:
    paths = [str(directory / name) for name in names]
    with (
        ReferenceFasta(directory / "reference.fa") as reference,
        SegmentReader(paths, reference, options, room, threads=2) as opened,
    ):
        yield opened


def read_all(
    opened: SegmentReader, size: int, intervals: Sequence[Region] | None = None
) -> list[SegmentReads]:
    chosen = EVERYTHING if intervals is None else RegionChoice(tuple(intervals))
    found = opened.intervals(chosen)
    return [source.read() for source in opened.at(segments_of(found, opened.contigs, size))]


def assert_equal(one: SegmentReads, other: SegmentReads) -> None:
    assert one.segment == other.segment
    assert (one.window_start, one.window_end) == (other.window_start, other.window_end)
    assert one.reference.start == other.reference.start
    assert one.reference.bases.tobytes() == other.reference.bases.tobytes()
    assert one.samples.tolist() == other.samples.tolist()
    for name in ("flags", "positions", "mapping_qualities", "mate_positions", "template_lengths"):
        assert getattr(one.reads, name).tolist() == getattr(other.reads, name).tolist(), name
    for name in ("names", "cigars", "bases", "qualities"):
        ragged, expected = getattr(one.reads, name), getattr(other.reads, name)
        assert ragged.offsets.tolist() == expected.offsets.tolist(), name
        assert ragged.data.tobytes() == expected.data.tobytes(), name


@pytest.mark.parametrize("size", SIZES)
def test_reads_of_windows(example: Path, size: int) -> None:
    """They are those that another reader finds in the same window."""
    with reader(example, "reads.bam") as opened:
        for found in read_all(opened, size):
            segment = found.segment
            if not len(found.reads):
                with pysam.AlignmentFile(str(example / "reads.bam")) as file:
                    assert not file.count(CONTIG, found.window_start, found.window_end)
                continue
            expected = segment_reads(
                example / "reads.bam",
                CONTIG,
                segment.start,
                segment.end,
                (0, 20_000),
                reference=example / "reference.fa",
            )
            assert_equal(found, expected)
        assert opened.counts["reads"] == 2060


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("name", ["reads.sam", "reads.cram"])
def test_other_formats(example: Path, name: str, size: int) -> None:
    intervals = [Region(CONTIG, 3000, 9000), Region(CONTIG, 9100, 12_000)]
    with reader(example, "reads.bam") as opened:
        expected = read_all(opened, size, intervals)
    with reader(example, name) as opened:
        assert opened.is_indexed == (name != "reads.sam")
        found = read_all(opened, size, intervals)
    for one, other in zip(found, expected, strict=True):
        assert_equal(one, other)


def test_a_stream_beside_a_file(example: Path) -> None:
    """Reads are in the order of their positions, those of the first input first."""
    with reader(example, "first.bam", "second.bam") as opened:
        expected = read_all(opened, 6000)
    stream = str(example / "second.sam")
    pysam.view("-h", "-o", stream, str(example / "second.bam"), catch_stdout=False)
    with reader(example, "first.bam", "second.sam") as opened:
        assert not opened.is_indexed
        found = read_all(opened, 6000)
    with reader(example, "reads.bam") as opened:
        alone = read_all(opened, 6000)
    for one, other, whole in zip(found, expected, alone, strict=True):
        assert_equal(one, other)
        assert (np.diff(one.reads.positions) >= 0).all()
        assert sorted(zip(one.reads.positions, one.reads.flags, strict=True)) == sorted(
            zip(whole.reads.positions, whole.reads.flags, strict=True)
        )
        is_second = np.array(one.reads.flags & 64 == 0)
        same = np.diff(one.reads.positions) == 0
        assert (is_second[1:] >= is_second[:-1])[same].all()


@pytest.mark.parametrize("name", ["reads.bam", "reads.sam"])
def test_far_windows(example: Path, name: str) -> None:
    with reader(example, name) as opened:
        segments = [Segment(CONTIG, 20_000, 9000, 12_000, 5000, 20_000)]
        (source,) = opened.at(segments)
        near, far = source.read(), source.read(far=True)
        again = source.read()
        counts = dict(opened.counts)
    assert_equal(again, near)
    assert (near.window_start, far.window_start) == (7000, 4600)  # not before the interval
    is_near = far.reads.positions + 150 > 6000
    assert len(near.reads) < len(far.reads)
    assert far.reference.start == 3900
    assert set(near.reads.positions) <= set(far.reads.positions[is_near])
    if name == "reads.bam":
        with reader(example, name) as opened:
            next(iter(opened.at(segments))).read()
            once = dict(opened.counts)
        assert counts["reads"] == 2 * once["reads"]  # two near windows; the far one adds nothing


def test_threads_read_segments_in_any_order(example: Path) -> None:
    with reader(example, "reads.bam") as opened, ThreadPoolExecutor(4) as pool:
        segments = list(segments_of(opened.intervals(EVERYTHING), opened.contigs, 1300))
        sources = list(opened.at(segments))
        found = list(pool.map(lambda source: source.read(), reversed(sources)))
        for one, source in zip(reversed(found), sources, strict=True):
            assert_equal(one, source.read())


@pytest.mark.parametrize("name", ["reads.bam", "reads.sam"])
def test_downsampling_does_not_depend_on_segments(example: Path, name: str) -> None:
    options = CallOptions(max_reads_per_start=1)
    kept = []
    for size in SIZES:
        with reader(example, name, options=options) as opened:
            rows = {
                (read.tobytes(), int(flag), int(position))
                for found in read_all(opened, size)
                for read, flag, position in zip(
                    found.reads.names, found.reads.flags, found.reads.positions, strict=True
                )
            }
        kept.append(rows)
    assert kept[0] == kept[1] == kept[2]
    positions = [position for _, _, position in kept[0]]
    assert len(set(positions)) == len(positions)


def test_letters_that_are_no_bases_are_n(tmp_path: Path) -> None:
    reference = tmp_path / "reference.fa"
    reference.write_text(">c\n" + "acgtRYnN" * 20 + "\n")
    pysam.faidx(str(reference))
    header = "@SQ\tSN:c\tLN:160\n"
    read = "r\t0\tc\t1\t60\t8M\t*\t0\t0\tACGTRYNA\tIIIIIIII\n"
    past_the_end = "s\t0\tc\t158\t60\t8M\t*\t0\t0\tACGTRYNA\tIIIIIIII\n"
    (tmp_path / "reads.sam").write_text(header + read + past_the_end)
    with reader(tmp_path, "reads.sam") as opened:
        (found,) = read_all(opened, 1000)
    assert found.reference.bases.tobytes() == b"ACGTNNNN" * 20
    assert [row.tobytes() for row in found.reads.bases] == [b"ACGTNNNA"]


def write_reads(directory: Path, positions: Sequence[int]) -> None:
    """Write reads of 4 bases at these positions of a contig of 400, as SAM and as BAM."""
    fasta, sam = directory / "reference.fa", directory / "reads.sam"
    fasta.write_text(f">c\n{'ACGT' * 100}\n")
    pysam.faidx(str(fasta))
    lines = [
        f"r{number}\t0\tc\t{position + 1}\t60\t4M\t*\t0\t0\tACGT\tIIII\n"
        for number, position in enumerate(positions)
    ]
    sam.write_text("@SQ\tSN:c\tLN:400\n" + "".join(lines))
    bam = str(directory / "reads.bam")
    pysam.view("-b", "-o", bam, str(sam), catch_stdout=False)
    pysam.index(bam)


@pytest.mark.parametrize("limit", [0, 50])
@pytest.mark.parametrize("name", ["reads.bam", "reads.sam"])
def test_ends_of_a_window(tmp_path: Path, name: str, limit: int) -> None:
    """The window is from 80 to 225."""
    write_reads(tmp_path, [76, 77, 224, 225])
    options, room = CallOptions(max_reads_per_start=limit), Room(20, 20, 25)
    with reader(tmp_path, name, options=options, room=room) as opened:
        (source,) = opened.at([Segment("c", 400, 100, 200, 0, 400)])
        assert source.read().reads.positions.tolist() == [77, 224]


@pytest.mark.parametrize("name", ["reads.bam", "reads.sam"])
def test_reads_in_crowds_are_counted_once(
    tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the segment in which they start, here that from 200 on."""
    write_reads(tmp_path, [200] * 8)
    monkeypatch.setattr(windows, "MAX_CROWD", 5)
    with reader(tmp_path, name, room=Room(50, 50, 50)) as opened:
        found = read_all(opened, 100, [Region("c", 100, 300)])
        assert [len(each.reads) for each in found] == [5, 5]
        assert opened.counts["reads_over_limit"] == 3


def test_a_stream_is_read_as_far_as_needed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No further than to the first read that starts after the window."""
    write_reads(tmp_path, [0, 100, 200, 300])
    monkeypatch.setattr(segment_reader, "_BATCH_BASES", 1)
    options = CallOptions(max_reads_per_start=50)
    with reader(tmp_path, "reads.sam", options=options, room=Room(0, 0, 0)) as opened:
        (source,) = opened.at([Segment("c", 400, 0, 200, 0, 200)])
        assert len(source.read().reads) == 2
        assert opened.counts["reads"] == 3


class Contigs:
    """Two inputs of contigs in any order, with a read on each."""

    def __init__(self, directory: Path, reference: Sequence[str]) -> None:
        self.directory = directory
        path = directory / "reference.fa"
        path.write_text("".join(f">{name}\n{'ACGT' * 50}\n" for name in reference))
        pysam.faidx(str(path))

    def write(self, name: str, contigs: Sequence[str]) -> None:
        lines = [f"@SQ\tSN:{contig}\tLN:200" for contig in contigs]
        lines += ["@RG\tID:1\tSM:s"]
        lines += [f"r\t0\t{c}\t9\t60\t4M\t*\t0\t0\tACGT\tIIII\tRG:Z:1" for c in contigs]
        path = self.directory / f"{name}.sam"
        path.write_text("\n".join([*lines, ""]))
        bam = str(path.with_suffix(".bam"))
        pysam.view("-b", "-o", bam, str(path), catch_stdout=False)
        pysam.index(bam)


def test_order_of_contigs(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    made = Contigs(tmp_path, ["c1", "c2", "c3", "c4"])
    made.write("one", ["c3", "decoy", "c1"])
    made.write("two", ["c2", "c3"])
    made.write("other", ["c1", "c3"])
    for names in (["one.bam", "two.bam"], ["one.sam", "two.bam"], ["one.bam", "other.bam"]):
        with reader(tmp_path, *names) as opened, caplog.at_level(logging.WARNING, "hapgpu"):
            found = read_all(opened, 1000)
        second = ["c2"] if names[1].startswith("two") else []
        assert [each.segment.contig for each in found] == ["c3", "c1", *second]
        assert list(opened.contigs) == ["c3", "c1", *second, *("c2", "c4")[len(second) :]]
        assert [len(each.reads) for each in found] == ([2, 1, 1] if second else [2, 2])
        assert "one" in caplog.text
        assert "1 contigs not called" in caplog.text
        caplog.clear()


def test_contigs_that_do_not_fit(tmp_path: Path) -> None:
    made = Contigs(tmp_path, ["c1", "c2"])
    made.write("one", ["c1", "c2"])
    made.write("two", ["c2", "c1"])
    made.write("less", ["c1"])
    made.write("chr", ["chrc1"])
    cases = [
        (["one.bam", "two.sam"], None, "two.sam: a stream whose contigs have another order"),
        (["chr.bam"], None, "none of its 1 contigs .* found 'c1' instead; give the reference"),
        (["one.bam", "less.bam"], [Region("c2", 0, 9)], "less.bam: no contig 'c2', which a region"),
    ]
    for names, intervals, message in cases:
        with (
            reader(tmp_path, *names) as opened,
            pytest.raises(InputError, match=message),
        ):
            read_all(opened, 1000, intervals)
    with reader(tmp_path, "one.bam", "two.bam") as opened:
        assert [len(found.reads) for found in read_all(opened, 1000)] == [2, 2]


def test_a_pipe_is_read_once(example: Path) -> None:
    """It is closed with the reader."""
    with reader(example, "reads.bam") as opened:
        expected = read_all(opened, 6000)
    path = example / "fifo.sam"
    os.mkfifo(path)
    with ThreadPoolExecutor(1) as pool:
        text = (example / "reads.sam").read_bytes()
        written = pool.submit(path.write_bytes, text)
        with reader(example, "fifo.sam") as opened:
            for one, other in zip(read_all(opened, 6000), expected, strict=True):
                assert_equal(one, other)
        assert written.result() == len(text)
