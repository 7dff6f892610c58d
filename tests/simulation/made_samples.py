"""Simulated samples written to files."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

import pysam

from hapgpu.arrays.batches import ReadBatch
from hapgpu.io.alignments.writer import open_writer
from hapgpu.simulation.paired_reads import PairedReadModel
from hapgpu.simulation.phased_variants import PhasedVariants, vcf_text
from hapgpu.simulation.sample import sample_header, simulated_reads
from hapgpu.simulation.variants import VariantKind, VariantModel, drawn_variants
from tests.haplotypes.made_references import slice_of


class SampleFiles(NamedTuple):
    """Inputs of `hapgpu genotype`: reads, reference and sites."""

    reads: Path
    reference: Path
    sites: Path


class MadeSample(NamedTuple):
    """The files of a sample, its variants, and the kind of each."""

    files: SampleFiles
    variants: PhasedVariants
    kinds: list[VariantKind]


def made_sample(directory: Path, text: str, ploidy: int, depth: float, seed: int = 1) -> MadeSample:
    """Simulate a sample of this depth per chromosome copy, with a variant every 150 bases.

    Its genotypes are drawn with equal probability.
    """
    reference = slice_of(text)
    variants, kinds = drawn_variants(reference, ploidy, VariantModel(spacing=150), seed)
    reads = simulated_reads(reference, variants, "NA1", PairedReadModel(depth=depth * ploidy), seed)
    return MadeSample(written_sample(directory, text, variants, reads), variants, kinds)


def written_sample(
    directory: Path, text: str, sites: PhasedVariants, reads: Iterable[ReadBatch]
) -> SampleFiles:
    """Write a reference of one contig, a list of sites, and the reads of sample NA1, sorted."""
    fasta, vcf, bam = (directory / name for name in ("made.fa", "sites.vcf", "reads.bam"))
    fasta.write_text(f">chr1\n{text}\n")
    pysam.faidx(str(fasta))
    vcf.write_text(vcf_text(sites, "chr1", len(text)))
    with open_writer(str(bam), sample_header("NA1", "chr1", len(text))) as writer:
        for batch in reads:
            writer.write(batch)
    pysam.index(str(bam))
    return SampleFiles(bam, fasta, vcf)
