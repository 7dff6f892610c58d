"""Reads at loci, from any kind of input, compared with pysam."""

from __future__ import annotations

import io
import os
import shutil
import subprocess
import threading
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

import numpy as np
import pysam
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hapgpu.arrays.ragged import Ragged, offsets_of
from hapgpu.errors import InputError, UsageError
from hapgpu.genotyping.batches import LocusReads
from hapgpu.genotyping.reads import aligned_reads, locus_groups
from hapgpu.genotyping.reads.aligned_reads import HOST_READING, AlignedReads
from hapgpu.genotyping.reads.filters import FilterOptions
from hapgpu.genotyping.reads.inputs import IndexedInput, ReadingOptions
from hapgpu.genotyping.reads.read_buffer import ReadBuffer
from hapgpu.haplotypes.batches import Haplotypes, Loci, LocusBatch, ShiftRanges
from hapgpu.io.vcf.records import VcfRecord
from tests.haplotypes.made_records import made_sites

FILTERS = FilterOptions()
START, END = 10_000_000, 10_015_000
NO_FASTA = Path("none.fa")

Interval = tuple[int, int]
Key = tuple[str, int, int, int]
"""Name, flag, position and sample of a read."""
LocusKeys = tuple[str, int, int, list[Key]]


def batch_of(contig: str, intervals: Sequence[Interval]) -> LocusBatch:
    """Return loci of one SNV each, with two haplotypes."""
    count = len(intervals)
    records = [
        VcfRecord(f"line {k + 1}", contig, start, "A", ("C",), (contig, str(start + 1)), "")
        for k, (start, _) in enumerate(intervals)
    ]
    starts = np.array([start for start, _ in intervals], dtype=np.int64)
    ends = np.array([end for _, end in intervals], dtype=np.int64)
    every = np.arange(count + 1)
    carried = Ragged(np.arange(1, 2 * count, 2, dtype=np.int32), offsets_of([0, 1] * count))
    return LocusBatch(
        contig,
        made_sites(records),
        ShiftRanges(starts, ends),
        Loci(every, starts, ends),
        Haplotypes(starts, ends, 2 * every, Ragged.from_sequences(["A", "C"] * count), carried),
    )


def batches_of(contig: str, intervals: Sequence[Interval], size: int) -> list[LocusBatch]:
    return [batch_of(contig, intervals[k : k + size]) for k in range(0, len(intervals), size)]


def group_by(monkeypatch: pytest.MonkeyPatch, batches: int) -> None:
    """Let each group of loci have so many batches."""
    monkeypatch.setattr(locus_groups, "_usual_batches", lambda _: batches)


def keys_by_locus(found: LocusReads) -> Iterator[LocusKeys]:
    """Yield contig, start and end of each locus, and its reads with their samples."""
    reads, loci = found.reads, found.batch.loci
    lengths = np.where(np.isin(reads.cigars.data & 15, [0, 2, 3, 7, 8]), reads.cigars.data >> 4, 0)
    reference_lengths = (
        np.add.reduceat(lengths, reads.cigars.offsets[:-1]) if len(reads) else lengths
    )
    ends = reads.positions + np.maximum(reference_lengths, 1)
    names = [name.tobytes().decode() for name in reads.names]
    keys = list(
        zip(
            names,
            reads.flags.tolist(),
            reads.positions.tolist(),
            found.samples.tolist(),
            strict=True,
        )
    )
    for start, end in zip(loci.starts.tolist(), loci.ends.tolist(), strict=True):
        overlaps = (reads.positions < end + FILTERS.margin) & (ends > start - FILTERS.margin)
        yield found.batch.contig, start, end, [keys[row] for row in np.flatnonzero(overlaps)]


