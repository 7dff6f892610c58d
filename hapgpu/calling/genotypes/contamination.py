"""Removal of contaminating reads before genotyping: GATK's AlleleBiasedDownsamplingUtils."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.bytes import Integer
from hapgpu.arrays.ragged import Ragged, lengths_of
from hapgpu.arrays.ragged_view import RaggedView, read_only, view_of
from hapgpu.calling.batches import CallSites, ReadsAtSites, RegionReads
from hapgpu.calling.genotypes.evidence import best_of_site
from hapgpu.calling.options import ContaminationOptions
from hapgpu.calling.reads.windows import hash_names
from hapgpu.io.text.values import excerpt
from hapgpu.runtime.jit import njit

logger = logging.getLogger(__name__)


def warn_of_other_samples(options: ContaminationOptions, samples: Sequence[str]) -> None:
    """Warn of names of samples that the reads do not have, such as misspelt ones."""
    others = [name for name, _ in options.by_sample if name not in samples]
    if others:
        logger.warning(
            "%d samples of --contamination-file ignored: not in the reads (%s)",
            len(others),
            excerpt(", ".join(others)),
        )


def sample_fractions(
    options: ContaminationOptions, samples: Sequence[str]
) -> NDArray[np.float64] | None:
    """Return the contaminated fraction of each sample, float64[n]; None if all are 0."""
    named = dict(options.by_sample)
    fractions = np.array([named.get(name, options.fraction) for name in samples], dtype=np.float64)
    return fractions if fractions.any() else None


def without_contamination(
    sites: CallSites,
    reads: ReadsAtSites,
    region_reads: RegionReads,
    names: Ragged,
    fractions: NDArray[np.float64],
) -> ReadsAtSites:
    """Remove the reads of each site that are most likely of another sample.

    Of T reads of a sample that support an allele, int(T * fraction) are removed, all from one
    allele, or half of them from each of two: so that the rest looks most like a homozygous or a
    heterozygous genotype. From an allele, reads with the smallest hashes of their names are
    removed: the choice is the same for all segments, threads and devices. A fraction of 1 removes
    all reads of the sample, also reads that support no allele.

    Parameters
    ----------
    sites
        s sites.
    reads
        x reads at the sites, without `<NON_REF>`.
    region_reads
        The reads that `reads` refers to.
    names
        uint8 text: names of the reads that `region_reads` refers to.
    fractions
        float64[n]: the contaminated fraction of each sample.
    """
    is_kept = np.ones(reads.reads.size, dtype=np.bool_)
    _remove(
        read_only(reads.offsets),
        view_of(reads.likelihoods),
        read_only(region_reads.samples[reads.reads]),
        read_only(_ranks(region_reads, names)[reads.reads]),
        read_only(fractions),
        int(lengths_of(sites.allele_offsets).max(initial=1)),
        is_kept,
    )
    if is_kept.all():
        return reads
    rows = np.flatnonzero(is_kept)
    kept_before = np.concatenate(([0], np.cumsum(is_kept))).astype(np.int64)
    return replace(
        reads,
        offsets=kept_before[reads.offsets],
        reads=reads.reads[rows],
        likelihoods=reads.likelihoods.take(rows),
    )


def _ranks(reads: RegionReads, names: Ragged) -> NDArray[np.int64]:
    """Return int64[m]: ranks of the hashes of the names; mates rank in the order of the reads."""
    hashes = np.empty(len(reads), dtype=np.uint64)
    hash_names(view_of(names), reads.rows, hashes)
    ranks = np.empty(len(reads), dtype=np.int64)
    ranks[np.argsort(hashes, kind="stable")] = np.arange(len(reads))
    return ranks


@njit
def _remove(
    offsets: NDArray[np.int64],
    likelihoods: RaggedView,
    samples: NDArray[np.int32],
    ranks: NDArray[np.int64],
    fractions: NDArray[np.float64],
    alleles: int,
    is_kept: NDArray[np.bool_],
) -> None:
    """Set `is_kept`, bool[x], to False for the reads that are removed."""
    best = np.empty(is_kept.size, dtype=np.int64)
    counts = np.empty((fractions.size, alleles), dtype=np.int64)
    targets, changed = np.empty(alleles, dtype=np.int64), np.empty(alleles, dtype=np.int64)
    for site in range(offsets.size - 1):
        first, end = offsets[site], offsets[site + 1]
        if first == end:
            continue
        width = likelihoods.offsets[first + 1] - likelihoods.offsets[first]
        counts[:] = 0
        for x in range(first, end):
            best[x] = best_of_site(likelihoods, x)
            is_kept[x] = fractions[samples[x]] < 1.0
            if best[x] >= 0:
                counts[samples[x], best[x]] += 1
        for sample in range(fractions.size):
            if not 0.0 < fractions[sample] < 1.0:
                continue
            number = np.int64(counts[sample, :width].sum() * fractions[sample])
            if number == 0:
                continue
            put_target_counts(counts[sample, :width], number, targets, changed)
            for allele in range(width):
                removed = counts[sample, allele] - targets[allele]
                if removed > 0:
                    is_chosen = (samples[first:end] == sample) & (best[first:end] == allele)
                    of_allele = np.sort(ranks[first:end][is_chosen])
                    is_kept[first:end] &= ~is_chosen | (ranks[first:end] > of_allele[removed - 1])


@njit
def put_target_counts(
    counts: NDArray[np.int64],
    number: Integer,
    targets: NDArray[np.int64],
    changed: NDArray[np.int64],
) -> None:
    """Write how many reads of each allele are kept: GATK's `targetAlleleCounts`.

    Parameters
    ----------
    counts
        int64[a]: reads that support each allele.
    number
        Reads to remove.
    targets
        int64, at least a: receives the result, the first of the changes with the lowest score.
    changed
        int64, at least a: working memory.
    """
    alleles = counts.size
    lowest = _score(counts)
    targets[:alleles] = counts
    for one in range(alleles):
        for other in range(one, alleles):
            removed = number if one == other else number // 2
            changed[:alleles] = counts
            changed[one] = max(0, counts[one] - removed)
            changed[other] = max(0, counts[other] - removed)
            score = _score(changed[:alleles])
            if score < lowest:
                lowest = score
                targets[:alleles] = changed[:alleles]


@njit
def _score(counts: NDArray[np.int64]) -> Integer:
    """Return the reads that do not fit a homozygous or a heterozygous genotype, the fewer."""
    if counts.size < 2:
        return np.int64(0)
    largest, second, total = np.int64(-1), np.int64(-1), np.int64(0)
    for count in counts:
        total += count
        if count > largest:
            largest, second = count, largest
        elif count > second:
            second = count
    others = total - largest
    return min(largest - second + others - second, others)
