"""`hapgpu call --gvcf` on the example: formats, intervals, and one sample only."""

from __future__ import annotations

from pathlib import Path

import pysam
import pytest

from tests.cli.call.command import Inputs, called, make_inputs, records_in, status_of, summary_of
from tests.cli.in_process import error_of_command

NON_REF = "<NON_REF>"


@pytest.fixture(scope="module")
def example(tmp_path_factory: pytest.TempPathFactory) -> Inputs:
    return make_inputs(tmp_path_factory.mktemp("example"))


@pytest.fixture(scope="module")
def expected(example: Inputs, tmp_path_factory: pytest.TempPathFactory) -> str:
    return called(tmp_path_factory.mktemp("expected"), *example, "--gvcf")


def covered_in(text: str) -> list[int]:
    """Return the positions, from 1, that records and blocks cover, in their order."""
    positions = []
    for row in records_in(text):
        end = int(row[1]) + len(row[3])
        if row[7].startswith("END="):
            end = int(row[7].removeprefix("END=")) + 1
        positions.extend(range(int(row[1]), end))
    return positions


def test_the_whole_contig_is_covered(example: Inputs, expected: str) -> None:
    with pysam.FastaFile(str(example.reference)) as reference:
        (length,) = reference.lengths
    assert covered_in(expected) == list(range(1, length + 1))


def test_the_variants_are_those_of_the_vcf(example: Inputs, expected: str, tmp_path: Path) -> None:
    """Also their genotypes; phased ones have another separator."""
    lines = [line.replace("|", "/").replace(f",{NON_REF}", "") for line in summary_of(expected)]
    variants = [line for line in lines if NON_REF not in line]
    assert variants == summary_of(called(tmp_path, *example))


def test_empty_ends_of_contigs_are_blocks_without_confidence(
    example: Inputs, tmp_path: Path
) -> None:
    (row,) = records_in(called(tmp_path, *example, "--gvcf", "-r", "chr20:1-20"))
    assert row[1:2] + row[4:] == [
        *["1", NON_REF, ".", ".", "END=20", "GT:DP:GQ:MIN_DP:PL", "0/0:0:0:0:0,0,0"]
    ]


@pytest.mark.parametrize("name", ["reads.sam", "reads.cram"])
def test_inputs(example: Inputs, expected: str, tmp_path: Path, name: str) -> None:
    words = [example.reads.with_name(name), example.reference]
    assert called(tmp_path, *words, "--gvcf") == expected


def test_intervals_and_an_index(example: Inputs, tmp_path: Path) -> None:
    """The index finds blocks by their end."""
    path = tmp_path / "out.g.vcf.gz"
    words = ["-r", "chr20:5000-5300", "-r", "chr20:5302-5400", "-q", "--gvcf"]
    bam = tmp_path / "out.bam"
    assert status_of(*example, *words, "-o", path, "--bam-out", bam) == 0
    with pysam.VariantFile(str(path)) as source:
        found = [(record.start + 1, record.stop) for record in source]
        assert len(list(source.fetch("chr20", 5398, 5399))) == 1
    assert (found[0][0], found[-1][1]) == (5000, 5400)
    assert 5301 not in {at for start, end in found for at in range(start, end + 1)}
    assert pysam.AlignmentFile(str(bam)).count() > 0


def test_one_sample_only(
    example: Inputs, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = str(tmp_path / "other.bam")
    group = "@RG\\tID:b\\tSM:second"
    pysam.samtools.addreplacerg(
        "-r", group, "-m", "overwrite_all", "-o", other, str(example.reads), catch_stdout=False
    )
    pysam.index(other)
    out = tmp_path / "out.vcf"
    assert status_of(example.reads, other, example.reference, "--gvcf", "-o", out) == 2
    assert "--gvcf: 2 samples; call each sample alone" in error_of_command("call", capsys)
    assert not out.exists()
