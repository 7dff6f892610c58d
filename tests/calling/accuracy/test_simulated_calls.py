"""Calls of a simulated sample with many variants and repeats, compared with its haplotypes."""

from __future__ import annotations

from pathlib import Path

from hapgpu.simulation.phased_variants import vcf_text
from tests.calling.accuracy.variant_matching import matched, placed_alleles
from tests.cli.call.command import status_of
from tests.haplotypes.made_references import random_text
from tests.simulation.made_samples import made_sample

TEXT = random_text(40_000, 11)


def test_all_alleles_are_right(tmp_path: Path) -> None:
    sample = made_sample(tmp_path, TEXT, 2, 20)
    out, truth = tmp_path / "calls.vcf", tmp_path / "truth.vcf"
    truth.write_text(vcf_text(sample.variants, "chr1", len(TEXT), "NA1"))
    assert status_of(sample.files.reads, sample.files.reference, "-q", "-o", out) == 0
    expected = placed_alleles(truth, "chr1", is_true=True)
    result = matched(expected, placed_alleles(out, "chr1", is_true=False), TEXT)
    assert len(expected) > 100
    assert result.right == set(expected)
    assert not result.false
