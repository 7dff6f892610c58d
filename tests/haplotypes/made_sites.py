"""Batches of loci with little but sites, for tests of likelihoods and calls."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from hapgpu.arrays.ragged import Ragged, offsets_of
from hapgpu.haplotypes.batches import Haplotypes, Loci, LocusBatch, ShiftRanges
from hapgpu.io.vcf.records import VcfRecord
from tests.haplotypes.made_records import made_sites

SITE_DISTANCE = 10
"""Site i is at 0-based position i * SITE_DISTANCE; the sites are one base long."""


def record_of(site: int, alternatives: Sequence[str], info: str = ".") -> VcfRecord:
    """Return a record with the REF `A`."""
    start = site * SITE_DISTANCE
    alts = ",".join(alternatives) or "."
    columns = ("c", str(start + 1), ".", "A", alts, ".", ".", info)
    return VcfRecord(f"line {site + 1}", "c", start, "A", tuple(alternatives), columns, "")


def insertions(count: int) -> list[str]:
    """Return distinct ALT alleles of the REF `A`."""
    return ["A" + "C" * (k + 1) for k in range(count)]


def batch_of(
    records: Sequence[VcfRecord], sites: Sequence[int], haplotypes: Sequence[int]
) -> LocusBatch:
    """Return loci of records, given the numbers of sites and of haplotypes of each."""
    columns = made_sites(records)
    site_offsets, haplotype_offsets = offsets_of(sites), offsets_of(haplotypes)
    starts, ends = columns.starts[site_offsets[:-1]], columns.ends[site_offsets[1:] - 1]
    sequences = Ragged.from_sequences("ACGT"[k % 4] for k in range(haplotype_offsets[-1]))
    nothing = Ragged.from_lengths(np.empty(0, dtype=np.int32), [0] * int(haplotype_offsets[-1]))
    return LocusBatch(
        "c",
        columns,
        ShiftRanges(columns.starts, columns.ends),
        Loci(site_offsets, starts, ends),
        Haplotypes(starts, ends, haplotype_offsets, sequences, nothing),
    )
