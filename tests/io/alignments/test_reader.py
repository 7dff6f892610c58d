"""Reads of files and streams of every kind, as pysam reads them."""

from __future__ import annotations

import gzip
import os
import struct
import threading
from pathlib import Path

import pysam
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hapgpu.errors import InputError
from hapgpu.io.alignments.reader import open_reads
from hapgpu.io.alignments.writer import open_writer
from hapgpu.io.bgzf.marks import EOF_BLOCK
from hapgpu.io.genome.regions import EVERYTHING, Region, RegionChoice
from tests.io.alignments.reading import HEADER, THREADS, Feed, numbered_rows, read
from tests.io.bgzf_blocks import block
from tests.io.sam_oracle import Row, batch_of, batch_rows, rows, rows_of_file


@pytest.mark.parametrize(
    ("threads", "batch_bases"),
    [
        (1, 8_000_000),
        (2, 20_000),
        pytest.param(1, 20_000, marks=pytest.mark.exhaustive),
        pytest.param(2, 8_000_000, marks=pytest.mark.exhaustive),
    ],
)
def test_real_bam_as_pysam_reads_it(data_dir: Path, threads: int, batch_bases: int) -> None:
    paths = sorted(data_dir.glob("**/*.bam"))
    if not paths:
        pytest.skip(f"no BAM files in {data_dir}")
    for path in paths:
        with (
            open_reads(str(path), threads=threads, batch_bases=batch_bases) as source,
            pysam.AlignmentFile(str(path)) as file,
        ):
            assert source.header.reference_names == file.references
            assert source.header.reference_lengths == file.lengths
            assert source.header.text == str(file.header)
            assert not source.is_fastq
            assert batch_rows(source.batches()) == rows_of_file(path)


@settings(max_examples=100)
@given(
    reads=st.lists(rows(), max_size=8),
    threads=st.sampled_from([1, 2]),
    batch_bases=st.integers(1, 100),
)
def test_bam_of_pysam(
    tmp_path_factory: pytest.TempPathFactory, reads: list[Row], threads: int, batch_bases: int
) -> None:
    ours = tmp_path_factory.getbasetemp() / "ours.bam"
    theirs = ours.with_name("theirs.bam")
    with open_writer(str(ours), HEADER) as writer:
        writer.write(batch_of(reads))
    with (
        pysam.AlignmentFile(str(ours)) as source,
        pysam.AlignmentFile(str(theirs), "wb", template=source) as copy,
    ):
        for record in source:
            copy.write(record)
    assert read(theirs, threads=threads, batch_bases=batch_bases) == reads


@THREADS
def test_a_batch_ends_with_the_read_that_fills_it(small_bam: Path, threads: int) -> None:
    """It ends earlier only where a piece of the file ends."""
    with open_reads(str(small_bam), batch_bases=301, threads=threads) as source:
        sizes = [len(batch) for batch in source.batches()]
    assert max(sizes) == 11
    assert sum(sizes) == 4000
    assert sum(size < 11 for size in sizes) < 20


def test_batches_own_their_arrays(small_bam: Path) -> None:
    with open_reads(str(small_bam), batch_bases=3000) as source:
        first, *_ = source.batches()
    assert batch_rows([first]) == numbered_rows(100)


@THREADS
@pytest.mark.parametrize("piece", [3, 1000, 1 << 16])
def test_standard_input(small_bam: Path, feed: Feed, threads: int, piece: int) -> None:
    feed(small_bam.read_bytes(), piece)
    assert read("-", threads=threads) == numbered_rows(4000)


@THREADS
def test_regions_of_standard_input(small_bam: Path, feed: Feed, threads: int) -> None:
    feed(small_bam.read_bytes())
    found = read("-", threads=threads, regions=RegionChoice((Region("chr1", 100, 101),)))
    assert [row.name for row in found] == ["read8", "read9", "read10"]


def test_named_pipe(small_bam: Path, tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=pipe.write_bytes, args=[small_bam.read_bytes()])
    writer.start()
    assert read(pipe) == numbered_rows(4000)
    writer.join()


@THREADS
def test_sam_and_gzipped_sam(small_bam: Path, tmp_path: Path, feed: Feed, threads: int) -> None:
    text = pysam.samtools.view("-h", "--no-PG", str(small_bam)).encode()
    plain, zipped = tmp_path / "a.txt", tmp_path / "b.txt"
    plain.write_bytes(text)
    zipped.write_bytes(gzip.compress(text, mtime=0))
    expected = rows_of_file(plain)
    assert read(plain, threads=threads) == expected
    assert read(zipped, threads=threads) == expected
    feed(text)
    assert read("-", threads=threads) == expected
    regions = RegionChoice((Region("chr1", 100, 101),))
    assert [row.name for row in read(plain, regions=regions)] == ["read8", "read9", "read10"]
    with open_reads(str(plain)) as source:
        assert source.header.text == HEADER.text


