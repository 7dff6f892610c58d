"""Genotyping of batches of loci on a GPU: the CUDA counterpart of `genotyper`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from functools import partial
from typing import Any, Final

import cupy
import numpy as np

from hapgpu.arrays.cuda import DeviceRagged
from hapgpu.cigar.cuda.read_parts import DeviceReadParts
from hapgpu.genotyping.batches import Genotyped, GenotypedLoci
from hapgpu.genotyping.calls.genotypes import calls_of
from hapgpu.genotyping.calls.likelihoods_cuda import device_site_likelihoods
from hapgpu.genotyping.deep_loci import READS_OVER_LIMIT, genotyped_in_pieces, has_too_many
from hapgpu.genotyping.device_batches import (
    DeviceClippedReads,
    DeviceLoci,
    DeviceLocusReads,
    HostLocusReads,
    locus_columns,
)
from hapgpu.genotyping.evidence.clipped_reads_cuda import clipped_device_reads
from hapgpu.genotyping.evidence.fragment_likelihoods_cuda import device_evidence_of
from hapgpu.genotyping.genotyper import (
    MARGIN,
    MIN_BASES,
    REMEDY,
    GenotypeOptions,
    Genotyper,
)
from hapgpu.haplotypes.batches import Haplotypes, Loci
from hapgpu.haplotypes.candidates.allele_table import allele_table
from hapgpu.io.bam.cuda.device_records import DeviceRecords
from hapgpu.pairhmm.device_batches import DeviceHmmBatch, DeviceHmmReads
from hapgpu.pairhmm.forward.dispatch import log10_likelihoods
from hapgpu.pairhmm.qualities.cuda import check_device_qualities, prepared_device_parts
from hapgpu.pairhmm.qualities.prepare import QualityOptions
from hapgpu.runtime.devices import CudaDevice
from hapgpu.runtime.gpu.context import (
    OUT_OF_MEMORY,
    active_on,
    release_memory,
    retried,
)
from hapgpu.runtime.gpu.memory_turns import memory_turns
from hapgpu.runtime.gpu.staging import thread_staging

_STAGING: Final = 3  # of the thread; the pair-HMM has the ones before

DeviceLikelihoodsOf = Callable[[DeviceHmmBatch], Any]
"""`hapgpu.pairhmm.forward.cuda.device_log10_likelihoods` on a GPU."""


class DeviceGenotyper:
    """Genotyping of batches of loci on a GPU; threads must not share an object.

    Parameters
    ----------
    options
        Ploidy, prior, PCR model.
    samples, inputs
        Numbers of samples and of inputs.
    device
        The GPU.
    likelihoods
        The pair-HMM on the GPU.
    source
        Name of the reads, for errors.
    """

    def __init__(
        self,
        options: GenotypeOptions,
        samples: int,
        inputs: int,
        device: CudaDevice,
        likelihoods: DeviceLikelihoodsOf,
        source: str,
    ) -> None:
        self._options = options
        self._qualities = QualityOptions(pcr_model=options.pcr_model)
        self._samples = samples
        self._inputs = inputs
        self._device = device
        self._turns = memory_turns(device)
        self._likelihoods = likelihoods
        self._source = source
        self._host = Genotyper(options, samples, partial(log10_likelihoods, device=device), source)

    def active(self) -> AbstractContextManager[None]:
        """Return a context in which the calling thread reads and genotypes on the GPU."""
        return active_on(self._device)

    def __call__(
        self, locus_reads: DeviceLocusReads | HostLocusReads | GenotypedLoci
    ) -> Iterator[Genotyped]:
        """Genotype the sites of some loci, in order, in slices where memory is too small.

        Raises
        ------
        InputError
            A read has no base qualities, or a tag `BI` or `BD` that does not fit its bases.
        MemoryError
            The GPU has too little memory for one locus.
        """
        if isinstance(locus_reads, GenotypedLoci):
            yield from locus_reads.parts
            return
        if isinstance(locus_reads, HostLocusReads):
            locus_reads = retried(locus_reads.upload)
        parts = [locus_reads]
        del locus_reads
        while parts:
            part = parts.pop(0)
            loci = len(part.batch.loci)
            try:
                found = self._turns.compute(partial(self._genotyped, part))
            except OUT_OF_MEMORY:
                if loci == 1:
                    raise
            else:
                yield from [found] if found else self._in_pieces(part)
                continue
            release_memory()  # not in `except`, where the traceback still holds arrays
            parts[:0] = [part.slice(0, loci // 2), part.slice(loci // 2, loci)]

    def _in_pieces(self, reads: DeviceLocusReads) -> Iterator[Genotyped]:
        return genotyped_in_pieces(self._host, reads.batch, reads.host_pieces())

    def _genotyped(self, reads: DeviceLocusReads) -> Genotyped | None:
        """Return the calls; None if a locus has too many reads for the GPU."""
        batch = reads.batch
        loci, haplotypes, members = _uploaded(batch.loci, batch.haplotypes)
        origins = reads.samples.astype(np.int64) * self._inputs + reads.files
        records, clipped = clipped_device_reads(
            reads.records, reads.samples, origins, loci, MARGIN, MIN_BASES
        )
        offsets = cupy.searchsorted(clipped.loci, cupy.arange(len(batch.loci) + 1), side="left")
        if has_too_many(np.diff(offsets.get()), np.diff(batch.haplotypes.offsets)):
            return None
        hmm = self._hmm_batch(records, clipped, offsets, haplotypes, members)
        evidence = device_evidence_of(clipped, self._likelihoods(hmm), members[1:] - members[:-1])
        poor = (~evidence.is_explained).sum()
        alleles = allele_table(batch.sites, batch.loci, batch.haplotypes)
        ploidy = self._options.ploidy
        likelihoods = device_site_likelihoods(evidence, batch, alleles, self._samples, ploidy)
        calls = calls_of(likelihoods, batch, self._options.prior, ploidy)
        counts = {
            "haplotypes": len(batch.haplotypes.sequences),
            "fragments": clipped.fragments,
            "poorly_modelled_fragments": int(poor),
            READS_OVER_LIMIT: 0,
            "likelihoods": hmm.pairs,
            "cells": hmm.cells,
            "calls": int((calls.qualities >= 0).sum()),
            "no_calls": int((calls.qualities < 0).sum()),
        }
        return Genotyped(batch, calls, counts)

    def _hmm_batch(
        self,
        records: DeviceRecords,
        clipped: DeviceClippedReads,
        offsets: Any,
        haplotypes: DeviceRagged,
        members: Any,
    ) -> DeviceHmmBatch:
        """Return the pair-HMM batch, a group per locus: its clipped reads and haplotypes."""
        check_device_qualities(records, self._source, REMEDY)
        rows = cupy.arange(len(records))
        whole = prepared_device_parts(
            records, DeviceReadParts.whole(records, rows), self._qualities, self._source
        )
        reads = _gathered(whole, clipped.parts)
        return DeviceHmmBatch.of(reads, haplotypes, offsets, members)


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


def _uploaded(loci: Loci, haplotypes: Haplotypes) -> tuple[DeviceLoci, DeviceRagged, Any]:
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
