"""Likelihoods of the reads of active regions given their haplotypes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.ragged import Ragged, lengths_of
from hapgpu.calling.batches import ReadLikelihoods, RegionReads, SegmentReads, TrimmedRegions
from hapgpu.calling.likelihoods.best_haplotypes import best_haplotypes
from hapgpu.calling.likelihoods.realigned_reads import realigned_reads
from hapgpu.calling.options import CallOptions
from hapgpu.calling.reads.reclipped import passing
from hapgpu.cigar.read_parts import ReadParts
from hapgpu.pairhmm.batches import HmmBatch
from hapgpu.pairhmm.normalize import is_well_modelled, normalized
from hapgpu.pairhmm.qualities.prepare import QualityOptions, prepared_parts
from hapgpu.runtime.devices import Device


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
    batch = _hmm_batch(reads, segment, trimmed, QualityOptions(pcr_model=options.pcr_model), source)
    return PreparedReads(reads, others, batch)


def read_likelihoods(
    prepared: PreparedReads, values: NDArray[np.float64], trimmed: TrimmedRegions, device: Device
) -> ReadLikelihoods:
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
    options: QualityOptions,
    source: str,
) -> HmmBatch:
    """Return a batch with a group per active region."""
    parts = ReadParts(reads.rows, reads.base_starts, reads.base_ends)
    prepared = prepared_parts(segment.reads, parts, options, source, reads.qualities)
    haplotypes = trimmed.haplotypes
    return HmmBatch(prepared, haplotypes.bases, reads.offsets, haplotypes.offsets)


def _with_alignments(
    reads: RegionReads,
    bases: Ragged,
    likelihoods: Ragged,
    trimmed: TrimmedRegions,
    others: RegionReads,
    device: Device,
) -> ReadLikelihoods:
    regions = reads.regions
    best, is_informative = best_haplotypes(likelihoods, regions, trimmed.haplotypes)
    rows: NDArray[np.int64] = trimmed.haplotypes.offsets[regions] + best
    moved = realigned_reads(reads, bases, rows, trimmed, device)
    return ReadLikelihoods(moved, likelihoods, best, is_informative, others)
