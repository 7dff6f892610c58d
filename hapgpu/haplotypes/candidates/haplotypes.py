"""Candidate haplotypes of loci: the distinct sequences of their combinations of alleles."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.bytes import Integer
from hapgpu.arrays.ragged import Ragged
from hapgpu.arrays.ragged_view import RaggedView, read_only, with_room
from hapgpu.haplotypes.batches import Haplotypes, Loci, PhaseGroups, ReferenceSlice, Sites
from hapgpu.haplotypes.candidates.combinations import combinations_of
from hapgpu.haplotypes.candidates.sequences import HaplotypeSpans, Sequences, sequences_of
from hapgpu.haplotypes.sites.trimmed_alleles import trimmed_alleles_of
from hapgpu.runtime.jit import njit


def haplotypes_of(
    sites: Sites,
    loci: Loci,
    phase_groups: PhaseGroups,
    reference: ReferenceSlice,
    flank: int,
    max_combinations: int,
    masked: NDArray[np.int64],
) -> Haplotypes:
    """Return the candidate haplotypes of each locus.

    They are the sequences of its combinations (`combinations_of`), in their order, except that the
    combination without any change comes first, if it is one of them. Combinations with the same
    sequence are one haplotype. It carries the alleles of all of them that have the fewest changed
    bases; of two alleles of one site, the first.

    Parameters
    ----------
    sites, loci, phase_groups
        Arrays of one contig.
    reference
        Bases around the sites: `flank` on either side of each locus, as far as the contig has them.
    flank
        Bases of the reference on either side of a locus in its haplotypes.
    max_combinations
        Combinations kept per set of groups, at most, except those with a single change.
    masked
        int64, ascending positions that become N in the flanks, except in a flank of which they are
        more than half: N matches every base, and such a flank would not hold a read in place.

    Raises
    ------
    ValueError
        A locus extends outside the slice, or a site outside its locus.
    """
    _check(sites, loci, phase_groups, reference)
    trimmed = trimmed_alleles_of(sites)
    combinations = combinations_of(phase_groups, len(loci), trimmed, max_combinations)
    starts = np.maximum(loci.starts - flank, reference.start)
    ends = np.minimum(loci.ends + flank, reference.end)
    distinct = sequences_of(
        combinations,
        trimmed,
        HaplotypeSpans(starts, ends, read_only(loci.starts), read_only(loci.ends)),
        read_only(reference.bases),
        reference.start,
        read_only(masked),
    )
    carried = _carried(combinations.alleles, distinct, sites.allele_sites)
    sequences = Ragged(distinct.sequences.data, distinct.sequences.offsets)
    return Haplotypes(starts, ends, distinct.offsets, sequences, Ragged(*carried))


def _check(sites: Sites, loci: Loci, phase_groups: PhaseGroups, reference: ReferenceSlice) -> None:
    """Raise where compiled code would read or write outside its arrays."""
    site_loci = np.repeat(np.arange(len(loci)), np.diff(loci.site_offsets))
    groups = phase_groups.group_offsets[phase_groups.loci.size]
    row_loci = np.repeat(phase_groups.loci, _row_counts(phase_groups))
    row_sites = sites.allele_sites[phase_groups.options.data]
    is_sound = (
        site_loci.size == len(sites)
        and phase_groups.option_offsets.size == groups + 1
        and phase_groups.option_offsets[-1] == len(phase_groups.options)
        and bool(np.all(np.diff(phase_groups.loci) >= 0))
        and bool(np.all(site_loci[row_sites] == row_loci))
        and bool(np.all(loci.starts[site_loci] <= sites.starts))
        and bool(np.all(loci.ends[site_loci] >= sites.ends))
        and bool(np.all(loci.starts >= reference.start))
        and bool(np.all(loci.ends <= reference.end))
    )
    if not is_sound:
        message = "sites, loci, phase_groups and reference do not fit each other"
        raise ValueError(message)


def _row_counts(phase_groups: PhaseGroups) -> NDArray[np.int64]:
    """Return int64[c]: the number of allele rows in the options of each set of groups."""
    bounds: NDArray[np.int64] = phase_groups.options.offsets[
        phase_groups.option_offsets[phase_groups.group_offsets]
    ]
    return np.diff(bounds)


@njit
def _carried(
    alleles: RaggedView, distinct: Sequences, allele_sites: NDArray[np.int64]
) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """Return the alleles of the best combinations of each haplotype, as data and offsets."""
    haplotypes = distinct.sequences.offsets.size - 1
    offsets = np.zeros(haplotypes + 1, np.int64)
    data, rows = np.empty(haplotypes, np.int32), np.empty(allele_sites.size, np.int32)
    for haplotype in range(haplotypes):
        count, source = 0, distinct.sources[haplotype]
        while source >= 0:
            for k in range(alleles.offsets[source], alleles.offsets[source + 1]):
                count = _insert(rows, count, alleles.data[k])
            source = distinct.earlier[source]
        start = end = offsets[haplotype]
        data = with_room(data, start + count)
        for k in range(count):
            if end == start or allele_sites[rows[k]] != allele_sites[data[end - 1]]:
                data[end] = rows[k]
                end += 1
        offsets[haplotype + 1] = end
    return data[: offsets[-1]], offsets


@njit
def _insert(rows: NDArray[np.int32], count: int, row: Integer) -> int:
    """Insert a row into ascending rows unless it is one of them; return their new number."""
    at = count
    while at > 0 and rows[at - 1] > row:
        at -= 1
    if at > 0 and rows[at - 1] == row:
        return count
    for k in range(count, at, -1):
        rows[k] = rows[k - 1]
    rows[at] = row
    return count + 1
