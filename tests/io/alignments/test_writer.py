"""Written files read back in pysam as the same reads."""

from __future__ import annotations

import io
import sys
from array import array
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pysam
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hapgpu.arrays.batches import ReadBatch
from hapgpu.arrays.ragged import Ragged
from hapgpu.errors import OutputError, UsageError
from hapgpu.io.alignments.reader import open_reads
from hapgpu.io.alignments.writer import open_writer
from hapgpu.io.bam.encode import EncodedRecords
from hapgpu.io.bam.header import SamHeader
from hapgpu.runtime.pool import Pool
from tests.example_counts import many
from tests.io.bam.encoded_blocks import encode_records
from tests.io.sam_oracle import Row, batch_of, batch_rows, rows, rows_of_file

HEADER = SamHeader.from_references(["chr1", "chr2"], [2**29, 2**30])
THREADS = pytest.mark.parametrize("threads", [1, 2])


def write(path: Path, batch: ReadBatch, **options: object) -> None:
    with open_writer(str(path), HEADER, **options) as writer:
        writer.write(batch)


def plain_row(**changes: object) -> Row:
    fields = {
        "name": "read", "flag": 0, "reference": 0, "position": 99, "mapping_quality": 60,
        "cigar": ((0, 5),), "mate_reference": -1, "mate_position": -1, "template_length": 0,
        "bases": "ACGTN", "qualities": (0, 10, 40, 41, 93), "tags": (("NM", "C", 1),),
    }  # fmt: skip
    return Row(**(fields | changes))


def bam_files(data_dir: Path) -> list[Path]:
    files = sorted(data_dir.glob("**/*.bam"))
    if not files:
        pytest.skip(f"no BAM files in {data_dir}")
    return files


@THREADS
def test_real_bam_is_copied_record_for_record(data_dir: Path, tmp_path: Path, threads: int) -> None:
    for source in bam_files(data_dir):
        for uncompressed in (False, True):
            copy = tmp_path / "copy.bam"
            with (
                open_reads(str(source), threads=threads) as reads,
                open_writer(
                    str(copy), reads.header, threads=threads, uncompressed=uncompressed
                ) as writer,
            ):
                for batch in reads.batches():
                    writer.write(batch)
            pysam.samtools.quickcheck(str(copy))
            with pysam.AlignmentFile(str(source)) as old, pysam.AlignmentFile(str(copy)) as new:
                assert str(new.header) == str(old.header)
                for expected, found in zip(old, new, strict=True):
                    assert found.compare(expected) == 0
                    assert found.bin == expected.bin


@THREADS
def test_real_bam_as_sam_equals_samtools_view(data_dir: Path, tmp_path: Path, threads: int) -> None:
    for source in bam_files(data_dir):
        text = tmp_path / "copy.sam"
        with (
            open_reads(str(source), threads=threads) as reads,
            open_writer(str(text), reads.header, threads=threads) as writer,
        ):
            for batch in reads.batches():
                writer.write(batch)
        assert text.read_text() == pysam.samtools.view("-h", "--no-PG", str(source))


@settings(max_examples=many(150))
@given(reads=st.lists(rows(), max_size=8), threads=st.sampled_from([1, 2]))
def test_any_reads_survive_bam(
    tmp_path_factory: pytest.TempPathFactory, reads: list[Row], threads: int
) -> None:
    path = tmp_path_factory.getbasetemp() / "any.bam"
    write(path, batch_of(reads), threads=threads)
    assert rows_of_file(path) == reads
    with open_reads(str(path), threads=threads) as source:
        assert batch_rows(source.batches()) == reads
    text = path.with_suffix(".sam")
    write(text, batch_of(reads), threads=threads)
    assert text.read_text() == pysam.samtools.view("-h", "--no-PG", str(path))


@THREADS
@pytest.mark.parametrize("extension", ["sam", "bam"])
def test_finished_records(small_bam: Path, tmp_path: Path, extension: str, threads: int) -> None:
    """Records given as bytes, in pieces of any size, are written as batches are."""
    paths = [tmp_path / f"{name}.{extension}" for name in ("batches", "records")]
    with open_reads(str(small_bam), batch_bases=5000) as reads:
        batches = list(reads.batches())
    with Pool(1) as pool:
        pieces = [encode_records(batch, reads.header, pool) for batch in batches]
    with open_writer(str(paths[0]), reads.header, threads=threads) as writer:
        for batch in batches:
            writer.write(batch)
    with open_writer(str(paths[1]), reads.header, threads=threads) as writer:
        writer.write_records(np.empty(0, dtype=np.uint8))
        for piece in pieces:
            writer.write_records(piece)
    assert paths[0].read_bytes() == paths[1].read_bytes()
    assert len(rows_of_file(paths[1])) == 4000


