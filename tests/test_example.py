"""The example data set of the README."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from itertools import product
from pathlib import Path

import pysam
import pytest

from hapgpu.haplotypes.pairing.haplotype_set import parse_locus
from hapgpu.io.fastx.fastq import read_fastq
from hapgpu.io.genome.fasta import read_fasta
from hapgpu.io.genome.reference import ReferenceFasta

SCRIPT = Path(__file__).resolve().parent.parent / "examples" / "make_example.py"


def make(directory: Path) -> Path:
    subprocess.run([sys.executable, str(SCRIPT), str(directory)], check=True)
    return directory


@pytest.fixture(scope="module")
def example(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make(tmp_path_factory.mktemp("example"))


def test_same_files_on_every_run(example: Path, tmp_path: Path) -> None:
    again = make(tmp_path)
    for path in example.iterdir():
        assert path.read_bytes() == (again / path.name).read_bytes()


def test_haplotypes_lie_at_their_loci(example: Path) -> None:
    records = read_fasta(example / "haplotypes.fa")
    with ReferenceFasta(example / "reference.fa") as reference:
        for name, description, sequence in zip(
            records.names, records.descriptions, records.sequences, strict=True
        ):
            _, locus = parse_locus(name, description)
            assert locus is not None
            window = reference.fetch(locus)
            assert (bytes(sequence) == window) == name.endswith("_ref")


def test_sites_make_the_haplotypes(example: Path) -> None:
    with pysam.VariantFile(str(example / "sites.vcf")) as file:
        sites = list(file)
    haplotypes = read_fasta(example / "haplotypes.fa")
    carried: set[tuple[int, str]] = set()
    last_site = max(site.stop for site in sites)
    with ReferenceFasta(example / "reference.fa") as reference:
        for name, description, sequence in zip(
            haplotypes.names, haplotypes.descriptions, haplotypes.sequences, strict=True
        ):
            _, locus = parse_locus(name, description)
            assert locus is not None
            if locus.start > last_site:
                assert name.startswith("locus4_")
                continue
            within = [site for site in sites if locus.start <= site.start < locus.end]
            window = reference.fetch(locus).decode()
            made = {
                put_in(window, locus.start, within, alleles): alleles
                for alleles in product(*(site.alleles for site in within))
            }
            alleles = made[bytes(sequence).decode()]
            carried |= {(s.pos, a) for s, a in zip(within, alleles, strict=True) if a != s.ref}
    assert {(site.pos, alt) for site in sites for alt in site.alts} - carried == {(5251, "T")}


def put_in(
    window: str, start: int, sites: list[pysam.VariantRecord], alleles: tuple[str, ...]
) -> str:
    """Replace REF by an allele at each site."""
    for site, allele in zip(reversed(sites), reversed(alleles), strict=True):
        first, end = site.start - start, site.stop - start
        assert window[first:end] == site.ref
        window = window[:first] + allele + window[end:]
    return window


def test_reads_are_pairs_that_fit_the_reference(example: Path) -> None:
    pysam.quickcheck(str(example / "reads.bam"))
    with (
        pysam.AlignmentFile(str(example / "reads.bam")) as reads,
        pysam.FastaFile(str(example / "reference.fa")) as fasta,
    ):
        reference = fasta.fetch("chr20")
        records = list(reads)
    assert set(Counter((r.query_name, r.is_read1) for r in records).values()) == {1}
    assert len(records) == 2060
    operations: set[int] = set()
    for record in records:
        pairs = record.get_aligned_pairs(matches_only=True)
        wrong = sum(record.query_sequence[a] != reference[b] for a, b in pairs)
        assert wrong < 0.1 * len(pairs)
        operations |= {operation for operation, _ in record.cigartuples}
    assert operations == {pysam.CMATCH, pysam.CINS, pysam.CDEL, pysam.CSOFT_CLIP}


def test_amplicons_are_fastq(example: Path) -> None:
    assert sum(len(batch) for batch in read_fastq(example / "amplicons.fastq.gz")) == 200


def test_long_reads_lie_in_the_reference(example: Path) -> None:
    with pysam.FastxFile(str(example / "long_reads.fastq.gz")) as records:
        reads = [*records]
    assert len(reads) == 60
    for read in reads:
        locus, strand = read.comment.split()
        _, region = parse_locus(read.name, locus)
        assert region is not None
        assert strand in {"+", "-"}
        assert abs(region.end - region.start - len(read.sequence)) < 0.05 * len(read.sequence) + 20


def test_fastq_has_the_reads_as_sequenced(example: Path) -> None:
    with pysam.AlignmentFile(str(example / "reads.bam")) as reads:
        expected = [
            (f"{r.query_name}/{1 if r.is_read1 else 2}", r.get_forward_sequence()) for r in reads
        ]
    with pysam.FastxFile(str(example / "reads.fastq.gz")) as records:
        assert [(record.name, record.sequence) for record in records] == expected
