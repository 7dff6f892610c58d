"""Likelihoods of genotypes from those of haplotypes, as GATK works them out."""

from __future__ import annotations

import math
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.bytes import Integer
from hapgpu.arrays.ragged import Ragged, offsets_of
from hapgpu.arrays.ragged_view import RaggedView, read_only, view_of
from hapgpu.genotyping.batches import Evidence, SiteLikelihoods
from hapgpu.genotyping.calls.genotype_order import common_table, genotype_counts
from hapgpu.genotyping.evidence.spanning import SpanRequirements, has_reach, span_requirements_of
from hapgpu.haplotypes.batches import LocusBatch
from hapgpu.pairhmm.normalize import WORST_DIFFERENCE
from hapgpu.runtime.jit import njit, njit_inlined

_CLEARLY_BETTER: Final = 0.2  # GATK's LOG_10_INFORMATIVE_THRESHOLD
_LN_10: Final = math.log(10.0)
_NEARLY_UNDERFLOWING: Final = 1e-200  # one more fragment takes a factor of 1e-5 at most
_NO_ALLELE: Final = -1


class _Fragments(NamedTuple):
    """The columns of `Evidence`."""

    loci: NDArray[np.int64]
    samples: NDArray[np.int32]
    likelihoods: RaggedView
    cover: RaggedView


class _Places(NamedTuple):
    """What is asked: the sites of the loci, and which allele each haplotype has there."""

    site_offsets: NDArray[np.int64]
    reaches: SpanRequirements
    haplotype_offsets: NDArray[np.int64]
    alleles: RaggedView


class _Site(NamedTuple):
    """A site and a sample: what fragments have to cover, the haplotypes, their alleles there."""

    latest_start: int
    earliest_stop: int
    first_haplotype: int
    haplotypes: int
    column: int
    alleles: RaggedView


class _Totals(NamedTuple):
    """The columns of `SiteLikelihoods`, a row per site and sample."""

    depths: NDArray[np.int32]
    allele_depths: RaggedView
    genotypes: RaggedView


class _Scratch(NamedTuple):
    """Room for what one fragment says of each allele, and for a product for each genotype."""

    alleles: NDArray[np.float64]
    products: NDArray[np.float64]


def site_likelihoods(
    evidence: Evidence, batch: LocusBatch, alleles: Ragged, samples: int, ploidy: int
) -> SiteLikelihoods:
    """Compute what the fragments of each sample say of the genotypes of each site.

    `span_requirements_of` says which fragments count at a site. An allele is as likely as the best
    of the haplotypes that carry it; one that none carries is 4.5 below the best allele.
    For a genotype with c_a copies of allele a,

        log10 P(reads | genotype) = sum over fragments of log10(sum over a of c_a / P * 10^l_a).

    A fragment speaks for its best allele if that is more than 0.2 above the second best.

    Where all haplotypes carry the same allele (no ALT, or symbolic ones only), the reads were
    not weighed against anything: no fragment speaks, and all genotypes have a likelihood of 0.

    Parameters
    ----------
    evidence
        Finite likelihoods.
    batch
        l loci with s sites.
    alleles
        int16 rows, one per haplotype: the number of its allele at each site of its locus.
    samples
        Their number, m.
    ploidy
        Copies of the chromosome, P, at least 1.

    Returns
    -------
    SiteLikelihoods
        Without values for genotypes where a site has more than `MAX_GENOTYPES`.
    """
    allele_counts = np.diff(batch.sites.allele_offsets)
    counts = genotype_counts(allele_counts, ploidy)
    table = common_table(allele_counts, ploidy)
    totals = SiteLikelihoods(
        np.zeros((len(batch.sites), samples), dtype=np.int32),
        _zeros(np.repeat(allele_counts, samples), np.int32),
        _zeros(np.repeat(counts, samples), np.float64),
    )
    _weigh(
        _fragments_of(evidence),
        _places_of(batch, alleles, span_requirements_of(evidence, batch, samples)),
        samples,
        table,
        _Scratch(np.empty(allele_counts.max(initial=0)), np.empty(table.shape[0])),
        _totals_of(totals),
    )
    return totals


def _zeros(lengths: NDArray[np.int64], dtype: type[np.int32 | np.float64]) -> Ragged:
    offsets = offsets_of(lengths)
    return Ragged(np.zeros(int(offsets[-1]), dtype=dtype), offsets)


def _fragments_of(evidence: Evidence) -> _Fragments:
    return _Fragments(
        read_only(evidence.loci),
        read_only(evidence.samples),
        view_of(evidence.likelihoods),
        view_of(evidence.cover),
    )


def _places_of(batch: LocusBatch, alleles: Ragged, reaches: SpanRequirements) -> _Places:
    return _Places(
        read_only(batch.loci.site_offsets),
        SpanRequirements(read_only(reaches.latest_starts), read_only(reaches.earliest_stops)),
        read_only(batch.haplotypes.offsets),
        view_of(alleles),
    )


def _totals_of(totals: SiteLikelihoods) -> _Totals:
    return _Totals(
        totals.depths.reshape(-1),
        RaggedView(totals.allele_depths.data, read_only(totals.allele_depths.offsets)),
        RaggedView(totals.genotypes.data, read_only(totals.genotypes.offsets)),
    )