def read_at(
    paths: Sequence[Path | str],
    batches: Sequence[LocusBatch],
    reference: Path = NO_FASTA,
    threads: int = 1,
    max_bases: int = 64_000_000,
) -> list[LocusKeys]:
    with AlignedReads(
        [str(path) for path in paths],
        HOST_READING,
        threads=threads,
        reference=reference,
        filters=FILTERS,
        max_bases=max_bases,
    ) as reads:
        return [
            row
            for group in reads.at(iter(batches))
            for found in group
            for row in keys_by_locus(found)
        ]


def fetched(paths: Sequence[Path], contig: str, intervals: Sequence[Interval]) -> list[LocusKeys]:
    """Return the reads at loci that pysam fetches."""
    with ExitStack() as stack:
        files = [stack.enter_context(pysam.AlignmentFile(str(path))) for path in paths]
        groups = [group for file in files for group in file.header.to_dict().get("RG", [])]
        samples = list(dict.fromkeys(group["SM"] for group in groups))
        numbers = {group["ID"]: samples.index(group["SM"]) for group in groups}
        return [
            (
                contig,
                start,
                end,
                [
                    (
                        record.query_name,
                        record.flag,
                        record.reference_start,
                        number(record, numbers),
                    )
                    for file in files
                    for record in file.fetch(
                        contig, max(start - FILTERS.margin, 0), end + FILTERS.margin
                    )
                    if _is_kept(record)
                ],
            )
            for start, end in intervals
        ]


def number(record: pysam.AlignedSegment, numbers: dict[str, int]) -> int:
    return numbers[record.get_tag("RG")] if record.has_tag("RG") else 0


def _is_kept(record: pysam.AlignedSegment) -> bool:
    return (
        not record.flag & FILTERS.exclude_flags
        and record.mapping_quality >= FILTERS.min_mapping_quality
        and bool(record.query_sequence)
        and bool(record.cigartuples)
    )


def intervals_along(start: int, end: int, step: int) -> list[Interval]:
    """Return loci of 1 to 40 bases; every third locus overlaps its neighbours."""
    return [
        (at, at + (3 * step if k % 3 == 0 else 1 + 7 * k % 40))
        for k, at in enumerate(range(start, end, step))
    ]


@pytest.fixture(scope="module")
def na12878(data_dir: Path) -> Path:
    return _present(data_dir / "illumina_na12878" / "NA12878.chr20.dev.bam")


@pytest.fixture(scope="module")
def hg002(data_dir: Path) -> Path:
    return _present(data_dir / "illumina_na12878" / "HG002.chr20.dev.bam")


@pytest.fixture(scope="module")
def fasta(data_dir: Path) -> Path:
    return _present(data_dir / "illumina_na12878" / "chr20.hg19.fa.gz")


def _present(path: Path) -> Path:
    if not path.is_file():
        pytest.skip(f"{path} is absent")
    return path


@pytest.mark.parametrize("max_batches", [1, 3, 1000])
@pytest.mark.parametrize(("threads", "max_bases"), [(1, 64_000_000), (1, 1), (5, 300_000)])
def test_two_files_equal_pysam(
    na12878: Path,
    hg002: Path,
    monkeypatch: pytest.MonkeyPatch,
    max_batches: int,
    threads: int,
    max_bases: int,
) -> None:
    group_by(monkeypatch, max_batches)
    intervals = intervals_along(START - 500, END, 350)
    found = read_at(
        [na12878, hg002],
        batches_of("chr20", intervals, 20),
        threads=threads,
        max_bases=max_bases,
    )
    assert found == fetched([na12878, hg002], "chr20", intervals)


def test_tiny_file(data_dir: Path) -> None:
    path = _present(data_dir / "illumina_tiny" / "NA12878.chr22.tiny.bam")
    with pysam.AlignmentFile(str(path)) as file:
        contig = file.references[0]
        length = file.lengths[0]
    intervals = intervals_along(0, length, 97)
    assert read_at([path], batches_of(contig, intervals, 30)) == fetched([path], contig, intervals)


