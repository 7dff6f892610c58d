"""Likelihoods of reads given extended haplotypes, on a GPU; same as `extended_likelihoods`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import cupy
import numpy as np

from hapgpu.cigar.cuda.read_parts import DeviceReadParts
from hapgpu.haplotypes.pairing.cuda import DeviceReadPairs
from hapgpu.haplotypes.pairing.extender_cuda import DeviceExtended
from hapgpu.io.bam.cuda.device_records import DeviceRecords
from hapgpu.pairhmm.forward.cuda import device_log10_likelihoods
from hapgpu.pairhmm.qualities.cuda import check_device_qualities, prepared_device_parts
from hapgpu.pairhmm.qualities.prepare import QualityOptions
from hapgpu.pairhmm.reads.cuda.pairs_by_locus import DeviceLocusHaplotypes, DevicePairsByLocus
from hapgpu.realign.selection.by_likelihood import REMEDY
from hapgpu.runtime.devices import CudaDevice


@dataclass(frozen=True, slots=True)
class DeviceExtendedLikelihoods:
    """Computes likelihoods on the current GPU; `source` names the input in errors."""

    device: CudaDevice
    source: str

    def __call__(
        self,
        records: DeviceRecords,
        pairs: DeviceReadPairs,
        extended: DeviceExtended,
        clips: tuple[Any, Any],
    ) -> Any:
        """Return log10 P(read | haplotype) of p pairs, float64[p] on the GPU.

        Parameters
        ----------
        records
            n reads.
        pairs
            The pairs of the reads; their haplotypes are rows of `extended`.
        extended
            Haplotypes extended by flanks.
        clips
            int32[n] each: numbers of bases at the start and at the end of a read that are ignored.

        Raises
        ------
        InputError
            A read has no base qualities, or invalid indel qualities.
        """
        likelihoods = cupy.empty(len(pairs), dtype=np.float64)
        if not likelihoods.size:
            return likelihoods
        check_device_qualities(records, self.source, REMEDY)
        leading, trailing = clips
        haplotypes = DeviceLocusHaplotypes.of_windows(extended)
        pairs_by_locus = DevicePairsByLocus.of(pairs, haplotypes)
        ends = (records.layout.base_counts - trailing).astype(np.int64)
        rows = pairs_by_locus.reads
        parts = DeviceReadParts(rows, leading.astype(np.int64)[rows], ends[rows])
        prepared = prepared_device_parts(records, parts, QualityOptions(), self.source)
        batch = pairs_by_locus.hmm_batch(prepared, haplotypes)
        likelihoods[pairs_by_locus.order] = device_log10_likelihoods(batch, self.device)
        return likelihoods
