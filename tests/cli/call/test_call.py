"""`hapgpu call` on the example: files, samples, regions and options."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pysam
import pytest

from tests.cli.call.command import Inputs, called, make_inputs, records_in, status_of, summary_of
from tests.cli.in_process import error_of_command

COMMAND = [sys.executable, "-c", "from hapgpu.cli.app import main; main()", "call"]
FIRST = ["5121 A T 1/1", "5206 T A 0/1", "5291 A T 0/1"]
MIDDLE = [
    "10190 TCCACGAAAAGTTTATAGA T 0/1",
    "15180 TCACA T,TCACACACACA 1/2",
]
DELETION = "17675 CTGAGTGCCTTCGAACTATGGTACAAACATTCAGGGCATTAAGATCTCGTT C 1/1"
REGION = ("-r", "chr20:5000-5300")


@pytest.fixture(scope="module")
def example(tmp_path_factory: pytest.TempPathFactory) -> Inputs:
    return make_inputs(tmp_path_factory.mktemp("example"))


@pytest.fixture(scope="module")
def whole(example: Inputs, tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return the output for the whole example."""
    return called(tmp_path_factory.mktemp("whole"), *example)


def test_the_variants_of_the_example(whole: str) -> None:
    """Also the deletion at which the mapper clips all reads; nothing else is called."""
    found = summary_of(whole)
    assert found[:5] == [*FIRST, *MIDDLE]
    assert DELETION in found
    assert len(found) == 15
    assert all(17600 < int(line.split()[0]) < 17800 for line in found[5:])
    (sample,) = {row[8] for row in records_in(whole)}
    assert sample == "GT:AD:DP:GQ:PL"


@pytest.mark.parametrize("threads", [1, 2, 4])
def test_threads(example: Inputs, whole: str, tmp_path: Path, threads: int) -> None:
    assert called(tmp_path, *example, threads=threads) == whole


@pytest.mark.parametrize("name", ["reads.sam", "reads.cram"])
def test_formats(example: Inputs, whole: str, tmp_path: Path, name: str) -> None:
    reads = example.reads.with_name(name)
    assert called(tmp_path, reads, example.reference) == whole


@pytest.mark.parametrize("name", ["reads.sam", "reads.bam"])
def test_standard_input(example: Inputs, whole: str, name: str) -> None:
    with example.reads.with_name(name).open("rb") as stdin:
        words = ["-", str(example.reference), "--device", "cpu", "-q", "-t", "2"]
        done = subprocess.run([*COMMAND, *words], stdin=stdin, capture_output=True, check=True)
    records = [line for line in done.stdout.decode().splitlines() if not line.startswith("##")]
    assert records == [line for line in whole.splitlines() if not line.startswith("##")]


def test_output_is_indexed(example: Inputs, whole: str, tmp_path: Path) -> None:
    out = tmp_path / "out.vcf.gz"
    assert status_of(*example, "-q", "-o", out) == 0
    with pysam.TabixFile(str(out)) as file:
        assert [line.split("\t")[1] for line in file.fetch("chr20", 5200, 5300)] == ["5206", "5291"]
        assert list(file.fetch("chr20")) == ["\t".join(row) for row in records_in(whole)]


def test_two_samples(example: Inputs, tmp_path: Path) -> None:
    header = str(pysam.AlignmentFile(str(example.reads)).header)
    group = next(line for line in header.splitlines() if line.startswith("@RG"))
    sample = next(field for field in group.split("\t") if field.startswith("SM:"))
    text = example.reads.with_suffix(".sam").read_text().replace(f"\t{sample}", "\tSM:other")
    other = tmp_path / "other.sam"
    other.write_text(text)
    found = called(tmp_path, example.reads, other, example.reference, *REGION)
    assert found.splitlines()[-4].split("\t")[9:] == [sample.removeprefix("SM:"), "other"]
    assert summary_of(found) == [f"{line} {line.split()[-1]}" for line in FIRST]
    for row in records_in(found):
        assert row[9] == row[10]
        assert "AN=4" in row[7]


def test_two_files_of_a_sample(example: Inputs, whole: str, tmp_path: Path) -> None:
    halves = []
    for name, flag in (("first", "-f"), ("second", "-F")):
        halves.append(tmp_path / f"{name}.bam")
        pysam.view("-b", flag, "64", "-o", str(halves[-1]), str(example.reads), catch_stdout=False)
        pysam.index(str(halves[-1]))
    assert records_in(called(tmp_path, *halves, example.reference)) == records_in(whole)


@pytest.mark.parametrize(
    ("regions", "expected"),
    [
        (["chr20:5000-5300"], FIRST),
        (["chr20:15000-15300", "chr20:10000-10400", "chr20:10300-10500"], MIDDLE),
        (["chr20:1-100"], []),
        (["chr20:19990-20000"], []),
    ],
)
def test_regions(example: Inputs, tmp_path: Path, regions: list[str], expected: list[str]) -> None:
    bed = tmp_path / "regions.bed"
    lines = []
    for region in regions:
        start, _, end = region.partition(":")[2].partition("-")
        lines.append(f"chr20\t{int(start) - 1}\t{end}\n")
    bed.write_text("".join(lines))
    words = [word for region in regions for word in ("-r", region)]
    found = called(tmp_path, *example, *words)
    assert summary_of(found) == expected
    assert called(tmp_path, *example, "-L", bed) == found


