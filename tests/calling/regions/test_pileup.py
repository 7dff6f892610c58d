"""Elements of loci and their probabilities, compared with the reference implementation."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from hapgpu.arrays.ragged import Ragged
from hapgpu.calling.options import VariantOptions
from hapgpu.calling.regions.activity import _quality, activity_probabilities, allele_priors
from hapgpu.calling.regions.cutting import gaussian_kernel, soft_clip_counts
from hapgpu.calling.regions.pileup import (
    FRACTION_BITS,
    Pileup,
    element_table,
    log10_sum,
    pileup_of,
)
from hapgpu.haplotypes.batches import ReferenceSlice
from tests.calling.regions.made_reads import batch_of, random_read
from tests.calling.regions.reference import (
    Element,
    PlainRead,
    elements_of,
    joint_probability,
    kernel,
    locus_of,
    phred_likelihoods,
    single_probability,
)

WING_4 = (0.00013383, 0.00443185, 0.05399097, 0.24197072)
OPTIONS = VariantOptions()


def slice_of(text: str, start: int = 0) -> ReferenceSlice:
    return ReferenceSlice(start, np.frombuffer(text.encode(), dtype=np.uint8))


def piled_up(reads: list[PlainRead], reference: str, samples: int = 1) -> Pileup:
    batch, of_samples = batch_of(reads)
    size = len(reference)
    return pileup_of(batch, of_samples, samples, slice_of(reference), 0, size, min_quality=10)


@pytest.mark.parametrize("seed", range(30))
@pytest.mark.parametrize("samples", [1, 3])
def test_random_reads(seed: int, samples: int) -> None:
    rng = np.random.default_rng(seed)
    reference = "".join(rng.choice(list("ACGTN"), 120, p=[0.3, 0.3, 0.2, 0.19, 0.01]))
    count = int(rng.choice([0, 3, 40, 150]))
    reads = [random_read(rng, reference, samples) for _ in range(count)]
    pileup = piled_up(reads, reference, samples)
    probabilities = activity_probabilities(pileup, OPTIONS)
    clips = soft_clip_counts(pileup.clip_reads, pileup.clip_bases, 1000, 10**6, max_clip=100)
    elements: list[list[tuple[int, Element]]] = [[] for _ in reference]
    for read in reads:
        for position, element in elements_of(read, reference):
            elements[position - 1].append((read.sample, element))
    for at, of_locus in enumerate(elements):
        expected = locus_of(of_locus)
        assert probabilities[at] == pytest.approx(expected.probability, abs=1e-9)
        assert clips[at] == 2 * expected.clip + 1
        covering = {sample for sample, _ in of_locus}
        assert set(np.flatnonzero(pileup.is_covered[:, at]).tolist()) == covering


def test_the_order_of_reads_and_the_loci_do_not_matter() -> None:
    rng = np.random.default_rng(1)
    reference = "ACGT" * 30
    reads = [random_read(rng, reference, 2) for _ in range(100)]
    whole = piled_up(reads, reference, 2)
    shuffled = piled_up([reads[k] for k in rng.permutation(100)], reference, 2)
    for one, other in zip(whole, shuffled, strict=True):
        assert np.array_equal(one, other)
    batch, samples = batch_of(reads)
    part = pileup_of(batch, samples, 2, slice_of(reference[35:90], 35), 40, 77, min_quality=10)
    assert np.array_equal(part.ratios, whole.ratios[:, 40:77])
    assert np.array_equal(part.is_covered, whole.is_covered[:, 40:77])
    assert np.array_equal(part.clip_bases, whole.clip_bases[40:77])


def test_no_loci() -> None:
    batch, samples = batch_of([PlainRead(1, [(4, "M")], "AAAA", [30] * 4)])
    pileup = pileup_of(batch, samples, 1, slice_of("A" * 9), 2, 2, min_quality=10)
    assert [column.size for column in pileup] == [0, 0, 0, 0]


@pytest.mark.parametrize(
    ("flags", "position", "mate", "template", "loci"),
    [
        (0x1 | 0x20, 11, 11, 5, range(10, 15)),  # forward, fragment of 5 bases
        (0x1 | 0x20, 11, 11, 100, range(10, 20)),
        (0x1 | 0x20, 11, 30, -25, range(10, 20)),  # TLEN of a mate that ends before
        (0x1 | 0x20, 11, 15, -4, range(10, 14)),  # start <= mate start + TLEN; length 4
        (0x1 | 0x10, 11, 14, -7, range(13, 20)),  # reverse, starts before its mate
        (0x1 | 0x10, 11, 14, 101, range(10, 20)),  # TLEN too long to be tested
        (0x1 | 0x10, 11, 14, 100, range(13, 20)),
        (0x1 | 0x10, 11, 20, -7, range(10, 20)),  # ends at the start of the mate
        (0x1 | 0x10 | 0x20, 11, 14, -7, range(10, 20)),
        (0x1 | 0x10 | 0x8, 11, 14, -7, range(10, 20)),
        (0x10, 11, 14, -7, range(10, 20)),
        (0x1 | 0x10, 11, 14, 0, range(10, 20)),
        (0x1 | 0x20, 3, 0, 6, range(2, 12)),  # a mate without a position
        (0x1 | 0x20, 3, 1, 6, range(2, 8)),  # a mate at the first position
    ],
)
def test_bases_inside_adaptors(
    flags: int, position: int, mate: int, template: int, loci: range
) -> None:
    read = PlainRead(position, [(10, "M")], "A" * 10, [30] * 10, flags, mate, template)
    pileup = piled_up([read], "A" * 40)
    assert np.flatnonzero(pileup.is_covered[0]).tolist() == list(loci)
    assert [at - 1 for at, _ in elements_of(read, "A" * 40)] == list(loci)


def test_a_mate_without_a_contig_is_unmapped() -> None:
    read = PlainRead(11, [(10, "M")], "A" * 10, [30] * 10, 0x1 | 0x10, 14, -7)
    batch, samples = batch_of([read])
    batch = replace(batch, mate_reference_ids=np.array([-1], dtype=np.int32))
    pileup = pileup_of(batch, samples, 1, slice_of("A" * 40), 0, 40, min_quality=10)
    assert np.flatnonzero(pileup.is_covered[0]).tolist() == list(range(10, 20))


@pytest.mark.parametrize(
    ("cigar", "clipped"),
    [
        ([(5, "M"), (8, "S")], {4: 8}),
        ([(4, "S"), (5, "M"), (4, "S")], {0: 8, 4: 8}),
        ([(8, "S"), (1, "M")], {0: 8}),
        ([(5, "M"), (2, "I"), (6, "S")], {}),  # only what is next to the base counts
        ([(5, "M"), (8, "I")], {}),
    ],
)
def test_bases_next_to_soft_clips(cigar: list[tuple[int, str]], clipped: dict[int, int]) -> None:
    length = sum(count for count, _ in cigar)
    pileup = piled_up([PlainRead(1, cigar, "A" * length, [30] * length)], "A" * 20)
    assert {int(k): int(pileup.clip_bases[k]) for k in np.flatnonzero(pileup.clip_reads)} == clipped


@pytest.mark.parametrize(("bases", "count"), [(12, 1), (13, 13), (14, 15), (500, 201)])
def test_more_than_6_clipped_bases_per_read_make_a_soft_clip_locus(bases: int, count: int) -> None:
    reads, sums = np.array([2], dtype=np.int32), np.array([bases], dtype=np.int64)
    assert soft_clip_counts(reads, sums, 500, 1000, max_clip=100).tolist() == [count]


def test_unknown_bases_equal_unknown_bases_only() -> None:
    read = PlainRead(1, [(4, "M")], "ANAN", [30] * 4)
    pileup = piled_up([read], "NAAN")
    assert (pileup.ratios[0, :4, 1] > 0).tolist() == [True, True, False, False]


def test_a_heterozygous_site_is_active_from_28() -> None:
    """The prior is 27.404 dB for 0/1, and 40.371 dB for 1/1."""
    assert single_probability([27, 0, 100]) == 0.0
    assert single_probability([28, 0, 100]) > 0.5
    assert single_probability([40, 100, 0]) == 0.0
    assert single_probability([41, 100, 0]) > 0.5


def test_bases_of_quality_10_do_not_count() -> None:
    assert not element_table(10)[[0, 10, 266]].any()
    assert element_table(10)[[11, 267]].all()
    assert phred_likelihoods([Element(10, is_alternate=True, clipped_bases=None)]) == [0, 0, 0]


def test_deletions_always_count() -> None:
    """As in GATK, whose limit is on the qualities of bases only."""
    read = PlainRead(1, [(3, "M"), (2, "D"), (3, "M")], "AAAAAA", [30] * 6)
    batch, samples = batch_of([read])
    expected = pileup_of(batch, samples, 1, slice_of("A" * 8), 0, 8, min_quality=10)
    for min_quality in (30, 93):
        found = pileup_of(batch, samples, 1, slice_of("A" * 8), 0, 8, min_quality=min_quality)
        assert np.flatnonzero(found.ratios.any(axis=(0, 2))).tolist() == [3, 4]
        assert np.array_equal(found.ratios[:, 3:5], expected.ratios[:, 3:5])


def test_sums_by_table() -> None:
    assert log10_sum(0.0, 0.0) == pytest.approx(np.log10(2))
    assert log10_sum(-8.0, 0.0) == 0.0
    assert log10_sum(0.0, -1.00004) == log10_sum(-1.00002, 0.0)


def test_weak_evidence_of_several_samples() -> None:
    """QUAL of at most 4 gives probability 0."""
    assert joint_probability([[12, 0, 60], [0, 9, 90]]) == 0.0
    assert joint_probability([[12, 0, 60], [0, 9, 90]], min_confidence=3.9) > 0.6
    assert joint_probability([[10, 0, 60], [10, 0, 60]]) > 0.9
    assert single_probability([10, 0, 60]) == 0.0


def pileup_with(phreds: list[list[int]]) -> Pileup:
    """Return a locus that the samples cover, with these PL."""
    differences = np.array(phreds, dtype=np.float64)
    ratios = (differences[:, :1] - differences[:, 1:]) / 10
    units = np.rint(np.ldexp(ratios, FRACTION_BITS)).astype(np.int64)[:, None]
    is_covered = np.ones((len(phreds), 1), dtype=np.bool_)
    return Pileup(units, is_covered, np.zeros(1, dtype=np.int32), np.zeros(1, dtype=np.int64))


@pytest.mark.parametrize("phred", [[0, 0, 0], [1, 0, 9], [0, 3, 40]])
def test_a_likeliest_genotype_of_the_reference_is_inactive(phred: list[int]) -> None:
    """Even with a heterozygosity that makes 0/1 likelier than 0/0."""
    likelier = replace(OPTIONS, heterozygosity=0.9, heterozygosity_deviation=0.5)
    (found,) = activity_probabilities(pileup_with([phred]), likelier)
    assert found == pytest.approx(single_probability(phred, 0.9, 0.5), abs=1e-12)
    assert (found > 0.5) == (phred[0] > 0)


def test_qual_is_above_the_limit_by_more_than_a_tolerance() -> None:
    """GATK adds 1e-10 to the logarithm: equal to the limit then, it does not pass."""
    phreds = [[12, 0, 60], [0, 9, 90]]
    quality = _quality(np.array(phreds, float), 2, allele_priors(OPTIONS), np.empty((2, 3)))
    highest = -quality / 10.0 + 1e-10
    near = -10.0 * highest
    limit = next(
        m for m in (near, np.nextafter(near, 0), np.nextafter(near, 9)) if -m / 10.0 == highest
    )
    pileup = pileup_with(phreds)
    for confidence, is_active in ((limit, False), (np.nextafter(limit, 0), True)):
        options = replace(OPTIONS, min_confidence=float(confidence))
        assert (activity_probabilities(pileup, options)[0] > 0) == is_active


@pytest.mark.parametrize(
    ("deviation", "max_wing", "expected"),
    [
        (1.0, 1, [0.2740686, 0.4518628, 0.2740686]),
        (1.0, 1000, [*WING_4, 0.39894228, *reversed(WING_4)]),
        (1e9, 60_000, [1.0]),  # no weight is 1e-5: the middle one is left
    ],
)
def test_kernels(deviation: float, max_wing: int, expected: list[float]) -> None:
    """First the cases of BandPassActivityProfileUnitTest, which are of the whole bell curve."""
    assert gaussian_kernel(deviation, max_wing) == pytest.approx(expected, abs=2e-6)
    assert kernel(deviation, max_wing) == pytest.approx(expected, abs=2e-6)


def test_the_kernel_of_the_caller() -> None:
    found = gaussian_kernel()
    assert found.size == 101
    assert found[50] == pytest.approx(0.023537, abs=5e-7)
    assert found[50 + 37] == pytest.approx(0.0022035, abs=5e-8)
    assert found[50 + 38] == pytest.approx(0.0019354, abs=5e-8)
    assert found == pytest.approx(kernel(17.0, 50), rel=1e-12)


def test_soft_clip_loci_at_the_ends_of_a_contig() -> None:
    """More than 6 bases on average; positions outside of the contig do not count."""
    reads = np.array([1, 2, 1, 1], dtype=np.int32)
    bases = np.array([6, 13, 500, 7])
    counts = soft_clip_counts(reads, bases, 3, 8, max_clip=100)
    assert counts.tolist() == [1, 8, 8, 8]
    assert soft_clip_counts(reads, bases, 300, 10**6, max_clip=100).tolist() == [1, 13, 201, 15]


def test_damaged_reads_are_errors() -> None:
    read = PlainRead(1, [(10, "M")], "A" * 10, [30] * 10)
    batch, samples = batch_of([read])
    longer = replace(batch, cigars=Ragged.from_lengths(np.array([11 << 4], dtype=np.uint32), [1]))
    reference = slice_of("A" * 20)
    with pytest.raises(ValueError, match="read 0: CIGAR and bases differ"):
        pileup_of(longer, samples, 1, reference, 0, 20, min_quality=10)
    with pytest.raises(ValueError, match="does not hold the loci"):
        pileup_of(batch, samples, 1, reference, 0, 21, min_quality=10)
    for wrong in (samples[:0], samples + np.int32(1), samples - np.int32(1)):
        with pytest.raises(ValueError, match="samples"):
            pileup_of(batch, wrong, 1, reference, 0, 20, min_quality=10)
