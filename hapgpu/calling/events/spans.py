"""Variant spans of active regions, and the padding that genotyping needs around them."""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.bytes import Integer
from hapgpu.arrays.ragged_view import columns_of, read_only
from hapgpu.calling.batches import ActiveRegions, Events
from hapgpu.calling.events.events import EventsView, ReferenceView
from hapgpu.haplotypes.batches import ReferenceSlice
from hapgpu.runtime.jit import njit

_SNP_PADDING: Final = 20
_INDEL_PADDING: Final = 75
LONGEST_UNIT: Final = 50
"""Bases of the longest unit of a repeat that is padded by both its copies, as in GATK."""
ANY_UNIT: Final = np.iinfo(np.int64).max


def variant_spans(
    events: Events,
    offsets: NDArray[np.int64],
    regions: ActiveRegions,
    reference: ReferenceSlice,
    longest_unit: int = ANY_UNIT,
) -> ActiveRegions:
    """Return the variant span of each active region, with its padded span, as GATK trims.

    The variant span is the hull of the events that overlap the active span, cut to it. The padded
    span is their hull with the padding of each, cut to the padded span of the active region: 20
    bases, 75 for an insertion or deletion, and in a tandem repeat also the length of the repeat. If
    its unit is longer than `longest_unit`, that length is one unit, after the event only.

    Parameters
    ----------
    events
        Events of the haplotypes of r active regions.
    offsets
        int64[r + 1]: the haplotypes of region k are rows `offsets[k]` to `offsets[k + 1]`.
    regions
        The r active regions.
    reference
        Holds the events and the padded spans.
    longest_unit
        Repeats of longer units are tandem duplications; GATK has no such limit.

    Returns
    -------
    ActiveRegions
        r rows; all four columns are 0 where no event overlaps the active span.
    """
    spans = np.zeros((4, len(regions)), dtype=np.int64)
    _measure(
        columns_of(EventsView, events),
        read_only(offsets),
        columns_of(_Limits, regions),
        longest_unit,
        columns_of(ReferenceView, reference),
        spans,
    )
    starts, ends, padded_starts, padded_ends = spans
    has_variants = ends > 0
    return ActiveRegions(
        np.maximum(starts, regions.starts) * has_variants,
        np.minimum(ends, regions.ends) * has_variants,
        np.maximum(padded_starts, regions.padded_starts) * has_variants,
        np.minimum(padded_ends, regions.padded_ends) * has_variants,
    )


class _Limits(NamedTuple):
    """Active spans, and the ends of their padded spans."""

    starts: NDArray[np.int64]
    ends: NDArray[np.int64]
    padded_ends: NDArray[np.int64]


@njit
def _measure(
    events: EventsView,
    offsets: NDArray[np.int64],
    limits: _Limits,
    longest_unit: int,
    reference: ReferenceView,
    out: NDArray[np.int64],
) -> None:
    """Write the hull of the events of each active region, and the hull with their padding."""
    for region in range(offsets.size - 1):
        is_first = True
        for row in range(events.offsets[offsets[region]], events.offsets[offsets[region + 1]]):
            start, end = events.starts[row], events.ends[row]
            if start >= limits.ends[region] or end <= limits.starts[region]:
                continue
            context_end = limits.padded_ends[region]
            before, after = _padding_of(events, row, reference, context_end, longest_unit)
            if is_first:
                out[0, region], out[1, region] = start, end
                out[2, region], out[3, region] = start - before, end + after
                is_first = False
            out[0, region] = min(out[0, region], start)
            out[1, region] = max(out[1, region], end)
            out[2, region] = min(out[2, region], start - before)
            out[3, region] = max(out[3, region], end + after)


@njit
def _padding_of(
    events: EventsView,
    row: Integer,
    reference: ReferenceView,
    context_end: Integer,
    longest_unit: Integer,
) -> tuple[Integer, Integer]:
    """Return the padding before and after an event."""
    offsets = events.alternates.offsets
    if events.ends[row] - events.starts[row] == offsets[row + 1] - offsets[row]:
        return np.int64(_SNP_PADDING), np.int64(_SNP_PADDING)
    repeat = repeat_of(events, row, reference, context_end)
    if repeat.unit > longest_unit:
        return np.int64(_INDEL_PADDING), _INDEL_PADDING + repeat.unit
    padding = _INDEL_PADDING + repeat.unit * max(repeat.in_reference, repeat.in_alternate)
    return padding, padding


class _Text(NamedTuple):
    """Part of a text, from start to end."""

    data: NDArray[np.uint8]
    start: Integer
    end: Integer


class Repeat(NamedTuple):
    """Tandem repeat after the first base of an event; all 0 if there is none.

    Attributes
    ----------
    unit
        Length of the repeated unit.
    in_reference, in_alternate
        Copies of the unit, with REF and with ALT; below 0 if REF itself has more than ALT and what
        follows.
    """

    unit: Integer
    in_reference: Integer
    in_alternate: Integer


@njit
def repeat_of(
    events: EventsView, row: Integer, reference: ReferenceView, context_end: Integer
) -> Repeat:
    """Return the repeat at an insertion or deletion, as GATK counts it.

    The unit is the shortest period, of whole copies, of the longer allele without its first base.
    Copies are counted from the second base of the haplotype with each allele on, less those that
    REF itself starts with; if they are 0 for an allele, there is no repeat.

    Parameters
    ----------
    events, row
        An event whose alleles differ in length.
    reference
        Holds the event and its context.
    context_end
        The context of both alleles is the reference from the second base of REF to this position.
    """
    offsets = events.alternates.offsets
    second = events.starts[row] + 1 - reference.start
    ref_end, alt_end = np.int64(events.ends[row] - reference.start), np.int64(offsets[row + 1])
    ref = _Text(reference.bases, second, ref_end)
    alt = _Text(events.alternates.data, offsets[row] + 1, alt_end)
    context = _Text(reference.bases, second, context_end - reference.start)
    longer = alt if alt.end - alt.start > ref.end - ref.start else ref
    unit = _period_of(longer)
    before = _matching(longer, unit, np.int64(0), ref) // unit
    in_reference = _copies(longer, unit, ref, context) - before
    in_alternate = _copies(longer, unit, alt, context) - before
    if in_reference == 0 or in_alternate == 0:
        return Repeat(np.int64(0), np.int64(0), np.int64(0))
    return Repeat(unit, in_reference, in_alternate)


@njit
def _period_of(text: _Text) -> Integer:
    """Return the shortest length of a unit of which the text is whole copies."""
    length = text.end - text.start
    for period in range(1, length):
        if length % period == 0:
            k = text.start + period
            while k < text.end and text.data[k] == text.data[k - period]:
                k += 1
            if k == text.end:
                return np.int64(period)
    return length


@njit
def _copies(units: _Text, unit: Integer, allele: _Text, context: _Text) -> Integer:
    """Return how many copies of a unit an allele and its context start with."""
    matching = _matching(units, unit, np.int64(0), allele)
    if matching == allele.end - allele.start:
        matching += _matching(units, unit, matching, context)
    return matching // unit


@njit
def _matching(units: _Text, unit: Integer, phase: Integer, text: _Text) -> Integer:
    """Return how many leading bases of a text repeat the unit, from its base `phase` on."""
    k: Integer = np.int64(0)
    while (
        text.start + k < text.end
        and text.data[text.start + k] == units.data[units.start + (phase + k) % unit]
    ):
        k += 1
    return k