@njit
def _weigh(
    fragments: _Fragments,
    places: _Places,
    samples: int,
    table: NDArray[np.int16],
    scratch: _Scratch,
    totals: _Totals,
) -> None:
    """Go through the fragments locus by locus and sample by sample, the order they are in."""
    loci, owners, site_offsets = fragments.loci, fragments.samples, places.site_offsets
    stop = np.int64(0)  # a plain 0 would have `_weigh_site` compiled twice
    for locus in range(site_offsets.size - 1):
        for sample in range(samples):
            start = stop
            while stop < loci.size and loci[stop] == locus and owners[stop] == sample:
                stop += 1
            for site in range(site_offsets[locus], site_offsets[locus + 1]):
                row = site * samples + sample
                _weigh_site(
                    fragments,
                    start,
                    stop,
                    _site_of(places, locus, site, row),
                    table,
                    scratch,
                    totals,
                    row,
                )


@njit_inlined
def _site_of(places: _Places, locus: int, site: int, row: int) -> _Site:
    first = places.haplotype_offsets[locus]
    return _Site(
        places.reaches.latest_starts[row],
        places.reaches.earliest_stops[row],
        first,
        places.haplotype_offsets[locus + 1] - first,
        site - places.site_offsets[locus],
        places.alleles,
    )


@njit
def _weigh_site(  # noqa: PLR0917  (compiled code takes no keywords)
    fragments: _Fragments,
    start: Integer,
    stop: Integer,
    site: _Site,
    table: NDArray[np.int16],
    scratch: _Scratch,
    totals: _Totals,
    row: int,
) -> None:
    """Add up what the fragments of one locus and sample say of one site."""
    depth_offsets, genotype_offsets = totals.allele_depths.offsets, totals.genotypes.offsets
    first_allele, first_genotype = depth_offsets[row], genotype_offsets[row]
    alleles = depth_offsets[row + 1] - first_allele
    genotypes = genotype_offsets[row + 1] - first_genotype
    likelihoods, products = totals.genotypes.data, scratch.products
    for genotype in range(genotypes):
        products[genotype] = 1.0
    best_alleles = 0.0
    is_told_apart = _is_told_apart(site)
    for fragment in range(start, stop):
        if not has_reach(fragments.cover, fragment, site.latest_start, site.earliest_stop):
            continue
        totals.depths[row] += 1
        if not is_told_apart:
            continue
        best, spoken_for = _weigh_alleles(
            fragments.likelihoods, fragment, site, scratch.alleles, alleles
        )
        best_alleles += best
        if spoken_for != _NO_ALLELE:
            totals.allele_depths.data[first_allele + spoken_for] += 1
        _multiply(scratch, table, likelihoods, first_genotype, genotypes)
    for genotype in range(genotypes):
        likelihoods[first_genotype + genotype] += best_alleles + math.log10(products[genotype])


@njit_inlined
def _is_told_apart(site: _Site) -> bool:
    """Tell whether haplotypes carry different alleles at the site."""
    data, offsets = site.alleles.data, site.alleles.offsets
    first = site.first_haplotype
    for k in range(1, site.haplotypes):
        if data[offsets[first + k] + site.column] != data[offsets[first] + site.column]:
            return True
    return False


@njit
def _weigh_alleles(
    likelihoods: RaggedView, fragment: int, site: _Site, out: NDArray[np.float64], alleles: int
) -> tuple[float, int]:
    """Set `out` to the likelihood of each allele relative to the best (not log10).

    Returns the log10 likelihood of the best, and the allele that the fragment speaks for.
    """
    data, offsets = site.alleles.data, site.alleles.offsets
    begin = likelihoods.offsets[fragment]
    for allele in range(alleles):
        out[allele] = -np.inf
    for k in range(site.haplotypes):
        carried = data[offsets[site.first_haplotype + k] + site.column]
        out[carried] = max(out[carried], likelihoods.data[begin + k])
    best, second, spoken_for = -np.inf, -np.inf, _NO_ALLELE
    for allele in range(alleles):
        if out[allele] > best:
            best, second, spoken_for = out[allele], best, allele
        else:
            second = max(second, out[allele])
    for allele in range(alleles):
        below = WORST_DIFFERENCE if out[allele] == -np.inf else out[allele] - best
        out[allele] = math.exp(_LN_10 * below)
    return best, spoken_for if best - second > _CLEARLY_BETTER else _NO_ALLELE


@njit_inlined
def _multiply(
    scratch: _Scratch,
    table: NDArray[np.int16],
    likelihoods: NDArray[np.float64],
    first: int,
    genotypes: int,
) -> None:
    """Multiply the product of each genotype by the likelihood of a fragment.

    A logarithm is taken only where a product might underflow, not for every fragment.
    """
    weights, products = scratch.alleles, scratch.products
    ploidy = table.shape[1]
    for genotype in range(genotypes):
        total = 0.0
        for copy in range(ploidy):
            total += weights[table[genotype, copy]]
        products[genotype] *= total / ploidy
        if products[genotype] < _NEARLY_UNDERFLOWING:
            likelihoods[first + genotype] += math.log10(products[genotype])
            products[genotype] = 1.0
