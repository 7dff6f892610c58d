"""Records in GPU memory are those of the CPU's reader, from files and streams of every kind."""

from __future__ import annotations

import os
import struct
import threading
from pathlib import Path

import cupy
import numpy as np
import pysam
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hapgpu.io.alignments.cuda import open_device_reads
from hapgpu.io.alignments.writer import open_writer
from hapgpu.io.bam.cuda.device_records import DeviceRecords
from hapgpu.io.bam.cuda.reader import DevicePiece, DeviceReads
from hapgpu.io.bgzf.marks import EOF_BLOCK
from hapgpu.io.genome.regions import Region, RegionChoice
from hapgpu.runtime.gpu.context import thread_streams
from hapgpu.runtime.pipeline import run_pipeline
from tests.io.alignments.device_reading import (
    GPU,
    FileRecords,
    contents,
    device_records,
    host_records,
)
from tests.io.alignments.reading import HEADER, Feed, numbered_rows
from tests.io.bgzf_blocks import block, inflated
from tests.io.sam_oracle import Row, batch_of, rows, rows_of_file

pytestmark = pytest.mark.gpu

SMALL = 64
"""Bytes per piece with which each piece has one block."""
HEAD = 12
"""Bytes of the first block from which a file is recognised."""


def check(path: Path | str, **options: object) -> FileRecords:
    """Compare all bytes and columns with the CPU's reader, which reads the same options."""
    piece_bytes = options.pop("piece_bytes", 1 << 24)
    found, read_again = device_records(path, piece_bytes=piece_bytes, **options)
    assert read_again == 0
    expected = host_records(path, **options)
    assert contents(found.block()) == contents(expected)
    if expected is not None:
        assert found.columns["flags"] == expected.flags.tolist()
    return found


def write_blocks(path: Path, content: bytes, cuts: list[int], level: int = 1) -> None:
    """Write content as BGZF whose blocks end at given offsets and every 60,000 bytes."""
    ends = sorted({*cuts, *range(60_000, len(content), 60_000), len(content)})
    parts = [content[a:b] for a, b in zip([0, *ends], ends, strict=False)]
    path.write_bytes(b"".join(block(part, level) for part in parts) + EOF_BLOCK)


@pytest.mark.parametrize("piece_bytes", [SMALL, 150_000, 1 << 24])
def test_real_bam(data_dir: Path, piece_bytes: int) -> None:
    paths = sorted(data_dir.glob("**/*.bam"))
    if not paths:
        pytest.skip(f"no BAM files in {data_dir}")
    for path in paths:
        found = check(path, piece_bytes=piece_bytes)
        records = rows_of_file(path)
        assert found.columns["positions"] == [row.position for row in records]
        assert found.columns["reference_ids"] == [row.reference for row in records]
        assert found.columns["mapping_qualities"] == [row.mapping_quality for row in records]


@settings(max_examples=60, deadline=None)
@given(
    reads=st.lists(rows(), max_size=12),
    data=st.data(),
    piece_bytes=st.sampled_from([SMALL, 1 << 24]),
    level=st.integers(0, 9),
)
def test_blocks_cut_anywhere(
    tmp_path_factory: pytest.TempPathFactory,
    reads: list[Row],
    data: st.DataObject,
    piece_bytes: int,
    level: int,
) -> None:
    path = tmp_path_factory.getbasetemp() / "cut.bam"
    with open_writer(str(path), HEADER) as writer:
        writer.write(batch_of(reads))
    content = inflated(path)
    cuts = data.draw(st.lists(st.integers(HEAD, len(content)), max_size=8))
    write_blocks(path, content, cuts, level)
    check(path, piece_bytes=piece_bytes)


@pytest.mark.parametrize("step", [1, 7, 1000])
def test_tiny_blocks(small_bam: Path, tmp_path: Path, step: int) -> None:
    content = inflated(small_bam)[: 400 if step == 1 else 20_000]
    records = content[: _whole(content)]
    path = tmp_path / "tiny.bam"
    write_blocks(path, records, list(range(HEAD, len(records), step)))
    check(path, piece_bytes=SMALL)
    check(path)


def _whole(content: bytes) -> int:
    """Return the end of the last whole record."""
    at = 8 + struct.unpack_from("<i", content, 4)[0]
    (count,) = struct.unpack_from("<i", content, at)
    at += 4
    for _ in range(count):
        at += 8 + struct.unpack_from("<i", content, at)[0]
    while at + 4 <= len(content) and at + 4 + struct.unpack_from("<i", content, at)[0] <= len(
        content
    ):
        at += 4 + struct.unpack_from("<i", content, at)[0]
    return at


