"""Candidate haplotypes of loci: the distinct sequences of their combinations of alleles."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.bytes import Integer, are_equal, copy_bytes, hash_of
from hapgpu.arrays.ragged import Ragged
from hapgpu.arrays.ragged_view import RaggedView, last_at_most, read_only, with_room
from hapgpu.haplotypes.batches import Haplotypes, Loci, PhaseGroups, ReferenceSlice, Sites
from hapgpu.haplotypes.sites.combinations import Combinations, combinations_of
from hapgpu.haplotypes.sites.trimmed_alleles import TrimmedAlleles, trimmed_alleles_of
from hapgpu.runtime.jit import njit

_N = np.uint8(ord("N"))

# With a plain 0, functions would be compiled twice: for 0, and for other numbers.
_0 = np.int64(0)


class HaplotypeSpans(NamedTuple):
    """Reference intervals of the haplotypes of each locus, and of each locus; int64[l] each."""

    starts: NDArray[np.int64]
    ends: NDArray[np.int64]
    locus_starts: NDArray[np.int64]
    locus_ends: NDArray[np.int64]


class Sequences(NamedTuple):
    """h distinct haplotypes.

    Attributes
    ----------
    offsets
        int64[l + 1]: the haplotypes of each locus.
    sequences
        uint8 rows, h of them.
    sources
        int64[h]: the last combination that makes each haplotype with the fewest changed bases.
    earlier
        int64, for each combination: the one before it that is as good; -1 for none.
    """

    offsets: NDArray[np.int64]
    sequences: RaggedView
    sources: NDArray[np.int64]
    earlier: NDArray[np.int64]


@njit
def sequences_of(
    combinations: Combinations,
    trimmed: TrimmedAlleles,
    spans: HaplotypeSpans,
    bases: NDArray[np.uint8],
    first_base: int,
    masked: NDArray[np.int64],
) -> Sequences:
    """Write the sequence of each combination, each sequence of a locus once.

    Parameters
    ----------
    combinations, trimmed
        The combinations, and the alleles of the sites.
    spans
        Intervals of the haplotypes, within the bases.
    bases, first_base
        uint8 text: bases of the contig, and the position of the first of them.
    masked
        int64, ascending positions that become N in the flanks, as in `haplotypes_of`.
    """
    loci, total = spans.starts.size, combinations.offsets[-1]
    alleles = combinations.alleles
    offsets, row_offsets = np.zeros(loci + 1, np.int64), np.zeros(total + 1, np.int64)
    sources, earlier = np.empty(total, np.int64), np.empty(total, np.int64)
    hashes, changes = np.empty(total, np.uint64), np.empty(total, np.int64)
    flanked, data = np.empty(0, np.uint8), np.empty(0, np.uint8)
    count = _0
    for locus in range(loci):
        start, end = spans.starts[locus], spans.ends[locus]
        flanked = with_room(flanked, end - start)
        _copy_reference(flanked, spans, locus, bases, first_base, masked)
        first, last = combinations.offsets[locus], combinations.offsets[locus + 1]
        unchanged = _unchanged(alleles, first, last)
        left, right = spans.locus_starts[locus] - start, end - spans.locus_ends[locus]
        for turn in range(first, last):
            combination = turn
            if turn <= unchanged:  # the unchanged combination comes first
                combination = unchanged if turn == first else turn - 1
            growth, changed = _measured(alleles, combination, trimmed)
            row_offsets[count + 1] = row_offsets[count] + end - start + growth
            data = with_room(data, row_offsets[count + 1])
            _write(data, row_offsets[count], flanked, start, end, alleles, combination, trimmed)
            row = _first_equal(data, row_offsets, hashes, offsets[locus], count, left, right)
            if row == count or changed < changes[row]:
                changes[row], sources[row], earlier[combination] = changed, combination, -1
            elif changed == changes[row]:
                sources[row], earlier[combination] = combination, sources[row]
            count += row == count
        offsets[locus + 1] = count
    row_offsets = row_offsets[: count + 1].copy()
    return Sequences(offsets, RaggedView(data[: row_offsets[-1]], row_offsets), sources, earlier)


@njit
def _copy_reference(
    flanked: NDArray[np.uint8],
    spans: HaplotypeSpans,
    locus: int,
    bases: NDArray[np.uint8],
    first_base: int,
    masked: NDArray[np.int64],
) -> None:
    """Copy the reference of a locus and its flanks, with masked positions of the flanks as N."""
    start, end = spans.starts[locus], spans.ends[locus]
    copy_bytes(bases, start - first_base, flanked, _0, end - start)
    _mask(flanked, start, masked, start, spans.locus_starts[locus])
    _mask(flanked, start, masked, spans.locus_ends[locus], end)


@njit
def _mask(
    flanked: NDArray[np.uint8],
    first: int,
    masked: NDArray[np.int64],
    start: int,
    end: int,
) -> None:
    """Write N at the masked positions of a flank, unless they are more than half of it."""
    low = last_at_most(masked, masked.size, start - 1) + 1
    high = last_at_most(masked, masked.size, end - 1) + 1
    distinct = 0
    for k in range(low, high):
        distinct += k == low or masked[k] != masked[k - 1]
    if 2 * distinct <= end - start:
        for k in range(low, high):
            flanked[masked[k] - first] = _N


@njit
def _unchanged(alleles: RaggedView, first: int, last: int) -> int:
    """Return the first combination without any change; -1 for none."""
    for combination in range(first, last):
        if alleles.offsets[combination] == alleles.offsets[combination + 1]:
            return combination
    return -1


@njit
def _measured(alleles: RaggedView, combination: int, trimmed: TrimmedAlleles) -> tuple[int, int]:
    """Return the bases that a combination adds to the reference, and the bases that it changes."""
    growth = changed = 0
    for k in range(alleles.offsets[combination], alleles.offsets[combination + 1]):
        row = alleles.data[k]
        growth += trimmed.text_ends[row] - trimmed.text_starts[row]
        growth -= trimmed.ends[row] - trimmed.starts[row]
        changed += trimmed.changes[row]
    return growth, changed


@njit
def _write(
    data: NDArray[np.uint8],
    at: Integer,
    flanked: NDArray[np.uint8],
    start: int,
    end: int,
    alleles: RaggedView,
    combination: int,
    trimmed: TrimmedAlleles,
) -> None:
    """Write the sequence of a combination from position start to end, at offset `at`."""
    copied = start
    for k in range(alleles.offsets[combination], alleles.offsets[combination + 1]):
        row = alleles.data[k]
        unchanged = trimmed.starts[row] - copied
        copy_bytes(flanked, copied - start, data, at, unchanged)
        inserted = trimmed.text_ends[row] - trimmed.text_starts[row]
        copy_bytes(trimmed.text, trimmed.text_starts[row], data, at + unchanged, inserted)
        at += unchanged + inserted
        copied = trimmed.ends[row]
    copy_bytes(flanked, copied - start, data, at, end - copied)


@njit
def _first_equal(
    data: NDArray[np.uint8],
    row_offsets: NDArray[np.int64],
    hashes: NDArray[np.uint64],
    first: Integer,
    row: Integer,
    left: Integer,
    right: Integer,
) -> Integer:
    """Return the first row from `first` on that equals `row`; `row` itself if there is none.

    All rows have the same first `left` bases and the same last `right` bases.
    """
    start = np.int64(row_offsets[row] + left)
    end = np.int64(row_offsets[row + 1] - right)
    hashes[row] = hash_of(data, start, end)
    for other in range(first, row):
        shift = row_offsets[row] - row_offsets[other]
        if hashes[other] != hashes[row] or row_offsets[other + 1] + shift != row_offsets[row + 1]:
            continue
        if are_equal(data, start, start - shift, end - start):
            return other
    return row


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
