"""The check of an input and of its index, by their first bytes."""

from __future__ import annotations

import gzip
import os
import subprocess
import sys
from pathlib import Path

import pysam
import pytest

from hapgpu.cli.options.file_kinds import (
    ALIGNED_READS,
    HAPLOTYPES,
    READS,
    REFERENCE,
    TARGETS,
    VARIANT_SITES,
    Expected,
)
from hapgpu.cli.options.input_checks import check_input
from hapgpu.cli.options.loci import has_loci
from hapgpu.errors import InputError
from hapgpu.io.bgzf.marks import EOF_BLOCK

FASTA = b">one\nACGT\n"
FASTQ = b"@r\nACGT\n+\nIIII\n"
GZIP_FASTQ = gzip.compress(FASTQ, mtime=0)  # part of a test's name
SAM = "@HD\tVN:1.6\tSO:{order}\n@SQ\tSN:one\tLN:100\nr\t0\tone\t1\t60\t4M\t*\t0\t0\tACGT\tIIII\n"


@pytest.fixture(autouse=True)
def directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def fault_of(path: str | Path, expected: Expected | None, *, by_index: bool = False) -> str:
    """Return the message of the check, empty if it accepts the file."""
    try:
        check_input(str(path), expected, by_index=by_index)
    except InputError as error:
        return str(error)
    return ""


def write_bam(path: str, text: str) -> None:
    Path("in.sam").write_text(text)
    pysam.view("-b", "--no-PG", "-o", path, "in.sam", catch_stdout=False)


@pytest.mark.parametrize(
    ("content", "expected", "fault"),
    [
        (FASTQ, REFERENCE, "looks like FASTQ; give FASTA (the reference)"),
        (GZIP_FASTQ, HAPLOTYPES, "looks like FASTQ; give FASTA (the haplotypes)"),
        (b"ACGT\n", REFERENCE, "unknown kind of file; give FASTA (the reference)"),
        (b"", REFERENCE, "empty; give FASTA (the reference)"),
        (EOF_BLOCK, VARIANT_SITES, "empty; give VCF or BCF (the sites)"),
        (b"", TARGETS, ""),
        (b"", READS, ""),
        (b"# none\n", TARGETS, ""),
        (b"one 1 2\n", TARGETS, ""),  # as the reader: columns may be separated by blanks
        (b"one\t1\t2\t3\t4\n", TARGETS, ""),
        (b"one\t1\t2\t3\t4\n", REFERENCE, "looks like the index of a FASTA file; give FASTA"),
        (b"\0\1\2", TARGETS, "unknown kind of file; give BED (the regions)"),
        (b"\x89HGX\r\n\x1a\n", REFERENCE, "looks like the index of hapgpu map; give FASTA"),
        (b"BZh91AY&SY", READS, "looks like bzip2; give FASTQ, FASTA, BAM, CRAM or SAM"),
        (b"\x1f\x8b" + b"\xff" * 50, READS, "damaged compressed file ("),
        (EOF_BLOCK[:5], READS, "damaged compressed file (incomplete); copy it again"),
        (b"CRAM\3\0" + bytes(99), READS, "truncated (no closing EOF block); copy it again"),
        (FASTQ, None, ""),
    ],
)
def test_content(content: bytes, expected: Expected | None, fault: str) -> None:
    Path("in").write_bytes(content)
    found = fault_of("in", expected)
    assert found.startswith(f"in: {fault}") if fault else not found


def test_what_is_no_file() -> None:
    Path("folder").mkdir()
    assert fault_of("absent", READS) == "absent: no such file"
    assert fault_of("folder", READS) == "folder: is a directory; give a file"
    assert fault_of("in\0put", READS).startswith("in\0put: cannot be read (")


def test_nothing_is_read_from_a_pipe() -> None:
    os.mkfifo("pipe")
    reading, writing = os.pipe()
    os.write(writing, FASTQ)
    assert not fault_of("pipe", ALIGNED_READS, by_index=True)
    by_region = "pipe: a pipe cannot be read by region; give a file"
    assert fault_of("pipe", REFERENCE, by_index=True) == by_region
    assert not fault_of(f"/dev/fd/{reading}", REFERENCE)
    os.close(writing)
    assert os.read(reading, 100) == FASTQ
    os.close(reading)


def test_a_redirected_file_is_looked_at_and_still_read_from_its_start() -> None:
    Path("in.fq").write_bytes(FASTQ)
    with Path("in.fq").open("rb") as file:
        path = f"/dev/fd/{file.fileno()}"
        assert fault_of(path, REFERENCE).startswith(f"{path}: looks like FASTQ")
        assert file.read() == FASTQ