def long_row(name: str, bases: int) -> Row:
    """Return an unmapped read."""
    text = "ACGTTGCAAC" * (bases // 10)
    return Row(name, 4, -1, -1, 0, (), -1, -1, 0, text, (30,) * len(text), ())


@pytest.mark.parametrize("piece_bytes", [SMALL, 1 << 24])
def test_giant_and_tiny_records(tmp_path: Path, piece_bytes: int) -> None:
    """Records of many pieces and stretches, one longer than a guess takes, among small ones."""
    path = tmp_path / "giant.bam"
    few = numbered_rows(300)
    tiny = [Row("*", 4, -1, -1, 0, (), -1, -1, 0, "", None, ())] * 3000
    reads = [
        *few, long_row("a", 50_000), long_row("b", 400_000), *tiny, long_row("c", 3_000_000), *few
    ]  # fmt: skip
    with open_writer(str(path), HEADER) as writer:
        writer.write(batch_of(reads))
    check(path, piece_bytes=piece_bytes)


def test_long_cigars(tmp_path: Path) -> None:
    cigar = ((0, 1), (1, 1)) * 40_000
    bases = "AC" * 40_000
    long = Row("r", 0, 0, 5, 60, cigar, -1, -1, 0, bases, None, (("XX", "i", 3), ("YY", "Z", "y")))
    path = tmp_path / "long.bam"
    with open_writer(str(path), HEADER) as writer:
        writer.write(batch_of([*numbered_rows(5), long, *numbered_rows(5)]))
    for piece_bytes in SMALL, 1 << 24:
        found = check(path, piece_bytes=piece_bytes)
        lengths = [n for part in found.parts for n in part.layout.cigar_lengths.tolist()]
        assert lengths == [1] * 5 + [80_000] + [1] * 5


def test_many_contigs(tmp_path: Path) -> None:
    """A header of many blocks and pieces."""
    lines = "".join(f"@SQ\tSN:contig{k}\tLN:1000\n" for k in range(30_000))
    text = tmp_path / "a.sam"
    text.write_text(f"{lines}r\t0\tcontig29999\t5\t60\t4M\t*\t0\t0\tACGT\tIIII\n")
    path = tmp_path / "a.bam"
    path.write_bytes(pysam.samtools.view("-b", "--no-PG", str(text)))
    for piece_bytes in SMALL, 1 << 24:
        assert check(path, piece_bytes=piece_bytes).columns["reference_ids"] == [29_999]


@pytest.mark.parametrize("piece_bytes", [SMALL, 1 << 24])
def test_concatenated_files_and_empty_blocks(
    small_bam: Path, tmp_path: Path, piece_bytes: int
) -> None:
    content = inflated(small_bam)
    parts = [
        block(content[:100_000][:60_000]),
        EOF_BLOCK,
        EOF_BLOCK,
        block(content[60_000:100_000]),
    ]
    rest = [block(content[at : at + 60_000]) for at in range(100_000, len(content), 60_000)]
    path = tmp_path / "a.bam"
    path.write_bytes(b"".join([*parts, EOF_BLOCK, *rest, EOF_BLOCK, EOF_BLOCK, bytes(99)]))
    assert len(check(path, piece_bytes=piece_bytes).columns["flags"]) == 4000


def test_without_records(tmp_path: Path) -> None:
    path = tmp_path / "a.bam"
    with open_writer(str(path), HEADER):
        pass
    assert check(path).columns["flags"] == []


@pytest.mark.parametrize("piece_bytes", [SMALL, 1 << 24])
def test_regions_by_index(small_bam: Path, data_dir: Path, piece_bytes: int) -> None:
    regions = [
        [Region("chr1", 100, 101)],
        [Region("chr1", 20_000, 20_500), Region("chr1", 5, 6), Region("chr1", 39_000, 39_001)],
        [Region("chr1", 0, 1 << 29)],
        [Region("chr2", 0, 1 << 29)],
    ]
    for chosen in map(RegionChoice, map(tuple, regions)):
        check(small_bam, regions=chosen, piece_bytes=piece_bytes)
        check(small_bam, regions=chosen, piece_bytes=piece_bytes, needs_index=False)
    for path in data_dir.glob("illumina_*/*.bam"):
        with pysam.AlignmentFile(str(path)) as file:
            places = [(r.reference_name, r.reference_start) for r in file if not r.is_unmapped]
        random = np.random.default_rng(4)
        chosen = [
            Region(name, position, position + 50)
            for name, position in (places[k] for k in random.integers(0, len(places), 40))
        ]
        pysam_index = path.with_suffix(".bam.bai")
        if pysam_index.exists():
            check(path, regions=RegionChoice(tuple(chosen)), piece_bytes=piece_bytes)


def test_regions_of_many_ranges(tmp_path: Path) -> None:
    """Ranges whose blocks lie apart are joined in pieces; skipped bytes are left out."""
    path = tmp_path / "far.bam"
    far = [
        Row(f"r{k}", 0, k % 2, 20_000 * (k // 2), 60, ((0, 30),), -1, -1, 0, "ACGTAC" * 5, None, ())
        for k in range(20_000)
    ]
    far.sort(key=lambda row: (row.reference, row.position))
    with open_writer(str(path), HEADER) as writer:
        writer.write(batch_of(far))
    pysam.samtools.index(str(path))
    regions = tuple(
        Region(name, 20_000 * k, 20_000 * k + 1)
        for name in ("chr1", "chr2")
        for k in range(0, 5000, 611)
    )
    for piece_bytes in SMALL, 140_000, 1 << 24:
        found = check(path, regions=RegionChoice(regions), piece_bytes=piece_bytes)
        assert len(found.columns["flags"]) == len(regions)


@pytest.mark.parametrize("size", [3, 1000, 1 << 16])
def test_standard_input(small_bam: Path, feed: Feed, size: int) -> None:
    data = small_bam.read_bytes()
    feed(data, size)
    found, read_again = device_records("-", piece_bytes=SMALL)
    assert (contents(found.block()), read_again) == (contents(host_records(small_bam)), 0)
    feed(data, size)
    regions = RegionChoice((Region("chr1", 100, 101),))
    found, _ = device_records("-", regions=regions)
    assert contents(found.block()) == contents(host_records(small_bam, regions=regions))


def test_named_pipe(small_bam: Path, tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=pipe.write_bytes, args=[small_bam.read_bytes()])
    writer.start()
    found, _ = device_records(pipe)
    writer.join()
    assert contents(found.block()) == contents(host_records(small_bam))


def test_sam_and_cram(small_bam: Path, cram: tuple[Path, Path], tmp_path: Path, feed: Feed) -> None:
    """Stored blocks, as samtools writes them."""
    plain = tmp_path / "a.sam"
    plain.write_text(pysam.samtools.view("-h", "--no-PG", str(small_bam)))
    check(plain, threads=2)
    check(plain, regions=RegionChoice((Region("chr1", 100, 140),)))
    path, reference = cram
    check(path, reference=reference)
    check(path, reference=reference, regions=RegionChoice((Region("chr1", 100, 140),)))
    feed(plain.read_bytes())
    found, _ = device_records("-")
    assert len(found.columns["flags"]) == 4000


def test_fastq_has_no_records(tmp_path: Path) -> None:
    path = tmp_path / "a.fq"
    path.write_text("@a\nACGT\n+\nIIII\n")
    with open_device_reads(str(path), [GPU]) as reads:
        assert reads.is_fastq
        assert [len(batch) for batch in reads.batches()] == [1]


@pytest.mark.parametrize("workers", [1, 2, 5])
@pytest.mark.parametrize("threads", [1, 4])
def test_any_number_of_workers(data_dir: Path, workers: int, threads: int) -> None:
    """Workers on several streams, and GPUs where there are some, keep the order of the file."""
    path = data_dir / "illumina_tiny" / "NA12878.chr22.tiny.bam"
    gpus = cupy.cuda.runtime.getDeviceCount()
    found: list[tuple[bytes, ...]] = []

    def worker(number: int) -> object:
        def work(piece: DevicePiece) -> tuple[bytes, ...]:
            with cupy.cuda.Device(number % gpus), thread_streams(number % gpus, 1)[0]:
                return tuple(contents(_packed(reads.records(piece))))

        return work

    def keep(stored: tuple[bytes, ...]) -> int:
        found.append(stored[:1])
        return 1

    with open_device_reads(str(path), [GPU], piece_bytes=SMALL, threads=threads) as reads:
        assert isinstance(reads, DeviceReads)
        run_pipeline(reads.pieces(), [worker(k) for k in range(workers)], keep)
        assert reads.pieces_read_again == 0
    expected = host_records(path)
    assert expected is not None
    assert b"".join(data for (data,) in found) == expected.data.tobytes()


def _packed(records: DeviceRecords) -> object:
    return records.download().packed()


def test_a_pipeline_that_stops_early_ends(small_bam: Path) -> None:
    """Workers that wait for a piece that nobody decodes are woken."""

    def fail(_: object) -> int:
        raise KeyboardInterrupt

    def work(piece: DevicePiece) -> DeviceRecords:
        with cupy.cuda.Device(0), thread_streams(0, 1)[0]:
            return reads.records(piece)

    for _ in range(20):
        with open_device_reads(str(small_bam), [GPU], piece_bytes=SMALL) as reads:
            assert isinstance(reads, DeviceReads)
            with pytest.raises(KeyboardInterrupt):
                run_pipeline(reads.pieces(), [work] * 4, fail)


def test_little_gpu_memory(small_bam: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A piece for which the work does not fit is read by the CPU, and uploaded."""

    def refuse(*_: object) -> None:
        raise MemoryError

    monkeypatch.setattr("hapgpu.io.bam.cuda.decoder.inflate_blocks", refuse)
    found, read_again = device_records(small_bam, piece_bytes=SMALL)
    assert read_again > 1
    assert contents(found.block()) == contents(host_records(small_bam))
