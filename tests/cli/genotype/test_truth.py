"""`hapgpu genotype` on real reads, against the truth sets of the Genome in a Bottle."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pysam
import pytest

from tests.cli.genotype.command import status_of

Allele = tuple[int, str, str]
"""Position, REF and ALT."""


def copies_of_alleles(calls: Path, reference: Path, directory: Path) -> dict[Allele, int | None]:
    """Return the number of copies of each ALT; None if the genotype is missing.

    If bcftools is installed, alleles are split into single changes and moved to the left, so
    that two files can be compared; otherwise they stay as they are written.
    """
    copies: dict[Allele, int | None] = {}
    for allele, found in _written_copies(_normalized(calls, reference, directory)):
        earlier = copies.get(allele) or 0
        copies[allele] = None if found is None else min(2, found + earlier)
    return copies


def _normalized(calls: Path, reference: Path, directory: Path) -> Path:
    if shutil.which("bcftools") is None:
        return calls
    for number, split in enumerate(("-many", "-a")):
        out = directory / f"{number}.{calls.name.removesuffix('.gz')}"
        command = ["bcftools", "norm", "-f", reference, split.replace("many", "m-any"), calls]
        subprocess.run([*command, "-o", out], check=True, capture_output=True)
        calls = out
    return calls


def _written_copies(calls: Path) -> Iterator[tuple[Allele, int | None]]:
    with pysam.VariantFile(str(calls)) as file:
        for record in file:
            genotype = record.samples[0]["GT"] if len(record.samples) else (None,)
            for number, alternative in enumerate(record.alts or (), 1):
                count = genotype.count(number)
                is_missing = None in genotype and not count
                yield (record.pos, record.ref, alternative), None if is_missing else count


def is_snv(allele: Allele) -> bool:
    return len(allele[1]) == len(allele[2]) == 1


def within(bed: Path) -> list[range]:
    """Return the positions, 1-based, in the intervals of a BED file."""
    rows = (line.split() for line in bed.read_text().splitlines())
    return [range(int(start) + 1, int(end) + 1) for _, start, end in rows]


@pytest.mark.parametrize(
    ("sample", "snvs", "indels", "wrong_indels", "absent"),
    [("NA12878", 109, 27, 1, None), ("HG002", 117, 20, 0, 38)],
)
def test_known_samples(
    data_dir: Path,
    tmp_path: Path,
    sample: str,
    snvs: int,
    indels: int,
    wrong_indels: int,
    absent: int | None,
) -> None:
    """NA12878 has no BED of confident regions: only the alleles of its truth set are checked."""
    data = data_dir / "illumina_na12878"
    reference, sites = data / "chr20.hg19.fa.gz", data / "sites.dev.vcf.gz"
    out = tmp_path / "calls.vcf.gz"
    assert status_of(data / f"{sample}.chr20.dev.bam", reference, sites, "-q", "-o", out) == 0
    with pysam.VariantFile(str(out)) as file, pysam.VariantFile(str(sites)) as asked:
        assert list(file.header.samples) == [sample]
        assert [(r.pos, r.alleles) for r in file] == [(r.pos, r.alleles) for r in asked]
    called = copies_of_alleles(out, reference, tmp_path)
    truth = copies_of_alleles(data / f"{sample}.truth.dev.vcf.gz", reference, tmp_path)
    confident = [range(2**31)] if absent is None else within(data / "HG002.confident.dev.bed")
    present = {
        allele: copies
        for allele, copies in truth.items()
        if copies and any(allele[0] in part for part in confident)
    }
    if shutil.which("bcftools") is None:
        present = {allele: copies for allele, copies in present.items() if allele in called}
    else:
        assert sum(map(is_snv, present)) == snvs
        assert len(present) == snvs + indels
    wrong = [allele for allele, copies in present.items() if called.get(allele) != copies]
    assert [allele for allele in wrong if is_snv(allele)] == []
    assert len(wrong) <= wrong_indels
    if absent is not None:
        others = {
            allele: copies
            for allele, copies in called.items()
            if not truth.get(allele)
            and allele[2] != "*"
            and any(allele[0] in part for part in confident)
        }
        assert set(others.values()) == {0}
        assert shutil.which("bcftools") is None or len(others) == absent


def test_a_small_piece_of_a_deep_sample(data_dir: Path, tmp_path: Path) -> None:
    data = data_dir / "illumina_tiny"
    truth = data / "NA12878.chr22.tiny.giab.vcf.gz"
    out = tmp_path / "calls.vcf"
    reads, reference = data / "NA12878.chr22.tiny.bam", data / "q.fa"
    assert status_of(reads, reference, truth, "-q", "-o", out) == 0
    with pysam.VariantFile(str(truth)) as file:
        expected = [(record.pos, sorted(record.samples[0]["GT"])) for record in file]
    with pysam.VariantFile(str(out)) as file:
        assert list(file.header.samples) == ["1"]
        found = [(record.pos, list(record.samples["1"]["GT"])) for record in file]
    assert found == expected
    assert len(found) == 14
