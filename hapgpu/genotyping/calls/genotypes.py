"""Genotypes and their qualities from likelihoods."""

from __future__ import annotations

import math
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.ragged import Ragged
from hapgpu.arrays.ragged_view import RaggedView, view_of
from hapgpu.genotyping.batches import GenotypeCalls, SiteLikelihoods
from hapgpu.genotyping.calls.genotype_order import common_table
from hapgpu.genotyping.calls.priors import log10_priors
from hapgpu.genotyping.options import Prior
from hapgpu.haplotypes.batches import LocusBatch
from hapgpu.runtime.jit import njit, njit_inlined

_HIGHEST_QUALITY: Final = 99
_HIGHEST_PHRED: Final = 2**31 - 1
_NO_CALL: Final = -1
_LN_10: Final = math.log(10.0)


class _Called(NamedTuple):
    """Calls, a row per site and sample.

    `bests` is the row of the genotype in the order of VCF, -1 for no call;
    `reference_qualities` is -10 log10 P(homozygous REF).
    """

    bests: NDArray[np.int64]
    qualities: NDArray[np.int16]
    phred_likelihoods: NDArray[np.int32]
    reference_qualities: NDArray[np.float64]


def calls_of(
    likelihoods: SiteLikelihoods, batch: LocusBatch, prior: Prior, ploidy: int
) -> GenotypeCalls:
    """Call the most probable genotypes, given the reads and the prior.

    GT has the highest posterior probability p; ties: the first in the order of VCF. GQ
    is -10 log10(1 - p), rounded down, at most 99. PL are the likelihoods of the reads alone,
    -10 log10, rounded, 0 for the best. QUAL is -10 log10 of the probability that no sample has
    an ALT allele: the product over the called samples.

    There is no call if all PL would be 0: no fragment is used at the site, or none distinguishes
    its genotypes, for example without ALT. Nor is there a call at a site with more than
    `hapgpu.genotyping.calls.genotype_order.MAX_GENOTYPES`.

    Parameters
    ----------
    likelihoods
        Likelihoods of m samples at s sites.
    batch
        Loci of the sites.
    prior
        Prior of genotypes.
    ploidy
        Copies of the chromosome, P.

    Returns
    -------
    GenotypeCalls
    """
    sites, samples = likelihoods.depths.shape
    genotypes = likelihoods.genotypes
    called = _Called(
        np.full(sites * samples, _NO_CALL, dtype=np.int64),
        np.full(sites * samples, _NO_CALL, dtype=np.int16),
        np.zeros(genotypes.data.size, dtype=np.int32),
        np.full(sites * samples, np.nan, dtype=np.float64),
    )
    priors = log10_priors(batch.sites, prior, ploidy)
    posteriors = np.empty(genotypes.lengths.max(initial=0))
    _call(view_of(genotypes), view_of(priors), samples, posteriors, called)
    is_called = called.bests != _NO_CALL
    return GenotypeCalls(
        _alleles_of(called.bests, batch, ploidy).reshape(sites, samples, ploidy),
        called.qualities.reshape(sites, samples),
        likelihoods.depths,
        likelihoods.allele_depths,
        Ragged.gather(
            called.phred_likelihoods, genotypes.offsets[:-1], genotypes.lengths * is_called
        ),
        _variant_qualities(called.reference_qualities.reshape(sites, samples)),
    )


def _alleles_of(bests: NDArray[np.int64], batch: LocusBatch, ploidy: int) -> NDArray[np.int16]:
    """Return int16[s * m, P]: the alleles of the called genotypes, -1 for no call."""
    table = common_table(np.diff(batch.sites.allele_offsets), ploidy)
    alleles = table[np.maximum(bests, 0)]
    alleles[bests == _NO_CALL] = _NO_CALL
    return alleles


def _variant_qualities(reference_qualities: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return float64[s]: the sum over the called samples of a site; NaN if there are none."""
    totals: NDArray[np.float64] = np.nansum(reference_qualities, axis=1)
    totals[np.isnan(reference_qualities).all(axis=1)] = np.nan
    return totals


@njit
def _call(
    genotypes: RaggedView,
    priors: RaggedView,
    samples: int,
    posteriors: NDArray[np.float64],
    called: _Called,
) -> None:
    """Call row by row; `posteriors` is scratch memory for the genotypes of any site."""
    likelihoods, offsets = genotypes.data, genotypes.offsets
    for row in range(offsets.size - 1):
        start, end = offsets[row], offsets[row + 1]
        if not _put_phreds(likelihoods, start, end, called.phred_likelihoods):
            continue
        first_prior = priors.offsets[row // samples]
        for k in range(end - start):
            posteriors[k] = likelihoods[start + k] + priors.data[first_prior + k]
        best, rest = _best_and_rest(posteriors, end - start)
        called.bests[row] = best
        called.qualities[row] = _genotype_quality(rest)
        below = posteriors[best] - posteriors[0]
        called.reference_qualities[row] = 10.0 * (below + math.log1p(rest) / _LN_10)


@njit
def _put_phreds(
    likelihoods: NDArray[np.float64], start: int, end: int, out: NDArray[np.int32]
) -> bool:
    """Write PL; return whether any is not 0."""
    best = -np.inf
    for k in range(start, end):
        best = max(best, likelihoods[k])
    has_nonzero = False
    for k in range(start, end):
        phred = min(math.floor(10.0 * (best - likelihoods[k]) + 0.5), _HIGHEST_PHRED)
        out[k] = phred
        has_nonzero |= phred > 0
    return has_nonzero


@njit
def _best_and_rest(posteriors: NDArray[np.float64], genotypes: int) -> tuple[int, float]:
    """Return the first of the most probable genotypes, and the probability of all others.

    The latter is relative to the best, and a sum of its own: 1 - p would lose precision.
    """
    best = 0
    for k in range(1, genotypes):
        if posteriors[k] > posteriors[best]:
            best = k
    rest = 0.0
    for k in range(genotypes):
        if k != best:
            rest += math.exp(_LN_10 * (posteriors[k] - posteriors[best]))
    return best, rest


@njit_inlined
def _genotype_quality(rest: float) -> int:
    """Return -10 log10 of rest / (1 + rest), rounded down."""
    if rest == 0.0:
        return _HIGHEST_QUALITY
    # The smallest floats have no finite reciprocal, and int() of infinity is undefined.
    return int(min(10.0 * math.log1p(1.0 / rest) / _LN_10, float(_HIGHEST_QUALITY)))
