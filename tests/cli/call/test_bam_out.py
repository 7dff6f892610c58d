"""`hapgpu call --bam-out` on the example: formats, indexes, and files that must not be written."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pysam
import pytest

from tests.cli.call.command import Inputs, make_inputs, status_of
from tests.cli.in_process import error_of_command

COMMAND = [sys.executable, "-c", "from hapgpu.cli.app import main; main()", "call"]
REGION = ("-r", "chr20:5000-5300", "-r", "chr20:10000-10400")


@pytest.fixture(scope="module")
def example(tmp_path_factory: pytest.TempPathFactory) -> Inputs:
    return make_inputs(tmp_path_factory.mktemp("example"))


@pytest.fixture(scope="module")
def expected(example: Inputs, tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Return the realigned reads, as SAM without header."""
    out = tmp_path_factory.mktemp("expected") / "out.bam"
    words = [*example, *REGION, "-q", "-o", out.with_suffix(".vcf"), "--bam-out", out]
    assert status_of(*words) == 0
    return records_in(out, example.reference)


def records_in(path: Path, reference: Path) -> list[str]:
    """Return records as SAM, each with its optional fields sorted.

    OA is left out: it has the NM of the input, which CRAM always has.
    """
    text = pysam.view("-x", "OA", "-T", str(reference), str(path))
    fields = (line.split("\t") for line in text.splitlines())
    return ["\t".join([*row[:11], *sorted(row[11:])]) for row in fields]


@pytest.mark.parametrize(
    ("name", "index"), [("out.sam", ""), ("out.cram", ".crai"), ("out.bam", ".csi"), ("out", "")]
)
def test_formats(
    example: Inputs, expected: list[str], tmp_path: Path, name: str, index: str
) -> None:
    """By the extension; indexes of an earlier file are removed."""
    out = tmp_path / name
    old = [tmp_path / f"{name}{ending}" for ending in (".bai", ".csi", ".crai")] * bool(index)
    for path in old:
        path.write_text("old")
    vcf = tmp_path / "out.vcf"
    assert status_of(*example, *REGION, "-q", "-o", vcf, "--bam-out", out, threads=1) == 0
    assert records_in(out, example.reference) == expected
    written = {vcf, out, *([tmp_path / f"{name}{index}"] * bool(index))}
    assert set(tmp_path.iterdir()) == written
    assert all(path.read_bytes() != b"old" for path in written)


@pytest.mark.parametrize("name", ["reads.sam", "reads.cram"])
def test_inputs(example: Inputs, expected: list[str], tmp_path: Path, name: str) -> None:
    out = tmp_path / "out.bam"
    words = [example.reads.with_name(name), example.reference, *REGION, "-q"]
    assert status_of(*words, "-o", tmp_path / "out.vcf", "--bam-out", out) == 0
    assert records_in(out, example.reference) == expected


def test_the_vcf_is_the_same_without(example: Inputs, tmp_path: Path) -> None:
    for name, more in (("one.vcf", []), ("other.vcf", ["--bam-output", tmp_path / "out.bam"])):
        assert status_of(*example, *REGION, "-q", "-o", tmp_path / name, *more) == 0
    one, other = ((tmp_path / name).read_text() for name in ("one.vcf", "other.vcf"))
    lines = [text.split("\n#CHROM")[1] for text in (one, other)]
    assert lines[0] == lines[1]


def test_standard_output(example: Inputs, expected: list[str], tmp_path: Path) -> None:
    words = [*map(str, example), *REGION, "-q", "--device", "cpu", "--bam-out", "-"]
    out = str(tmp_path / "out.vcf")
    done = subprocess.run([*COMMAND, *words, "-o", out], capture_output=True, check=True)
    sam = tmp_path / "out.sam"
    sam.write_bytes(done.stdout)
    assert records_in(sam, example.reference) == expected


def test_without_variants(example: Inputs, tmp_path: Path) -> None:
    out = tmp_path / "out.bam"
    words = ["-r", "chr20:1-100", "-q", "-o", tmp_path / "out.vcf", "--bam-out", out]
    assert status_of(*example, *words) == 0
    assert records_in(out, example.reference) == []
    assert (tmp_path / "out.bam.csi").exists()


@pytest.mark.parametrize("name", ["reads.bam", "reference.fa", "reads.bam.bai", "out.vcf.gz"])
def test_other_files_are_not_overwritten(
    example: Inputs, tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    """Neither an input, nor an index, nor the VCF."""
    is_output = name.startswith("out")
    out = tmp_path / name if is_output else example.reads.with_name(name)
    before = None if is_output else out.read_bytes()
    assert status_of(*example, "-o", tmp_path / "out.vcf.gz", "--bam-out", out) == 2
    assert name in error_of_command("call", capsys)
    assert is_output or out.read_bytes() == before
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("vcf", "bam"),
    [("out.vcf.gz", "/dev/full"), ("/dev/full", "out.bam"), ("out.vcf", "/dev/full")],
)
def test_no_file_without_the_other(
    example: Inputs, tmp_path: Path, capsys: pytest.CaptureFixture[str], vcf: str, bam: str
) -> None:
    """A disk that is full at the end of one output leaves neither."""
    words = [*example, *REGION, "-q", "-o", tmp_path / vcf, "--bam-out", tmp_path / bam]
    assert status_of(*words) == 4
    assert "/dev/full" in error_of_command("call", capsys)
    assert not list(tmp_path.iterdir())


def test_fields_and_hard_clips_of_the_input(example: Inputs, tmp_path: Path) -> None:
    """Fields of the old alignment and of single bases are removed; hard clips are added up."""
    reads, out = tmp_path / "reads.bam", tmp_path / "out.bam"
    removed = {"AS": 7, "SA": "chr20,1,+,9M,60,0;", "MC": "9M", "MQ": 6, "OQ": "", "HC": "text"}
    kept = {"XA": "chr20,+1,9M,0;", "ZZ": 1.5, "PG": "mapper"}
    lengths = {}
    with pysam.AlignmentFile(str(example.reads)) as file:
        records, header = list(file), file.header
    for record in records:
        record.set_tags([*record.get_tags(), *removed.items(), *kept.items()])
        record.set_tag("OQ", "I" * record.query_length)
        first, *others = record.cigartuples or []
        if first[0] == 4:
            # Soft clips at the start become hard clips.
            qualities = record.query_qualities
            record.query_sequence = (record.query_sequence or "")[first[1] :]
            record.query_qualities = qualities and qualities[first[1] :]
            record.cigartuples = [(5, first[1]), *others]
        lengths[record.query_name, record.flag & 0xC0] = record.infer_read_length()
    with pysam.AlignmentFile(str(reads), "wb", header=header) as file:
        for record in records:
            file.write(record)
    pysam.index(str(reads))
    words = [reads, example.reference, "-q", "-o", tmp_path / "out.vcf", "--bam-out", out]
    assert status_of(*words) == 0
    with pysam.AlignmentFile(str(out)) as file:
        found = [record for record in file if record.get_tag("RG") != "ArtificialHaplotypeRG"]
    assert len(found) > 500
    old = [dict(record.get_tags()).get("OC", "") for record in found]
    assert any(re.match("[0-9]+H", text) for text in old)
    for record in found:
        tags = dict(record.get_tags())
        assert tags.items() >= kept.items()
        assert not tags.keys() & (removed.keys() - {"HC"})
        assert isinstance(tags.get("HC", 0), int)
        assert record.infer_read_length() == lengths[record.query_name, record.flag & 0xC0]
