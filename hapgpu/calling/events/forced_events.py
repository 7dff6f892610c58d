"""Events that stand for given alleles: their alleles are kept in records."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.bytes import Integer
from hapgpu.arrays.ragged import Ragged, lengths_of, offsets_of
from hapgpu.arrays.ragged_view import RaggedView, columns_of, read_only
from hapgpu.calling.batches import ActiveRegions, Events, ForcedEvents, GivenAlleles
from hapgpu.calling.events.events import EventsView
from hapgpu.runtime.jit import njit


@dataclass(frozen=True, slots=True)
class RegionAlleles:
    """Given alleles of r active regions.

    Attributes
    ----------
    given
        All given alleles.
    spans
        The r active regions, not trimmed.
    offsets
        int64[r + 1]: those of region k are `rows[offsets[k]:offsets[k + 1]]`.
    rows
        int64: rows of `given`.
    """

    given: GivenAlleles
    spans: ActiveRegions
    offsets: NDArray[np.int64]
    rows: NDArray[np.int64]

    @classmethod
    def of(
        cls, given: GivenAlleles, spans: ActiveRegions, has_reads: NDArray[np.bool_]
    ) -> RegionAlleles:
        """Find the alleles that start in or after an active span, and in its padded span.

        `has_reads`, bool[r]: regions without reads get none.
        """
        firsts = np.searchsorted(given.starts, spans.starts)
        counts = np.maximum(np.searchsorted(given.starts, spans.padded_ends) - firsts, 0)
        counts *= has_reads
        offsets = offsets_of(counts)
        rows = np.arange(offsets[-1]) + np.repeat(firsts - offsets[:-1], counts)
        return cls(given, spans, offsets, rows)

    def __len__(self) -> int:
        return self.offsets.size - 1

    @property
    def events(self) -> Events:
        """The alleles as events; regions take the place of haplotypes."""
        chosen = self.given.take(self.rows)
        return Events(self.offsets, chosen.starts, chosen.ends, chosen.alternates)

    def take(self, regions: NDArray[np.int64]) -> RegionAlleles:
        """Select regions, int64[k]."""
        counts = lengths_of(self.offsets)[regions]
        offsets = offsets_of(counts)
        firsts = np.repeat(self.offsets[:-1][regions] - offsets[:-1], counts)
        rows = self.rows[np.arange(offsets[-1]) + firsts]
        return RegionAlleles(self.given, self.spans.take(regions), offsets, rows)


class GivenView(NamedTuple):
    """The columns of `GivenAlleles`, read-only."""

    starts: NDArray[np.int64]
    ends: NDArray[np.int64]
    alternates: RaggedView


@njit
def is_given(events: EventsView, k: Integer, given: GivenView, row: Integer) -> bool:
    """Tell whether event k is a given allele."""
    if events.starts[k] != given.starts[row] or events.ends[k] != given.ends[row]:
        return False
    start, other_start = events.alternates.offsets[k], given.alternates.offsets[row]
    length = events.alternates.offsets[k + 1] - start
    if length != given.alternates.offsets[row + 1] - other_start:
        return False
    at = 0
    while (
        at < length
        and events.alternates.data[start + at] == given.alternates.data[other_start + at]
    ):
        at += 1
    return bool(at == length)


def forced_events(
    own: RegionAlleles,
    events: Events,
    event_rows: NDArray[np.int64],
    event_regions: NDArray[np.int64],
) -> ForcedEvents:
    """Return the given alleles of each region, and the other events of the reference with one.

    Parameters
    ----------
    own
        Given alleles of r active regions.
    events
        Events of k references with a given allele.
    event_rows, event_regions
        int64[k]: the given allele and the region of each.
    """
    counts = lengths_of(events.offsets)
    owners = np.repeat(event_rows, counts)
    is_other = np.empty(owners.size, dtype=np.bool_)
    _mark_others(
        columns_of(EventsView, events),
        columns_of(GivenView, own.given),
        read_only(owners),
        is_other,
    )
    others, given = np.flatnonzero(is_other), own.events
    regions = np.repeat(np.arange(len(own)), lengths_of(own.offsets))
    all_regions = np.concatenate((regions, np.repeat(event_regions, counts)[others]))
    order = np.argsort(all_regions, kind="stable")
    return ForcedEvents(
        np.searchsorted(all_regions[order], np.arange(len(own) + 1)),
        np.concatenate((own.rows, owners[others]))[order],
        np.concatenate((given.starts, events.starts[others]))[order],
        np.concatenate((given.ends, events.ends[others]))[order],
        Ragged.concatenate([given.alternates, events.alternates.take(others)]).take(order),
        order < own.rows.size,
    )


def widened_to_forced(
    regions: ActiveRegions, forced: ForcedEvents, spans: ActiveRegions
) -> ActiveRegions:
    """Widen variant spans to the events that are there instead of a given allele.

    Parameters
    ----------
    regions
        t variant spans.
    forced
        Events of these regions.
    spans
        The t active regions, whose spans are the limits.
    """
    starts, ends = regions.starts.copy(), regions.ends.copy()
    owners = np.repeat(np.arange(len(regions)), lengths_of(forced.offsets))
    others = ~forced.is_given
    np.minimum.at(starts, owners[others], forced.starts[others])
    np.maximum.at(ends, owners[others], forced.ends[others])
    return replace(
        regions, starts=np.maximum(starts, spans.starts), ends=np.minimum(ends, spans.ends)
    )


@njit
def _mark_others(
    events: EventsView, given: GivenView, owners: NDArray[np.int64], is_other: NDArray[np.bool_]
) -> None:
    for k in range(owners.size):
        is_other[k] = not is_given(events, k, given, owners[k])


def forced_of_regions(forced: ForcedEvents, kept: NDArray[np.int64]) -> ForcedEvents:
    """Return the events of some regions, `kept`, int64[k], ascending."""
    counts = lengths_of(forced.offsets)
    rows = np.flatnonzero(np.isin(np.repeat(np.arange(counts.size), counts), kept))
    return ForcedEvents(
        offsets_of(counts[kept]),
        forced.rows[rows],
        forced.starts[rows],
        forced.ends[rows],
        forced.alternates.take(rows),
        forced.is_given[rows],
    )
