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
from hapgpu.calling.options import VariantOptions
from hapgpu.runtime.jit import njit, njit_inlined

_CONVERGED: Final = 0.1  # largest change of an allele count
_LOG10_2: Final = math.log10(2.0)
_LN_10: Final = math.log(10.0)
NO_ALLELE: Final = -1

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
    """Columns of `CallSites`, the number of the allele `*` of each site, PL, and the options.

    `lengths` of `<NON_REF>`, the last allele if `keeps_all`, is 0.
    """

    starts: NDArray[np.int64]
    offsets: NDArray[np.int64]
    lengths: NDArray[np.int64]
    spanned: NDArray[np.int64]
    phreds: RaggedView
    samples: int
    priors: PseudoCounts
    min_confidence: float
    max_alternates: int
    keeps_all: bool


class _Scratch(NamedTuple):
    """Scratch memory: numbers of alleles, and a score of each."""

    considered: NDArray[np.int64]
    scores: NDArray[np.int64]
    work: FrequencyScratch


def kept_alleles(
    sites: CallSites, phreds: Ragged, samples: int, options: VariantOptions
) -> KeptAlleles:
    """Choose the alleles of records, and compute QUAL.

    An ALT is kept if the probability that it is absent is below the minimal confidence; `*` only
    if a deletion of an earlier record covers the site. A site has a record if an ALT other than `*`
    is kept and QUAL reaches the minimal confidence. With `options.has_non_ref`, every ALT is kept,
    but `*` as above.

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
    """
    alleles, count = len(sites.alleles), len(sites)
    kept = KeptAlleles(
        np.zeros(count, dtype=np.bool_),
        np.zeros(count),
        np.zeros(alleles, dtype=np.bool_),
        np.zeros(alleles, dtype=np.int32),
    )
    most = int(lengths_of(sites.allele_offsets).max(initial=1))
    scratch = _Scratch(
        np.empty(most, dtype=np.int64),
        np.empty(most, dtype=np.int64),
        new_work(samples, min(most, options.max_alternate_alleles + 1 + options.has_non_ref)),
    )
    _choose(_columns(sites, phreds, samples, options), scratch, kept)
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


def _columns(sites: CallSites, phreds: Ragged, samples: int, options: VariantOptions) -> _Sites:
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
        samples,
        pseudo_counts(options),
        options.min_confidence,
        options.max_alternate_alleles,
        options.has_non_ref,
    )


@njit
def _choose(sites: _Sites, scratch: _Scratch, out: KeptAlleles) -> None:
    """Choose the alleles of all sites."""
    covered = np.int64(_NOWHERE)  # last position that deletions of earlier records cover
    for site in range(sites.starts.size):
        count = _consider(sites, site, scratch)
        spanned = _prepare(sites, site, scratch, count)
        work = scratch.work
        out.qualities[site] = -10.0 * estimate(work, sites.samples, count, spanned) + 0.0
        for k in range(count):
            row = sites.offsets[site] + scratch.considered[k]
            out.counts[row] = np.int64(math.floor(work.counts[k] + 0.5))
        if _keep(sites, site, scratch, count, sites.starts[site] <= covered, out):
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
        _add_scores(sites.phreds, row, alleles, scores)
    count = np.int64(1)
    for allele in range(1, proper):
        better = 0
        for other in range(1, proper):
            is_tie = scores[other] == scores[allele]
            better += scores[other] > scores[allele] or (is_tie and other < allele)
        if better < sites.max_alternates:
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


@njit_inlined
def _prepare(sites: _Sites, site: Integer, scratch: _Scratch, count: Integer) -> Integer:
    """Write PL and priors of the alleles considered; return which of them is `*`."""
    considered, work, priors = scratch.considered, scratch.work, sites.priors
    for sample in range(sites.samples):
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


class FrequencyScratch(NamedTuple):
    """Scratch memory of a site, and its results.

    Attributes
    ----------
    phreds
        int32[n, g]: PL of the genotypes of n samples.
    posteriors
        float64[g].
    priors, frequencies
        float64[a]: pseudo-counts, and log10 frequencies.
    counts, new_counts
        float64[a]: expected numbers of the alleles.
    absent
        float64[a]: log10 of the probability that no sample has the allele.
    """

    phreds: NDArray[np.int32]
    posteriors: NDArray[np.float64]
    priors: NDArray[np.float64]
    frequencies: NDArray[np.float64]
    counts: NDArray[np.float64]
    new_counts: NDArray[np.float64]
    absent: NDArray[np.float64]


def pseudo_counts(options: VariantOptions) -> PseudoCounts:
    """Return the prior of REF, and of ALTs as long as REF (SNPs) and others (indels)."""
    reference = options.heterozygosity / options.heterozygosity_deviation**2
    return PseudoCounts(
        reference,
        options.heterozygosity * reference,
        options.indel_heterozygosity * reference,
    )