def samtools(*arguments: str | Path) -> None:
    if shutil.which("samtools") is None:
        pytest.skip("samtools is absent")
    subprocess.run(["samtools", *map(str, arguments)], check=True)


@pytest.mark.parametrize("max_bases", [1, 64_000_000])
@pytest.mark.parametrize("kind", ["cram", "sam", "sam.gz", "-", "pipe"])
def test_other_inputs_give_the_reads_of_bam(
    na12878: Path,
    hg002: Path,
    fasta: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    kind: str,
    max_bases: int,
) -> None:
    group_by(monkeypatch, 4)
    intervals = intervals_along(START, END, 777)
    batches = batches_of("chr20", intervals, 7)
    expected = read_at([hg002, na12878], batches)
    other: Path | str = tmp_path / f"other.{kind}"
    if kind == "-":
        other = kind
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(na12878.read_bytes())))
    elif kind == "pipe":
        _pour(na12878, Path(other))
    else:
        samtools("view", "-h", "-T", fasta, "-o", other, na12878)
    if kind == "cram":
        samtools("index", other)
    found = read_at([hg002, other], batches, fasta, max_bases=max_bases)
    assert found == expected


def _pour(source: Path, pipe: Path) -> None:
    def write() -> None:
        with suppress(BrokenPipeError), pipe.open("wb") as sink:
            sink.write(source.read_bytes())

    os.mkfifo(pipe)
    threading.Thread(target=write, daemon=True).start()


HEADER = {
    "HD": {"VN": "1.6", "SO": "coordinate"},
    "RG": [{"ID": "a", "SM": "A"}, {"ID": "b", "SM": "B"}],
    "SQ": [{"SN": "one", "LN": 5000}, {"SN": "two", "LN": 5000}, {"SN": "three", "LN": 5000}],
}
CIGARS = ("30M", "12S8M", "10M700N10M", "5M3I2M40D9M", "25M5S", "20S")


