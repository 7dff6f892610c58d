"""Likelihoods of reads given extended haplotypes on a GPU; as `extended_likelihoods`."""

from __future__ import annotations

from typing import Any

import cupy
import numpy as np

from hapgpu.arrays.cuda import DeviceRagged
from hapgpu.haplotypes.pairing.cuda import DeviceReadPairs
from hapgpu.haplotypes.pairing.extender_cuda import DeviceExtended
from hapgpu.haplotypes.pairing.haplotype_set import HaplotypeSet
from hapgpu.io.bam.cuda.device_records import DeviceRecords
from hapgpu.pairhmm.qualities.cuda import DeviceParts
from hapgpu.pairhmm.reads.cuda import DeviceOverlaps, part_likelihoods
from hapgpu.pairhmm.reads.pairs_by_locus import LocusHaplotypes
from hapgpu.runtime.devices import CudaDevice


def extended_likelihoods(
    records: DeviceRecords,
    bases: DeviceRagged,
    pairs: DeviceReadPairs,
    extended: DeviceExtended,
    clips: tuple[Any, Any],
    device: CudaDevice,
) -> Any:
    """Return log10 P(read | haplotype) of p pairs, float64[p]; 0 for the only pair of a read.

    Parameters
    ----------
    records
        n mapped reads, on the current GPU.
    bases
        uint8 text, n rows.
    pairs
        The pairs of the reads with rows of `extended`.
    extended
        Haplotypes extended by flanks.
    clips
        int32[n] each: numbers of bases at the start and at the end of a read that are ignored.
    device
        The current GPU.

    Returns
    -------
    float64[p] on the GPU; None if a read with several pairs has no base qualities, or a bad tag
    `BI` or `BD`.
    """
    reads = pairs.reads
    likelihoods = cupy.zeros(len(pairs), dtype=np.float64)
    computed = cupy.flatnonzero((pairs.counts > 1)[reads])
    if not computed.size:
        return likelihoods
    # The haplotypes of a window are those of a locus with the same flanks.
    windows = extended.windows.astype(np.int64)[pairs.haplotypes[computed]]
    overlaps = DeviceOverlaps.of(windows, reads[computed], len(records))
    rows, (leading, trailing) = overlaps.rows, clips
    parts = DeviceParts(
        rows,
        rows,
        cupy.zeros(rows.size, dtype=np.bool_),
        leading[rows].astype(np.int64),
        (records.layout.base_counts - trailing)[rows].astype(np.int64),
    )
    haplotypes = LocusHaplotypes.of(
        HaplotypeSet((), extended.sequences.download(), (), extended.windows.get())
    )
    found = part_likelihoods(records, bases, (parts, overlaps.loci), haplotypes, device)
    if found is None:
        return None
    likelihoods[computed[overlaps.order]] = found
    return likelihoods
