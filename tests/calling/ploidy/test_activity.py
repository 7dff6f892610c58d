"""Activity of loci of any ploidy, against sums over elements in plain numbers."""

from __future__ import annotations

import math
from functools import partial
from random import Random

import numpy as np
import pytest
from numpy.typing import NDArray

from hapgpu.calling.batches import ActiveRegions, Segment, SegmentReads
from hapgpu.calling.options import VariantOptions
from hapgpu.calling.ploidies import Ploidies, PloidyRegion
from hapgpu.calling.regions.active_regions import active_regions
from hapgpu.calling.regions.activity import activity_probabilities
from hapgpu.calling.regions.pileup import Pileup, element_table
from hapgpu.calling.regions.polyploid_activity import polyploid_probabilities
from hapgpu.haplotypes.batches import ReferenceSlice
from hapgpu.io.genome.regions import Region
from tests.calling.regions.made_reads import batch_of
from tests.calling.regions.reference import PlainRead

Elements = list[tuple[int, bool]]
"""Quality of each element, and whether it is an alternate one."""
OPTIONS = VariantOptions()


def pileup_by(loci: list[list[Elements]], table: NDArray[np.int64]) -> Pileup:
    """Return the sums of rows of a table; `loci` have the elements of each sample."""
    ratios = np.zeros((len(loci[0]), len(loci), 2), dtype=np.int64)
    is_covered = np.zeros((len(loci[0]), len(loci)), dtype=np.bool_)
    for locus, samples in enumerate(loci):
        for sample, elements in enumerate(samples):
            is_covered[sample, locus] = bool(elements)
            for quality, is_alternate in elements:
                ratios[sample, locus] += table[quality + 256 * is_alternate]
    none = np.zeros(len(loci), dtype=np.int64)
    return Pileup(ratios, is_covered, none.astype(np.int32), none)


def drawn_loci(random: Random, samples: int) -> list[list[Elements]]:
    """Draw loci with from none to all elements alternate, some without."""
    loci = []
    for _ in range(12):
        share, depth = random.choice([0.0, 0.1, 0.5, 1.0]), random.choice([0, 3, 12, 40])
        loci.append(
            [
                [(random.choice([5, 20, 37]), random.random() < share) for _ in range(depth)]
                for _ in range(samples)
            ]
        )
    return loci


def phreds_of(elements: Elements, ploidy: int) -> list[int]:
    """Return PL of each number of ALT copies; an element comes from any of the copies."""
    totals = []
    for copies in range(ploidy + 1):
        total = 0.0
        for quality, is_alternate in elements:
            if quality > 10:
                error = 10.0 ** (-0.1 * quality)
                own, other = 1.0 - error, error / 3.0
                given_alternate, given_reference = (own, other) if is_alternate else (other, own)
                shares = copies * given_alternate + (ploidy - copies) * given_reference
                total += math.log10(shares / ploidy)
        totals.append(total)
    return [math.floor(10.0 * (max(totals) - total) + 0.5) for total in totals]


def beta_binomial(phreds: list[int]) -> float:
    """Return the posterior of any ALT copy, by GATK's prior of one sample; 0 if REF is best."""
    ploidy = len(phreds) - 1
    weights = [
        math.comb(ploidy, n)
        * math.gamma(n + 0.01)
        * math.gamma(ploidy - n + 10.0)
        * 10.0 ** (-0.1 * phred)
        for n, phred in enumerate(phreds)
    ]
    if phreds[0] == 0 or max(weights) == weights[0]:
        return 0.0
    return 1.0 - weights[0] / sum(weights)


@pytest.mark.parametrize("ploidy", [2, 3, 4, 5, 7])
@pytest.mark.parametrize("seed", range(5))
def test_one_sample(ploidy: int, seed: int) -> None:
    loci = drawn_loci(Random(seed), 1)  # noqa: S311  (the same data on every run)
    found = polyploid_probabilities(partial(pileup_by, loci), ploidy, OPTIONS, 10)
    for value, (elements,) in zip(found, loci, strict=True):
        exact = phreds_of(elements, ploidy)
        # Likelihoods are added by a table of steps of 1e-4: PL may differ by 1.
        near = [beta_binomial([max(p + d, 0) for p in exact]) for d in (-1, 0, 1)]
        near += [beta_binomial([exact[0] + d, *exact[1:]]) for d in (-1, 1) if exact[0] + d >= 0]
        assert min(near) - 0.02 <= value <= max(near) + 0.02


@pytest.mark.parametrize("samples", [1, 2, 3])
def test_two_copies_as_the_diploid_pileup(samples: int) -> None:
    for seed in range(8):
        loci = drawn_loci(Random(seed), samples)  # noqa: S311
        found = polyploid_probabilities(partial(pileup_by, loci), 2, OPTIONS, 10)
        diploid = activity_probabilities(pileup_by(loci, element_table(10)), OPTIONS)
        assert found == pytest.approx(diploid, abs=1e-9)
        assert ((found > 0) == (diploid > 0)).all()


def test_a_pool_has_a_variant_of_one_copy() -> None:
    """Three of 60 reads: of 20 copies that is a variant, of two it is not."""
    loci = [[[(37, k < 3) for k in range(60)]]]
    diploid = activity_probabilities(pileup_by(loci, element_table(10)), OPTIONS)
    pool = polyploid_probabilities(partial(pileup_by, loci), 20, OPTIONS, 10)
    assert diploid.tolist() == [0.0]
    assert pool[0] > 0.9


def pool_reads() -> SegmentReads:
    """Return 60 reads at each of two positions of a contig of A; three have a C there."""
    length = 20
    reads = [
        PlainRead(at - 9, [(length, "M")], "A" * 10 + ("C" if k < 3 else "A") + "A" * 9, [37] * 20)
        for at in (500, 1500)
        for k in range(60)
    ]
    batch, samples = batch_of(reads)
    reference = ReferenceSlice(0, np.full(2000, ord("A"), dtype=np.uint8))
    segment = Segment("c", 2000, 0, 2000, 0, 2000)
    return SegmentReads(segment, 0, 2000, reference, batch, samples)


def test_ploidy_of_each_locus() -> None:
    """Loci outside a region of 20 copies are as in a diploid run."""
    region = PloidyRegion(Region("c", 1000, 2000), 20)
    other_contig = PloidyRegion(Region("d", 0, 2000), 20)
    spans = [
        spans_of(active_regions(pool_reads(), 1, VariantOptions(ploidies=ploidies)))
        for ploidies in (
            Ploidies.of(2, [other_contig]),
            Ploidies.of(20, []),
            Ploidies.of(2, [region]),
        )
    ]
    assert spans == [[], [(463, 538), (1463, 1538)], [(1463, 1538)]]


def spans_of(regions: ActiveRegions | None) -> list[tuple[int, int]]:
    """Return starts and ends."""
    assert regions is not None
    return list(zip(regions.starts.tolist(), regions.ends.tolist(), strict=True))
