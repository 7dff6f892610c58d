"""What evidence gives a haplotype, rule by rule, and which k are tried."""

from __future__ import annotations

import numpy as np
import pytest

from hapgpu.arrays.ragged import Ragged
from hapgpu.calling.assembly.haplotypes import AssembledPaths, haplotypes_of
from hapgpu.calling.options import AssemblyOptions
from hapgpu.runtime.devices import CpuDevice
from tests.calling.assembly.kmer_graphs.made_graphs import reads_of
from tests.calling.assembly.kmer_graphs.plain_graph import PlainRead
from tests.calling.assembly.plain_assembly import Region
from tests.calling.assembly.test_assembler import random_bases, strings_of

RNG = np.random.default_rng(19)
REFERENCE = random_bases(160, RNG)
AT = 80
OTHER = REFERENCE[:AT] + ("C" if REFERENCE[AT] != "C" else "G") + REFERENCE[AT + 1 :]


def found(reference: str, reads: list[PlainRead], **options: object) -> list[str]:
    (strings,) = strings_of([Region(reference, reads)], AssemblyOptions(**options))
    return strings


@pytest.mark.parametrize(
    ("samples", "min_pruning", "is_found"),
    [
        ([0, 1], 2, False),
        ([0, 1, 2, 3, 4], 2, False),
        ([0, 1, 1], 2, True),
        ([1, 0, 1], 2, True),
        ([0, 0, 1, 1], 3, False),
        ([0], 1, True),
        ([0], 0, True),
    ],
)
def test_one_sample_must_have_the_reads(
    samples: list[int], min_pruning: int, is_found: bool
) -> None:
    reads = [PlainRead(OTHER, [30] * len(OTHER), sample) for sample in samples]
    assert found(REFERENCE, reads, min_pruning=min_pruning) == [OTHER] * is_found


@pytest.mark.parametrize(
    ("base", "quality", "is_found"), [(None, 10, True), (None, 9, False), ("N", 30, False)]
)
def test_bad_bases_break_reads(base: str | None, quality: int, is_found: bool) -> None:
    text = OTHER[:AT] + (base or OTHER[AT]) + OTHER[AT + 1 :]
    qualities = [30] * AT + [quality] + [30] * (len(text) - AT - 1)
    assert found(REFERENCE, [PlainRead(text, qualities)] * 3) == [OTHER] * is_found


def test_a_bad_base_beside_a_variant_leaves_a_dangling_end_that_is_joined() -> None:
    """Reads are good up to 5 bases after the variant: a tail whose last 5 bases match."""
    qualities = [30] * (AT + 6) + [2] * (len(OTHER) - AT - 6)
    assert found(REFERENCE, [PlainRead(OTHER, qualities)] * 3) == [OTHER]
    assert found(REFERENCE, [PlainRead(OTHER[::-1], qualities[::-1])] * 3) == []
    reverse = [PlainRead(OTHER[AT - 5 :], [30] * (len(OTHER) - AT + 5))] * 3
    assert found(REFERENCE, reverse) == [OTHER]


@pytest.mark.parametrize(
    ("kmer_sizes", "repeat"), [((5,), 12), ((25, 10), 30), ((100,), 105), ((100,), 170)]
)
def test_larger_k_follow_the_largest(kmer_sizes: tuple[int, ...], repeat: int) -> None:
    """Repeats longer than the largest k + 60 do not stop the last try."""
    rng = np.random.default_rng(repeat)
    twice, flank = random_bases(repeat, rng), random_bases(500, rng)
    reference = flank[:250] + twice + flank[250:300] + twice + flank[300:]
    other = reference[:200] + ("C" if reference[200] != "C" else "G") + reference[201:]
    assert found(reference, reads_of(*[other] * 3), kmer_sizes=kmer_sizes) == [other]


@pytest.mark.parametrize(("swapped", "is_found"), [(63, True), (74, False)])
def test_the_largest_k_is_60_more(swapped: int, is_found: bool) -> None:
    """Two neighbours that swap places make cycles of k-mers that are in one of them.

    70 is the last k: with 80, both would have a result.
    """
    rng = np.random.default_rng(swapped)
    before, one, two, after = (random_bases(n, rng) for n in (100, swapped, swapped, 100))
    other = before + two + one + after
    reads = reads_of(*[other] * 3)
    reference, options = before + one + two + after, {"kmer_sizes": (10,)}
    assert found(reference, reads, is_strict=True, **options) == [other] * is_found
    assert other in found(reference, reads, **options)  # cycles are unrolled


@pytest.mark.parametrize(("kmer_sizes", "expected"), [((10,), "11"), ((20,), "10")])
def test_a_larger_k_is_not_tried_after_a_result(kmer_sizes: tuple[int, ...], expected: str) -> None:
    """The best string joins bases that most reads have where k does not span them."""
    bases = list(REFERENCE)
    sites = (AT, AT + 15)
    changed = ["C" if bases[at] != "C" else "G" for at in sites]

    def haplotype(alleles: str) -> str:
        text = list(bases)
        for at, base, allele in zip(sites, changed, alleles, strict=True):
            text[at] = base if allele == "1" else text[at]
        return "".join(text)

    reads = reads_of(*[haplotype("10")] * 4, *[haplotype("11")] * 3, *[haplotype("01")] * 3)
    strings = found(REFERENCE, reads, kmer_sizes=kmer_sizes, max_haplotypes=1)
    assert strings == [haplotype(expected)]


def test_an_insertion_before_the_last_base_is_found() -> None:
    """It ends with the 9 bases before it: the last k-mer is no part of a chain."""
    base = next(b for b in "ACGT" if b != REFERENCE[-11])
    other = REFERENCE[:-1] + REFERENCE[20:0:-1] + base + REFERENCE[-10:]
    assert found(REFERENCE, reads_of(*[other] * 3), kmer_sizes=(10,)) == [other]


def test_unknown_bases_of_the_reference() -> None:
    """k-mers with N are k-mers; many N are a repeat, which k = 10 does not accept."""
    for length in (1, 11, 20):
        reference = REFERENCE[:40] + "N" * length + REFERENCE[40 + length :]
        other = OTHER[:40] + "N" * length + OTHER[40 + length :]
        reads = [PlainRead(other, [30] * len(other))] * 3
        assert found(reference, reads) == [other]
        assert set(found(reference, reads_of(*[REFERENCE] * 3))) == {REFERENCE}


@pytest.mark.parametrize(("length", "count"), [(29, 0), (30, 1)])
def test_haplotypes_of_short_references_are_dropped(length: int, count: int) -> None:
    other = REFERENCE[:15] + ("C" if REFERENCE[15] != "C" else "G") + REFERENCE[16:length]
    bases, no_flags = Ragged.from_sequences([other]), np.zeros(1, np.uint8)
    paths = AssembledPaths(np.zeros(1, np.int64), bases, np.zeros(1), no_flags)
    references = Ragged.from_sequences([REFERENCE[:length]])
    haplotypes = haplotypes_of(paths, references, CpuDevice())
    assert haplotypes.is_reference.tolist() == [False] * count + [True]
