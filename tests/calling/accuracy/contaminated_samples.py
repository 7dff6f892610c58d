"""Simulated samples whose reads contain reads of another sample, and false calls of them."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import pysam

from hapgpu.simulation.paired_reads import PairedReadModel
from hapgpu.simulation.phased_variants import vcf_text
from hapgpu.simulation.sample import simulated_reads
from hapgpu.simulation.variants import VariantModel, drawn_variants
from tests.calling.accuracy.variant_matching import matched, placed_alleles
from tests.cli.call.command import status_of
from tests.haplotypes.made_references import slice_of
from tests.simulation.made_samples import written_sample


class Contaminated(NamedTuple):
    """Reads of a sample and of a contaminant, the reference, and the variants of the sample."""

    reads: Path
    reference: Path
    truth: Path
    text: str


def contaminated_sample(
    directory: Path, text: str, depth: float, fraction: float, spacing: int, seed: int = 1
) -> Contaminated:
    """Simulate a sample of which a fraction of the reads is of another sample."""
    reference = slice_of(text)
    paths = []
    for number, share in enumerate((1 - fraction, fraction)):
        part = directory / str(number)
        part.mkdir()
        model = VariantModel(spacing=spacing)
        variants, _ = drawn_variants(reference, 2, model, seed + 1000 * number)
        reads = simulated_reads(
            reference, variants, "NA1", PairedReadModel(depth=depth * share), seed + number
        )
        paths.append(written_sample(part, text, variants, reads))
        if not number:
            truth = directory / "truth.vcf"
            truth.write_text(vcf_text(variants, "chr1", len(text), "NA1"))
    joined = directory / "joined.bam"
    unsorted = directory / "unsorted.bam"
    with (
        pysam.AlignmentFile(str(paths[0].reads)) as own,
        pysam.AlignmentFile(str(unsorted), "wb", template=own) as out,
    ):
        for number, files in enumerate(paths):
            with pysam.AlignmentFile(str(files.reads)) as source:
                for read in source:
                    read.query_name = f"{number}_{read.query_name}"
                    out.write(read)
    pysam.sort("-o", str(joined), str(unsorted))
    pysam.index(str(joined))
    return Contaminated(joined, paths[0].reference, truth, text)


class Counts(NamedTuple):
    """Alleles that are called rightly, wrongly, and not."""

    right: int
    false: int
    missed: int


def counts_of(sample: Contaminated, out: Path, *options: str) -> Counts:
    """Call a sample; count the alleles."""
    assert status_of(sample.reads, sample.reference, "-q", "-o", out, *options, threads=1) == 0
    expected = placed_alleles(sample.truth, "chr1", is_true=True)
    found = matched(expected, placed_alleles(out, "chr1", is_true=False), sample.text)
    return Counts(len(found.right), len(found.false), len(found.missed))
