"""Events of haplotypes: their differences from the reference, by their CIGARs."""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.bytes import Integer
from hapgpu.arrays.ragged import Ragged
from hapgpu.arrays.ragged_view import RaggedView, read_only, view_of
from hapgpu.calling.batches import Events, RegionHaplotypes
from hapgpu.cigar.encoding import DELETION, INSERTION
from hapgpu.haplotypes.batches import ReferenceSlice
from hapgpu.runtime.jit import njit, njit_inlined

_REGULAR: Final = np.isin(np.arange(256), np.frombuffer(b"ACGT", dtype=np.uint8))


class _Input(NamedTuple):
    """Haplotypes, read-only; `starts` are offsets in `reference`."""

    bases: RaggedView
    cigars: RaggedView
    starts: NDArray[np.int64]
    reference: NDArray[np.uint8]


class _Element(NamedTuple):
    """Element of a CIGAR: where its bases and its reference start; first event of the haplotype."""

    base: Integer
    position: Integer
    length: Integer
    first_event: Integer


class _Output(NamedTuple):
    """Room for events: ALT of event k is `text[offsets[k]:offsets[k + 1]]`."""

    starts: NDArray[np.int64]
    ends: NDArray[np.int64]
    offsets: NDArray[np.int64]
    text: NDArray[np.uint8]

    @classmethod
    def of_size(cls, events: int) -> _Output:
        columns = np.empty((2, events), dtype=np.int64)
        text = np.empty(events, dtype=np.uint8)
        return cls(columns[0], columns[1], np.zeros(events + 1, dtype=np.int64), text)


def events_of(
    haplotypes: RegionHaplotypes,
    starts: NDArray[np.int64],
    reference: ReferenceSlice,
    max_mnp_distance: int = 0,
) -> Events:
    """Return the events of haplotypes, by the rules of GATK's EventMap.

    - Aligned bases: each mismatch of two bases of A, C, G, T is a SNP; mismatches that are at most
      `max_mnp_distance` apart, within one element of the CIGAR, are one event.
    - An insertion that is neither the first nor the last element, and a deletion, start at the base
      before. They are no events if that base, or one of their own, is not A, C, G or T, or if the
      reference has no base before them.
    - Events of one start are merged: the longer REF; ALT has the first base of the first event, and
      all inserted bases. Alleles that are both longer than one base lose their common suffix.

    Parameters
    ----------
    haplotypes
        h haplotypes with CIGARs of M, =, X, I and D that consume their bases.
    starts
        int64[h]: the position of the first base of the reference that each CIGAR consumes.
    reference
        Holds all that the CIGARs consume.
    max_mnp_distance
        0: no event has several aligned bases.
    """
    # An event takes a base of the haplotype or an element of the CIGAR, and so does a base of ALT.
    out = _Output.of_size(haplotypes.bases.data.size + haplotypes.cigars.data.size)
    offsets = np.zeros(len(haplotypes) + 1, dtype=np.int64)
    haplotype_view = _Input(
        view_of(haplotypes.bases),
        view_of(haplotypes.cigars),
        read_only(starts - reference.start),
        read_only(reference.bases),
    )
    _write_events(haplotype_view, max_mnp_distance, out, offsets)
    count = int(offsets[-1])
    text_offsets = out.offsets[: count + 1].copy()
    return Events(
        offsets,
        out.starts[:count] + reference.start,
        out.ends[:count] + reference.start,
        Ragged(out.text[: text_offsets[-1]].copy(), text_offsets),
    )


