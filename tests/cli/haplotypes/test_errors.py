"""What `hapgpu haplotypes` says when it cannot do what it was asked to."""

from __future__ import annotations

from pathlib import Path

import pysam.bcftools
import pytest

from tests.cli.haplotypes.command import status_of, write_calls, write_reference
from tests.cli.in_process import error_of_command


@pytest.fixture(scope="module")
def example(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make a reference, variants, and damaged files."""
    folder = tmp_path_factory.mktemp("example")
    reference = write_reference(folder)
    (folder / "no_index.fa").write_bytes(reference.read_bytes())
    for name, records in {
        "other": ["13 T G", "14 A G"],
        "unsorted": ["14 T G", "13 T G"],
        "genotype": ["13 T G GT 0/2"],
        "end": ["42 GT G"],
        "good": ["13 T G"],
    }.items():
        write_calls(folder, records).rename(folder / f"{name}.vcf")
    write_calls(folder, ["13 T G"], "1").rename(folder / "prefix.vcf")
    (folder / "bad.bed").write_text("chr1\t5\n")
    (folder / "prefix.bed").write_text("1\t5\t9\n")
    with_contig = (folder / "other.vcf").read_text().replace("#CHROM", "##contig=<ID=chr1>\n#CHROM")
    (folder / "with_contig.vcf").write_text(with_contig)
    bcf = str(folder / "other.bcf")
    pysam.bcftools.view("-Ob", "-o", bcf, str(folder / "with_contig.vcf"), catch_stdout=False)
    return folder


CASES = {
    "another base": ("ref.fa other.vcf", 1, ["other.vcf, line 4", "A at chr1:14", "ref.fa has T"]),
    "another base in BCF": ("ref.fa other.bcf", 1, ["other.bcf, record 2", "A at chr1:14"]),
    "beyond the end": ("ref.fa end.vcf", 1, ["end.vcf, line 3", "chr1:42", "42 bases"]),
    "unsorted": ("ref.fa unsorted.vcf", 1, ["unsorted.vcf, line 4", "bcftools sort"]),
    "no genotype": ("ref.fa genotype.vcf", 1, ["genotype.vcf, line 3", "'0/2'", "1 ALT"]),
    "another name": ("ref.fa prefix.vcf", 1, ["prefix.vcf, line 3", "'1'", "found 'chr1' instead"]),
    "missing index": ("no_index.fa good.vcf", 1, ["samtools faidx", "no_index.fa"]),
    "unknown region": ("ref.fa good.vcf -r 1:5-9", 2, ["'1'", "found 'chr1' instead"]),
    "unknown target": ("ref.fa good.vcf -L prefix.bed", 2, ["'1'", "found 'chr1' instead"]),
    "bad targets": ("ref.fa good.vcf -L bad.bed", 1, ["bad.bed, line 1"]),
}


@pytest.mark.parametrize("case", CASES)
def test_one_line_and_a_status(
    example: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    case: str,
) -> None:
    arguments, status, said = CASES[case]
    monkeypatch.chdir(example)
    assert status_of(*arguments.split(), "-o", tmp_path / "out.fa") == status
    line = error_of_command("haplotypes", capsys)
    assert all(part in line for part in said)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("options", [["--flank", "-1"], ["--flank", "x"], ["--flank", "1000000"]])
def test_usage(example: Path, capsys: pytest.CaptureFixture[str], options: list[str]) -> None:
    assert status_of(example / "ref.fa", example / "good.vcf", *options) == 2
    assert options[0] in capsys.readouterr().err
