"""Haplotypes of small inputs, as lists to compare."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np

from hapgpu.arrays.ragged import Ragged, offsets_of
from hapgpu.haplotypes.batches import Haplotypes, Loci, PhaseGroups, ReferenceSlice, Sites
from hapgpu.haplotypes.sites.haplotypes import haplotypes_of
from hapgpu.haplotypes.sites.loci import loci_of
from hapgpu.haplotypes.sites.phased import phase_groups_of_sites
from hapgpu.haplotypes.sites.shift_ranges import shift_ranges_of
from hapgpu.io.vcf.records import VcfRecord
from tests.haplotypes.haplotype_oracle import Options
from tests.haplotypes.made_records import made_sites
from tests.haplotypes.made_references import slice_of

NO_MASK = np.empty(0, dtype=np.int64)
Found = list[list[tuple[str, list[int]]]]


def listed(found: Haplotypes) -> Found:
    """Return the sequences of each locus, and the rows that they carry."""
    texts = [row.tobytes().decode() for row in found.sequences]
    both = list(zip(texts, [row.tolist() for row in found.carried], strict=True))
    offsets = found.offsets.tolist()
    return [both[a:b] for a, b in itertools.pairwise(offsets)]


def one_locus(records: Sequence[VcfRecord], reference: ReferenceSlice) -> tuple[Sites, Loci]:
    sites = made_sites(records)
    return sites, loci_of(
        shift_ranges_of(sites, reference), np.ones(len(sites), dtype=np.int64), 10**9, 1
    )


def haplotypes_of_records(
    text: str, *records: VcfRecord, max_combinations: int = 64
) -> list[tuple[str, list[int]]]:
    """Return the haplotypes of one locus of all records, with the whole contig as flanks."""
    reference = slice_of(text)
    sites, loci = one_locus(records, reference)
    phase_groups = phase_groups_of_sites(sites, loci)
    found = haplotypes_of(
        sites, loci, phase_groups, reference, len(text), max_combinations, NO_MASK
    )
    return listed(found)[0]


def phase_groups_of(group_sets: Sequence[Sequence[Options]]) -> PhaseGroups:
    """Return the sets of groups of one locus as arrays."""
    groups = [group for group_set in group_sets for group in group_set]
    options = [option for group in groups for option in group]
    rows = np.array([row for option in options for row in option], dtype=np.int32)
    return PhaseGroups(
        np.zeros(len(group_sets), dtype=np.int64),
        offsets_of([len(group_set) for group_set in group_sets]),
        offsets_of([len(group) for group in groups]),
        Ragged.from_lengths(rows, [len(option) for option in options]),
    )