@pytest.mark.parametrize("name", ["a##idx##b", "data:,x", "http:x", "file:x"])
@pytest.mark.parametrize("extension", ["sam", "bam", "cram"])
def test_names_that_htslib_would_treat_as_others(
    small_bam: Path,
    cram: tuple[Path, Path],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    extension: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    path = Path(f"{name}.{extension}")
    if extension == "sam":
        path.write_text(pysam.samtools.view("-h", "--no-PG", str(small_bam)))
    else:
        source, index = (small_bam, "bai") if extension == "bam" else (cram[0], "crai")
        path.write_bytes(source.read_bytes())
        Path(f"{path}.{index}").write_bytes(Path(f"{source}.{index}").read_bytes())
    for chosen in EVERYTHING, RegionChoice((Region("chr1", 100, 140),)):
        expected = read(
            small_bam if extension != "cram" else cram[0], reference=cram[1], regions=chosen
        )
        found = read(path, reference=cram[1], regions=chosen)
        assert [row.name for row in found] == [row.name for row in expected]


def test_leaving_a_conversion_early_ends_it(small_bam: Path, tmp_path: Path) -> None:
    text = tmp_path / "a.sam"
    text.write_text(pysam.samtools.view("-h", "--no-PG", str(small_bam)))
    with open_reads(str(text), batch_bases=100) as source:
        next(source.batches())


def test_cram(cram: tuple[Path, Path], tmp_path: Path, feed: Feed) -> None:
    path, reference = cram
    expected = [(row.name, row.position, row.bases, row.qualities) for row in numbered_rows(4000)]

    def compared(found: list[Row]) -> list[tuple[object, ...]]:
        return [(row.name, row.position, row.bases, row.qualities) for row in found]

    assert compared(read(path, reference=reference)) == expected
    sites = Region("chr1", 100, 101), Region("chr1", 30_000, 30_001), Region("chr1", 0, 5)
    regions = RegionChoice(sites)
    near = compared(read(path, reference=reference, regions=regions))
    assert [row[0] for row in near] == [
        *("read0", "read8", "read9", "read10", "read2998", "read2999", "read3000")
    ]
    feed(path.read_bytes())
    assert compared(read("-", reference=reference)) == expected
    feed(path.read_bytes()[:-38])
    with pytest.raises(InputError, match="standard input"):
        read("-", reference=reference)
    with pytest.raises(InputError, match=r"no contig '1'; found 'chr1' instead"):
        read(path, reference=reference, regions=RegionChoice((Region("1", 0, 5),)))
    lonely = tmp_path / "lonely.cram"
    lonely.write_bytes(path.read_bytes())
    with pytest.raises(InputError, match=r"run: samtools index .*lonely\.cram"):
        read(lonely, reference=reference, regions=regions)
    lonely.write_bytes(path.read_bytes()[:-38])
    with pytest.raises(InputError, match=r"lonely\.cram"):
        read(lonely, reference=reference)


@pytest.mark.parametrize("extension", ["bam", "cram"])
def test_files_without_an_index(
    small_bam: Path, cram: tuple[Path, Path], tmp_path: Path, extension: str
) -> None:
    """If no index is needed, the file is read whole; an index proves that it is sorted."""
    path, reference = (small_bam if extension == "bam" else cram[0]), cram[1]
    regions = RegionChoice((Region("chr1", 100, 140), Region("chr1", 30_000, 30_001)))
    options = {"reference": reference, "regions": regions}
    lonely = tmp_path / path.name
    lonely.write_bytes(path.read_bytes())
    expected = read(path, **options)
    assert len(expected) == 9
    assert read(path, **options, needs_index=False) == expected
    assert read(lonely, **options, needs_index=False) == expected
    with pytest.raises(InputError, match="run: samtools index"):
        read(lonely, **options)
    for file, is_sorted in ((path, True), (lonely, False)):
        with open_reads(str(file), reference=reference) as source:
            assert source.is_sorted == is_sorted


def test_the_name_of_an_input(small_bam: Path) -> None:
    lonely = small_bam.with_name("absent.bam")
    with pytest.raises(InputError, match=r"^standard input: cannot be read \("):
        open_reads(str(lonely), name="standard input")


def test_blocks_hold_the_bytes_of_the_file(small_bam: Path) -> None:
    with open_reads(str(small_bam), batch_bases=20_000) as source:
        stored = b"".join(block.packed().data.tobytes() for block in source.blocks())
    assert gzip.decompress(small_bam.read_bytes()).endswith(stored)
    assert len(stored) > 4000 * 80


def test_fastq(tmp_path: Path, feed: Feed) -> None:
    text = b"@a\nACGT\n+\nIIII\n@b\nAC\n+\nI!\n"
    plain, zipped = tmp_path / "reads.x", tmp_path / "reads.y"
    plain.write_bytes(text)
    zipped.write_bytes(gzip.compress(text, mtime=0))
    for path in (plain, zipped):
        with open_reads(str(path)) as source:
            assert source.is_fastq
            assert source.header.reference_names == ()
            found = batch_rows(source.batches())
        assert [(row.name, row.bases, row.qualities) for row in found] == [
            ("a", "ACGT", (40,) * 4),
            ("b", "AC", (40, 0)),
        ]
        feed(path.read_bytes(), 2)
        assert [row.name for row in read("-")] == ["a", "b"]
    with open_reads(str(plain), regions=RegionChoice((Region("chr1", 0, 5),))) as source:
        assert len(batch_rows(source.batches())) == 2


def test_references_without_text(tmp_path: Path) -> None:
    content = b"BAM\1" + struct.pack("<iii", 0, 1, 5) + b"chr7\0" + struct.pack("<i", 77)
    path = tmp_path / "bare.bam"
    path.write_bytes(block(content) + EOF_BLOCK)
    with open_reads(str(path)) as source:
        assert source.header.reference_names == ("chr7",)
        assert source.header.reference_lengths == (77,)
        assert list(source.batches()) == []