@njit
def _write_events(
    haplotypes: _Input, distance: int, out: _Output, out_offsets: NDArray[np.int64]
) -> None:
    """Write the events of each haplotype, at offsets in the reference."""
    count: Integer = np.int64(0)
    bases, cigars, starts, _ = haplotypes
    for row in range(starts.size):
        first_event, position, base = count, starts[row], bases.offsets[row]
        first, last = cigars.offsets[row], cigars.offsets[row + 1] - 1
        for k in range(first, last + 1):
            length, operation = np.int64(cigars.data[k] >> 4), cigars.data[k] & 15
            element = _Element(base, position, length, first_event)
            if operation == INSERTION:
                if first < k < last and position > 0:
                    count = _add_insertion(haplotypes, element, out, count)
                base += length
            elif operation == DELETION:
                if position > 0:
                    count = _add_deletion(haplotypes.reference, element, out, count)
                position += length
            else:
                count = _add_mismatches(haplotypes, element, distance, out, count)
                base += length
                position += length
        out_offsets[row + 1] = count


@njit
def _add_mismatches(
    haplotypes: _Input, element: _Element, distance: int, out: _Output, count: Integer
) -> Integer:
    """Add the SNPs of aligned bases, or of those that are near to each other one event."""
    k = np.int64(0)
    while k < element.length:
        if not _is_mismatch(haplotypes, element, k):
            k += 1
            continue
        end = probe = k + 1
        while probe < element.length and probe < end + distance:
            if _is_mismatch(haplotypes, element, probe):
                end = probe + 1
            probe += 1
        text = out.offsets[count]
        for i in range(k, end):
            out.text[text] = haplotypes.bases.data[element.base + i]
            text += 1
        count = _add(element.position + k, element.position + end, text, out, count)
        k = end
    return count


@njit
def _add_insertion(haplotypes: _Input, element: _Element, out: _Output, count: Integer) -> Integer:
    """Add an insertion, or append its bases to the event at the base before it."""
    base, position, length, first_event = element
    bases, reference = haplotypes.bases.data, haplotypes.reference
    if not (_REGULAR[reference[position - 1]] and _are_regular(bases, base, base + length)):
        return count
    text = out.offsets[count]
    is_merged = count > first_event and out.starts[count - 1] == position - 1
    if not is_merged:
        out.text[text] = reference[position - 1]
        text += 1
    for i in range(base, base + length):
        out.text[text] = bases[i]
        text += 1
    if is_merged:
        out.offsets[count] = text
        return count
    return _add(position - 1, position, text, out, count)


@njit
def _add_deletion(
    reference: NDArray[np.uint8], element: _Element, out: _Output, count: Integer
) -> Integer:
    """Add a deletion, or merge it with the event at the base before it."""
    start, end = element.position - 1, element.position + element.length
    if not _are_regular(reference, start, end):
        return count
    text = out.offsets[count]
    if count == element.first_event or out.starts[count - 1] != start:
        out.text[text] = reference[start]
        return _add(start, end, text + 1, out, count)
    first = out.offsets[count - 1]
    while end > start + 1 and text > first + 1 and out.text[text - 1] == reference[end - 1]:
        end -= 1
        text -= 1
    if end == start + 1 and text == first + 1 and out.text[first] == reference[start]:
        return count - 1
    out.ends[count - 1] = end
    out.offsets[count] = text
    return count


@njit_inlined
def _add(start: Integer, end: Integer, text: Integer, out: _Output, count: Integer) -> Integer:
    out.starts[count] = start
    out.ends[count] = end
    out.offsets[count + 1] = text
    return count + 1


@njit_inlined
def _is_mismatch(haplotypes: _Input, element: _Element, k: Integer) -> bool:
    base = haplotypes.bases.data[element.base + k]
    other = haplotypes.reference[element.position + k]
    return bool(base != other and _REGULAR[base] and _REGULAR[other])


@njit_inlined
def _are_regular(text: NDArray[np.uint8], start: Integer, end: Integer) -> bool:
    irregular = 0
    for k in range(start, end):
        irregular += not _REGULAR[text[k]]
    return irregular == 0


class EventsView(NamedTuple):
    """The columns of `Events`, read-only."""

    offsets: NDArray[np.int64]
    starts: NDArray[np.int64]
    ends: NDArray[np.int64]
    alternates: RaggedView


class ReferenceView(NamedTuple):
    """The columns of a `ReferenceSlice`, read-only."""

    bases: NDArray[np.uint8]
    start: Integer
