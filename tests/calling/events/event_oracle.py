"""Events, trimming and alleles as GATK's rules say them, on strings."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

from tests.calling.events.made_haplotypes import Event, Haplotype

Region = tuple[int, int, int, int]
"""Start, end, padded start, padded end."""


def elements_of(cigar: str) -> list[tuple[int, str]]:
    return [(int(length), operation) for length, operation in re.findall(r"(\d+)(\D)", cigar)]


def columns_of(haplotype: Haplotype, start: int) -> list[tuple[str, int, str]]:
    """Return the operation, reference position and base of each column; "-" for a deleted base."""
    bases, cigar = haplotype
    columns, base, position = [], 0, start
    for length, operation in elements_of(cigar):
        for _ in range(length):
            columns.append((operation, position, "-" if operation == "D" else bases[base]))
            base += operation != "D"
            position += operation != "I"
    return columns


def expected_events(haplotype: Haplotype, start: int, reference: str) -> list[Event]:
    """Return the events of a haplotype; `reference` starts at position 0."""
    proposed: list[Event] = []
    bases, base, position = haplotype[0], 0, start
    elements = elements_of(haplotype[1])
    for k, (length, operation) in enumerate(elements):
        before = reference[position - 1] if position else ""
        if operation == "I":
            if before and 0 < k < len(elements) - 1:
                proposed.append((position - 1, before, before + bases[base : base + length]))
            base += length
        elif operation == "D":
            if before:
                deleted = reference[position : position + length]
                proposed.append((position - 1, before + deleted, before))
            position += length
        else:
            proposed += [
                (position + i, reference[position + i], bases[base + i])
                for i in range(length)
                if reference[position + i] != bases[base + i]
            ]
            base += length
            position += length
    merged: dict[int, Event] = {}
    for event in proposed:
        if set(event[1] + event[2]) <= set("ACGT"):
            merged[event[0]] = joined(merged[event[0]], event) if event[0] in merged else event
    return [event for event in map(minimal, merged.values()) if event[1] != event[2]]


def joined(first: Event, second: Event) -> Event:
    """Merge two events of one start, the second an insertion or a deletion."""
    start, ref, alt = first
    return start, max(ref, second[1], key=len), alt + second[2][1:]


def minimal(event: Event) -> Event:
    start, ref, alt = event
    while len(ref) > 1 and len(alt) > 1 and ref[-1] == alt[-1]:
        ref, alt = ref[:-1], alt[:-1]
    return start, ref, alt


def period_of(text: str) -> int:
    return next(n for n in range(1, len(text) + 1) if text[:n] * (len(text) // n) == text)


def copies_of(unit: str, text: str) -> int:
    count = 0
    while text.startswith(unit * (count + 1)):
        count += 1
    return count


def expected_repeat(event: Event, context: str) -> tuple[int, int, int]:
    """Return unit length and copies in REF and ALT; 0 if the event is in no repeat."""
    ref, alt = event[1][1:], event[2][1:]
    longer = max(ref, alt, key=len)
    unit = longer[: period_of(longer)]
    before = copies_of(unit, ref)
    counts = [copies_of(unit, rest + context) - before for rest in (ref, alt)]
    return (len(unit), *counts) if all(counts) else (0, 0, 0)


def expected_span(
    events: Sequence[Event], region: Region, reference: str, longest_unit: float = math.inf
) -> Region | None:
    """Return the variant span cut to the active span, and the new padded span."""
    start, end, padded_start, padded_end = region
    low, high, padded_low, padded_high = [], [], [], []
    for event in events:
        first, last = event[0], event[0] + len(event[1])
        if first < end and last > start:
            before = after = 20
            if len(event[1]) != len(event[2]):
                unit, *copies = expected_repeat(event, reference[first + 1 : padded_end])
                is_long = unit > longest_unit
                before = 75 if is_long else 75 + unit * max(copies)
                after = 75 + unit if is_long else before
            low.append(first)
            high.append(last)
            padded_low.append(first - before)
            padded_high.append(last + after)
    if not low:
        return None
    return (
        max(min(low), start),
        min(max(high), end),
        max(min(padded_low), padded_start),
        min(max(padded_high), padded_end),
    )


def expected_cut(haplotype: Haplotype, start: int, low: int, high: int) -> Haplotype | None:
    """Cut a haplotype whose reference starts at `start` to positions low to high."""
    columns = columns_of(haplotype, start)
    kept = [
        column
        for column in columns
        if (low < column[1] < high if column[0] == "I" else low <= column[1] < high)
    ]
    if kept[0][0] == "D" or kept[-1][0] == "D":
        return None
    cigar, bases = "", ""
    for operation, _, base in kept:
        cigar += operation
        bases += base.replace("-", "")
    return bases, re.sub(r"(.)\1*", lambda run: f"{len(run[0])}{run[1]}", cigar)


def expected_alleles(
    events: Sequence[Sequence[Event]], position: int, reference: str
) -> tuple[list[str], list[int]]:
    """Return the alleles at a position, REF first, and the allele of each haplotype."""
    overlapping = [overlapping_events(own, position) for own in events]
    flat = [event for own in overlapping for event in own]
    length = max(len(ref) for start, ref, _ in flat if start == position)
    ref = reference[position : position + length]

    def allele(event: Event) -> str:
        return event[2] + ref[len(event[1]) :] if event[0] == position else "*"

    alleles = list(dict.fromkeys([ref, *map(allele, flat)]))
    return alleles, [alleles.index(allele(own[0])) if own else 0 for own in overlapping]


def overlapping_events(events: Sequence[Event], position: int) -> list[Event]:
    found = [event for event in events if event[0] <= position < event[0] + len(event[1])]
    if any(len(ref) == 1 < len(alt) for _, ref, alt in found):
        found = [
            (start, ref, alt)
            for start, ref, alt in found
            if not (len(ref) > 1 == len(alt) and start + len(ref) - 1 == position)
        ]
    return found
