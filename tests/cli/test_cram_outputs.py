"""CRAM and uncompressed BAM as every command writes them: the records of BAM.

In CRAM with the exceptions in docs/commands/call.md.
"""

from __future__ import annotations

import gzip
import re
import shutil
from pathlib import Path

import pysam
import pytest

from tests.cli.in_process import status_of_command
from tests.cli.realign.command import make_example

pytestmark = pytest.mark.skipif(not shutil.which("samtools"), reason="samtools is not installed")
GROUP = r"@RG\tID:run1\tSM:sample"
RUNS = {
    "call": ("reads.bam", "reference.fa", "-r", "chr20:5000-5300", "-o", "out.vcf", "--bam-out"),
    "realign": ("reads.bam", "haplotypes.fa", "--reference", "reference.fa", "-o"),
    "map": ("reference.fa", "reads.fastq.gz", "-R", GROUP, "-o"),
    "chain": ("reference.fa", "long_reads.fastq.gz", "-a", "--eqx", "--MD", "-R", GROUP, "-o"),
}


@pytest.fixture(scope="module")
def example(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make the example with its index of words; that of minimizers is made in memory."""
    directory = make_example(tmp_path_factory.mktemp("example"))
    assert status_of_command("index", directory / "reference.fa") == 0
    return directory


def records_in(path: Path, *options: str) -> list[list[str]]:
    """Return the columns of the records, as samtools prints them."""
    text = pysam.view("-T", str(path.with_name("reference.fa")), *options, str(path))
    return [line.split("\t") for line in text.splitlines()]


def as_in_cram(record: list[str]) -> list[str]:
    """Write = and X of the CIGAR as M, and RG as the last tag."""
    parts = [(int(size), "M" if kind in "=X" else kind) for size, kind in parts_of(record[5])]
    joined: list[tuple[int, str]] = []
    for size, kind in parts:
        before = joined.pop() if joined and joined[-1][1] == kind else (0, kind)
        joined.append((before[0] + size, kind))
    cigar = "".join(f"{size}{kind}" for size, kind in joined) or "*"
    tags = sorted(record[11:], key=lambda tag: tag.startswith("RG:"))  # a stable sort
    return [*record[:5], cigar, *record[6:11], *tags]


def parts_of(cigar: str) -> list[tuple[str, str]]:
    return re.findall(r"(\d+)(\D)", cigar)


@pytest.mark.parametrize("command", RUNS)
def test_records_are_those_of_bam(
    example: Path, command: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(example)
    for extension in ("bam", "cram"):
        words = [*RUNS[command], f"{command}.{extension}"]
        assert status_of_command(command, *words, "-q", "--device", "cpu", "-t", "2") == 0
    expected = [as_in_cram(row) for row in records_in(example / f"{command}.bam")]
    cram = example / f"{command}.cram"
    assert records_in(cram, "--input-fmt-option", "decode_md=0") == expected
    assert len(expected) > 50
    # Other readers add NM and MD to mapped records that have none: realign keeps such records.
    added = 0
    for row, found in zip(expected, records_in(cram), strict=True):
        own = {tag[:2] for tag in row[11:]}
        kept = [tag for tag in found[11:] if tag[:2] in own or tag[:2] not in {"NM", "MD"}]
        assert [*found[:11], *kept] == row
        added += len(found) - len(row)
    assert (added > 0) == (command == "realign")


@pytest.mark.parametrize("command", ["realign", "map", "chain"])
def test_uncompressed_bam(example: Path, command: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(example)
    outputs = [example / f"{command}_{form}.bam" for form in ("packed", "plain")]
    for out, options in zip(outputs, ([], ["--uncompressed"]), strict=True):
        words = [*RUNS[command], out, *options, "--no-PG", "-q", "--device", "cpu"]
        assert status_of_command(command, *words) == 0
    packed, plain = outputs
    assert records_in(plain) == records_in(packed)
    assert len(gzip.decompress(plain.read_bytes())) < plain.stat().st_size
    assert packed.stat().st_size < plain.stat().st_size / 2


@pytest.mark.parametrize("command", ["call", "map"])
def test_contig_lines_have_digest_and_name_of_the_reference(
    example: Path, command: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(example)
    out = f"{command}_header.cram"
    words = [*RUNS[command], out, "-q", "--device", "cpu", "-t", "2"]
    assert status_of_command(command, *words) == 0
    (line,) = (row for row in pysam.view("-H", out).splitlines() if row.startswith("@SQ"))
    fields = [field[:3] for field in line.split("\t")[1:]]
    assert fields == ["SN:", "LN:", "M5:", "UR:"]
