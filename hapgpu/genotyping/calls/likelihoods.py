"""Genotype likelihoods from haplotype likelihoods, as in GATK."""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.bytes import Integer
from hapgpu.arrays.ragged import Ragged, offsets_of
from hapgpu.arrays.ragged_view import RaggedView, columns_of, read_only, view_of
from hapgpu.genotyping.batches import FragmentEvidence, SiteLikelihoods
from hapgpu.genotyping.calls.genotype_order import common_table, genotype_counts
from hapgpu.genotyping.reads.spanning import SpanRequirements, fulfils, span_requirements_of
from hapgpu.haplotypes.batches import LocusBatch
from hapgpu.pairhmm.arithmetic import log10_scaled, power_of_10
from hapgpu.pairhmm.normalize import WORST_DIFFERENCE
from hapgpu.runtime.jit import njit, njit_inlined

_CLEARLY_BETTER: Final = 0.2  # GATK's LOG_10_INFORMATIVE_THRESHOLD
_NEARLY_UNDERFLOWING: Final = 1e-200  # one more fragment multiplies by at least 1e-5

NO_ALLELE: Final = -1
"""Instead of an allele: a fragment that supports none clearly."""

NOT_USED: Final = -2
"""Instead of an allele: a fragment that is not used at the site."""


class _Fragments(NamedTuple):
    """`FragmentEvidence` for compiled code."""

    loci: NDArray[np.int64]
    samples: NDArray[np.int32]
    likelihoods: RaggedView
    cover: RaggedView


class _Sites(NamedTuple):
    """The sites of the loci, and the allele of each haplotype at each site."""

    site_offsets: NDArray[np.int64]
    requirements: SpanRequirements
    haplotype_offsets: NDArray[np.int64]
    alleles: RaggedView


class _Site(NamedTuple):
    """A site and a sample: its span requirement, its haplotypes and their alleles."""

    latest_start: int
    earliest_end: int
    first_haplotype: int
    haplotypes: int
    column: int
    alleles: RaggedView


class _Totals(NamedTuple):
    """`SiteLikelihoods` for compiled code, a row per site and sample."""

    depths: NDArray[np.int32]
    allele_depths: RaggedView
    genotypes: RaggedView


class _Scratch(NamedTuple):
    """Scratch memory: likelihoods of one fragment per allele, and a product per genotype."""

    alleles: NDArray[np.float64]
    products: NDArray[np.float64]


def site_likelihoods(
    evidence: FragmentEvidence, batch: LocusBatch, alleles: Ragged, samples: int, ploidy: int
) -> SiteLikelihoods:
    """Compute the likelihoods of the genotypes of each site from the fragments of each sample.

    `span_requirements_of` selects the fragments used at a site. The likelihood of an allele is the
    best likelihood of the haplotypes that carry it; 4.5 below the best allele if none carries it.
    For a genotype with c_a copies of allele a,

        log10 P(reads | genotype) = sum over fragments of log10(sum over a of c_a / P * 10^l_a).

    A fragment supports its best allele if that is more than 0.2 above the second best.

    If all haplotypes carry the same allele (no ALT, or only symbolic ones), the reads were compared
    with nothing else: no fragment supports an allele, and all log10 likelihoods are 0.

    Parameters
    ----------
    evidence
        Fragments with finite likelihoods.
    batch
        l loci with s sites.
    alleles
        int16 rows, one per haplotype: the number of its allele at each site of its locus.
    samples
        Number of samples, m.
    ploidy
        Copies of the chromosome, P, at least 1.

    Returns
    -------
    SiteLikelihoods
        Without genotype likelihoods at a site with more than `MAX_GENOTYPES`.
    """
    allele_counts = np.diff(batch.sites.allele_offsets)
    counts = genotype_counts(allele_counts, ploidy)
    table = common_table(allele_counts, ploidy)
    totals = SiteLikelihoods(
        np.zeros((len(batch.sites), samples), dtype=np.int32),
        _zeros(np.repeat(allele_counts, samples), np.int32),
        _zeros(np.repeat(counts, samples), np.float64),
    )
    _add_evidence(
        columns_of(_Fragments, evidence),
        _compiled_sites(batch, alleles, span_requirements_of(evidence, batch, samples)),
        samples,
        table,
        _Scratch(np.empty(allele_counts.max(initial=0)), np.empty(table.shape[0])),
        _Totals(
            totals.depths.reshape(-1),
            RaggedView(totals.allele_depths.data, read_only(totals.allele_depths.offsets)),
            RaggedView(totals.genotypes.data, read_only(totals.genotypes.offsets)),
        ),
    )
    return totals


