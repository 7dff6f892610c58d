"""Likelihoods of parts of records in GPU memory, grouped by locus as in `pairs_by_locus`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import cupy
import numpy as np

from hapgpu.arrays.cuda import DeviceRagged
from hapgpu.arrays.ragged import offsets_of
from hapgpu.io.bam.cuda.device_records import DeviceRecords
from hapgpu.pairhmm.forward.cuda import HaplotypeGroups, device_log10_likelihoods
from hapgpu.pairhmm.qualities.cuda import DeviceParts, prepared_parts
from hapgpu.pairhmm.qualities.prepare import QualityOptions
from hapgpu.pairhmm.reads.pairs_by_locus import LocusHaplotypes
from hapgpu.runtime.devices import CudaDevice


@dataclass(frozen=True, slots=True)
class DeviceOverlaps:
    """p pairs in m overlaps of a query with a locus, by locus and then by query.

    Attributes
    ----------
    rows, loci
        int64[m] each, the query and the locus of the overlaps.
    order
        int64[p], the pairs overlap by overlap, in their order in the input.
    of_pairs
        int64[p], the overlap of each pair in this order.
    """

    rows: Any
    loci: Any
    order: Any
    of_pairs: Any

    @classmethod
    def of(cls, loci: Any, rows: Any, queries: int) -> DeviceOverlaps:
        """Group pairs by locus and query, int64[p] each; `queries` is above all queries."""
        keys = loci * queries + rows
        order = cupy.argsort(keys)
        keys = keys[order]
        is_first = cupy.ones(order.size, dtype=np.bool_)
        is_first[1:] = keys[1:] != keys[:-1]
        first = order[cupy.flatnonzero(is_first)]
        of_pairs = cupy.cumsum(is_first.astype(np.int64)) - 1
        return cls(rows[first], loci[first], order, of_pairs)


def part_likelihoods(
    records: DeviceRecords,
    queries: DeviceRagged,
    overlaps: tuple[DeviceParts, Any],
    haplotypes: LocusHaplotypes,
    device: CudaDevice,
) -> Any:
    """Compute log10 P(part | haplotype) of parts of reads and all haplotypes of their loci.

    Parameters
    ----------
    records
        The reads, on the current GPU.
    queries
        uint8 text: the bases of the reads, in one orientation or both.
    overlaps
        At least one part, by locus, each with bases; and int64[m], the loci.
    haplotypes
        The haplotypes of all loci.
    device
        The current GPU.

    Returns
    -------
    float64 on the GPU, part by part, haplotypes in the order of their file; None if a read has no
    base qualities, or a bad tag `BI` or `BD`.
    """
    parts, part_loci = overlaps
    reads = prepared_parts(records, queries, parts, QualityOptions())
    if reads is None:
        return None
    loci, counts = cupy.unique(part_loci, return_counts=True)
    members = haplotypes.members.take(loci.get())
    groups = HaplotypeGroups(
        haplotypes.sequences.take(members.data), offsets_of(counts.get()), members.offsets
    )
    return cupy.asarray(device_log10_likelihoods(reads, groups, device))
