"""Simulated samples written to files."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import pysam

from hapgpu.genotyping.simulation.fragments import ReadModel
from hapgpu.genotyping.simulation.phased_variants import PhasedVariants, vcf_text
from hapgpu.genotyping.simulation.sample import sample_header, simulated_reads
from hapgpu.genotyping.simulation.variants import VariantKind, VariantModel, drawn_variants
from hapgpu.io.records import open_writer
from tests.genotyping.made_references import slice_of


class MadeSample(NamedTuple):
    """The files of a sample, and what it carries; the kind of each variant."""

    reads: Path
    reference: Path
    sites: Path
    variants: PhasedVariants
    kinds: list[VariantKind]

    @property
    def files(self) -> tuple[Path, Path, Path]:
        """Reads, reference and sites, as `hapgpu genotype` takes them."""
        return self.reads, self.reference, self.sites


def made_sample(folder: Path, text: str, ploidy: int, depth: float, seed: int = 1) -> MadeSample:
    """Simulate a sample of this depth per chromosome copy, with a variant every 150 bases.

    Its genotypes are drawn with equal probability.
    """
    reference, header = slice_of(text), sample_header("NA1", "chr1", len(text))
    variants, kinds = drawn_variants(reference, ploidy, VariantModel(spacing=150), seed)
    fasta, sites, bam = (folder / name for name in ("made.fa", "sites.vcf", "reads.bam"))
    fasta.write_text(f">chr1\n{text}\n")
    pysam.faidx(str(fasta))
    sites.write_text(vcf_text(variants, "chr1", len(text)))
    model = ReadModel(depth=depth * ploidy)
    with open_writer(str(bam), header) as writer:
        for batch in simulated_reads(reference, variants, "NA1", model, seed):
            writer.write(batch)
    pysam.index(str(bam))
    return MadeSample(bam, fasta, sites, variants, kinds)
