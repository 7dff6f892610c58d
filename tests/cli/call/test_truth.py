"""`hapgpu call` on real reads, against the truth sets of the Genome in a Bottle."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pysam
import pytest

from tests.calling.accuracy.variant_matching import Matched, Placed, matched, placed_alleles
from tests.cli.call.command import status_of

CONTIG, START, END = "chr20", 10_000_000, 10_050_000


def is_snv(allele: Placed) -> bool:
    return allele.end - allele.start == len(allele.text) == 1


def within(bed: Path) -> list[range]:
    """Return the positions, 0-based, in the intervals of a BED file."""
    rows = (line.split() for line in bed.read_text().splitlines())
    return [range(int(start), int(end)) for _, start, end in rows]


def call_of(data: Path, out: Path, *samples: str) -> Path:
    """Call the development region."""
    reads = [data / f"{sample}.chr20.dev.bam" for sample in samples]
    region = f"{CONTIG}:{START + 1}-{END}"
    assert status_of(*reads, data / "chr20.hg19.fa.gz", "-r", region, "-q", "-o", out) == 0
    return out


def compared(data: Path, sample: str, calls: Path, column: int = 0) -> Matched:
    """Compare the haplotypes of calls with the truth of a sample."""
    with pysam.FastaFile(str(data / "chr20.hg19.fa.gz")) as file:
        reference = file.fetch(CONTIG, 0, END + 1000).upper()
    truth = placed_alleles(data / f"{sample}.truth.dev.vcf.gz", CONTIG, is_true=True)
    found = placed_alleles(calls, CONTIG, is_true=False, sample=column)
    return matched(truth, found, reference)


def snvs_and_indels(alleles: Iterable[Placed], positions: list[range]) -> tuple[int, int]:
    """Count SNVs and other alleles within positions."""
    inside = [allele for allele in alleles if any(allele.start in part for part in positions)]
    snvs = sum(map(is_snv, inside))
    return snvs, len(inside) - snvs


@pytest.mark.parametrize(
    ("sample", "right", "wrong", "false"),
    [
        ("NA12878", (109, 26), (0, 1), (3, 7)),
        ("HG002", (117, 20), (0, 0), (0, 0)),
    ],
)
def test_known_samples(
    data_dir: Path,
    tmp_path: Path,
    sample: str,
    right: tuple[int, int],
    wrong: tuple[int, int],
    false: tuple[int, int],
) -> None:
    """NA12878 has no BED of confident regions: some alleles that it lacks may be true."""
    data = data_dir / "illumina_na12878"
    result = compared(data, sample, call_of(data, tmp_path / "calls.vcf", sample))
    bed = data / f"{sample}.confident.dev.bed"
    positions = within(bed) if bed.exists() else [range(END)]
    assert snvs_and_indels(result.right, positions) == right
    assert snvs_and_indels(result.found | result.missed, positions) == wrong
    assert snvs_and_indels(result.false, positions) == false


def test_samples_together_are_as_right_as_each_alone(data_dir: Path, tmp_path: Path) -> None:
    data = data_dir / "illumina_na12878"
    samples = ("NA12878", "HG002")
    together = call_of(data, tmp_path / "both.vcf", *samples)
    for column, sample in enumerate(samples):
        alone = call_of(data, tmp_path / f"{sample}.vcf", sample)
        expected = compared(data, sample, alone)
        assert compared(data, sample, together, column) == expected
