"""Haplotypes that are made of given alleles.

The rules are those of GATK's AssemblyResultSet.addGivenAlleles.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.batches import PairBatch
from hapgpu.arrays.bytes import Integer
from hapgpu.arrays.ragged import Ragged, lengths_of, offsets_of
from hapgpu.arrays.ragged_view import RaggedView, columns_of, read_only, view_of
from hapgpu.calling.batches import (
    GivenAlleles,
    RegionHaplotypes,
    TrimmedRegions,
)
from hapgpu.calling.events.events import EventsView, events_of
from hapgpu.calling.events.forced_events import (
    GivenView,
    RegionAlleles,
    forced_events,
    forced_of_regions,
    is_given,
    widened_to_forced,
)
from hapgpu.cigar.encoding import DELETION, INSERTION
from hapgpu.haplotypes.batches import ReferenceSlice
from hapgpu.io.text.columns import side_by_side
from hapgpu.realign.projection.haplotype_cigars import haplotype_cigars
from hapgpu.runtime.devices import CpuDevice
from hapgpu.runtime.jit import njit

MAX_BASES: Final = 5
"""Haplotypes that a given allele is put into, at most."""
_ALIGNER: Final = CpuDevice(1)


def with_given_alleles(
    trimmed: TrimmedRegions,
    own: RegionAlleles,
    reference: ReferenceSlice,
    max_mnp_distance: int,
) -> TrimmedRegions:
    """Add haplotypes with the given alleles to trimmed active regions.

    Each allele that no haplotype of its region has is put into up to 5: the reference, then those
    with the best scores. A haplotype with an event at REF of the allele is left out, and so is the
    result if the region has it already.

    Parameters
    ----------
    trimmed
        t active regions; the reference may be their only haplotype.
    own
        Given alleles of the t active regions.
    reference
        Holds the padded spans, and the base before each unless a contig starts there.
    max_mnp_distance
        As for `events_of`.

    Returns
    -------
    TrimmedRegions
        The active regions with several haplotypes, and the events that stand for given alleles. The
        variant spans hold these events, as far as the active spans do.
    """
    haplotypes, starts = trimmed.haplotypes, trimmed.regions.padded_starts
    pairs = _pairs_of(trimmed, own)
    bases = _inserted(haplotypes, own.given, pairs)
    regions = haplotypes.regions[pairs.haplotypes]
    references = haplotypes.bases.take(np.flatnonzero(haplotypes.is_reference))
    numbers = np.arange(regions.size, dtype=np.int32)
    cigars, is_aligned = haplotype_cigars(
        PairBatch(references, bases, regions.astype(np.int32), numbers), _ALIGNER
    )
    is_plain = is_aligned & haplotypes.is_reference[pairs.haplotypes]
    plain = _haplotypes(bases.take(is_plain), cigars.take(is_plain), regions[is_plain], len(own))
    events = events_of(plain, starts[regions[is_plain]], reference, max_mnp_distance)
    forced = forced_events(own, events, pairs.rows[is_plain], regions[is_plain])
    is_new = is_aligned & _are_new(haplotypes, bases, regions)
    added = _haplotypes(bases.take(is_new), cigars.take(is_new), regions[is_new], len(own))
    everything = _joined(haplotypes, added)
    kept = np.flatnonzero(lengths_of(everything.offsets) > 1)
    found = _of_regions(everything, kept)
    return TrimmedRegions(
        trimmed.kept[kept],
        widened_to_forced(trimmed.regions, forced, own.spans).take(kept),
        found,
        events_of(found, starts[kept][found.regions], reference, max_mnp_distance),
        forced_of_regions(forced, kept),
    )


class _Pairs(NamedTuple):
    """Given alleles and the haplotypes that they are put into, at an offset of their bases."""

    rows: NDArray[np.int64]
    haplotypes: NDArray[np.int64]
    offsets: NDArray[np.int64]


class _Rows(NamedTuple):
    """Columns of `RegionAlleles`, read-only."""

    offsets: NDArray[np.int64]
    rows: NDArray[np.int64]


class _Haplotypes(NamedTuple):
    """Haplotypes of regions: bounds per region, the best first, and bases, CIGARs and events."""

    offsets: NDArray[np.int64]
    order: NDArray[np.int64]
    starts: NDArray[np.int64]
    base_offsets: NDArray[np.int64]
    cigars: RaggedView
    events: EventsView


def _pairs_of(trimmed: TrimmedRegions, own: RegionAlleles) -> _Pairs:
    haplotypes = trimmed.haplotypes
    scores = np.where(np.isnan(haplotypes.scores), -np.inf, haplotypes.scores)
    order = np.lexsort((-scores, ~haplotypes.is_reference, haplotypes.regions))
    view = _Haplotypes(
        read_only(haplotypes.offsets),
        read_only(order),
        read_only(trimmed.regions.padded_starts),
        read_only(haplotypes.bases.offsets),
        view_of(haplotypes.cigars),
        columns_of(EventsView, trimmed.events),
    )
    out = _Pairs(*np.empty((3, MAX_BASES * own.rows.size), dtype=np.int64))
    count = _put_pairs(view, columns_of(GivenView, own.given), columns_of(_Rows, own), out)
    return _Pairs(*(column[:count] for column in out))


@njit
def _put_pairs(haplotypes: _Haplotypes, given: GivenView, rows: _Rows, out: _Pairs) -> Integer:
    """Write the pairs, by region, given allele and haplotype; return their number."""
    count: Integer = np.int64(0)
    for region in range(rows.offsets.size - 1):
        first, end = haplotypes.offsets[region], haplotypes.offsets[region + 1]
        for number in range(rows.offsets[region], rows.offsets[region + 1]):
            row = rows.rows[number]
            if _is_assembled(haplotypes.events, first, end, given, row):
                continue
            for k in range(first, min(end, first + MAX_BASES)):
                haplotype = haplotypes.order[k]
                offset = _offset_of(haplotypes, haplotype, haplotypes.starts[region], given, row)
                if offset >= 0:
                    out.rows[count], out.haplotypes[count] = row, haplotype
                    out.offsets[count] = offset
                    count += 1
    return count


@njit
def _is_assembled(
    events: EventsView, first: Integer, end: Integer, given: GivenView, row: Integer
) -> bool:
    """Tell whether one of some haplotypes has a given allele as an event."""
    for k in range(events.offsets[first], events.offsets[end]):
        if is_given(events, k, given, row):
            return True
    return False


@njit
def _offset_of(
    haplotypes: _Haplotypes, haplotype: Integer, position: Integer, given: GivenView, row: Integer
) -> Integer:
    """Return where REF of a given allele starts in a haplotype; -1 if it does not have it.

    `position` is the position of its first base.
    """
    start, end, events = given.starts[row], given.ends[row], haplotypes.events
    for k in range(events.offsets[haplotype], events.offsets[haplotype + 1]):
        if events.starts[k] < end and events.ends[k] > start:
            return np.int64(-1)
    cigars, base = haplotypes.cigars, np.int64(0)
    first = haplotypes.base_offsets[haplotype]
    bases = haplotypes.base_offsets[haplotype + 1] - first
    for k in range(cigars.offsets[haplotype], cigars.offsets[haplotype + 1]):
        length, operation = np.int64(cigars.data[k] >> 4), cigars.data[k] & 15
        if operation == INSERTION:
            base += length
        elif operation == DELETION:
            position += length
        elif start < position:
            return np.int64(-1)
        elif start < position + length:
            offset = base + start - position
            return offset if offset + end - start <= bases else np.int64(-1)
        else:
            base += length
            position += length
    return np.int64(-1)


def _inserted(haplotypes: RegionHaplotypes, given: GivenAlleles, pairs: _Pairs) -> Ragged:
    """Return the bases of haplotypes with the given alleles."""
    bases, rows = haplotypes.bases, pairs.haplotypes
    after = pairs.offsets + given.ends[pairs.rows] - given.starts[pairs.rows]
    return side_by_side(
        [
            Ragged.gather(bases.data, bases.offsets[rows], pairs.offsets),
            given.alternates.take(pairs.rows),
            Ragged.gather(bases.data, bases.offsets[rows] + after, bases.lengths_of(rows) - after),
        ]
    )


def _haplotypes(
    bases: Ragged, cigars: Ragged, regions: NDArray[np.int64], count: int
) -> RegionHaplotypes:
    """Return haplotypes of so many regions, without scores; none is the reference."""
    return RegionHaplotypes(
        np.searchsorted(regions, np.arange(count + 1)),
        bases,
        cigars,
        np.zeros(regions.size, dtype=np.bool_),
        np.full(regions.size, np.nan),
    )


def _joined(haplotypes: RegionHaplotypes, added: RegionHaplotypes) -> RegionHaplotypes:
    """Return the haplotypes of each region, and then those that are added to it."""
    order = np.argsort(np.concatenate((haplotypes.regions, added.regions)), kind="stable")
    return RegionHaplotypes(
        haplotypes.offsets + added.offsets,
        Ragged.concatenate([haplotypes.bases, added.bases]).take(order),
        Ragged.concatenate([haplotypes.cigars, added.cigars]).take(order),
        np.concatenate((haplotypes.is_reference, added.is_reference))[order],
        np.concatenate((haplotypes.scores, added.scores))[order],
    )


def _of_regions(haplotypes: RegionHaplotypes, kept: NDArray[np.int64]) -> RegionHaplotypes:
    """Return the haplotypes of some regions, ascending."""
    counts = lengths_of(haplotypes.offsets)
    rows = np.flatnonzero(np.isin(haplotypes.regions, kept))
    return RegionHaplotypes(
        offsets_of(counts[kept]),
        haplotypes.bases.take(rows),
        haplotypes.cigars.take(rows),
        haplotypes.is_reference[rows],
        haplotypes.scores[rows],
    )


def _are_new(
    haplotypes: RegionHaplotypes, bases: Ragged, regions: NDArray[np.int64]
) -> NDArray[np.bool_]:
    """Return bool[n]: rows of `bases` that neither their region nor a row before them has."""
    is_new = np.ones(regions.size, dtype=np.bool_)
    _mark_new(
        view_of(haplotypes.bases),
        read_only(haplotypes.offsets),
        view_of(bases),
        read_only(regions),
        is_new,
    )
    return is_new


@njit
def _mark_new(
    haplotypes: RaggedView,
    offsets: NDArray[np.int64],
    bases: RaggedView,
    regions: NDArray[np.int64],
    is_new: NDArray[np.bool_],
) -> None:
    for row in range(regions.size):
        region = regions[row]
        for other in range(offsets[region], offsets[region + 1]):
            is_new[row] &= not _have_equal_rows(haplotypes, other, bases, row)
        other = row - 1
        while other >= 0 and regions[other] == region and is_new[row]:
            is_new[row] = not _have_equal_rows(bases, other, bases, row)
            other -= 1


@njit
def _have_equal_rows(texts: RaggedView, row: Integer, others: RaggedView, other: Integer) -> bool:
    start, other_start = texts.offsets[row], others.offsets[other]
    length = texts.offsets[row + 1] - start
    if length != others.offsets[other + 1] - other_start:
        return False
    k = 0
    while k < length and texts.data[start + k] == others.data[other_start + k]:
        k += 1
    return bool(k == length)
