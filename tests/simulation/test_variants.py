"""Random variants: valid, left-aligned, apart from each other; their genotypes."""

from __future__ import annotations

import shutil
import subprocess
from collections import Counter
from itertools import pairwise
from pathlib import Path

import numpy as np
import pysam
import pytest

from hapgpu.simulation.phased_variants import PhasedVariants, vcf_text
from hapgpu.simulation.variants import VariantKind, VariantModel, drawn_variants
from tests.haplotypes.made_references import copy_texts, random_text, slice_of

START = 500
TEXT = random_text(100_000, 3)
MODEL = VariantModel(spacing=120)
LONG = {VariantKind.TANDEM_DUPLICATION, VariantKind.LONG_DELETION}
"""Kinds that are drawn only if a model has them."""


@pytest.fixture(scope="module")
def drawn() -> tuple[PhasedVariants, list[VariantKind]]:
    return drawn_variants(slice_of(TEXT, START), 2, MODEL)


def test_alleles_fit_the_kind(drawn: tuple[PhasedVariants, list[VariantKind]]) -> None:
    variants, kinds = drawn
    assert len(kinds) == len(variants) > 300
    assert set(kinds) == set(VariantKind) - LONG
    variants.check(slice_of(TEXT, START))
    for variant, kind in enumerate(kinds):
        reference, *others = texts = variants.texts(variant)
        assert len(set(texts)) == len(texts)
        lengths = {len(text) - len(reference) for text in others}
        is_substitution = kind in {VariantKind.SNV, VariantKind.MNV, VariantKind.MULTI_SNV}
        assert (lengths == {0}) == is_substitution
        assert (len(others) > 1) == kind.startswith("multi")
        assert (len(reference) > 1) == (kind == VariantKind.MNV) or not is_substitution
        if kind == VariantKind.INSERTION:
            assert min(lengths) > 0
        if kind == VariantKind.DELETION:
            assert max(lengths) < 0


def test_a_repeat_has_at_least_five_units(drawn: tuple[PhasedVariants, list[VariantKind]]) -> None:
    variants, kinds = drawn
    for variant in np.flatnonzero([kind.endswith("repeat") for kind in kinds]):
        texts = variants.texts(variant)
        following = TEXT[variants.starts[variant] - START + 1 :]
        changes = {len(text) - len(texts[0]) for text in texts[1:]}
        units = [size for size in range(1, 7) if following.startswith(following[:size] * 5)]
        assert any(change % size == 0 for size in units for change in changes)


def test_sizes_of_indels_and_units_of_repeats() -> None:
    model = VariantModel(spacing=120, mean_indel=30.0, longest_indel=50, min_repeat_unit=2)
    variants, kinds = drawn_variants(slice_of(TEXT), 2, model)
    sizes = []
    for variant, kind in enumerate(kinds):
        reference, *others = variants.texts(variant)
        changes = [abs(len(text) - len(reference)) for text in others]
        if kind in {VariantKind.INSERTION, VariantKind.DELETION}:
            sizes += changes
        if kind.endswith("repeat"):
            following = TEXT[variants.starts[variant] + 1 :]
            assert following[:5] != following[0] * 5
    assert 20 < np.mean(sizes) < 30
    assert max(sizes) == 50


def test_tandem_duplications_and_long_deletions() -> None:
    model = VariantModel(
        frequencies=dict.fromkeys(LONG, 0.5),
        spacing=300,
        duplication_lengths=(60, 90),
        long_deletion_lengths=(51, 70),
    )
    variants, kinds = drawn_variants(slice_of(TEXT, START), 2, model)
    variants.check(slice_of(TEXT, START))
    assert set(kinds) == LONG
    sizes: dict[VariantKind, set[int]] = {kind: set() for kind in LONG}
    for variant, kind in enumerate(kinds):
        start = int(variants.starts[variant]) - START + 1
        reference, other = variants.texts(variant)
        sizes[kind].add(abs(len(other) - len(reference)))
        if kind == VariantKind.TANDEM_DUPLICATION:
            inserted = other[1:]
            assert len(reference) == 1
            assert TEXT[start : start + len(inserted)] == inserted
        else:
            assert len(other) == 1
    bounds = {kind: (min(found), max(found)) for kind, found in sizes.items()}
    assert bounds[VariantKind.TANDEM_DUPLICATION] == (60, 90)
    assert bounds[VariantKind.LONG_DELETION] == (51, 70)


def test_no_variant_lies_in_the_shift_range_of_another(
    drawn: tuple[PhasedVariants, list[VariantKind]],
) -> None:
    variants, _ = drawn
    shift_ranges = []
    for variant, start in enumerate((variants.starts - START).tolist()):
        reference, *others = variants.texts(variant)
        shift_end = start + len(reference)
        for other in others:
            old, new = reference[1:], other[1:]
            if len(other) == len(reference):
                continue
            changed = TEXT[:start] + other + TEXT[start + len(reference) :]
            for at in range(start, start + 200):
                size = abs(len(new) - len(old))
                longer, shorter = sorted((TEXT, changed), key=len, reverse=True)
                if longer[:at] + longer[at + size :] == shorter:
                    shift_end = max(shift_end, at + size if len(other) < len(reference) else at)
                    assert at > start
        shift_ranges.append((start, shift_end))
    assert all(end < start for (_, end), (start, _) in pairwise(shift_ranges))
    assert (
        0.03 < np.mean([start - end < 10 for (_, end), (start, _) in pairwise(shift_ranges)]) < 0.3
    )


