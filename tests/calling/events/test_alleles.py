"""Alleles at sites of active regions."""

from __future__ import annotations

import numpy as np
import pytest

from hapgpu.arrays.ragged import Ragged, offsets_of
from hapgpu.calling.batches import CallSites
from hapgpu.calling.events.alleles import call_sites, limited
from hapgpu.calling.events.trimming import trimmed_to_variants
from tests.calling.events.event_oracle import expected_alleles
from tests.calling.events.made_haplotypes import (
    Haplotype,
    alleles_of,
    haplotypes_of,
    reference_of,
    regions_of,
    rows_of,
)
from tests.calling.events.test_trimming import random_regions

MAX_ALLELES = 44  # GATK's --max-genotype-count 1024, diploid

BEFORE, AFTER = "GTCAGTCCTAGACTTGACCA" * 5, "TGCATTGCAGGTACCATTGC" * 5


def sites_of(middle: str, start: int, *haplotypes: Haplotype) -> tuple[CallSites, list[str]]:
    """Return the sites of an active region, and its haplotypes, both without `BEFORE`, `AFTER`.

    `middle` is the reference of the active span, which starts at position `start`.
    """
    padding = len(BEFORE)
    rows = [(BEFORE + bases + AFTER, f"{padding}M{cigar}{padding}M") for bases, cigar in haplotypes]
    own = BEFORE + middle + AFTER
    rows.append((own, f"{len(own)}M"))
    reference = reference_of(own, start - padding)
    end = start + len(middle)
    regions = regions_of((start, end, start - padding, end + padding))
    trimmed = trimmed_to_variants(haplotypes_of([rows], [own]), regions, reference)
    low = int(trimmed.regions.padded_starts[0]) - (start - padding)
    high = int(trimmed.regions.padded_ends[0]) - (start - padding)
    texts = [bytes(row).decode() for row in trimmed.haplotypes.bases]
    names = [texts.index(bases[low : len(bases) - (len(own) - high)]) for bases, _ in rows]
    return call_sites(trimmed, reference), [f"h{names.index(k)}" for k in range(len(names))]


def carriers(sites: CallSites, names: list[str], site: int) -> dict[str, list[str]]:
    """Return the alleles of a site, in their order, each with its haplotypes."""
    numbers = sites.haplotype_alleles[site]
    return {
        allele: [name for name, number in zip(names, numbers, strict=True) if number == k]
        for k, allele in enumerate(alleles_of(sites, site))
    }


def test_spanning_deletion() -> None:
    """At 1000, A>G in h0; h1 has a deletion from 995 on; h2 is the reference."""
    middle = "ACTGGACAACT"
    snp = ("ACTGGGCAACT", "11M")
    deletion = ("A", "1M10D")
    sites, names = sites_of(middle, 995, snp, deletion)
    assert sites.starts.tolist() == [995, 1000]
    assert sites.ends.tolist() == [1006, 1001]
    assert carriers(sites, names, 0) == {"ACTGGACAACT": ["h2", "h0"], "A": ["h1"]}
    found = carriers(sites, names, 1)
    assert found == {"A": ["h2"], "*": ["h1"], "G": ["h0"]}
    assert list(found) == ["A", "*", "G"]


def test_deletion_and_snp_at_one_position() -> None:
    middle = "ACTGGTCAACTCT"
    sites, names = sites_of(middle, 1000, ("GCTGGTCAACTCT", "13M"), ("A", "1M12D"))
    assert sites.starts.tolist() == [1000]
    found = carriers(sites, names, 0)
    assert found == {middle: ["h2"], "A": ["h1"], "GCTGGTCAACTCT": ["h0"]}
    assert list(found) == [middle, "A", "GCTGGTCAACTCT"]


def test_haplotype_with_a_spanning_deletion_and_an_event() -> None:
    """An insertion after a deletion: at its position, the deletion that ends there is ignored."""
    middle = "AACGGTCA"
    both = ("AATTTCA", "2M3D2I3M")
    sites, names = sites_of(middle, 500, both)
    assert sites.starts.tolist() == [501, 504]
    assert carriers(sites, names, 0) == {"ACGG": ["h1"], "A": ["h0"]}
    assert carriers(sites, names, 1) == {"G": ["h1"], "GTT": ["h0"]}


def test_event_after_a_spanning_complex_event() -> None:
    """A deletion with a SNP at its first base is as simple as another; a replacement is not."""
    middle = "AACGGTCA"
    snp_and_deletion = ("AGTTTCA", "2M3D2I3M")
    sites, names = sites_of(middle, 500, snp_and_deletion)
    assert carriers(sites, names, 0) == {"ACGG": ["h1"], "G": ["h0"]}
    assert carriers(sites, names, 1) == {"G": ["h1"], "GTT": ["h0"]}
    replaced = ("AACCTTTCA", "2M2I3D2I3M")
    sites, names = sites_of(middle, 500, replaced)
    assert carriers(sites, names, 0) == {"ACGG": ["h1"], "ACC": ["h0"]}
    found = carriers(sites, names, 1)
    assert found == {"G": ["h1"], "*": ["h0"], "GTT": []}


def test_an_event_of_several_haplotypes_is_one_allele() -> None:
    """Also the first event of all: h0, of which it is, precedes the reference."""
    sites, names = sites_of("TGTCG", 100, ("AGTCG", "5M"), ("AGTCT", "5M"))
    assert carriers(sites, names, 0) == {"T": ["h2"], "A": ["h0", "h1"]}
    assert carriers(sites, names, 1) == {"G": ["h0", "h2"], "T": ["h1"]}