def supported_alleles(
    evidence: FragmentEvidence, batch: LocusBatch, alleles: Ragged, samples: int
) -> Ragged:
    """Return the allele that each fragment supports at each site of its locus.

    The allele depths of `site_likelihoods` count them.

    Parameters
    ----------
    evidence, batch, alleles, samples
        As in `site_likelihoods`.

    Returns
    -------
    Ragged
        int16, a row per fragment, a value per site of its locus: the number of an allele,
        `NO_ALLELE` or `NOT_USED`.
    """
    counts = np.diff(batch.loci.site_offsets)[evidence.loci]
    offsets = offsets_of(counts)
    supported = np.full(int(offsets[-1]), NOT_USED, dtype=np.int16)
    allele_counts = np.diff(batch.sites.allele_offsets)
    _find_supported(
        columns_of(_Fragments, evidence),
        _compiled_sites(batch, alleles, span_requirements_of(evidence, batch, samples)),
        samples,
        read_only(allele_counts),
        np.empty(allele_counts.max(initial=0)),
        RaggedView(supported, read_only(offsets)),
    )
    return Ragged(supported, offsets)


def _zeros(lengths: NDArray[np.int64], dtype: type[np.int32 | np.float64]) -> Ragged:
    offsets = offsets_of(lengths)
    return Ragged(np.zeros(int(offsets[-1]), dtype=dtype), offsets)


def _compiled_sites(batch: LocusBatch, alleles: Ragged, requirements: SpanRequirements) -> _Sites:
    return _Sites(
        read_only(batch.loci.site_offsets),
        columns_of(SpanRequirements, requirements),
        read_only(batch.haplotypes.offsets),
        view_of(alleles),
    )


@njit
def _add_evidence(
    fragments: _Fragments,
    sites: _Sites,
    samples: int,
    table: NDArray[np.int16],
    scratch: _Scratch,
    totals: _Totals,
) -> None:
    """Add the fragments to the totals, locus by locus and sample by sample, in their order."""
    loci, fragment_samples = fragments.loci, fragments.samples
    site_offsets = sites.site_offsets
    end = np.int64(0)  # with a plain 0, `_add_to_site` would be compiled twice
    for locus in range(site_offsets.size - 1):
        for sample in range(samples):
            start = end
            while end < loci.size and loci[end] == locus and fragment_samples[end] == sample:
                end += 1
            for site in range(site_offsets[locus], site_offsets[locus + 1]):
                row = site * samples + sample
                _add_to_site(
                    fragments,
                    start,
                    end,
                    _site_of(sites, locus, site, row),
                    table,
                    scratch,
                    totals,
                    row,
                )


@njit
def _find_supported(
    fragments: _Fragments,
    sites: _Sites,
    samples: int,
    allele_counts: NDArray[np.int64],
    scratch: NDArray[np.float64],
    out: RaggedView,
) -> None:
    """Write the supported alleles of the fragments that are used."""
    for fragment in range(fragments.loci.size):
        locus = fragments.loci[fragment]
        first = sites.site_offsets[locus]
        for column in range(out.offsets[fragment + 1] - out.offsets[fragment]):
            row = (first + column) * samples + fragments.samples[fragment]
            site = _site_of(sites, locus, first + column, row)
            if not fulfils(fragments.cover, fragment, site.latest_start, site.earliest_end):
                continue
            supported = NO_ALLELE
            if _is_informative(site):
                _, supported = _set_allele_likelihoods(
                    fragments.likelihoods, fragment, site, scratch, allele_counts[first + column]
                )
            out.data[out.offsets[fragment] + column] = supported


