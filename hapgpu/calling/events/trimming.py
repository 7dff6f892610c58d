"""Active regions trimmed to their variants."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.bytes import Integer
from hapgpu.arrays.ragged import Ragged, lengths_of, offsets_of
from hapgpu.arrays.ragged_view import RaggedView, read_only, view_of
from hapgpu.calling.batches import ActiveRegions, RegionHaplotypes, TrimmedRegions
from hapgpu.calling.events.events import events_of
from hapgpu.calling.events.forced_events import RegionAlleles
from hapgpu.calling.events.given_haplotypes import with_given_alleles
from hapgpu.calling.events.spans import ANY_UNIT, variant_spans
from hapgpu.cigar.encoding import DELETION, INSERTION
from hapgpu.haplotypes.batches import ReferenceSlice
from hapgpu.runtime.jit import njit


def trimmed_to_variants(
    haplotypes: RegionHaplotypes,
    regions: ActiveRegions,
    reference: ReferenceSlice,
    longest_unit: int = ANY_UNIT,
    *,
    own: RegionAlleles | None = None,
    max_mnp_distance: int = 0,
) -> TrimmedRegions:
    """Trim active regions and their haplotypes to the variants, as GATK's AssemblyRegionTrimmer.

    Active regions without an event in the active span, and those of which only the reference is
    left, are not kept. Haplotypes that end in a deletion after the cut are excluded.

    Parameters
    ----------
    haplotypes
        Haplotypes of r active regions.
    regions
        The r active regions.
    reference
        Holds the padded spans, and the base before each unless a contig starts there.
    longest_unit
        As for `variant_spans`.
    own
        Given alleles of the r active regions, if there are any: variants of the region that they
        start in, which gets haplotypes with them.
    max_mnp_distance
        As for `events_of`.
    """
    padded_starts = regions.padded_starts[haplotypes.regions]
    events = events_of(haplotypes, padded_starts, reference, max_mnp_distance)
    spans = variant_spans(events, haplotypes.offsets, regions, reference, longest_unit)
    least: int | NDArray[np.int64] = 1
    if own is not None:
        numbers = np.arange(len(regions) + 1)
        own_spans = variant_spans(own.events, numbers, regions, reference, longest_unit)
        spans = _joined(spans, own_spans)
        least = 1 - np.minimum(lengths_of(own.offsets), 1)  # it gets a second haplotype
    cut = cut_haplotypes(
        haplotypes.cigars,
        spans.padded_starts[haplotypes.regions] - padded_starts,
        spans.padded_ends[haplotypes.regions] - padded_starts,
    )
    order, offsets = distinct_haplotypes(haplotypes, cut)
    counts = lengths_of(offsets)
    is_kept = counts > least
    kept_rows = order[np.repeat(is_kept, counts)]
    kept = np.flatnonzero(is_kept)
    trimmed_regions = spans.take(kept)
    trimmed = RegionHaplotypes(
        offsets_of(counts[kept]),
        Ragged.gather(
            haplotypes.bases.data,
            haplotypes.bases.offsets[kept_rows] + cut.base_starts[kept_rows],
            cut.base_ends[kept_rows] - cut.base_starts[kept_rows],
        ),
        cut.cigars.take(kept_rows),
        haplotypes.is_reference[kept_rows],
        haplotypes.scores[kept_rows],
    )
    events = events_of(
        trimmed,
        trimmed_regions.padded_starts[trimmed.regions],
        reference,
        max_mnp_distance,
    )
    found = TrimmedRegions(kept, trimmed_regions, trimmed, events)
    if own is None:
        return found
    return with_given_alleles(found, own.take(kept), reference, max_mnp_distance)


def _joined(spans: ActiveRegions, others: ActiveRegions) -> ActiveRegions:
    """Return the hulls of spans, row by row; where one is empty, the other."""
    is_empty, are_empty = spans.ends == 0, others.ends == 0

    def joined(
        hull: np.ufunc, own: NDArray[np.int64], other: NDArray[np.int64]
    ) -> NDArray[np.int64]:
        both: NDArray[np.int64] = hull(own, other)
        return np.where(is_empty, other, np.where(are_empty, own, both))

    return ActiveRegions(
        joined(np.minimum, spans.starts, others.starts),
        joined(np.maximum, spans.ends, others.ends),
        joined(np.minimum, spans.padded_starts, others.padded_starts),
        joined(np.maximum, spans.padded_ends, others.padded_ends),
    )


class CutHaplotypes(NamedTuple):
    """Parts of h haplotypes.

    Attributes
    ----------
    base_starts, base_ends
        int64[h]: the range of the bases within the haplotype; both -1 where nothing is left.
    cigars
        uint32 in BAM encoding, h rows.
    """

    base_starts: NDArray[np.int64]
    base_ends: NDArray[np.int64]
    cigars: Ragged


def cut_haplotypes(
    cigars: Ragged, starts: NDArray[np.int64], ends: NDArray[np.int64]
) -> CutHaplotypes:
    """Cut haplotypes to a part of their reference.

    Insertions at the ends of the part do not belong to it. Nothing is left of a haplotype if the
    first or the last base of the part is deleted.

    Parameters
    ----------
    cigars
        uint32 in BAM encoding, h rows: M, =, X, I and D.
    starts, ends
        int64[h]: the part, counted in bases of the reference that the CIGAR consumes; half-open.
        Nothing is left of an empty part.
    """
    ranges = np.full((2, len(cigars)), -1, dtype=np.int64)
    elements = np.empty(cigars.data.size, dtype=np.uint32)
    offsets = np.zeros(len(cigars) + 1, dtype=np.int64)
    out = _Output(ranges, elements, offsets)
    _cut(view_of(cigars), read_only(starts), read_only(ends), out)
    return CutHaplotypes(ranges[0], ranges[1], Ragged(elements[: offsets[-1]], offsets))


class _Output(NamedTuple):
    """Ranges of bases, and CIGARs end to end."""

    ranges: NDArray[np.int64]
    elements: NDArray[np.uint32]
    offsets: NDArray[np.int64]


@njit
def _cut(
    cigars: RaggedView, starts: NDArray[np.int64], ends: NDArray[np.int64], out: _Output
) -> None:
    at: Integer = np.int64(0)
    for row in range(starts.size):
        if starts[row] < ends[row]:
            at = _cut_row(cigars, row, starts[row], ends[row], out)
        out.offsets[row + 1] = at


@njit
def _cut_row(
    cigars: RaggedView, row: Integer, start: Integer, end: Integer, out: _Output
) -> Integer:
    """Write the range and the CIGAR of one haplotype; return the end of the CIGAR."""
    at = first = np.int64(out.offsets[row])
    base = position = np.int64(0)
    base_start = base_end = np.int64(-1)
    for k in range(cigars.offsets[row], cigars.offsets[row + 1]):
        length, operation = np.int64(cigars.data[k] >> 4), cigars.data[k] & 15
        if operation == INSERTION:
            if start < position < end:
                out.elements[at] = cigars.data[k]
                at += 1
            base += length
            continue
        low, high = max(position, start), min(position + length, end)
        if low < high:
            if operation != DELETION:
                if base_start < 0:
                    base_start = base + low - position
                base_end = base + high - position
            elif low == start or high == end:
                return first
            out.elements[at] = (high - low) << 4 | operation
            at += 1
        position += length
        if operation != DELETION:
            base += length
    out.ranges[0, row], out.ranges[1, row] = base_start, base_end
    return at


def distinct_haplotypes(
    haplotypes: RegionHaplotypes, cut: CutHaplotypes
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Sort the haplotypes of each active region by length, then by bases.

    Of haplotypes with equal bases the reference is kept, or else the first. Those of which nothing
    is left are excluded.

    Parameters
    ----------
    haplotypes
        h haplotypes of r active regions.
    cut
        Their parts that count.

    Returns
    -------
    order : int64[k]
        Rows of `haplotypes`.
    offsets : int64[r + 1]
        The haplotypes of region k are `order[offsets[k]]` to `order[offsets[k + 1]]`.
    """
    firsts = haplotypes.bases.offsets[:-1]
    order = np.empty(len(haplotypes), dtype=np.int64)
    offsets = np.zeros_like(haplotypes.offsets)
    _sort(
        RaggedView(read_only(haplotypes.bases.data), read_only(firsts + cut.base_starts)),
        read_only(cut.base_ends - cut.base_starts),
        read_only(haplotypes.is_reference),
        read_only(haplotypes.offsets),
        order,
        offsets,
    )
    return order[: offsets[-1]], offsets


