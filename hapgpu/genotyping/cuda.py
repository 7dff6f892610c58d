"""Genotyping on a GPU: the stages of `genotyper`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Final, NamedTuple, TypeAlias

import cupy
import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.cuda import DeviceRagged
from hapgpu.cigar.cuda import DeviceReadParts
from hapgpu.genotyping.batches import Genotyped
from hapgpu.genotyping.calls.cuda import device_site_likelihoods
from hapgpu.genotyping.cpu import host_genotyper
from hapgpu.genotyping.deep_loci import genotyped_in_pieces
from hapgpu.genotyping.genotyper import MARGIN, MIN_BASES, REMEDY, Genotyper, GenotypingStages
from hapgpu.genotyping.options import GenotypeOptions
from hapgpu.genotyping.reads.cuda.aligned_reads import DeviceLocusReads, HostLocusReads
from hapgpu.genotyping.reads.cuda.evidence import (
    DeviceClippedReads,
    DeviceEvidence,
    DeviceLoci,
    clipped_device_reads,
    device_evidence_of,
    locus_columns,
)
from hapgpu.haplotypes.batches import Haplotypes, Loci
from hapgpu.io.bam.cuda.device_records import DeviceRecords
from hapgpu.pairhmm.cuda.batches import DeviceHmmBatch, DeviceHmmReads
from hapgpu.pairhmm.forward.dispatch import log10_likelihoods
from hapgpu.pairhmm.options import QualityOptions
from hapgpu.pairhmm.reads.cuda.qualities import check_device_qualities, prepared_device_parts
from hapgpu.runtime.devices import CudaDevice
from hapgpu.runtime.gpu.context import active_on, retried
from hapgpu.runtime.gpu.memory_turns import memory_turns
from hapgpu.runtime.gpu.parts import computed_in_parts
from hapgpu.runtime.gpu.staging import thread_staging
from hapgpu.runtime.gpu_array import GpuArray

_STAGING: Final = 3  # of the thread; the pair-HMM has the ones before


class _ClippedAtLoci(NamedTuple):
    """Clipped reads, and what their likelihoods need.

    `records` are the reads that overlap a locus; the clipped reads of each locus are at `offsets`,
    int64[l + 1], and its haplotypes at `members`, int64[l + 1].
    """

    records: DeviceRecords
    reads: DeviceClippedReads
    offsets: GpuArray
    haplotypes: DeviceRagged
    members: GpuArray


DeviceGenotyper: TypeAlias = Genotyper[
    DeviceLocusReads | HostLocusReads,
    DeviceLocusReads,
    _ClippedAtLoci,
    DeviceHmmBatch,
    DeviceEvidence,
]


def device_genotyper(
    options: GenotypeOptions,
    samples: int,
    inputs: int,
    device: CudaDevice,
    likelihoods: Callable[[DeviceHmmBatch], GpuArray],
    source: str,
) -> DeviceGenotyper:
    """Return a genotyper of loci on a GPU; threads must not share it.

    Parameters
    ----------
    options
        Ploidy, prior, PCR model.
    samples, inputs
        Numbers of samples and of inputs.
    device
        The GPU.
    likelihoods
        The pair-HMM, `hapgpu.pairhmm.forward.cuda.device_log10_likelihoods` on the GPU.
    source
        Name of the reads, for errors.
    """
    qualities = QualityOptions(pcr_model=options.pcr_model)
    host = host_genotyper(options, samples, partial(log10_likelihoods, device=device), source)
    turns = memory_turns(device)

    def in_parts(
        reads: DeviceLocusReads | HostLocusReads,
        compute: Callable[[DeviceLocusReads], Genotyped | DeviceLocusReads],
    ) -> Iterator[Genotyped | DeviceLocusReads]:
        on_gpu = reads if isinstance(reads, DeviceLocusReads) else retried(reads.upload)

        def in_turn(part: DeviceLocusReads) -> Genotyped | DeviceLocusReads:
            return turns.compute(partial(compute, part))

        return computed_in_parts(on_gpu, in_turn, DeviceLocusReads.halves)

    def join(_reads: DeviceLocusReads, clipped: _ClippedAtLoci) -> DeviceHmmBatch:
        records = clipped.records
        check_device_qualities(records, source, REMEDY)
        rows = cupy.arange(len(records))
        whole = prepared_device_parts(
            records, DeviceReadParts.whole(records, rows), qualities, source
        )
        reads = _gathered(whole, clipped.reads.parts)
        return DeviceHmmBatch.of(reads, clipped.haplotypes, clipped.offsets, clipped.members)

    def in_pieces(reads: DeviceLocusReads) -> Iterator[Genotyped]:
        return genotyped_in_pieces(host, reads.batch, reads.host_pieces())

    stages = GenotypingStages(
        active=partial(active_on, device),
        in_parts=in_parts,
        clip=partial(_clipped, inputs),
        count=_reads_per_locus,
        join=join,
        likelihoods=likelihoods,
        combine=_combined,
        site_likelihoods=device_site_likelihoods,
        in_pieces=in_pieces,
    )
    return Genotyper(options, samples, stages)


def _clipped(inputs: int, reads: DeviceLocusReads) -> _ClippedAtLoci:
    batch = reads.batch
    loci, haplotypes, members = _uploaded(batch.loci, batch.haplotypes)
    origins = reads.samples.astype(np.int64) * inputs + reads.files
    records, clipped = clipped_device_reads(
        reads.records, reads.samples, origins, loci, MARGIN, MIN_BASES
    )
    offsets = cupy.searchsorted(clipped.loci, cupy.arange(len(batch.loci) + 1), side="left")
    return _ClippedAtLoci(records, clipped, offsets, haplotypes, members)


def _reads_per_locus(_reads: DeviceLocusReads, clipped: _ClippedAtLoci) -> NDArray[np.int64]:
    offsets: NDArray[np.int64] = clipped.offsets.get()
    return np.diff(offsets)


def _combined(
    _reads: DeviceLocusReads, clipped: _ClippedAtLoci, likelihoods: GpuArray
) -> DeviceEvidence:
    counts = clipped.members[1:] - clipped.members[:-1]
    return device_evidence_of(clipped.reads, likelihoods, counts)


def current_gpu(devices: Sequence[CudaDevice]) -> CudaDevice:
    """Return the one of some GPUs that is current in the calling thread."""
    index = int(cupy.cuda.Device().id)
    return next(device for device in devices if device.index == index)


def _gathered(reads: DeviceHmmReads, parts: DeviceReadParts) -> DeviceHmmReads:
    """Copy parts of reads."""
    starts, lengths = reads.bases.offsets[parts.reads] + parts.starts, parts.lengths
    bases, base_qualities, insertions, deletions = (
        DeviceRagged.gather(column, starts, lengths) for column in reads.columns
    )
    return DeviceHmmReads(
        bases, base_qualities.data, insertions.data, deletions.data, reads.gap_continuation
    )


def _uploaded(loci: Loci, haplotypes: Haplotypes) -> tuple[DeviceLoci, DeviceRagged, GpuArray]:
    """Copy loci and haplotypes to the current GPU; also int64[l + 1], the rows of haplotypes."""
    sequences = haplotypes.sequences
    texts = (sequences.data, sequences.offsets, haplotypes.offsets)
    columns = (*locus_columns(loci), *texts)
    copies = thread_staging(_STAGING).upload(
        [np.ascontiguousarray(column) for column in columns],
        cupy.cuda.get_current_stream(),
    )
    *of_loci, data, offsets, members = copies
    return DeviceLoci(*of_loci), DeviceRagged(data, offsets), members