@settings(max_examples=100)
@given(reads=st.lists(rows(), min_size=1, max_size=8))
def test_bins_equal_htslib(tmp_path_factory: pytest.TempPathFactory, reads: list[Row]) -> None:
    path = tmp_path_factory.getbasetemp() / "bins.bam"
    write(path, batch_of(reads))
    with pysam.AlignmentFile(str(path)) as file:
        for record in file:
            stored = record.bin
            record.reference_start = record.reference_start  # makes htslib compute the bin
            assert stored == record.bin


@THREADS
@pytest.mark.parametrize("operations", [65535, 65536, 70001])
def test_long_cigars(tmp_path: Path, threads: int, operations: int) -> None:
    cigar = tuple((k % 2 * 2, 1) for k in range(operations))
    bases = "A" * sum(operation == 0 for operation, _ in cigar)
    long = plain_row(
        cigar=cigar, bases=bases, qualities=None, tags=(("NM", "C", 1), ("XZ", "Z", "x"))
    )
    reads = [plain_row(), long, plain_row(name="after")]
    path = tmp_path / "long.bam"
    write(path, batch_of(reads), threads=threads)
    assert rows_of_file(path) == reads
    with open_reads(str(path), threads=threads) as source:
        assert batch_rows(source.batches()) == reads
    with (
        pysam.AlignmentFile(str(path)) as old,
        pysam.AlignmentFile(tmp_path / "p.bam", "wb", template=old) as new,
    ):
        for record in old:
            new.write(record)
    with open_reads(str(tmp_path / "p.bam"), threads=threads) as source:
        assert batch_rows(source.batches()) == reads


@THREADS
def test_incompressible_and_empty_batches(tmp_path: Path, threads: int) -> None:
    noise = np.random.default_rng(1).integers(-(2**31), 2**31, 60_000)
    reads = [plain_row(tags=(("XB", "B", array("i", noise.tolist())),)) for _ in range(5)]
    path = tmp_path / "noise.bam"
    with open_writer(str(path), HEADER, threads=threads) as writer:
        writer.write(batch_of([]))
        writer.write(batch_of(reads))
        writer.write(batch_of([]))
    pysam.samtools.quickcheck(str(path))
    assert rows_of_file(path) == reads


def test_output_depends_neither_on_threads_nor_on_batches(tmp_path: Path) -> None:
    reads = [plain_row(name=f"read{k}", position=k) for k in range(5000)]
    write(tmp_path / "one.bam", batch_of(reads), threads=1)
    with open_writer(str(tmp_path / "many.bam"), HEADER, threads=3) as writer:
        for start in range(0, 5000, 700):
            writer.write(batch_of(reads[start : start + 700]))
    assert (tmp_path / "one.bam").read_bytes() == (tmp_path / "many.bam").read_bytes()


