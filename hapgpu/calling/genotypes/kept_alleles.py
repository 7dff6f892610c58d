"""Allele frequencies, QUAL, and the alleles of sites that are kept."""

from __future__ import annotations

import math
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.bytes import Integer
from hapgpu.arrays.ragged import Ragged, lengths_of
from hapgpu.arrays.ragged_view import RaggedView, read_only, view_of
from hapgpu.calling.batches import CallSites
from hapgpu.calling.genotypes.allele_frequencies import (
    NO_ALLELE,
    FrequencyScratch,
    estimate,
    new_work,
)
from hapgpu.calling.genotypes.genotype_tables import (
    SiteGenotypes,
    genotype_counts,
    genotype_number,
)
from hapgpu.calling.options import VariantOptions
from hapgpu.calling.ploidies import DIPLOID
from hapgpu.runtime.jit import njit, njit_inlined

_LN_10: Final = math.log(10.0)
_LN_2: Final = math.log(2.0)
SPANNED: Final = ord("*")
"""The allele of a spanning deletion."""
_BRACKET: Final = ord("<")
_TOLERANCE: Final = 1e-10  # GATK's, of log10 probabilities
_NOWHERE: Final = -1


class KeptAlleles(NamedTuple):
    """The alleles of s sites that are called.

    Attributes
    ----------
    is_called
        bool[s]: whether the site has a record.
    qualities
        float64[s]: QUAL.
    is_kept
        bool[a]: the alleles of the record, REF included; none without a record.
    counts
        int32[a]: MLEAC; 0 for alleles that are not considered.
    """

    is_called: NDArray[np.bool_]
    qualities: NDArray[np.float64]
    is_kept: NDArray[np.bool_]
    counts: NDArray[np.int32]


class _Sites(NamedTuple):
    """Columns of `CallSites`, the number of the allele `*` of each site, genotypes, options.

    `lengths` of `<NON_REF>`, the last allele if `keeps_all`, is 0.
    """

    starts: NDArray[np.int64]
    offsets: NDArray[np.int64]
    lengths: NDArray[np.int64]
    spanned: NDArray[np.int64]
    phreds: RaggedView
    genotypes: SiteGenotypes
    samples: int
    priors: PseudoCounts
    min_confidence: float
    max_alternates: int
    keeps_all: bool
    is_forced: NDArray[np.bool_]


class _Scratch(NamedTuple):
    """Scratch memory: numbers of alleles, and a score of each."""

    considered: NDArray[np.int64]
    scores: NDArray[np.int64]
    work: FrequencyScratch


def kept_alleles(
    sites: CallSites,
    phreds: Ragged,
    samples: int,
    options: VariantOptions,
    genotypes: SiteGenotypes,
) -> KeptAlleles:
    """Choose the alleles of records, and compute QUAL.

    An ALT is kept if the probability that it is absent is below the minimal confidence; `*` only
    if a deletion of an earlier record covers the site. A site has a record if an ALT other than `*`
    is kept and QUAL reaches the minimal confidence. With `options.has_non_ref`, every ALT is kept,
    but `*` as above.

    A forced ALT (`sites.is_forced`) is always considered and kept, and its site has a record. If no
    ALT is probable enough, QUAL of such a record is -10 log10 of the probability of any; it may be
    infinite. GATK computes QD of -0.0 where that probability is 1: such a QUAL is -0.0 here.

    Parameters
    ----------
    sites
        s sites, ascending, with a alleles: deletions called at a site decide about later ones.
    phreds
        int32 rows, s * samples of them: PL of the genotypes.
    samples
        Number of samples.
    options
        Options of the genotypes.
    genotypes
        The genotypes of the sites.
    """
    alleles, count = len(sites.alleles), len(sites)
    kept = KeptAlleles(
        np.zeros(count, dtype=np.bool_),
        np.zeros(count),
        np.zeros(alleles, dtype=np.bool_),
        np.zeros(alleles, dtype=np.int32),
    )
    most = int(lengths_of(sites.allele_offsets).max(initial=1))
    considered = genotypes.alleles
    if not sites.is_forced.size:
        limit = options.max_alternate_alleles + 1 + options.has_non_ref
        considered = np.minimum(considered, limit)
    sizes = genotype_counts(considered, genotypes.ploidies)
    scratch = _Scratch(
        np.empty(most, dtype=np.int64),
        np.empty(most, dtype=np.int64),
        new_work(samples, int(considered.max(initial=1)), int(sizes.max(initial=1))),
    )
    _choose(_columns(sites, phreds, samples, options, genotypes), scratch, kept)
    return kept