@njit
def _sort(
    bases: RaggedView,
    lengths: NDArray[np.int64],
    is_reference: NDArray[np.bool_],
    region_offsets: NDArray[np.int64],
    order: NDArray[np.int64],
    offsets: NDArray[np.int64],
) -> None:
    """Insert each haplotype; `bases.offsets` are the starts of rows with these lengths."""
    count = np.int64(0)
    for region in range(region_offsets.size - 1):
        first = count
        for row in range(region_offsets[region], region_offsets[region + 1]):
            if lengths[row] <= 0:
                continue
            low, high = first, count
            is_new = True
            while low < high and is_new:
                middle = (low + high) >> 1
                compared = _compare(bases, lengths, row, order[middle])
                if compared == 0:
                    is_new = False
                    if is_reference[row]:
                        order[middle] = row
                elif compared < 0:
                    high = middle
                else:
                    low = middle + 1
            if is_new:
                for k in range(count, low, -1):
                    order[k] = order[k - 1]
                order[low] = row
                count += 1
        offsets[region + 1] = count


@njit
def _compare(
    bases: RaggedView, lengths: NDArray[np.int64], row: Integer, other: Integer
) -> Integer:
    """Return a number below, equal to or above 0: the order of two haplotypes."""
    if lengths[row] != lengths[other]:
        return np.int64(lengths[row] - lengths[other])
    start, other_start = bases.offsets[row], bases.offsets[other]
    for k in range(lengths[row]):
        base, other_base = bases.data[start + k], bases.data[other_start + k]
        if base != other_base:
            return np.int64(base) - np.int64(other_base)
    return np.int64(0)
