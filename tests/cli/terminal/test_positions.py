"""Every command knows how far it is in its input."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pysam
import pytest

from hapgpu.cli import run
from hapgpu.runtime.progress import NoProgress
from tests.cli.in_process import status_of_command

pytestmark = pytest.mark.exhaustive

EXAMPLE = Path(__file__).parents[3] / "examples" / "make_example.py"


class Watcher(NoProgress):
    """Progress that records the fractions of each part of a run."""

    def __init__(self) -> None:
        self.fractions: list[float | None] = []
        self.total: int | None = None
        self.done = 0

    def start(self, total: int | None) -> None:
        self.total = total

    def advance(self, count: int, fraction: float | None = None) -> None:
        self.done += count
        self.fractions.append(fraction)


@pytest.fixture(scope="module")
def example(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the directory of the example, with its files in other formats, too."""
    directory = tmp_path_factory.mktemp("example")
    subprocess.run([sys.executable, EXAMPLE, directory], check=True, stdout=subprocess.DEVNULL)
    sites = directory / "sites.vcf"
    pysam.tabix_compress(str(sites), f"{sites}.gz")
    with (
        pysam.VariantFile(str(sites)) as vcf,
        pysam.VariantFile(str(directory / "sites.bcf"), "wb", header=vcf.header) as bcf,
    ):
        for record in vcf:
            bcf.write(record)
    reads = directory / "reads.fastq.gz"
    (directory / "plain.fastq").write_bytes(
        subprocess.run(["gzip", "-dc", reads], check=True, capture_output=True).stdout
    )
    (directory / "batches.in").write_text("1 1\nACGT IIII IIII IIII ++++\nACGTA\n")
    return directory


def watched(
    command: Sequence[str], directory: Path, monkeypatch: pytest.MonkeyPatch, output: Path
) -> list[Watcher]:
    """Run a command; return the progress of each part that has advanced."""
    watchers: list[Watcher] = []

    def choose(_title: str, *, unit: str, **_: object) -> Watcher:
        watcher = Watcher()
        if unit not in {"functions", "bases"}:  # of the first run, and of the index
            watchers.append(watcher)
        return watcher

    monkeypatch.setattr(run, "choose_progress", choose)
    monkeypatch.chdir(directory)
    assert status_of_command(*command, "-o", output, "-q") == 0
    return [watcher for watcher in watchers if watcher.fractions]


@pytest.mark.parametrize(
    ("command", "parts"),
    [
        ("realign reads.bam haplotypes.fa --device cpu", 1),
        ("realign reads.bam haplotypes.fa --reference reference.fa --device cpu", 2),
        ("realign reads.fastq.gz haplotypes.fa --device cpu", 1),
        ("realign plain.fastq haplotypes.fa --device cpu", 1),
        ("pairhmm reads.bam haplotypes.fa --device cpu", 1),
        ("pairhmm reads.bam haplotypes.fa -r chr20:5151-5250 --device cpu", 1),
        ("pairhmm --batches batches.in --device cpu -t 1", 1),
        ("haplotypes reference.fa sites.vcf", 1),
        ("haplotypes reference.fa sites.vcf.gz", 1),
        ("haplotypes reference.fa sites.bcf", 1),
        ("genotype reads.bam reference.fa sites.vcf --device cpu -t 2", 1),
        ("genotype reads.bam reference.fa sites.vcf.gz --device cpu -t 1", 1),
        ("map reference.fa reads.fastq.gz plain.fastq --device cpu -t 2", 1),
        ("chain reference.fa long_reads.fastq.gz --device cpu -t 1", 1),
    ],
)
def test_the_last_position_is_the_end(
    command: str,
    parts: int,
    example: Path,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    watchers = watched(command.split(), example, monkeypatch, tmp_path / "output")
    assert len(watchers) == parts
    for watcher in watchers:
        known = [fraction for fraction in watcher.fractions if fraction is not None]
        assert len(known) == len(watcher.fractions)
        assert known == sorted(known)
        assert known[-1] == pytest.approx(1, abs=0.1)  # the closing block is not read
        assert watcher.done > 0


def test_positions_in_regions(
    example: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    regions = ["-r", "chr20:5001-6000", "-r", "chr20:10001-11000"]
    for command in (
        ["haplotypes", "reference.fa", "sites.vcf"],
        ["genotype", "reads.bam", "reference.fa", "sites.vcf", "--device", "cpu"],
    ):
        [watcher] = watched([*command, *regions], example, monkeypatch, tmp_path / "output")
        assert watcher.fractions[-1] == 1  # the records after the regions are in the same batch


def test_the_sites_of_a_shard(
    example: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    command = ["genotype", "reads.bam", "reference.fa", "sites.vcf", "--device", "cpu"]
    [watcher] = watched([*command, "--shard", "1/2"], example, monkeypatch, tmp_path / "output")
    assert watcher.total == 3
    assert watcher.done >= 3  # with sites of the same loci
    assert set(watcher.fractions) == {None}