def test_contig_names_are_encoded_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not for each batch, which may have fewer reads than the header has contigs."""
    encoded: list[Sequence[str]] = []

    def from_names(names: Sequence[str]) -> Ragged:
        encoded.append(names)
        return Ragged.from_sequences(name.encode() for name in names)

    monkeypatch.setattr(Ragged, "from_names", from_names)
    reads = [plain_row(reference=k % 2, mate_reference=1, mate_position=9) for k in range(5)]
    with open_writer(str(tmp_path / "out.sam"), HEADER) as writer:
        for read in reads:
            writer.write(batch_of([read]))
    assert encoded == [HEADER.reference_names]
    assert rows_of_file(tmp_path / "out.sam") == reads


def test_cram_reads_back(data_dir: Path, tmp_path: Path) -> None:
    directory = data_dir / "amplicon" / "crispr_gol"
    source, reference = directory / "gol.bam", directory / "gol_ref.fa"
    if not source.exists():
        pytest.skip(f"no {source}")
    path = tmp_path / "copy.cram"
    with (
        open_reads(str(source)) as reads,
        open_writer(str(path), reads.header, reference=reference, threads=2) as writer,
    ):
        for batch in reads.batches():
            writer.write(batch)
    with pysam.AlignmentFile(str(path), reference_filename=str(reference)) as file:
        assert file.is_cram
    with open_reads(str(path), reference=reference) as reads, open_reads(str(source)) as original:
        found, expected = batch_rows(reads.batches()), batch_rows(original.batches())
    assert [(r.name, r.bases, r.qualities, r.cigar) for r in found] == [
        (r.name, r.bases, r.qualities, r.cigar) for r in expected
    ]


@pytest.mark.parametrize("extension", ["sam", "bam", "cram"])
def test_an_exception_leaves_no_file(tmp_path: Path, extension: str) -> None:
    path = tmp_path / f"out.{extension}"

    def fail() -> None:
        with open_writer(str(path), HEADER, threads=2) as writer:
            writer.write(batch_of([plain_row()]))
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert list(tmp_path.iterdir()) == []


def test_format_is_chosen_by_name_extension_or_compression(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def first_bytes(path: str, **options: object) -> bytes:
        stdout = io.TextIOWrapper(io.BytesIO())
        monkeypatch.setattr(sys, "stdout", stdout)
        with open_writer(path, HEADER, **options) as writer:
            writer.write(batch_of([plain_row()]))
        return stdout.buffer.getvalue()[:4] or Path(path).read_bytes()[:4]

    gzip, text = b"\x1f\x8b\x08\x04", b"@HD\t"
    assert first_bytes(str(tmp_path / "a.bam")) == gzip
    assert first_bytes(str(tmp_path / "a.sam")) == text
    assert first_bytes(str(tmp_path / "a.bam"), format="sam") == text
    assert first_bytes("-") == text
    assert first_bytes("-", format="bam") == gzip
    assert first_bytes("-", uncompressed=True) == gzip
    with pytest.raises(UsageError, match="vcf"):
        open_writer(str(tmp_path / "a.vcf"), HEADER, format="vcf")


@pytest.mark.parametrize("extension", ["sam", "bam"])
def test_values_that_sam_cannot_store_are_refused(tmp_path: Path, extension: str) -> None:
    path = tmp_path / f"out.{extension}"
    with pytest.raises(OutputError, match=r"nnnn.*254 characters"):
        write(path, batch_of([plain_row(), plain_row(name="n" * 255)]))
    with pytest.raises(OutputError, match="contig missing from the output header"):
        write(path, batch_of([plain_row(reference=2)]))
    assert not path.exists()


def long_row(operations: int, span: int) -> Row:
    """Return a read of many operations, with deletions so that it spans some reference bases."""
    pairs = operations // 2
    deleted = [(span - pairs) // pairs] * (pairs - 1)
    lengths = [*deleted, span - pairs - sum(deleted)]
    cigar = tuple(element for length in lengths for element in ((0, 1), (2, length)))
    cigar += ((1, 1),) * (operations % 2)
    bases = "A" * (pairs + operations % 2)
    return plain_row(name="long", position=0, cigar=cigar, bases=bases, qualities=None)


@pytest.mark.parametrize("extension", ["sam", "bam"])
@pytest.mark.parametrize("operations", [65_535, 65_536, 65_537])
@pytest.mark.parametrize("span", [2**28 - 1, 2**28, 2**31 - 2])
def test_long_cigars_that_bam_cannot_hold(
    tmp_path: Path, span: int, operations: int, extension: str
) -> None:
    """The two operations in place of a long CIGAR have at most 2**28 - 1 bases, as any other."""
    reads, path = [plain_row(), long_row(operations, span)], tmp_path / f"long.{extension}"
    header = SamHeader.from_references(["chr1"], [2**31 - 1])
    is_refused = extension == "bam" and operations > 65_535 and span >= 2**28
    with open_writer(str(path), header) as writer:
        writer.write(batch_of(reads[:1]))
        if is_refused:
            with pytest.raises(OutputError, match=rf"'long': {operations:,} CIGAR .* {span:,} "):
                writer.write(batch_of(reads))
        else:
            writer.write(batch_of(reads[1:]))
    assert rows_of_file(path) == (reads[:1] if is_refused else reads)


def test_long_cigars_of_bases_that_bam_cannot_hold() -> None:
    read = batch_of([long_row(65_536, 2**20)])
    bases = Ragged(np.zeros(2**28, dtype=np.uint8), np.array([0, 2**28]))  # never touched
    with pytest.raises(OutputError, match=r"'long': 65,536 CIGAR .* 268,435,456 bases"):
        EncodedRecords(replace(read, bases=bases, qualities=bases), HEADER)
