"""All steps of the likelihoods in one, on the CPU."""

from __future__ import annotations

from hapgpu.calling.batches import RegionLikelihoods, RegionReads, SegmentReads, TrimmedRegions
from hapgpu.calling.genotypes.likelihoods import prepared_reads, read_likelihoods
from hapgpu.calling.options import CallOptions
from hapgpu.pairhmm.forward.dispatch import log10_likelihoods
from hapgpu.runtime.devices import CpuDevice

DEVICE = CpuDevice(1)


def haplotype_likelihoods(
    reads: RegionReads, segment: SegmentReads, trimmed: TrimmedRegions, options: CallOptions
) -> RegionLikelihoods:
    """Return the likelihoods of reads, with their realignments."""
    prepared = prepared_reads(reads, segment, trimmed, options, "reads")
    return read_likelihoods(prepared, log10_likelihoods(prepared.batch, DEVICE), trimmed, DEVICE)