@pytest.mark.parametrize("ploidy", [1, 2, 3, 4])
def test_genotypes_are_equally_frequent_and_on_any_copy(ploidy: int) -> None:
    model = VariantModel(frequencies={VariantKind.SNV: 1.0}, spacing=40)
    variants, _ = drawn_variants(slice_of(TEXT), ploidy, model, seed=5)
    assert variants.ploidy == ploidy
    counts = Counter(variants.genotypes.sum(axis=1).tolist())
    expected = len(variants) / (ploidy + 1)
    assert set(counts) == set(range(ploidy + 1))
    assert all(abs(count - expected) < 5 * expected**0.5 for count in counts.values())
    carried = variants.genotypes.sum(axis=0)
    assert (np.abs(carried - len(variants) / 2) < 5 * len(variants) ** 0.5 / 2).all()


def test_genotypes_of_a_population_vary_with_its_frequencies() -> None:
    """One of two copies differs at 2w / (1 + w)(2 + w) of the sites, both at w / (2 + w)."""
    weight = 0.5
    frequencies = {VariantKind.SNV: 1.0}
    model = VariantModel(frequencies=frequencies, spacing=40, alternative_weight=weight)
    variants, _ = drawn_variants(slice_of(TEXT), 2, model, seed=5)
    counts = np.bincount(variants.genotypes.sum(axis=1), minlength=3) / len(variants)
    one = 2 * weight / ((1 + weight) * (2 + weight))
    both = weight / (2 + weight)
    tolerance = 4 * (0.25 / len(variants)) ** 0.5
    np.testing.assert_allclose(counts, [1 - one - both, one, both], atol=tolerance)


def test_seeds_repeat(drawn: tuple[PhasedVariants, list[VariantKind]]) -> None:
    again, other = (drawn_variants(slice_of(TEXT, START), 2, MODEL, seed)[0] for seed in (1, 2))
    np.testing.assert_array_equal(again.starts, drawn[0].starts)
    np.testing.assert_array_equal(again.genotypes, drawn[0].genotypes)
    assert again.starts.tolist() != other.starts.tolist()


def test_variants_keep_away_from_letters_other_than_bases() -> None:
    text = TEXT[:5000] + "N" * 3000 + TEXT[8000:12_000] + "R" + TEXT[12_001:20_000]
    variants, _ = drawn_variants(slice_of(text), 2, MODEL)
    assert len(variants) > 30
    for start, end in zip(variants.starts.tolist(), variants.ends.tolist(), strict=True):
        assert set(text[start - 150 : end + 150]) <= set("ACGT")


def test_tiles_repeat_the_variants() -> None:
    text = TEXT[:4000]
    variants, _ = drawn_variants(slice_of(text), 2, MODEL)
    tiled = variants.tiled(len(text), 3)
    tiled.check(slice_of(text * 3))
    assert copy_texts(text * 3, tiled) == [copy * 3 for copy in copy_texts(text, variants)]


def test_pysam_reads_the_vcf(
    drawn: tuple[PhasedVariants, list[VariantKind]], tmp_path: Path
) -> None:
    variants, _ = drawn
    path = tmp_path / "truth.vcf"
    path.write_text(vcf_text(variants, "chr1", START + len(TEXT), "NA1"))
    with pysam.VariantFile(str(path)) as file:
        assert file.header.contigs["chr1"].length == START + len(TEXT)
        for variant, record in enumerate(file):
            assert record.start == variants.starts[variant]
            assert list(record.alleles) == variants.texts(variant)
            assert list(record.samples["NA1"]["GT"]) == variants.genotypes[variant].tolist()
            assert record.samples["NA1"].phased
    assert variant == len(variants) - 1
    sites = vcf_text(variants, "chr1", START + len(TEXT)).splitlines()
    assert sites[-1].split("\t") == path.read_text().splitlines()[-1].split("\t")[:8]


@pytest.mark.skipif(shutil.which("bcftools") is None, reason="bcftools is not installed")
def test_bcftools_has_nothing_to_normalize(
    drawn: tuple[PhasedVariants, list[VariantKind]], tmp_path: Path
) -> None:
    reference, sites = tmp_path / "made.fa", tmp_path / "sites.vcf"
    reference.write_text(f">chr1\n{'N' * START}{TEXT}\n")
    pysam.faidx(str(reference))
    sites.write_text(vcf_text(drawn[0], "chr1", START + len(TEXT)))
    command = ["bcftools", "norm", "-f", str(reference), str(sites), "-o", str(tmp_path / "n.vcf")]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    total = len(drawn[0])
    assert f"{total}/0/0/0" in done.stderr
