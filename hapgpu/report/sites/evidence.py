"""Reads at the sites of a VCF: the alleles that they support, and their best haplotypes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.batches import ReadBatch
from hapgpu.arrays.ragged import Ragged
from hapgpu.genotyping.batches import Evidence, LocusReads
from hapgpu.genotyping.calls.likelihoods import supported_alleles
from hapgpu.genotyping.genotyper import Genotyper
from hapgpu.haplotypes.batches import LocusBatch
from hapgpu.haplotypes.candidates.allele_table import allele_table
from hapgpu.haplotypes.pairing.pairs import ReadHaplotypePairs
from hapgpu.realign.moves.moves import name_hashes
from hapgpu.realign.selection.by_likelihood import INFORMATIVE
from hapgpu.realign.selection.by_score import first_of_best
from hapgpu.report.sites.long_reads import cut_to_loci

MAX_FRAGMENTS: Final = 250
"""Fragments of a sample that are shown at a locus, at most."""


@dataclass(frozen=True, slots=True)
class SiteReads:
    """Loci and the r reads shown at them; a read at two loci has two rows.

    Attributes
    ----------
    batch
        l loci with s sites.
    alleles
        int16 rows, one per haplotype: its allele at each site of its locus.
    depths
        int64[m, a]: fragments of each sample that support each row of `batch.sites.alleles`.
    fragments, shown
        int64[l, m]: fragments of each sample at each locus, and those that are shown.
    reads
        The reads, ordered by locus and sample.
    loci, samples
        int64[r] and int32[r].
    haplotypes
        int32[r]: the haplotype that explains the fragment of each read best, a row of
        `batch.haplotypes`.
    supported
        int16 rows, r of them: as in `supported_alleles`.
    """

    batch: LocusBatch
    alleles: Ragged
    depths: NDArray[np.int64]
    fragments: NDArray[np.int64]
    shown: NDArray[np.int64]
    reads: ReadBatch
    loci: NDArray[np.int64]
    samples: NDArray[np.int32]
    haplotypes: NDArray[np.int32]
    supported: Ragged


def site_reads_of(locus_reads: LocusReads, genotyper: Genotyper, samples: int) -> SiteReads:
    """Compare reads with the candidate haplotypes of their loci, as `hapgpu genotype` does.

    Ties of likelihoods go to the first haplotype, the reference.

    Raises
    ------
    InputError
        A read has no base qualities, or a tag `BI` or `BD` that does not fit its bases.
    """
    batch = locus_reads.batch
    clipped, evidence, _ = genotyper.evidence(locus_reads)
    alleles = allele_table(batch.sites, batch.loci, batch.haplotypes)
    supported = supported_alleles(evidence, batch, alleles, samples)
    hashes = name_hashes(locus_reads.reads.names.take(clipped.reads[clipped.fragment_offsets[:-1]]))
    is_shown = _first_of_groups(evidence, hashes, samples)
    of_row = np.repeat(np.arange(is_shown.size), np.diff(clipped.fragment_offsets))
    rows = np.flatnonzero(is_shown[of_row])
    kept = of_row[rows]
    return SiteReads(
        batch,
        alleles,
        _depths(evidence, supported, batch, samples),
        _counts(evidence, np.ones_like(is_shown), len(batch.loci), samples),
        _counts(evidence, is_shown, len(batch.loci), samples),
        cut_to_loci(locus_reads.reads.take(clipped.reads[rows]), clipped.loci[rows], batch.loci),
        clipped.loci[rows],
        clipped.samples[rows],
        _best_haplotypes(evidence, batch)[kept],
        supported.take(kept),
    )


def _first_of_groups(
    evidence: Evidence, hashes: NDArray[np.uint64], samples: int
) -> NDArray[np.bool_]:
    """Return bool[f]: the first `MAX_FRAGMENTS` of each locus and sample, by hash of the name."""
    groups = evidence.loci * samples + evidence.samples
    order = np.lexsort((hashes, groups))
    ordered = groups[order]
    is_first = np.append(True, ordered[1:] != ordered[:-1])[: ordered.size]
    starts = np.flatnonzero(is_first)
    ranks = np.arange(ordered.size) - np.repeat(starts, np.diff(np.append(starts, ordered.size)))
    result = np.empty(ordered.size, dtype=np.bool_)
    result[order] = ranks < MAX_FRAGMENTS
    return result


def _counts(
    evidence: Evidence, mask: NDArray[np.bool_], loci: int, samples: int
) -> NDArray[np.int64]:
    """Return int64[loci, samples]: the fragments of a mask."""
    groups = evidence.loci * samples + evidence.samples
    return np.bincount(groups[mask], minlength=loci * samples).reshape(loci, samples)


def _depths(
    evidence: Evidence, supported: Ragged, batch: LocusBatch, samples: int
) -> NDArray[np.int64]:
    """Return int64[samples, alleles]: the fragments that support each allele."""
    fragments = np.repeat(np.arange(evidence.loci.size), supported.lengths)
    columns = np.arange(supported.data.size) - supported.offsets[fragments]
    sites = batch.loci.site_offsets[evidence.loci[fragments]] + columns
    rows = batch.sites.allele_offsets[sites] + supported.data
    size = int(batch.sites.allele_offsets[-1])
    cells = evidence.samples[fragments] * np.int64(size) + rows
    return np.bincount(cells[supported.data >= 0], minlength=samples * size).reshape(samples, size)


def _best_haplotypes(evidence: Evidence, batch: LocusBatch) -> NDArray[np.int32]:
    """Return int32[f]: the first of the best haplotypes of each fragment."""
    offsets = evidence.likelihoods.offsets
    fragments = np.repeat(np.arange(evidence.loci.size), evidence.likelihoods.lengths)
    rows = batch.haplotypes.offsets[evidence.loci[fragments]]
    rows += np.arange(fragments.size) - offsets[fragments]
    if not rows.size:
        return rows.astype(np.int32)
    pairs = ReadHaplotypePairs(offsets, rows.astype(np.int32))
    best = first_of_best(pairs, evidence.likelihoods.data, INFORMATIVE)
    return pairs.haplotypes[best]