def new_work(samples: int, alleles: int) -> FrequencyScratch:
    """Allocate for sites of at most so many alleles, REF included."""
    genotypes = alleles * (alleles + 1) // 2
    return FrequencyScratch(
        np.empty((samples, genotypes), dtype=np.int32),
        np.empty(genotypes),
        *(np.empty(alleles) for _ in range(5)),
    )


@njit
def estimate(work: FrequencyScratch, samples: int, alleles: Integer, spanned: Integer) -> float:
    """Estimate the frequencies of the first `alleles` of `work`, from its PL and priors.

    Fills in its expected counts and `absent`. Returns log10 of the probability that no sample has
    an allele other than REF and `*`.
    """
    for allele in range(alleles):
        work.counts[allele] = 0.0
        work.frequencies[allele] = -math.log10(alleles)
    difference = np.inf
    while difference > _CONVERGED:
        _expect_counts(work, samples, alleles)
        difference = 0.0
        total = 0.0
        for allele in range(alleles):
            difference = max(difference, abs(work.new_counts[allele] - work.counts[allele]))
            work.counts[allele] = work.new_counts[allele]
            total += work.priors[allele] + work.counts[allele]
        for allele in range(alleles):
            pseudo_count = work.priors[allele] + work.counts[allele]
            work.frequencies[allele] = math.log10(pseudo_count) - math.log10(total)
    return _find_absent(work, samples, alleles, spanned)


@njit
def _expect_counts(work: FrequencyScratch, samples: int, alleles: Integer) -> None:
    """Write the expected number of each allele to `new_counts`."""
    for allele in range(alleles):
        work.new_counts[allele] = 0.0
    for sample in range(samples):
        _put_posteriors(work, sample, alleles)
        genotype = 0
        for high in range(alleles):
            for low in range(high + 1):
                probability = math.exp(_LN_10 * work.posteriors[genotype])
                work.new_counts[low] += probability
                work.new_counts[high] += probability
                genotype += 1


@njit
def _put_posteriors(work: FrequencyScratch, sample: int, alleles: Integer) -> None:
    """Write log10 of the probabilities of the genotypes of a sample to `posteriors`."""
    genotype, best = 0, -np.inf
    for high in range(alleles):
        for low in range(high + 1):
            value = work.phreds[sample, genotype] / -10.0
            value += work.frequencies[low] + work.frequencies[high]
            if low != high:
                value += _LOG10_2
            work.posteriors[genotype] = value
            best = max(best, value)
            genotype += 1
    total = 0.0
    for k in range(genotype):
        total += math.exp(_LN_10 * (work.posteriors[k] - best))
    for k in range(genotype):
        work.posteriors[k] -= best + math.log10(total)


@njit
def _find_absent(work: FrequencyScratch, samples: int, alleles: Integer, spanned: Integer) -> float:
    """Fill in `absent`; return log10 of the probability that no sample has a variant."""
    no_variant = 0.0
    for allele in range(alleles):
        work.absent[allele] = 0.0
    for sample in range(samples):
        _put_posteriors(work, sample, alleles)
        no_variant += _no_variant(work.posteriors, spanned)
        for allele in range(alleles):
            work.absent[allele] += _without(work.posteriors, alleles, allele)
    return no_variant


@njit_inlined
def _no_variant(posteriors: NDArray[np.float64], spanned: Integer) -> float:
    """Return log10 of the probability of the genotypes of REF and `*` only."""
    if spanned == NO_ALLELE:
        return float(posteriors[0])
    first = spanned * (spanned + 1) // 2
    best = max(posteriors[0], posteriors[first], posteriors[first + spanned])
    total = math.exp(_LN_10 * (posteriors[0] - best))
    total += math.exp(_LN_10 * (posteriors[first] - best))
    total += math.exp(_LN_10 * (posteriors[first + spanned] - best))
    return min(float(best) + math.log10(total), 0.0)


@njit_inlined
def _without(posteriors: NDArray[np.float64], alleles: Integer, absent: Integer) -> float:
    """Return log10 of the probability of the genotypes without an allele."""
    genotype, best = 0, -np.inf
    for high in range(alleles):
        for low in range(high + 1):
            if low != absent != high:
                best = max(best, posteriors[genotype])
            genotype += 1
    genotype, total = 0, 0.0
    for high in range(alleles):
        for low in range(high + 1):
            if low != absent != high:
                total += math.exp(_LN_10 * (posteriors[genotype] - best))
            genotype += 1
    return min(float(best) + math.log10(total), 0.0)
