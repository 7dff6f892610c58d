"""Likelihoods of the reads of active regions given their haplotypes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.batches import AlignmentBatch, PairBatch
from hapgpu.arrays.bytes import Integer
from hapgpu.arrays.ragged import Ragged, lengths_of
from hapgpu.arrays.ragged_view import RaggedView, read_only, view_of
from hapgpu.calling.batches import (
    RegionHaplotypes,
    RegionLikelihoods,
    RegionReads,
    SegmentReads,
    TrimmedRegions,
)
from hapgpu.calling.options import CallOptions
from hapgpu.calling.reads.finalized import passing
from hapgpu.cigar.encoding import reference_lengths
from hapgpu.cigar.read_parts import ReadParts
from hapgpu.pairhmm.batches import HmmBatch
from hapgpu.pairhmm.normalize import is_well_modelled, normalized
from hapgpu.pairhmm.options import QualityOptions
from hapgpu.pairhmm.reads.qualities import prepared_parts
from hapgpu.realign.align.dispatch import align_pairs
from hapgpu.realign.align.ungapped import UNPROVED, completed, ungapped_alignments
from hapgpu.realign.projection.project import PlacedHaplotypes, Projections, project_alignments
from hapgpu.realign.scoring import PRESETS, Overhang
from hapgpu.runtime.devices import Device
from hapgpu.runtime.jit import njit, njit_inlined

CLEARLY_BETTER: Final = 0.2
"""GATK's LOG_10_INFORMATIVE_THRESHOLD."""

LikelihoodsOf = Callable[[HmmBatch], NDArray[np.float64]]
"""`hapgpu.pairhmm.forward.dispatch.log10_likelihoods` on a device."""


@dataclass(frozen=True, slots=True)
class PreparedReads:
    """Reads for the pair-HMM.

    Attributes
    ----------
    reads
        m reads that pass.
    others
        Reads that do not pass.
    batch
        The m reads with their prepared qualities, and the haplotypes; a group per active region.
    """

    reads: RegionReads
    others: RegionReads
    batch: HmmBatch


def prepared_reads(
    reads: RegionReads,
    segment: SegmentReads,
    trimmed: TrimmedRegions,
    options: CallOptions,
    source: str,
) -> PreparedReads:
    """Prepare reads and their qualities for the pair-HMM. Reads that do not pass get none.

    Parameters
    ----------
    reads
        Reads of the t active regions of `trimmed`, clipped to their trimmed padded spans.
    segment
        The records of the reads.
    trimmed
        The haplotypes.
    options
        Options of the run.
    source
        Name of the input, for errors.

    Raises
    ------
    InputError
        A tag `BI` or `BD` of a read does not hold one quality per base.
    """
    is_passing = passing(reads, segment)
    others = reads.take(~is_passing)
    reads = reads.take(is_passing)
    batch = _hmm_batch(reads, segment, trimmed, options, source)
    return PreparedReads(reads, others, batch)


def read_likelihoods(
    prepared: PreparedReads, values: NDArray[np.float64], trimmed: TrimmedRegions, device: Device
) -> RegionLikelihoods:
    """Normalize likelihoods, and realign each read to its best haplotype, as in GATK.

    Reads that no haplotype explains are excluded.

    Parameters
    ----------
    prepared
        The reads.
    values
        float64 log10: the likelihoods of the pairs of their batch, by the pair-HMM.
    trimmed
        The haplotypes.
    device
        The device of the alignment; the result does not depend on it.
    """
    reads, batch = prepared.reads, prepared.batch
    counts = lengths_of(trimmed.haplotypes.offsets)[reads.regions]
    values, best = normalized(values, counts)
    is_explained = is_well_modelled(best, batch.read_lengths())
    reads, bases = reads.take(is_explained), batch.reads.bases.take(is_explained)
    likelihoods = Ragged.from_lengths(values, counts).take(is_explained)
    return _with_alignments(reads, bases, likelihoods, trimmed, prepared.others, device)


