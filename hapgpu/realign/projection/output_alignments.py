"""Alignments of reads with haplotypes, converted to the coordinates of the output."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.batches import AlignmentBatch
from hapgpu.arrays.ragged import Ragged
from hapgpu.cigar.mismatches import mismatch_tags
from hapgpu.haplotypes.pairing.extended_haplotypes import ExtendedHaplotypes
from hapgpu.realign.projection.clip_ends import clip_end_insertions
from hapgpu.realign.projection.placement import Placement
from hapgpu.realign.projection.project import project_alignments


@dataclass(frozen=True, slots=True)
class HaplotypeAlignments:
    """a alignments of reads with haplotypes, read by read.

    `reads`, `queries` and `haplotypes` are the row numbers, [a], in the batch, in its `Queries`
    and in the haplotypes; `is_best` bool[a] is true for one alignment per read.
    """

    reads: NDArray[np.int64]
    queries: NDArray[np.int64]
    haplotypes: NDArray[np.int32]
    is_best: NDArray[np.bool_]
    alignments: AlignmentBatch


@dataclass(frozen=True, slots=True)
class OutputAlignments:
    """a alignments in the coordinates of the output; not `ok` where there is none."""

    ok: NDArray[np.bool_]
    reference_ids: NDArray[np.int32]
    positions: NDArray[np.int32]
    cigars: Ragged
    edit_distances: NDArray[np.int32]
    mismatches: Ragged


def on_haplotypes(
    aligned: HaplotypeAlignments, bases: Ragged, haplotypes: Ragged
) -> OutputAlignments:
    """Return the alignments in the coordinates of the haplotypes, with NM and MD."""
    cigars, positions = aligned.alignments.cigars, aligned.alignments.offsets
    distances, mismatches = mismatch_tags(
        bases.take(aligned.queries), cigars, positions, haplotypes, aligned.haplotypes
    )
    ok = np.ones(len(aligned.reads), dtype=np.bool_)
    return OutputAlignments(ok, aligned.haplotypes, positions, cigars, distances, mismatches)


def on_reference(
    aligned: HaplotypeAlignments, bases: Ragged, extended: ExtendedHaplotypes, placement: Placement
) -> OutputAlignments:
    """Return the alignments projected onto the reference, with NM and MD."""
    whole = bases.take(aligned.queries)
    none = np.zeros(len(whole), dtype=np.int32)
    projections = project_alignments(
        whole,
        aligned.alignments,
        aligned.haplotypes,
        placement.place(extended),
        none,
        none,
        clip_ends=True,
    )
    cigars, positions = clip_end_insertions(projections.cigars, projections.positions)
    windows = extended.windows[aligned.haplotypes]
    within = (positions - extended.reference_starts[windows]).astype(np.int32)
    distances, mismatches = mismatch_tags(whole, cigars, within, extended.references, windows)
    return OutputAlignments(
        projections.ok,
        extended.contigs[windows],
        positions.astype(np.int32),
        cigars,
        distances,
        mismatches,
    )