def is_spanned(alleles: Ragged) -> NDArray[np.bool_]:
    """Return bool[a]: whether each of `alleles`, uint8 text with at least one base, is `*`."""
    starts: NDArray[np.bool_] = alleles.data[alleles.offsets[:-1]] == SPANNED
    return starts


def is_symbolic(alleles: Ragged) -> NDArray[np.bool_]:
    """Return bool[a]: whether each of `alleles`, uint8 text, not empty, is `*` or `<NON_REF>`."""
    starts = alleles.data[alleles.offsets[:-1]]
    found: NDArray[np.bool_] = (starts == SPANNED) | (starts == _BRACKET)
    return found


def _columns(
    sites: CallSites,
    phreds: Ragged,
    samples: int,
    options: VariantOptions,
    genotypes: SiteGenotypes,
) -> _Sites:
    spanned = np.full(len(sites), NO_ALLELE, dtype=np.int64)
    rows = np.flatnonzero(is_spanned(sites.alleles))
    of_rows = np.searchsorted(sites.allele_offsets, rows, side="right") - 1
    spanned[of_rows] = rows - sites.allele_offsets[of_rows]
    lengths = sites.alleles.lengths
    if options.has_non_ref:
        lengths[sites.allele_offsets[1:] - 1] = 0
    return _Sites(
        read_only(sites.starts),
        read_only(sites.allele_offsets),
        read_only(lengths),
        read_only(spanned),
        view_of(phreds),
        genotypes,
        samples,
        pseudo_counts(options),
        options.min_confidence,
        options.max_alternate_alleles,
        options.has_non_ref,
        read_only(sites.is_forced),
    )


@njit
def _choose(sites: _Sites, scratch: _Scratch, out: KeptAlleles) -> None:
    """Choose the alleles of all sites."""
    covered = np.int64(_NOWHERE)  # last position that deletions of earlier records cover
    for site in range(sites.starts.size):
        count = _consider(sites, site, scratch)
        spanned = _prepare(sites, site, scratch, count)
        work = scratch.work
        tables, ploidy = sites.genotypes.tables, sites.genotypes.ploidies[site]
        no_variant = estimate(work, sites.samples, count, spanned, tables, ploidy)
        out.qualities[site] = -10.0 * no_variant + 0.0
        for k in range(count):
            row = sites.offsets[site] + scratch.considered[k]
            out.counts[row] = np.int64(math.floor(work.counts[k] + 0.5))
        is_covered = sites.starts[site] <= covered
        is_called = _keep(sites, site, scratch, count, is_covered, out)
        if _has_forced(sites, site):
            _keep_forced(sites, site, scratch, count, is_covered, out)
            is_called = True
        if is_called:
            covered = max(covered, np.int64(_last_deleted(sites, site, out.is_kept)))