def test_the_index_of_reads() -> None:
    write_bam("in.bam", SAM.format(order="coordinate"))
    assert not fault_of("in.bam", ALIGNED_READS)
    missing = "in.bam: no index; run: samtools index in.bam"
    assert fault_of("in.bam", ALIGNED_READS, by_index=True) == missing
    for name in ("in.bai", "in.bam.bai"):
        pysam.index("-o", name, "in.bam")
        assert not fault_of("in.bam", ALIGNED_READS, by_index=True)
    for content, fault in ((b"", "empty"), (b"TBI\1", "looks like TBI"), (b"x", "unknown kind")):
        Path("in.bam.bai").write_bytes(content)
        found = fault_of("in.bam", ALIGNED_READS, by_index=True)
        assert found.startswith(f"in.bam.bai: {fault}")
        assert found.endswith(", expected BAI or CSI; run: samtools index in.bam")


def test_sam_has_no_index() -> None:
    Path("in.sam").write_text(SAM.format(order="coordinate"))
    assert not fault_of("in.sam", ALIGNED_READS, by_index=True)


@pytest.mark.parametrize("order", ["queryname", "unsorted"])
def test_reads_that_cannot_be_indexed(order: str) -> None:
    write_bam("in.bam", SAM.format(order=order))
    remedy = "run: samtools sort -o SORTED.bam in.bam"
    message = f"in.bam: not sorted by position (SO:{order}); {remedy}"
    assert fault_of("in.bam", ALIGNED_READS, by_index=True) == message


def test_reads_that_are_not_aligned() -> None:
    write_bam("in.bam", "@HD\tVN:1.6\nr\t4\t*\t0\t0\t*\t*\t0\t0\tACGT\tIIII\n")
    message = "in.bam: reads are not aligned (no @SQ line); align them to the reference"
    assert fault_of("in.bam", ALIGNED_READS, by_index=True) == message


def test_a_header_longer_than_what_is_looked_at() -> None:
    contigs = "".join(f"@SQ\tSN:contig{number}\tLN:100\n" for number in range(20_000))
    write_bam("in.bam", f"@HD\tVN:1.6\n{contigs}")
    assert fault_of("in.bam", ALIGNED_READS, by_index=True).startswith("in.bam: no index")


def test_the_index_of_a_reference() -> None:
    Path("in.fa").write_bytes(FASTA)
    missing = "in.fa: no index in.fa.fai; run: samtools faidx in.fa"
    assert fault_of("in.fa", REFERENCE, by_index=True) == missing
    Path("in.fai").write_bytes(b"")  # not where it is looked for
    assert fault_of("in.fa", REFERENCE, by_index=True) == missing
    pysam.faidx("in.fa")
    assert not fault_of("in.fa", REFERENCE, by_index=True)
    Path("in.fa.fai").write_bytes(b"BAI\1")
    wrong = "in.fa.fai: looks like BAI, expected .fai; run: samtools faidx in.fa"
    assert fault_of("in.fa", REFERENCE, by_index=True) == wrong


def test_gzip_is_not_read_by_region() -> None:
    Path("in.fa.gz").write_bytes(gzip.compress(FASTA))
    assert not fault_of("in.fa.gz", REFERENCE)
    message = "in.fa.gz: compressed by gzip, but is read by region; run: gunzip in.fa.gz"
    assert fault_of("in.fa.gz", REFERENCE, by_index=True) == message


@pytest.mark.parametrize(
    ("header", "expected"),
    [
        (">a chr20:5-9", True),
        (">a::chr20:0-9", True),
        (">a::chr20:4-9(+)", True),
        (">a b chr20:5-9", False),  # left to the reader
        (">a chr20", False),
        (">chr20:5-9", False),
        (">a chr20:0-9", False),
    ],
)
def test_loci(header: str, expected: bool) -> None:
    Path("in.fa").write_text(f"{header}\nACGT\n")
    assert has_loci({"haplotypes": "in.fa"}) is expected
    assert not has_loci({"haplotypes": "absent.fa"})
    assert not has_loci({"haplotypes": None})


def test_the_check_needs_no_slow_module() -> None:
    code = (
        "import sys; import hapgpu.cli.options.input_checks;"
        "print({'numpy', 'numba', 'pysam', 'isal', 'typer'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True)
    assert done.stdout == "set()\n"
