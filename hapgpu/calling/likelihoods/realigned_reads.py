"""Reads aligned with their best haplotypes, and from there with the reference."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.batches import AlignmentBatch, PairBatch
from hapgpu.arrays.ragged import Ragged
from hapgpu.calling.batches import RegionReads, TrimmedRegions
from hapgpu.cigar.encoding import reference_lengths
from hapgpu.realign.align.dispatch import align_pairs
from hapgpu.realign.align.ungapped import UNPROVED, completed, ungapped_alignments
from hapgpu.realign.projection.project import PlacedHaplotypes, Projections, project_alignments
from hapgpu.realign.scoring import PRESETS, Overhang
from hapgpu.runtime.devices import Device


def realigned_reads(
    reads: RegionReads,
    bases: Ragged,
    haplotypes: NDArray[np.int64],
    trimmed: TrimmedRegions,
    device: Device,
) -> RegionReads:
    """Return reads with the alignments that their haplotypes give them, as in GATK.

    A read that cannot be projected onto the reference keeps its alignment.

    Parameters
    ----------
    reads
        m reads of t active regions.
    bases
        uint8 text, m rows: their bases.
    haplotypes
        int64[m]: the haplotype of each read, a row of `trimmed.haplotypes`.
    trimmed
        The haplotypes of the active regions.
    device
        The device that aligns; the result does not depend on it.
    """
    pairs = PairBatch(
        trimmed.haplotypes.bases,
        bases,
        haplotypes.astype(np.int32),
        np.arange(len(reads), dtype=np.int32),
    )
    alignments = _aligned(pairs, device)
    unclipped = np.zeros(len(reads), dtype=np.int32)
    projections = project_alignments(
        bases, alignments, pairs.reference_index, _placed(trimmed), unclipped, unclipped
    )
    return _moved(reads, projections)


def _aligned(pairs: PairBatch, device: Device) -> AlignmentBatch:
    """Align reads by GATK's weights; a GPU gets only the few that need a matrix."""
    scoring = PRESETS["read-to-haplotype"]
    offsets, scores = ungapped_alignments(pairs, scoring, Overhang.SOFTCLIP)
    rest = pairs.take(offsets == UNPROVED)
    others = align_pairs(rest, scoring, Overhang.SOFTCLIP, device)
    return completed(pairs, offsets, scores, others)


def _placed(trimmed: TrimmedRegions) -> PlacedHaplotypes:
    haplotypes = trimmed.haplotypes
    return PlacedHaplotypes(
        haplotypes.cigars,
        np.zeros(len(haplotypes), dtype=np.int64),
        haplotypes.regions.astype(np.int32),
        haplotypes.bases.take(haplotypes.is_reference),
        trimmed.regions.padded_starts,
    )


def _moved(reads: RegionReads, projections: Projections) -> RegionReads:
    """Replace the alignments of reads that are projected."""
    ok = projections.ok
    if ok.all():
        starts, cigars = projections.positions, projections.cigars
    else:
        starts = np.where(ok, projections.positions, reads.starts)
        both = Ragged.concatenate([projections.cigars, reads.cigars])
        rows = np.arange(ok.size)
        cigars = both.take(np.where(ok, rows, rows + ok.size))
    ends = starts + reference_lengths(cigars)
    return replace(reads, starts=starts, ends=ends, cigars=cigars)