@njit
def _consider(sites: _Sites, site: Integer, scratch: _Scratch) -> Integer:
    """Write the alleles that are considered, ascending; return their number.

    If there are too many, those in the best genotypes that are the most better than REF.
    `<NON_REF>` is always considered, and does not count.
    """
    considered, scores = scratch.considered, scratch.scores
    alleles = sites.offsets[site + 1] - sites.offsets[site]
    for allele in range(alleles):
        considered[allele] = allele
        scores[allele] = 0
    proper = alleles - np.int64(sites.keeps_all)
    if proper - 1 <= sites.max_alternates:
        return np.int64(alleles)
    for row in range(site * sites.samples, (site + 1) * sites.samples):
        if sites.genotypes.ploidies[site] == DIPLOID:
            _add_scores(sites.phreds, row, alleles, scores)
        else:
            _add_any_scores(sites.phreds, row, sites.genotypes, site, scores)
    count = np.int64(1)
    for allele in range(1, proper):
        better = 0
        for other in range(1, proper):
            is_tie = scores[other] == scores[allele]
            better += scores[other] > scores[allele] or (is_tie and other < allele)
        if better < sites.max_alternates or _is_forced(sites, site, allele):
            considered[count] = allele
            count += 1
    for allele in range(proper, alleles):
        considered[count] = allele
        count += 1
    return count


@njit_inlined
def _add_scores(
    phreds: RaggedView, row: Integer, alleles: Integer, scores: NDArray[np.int64]
) -> None:
    """Add the difference of a sample's best genotype and REF to the scores of its alleles."""
    first = phreds.offsets[row]
    genotype, best, best_low, best_high = first, first, 0, 0
    for high in range(alleles):
        for low in range(high + 1):
            if phreds.data[genotype] < phreds.data[best]:
                best, best_low, best_high = genotype, low, high
            genotype += 1
    difference = np.int64(phreds.data[first]) - np.int64(phreds.data[best])
    scores[best_low] += difference
    if best_low != best_high:
        scores[best_high] += difference


@njit
def _add_any_scores(
    phreds: RaggedView,
    row: Integer,
    genotypes: SiteGenotypes,
    site: Integer,
    scores: NDArray[np.int64],
) -> None:
    """Add to the scores as `_add_scores`, of any ploidy."""
    first = best = phreds.offsets[row]
    for k in range(first, phreds.offsets[row + 1]):
        best = k if phreds.data[k] < phreds.data[best] else best
    difference = np.int64(phreds.data[first]) - np.int64(phreds.data[best])
    tables = genotypes.tables
    table_row = tables.firsts[genotypes.ploidies[site]] + best - first
    for k in range(tables.offsets[table_row], tables.offsets[table_row + 1]):
        scores[tables.alleles[k]] += difference


@njit
def _put_any_phreds(
    sites: _Sites, site: Integer, sample: Integer, scratch: _Scratch, count: Integer
) -> None:
    """Write PL of a sample, of the genotypes of the alleles considered, of any ploidy."""
    tables, ploidy = sites.genotypes.tables, sites.genotypes.ploidies[site]
    first = sites.phreds.offsets[site * sites.samples + sample]
    for genotype in range(tables.steps[ploidy, count]):
        row = tables.firsts[ploidy] + genotype
        number = genotype_number(tables, row, scratch.considered, np.int64(0))
        scratch.work.phreds[sample, genotype] = sites.phreds.data[first + number]


@njit_inlined
def _prepare(sites: _Sites, site: Integer, scratch: _Scratch, count: Integer) -> Integer:
    """Write PL and priors of the alleles considered; return which of them is `*`."""
    considered, work, priors = scratch.considered, scratch.work, sites.priors
    is_diploid = sites.genotypes.ploidies[site] == DIPLOID
    for sample in range(sites.samples):
        if not is_diploid:
            _put_any_phreds(sites, site, sample, scratch, count)
            continue
        first = sites.phreds.offsets[site * sites.samples + sample]
        genotype = 0
        for k in range(count):
            for j in range(k + 1):
                row = considered[k] * (considered[k] + 1) // 2 + considered[j]
                work.phreds[sample, genotype] = sites.phreds.data[first + row]
                genotype += 1
    spanned, reference = np.int64(NO_ALLELE), sites.offsets[site]
    for k in range(count):
        is_snp = sites.lengths[reference + considered[k]] == sites.lengths[reference]
        work.priors[k] = priors.snp if is_snp else priors.indel
        if considered[k] == sites.spanned[site]:
            spanned = np.int64(k)
    work.priors[0] = priors.reference
    return spanned


