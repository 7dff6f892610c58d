"""Sites with random alleles and genotype likelihoods."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

import numpy as np

from hapgpu.arrays.ragged import Ragged, offsets_of
from hapgpu.calling.batches import CallSites, VariantCalls
from hapgpu.calling.genotypes.calls import variants_of
from hapgpu.calling.genotypes.genotype_tables import SiteGenotypes, site_genotypes
from hapgpu.calling.genotypes.kept_alleles import kept_alleles
from hapgpu.calling.options import VariantOptions


@dataclass(frozen=True)
class MadeSite:
    """A site: its position, its alleles, and PL of each sample."""

    start: int
    alleles: tuple[str, ...]
    samples: tuple[tuple[int, ...], ...]


def call_sites_of(sites: Sequence[MadeSite]) -> CallSites:
    """Return sites of one active region, without haplotypes."""
    starts = np.array([site.start for site in sites], dtype=np.int64)
    lengths = np.array([len(site.alleles[0]) for site in sites], dtype=np.int64)
    return CallSites(
        np.zeros(starts.size, dtype=np.int64),
        starts,
        starts + lengths,
        offsets_of([len(site.alleles) for site in sites]),
        Ragged.from_sequences([allele for site in sites for allele in site.alleles]),
        Ragged.from_lengths(np.empty(0, dtype=np.int16), [0] * starts.size),
    )


def genotypes_of(alleles: Sequence[int], ploidies: Sequence[int] | None = None) -> SiteGenotypes:
    """Return the genotypes of sites with these numbers of alleles, diploid if not given."""
    counts = np.array(alleles, dtype=np.int64)
    copies = np.array([2] * counts.size if ploidies is None else ploidies, dtype=np.int64)
    return site_genotypes(counts, copies, int(copies.max(initial=2)))


def variants_at(
    sites: Sequence[MadeSite],
    samples: int,
    options: VariantOptions,
    ploidies: Sequence[int] | None = None,
) -> VariantCalls:
    """Call sites, diploid if not given."""
    made, phreds = call_sites_of(sites), phreds_of(sites)
    genotypes = genotypes_of([len(site.alleles) for site in sites], ploidies)
    kept = kept_alleles(made, phreds, samples, options, genotypes)
    return variants_of(made, phreds, kept, samples, genotypes)


def phreds_of(sites: Sequence[MadeSite]) -> Ragged:
    """Return PL of sites, a row per site and sample."""
    rows = [row for site in sites for row in site.samples]
    values = np.array([phred for row in rows for phred in row], dtype=np.int32)
    return Ragged.from_lengths(values, [len(row) for row in rows])


def random_sites(random: Random, count: int, samples: int) -> list[MadeSite]:
    """Draw sites close to each other, with deletions, `*`, and PL that are often equal."""
    sites, start = [], 100
    for _ in range(count):
        start += random.randint(1, 6)
        alleles = random_alleles(random)
        genotypes = len(alleles) * (len(alleles) + 1) // 2
        rows = tuple(random_phreds(random, genotypes) for _ in range(samples))
        sites.append(MadeSite(start, alleles, rows))
    return sites


def random_alleles(random: Random) -> tuple[str, ...]:
    """Draw REF and different ALTs; all but `*` have a first base, some a common suffix."""
    alleles = {"A" + "".join(random.choices("AC", k=random.choice([0, 0, 3, 8])))}
    reference = next(iter(alleles))
    for _ in range(random.choice([1, 1, 2, 3, 9])):
        kept = reference[random.randint(1, len(reference)) :]
        alleles.add(random.choice("AG") + "C" * random.randint(0, 3) + kept)
    others = sorted(alleles - {reference})
    random.shuffle(others)
    if not others or random.random() < 0.3:
        others.insert(random.randint(0, len(others)), "*")
    return (reference, *others)


def random_phreds(random: Random, genotypes: int) -> tuple[int, ...]:
    """Draw PL with 0 for the best, small or large, sometimes without information."""
    most = random.choice([1, 5, 60, 800, 4000])
    phreds = [random.randint(0, most) for _ in range(genotypes)]
    if random.random() < 0.5:
        phreds[0] += random.choice([35, 45, 300])
    return tuple(phred - min(phreds) for phred in phreds)