def test_shorter_references_are_extended() -> None:
    middle = "GACACACT"
    sites, names = sites_of(
        middle, 100, ("GACT", "1M4D3M"), ("GACACT", "1M2D5M"), ("GACACACACT", "1M2I7M")
    )
    assert carriers(sites, names, 0) == {
        "GACAC": ["h3"],
        "G": ["h0"],
        "GAC": ["h1"],
        "GACACAC": ["h2"],
    }


def test_no_sites() -> None:
    trimmed = trimmed_to_variants(haplotypes_of([]), regions_of(), reference_of(BEFORE))
    sites = call_sites(trimmed, reference_of(BEFORE))
    assert len(sites) == len(sites.alleles) == len(sites.haplotype_alleles) == 0


def site_with_scores(scores: dict[str, list[float]]) -> tuple[CallSites, list[float]]:
    """Return a site with REF A, whose haplotype is the first and has no score."""
    numbers = [0, *(k + 1 for k, own in enumerate(scores.values()) for _ in own)]
    sites = CallSites(
        np.array([0]),
        np.array([10]),
        np.array([11]),
        np.array([0, len(scores) + 1]),
        Ragged.from_sequences(["A", *scores]),
        Ragged(np.array(numbers, dtype=np.int16), np.array([0, len(numbers)])),
    )
    return sites, [np.nan, *(score for own in scores.values() for score in own)]


SCORES = {"C": [-3.0], "T": [-2.0, -3.0], "TT": [-3.0, -2.0], "G": [-5.0, -3.0]}


@pytest.mark.parametrize(
    ("limit", "kept"),
    [
        (5, ["A", "C", "T", "TT", "G"]),
        (4, ["A", "T", "TT", "G"]),
        (3, ["A", "T", "TT"]),
        (2, ["A", "T"]),
        (1, ["A"]),
    ],
)
def test_alleles_are_kept_by_scores(limit: int, kept: list[str]) -> None:
    sites, scores = site_with_scores(SCORES)
    haplotypes = haplotypes_of([[("A", "1M")] * len(scores)], scores=scores)
    made = limited(sites, haplotypes, limit)
    assert alleles_of(made, 0) == kept
    old = ["A", *(allele for allele, own in SCORES.items() for _ in own)]
    assert made.haplotype_alleles[0].tolist() == [
        kept.index(allele) if allele in kept else -1 for allele in old
    ]


def test_only_sites_with_too_many_alleles_change() -> None:
    first, scores = site_with_scores(SCORES)
    second, others = site_with_scores({"AT": [-1.0]})
    sites = CallSites(
        np.array([0, 1]),
        np.array([10, 20]),
        np.array([11, 21]),
        np.array([0, 5, 7]),
        Ragged.concatenate([first.alleles, second.alleles]),
        Ragged.concatenate([first.haplotype_alleles, second.haplotype_alleles]),
    )
    rows = [[("A", "1M")] * len(scores), [("A", "1M")] * len(others)]
    made = limited(sites, haplotypes_of(rows, scores=[*scores, *others]), 2)
    assert made.allele_offsets.tolist() == [0, 2, 4]
    assert alleles_of(made, 1) == ["A", "AT"]
    assert made.haplotype_alleles[1].tolist() == [0, 1]


def test_limit_of_a_whole_site() -> None:
    """50 insertions at one position: those of the 43 haplotypes with the best scores are kept."""
    own, at = BEFORE + AFTER, len(BEFORE)
    rows = [(f"{BEFORE}{'AC' * k}{AFTER}", f"{at}M{2 * k}I{len(AFTER)}M") for k in range(1, 51)]
    scores = [-float(k) for k in range(len(rows))]
    trimmed = trimmed_to_variants(
        haplotypes_of([[*rows, (own, f"{len(own)}M")]], [own], [*scores, np.nan]),
        regions_of((at - 1, at + 1, 0, len(own))),
        reference_of(own),
    )
    sites = call_sites(trimmed, reference_of(own))
    assert sites.starts.tolist() == [at - 1]
    assert sites.allele_offsets.tolist() == [0, MAX_ALLELES]
    is_dropped = sites.haplotype_alleles[0] == -1
    np.testing.assert_array_equal(is_dropped, trimmed.haplotypes.scores <= 1 - MAX_ALLELES)


@pytest.mark.parametrize("seed", range(20))
def test_random_regions_by_the_rules(seed: int) -> None:
    reference, regions, rows = random_regions(seed)
    references = [reference[region[2] : region[3]] for region in regions]
    own = reference_of(reference)
    trimmed = trimmed_to_variants(haplotypes_of(rows, references), regions_of(*regions), own)
    sites = call_sites(trimmed, own)
    events = rows_of(trimmed.events, own)
    expected = []
    for region, (start, end) in enumerate(
        zip(trimmed.regions.starts, trimmed.regions.ends, strict=True)
    ):
        first, last = trimmed.haplotypes.offsets[region : region + 2]
        positions = {event[0] for row in events[first:last] for event in row}
        for position in sorted(position for position in positions if start <= position < end):
            alleles, numbers = expected_alleles(events[first:last], position, reference)
            expected.append((region, position, position + len(alleles[0]), alleles, numbers))
    found = [
        (
            int(sites.regions[site]),
            int(sites.starts[site]),
            int(sites.ends[site]),
            alleles_of(sites, site),
            sites.haplotype_alleles[site].tolist(),
        )
        for site in range(len(sites))
    ]
    assert found == expected
    assert (
        sites.haplotype_alleles.offsets.tolist()
        == offsets_of([len(row[4]) for row in expected]).tolist()
    )