@njit_inlined
def _keep(
    sites: _Sites,
    site: Integer,
    scratch: _Scratch,
    count: Integer,
    is_covered: bool,  # noqa: FBT001  (Numba: no keyword-only arguments)
    out: KeptAlleles,
) -> bool:
    """Mark the alleles kept; return whether the site has a record."""
    first, is_variant = sites.offsets[site], False
    for k in range(1, count):
        allele = scratch.considered[k]
        is_kept = scratch.work.absent[k] + _TOLERANCE < -0.1 * sites.min_confidence
        is_spanned = allele == sites.spanned[site]
        is_possible = is_covered or not is_spanned
        out.is_kept[first + allele] = (is_kept or sites.keeps_all) and is_possible
        is_variant |= is_kept and (is_possible if sites.keeps_all else not is_spanned)
    is_called = is_variant and out.qualities[site] >= sites.min_confidence
    out.is_called[site] = is_called
    out.is_kept[first] = True
    for k in range(count):
        out.is_kept[first + scratch.considered[k]] &= is_called
    return bool(is_called)


@njit_inlined
def _is_forced(sites: _Sites, site: Integer, allele: Integer) -> bool:
    return bool(sites.is_forced.size > 0 and sites.is_forced[sites.offsets[site] + allele])


@njit_inlined
def _has_forced(sites: _Sites, site: Integer) -> bool:
    has_forced = False
    if sites.is_forced.size > 0:
        for row in range(sites.offsets[site], sites.offsets[site + 1]):
            has_forced |= sites.is_forced[row]
    return has_forced


@njit
def _keep_forced(
    sites: _Sites,
    site: Integer,
    scratch: _Scratch,
    count: Integer,
    is_covered: bool,  # noqa: FBT001  (Numba: no keyword-only arguments)
    out: KeptAlleles,
) -> None:
    """Mark the alleles kept of a site with forced ones, and write its QUAL."""
    first, is_variant = sites.offsets[site], False
    for k in range(1, count):
        allele = scratch.considered[k]
        is_kept = scratch.work.absent[k] + _TOLERANCE < -0.1 * sites.min_confidence
        is_possible = is_covered or allele != sites.spanned[site]
        is_variant |= is_kept and is_possible
        is_wanted = is_kept or sites.keeps_all or _is_forced(sites, site, allele)
        out.is_kept[first + allele] = is_wanted and is_possible
    out.is_called[site] = out.is_kept[first] = True
    quality = out.qualities[site]
    if not is_variant:
        out.qualities[site] = -10.0 * (_log10_of_rest(quality / -10.0) + 0.0)
    elif quality == 0.0:
        out.qualities[site] = -0.0


@njit_inlined
def _log10_of_rest(log10_probability: float) -> float:
    """Return log10(1 - 10^p) of a logarithm p, at most 0."""
    natural = log10_probability * _LN_10
    if natural >= 0.0:
        return -np.inf
    if natural < -_LN_2:
        return math.log1p(-math.exp(natural)) / _LN_10
    return math.log(-math.expm1(natural)) / _LN_10


@njit_inlined
def _last_deleted(sites: _Sites, site: Integer, is_kept: NDArray[np.bool_]) -> Integer:
    """Return the last position that the alleles kept delete; `*` counts as one base, as in GATK."""
    first, end = sites.offsets[site], sites.offsets[site + 1]
    longest = np.int64(0)
    for row in range(first, end):
        if is_kept[row]:
            longest = max(longest, sites.lengths[first] - sites.lengths[row])
    return np.int64(sites.starts[site] + longest if longest > 0 else _NOWHERE)


class PseudoCounts(NamedTuple):
    """Prior of allele frequencies, as counts."""

    reference: float
    snp: float
    indel: float


def pseudo_counts(options: VariantOptions) -> PseudoCounts:
    """Return the prior of REF, and of ALTs as long as REF (SNPs) and others (indels)."""
    reference = options.heterozygosity / options.heterozygosity_deviation**2
    return PseudoCounts(
        reference,
        options.heterozygosity * reference,
        options.indel_heterozygosity * reference,
    )
