"""Records of sites with <NON_REF>: all alleles are kept."""

from __future__ import annotations

from hapgpu.calling.batches import VariantCalls
from hapgpu.calling.options import VariantOptions
from tests.calling.genotypes.made_sites import MadeSite, variants_at

NON_REF = "<NON_REF>"


def calls(*sites: MadeSite, max_alternates: int = 6) -> VariantCalls:
    options = VariantOptions(
        min_confidence=0.0, max_alternate_alleles=max_alternates, has_non_ref=True
    )
    return variants_at(sites, 1, options)


def phreds(alleles: int, best: int, other: int = 100) -> tuple[tuple[int, ...]]:
    """Return PL, 0 for one genotype."""
    row = [other] * (alleles * (alleles + 1) // 2)
    row[best] = 0
    return (tuple(row),)


def test_unlikely_alleles_are_kept() -> None:
    found = calls(MadeSite(5, ("A", "C", "G", NON_REF), phreds(4, 1)))
    assert found.site_alleles.tolist() == [0, 1, 2, 3]
    assert found.genotypes.tolist() == [[[0, 1]]]
    assert found.maximum_likelihood_counts.tolist()[1:] == [1, 0, 0]


def test_homozygous_reference_is_written_unless_it_is_certain() -> None:
    alleles = ("A", "C", NON_REF)
    likely = calls(MadeSite(5, alleles, phreds(3, 0, 30)))
    assert likely.genotypes.tolist() == [[[0, 0]]]
    assert 0 <= likely.qualities[0] < 1
    assert len(calls(MadeSite(5, alleles, phreds(3, 0, 3000)))) == 0


def test_spanning_deletions_need_a_covering_record() -> None:
    """Every record covers as many bases after its start as REF has, for <NON_REF> has none."""
    first = MadeSite(5, ("ACC", "A", NON_REF), phreds(3, 1))
    sites = [MadeSite(start, ("A", "*", "C", NON_REF), phreds(4, 4)) for start in (6, 8, 9, 11)]
    found = calls(first, *sites)
    counts = [int(count) for count in found.allele_offsets[1:] - found.allele_offsets[:-1]]
    assert counts == [3, 4, 4, 4, 3]


def test_a_certain_spanning_deletion_has_a_record_of_quality_0() -> None:
    """QUAL is of an ALT other than `*`: it reaches the minimal confidence, which is 0."""
    cover = MadeSite(4, ("AAA", "A", NON_REF), phreds(3, 1))
    found = calls(cover, MadeSite(5, ("A", "C", "*", NON_REF), phreds(4, 5, 9000)))
    assert found.sites.tolist() == [0, 1]
    assert found.qualities[1] == 0
    assert found.genotypes[1].tolist() == [[2, 2]]


def test_the_limit_of_alleles_leaves_out_non_ref() -> None:
    alleles = ("A", "C", "G", "T", NON_REF)
    found = calls(MadeSite(5, alleles, phreds(5, 6)), max_alternates=1)
    assert found.site_alleles.tolist() == [0, 3, 4]


def test_symbols_have_no_suffix() -> None:
    alleles = ("ACC", "TCC", "*", NON_REF)
    cover = MadeSite(4, ("AAA", "A", NON_REF), phreds(3, 1))
    found = calls(cover, MadeSite(5, alleles, phreds(4, 1)), max_alternates=2)
    texts = [found.alleles[k].tobytes().decode() for k in range(3, 7)]
    assert texts == ["A", "T", "*", NON_REF]


def test_non_ref_has_the_prior_of_an_indel() -> None:
    """Its text is as long as this REF."""
    reference = "A" * len(NON_REF)
    long = calls(MadeSite(5, (reference, "A", NON_REF), phreds(3, 3)))
    short = calls(MadeSite(5, ("AA", "A", NON_REF), phreds(3, 3)))
    assert long.qualities.tolist() == short.qualities.tolist()
