"""`hapgpu realign` writes the same bytes on every device, also of the table of alleles."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.realign.command import make_example, realign
from tests.truth_haplotypes import truth_loci, write_haplotypes

pytestmark = pytest.mark.gpu


def assert_same_bytes(directory: Path, *arguments: str | Path) -> None:
    pytest.importorskip("cupy")
    written = []
    for device in ("cpu", "cuda"):
        path, table = directory / f"{device}.bam", directory / f"{device}.tsv"
        wanted = [] if "--reference" in arguments else ["--alleles-table", table]
        realign(*arguments, *wanted, "--no-PG", "-o", path, device=device)
        written.append([file.read_bytes() for file in (path, table) if file.exists()])
    assert written[0] == written[1]


@pytest.mark.parametrize(
    "options",
    [[], ["--all"], ["--min-score", "0.9"], ["--best-by", "likelihood"], ["--reference"]],
)
def test_example(tmp_path: Path, options: list[str]) -> None:
    directory = make_example(tmp_path / "example")
    reference = [directory / "reference.fa"] * (options == ["--reference"])
    assert_same_bytes(
        tmp_path, directory / "reads.bam", directory / "haplotypes.fa", *options, *reference
    )
    assert_same_bytes(tmp_path, directory / "amplicons.fastq.gz", directory / "alleles.fa")


@pytest.mark.parametrize("on_reference", [False, True])
@pytest.mark.parametrize("name", ["HG002", "NA12878"])
def test_human(data_dir: Path, tmp_path: Path, name: str, on_reference: bool) -> None:
    directory = data_dir / "illumina_na12878"
    reference = directory / "chr20.hg19.fa.gz"
    loci = truth_loci(reference, directory / f"{name}.truth.dev.vcf.gz")
    fasta = write_haplotypes(tmp_path / "haplotypes.fa", loci)
    options = ["--reference", reference] if on_reference else []
    assert_same_bytes(tmp_path, directory / f"{name}.chr20.dev.bam", fasta, *options)


@pytest.mark.parametrize(
    ("reads", "haplotypes"),
    [
        ("crispr_gol/gol.bam", "crispr_gol/candidates.fa"),
        ("crispr_gol/gol.fastq", "crispr_gol/candidates.fa"),
        ("16s_miseq/sam1F.fastq.gz", "16s_miseq/candidates.fa"),
        ("sarscov2_ont/MT007544.fastq.gz", "sarscov2_ont/MN908947.3.fa"),
    ],
)
def test_amplicons(data_dir: Path, tmp_path: Path, reads: str, haplotypes: str) -> None:
    directory = data_dir / "amplicon"
    assert_same_bytes(tmp_path, directory / reads, directory / haplotypes)
