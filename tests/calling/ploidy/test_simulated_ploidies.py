"""Calls of simulated haploid and tetraploid samples, compared with their chromosomes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pysam
import pytest

from hapgpu.simulation.phased_variants import vcf_text
from tests.calling.accuracy.variant_matching import Placed, matched, placed_alleles
from tests.cli.call.command import called, records_in, status_of
from tests.haplotypes.made_references import random_text
from tests.simulation.made_samples import MadeSample, made_sample

LENGTH = 60_000
TEXT = random_text(LENGTH, 17)


@pytest.fixture(scope="module")
def male(tmp_path_factory: pytest.TempPathFactory) -> MadeSample:
    """Return a contig with one copy, 30x."""
    return made_sample(tmp_path_factory.mktemp("male"), TEXT, 1, 30)


def doubled(text: str, path: Path) -> list[Placed]:
    """Return the alleles of haploid records, each on both haplotypes."""
    lines = [
        line if line.startswith("#") else "\t".join(homozygous(line.split("\t")))
        for line in text.splitlines()
    ]
    path.write_text("\n".join(lines) + "\n")
    return placed_alleles(path, "chr1", is_true="truth" in path.name)


def homozygous(columns: list[str]) -> list[str]:
    """Return the columns of a record with two copies of its allele; PL has no room for them."""
    genotype = columns[9].split(":")[0]
    assert "/" not in genotype
    assert "|" not in genotype
    return [*columns[:8], "GT", f"{genotype}|{genotype}"]


@pytest.mark.parametrize("option", ["--ploidy", "--ploidy-regions"])
def test_haploid_contig(male: MadeSample, tmp_path: Path, option: str) -> None:
    bed = tmp_path / "male.bed"
    bed.write_text(f"chr1\t0\t{LENGTH}\t1\n")
    value = "1" if option == "--ploidy" else bed
    text = called(tmp_path, male.files.reads, male.files.reference, option, value)
    truth = doubled(vcf_text(male.variants, "chr1", LENGTH, "NA1"), tmp_path / "truth.vcf")
    found = matched(truth, doubled(text, tmp_path / "calls.vcf"), TEXT)
    assert len(truth) > 120
    assert len(found.right) >= 0.995 * len(truth)
    assert len(found.false) <= 0.005 * len(truth)
    for row in records_in(text):
        fields = dict(zip(row[8].split(":"), row[9].split(":"), strict=True))
        assert len(fields["PL"].split(",")) == len(row[4].split(",")) + 1
        assert "ExcessHet" not in row[7]
        assert "AN=1;" in row[7]


def test_tetraploid_sample(tmp_path: Path) -> None:
    """Copies of each SNV, 20x per copy: no genotype is wrong by more than one copy."""
    sample = made_sample(tmp_path, TEXT, 4, 20)
    out = tmp_path / "calls.vcf"
    inputs = (sample.files.reads, sample.files.reference)
    assert status_of(*inputs, "--ploidy", "4", "-q", "-o", out) == 0
    found = {}
    with pysam.VariantFile(str(out)) as file:
        for record in file:
            assert len(record.samples[0]["GT"]) == 4
            found[record.pos - 1, record.alleles] = record.samples[0]["GT"].count(1)
    wrong, count = 0, 0
    bounds = sample.variants.allele_offsets
    for row, start in enumerate(sample.variants.starts.tolist()):
        rows = range(*bounds[row : row + 2])
        alleles = tuple(sample.variants.alleles[k].tobytes().decode() for k in rows)
        copies = int(np.count_nonzero(sample.variants.genotypes[row] == 1))
        if copies and list(map(len, alleles)) == [1, 1]:
            count += 1
            error = abs(found.get((start, alleles), 0) - copies)
            assert error <= 1
            wrong += error
    assert count > 80
    assert wrong <= 0.05 * count


def test_male_y_chromosome(tmp_path: Path) -> None:
    """One copy of Y, two in its pseudoautosomal region; the assembly is told by its length."""
    text, places = TEXT[:20_000], (1_000_000, 10_000_000)
    sample = made_sample(tmp_path, text, 1, 30)
    fasta, bam = tmp_path / "y.fa.gz", tmp_path / "y.bam"
    write_chromosome(fasta, text, places)
    write_shifted(sample.files.reads, bam, places)
    rows = records_in(called(tmp_path, bam, fasta, "--sex", "xy"))
    truth = sum(1 for row in sample.variants.genotypes if row[0])
    for place, genotypes in zip(places, ({"1/1"}, {"1"}), strict=True):
        own = [row for row in rows if place < int(row[1]) <= place + len(text)]
        found = {row[9].split(":")[0].replace("2", "1") for row in own if "," not in row[4]}
        assert found == genotypes
        assert len(own) >= 0.9 * truth


def write_chromosome(path: Path, text: str, places: tuple[int, ...]) -> None:
    """Write Y of GRCh38: N, except a text at some places."""
    bases = bytearray(b"N" * 57_227_415)
    for place in places:
        bases[place : place + len(text)] = text.encode()
    with pysam.BGZFile(str(path), "wb") as file:
        file.write(b">chrY\n")
        file.write(bytes(bases))
        file.write(b"\n")
    pysam.faidx(str(path))


def write_shifted(reads: Path, out: Path, places: tuple[int, ...]) -> None:
    """Write reads of a contig at some places of Y."""
    with pysam.AlignmentFile(str(reads)) as source:
        header = source.header.to_dict()
        header["SQ"] = [{"SN": "chrY", "LN": 57_227_415}]
        with pysam.AlignmentFile(str(out), "wb", header=header) as target:
            for place in places:
                for read in source.fetch(until_eof=True):
                    read.reference_start += place
                    read.next_reference_start += place
                    target.write(read)
                source.reset()
    pysam.index(str(out))
