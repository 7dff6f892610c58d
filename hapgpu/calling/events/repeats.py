"""Tandem repeats that insertions and deletions lengthen or shorten."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.bytes import Integer
from hapgpu.calling.events.views import EventsView, ReferenceView
from hapgpu.runtime.jit import njit


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
