"""`hapgpu call --dbsnp` and `--comp`: IDs, flags, and files that are not read."""

from __future__ import annotations

import gzip
import shutil
import subprocess
from pathlib import Path

import pysam
import pytest

from tests.calling.known.made_known import known_file
from tests.cli.call.command import Inputs, called, make_inputs, records_in, status_of, text_of
from tests.cli.in_process import error_of_command

REGION = ("-r", "chr20:5000-15500")
LINES = [
    "chr20 5121 rs1 A T . PASS .",
    "chr20 5206 rs2 T A,C . . .",
    "chr20 5206 rs3 T A . . .",
    "chr20 5291 rs4 A T . low .",
    "chr20 10190 rs5 TCCACGAAAAGTTTATAGA T . . .",
    "chr20 10191 rs6 C T . . .",
    "chr20 15180 rs7 T TCACACA . . .",
]
IDS = {"5121": "rs1", "5206": "rs2;rs3", "5291": ".", "10190": "rs5", "15180": "rs7"}


@pytest.fixture(scope="module")
def example(tmp_path_factory: pytest.TempPathFactory) -> Inputs:
    return make_inputs(tmp_path_factory.mktemp("example"))


@pytest.fixture(scope="module")
def known(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return known_file(tmp_path_factory.mktemp("known") / "dbsnp.vcf.gz", LINES)


def without_names(text: str) -> list[list[str]]:
    """Return the records without IDs and flags."""
    rows = records_in(text)
    for row in rows:
        row[2] = "."
        row[7] = ";".join(field for field in row[7].split(";") if "=" in field)
    return rows


@pytest.mark.parametrize("mode", [(), ("--gvcf",)])
def test_ids_and_flags(example: Inputs, known: Path, tmp_path: Path, mode: tuple[str, ...]) -> None:
    words = [*example, *REGION, *mode]
    plain = called(tmp_path, *words)
    named = called(tmp_path, *words, "--dbsnp", known, "--comp", f"Zoo.1={known}")
    assert without_names(named) == records_in(plain)
    for row in records_in(named):
        flags = [field for field in row[7].split(";") if "=" not in field]
        expected = IDS.get(row[1], ".")
        assert (row[2], flags) == (expected, ["DB", "Zoo.1"] if expected != "." else [])
        keys = [field.split("=")[0] for field in row[7].split(";")]
        assert keys == sorted(keys)
    header = [line for line in named.splitlines() if line.startswith("##INFO")]
    assert len([line for line in header if "Number=0,Type=Flag" in line]) == 2
    assert header == sorted(header)
    out = tmp_path / "parsed.vcf"
    out.write_text(named + "\n")
    with pysam.VariantFile(str(out)) as source:
        assert {record.pos for record in source if record.info.get("DB")} == {
            int(position) for position, name in IDS.items() if name != "."
        }


def test_a_comp_file_alone_gives_no_id(example: Inputs, known: Path, tmp_path: Path) -> None:
    rows = records_in(called(tmp_path, *example, *REGION, "--comp", f"AA={known}"))
    assert {row[2] for row in rows} == {"."}
    assert [row[7].startswith("AA;AC=") for row in rows] == [row[1] != "5291" for row in rows]


@pytest.mark.parametrize("words", [("--processes", "1"), ("--processes", "2")])
@pytest.mark.parametrize("name", ["reads.bam", "reads.sam"])
def test_threads_processes_and_streams(
    example: Inputs, known: Path, tmp_path: Path, words: tuple[str, ...], name: str
) -> None:
    options = ["--dbsnp", known, "--contamination", "0.1"]
    expected = called(tmp_path, *example, *options, threads=1)
    reads = example.reads.with_name(name)
    assert called(tmp_path, reads, example.reference, *options, *words, threads=3) == expected


@pytest.mark.skipif(shutil.which("bcftools") is None, reason="needs bcftools")
def test_ids_are_those_of_bcftools(example: Inputs, tmp_path: Path) -> None:
    """Of records with one ALT and the same REF: those of bcftools need equal alleles."""
    out = tmp_path / "calls.vcf.gz"
    simple = known_file(tmp_path / "simple.vcf.gz", [LINES[0], LINES[2], LINES[4], LINES[5]])
    assert status_of(*example, *REGION, "-q", "-o", out) == 0
    words = ["bcftools", "annotate", "-a", simple, "-c", "ID", out]
    text = subprocess.run(words, capture_output=True, check=True, text=True).stdout
    found = records_in(called(tmp_path, *example, *REGION, "--dbsnp", simple))
    assert [row[:5] for row in found] == [row[:5] for row in records_in(text)]
    assert [row[2] for row in found] == ["rs1", "rs3", ".", "rs5", "."]


def refused(
    example: Inputs,
    path: Path | str,
    capsys: pytest.CaptureFixture[str],
    status: int = 1,
    option: str = "--dbsnp",
) -> str:
    """Return the error of a run with a file."""
    out = example.reads.with_name("not_written.vcf")
    assert status_of(*example, *REGION, option, path, "-o", out) == status
    assert not out.exists()
    return error_of_command("call", capsys)


def test_a_text_is_indexed_for_the_run(
    example: Inputs, known: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """As by GATK; nothing is left beside the file, and a text that is not sorted is refused."""
    plain, out, expected = (tmp_path / name for name in ("plain.vcf", "out.vcf", "expected.vcf"))
    plain.write_bytes(gzip.decompress(known.read_bytes()))
    assert status_of(*example, *REGION, "--dbsnp", plain, "-o", out) == 0
    assert status_of(*example, *REGION, "--dbsnp", known, "-o", expected) == 0
    assert text_of(out) == text_of(expected)
    assert {path.name for path in tmp_path.iterdir()} == {"plain.vcf", "out.vcf", "expected.vcf"}
    lines = plain.read_text().splitlines(keepends=True)
    header = [line for line in lines if line.startswith("#")]
    plain.write_text("".join([*header, *reversed(lines[len(header) :])]))
    capsys.readouterr()
    error = refused(example, plain, capsys)
    assert f"{plain}: cannot be indexed (its records are not sorted); run: bcftools sort" in error


def test_files_that_are_not_read(
    example: Inputs, known: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    plain = tmp_path / "plain.vcf"
    plain.write_bytes(gzip.decompress(known.read_bytes()))
    gzipped = tmp_path / "gzipped.vcf.gz"
    gzipped.write_bytes(gzip.compress(plain.read_bytes()))
    assert "not compressed by bgzip; run: bcftools view -Oz" in refused(example, gzipped, capsys)
    without = tmp_path / "without.vcf.gz"
    shutil.copy(known, without)
    assert "no index; run: tabix -p vcf" in refused(example, without, capsys)
    without.with_name("without.vcf.gz.tbi").write_bytes(b"")
    assert "run: tabix -f -p vcf" in refused(example, without, capsys)
    without.with_name("without.vcf.gz.tbi").write_bytes(b"TBI\1 and nothing more")
    assert "run: tabix -f -p vcf" in refused(example, without, capsys)
    empty = tmp_path / "empty.vcf.gz"
    empty.write_bytes(b"")
    assert "empty; give VCF" in refused(example, empty, capsys)
    assert "looks like FASTA; give VCF" in refused(example, example.reference, capsys)
    assert "looks like BAM; give VCF" in refused(example, example.reads, capsys)
    assert "is a directory" in refused(example, tmp_path, capsys)
    assert "no such file" in refused(example, tmp_path / "missing", capsys)
    assert "cannot be standard input" in refused(example, "-", capsys, 2)


def test_other_contigs(example: Inputs, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    other = known_file(tmp_path / "other.vcf.gz", ["20 5121 rs1 A T . . ."])
    assert "no contig of the reference" in refused(example, other, capsys)
    assert "no contig of the reference" in refused(example, f"X={other}", capsys, option="--comp")


def test_damaged_files(example: Inputs, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = [f"chr20 {at} rs{at} A {'C' * (at % 50 + 1)} . . ." for at in range(1, 15_000, 3)]
    path = known_file(tmp_path / "damaged.vcf.gz", lines)
    data = bytearray(path.read_bytes())
    middle = len(data) // 2
    data[middle : middle + 200] = bytes(byte ^ 0x5A for byte in data[middle : middle + 200])
    index = path.with_name(f"{path.name}.tbi")
    path.write_bytes(data)
    index.touch()
    assert "damaged in the records of chr20; copy it again" in refused(example, path, capsys)


@pytest.mark.parametrize(
    ("word", "reason"),
    [
        ("x.vcf.gz", "must be NAME=FILE"),
        ("=x.vcf.gz", "must be letters"),
        ("A=", "must be NAME=FILE"),
        ("1A=x.vcf.gz", "must be letters"),
        ("A;B=x.vcf.gz", "must be letters"),
        ("DB=x.vcf.gz", "is another field of INFO"),
        ("MQ=x.vcf.gz", "is another field of INFO"),
    ],
)
def test_names_that_are_refused(
    example: Inputs, word: str, reason: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert reason in refused(example, word, capsys, 2, "--comp")


def test_known_variants_are_not_overwritten(
    example: Inputs, known: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert status_of(*example, "--comp", f"A={known}", "-o", known) == 2
    assert "is also an input" in error_of_command("call", capsys)