def test_without_reads(example: Inputs, tmp_path: Path) -> None:
    """A file of no reads, and a region without reads, have no variants."""
    empty = tmp_path / "empty.bam"
    with (
        pysam.AlignmentFile(str(example.reads)) as reads,
        pysam.AlignmentFile(str(empty), "wb", template=reads),
    ):
        pass
    pysam.index(str(empty))
    for arguments in ([empty], [empty, *REGION], [example.reads, "-r", "chr20:100-200"]):
        reads, *others = arguments
        found = called(tmp_path, reads, example.reference, *others)
        assert not records_in(found)
        assert found.splitlines()[-1].startswith("#CHROM")


@pytest.mark.parametrize(
    ("option", "expected"),
    [
        ("--stand-call-conf 2500", [FIRST[0], FIRST[2]]),
        ("--standard-min-confidence-threshold-for-calling 2500", [FIRST[0], FIRST[2]]),
        ("--min-mapping-quality 61", []),
        ("--min-base-quality-score 60", []),
        ("--kmer-size 25 --kmer-size 10 --kmer-size 25", FIRST),
        ("--max-num-haplotypes-in-population 2", None),
        ("--min-pruning 500", []),
        ("--max-reads-per-start 0", FIRST),
        ("--max-alternate-alleles 1", FIRST),
    ],
)
def test_options(example: Inputs, tmp_path: Path, option: str, expected: list[str] | None) -> None:
    found = summary_of(called(tmp_path, *example, *REGION, *option.split()))
    assert expected is None or found == expected


@pytest.mark.parametrize(
    "option",
    [
        "--pcr-model hostile",
        "--heterozygosity 0.1",
        "--indel-heterozygosity 0.1",
        "--heterozygosity-stdev 0.1",
        "--dont-use-soft-clipped-bases",
        "--max-reads-per-start 1",
        "--kmer-size 45",
    ],
)
def test_options_that_change_numbers(
    example: Inputs, whole: str, tmp_path: Path, option: str
) -> None:
    assert records_in(called(tmp_path, *example, *option.split())) != records_in(whole)


def covered_bases(path: Path) -> int:
    """Count the bases that a read of the default filters covers, deletions included."""
    covered: set[int] = set()
    with pysam.AlignmentFile(str(path)) as reads:
        for read in reads:
            if not read.flag & 0x704 and 20 <= read.mapping_quality < 255:
                covered.update(range(read.reference_start, read.reference_end or 0))
    return len(covered)


def test_statistics(example: Inputs, tmp_path: Path) -> None:
    statistics = tmp_path / "run.json"
    called(tmp_path, *example, "--json", statistics)
    run = json.loads(statistics.read_text())
    assert run["command"] == "call"
    counts = run["counts"]
    assert counts["bases"] == 20_000
    assert counts["covered_bases"] == covered_bases(example.reads)
    assert counts["records"] == 15
    assert counts["reads"] == 2060
    assert 0 < counts["variant_regions"] <= counts["active_regions"] < 20
    assert 0 < counts["active_bases"] < 5000
    assert counts["haplotypes"] > 2 * counts["active_regions"]
    stages = "read activity clip assembly events likelihoods pairhmm realign genotypes annotations"
    assert set(run["seconds"]) == {*stages.split(), "write", "total"}


def test_a_damaged_read_of_one_segment(
    example: Inputs, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    damaged = tmp_path / "reads.bam"
    shutil.copy(example.reads, damaged)
    shutil.copy(f"{example.reads}.bai", f"{damaged}.bai")
    size = damaged.stat().st_size
    with damaged.open("r+b") as file:
        file.seek(size // 2)
        file.write(bytes(64))
    os.utime(f"{damaged}.bai")
    out = tmp_path / "out.vcf"
    assert status_of(damaged, example.reference, "-o", out) == 1
    assert "damaged" in error_of_command("call", capsys)
    assert not out.exists()


@pytest.mark.skipif(not shutil.which("bcftools"), reason="bcftools is not installed")
def test_other_programs_accept_the_output(example: Inputs, tmp_path: Path) -> None:
    out = tmp_path / "out.vcf.gz"
    assert status_of(*example, "-q", "-o", out) == 0
    for words in (
        ["norm", "--check-ref", "e", "-f", str(example.reference), str(out)],
        ["stats", str(out)],
        ["view", "-H", "-r", "chr20:5121", str(out)],
    ):
        done = subprocess.run(["bcftools", *words], capture_output=True, text=True, check=True)
        assert "W::" not in done.stderr
        assert "E::" not in done.stderr
