"""The candidate haplotypes of loci: what the combinations of alleles read."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.bytes import Integer
from hapgpu.arrays.ragged import Ragged
from hapgpu.arrays.ragged_view import RaggedView, read_only, with_room
from hapgpu.haplotypes.batches import Haplotypes, Loci, PhaseGroups, ReferenceSlice, Sites
from hapgpu.haplotypes.candidates.combinations import combinations_of
from hapgpu.haplotypes.candidates.sequences import Sequences, Windows, sequences_of
from hapgpu.haplotypes.sites.trimmed_alleles import trimmed_alleles_of
from hapgpu.runtime.jit import njit


def haplotypes_of(  # noqa: PLR0917  (arrays of one stage)
    sites: Sites,
    loci: Loci,
    phase_groups: PhaseGroups,
    reference: ReferenceSlice,
    flank: int,
    max_combinations: int,
    masked: NDArray[np.int64],
) -> Haplotypes:
    """Write out the haplotypes of each locus.

    They are those of its carriers' combinations (`combinations_of`), in that order, but for the one
    without any change, which is first where it is among them. Combinations that read the same are
    one haplotype. It carries what those of them with the fewest changed bases carry, all together;
    of two alleles of one site, the first.

    Parameters
    ----------
    sites, loci, phase_groups
        Of one contig.
    reference
        Bases around them: `flank` on either side of every locus where the contig has as many.
    flank
        Bases on either side of a locus that its haplotypes show.
    max_combinations
        Of each carrier that are kept, unless those with a single change are more.
    masked
        int64, ascending positions that read N in the flanks, but not in a flank of which they are
        more than half: N fits everything, and such a flank would hold no read in its place.

    Raises
    ------
    ValueError
        A locus reaches beyond the slice, or a site beyond its locus.
    """
    _check(sites, loci, phase_groups, reference)
    edits = trimmed_alleles_of(sites)
    combinations = combinations_of(phase_groups, len(loci), edits, max_combinations)
    starts = np.maximum(loci.starts - flank, reference.start)
    ends = np.minimum(loci.ends + flank, reference.end)
    written = sequences_of(
        combinations,
        edits,
        Windows(starts, ends, read_only(loci.starts), read_only(loci.ends)),
        read_only(reference.bases),
        reference.start,
        read_only(masked),
    )
    carried = _carried(combinations.alleles, written, sites.allele_sites)
    sequences = Ragged(written.sequences.data, written.sequences.offsets)
    return Haplotypes(starts, ends, written.offsets, sequences, Ragged(*carried))


def _check(sites: Sites, loci: Loci, phase_groups: PhaseGroups, reference: ReferenceSlice) -> None:
    """Refuse what would lead compiled code out of its arrays."""
    of_site = np.repeat(np.arange(len(loci)), np.diff(loci.site_offsets))
    groups = phase_groups.group_offsets[phase_groups.loci.size]
    of_row = np.repeat(phase_groups.loci, _spans(phase_groups))
    site_of_row = sites.allele_sites[phase_groups.options.data]
    is_sound = (
        of_site.size == len(sites)
        and phase_groups.option_offsets.size == groups + 1
        and phase_groups.option_offsets[-1] == len(phase_groups.options)
        and bool(np.all(np.diff(phase_groups.loci) >= 0))
        and bool(np.all(of_site[site_of_row] == of_row))
        and bool(np.all(loci.starts[of_site] <= sites.starts))
        and bool(np.all(loci.ends[of_site] >= sites.ends))
        and bool(np.all(loci.starts >= reference.start))
        and bool(np.all(loci.ends <= reference.end))
    )
    if not is_sound:
        message = "sites, loci, phase_groups and reference do not belong together"
        raise ValueError(message)


def _spans(phase_groups: PhaseGroups) -> NDArray[np.int64]:
    """int64[c]: the number of rows of alleles among the options of each carrier."""
    bounds: NDArray[np.int64] = phase_groups.options.offsets[
        phase_groups.option_offsets[phase_groups.group_offsets]
    ]
    return np.diff(bounds)


@njit
def _carried(
    alleles: RaggedView, written: Sequences, allele_sites: NDArray[np.int64]
) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """Put together what the best combinations of each haplotype carry, as the parts of a Ragged."""
    haplotypes = written.sequences.offsets.size - 1
    offsets = np.zeros(haplotypes + 1, np.int64)
    data, rows = np.empty(haplotypes, np.int32), np.empty(allele_sites.size, np.int32)
    for haplotype in range(haplotypes):
        count, source = 0, written.sources[haplotype]
        while source >= 0:
            for k in range(alleles.offsets[source], alleles.offsets[source + 1]):
                count = _insert(rows, count, alleles.data[k])
            source = written.earlier[source]
        begin = end = offsets[haplotype]
        data = with_room(data, begin + count)
        for k in range(count):
            if end == begin or allele_sites[rows[k]] != allele_sites[data[end - 1]]:
                data[end] = rows[k]
                end += 1
        offsets[haplotype + 1] = end
    return data[: offsets[-1]], offsets


@njit
def _insert(rows: NDArray[np.int32], count: int, row: Integer) -> int:
    """Insert a row into ascending ones unless it is among them; their number then."""
    place = count
    while place > 0 and rows[place - 1] > row:
        place -= 1
    if place > 0 and rows[place - 1] == row:
        return count
    for k in range(count, place, -1):
        rows[k] = rows[k - 1]
    rows[place] = row
    return count + 1
