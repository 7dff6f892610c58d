"""Calls of a simulated sample with many variants and repeats, compared with its haplotypes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from hapgpu.simulation.phased_variants import vcf_text
from tests.calling.accuracy.clipped_samples import clipped_sample
from tests.calling.accuracy.variant_matching import Placed, matched, placed_alleles
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


def kind_of(allele: Placed) -> str:
    replaced = allele.end - allele.start
    if len(allele.text) == replaced:
        return "SNV"
    return "duplication" if len(allele.text) > replaced else "deletion"


@pytest.mark.parametrize(
    "seed", [2, *(pytest.param(seed, marks=pytest.mark.exhaustive) for seed in (1, 3))]
)
def test_duplications_and_deletions_whose_reads_are_clipped(tmp_path: Path, seed: int) -> None:
    """Of 60 to 150 bases, and SNVs beside them: nearly all, and GATK's rules lose half of them."""
    text = random_text(30_000, 20 + seed)
    sample = clipped_sample(tmp_path, text, 40, seed)
    truth = tmp_path / "truth.vcf"
    truth.write_text(vcf_text(sample.variants, "chr1", len(text), "NA1"))
    expected = placed_alleles(truth, "chr1", is_true=True)
    results = []
    for number, options in enumerate(([], ["--gatk-strict"])):
        out = tmp_path / f"{number}.vcf"
        inputs = (sample.files.reads, sample.files.reference)
        assert status_of(*inputs, "-q", "-o", out, *options) == 0
        results.append(matched(expected, placed_alleles(out, "chr1", is_true=False), text))
    ours, strict = results
    sizes = [abs(len(allele.text) - (allele.end - allele.start)) for allele in expected]
    long = [allele for allele in expected if kind_of(allele) != "SNV"]
    assert (min(size for size in sizes if size) < 90, max(sizes) > 140) == (True, True)
    assert {kind_of(allele) for allele in ours.right} == {"SNV", "duplication", "deletion"}
    assert not ours.false
    assert not [allele for allele in ours.missed if kind_of(allele) == "SNV"]
    assert len(ours.right) >= len(expected) - 2
    assert len(strict.right & set(long)) < len(long) / 2
    if seed == 2:
        assert ours.right == set(expected)


def test_outcomes_of_regions_are_counted(tmp_path: Path) -> None:
    """Cycles are unrolled, or nothing is assembled by GATK's rules; few haplotypes are a limit."""
    sample = clipped_sample(tmp_path, random_text(12_000, 22), 40, 2)
    inputs, statistics = (sample.files.reads, sample.files.reference), tmp_path / "run.json"
    outcomes = []
    for options in ([], ["--gatk-strict"], ["--max-num-haplotypes-in-population", "1"]):
        out = tmp_path / "calls.vcf"
        assert status_of(*inputs, "-q", "-o", out, "--json", statistics, *options) == 0
        counts = json.loads(statistics.read_text())["counts"]
        names = ("cyclic_regions", "regions_not_assembled", "regions_at_haplotype_limit")
        outcomes.append(tuple(counts[name] for name in names))
        assert max(outcomes[-1]) <= counts["active_regions"]
    (cyclic, failed, limited), (strict_cyclic, strict_failed, _), (_, _, few) = outcomes
    assert cyclic > 0
    assert (failed, limited, strict_cyclic) == (0, 0, 0)
    assert strict_failed > 0
    assert few > 5
