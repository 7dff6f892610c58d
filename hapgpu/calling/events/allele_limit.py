"""Limit of the alleles of a site, by the scores of their haplotypes."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.ragged import Ragged, lengths_of, offsets_of
from hapgpu.calling.batches import CallSites, RegionHaplotypes

MAX_ALLELES: Final = 44
"""GATK's default, 1024 genotypes at most, for diploid samples."""


def limited(
    sites: CallSites, haplotypes: RegionHaplotypes, max_alleles: int = MAX_ALLELES
) -> CallSites:
    """Keep at most `max_alleles` alleles per site, with REF, by the scores of their haplotypes.

    An allele precedes another by the best score of its haplotypes, then by the second best, then by
    its bases; a missing score is the worst. The order of those that are kept does not change.
    Haplotypes with an allele that is not kept have -1 in `haplotype_alleles`.

    Parameters
    ----------
    sites
        s sites.
    haplotypes
        Haplotypes of the regions of the sites.
    max_alleles
        At least 1.
    """
    counts = lengths_of(sites.allele_offsets)
    too_many = np.flatnonzero(counts > max_alleles)
    if not too_many.size:
        return sites
    is_kept = np.ones(len(sites.alleles), dtype=np.bool_)
    for site in too_many:  # hardly any site has so many alleles
        first = sites.allele_offsets[site]
        ranks = _ranks_of(sites, int(site), haplotypes)
        is_kept[first : first + counts[site]] = ranks < max_alleles
    before = offsets_of(is_kept)
    allele_offsets = before[sites.allele_offsets]
    new_numbers = before[:-1] - np.repeat(allele_offsets[:-1], counts)
    new_numbers[~is_kept] = -1
    per_site = sites.haplotype_alleles.lengths
    old = sites.haplotype_alleles.data + np.repeat(sites.allele_offsets[:-1], per_site)
    return replace(
        sites,
        allele_offsets=allele_offsets,
        alleles=sites.alleles.take(is_kept),
        haplotype_alleles=Ragged(
            new_numbers[old].astype(np.int16), sites.haplotype_alleles.offsets
        ),
    )


def _ranks_of(sites: CallSites, site: int, haplotypes: RegionHaplotypes) -> NDArray[np.int64]:
    """Return int64[a]: the rank of each allele of a site, from 0; REF has 0."""
    first, last = sites.allele_offsets[[site, site + 1]]
    start, end = haplotypes.offsets[sites.regions[site] + np.array([0, 1])]
    scores = haplotypes.scores[start:end]
    numbers = sites.haplotype_alleles[site]
    keys = []
    for allele in range(last - first):
        own = sorted(scores[(numbers == allele) & ~np.isnan(scores)], reverse=True)
        best, second = [*own, -np.inf, -np.inf][:2]
        keys.append((allele > 0, -best, -second, sites.alleles[first + allele].tobytes()))
    ranks = np.empty(last - first, dtype=np.int64)
    ranks[sorted(range(len(keys)), key=keys.__getitem__)] = np.arange(len(keys))
    return ranks
