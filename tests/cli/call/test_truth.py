"""`hapgpu call` on real reads, against the truth sets of the Genome in a Bottle."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pysam
import pytest

from tests.calling.variant_matching import Matched, Placed, matched, placed_alleles
from tests.cli.call.command import status_of

CONTIG, START, END = "chr20", 10_000_000, 10_050_000


def is_snv(allele: Placed) -> bool:
    return allele.end - allele.start == len(allele.text) == 1


def within(bed: Path) -> list[range]:
    """Return the positions, 0-based, in the intervals of a BED file."""
    rows = (line.split() for line in bed.read_text().splitlines())
    return [range(int(start), int(end)) for _, start, end in rows]


def compared(data: Path, sample: str, out: Path) -> Matched:
    """Call the development region of a sample, and compare the haplotypes with the truth."""
    reads, fasta = data / f"{sample}.chr20.dev.bam", data / "chr20.hg19.fa.gz"
    region = f"{CONTIG}:{START + 1}-{END}"
    assert status_of(reads, fasta, "-r", region, "-q", "-o", out) == 0
    with pysam.FastaFile(str(fasta)) as file:
        reference = file.fetch(CONTIG, 0, END + 1000).upper()
    truth = placed_alleles(data / f"{sample}.truth.dev.vcf.gz", CONTIG, is_true=True)
    return matched(truth, placed_alleles(out, CONTIG, is_true=False), reference)


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
    result = compared(data, sample, tmp_path / "calls.vcf")
    bed = data / f"{sample}.confident.dev.bed"
    positions = within(bed) if bed.exists() else [range(END)]
    assert snvs_and_indels(result.right, positions) == right
    assert snvs_and_indels(result.found | result.missed, positions) == wrong
    assert snvs_and_indels(result.false, positions) == false
