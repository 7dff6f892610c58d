"""Haplotypes as FASTA: unique names and sequences, for any batches."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pysam
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hapgpu.haplotypes.locus_batches import LocusOptions, locus_batches
from hapgpu.haplotypes.pairing.haplotype_set import read_haplotypes
from hapgpu.haplotypes.pipeline import HaplotypeText
from hapgpu.io.genome.reference import ReferenceFasta
from hapgpu.io.vcf.records import VcfRecord
from tests.haplotypes.made_records import batches_of_records, references_and_records


@settings(max_examples=60)
@given(
    drawn=references_and_records(max_records=8),
    flank=st.integers(0, 12),
    max_combinations=st.integers(1, 9),
)
def test_names_and_haplotypes_are_unique_in_any_batches(
    tmp_path: Path, drawn: tuple[str, list[VcfRecord]], flank: int, max_combinations: int
) -> None:
    bases, records = drawn
    path = tmp_path / "ref.fa"
    path.write_text(f">chr1\n{bases}\n")
    pysam.faidx(str(path))
    options = LocusOptions(
        distance=flank, flank=flank, max_combinations=max_combinations, masks=False, phased=False
    )
    counts: Counter[str] = Counter()

    def count(name: str, number: int) -> None:
        counts[name] += number

    whole, by_locus = HaplotypeText(flank, count), HaplotypeText(flank, lambda _name, _number: None)
    text = bytearray()
    with ReferenceFasta(path) as reference:
        for batch in locus_batches(batches_of_records(records), reference, options, "calls.vcf"):
            text += whole.of(batch)
            loci = [batch.slice(k, k + 1) for k in range(len(batch.loci))]
            assert text.endswith(b"".join(by_locus.of(locus) for locus in loci))
    assert text.count(b">chr1_") == counts["haplotypes"]
    if not text:
        assert counts["loci_without_alt"] > 0
        return
    output = tmp_path / "haplotypes.fa"
    output.write_bytes(text)
    read = read_haplotypes(output)  # an error if a name occurs twice
    rows = [
        (int(k), row.tobytes()) for k, row in zip(read.locus_index, read.sequences, strict=True)
    ]
    assert len(set(rows)) == len(rows)
    for locus, sequence in zip(read.locus_index, read.sequences, strict=True):
        region = read.loci[locus]
        left, right = bases[region.start :][:flank], bases[: region.end][-flank:] if flank else ""
        bases_shown = sequence.tobytes().decode()
        # At an end of the contig, a flank is shorter.
        if region.start > 0:
            assert bases_shown.startswith(left)
        if region.end < len(bases):
            assert bases_shown.endswith(right)


@pytest.mark.parametrize("contig", ["chr1", "HLA-A*01:01"])
def test_header(tmp_path: Path, contig: str) -> None:
    path = tmp_path / "ref.fa"
    path.write_text(f">{contig}\nGATTACA\n")
    pysam.faidx(str(path))
    records = [VcfRecord("line 2", contig, 2, "T", ("TC", "<DEL>", "G"), (), "")]
    options = LocusOptions(distance=1, flank=1, max_combinations=64, masks=False, phased=False)
    with ReferenceFasta(path) as reference:
        (batch,) = locus_batches(batches_of_records(records), reference, options, "calls.vcf")
    text = HaplotypeText(1, lambda _name, _number: None).of(batch)
    assert text.decode().splitlines() == [
        f">{contig}_2_1 {contig}:2-4",
        "ATT",
        f">{contig}_2_2 {contig}:2-4 3:T>TC",
        "ATCT",
        f">{contig}_2_3 {contig}:2-4 3:T>G",
        "AGT",
    ]