def _hmm_batch(
    reads: RegionReads,
    segment: SegmentReads,
    trimmed: TrimmedRegions,
    options: CallOptions,
    source: str,
) -> HmmBatch:
    """Return a batch with a group per active region."""
    parts = ReadParts(reads.rows, reads.base_starts, reads.base_ends)
    qualities = QualityOptions(pcr_model=options.pcr_model)
    prepared = prepared_parts(
        segment.reads, parts, qualities, source, reads.qualities, options.dragstr
    )
    haplotypes = trimmed.haplotypes
    return HmmBatch(prepared, haplotypes.bases, reads.offsets, haplotypes.offsets)


def _with_alignments(
    reads: RegionReads,
    bases: Ragged,
    likelihoods: Ragged,
    trimmed: TrimmedRegions,
    others: RegionReads,
    device: Device,
) -> RegionLikelihoods:
    regions = reads.regions
    best, is_informative = best_haplotypes(likelihoods, regions, trimmed.haplotypes)
    rows: NDArray[np.int64] = trimmed.haplotypes.offsets[regions] + best
    moved = realigned_reads(reads, bases, rows, trimmed, device)
    return RegionLikelihoods(moved, likelihoods, best, is_informative, others)


class _Best(NamedTuple):
    """The result, a value per read."""

    haplotypes: NDArray[np.int64]
    is_informative: NDArray[np.bool_]


def best_haplotypes(
    likelihoods: Ragged, regions: NDArray[np.int64], haplotypes: RegionHaplotypes
) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Choose the haplotype to which each read is realigned.

    It has the highest likelihood. If the next is less than 0.2 below, the one with the highest
    priority among those at most 0.2 below: the reference before others, then the fewest CIGAR
    elements. Ties: the one with the highest likelihood, then the first.

    Parameters
    ----------
    likelihoods
        float64 log10, m rows: a value per haplotype of the active region of the read.
    regions
        int64[m]: the active region of each read.
    haplotypes
        The haplotypes.

    Returns
    -------
    int64[m], counted within the active region; and bool[m]: whether it is more than 0.2 above the
    next.
    """
    priorities = haplotypes.is_reference + 1 - haplotypes.cigars.lengths
    best = _Best(np.empty(regions.size, np.int64), np.empty(regions.size, np.bool_))
    _choose(
        view_of(likelihoods),
        read_only(haplotypes.offsets[regions]),
        read_only(priorities),
        best,
    )
    return best


@njit
def _choose(
    likelihoods: RaggedView,
    first_haplotypes: NDArray[np.int64],
    priorities: NDArray[np.int64],
    out: _Best,
) -> None:
    """Set the best haplotype of each read; ties by priority, as GATK's `searchBestAllele`."""
    for read in range(first_haplotypes.size):
        start, end = likelihoods.offsets[read], likelihoods.offsets[read + 1]
        best, second = start, -np.inf
        for k in range(start + 1, end):
            value = likelihoods.data[k]
            if value > likelihoods.data[best]:
                second = likelihoods.data[best]
                best = k
            else:
                second = max(second, value)
        difference = likelihoods.data[best] - second
        out.is_informative[read] = difference > CLEARLY_BETTER
        if difference < CLEARLY_BETTER:
            shift = first_haplotypes[read] - start
            best = _by_priority(likelihoods.data, start, end, best, priorities, shift)
        out.haplotypes[read] = best - start


@njit_inlined
def _by_priority(
    likelihoods: NDArray[np.float64],
    start: Integer,
    end: Integer,
    highest: Integer,
    priorities: NDArray[np.int64],
    shift: Integer,
) -> Integer:
    """Return the first with the highest priority of those near the highest likelihood."""
    best = highest
    for k in range(start, end):
        is_near = likelihoods[highest] - likelihoods[k] <= CLEARLY_BETTER
        if is_near and priorities[shift + k] > priorities[shift + best]:
            best = k
    return best


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


def _placed(trimmed: TrimmedRegions) -> PlacedHaplotypes[Ragged]:
    haplotypes = trimmed.haplotypes
    return PlacedHaplotypes(
        haplotypes.cigars,
        np.zeros(len(haplotypes), dtype=np.int64),
        haplotypes.regions.astype(np.int32),
        haplotypes.bases.take(haplotypes.is_reference),
        trimmed.regions.padded_starts,
    )


def _moved(reads: RegionReads, projections: Projections[Ragged]) -> RegionReads:
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