def write_bam(path: Path, reads: Sequence[tuple[int, int, int]]) -> None:
    """Write reads, each with a contig, a position and the number of its CIGAR, in this order."""
    with pysam.AlignmentFile(str(path), "wb", header=HEADER) as file:
        for k, (contig, position, cigar) in enumerate(reads):
            record = pysam.AlignedSegment(file.header)
            record.query_name = f"r{k}"
            record.reference_id, record.reference_start = contig, position
            record.cigarstring = CIGARS[cigar % len(CIGARS)]
            record.mapping_quality = 60 if k % 7 else 10
            record.flag = 1024 if k % 11 == 5 else 0
            record.set_tag("RG", "ab"[k % 2])
            record.query_sequence = "A" * record.infer_query_length()
            file.write(record)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Return reads of three contigs and two samples, as BAM with an index and as SAM."""
    random = np.random.default_rng(1)
    positions = np.column_stack([random.integers(0, 3, 1500), random.integers(0, 4000, 1500)])
    positions = positions[np.lexsort(positions.T[::-1])]
    path = tmp_path_factory.mktemp("made") / "made.bam"
    write_bam(path, [(int(c), int(p), int(p) * 7 + k) for k, (c, p) in enumerate(positions)])
    pysam.index(str(path))
    sam = path.with_suffix(".sam")
    pysam.view("-h", "-o", str(sam), str(path), catch_stdout=False)
    return path, sam


def test_contigs_with_reads(made: tuple[Path, Path]) -> None:
    reading = ReadingOptions(threads=1, batch_bases=65_536, reference=NO_FASTA)
    assert IndexedInput(str(made[0]), reading).contigs_with_reads() == {"one", "two", "three"}


@dataclass(frozen=True)
class Limits:
    """Limits of batches and buffers, which must not change any result."""

    batches_per_group: int
    bases_buffered: int
    bases_read: int


@st.composite
def made_loci(draw: st.DrawFn) -> list[Interval]:
    """Draw loci in the order of their starts, except neighbours that are swapped."""
    starts = sorted(draw(st.lists(st.integers(0, 4900), min_size=1, max_size=20, unique=True)))
    loci = [(start, start + draw(st.integers(0, 300))) for start in starts]
    for k in range(0, len(loci) - 1, 2):
        if draw(st.booleans()):
            loci[k], loci[k + 1] = loci[k + 1], loci[k]
    return loci


@settings(max_examples=50)
@given(
    first=made_loci(),
    second=made_loci(),
    size=st.integers(1, 6),
    limits=st.builds(
        Limits,
        batches_per_group=st.integers(1, 5),
        bases_buffered=st.sampled_from([1, 500, 64_000_000]),
        bases_read=st.sampled_from([500, 2000, 100_000]),
    ),
    file=st.integers(0, 1),
)
def test_random_loci(
    made: tuple[Path, Path],
    monkeypatch: pytest.MonkeyPatch,
    first: list[Interval],
    second: list[Interval],
    size: int,
    limits: Limits,
    file: int,
) -> None:
    monkeypatch.setattr(aligned_reads, "_BATCH_BASES", (limits.bases_read, limits.bases_read))
    group_by(monkeypatch, limits.batches_per_group)
    batches = batches_of("one", first, size) + batches_of("three", second, size)
    found = read_at([made[file]], batches, max_bases=limits.bases_buffered)
    assert found == [
        *fetched([made[0]], "one", first),
        *fetched([made[0]], "three", second),
    ]


def test_first_locus_of_a_group_is_before_the_last_of_the_previous_group(
    made: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    group_by(monkeypatch, 1)
    monkeypatch.setattr(aligned_reads, "_BATCH_BASES", (500, 500))
    intervals = [(300, 301), (1900, 1901), (700, 1300), (2500, 2501)]
    found = read_at([made[1]], batches_of("one", intervals, 2), max_bases=1)
    assert found == fetched([made[0]], "one", intervals)


@pytest.mark.parametrize("suffix", [".bam", ".sam"])
def test_deep_loci_are_yielded_in_slices(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, suffix: str
) -> None:
    group_by(monkeypatch, 1)
    max_buffered = 0

    def watched_sum(reads: ReadBuffer) -> int:
        nonlocal max_buffered
        buffered = bases_of(reads)
        max_buffered = max(max_buffered, buffered)
        return buffered

    bases_of = ReadBuffer.bases.fget
    monkeypatch.setattr(ReadBuffer, "bases", property(watched_sum))
    path = tmp_path / "deep.bam"
    amplicons = range(200, 4200, 200)
    write_bam(path, [(1, at, 0) for at in amplicons for _ in range(700)])
    pysam.index(str(path))
    if suffix == ".sam":
        pysam.view("-h", "-o", str(path.with_suffix(suffix)), str(path), catch_stdout=False)
    intervals = [(at + shift, at + shift + 1) for at in amplicons for shift in (3, 20)]
    with AlignedReads(
        [str(path.with_suffix(suffix))],
        HOST_READING,
        threads=1,
        reference=NO_FASTA,
        filters=FILTERS,
        max_bases=30_000,
    ) as reads:
        groups = reads.at(iter(batches_of("two", intervals, 20)))
        found = [found for group in groups for found in group]
    yielded = [(start, len(keys)) for each in found for _, start, _, keys in keys_by_locus(each)]
    in_file = [len(keys) for *_, keys in fetched([path], "two", intervals)]
    assert yielded == [(start, count) for (start, _), count in zip(intervals, in_file, strict=True)]
    # At most the limit, a batch of reads, and the amplicon of one locus.
    assert max_buffered <= 30_000 + 65_536 + 21_000
    assert max(each.reads.bases.data.size for each in found) <= max_buffered
    assert sum(len(each.batch.sites) for each in found) == len(intervals)


def test_counts_do_not_depend_on_groups(
    made: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    intervals = intervals_along(100, 4000, 61)
    counts = []
    for max_batches in (1, 2, 64):
        group_by(monkeypatch, max_batches)
        with AlignedReads(
            [str(made[0])], HOST_READING, threads=1, reference=NO_FASTA, filters=FILTERS
        ) as reads:
            for contig in ("three", "one"):
                for group in reads.at(iter(batches_of(contig, intervals, 4))):
                    deque(group, maxlen=0)
            counts.append(dict(reads.counts))
    assert counts[0] == counts[1] == counts[2]
    with pysam.AlignmentFile(str(made[0])) as file:
        near = {
            (record.query_name, record.flag, record.mapping_quality)
            for contig in ("one", "three")
            for start, end in intervals
            for record in file.fetch(contig, start - FILTERS.margin, end + FILTERS.margin)
        }
    assert counts[0]["reads"] == len(near)
    assert counts[0]["excluded_by_flags"] == sum(flag == 1024 for _, flag, _ in near)
    assert counts[0]["low_mapping_quality"] == sum(
        flag == 0 and quality == 10 for _, flag, quality in near
    )


@settings(max_examples=25)
@given(loci=made_loci(), size=st.integers(1, 4), max_batches=st.integers(1, 3))
def test_a_read_at_several_groups_is_counted_once(
    made: tuple[Path, Path],
    monkeypatch: pytest.MonkeyPatch,
    loci: list[Interval],
    size: int,
    max_batches: int,
) -> None:
    group_by(monkeypatch, max_batches)
    with AlignedReads(
        [str(made[0])], HOST_READING, threads=1, reference=NO_FASTA, filters=FILTERS
    ) as reads:
        for group in reads.at(iter(batches_of("one", loci, size))):
            deque(group, maxlen=0)
    with pysam.AlignmentFile(str(made[0])) as file:
        near = {
            record.query_name
            for start, end in loci
            for record in file.fetch("one", max(start - FILTERS.margin, 0), end + FILTERS.margin)
        }
    assert reads.counts["reads"] == len(near)


@pytest.mark.parametrize("kind", ["bam", "cram"])
def test_groups_are_read_in_any_order_and_thread(
    na12878: Path,
    hg002: Path,
    fasta: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    kind: str,
) -> None:
    group_by(monkeypatch, 1)
    intervals = intervals_along(START, END, 350)
    other = na12878
    if kind == "cram":
        other = tmp_path / "other.cram"
        samtools("view", "-T", fasta, "-o", other, na12878)
        samtools("index", other)

    def keys_of(group: Iterable[LocusReads]) -> list[LocusKeys]:
        return [keys for found in group for keys in keys_by_locus(found)]

    counts = []
    for workers in (1, 4):
        paths = [str(hg002), str(other)]
        with (
            AlignedReads(
                paths, HOST_READING, threads=workers, reference=fasta, filters=FILTERS
            ) as reads,
            ThreadPoolExecutor(workers) as pool,
        ):
            assert reads.is_indexed
            groups = list(reads.at(iter(batches_of("chr20", intervals, 7))))
            found = list(pool.map(keys_of, reversed(groups)))[::-1]
            counts.append(dict(reads.counts))
        assert len(found) > workers
        assert list(chain.from_iterable(found)) == fetched([hg002, na12878], "chr20", intervals)
    assert counts[0] == counts[1]


def test_one_stream_makes_all_inputs_streams(made: tuple[Path, Path]) -> None:
    bam, sam = map(str, made)
    with AlignedReads(
        [bam, sam], HOST_READING, threads=1, reference=NO_FASTA, filters=FILTERS
    ) as reads:
        assert not reads.is_indexed
        groups = list(reads.at(iter(batches_of("one", [(100, 101), (900, 950)], 1))))
        found = [keys for group in groups for each in group for keys in keys_by_locus(each)]
    assert found == fetched([made[0], made[0]], "one", [(100, 101), (900, 950)])


def test_contigs_of_a_stream_come_in_order(made: tuple[Path, Path]) -> None:
    batches = [batch_of("two", [(100, 101)]), batch_of("one", [(100, 101)])]
    with pytest.raises(InputError, match=r"made\.sam: .* sites of one come after sites of two; "):
        read_at([made[1]], batches)
    assert len(read_at([made[0]], batches)) == 2


@pytest.mark.parametrize("file", [0, 1])
def test_unknown_contig(made: tuple[Path, Path], file: int) -> None:
    with pytest.raises(InputError, match=r"made\.\wam: no contig 'chrone'.*found 'one' instead"):
        read_at([made[file]], [batch_of("chrone", [(100, 101)])])


def test_contig_of_another_length(made: tuple[Path, Path]) -> None:
    with AlignedReads(
        [str(made[0])], HOST_READING, threads=1, reference=Path("genome.fa"), filters=FILTERS
    ) as reads:
        reads.check_contigs({"one": 5000, "two": 5000, "other": 7})
        with pytest.raises(InputError, match=r"made\.bam: two has 5,000 .* 6,000 in genome\.fa"):
            reads.check_contigs({"one": 5000, "two": 6000})


def test_unsorted_sam(tmp_path: Path) -> None:
    path = tmp_path / "unsorted.sam"
    reads = "".join(f"r{k}\t0\tone\t{p}\t60\t2M\t*\t0\t0\tAC\t*\n" for k, p in enumerate((50, 40)))
    path.write_text(f"@SQ\tSN:one\tLN:100\n{reads}")
    with pytest.raises(
        InputError, match=r"unsorted\.sam: not sorted .* read 'r1' at one:40 .*sort"
    ):
        read_at([path], [batch_of("one", [(45, 46)])])


def test_bam_without_index(made: tuple[Path, Path], tmp_path: Path) -> None:
    path = tmp_path / "unindexed.bam"
    path.write_bytes(made[0].read_bytes())
    with pytest.raises(InputError, match=r"samtools index .*unindexed\.bam"):
        read_at([path], [])


def test_reads_without_alignments(tmp_path: Path) -> None:
    path = tmp_path / "reads.fq"
    path.write_text("@r\nACGT\n+\nIIII\n")
    with pytest.raises(InputError, match=r"reads\.fq: FASTQ has no alignments; align its reads"):
        read_at([path], [])


def test_input_given_twice(made: tuple[Path, Path]) -> None:
    with pytest.raises(UsageError, match="standard input: given twice"):
        read_at(["-", made[0], "-"], [])


def test_damaged_bam(made: tuple[Path, Path], tmp_path: Path) -> None:
    path = tmp_path / "damaged.bam"
    data = bytearray(made[0].read_bytes())
    data[len(data) // 2] ^= 255
    path.write_bytes(data)
    shutil.copy(f"{made[0]}.bai", f"{path}.bai")
    intervals = intervals_along(0, 4900, 50)
    with pytest.raises(InputError, match=r"damaged\.bam: damaged"):
        read_at([path], [batch_of(contig, intervals) for contig in ("one", "two", "three")])


def test_groups_grow() -> None:
    """The first groups are small, so that few sites keep many threads busy."""
    batches = batches_of("chr20", intervals_along(0, 150 * 100, 100), 1)
    groups = [*locus_groups.locus_groups_of(iter(batches), 0)]
    sizes = [len(group.batches) for group in groups]
    assert sizes[:48] == [1] * 16 + [2] * 16 + [3] * 16
    assert sizes[48:-1] == [4] * (len(sizes) - 49)
    assert sum(sizes) == len(batches) == 150
    of_gpu = locus_groups.locus_groups_of(iter(batches), 0, 1)
    assert [len(group.batches) for group in of_gpu] == [1] * 150
