"""Reads at the sites of a VCF: the alleles that they support, and their best haplotypes.

Long reads are cut to what is shown around their loci.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.batches import ReadBatch
from hapgpu.arrays.ragged import Ragged
from hapgpu.arrays.ragged_view import RaggedView, read_only, row_of, view_of
from hapgpu.cigar.encoding import (
    consumes_query,
    consumes_reference,
    length_of,
    operation_of,
)
from hapgpu.cigar.read_parts import clipped_parts
from hapgpu.genotyping.batches import FragmentEvidence, LocusReads
from hapgpu.genotyping.calls.likelihoods import supported_alleles
from hapgpu.genotyping.cpu import HostGenotyper
from hapgpu.haplotypes.batches import Loci, LocusBatch
from hapgpu.haplotypes.pairing.pairs import ReadHaplotypePairs
from hapgpu.haplotypes.sites.allele_table import allele_table
from hapgpu.realign.projection.moves import name_hashes
from hapgpu.realign.selection.choice import INFORMATIVE
from hapgpu.realign.selection.cpu import first_of_best
from hapgpu.runtime.jit import njit

MAX_WHOLE: Final = 1000
"""Bases of the longest read that is shown as a whole."""

MARGIN: Final = 500
"""Bases of the reference on either side of a locus that longer reads are cut to."""

_WHOLE: Final = -1
_0: Final = np.int64(0)


def cut_to_loci(reads: ReadBatch, read_loci: NDArray[np.int64], loci: Loci) -> ReadBatch:
    """Cut reads of over `MAX_WHOLE` bases to their loci and a margin.

    Parameters
    ----------
    reads
        n mapped reads.
    read_loci
        int64[n]: the locus of each.
    loci
        The loci.

    Returns
    -------
    ReadBatch
        The reads; tags, which may describe the whole read, stay the same.
    """
    is_long = reads.bases.lengths > MAX_WHOLE
    if not is_long.any():
        return reads
    first, last = loci.starts[read_loci] - MARGIN, loci.ends[read_loci] + MARGIN
    parts = clipped_parts(reads, np.arange(len(reads)), first, last)
    is_cut = is_long & (parts.lengths > 0)
    starts = np.where(is_cut, parts.starts, 0)
    ends = np.where(is_cut, parts.ends, reads.bases.lengths)
    data = np.empty_like(reads.cigars.data)
    offsets = np.zeros(len(reads) + 1, dtype=np.int64)
    positions = reads.positions.copy()
    kept = read_only(np.where(is_cut, starts, _WHOLE)), read_only(ends)
    _cut(view_of(reads.cigars), *kept, positions, data, offsets)
    return replace(
        reads,
        positions=positions,
        cigars=Ragged(data[: offsets[-1]], offsets),
        bases=_part_of(reads.bases, starts, ends),
        qualities=_part_of(reads.qualities, starts, ends),
    )


def _part_of(rows: Ragged, starts: NDArray[np.int64], ends: NDArray[np.int64]) -> Ragged:
    return Ragged.gather(rows.data, rows.offsets[:-1] + starts, ends - starts)


@njit
def _cut(
    cigars: RaggedView,
    starts: NDArray[np.int64],
    ends: NDArray[np.int64],
    positions: NDArray[np.int32],
    out: NDArray[np.uint32],
    offsets: NDArray[np.int64],
) -> None:
    """Write the elements of bases start to end of each read; move the positions to their starts."""
    for row in range(starts.size):
        at, base = offsets[row], _0
        for element in row_of(cigars, row):
            operation, length = operation_of(element), np.int64(length_of(element))
            kept, skipped = length, _0
            if starts[row] == _WHOLE:
                pass
            elif consumes_query(operation):
                skipped = min(max(starts[row] - base, _0), length)
                kept = max(min(base + length, ends[row]) - base - skipped, _0)
                base += length
            elif base <= starts[row]:  # a deletion before the part
                kept, skipped = _0, length
            elif base >= ends[row]:  # or after it
                kept = _0
            if consumes_reference(operation):
                positions[row] += skipped
            if kept > 0:
                out[at] = kept << 4 | operation
                at += 1
        offsets[row + 1] = at


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


def site_reads_of(locus_reads: LocusReads, genotyper: HostGenotyper, samples: int) -> SiteReads:
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
    evidence: FragmentEvidence, hashes: NDArray[np.uint64], samples: int
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
    evidence: FragmentEvidence, mask: NDArray[np.bool_], loci: int, samples: int
) -> NDArray[np.int64]:
    """Return int64[loci, samples]: the fragments of a mask."""
    groups = evidence.loci * samples + evidence.samples
    return np.bincount(groups[mask], minlength=loci * samples).reshape(loci, samples)


def _depths(
    evidence: FragmentEvidence, supported: Ragged, batch: LocusBatch, samples: int
) -> NDArray[np.int64]:
    """Return int64[samples, alleles]: the fragments that support each allele."""
    fragments = np.repeat(np.arange(evidence.loci.size), supported.lengths)
    columns = np.arange(supported.data.size) - supported.offsets[fragments]
    sites = batch.loci.site_offsets[evidence.loci[fragments]] + columns
    rows = batch.sites.allele_offsets[sites] + supported.data
    size = int(batch.sites.allele_offsets[-1])
    cells = evidence.samples[fragments] * np.int64(size) + rows
    return np.bincount(cells[supported.data >= 0], minlength=samples * size).reshape(samples, size)


def _best_haplotypes(evidence: FragmentEvidence, batch: LocusBatch) -> NDArray[np.int32]:
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