@njit_inlined
def _site_of(sites: _Sites, locus: int, site: int, row: int) -> _Site:
    first = sites.haplotype_offsets[locus]
    return _Site(
        sites.requirements.latest_starts[row],
        sites.requirements.earliest_ends[row],
        first,
        sites.haplotype_offsets[locus + 1] - first,
        site - sites.site_offsets[locus],
        sites.alleles,
    )


@njit
def _add_to_site(
    fragments: _Fragments,
    start: Integer,
    end: Integer,
    site: _Site,
    table: NDArray[np.int16],
    scratch: _Scratch,
    totals: _Totals,
    row: int,
) -> None:
    """Add the fragments of one locus and sample to the totals of one site."""
    depth_offsets, genotype_offsets = totals.allele_depths.offsets, totals.genotypes.offsets
    first_allele, first_genotype = depth_offsets[row], genotype_offsets[row]
    alleles = depth_offsets[row + 1] - first_allele
    genotypes = genotype_offsets[row + 1] - first_genotype
    likelihoods, products = totals.genotypes.data, scratch.products
    for genotype in range(genotypes):
        products[genotype] = 1.0
    best_alleles = 0.0
    is_informative = _is_informative(site)
    for fragment in range(start, end):
        if not fulfils(fragments.cover, fragment, site.latest_start, site.earliest_end):
            continue
        totals.depths[row] += 1
        if not is_informative:
            continue
        best, supported = _set_allele_likelihoods(
            fragments.likelihoods, fragment, site, scratch.alleles, alleles
        )
        best_alleles += best
        if supported != NO_ALLELE:
            totals.allele_depths.data[first_allele + supported] += 1
        _multiply(scratch, table, likelihoods, first_genotype, genotypes)
    for genotype in range(genotypes):
        likelihoods[first_genotype + genotype] += best_alleles + log10_scaled(products[genotype], 0)


@njit_inlined
def _is_informative(site: _Site) -> bool:
    """Return whether haplotypes carry different alleles at the site."""
    data, offsets = site.alleles.data, site.alleles.offsets
    first = site.first_haplotype
    for k in range(1, site.haplotypes):
        if data[offsets[first + k] + site.column] != data[offsets[first] + site.column]:
            return True
    return False


@njit
def _set_allele_likelihoods(
    likelihoods: RaggedView, fragment: int, site: _Site, out: NDArray[np.float64], alleles: int
) -> tuple[float, int]:
    """Set `out` to the likelihood of each allele relative to the best (not log10).

    Returns the log10 likelihood of the best allele, and the allele that the fragment supports.
    """
    data, offsets = site.alleles.data, site.alleles.offsets
    start = likelihoods.offsets[fragment]
    for allele in range(alleles):
        out[allele] = -np.inf
    for k in range(site.haplotypes):
        carried = data[offsets[site.first_haplotype + k] + site.column]
        out[carried] = max(out[carried], likelihoods.data[start + k])
    best, second, supported = -np.inf, -np.inf, NO_ALLELE
    for allele in range(alleles):
        if out[allele] > best:
            best, second, supported = out[allele], best, allele
        else:
            second = max(second, out[allele])
    for allele in range(alleles):
        below = WORST_DIFFERENCE if out[allele] == -np.inf else out[allele] - best
        out[allele] = power_of_10(below)
    return best, supported if best - second > _CLEARLY_BETTER else NO_ALLELE


@njit_inlined
def _multiply(
    scratch: _Scratch,
    table: NDArray[np.int16],
    likelihoods: NDArray[np.float64],
    first: int,
    genotypes: int,
) -> None:
    """Multiply the product of each genotype by the likelihood of a fragment.

    A logarithm is computed only if a product might underflow, not for every fragment.
    """
    weights, products = scratch.alleles, scratch.products
    ploidy = table.shape[1]
    for genotype in range(genotypes):
        total = 0.0
        for copy in range(ploidy):
            total += weights[table[genotype, copy]]
        products[genotype] *= total / ploidy
        if products[genotype] < _NEARLY_UNDERFLOWING:
            likelihoods[first + genotype] += log10_scaled(products[genotype], 0)
            products[genotype] = 1.0
