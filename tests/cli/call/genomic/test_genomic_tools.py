"""Other programs take genomic VCF of `hapgpu call`, and what joint callers require of it."""

from __future__ import annotations

import shutil
from pathlib import Path

import pysam
import pytest

from tests.cli.call.command import Inputs, make_inputs, status_of
from tests.cli.call.test_other_programs import lines_of

NON_REF = "<NON_REF>"
KINDS = {
    "blocks": ["--gvcf"],
    "bands": ["--gvcf", "--gvcf-gq-bands", "20", "--gvcf-gq-bands", "60"],
    "floors": ["--gvcf", "--floor-blocks", "--gvcf-gq-bands", "20", "--gvcf-gq-bands", "60"],
    "positions": ["--bp-resolution"],
    "unphased": ["--gvcf", "--do-not-run-physical-phasing"],
}
needs_bcftools = pytest.mark.skipif(
    not shutil.which("bcftools"), reason="bcftools is not installed"
)


@pytest.fixture(scope="module")
def example(tmp_path_factory: pytest.TempPathFactory) -> Inputs:
    return make_inputs(tmp_path_factory.mktemp("example"))


@pytest.fixture(scope="module", params=KINDS)
def genomic(example: Inputs, request: pytest.FixtureRequest) -> Path:
    path = example.reads.with_name(f"{request.param}.g.vcf.gz")
    assert status_of(*example, *KINDS[request.param], "-q", "-o", path) == 0
    return path


@pytest.fixture
def length(example: Inputs) -> int:
    with pysam.FastaFile(str(example.reference)) as reference:
        (found,) = reference.lengths
        return int(found)


def rows_of(lines: list[str]) -> list[list[str]]:
    return [line.split("\t") for line in lines if not line.startswith("#")]


@needs_bcftools
def test_view_and_index(genomic: Path, tmp_path: Path) -> None:
    """BCF and back changes only decimals; the index of bcftools finds the same records."""
    copy = tmp_path / "copy.bcf"
    lines_of("bcftools", "view", "-o", copy, genomic)
    whole = rows_of(lines_of("bcftools", "view", genomic))
    assert rows_of(lines_of("bcftools", "view", copy)) == whole
    with pysam.BGZFile(str(genomic)) as source:
        rows = rows_of([line.decode() for line in source])
    assert [row[:5] + row[8:] for row in rows] == [row[:5] + row[8:] for row in whole]
    lines_of("bcftools", "index", copy)
    region = "chr20:9000-9100"
    found = rows_of(lines_of("bcftools", "view", "-r", region, genomic))
    assert rows_of(lines_of("bcftools", "view", "-r", region, copy)) == found
    assert found


@needs_bcftools
def test_convert_to_positions(example: Inputs, genomic: Path, length: int) -> None:
    """Every position has a record then, except those within deletions."""
    words = ["convert", "--gvcf2vcf", "-f", example.reference, genomic]
    rows = rows_of(lines_of("bcftools", *words))
    inside = set[int]()
    for row in rows:
        inside.update(range(int(row[1]) + 1, int(row[1]) + len(row[3])))
    found = [int(row[1]) for row in rows]
    assert len(found) == len(set(found))
    assert set(found) | inside == set(range(1, length + 1))


@needs_bcftools
def test_merge_with_another_sample(example: Inputs, genomic: Path, tmp_path: Path) -> None:
    """`-g` cuts blocks: each variant of one sample has the other sample's likelihoods."""
    other, names = tmp_path / "other.g.vcf.gz", tmp_path / "names.txt"
    names.write_text("second\n")
    lines_of("bcftools", "reheader", "-s", names, "-o", other, genomic)
    lines_of("bcftools", "index", "-t", other)
    words = ["merge", "-g", example.reference, genomic, other]
    rows = rows_of(lines_of("bcftools", *words))
    own = rows_of(lines_of("bcftools", "view", genomic))
    variants = {row[1]: row[9] for row in own if row[4] != NON_REF}
    assert len(variants) == 15
    found = {row[1]: row for row in rows if row[4] != NON_REF}
    for position, sample in variants.items():
        row = found[position]
        assert row[9] == row[10]
        fields = dict(zip(row[8].split(":"), row[9].split(":"), strict=True))
        assert fields["GT"] == sample.split(":")[0]
        assert fields["DP"] not in {"", "."}


def test_what_joint_callers_require(genomic: Path, length: int) -> None:
    """GenomicsDBImport, GenotypeGVCFs and GLnexus; see the names of the checks."""
    assert genomic.with_name(f"{genomic.name}.tbi").exists()
    with pysam.VariantFile(str(genomic)) as source:
        assert len(source.header.samples) == 1
        contigs = {name: contig.length for name, contig in source.header.contigs.items()}
        assert contigs == {"chr20": length}
        assert "ALT=<ID=NON_REF" in str(source.header)
        records = list(source)
    starts = [record.start for record in records]
    assert starts == sorted(starts)
    for record in records:
        check_alleles(record)
        check_sample(
            record, has_blocks=genomic.name not in {"floors.g.vcf.gz", "positions.g.vcf.gz"}
        )


def check_alleles(record: pysam.VariantRecord) -> None:
    """`<NON_REF>` comes last, and no ALT is an MNP."""
    reference, alternates = record.ref or "", record.alts or ()
    assert alternates[-1] == NON_REF
    for alternate in alternates[:-1]:
        differs = [one != other for one, other in zip(reference, alternate, strict=False)]
        assert len(reference) != len(alternate) or sum(differs) == 1 or alternate == "*"


def check_sample(record: pysam.VariantRecord, *, has_blocks: bool) -> None:
    """DP and GQ are in all records, MIN_DP in blocks; variants have AD, PL, SB and RAW_MQandDP."""
    (sample,) = record.samples.values()
    assert sample["GQ"] is not None
    if record.alts == (NON_REF,):
        assert sample["DP"] is not None
        assert ("MIN_DP" in sample) == has_blocks
        return
    count = len(record.alleles or ())
    assert len(sample["PL"]) == count * (count + 1) // 2
    assert len(sample["AD"]) == count
    assert len(sample["SB"]) == 4
    assert record.info["DP"] > 0
    squares, depth = record.info["RAW_MQandDP"]
    assert 0 < squares <= 60**2 * depth
