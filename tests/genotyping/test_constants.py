"""Constants of GATK and of the formats, by their names there."""

from __future__ import annotations

import math

import pytest

from hapgpu.genotyping.pipeline import _LOCUS_OPTIONS, LocusOptions
from tests.constants import Rows, constant, names, not_as_named

ROWS: Rows = [
    ("genotyping.calls.genotypes._HIGHEST_QUALITY", 99, "VCFConstants.MAX_GENOTYPE_QUAL"),
    ("genotyping.calls.genotypes._HIGHEST_PHRED", 2**31 - 1, "Integer of VCF"),
    ("genotyping.calls.likelihoods._CLEARLY_BETTER", 0.2, "LOG_10_INFORMATIVE_THRESHOLD"),
    ("genotyping.calls.priors._RARITY", 0.145, "1 / ln(1000)"),
    ("genotyping.calls.chromosome_counts._MAX_CHROMOSOMES", 2.0**31 - 1, "Integer of VCF"),
    ("genotyping.calls.vcf_lines._MANTISSA_BITS", 53, "IEEE 754 binary64"),
    ("genotyping.genotyper.MIN_BASES", 10, "READ_LENGTH_FILTER_THRESHOLD"),
    ("genotyping.genotyper.GenotypeOptions.ploidy", 2, "--sample-ploidy"),
    ("genotyping.genotyper.GenotypeOptions.min_mapping_quality", 20, "--minimum-mapping-quality"),
    ("genotyping.reads.filters._NO_EVIDENCE", 0x4 | 0x100 | 0x200 | 0x400 | 0x800, "SAM"),
    ("genotyping.reads.filters._UNAVAILABLE", 255, "SAM"),
    ("genotyping.reads.filters.FilterOptions.min_mapping_quality", 20, "--minimum-shortread-.."),
    # Chosen for this method; docs/methods/genotype.md states them.
    ("genotyping.genotyper.MARGIN", 60, "Rules"),
    ("genotyping.reads.filters.FilterOptions.margin", 60, "Rules"),
    ("genotyping.options.MAX_PLOIDY", 4, "Rules"),
    ("genotyping.calls.genotype_order.MAX_GENOTYPES", 10_000, "Rules"),
    ("genotyping.reads.spanning._MIN_SPANNING_FRACTION", 0.1, "Rules"),
    ("genotyping.reads.fragment_likelihoods._WORST_DIFFERENCE_IF_POOR", -1.5, "Rules"),
    ("genotyping.reads.fragment_likelihoods._WORST_DIFFERENCE_IF_FAR", -1.0, "Rules"),
    ("genotyping.reads.fragment_likelihoods._FAR", -24.0, "Rules"),
]


@pytest.mark.parametrize(("name", "value", "source"), ROWS, ids=names(ROWS))
def test_constants(name: str, value: object, source: str) -> None:
    assert constant(name) == value, source


def test_haplotypes_of_loci() -> None:
    """The rules of docs/methods/genotype.md."""
    assert (
        LocusOptions(distance=60, flank=100, max_combinations=64, masks=True, phased=False)
        == _LOCUS_OPTIONS
    )


def test_the_rarity_of_variants() -> None:
    assert constant("genotyping.calls.priors._RARITY") == pytest.approx(
        1 / math.log(1000), abs=5e-4
    )


def test_numbers_are_named_by_their_values() -> None:
    assert not not_as_named("genotyping")
