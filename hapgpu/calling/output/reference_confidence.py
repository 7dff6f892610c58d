"""Likelihoods of homozygous REF against any other genotype at positions without a variant."""

from __future__ import annotations

import math
from functools import cache
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.batches import ReadBatch
from hapgpu.arrays.bytes import Integer
from hapgpu.arrays.ragged import offsets_of
from hapgpu.arrays.ragged_view import RaggedView, columns_of, read_only, view_of
from hapgpu.calling.batches import ActiveRegions, RegionReads
from hapgpu.calling.reads.clipping import MATE_REVERSE, REVERSE, has_mapped_mate
from hapgpu.calling.regions.pileup import DELETION_QUALITY, element_likelihoods, log10_sum
from hapgpu.cigar.encoding import DELETION, INSERTION
from hapgpu.haplotypes.batches import ReferenceSlice
from hapgpu.io.bam.constants import QUERY_OPERATIONS, REFERENCE_OPERATIONS
from hapgpu.runtime.jit import njit, njit_inlined

GAP: Final = ord("-")
"""Base of a read at a position that it deletes."""
_UNKNOWN: Final = ord("N")

MAX_INDEL: Final = 10
"""Bases of insertions and deletions that are considered, at most."""
MIN_QUALITY: Final = 6
"""Bases count above this quality."""
_MAX_INFORMATIVE: Final = 40
"""Reads without a plausible insertion or deletion, at most."""
_INDEL_ERROR: Final = -4.5
"""log10 of the probability of a wrong insertion or deletion."""
_MAX_TEMPLATE: Final = 100
"""Bases in adaptors are excluded if the fragment is not longer, as signed in the record."""


class Confidence(NamedTuple):
    """Positions of s spans, span by span.

    Attributes
    ----------
    offsets
        int64[s + 1]: the positions of span k are rows `offsets[k]` to `offsets[k + 1]`.
    depths
        int32[p]: DP, the bases and deletions that count.
    phreds
        int32[p, 2]: PL of 0/1 and 1/1, ALT being any allele but REF; PL of 0/0 is 0.
    """

    offsets: NDArray[np.int64]
    depths: NDArray[np.int32]
    phreds: NDArray[np.int32]


class _Reads(NamedTuple):
    """Reads of spans, and the interval of each without adaptors."""

    offsets: NDArray[np.int64]
    starts: NDArray[np.int64]
    ends: NDArray[np.int64]
    first_positions: NDArray[np.int64]
    end_positions: NDArray[np.int64]
    cigars: RaggedView
    bases: RaggedView
    qualities: RaggedView


class _Spans(NamedTuple):
    starts: NDArray[np.int64]
    ends: NDArray[np.int64]
    padded_starts: NDArray[np.int64]
    padded_ends: NDArray[np.int64]


class _Scratch(NamedTuple):
    bases: NDArray[np.uint8]
    qualities: NDArray[np.uint8]
    sums: NDArray[np.int64]
    is_informative: NDArray[np.bool_]


class _Sums(NamedTuple):
    """Of each position: log10 likelihoods of 0/0, 0/1, 1/1; elements; informative reads."""

    likelihoods: NDArray[np.float64]
    depths: NDArray[np.int32]
    informative: NDArray[np.int32]


def reference_confidence(
    reads: RegionReads, records: ReadBatch, spans: ActiveRegions, reference: ReferenceSlice
) -> Confidence:
    """Compute the likelihoods at each position of s spans, as GATK's ReferenceConfidenceModel.

    An element is a base of quality above `MIN_QUALITY`, or a deletion; it differs from REF or not.
    A second set of likelihoods is made from the number of reads without a plausible insertion or
    deletion; of both, the set with less confidence in 0/0 counts.

    Parameters
    ----------
    reads
        Reads of the s spans.
    records
        The reads of the segment.
    spans
        The spans, and padded spans: the reference at which insertions and deletions are considered.
    reference
        Holds the padded spans.
    """
    offsets = offsets_of(spans.ends - spans.starts)
    size = int(offsets[-1])
    sums = _Sums(np.zeros((size, 3)), np.zeros(size, np.int32), np.zeros(size, np.int32))
    longest = int((reads.ends - reads.starts).max(initial=0))
    scratch = _Scratch(
        np.empty(longest, dtype=np.uint8),
        np.empty(longest, dtype=np.uint8),
        np.empty(longest, dtype=np.int64),
        np.empty(longest, dtype=np.bool_),
    )
    first_positions, end_positions = _without_adaptors(reads, records)
    columns = _Reads(
        read_only(reads.offsets),
        read_only(reads.starts),
        read_only(reads.ends),
        read_only(first_positions),
        read_only(end_positions),
        view_of(reads.cigars),
        view_of(reads.bases(records)),
        view_of(reads.qualities),
    )
    window = columns_of(ReferenceWindow, reference)
    _add_spans(
        columns,
        columns_of(_Spans, spans),
        read_only(offsets),
        window,
        _element_table(),
        scratch,
        sums,
    )
    phreds = np.empty((size, 2), dtype=np.int32)
    _put_phreds(sums, _indel_table(), phreds)
    return Confidence(offsets, sums.depths, phreds)


def _without_adaptors(
    reads: RegionReads, records: ReadBatch
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the interval of each read without its bases in an adaptor, int64[m] each."""
    rows = reads.rows
    flags, lengths = records.flags[rows], records.template_lengths[rows].astype(np.int64)
    mates = records.mate_positions[rows].astype(np.int64)
    is_reverse = flags & REVERSE != 0
    is_defined = has_mapped_mate(records)[rows] & (lengths != 0) & (lengths <= _MAX_TEMPLATE)
    is_defined &= is_reverse != (flags & MATE_REVERSE != 0)
    is_defined &= np.where(is_reverse, reads.ends > mates + 1, reads.starts <= mates + lengths)
    firsts = np.where(is_defined & is_reverse, np.maximum(reads.starts, mates), reads.starts)
    ends = np.minimum(reads.ends, reads.starts + np.abs(lengths))
    return firsts, np.where(is_defined & ~is_reverse, ends, reads.ends)


@cache
def _element_table() -> NDArray[np.float64]:
    """Return float64[256, 3]: likelihoods of 0/0, 0/1, 1/1 given a base equal to REF, by quality.

    Bases of other rows do not count.
    """
    table = np.zeros((256, 3))
    for quality in range(MIN_QUALITY + 1, 256):
        table[quality] = element_likelihoods(quality)
    return read_only(table)


@cache
def _indel_table() -> NDArray[np.float64]:
    """Return float64[41, 3]: likelihoods of 0/0, 0/1, 1/1 by the number of informative reads."""
    correct = math.log10(1.0 - 10.0**_INDEL_ERROR)
    both = log10_sum(correct, _INDEL_ERROR) - math.log10(2.0)
    counts = np.arange(_MAX_INFORMATIVE + 1)
    return read_only(np.outer(counts, [correct, both, _INDEL_ERROR]))


class _Place(NamedTuple):
    """Positions first to last of a read; the positions of the first base and of row 0."""

    first: Integer
    last: Integer
    window_origin: Integer
    row_origin: Integer


@njit
def _add_spans(
    reads: _Reads,
    spans: _Spans,
    offsets: NDArray[np.int64],
    reference: ReferenceWindow,
    table: NDArray[np.float64],
    scratch: _Scratch,
    out: _Sums,
) -> None:
    """Add all reads to the positions of their spans."""
    for span in range(spans.starts.size):
        origin = spans.starts[span] - offsets[span]
        window = ReferenceWindow(
            reference.bases,
            spans.padded_starts[span] - reference.start,
            spans.padded_ends[span] - reference.start,
        )
        for row in range(reads.offsets[span], reads.offsets[span + 1]):
            first = max(reads.first_positions[row], spans.starts[span])
            last = min(reads.end_positions[row], spans.ends[span])
            if first < last:
                read = _lay_out(reads, row, scratch)
                place = _Place(first, last, reference.start, origin)
                _add_elements(read, reads.starts[row], window, place, table, out)
                _add_informative(reads, row, read, window, place, scratch, out)


@njit
def _lay_out(reads: _Reads, row: Integer, scratch: _Scratch) -> Row:
    """Write the base of a read at each position."""
    base, at = reads.bases.offsets[row], np.int64(0)
    for k in range(reads.cigars.offsets[row], reads.cigars.offsets[row + 1]):
        operation, length = reads.cigars.data[k] & 15, np.int64(reads.cigars.data[k] >> 4)
        is_query = QUERY_OPERATIONS >> operation & 1
        if REFERENCE_OPERATIONS >> operation & 1:
            for i in range(length):
                scratch.bases[at + i] = reads.bases.data[base + i] if is_query else GAP
                scratch.qualities[at + i] = reads.qualities.data[base + i] if is_query else 0
            at += length
        if is_query:
            base += length
    read_bases = base - reads.bases.offsets[row]
    return Row(scratch.bases, scratch.qualities, at, read_bases)


@njit
def _add_elements(
    read: Row,
    start: Integer,
    window: ReferenceWindow,
    place: _Place,
    table: NDArray[np.float64],
    out: _Sums,
) -> None:
    """Add the likelihoods of the bases and deletions of a read, which starts at `start`."""
    for position in range(place.first, place.last):
        k = position - start
        base, quality = read.bases[k], np.int64(read.qualities[k])
        if base == GAP:
            quality = np.int64(DELETION_QUALITY)
        if quality <= MIN_QUALITY:
            continue
        at = position - place.row_origin
        is_same = base == window.bases[position - place.window_origin]
        out.depths[at] += 1
        out.likelihoods[at, 0] += table[quality, 0 if is_same else 2]
        out.likelihoods[at, 1] += table[quality, 1]
        out.likelihoods[at, 2] += table[quality, 2 if is_same else 0]


@njit
def _add_informative(
    reads: _Reads,
    row: Integer,
    read: Row,
    window: ReferenceWindow,
    place: _Place,
    scratch: _Scratch,
    out: _Sums,
) -> None:
    """Count a read at positions at which it has no plausible insertion or deletion.

    What is plausible depends on the first position at which GATK looks at the read: later ones
    use what was found there.
    """
    start = reads.starts[row]
    is_known = False
    for k in range(reads.cigars.offsets[row], reads.cigars.offsets[row + 1]):
        operation, length = reads.cigars.data[k] & 15, np.int64(reads.cigars.data[k] >> 4)
        if not REFERENCE_OPERATIONS >> operation & 1:
            continue
        end = start + length
        if operation != DELETION:
            usable = end - np.int64(_is_before_indel(reads, row, k))
            for position in range(max(start, place.first), min(usable, place.last)):
                base = position - reads.starts[row]
                if not is_known:
                    at = position - place.window_origin
                    find_informative(
                        read, window, base, at, MAX_INDEL, scratch.sums, scratch.is_informative
                    )
                    is_known = True
                out.informative[position - place.row_origin] += scratch.is_informative[base]
        start = end


@njit_inlined
def _is_before_indel(reads: _Reads, row: Integer, k: Integer) -> bool:
    """Tell whether an insertion or a deletion follows an element of a CIGAR."""
    if k + 1 == reads.cigars.offsets[row + 1]:
        return False
    operation = reads.cigars.data[k + 1] & 15
    return bool(operation in {INSERTION, DELETION})


@njit
def _put_phreds(sums: _Sums, table: NDArray[np.float64], out: NDArray[np.int32]) -> None:
    """Write the likelihoods that are less confident of 0/0."""
    for at in range(out.shape[0]):
        best = sums.likelihoods[at, 0]
        one, other = min(sums.likelihoods[at, 1], best), min(sums.likelihoods[at, 2], best)
        count = min(np.int64(sums.informative[at]), np.int64(_MAX_INFORMATIVE))
        indel = table[count, 0] - max(table[count, 1], table[count, 2])
        if indel < best - max(one, other):
            best, one, other = table[count, 0], table[count, 1], table[count, 2]
        out[at, 0] = np.int32(math.floor(-10.0 * (one - best) + 0.5))
        out[at, 1] = np.int32(math.floor(-10.0 * (other - best) + 0.5))


class Row(NamedTuple):
    """A read against the reference: one base per position, without inserted bases.

    Attributes
    ----------
    bases
        uint8, `GAP` where the read has a deletion.
    qualities
        uint8, 0 there.
    length
        Positions that are in use.
    read_bases
        Bases of the read, inserted ones too.
    """

    bases: NDArray[np.uint8]
    qualities: NDArray[np.uint8]
    length: Integer
    read_bases: Integer


class ReferenceWindow(NamedTuple):
    """Bases `start` to `end` of a reference, in `bases`, uint8."""

    bases: NDArray[np.uint8]
    start: Integer
    end: Integer


@njit
def find_informative(
    read: Row,
    window: ReferenceWindow,
    first: Integer,
    at: Integer,
    max_size: int,
    sums: NDArray[np.int64],
    out: NDArray[np.bool_],
) -> None:
    """Tell at which bases of a read no insertion or deletion of up to `max_size` is plausible.

    One is plausible at a base if the sum of the qualities of mismatches, from there to the end, is
    not larger with it than without. No base close to the end of the read, or of the window, is
    informative; the rules there are those of GATK's
    ReferenceConfidenceModel.readHasNoPlausibleIdealsOfSize.

    Parameters
    ----------
    read
        The read.
    window
        The reference.
    first, at
        The first position of the read that is considered, and its base in the window.
    max_size
        Bases of an insertion or deletion, at most.
    sums
        int64: scratch memory, at least `read.length` elements.
    out
        bool[l], at least `read.length` elements: written from `first` on; the elements before are
        undefined.
    """
    for k in range(first, read.length):
        out[k] = False
    room = window.end - at
    close = min(read.read_bases - first, room) < max_size
    if close or read.length - first <= max_size:
        return
    _sum_mismatches(read, window, first, at, sums)
    is_reference_shorter = read.length >= room + first + 1
    last = room + first - max_size + 1 if is_reference_shorter else read.length - max_size
    # Insertions and deletions make the numbers of bases and of positions differ.
    last_base = read.read_bases - max_size
    limit = min(last, last_base + 1)
    for size in range(1, max_size + 1):
        _mark_plausible(read, window, first, at, 0, size, limit, sums, out)
        _mark_plausible(read, window, first, at, size, 0, limit, sums, out)
    for k in range(first, limit):
        out[k] = not out[k]
    if is_reference_shorter and last <= last_base:
        out[last - 1] = False


@njit_inlined
def _is_mismatch(read: Row, base: Integer, window: ReferenceWindow, at: Integer) -> bool:
    one, other = read.bases[base], window.bases[at]
    return bool(one not in {other, GAP, _UNKNOWN} and other != _UNKNOWN)


@njit
def _sum_mismatches(
    read: Row, window: ReferenceWindow, first: Integer, at: Integer, sums: NDArray[np.int64]
) -> None:
    """Write the sum of the qualities of mismatches from each base to the end."""
    total = np.int64(0)
    for k in range(min(read.length - first, window.end - at) - 1, -1, -1):
        if _is_mismatch(read, first + k, window, at + k):
            total += np.int64(read.qualities[first + k])
        sums[k] = total


@njit
def _mark_plausible(
    read: Row,
    window: ReferenceWindow,
    first: Integer,
    at: Integer,
    inserted: Integer,
    deleted: Integer,
    limit: Integer,
    sums: NDArray[np.int64],
    out: NDArray[np.bool_],
) -> None:
    """Mark the bases below `limit` at which an insertion or a deletion is plausible."""
    total = np.int64(0)
    size = min(read.length - first - inserted, window.end - at - deleted)
    for k in range(size - 1, -1, -1):
        base = first + k + inserted
        if _is_mismatch(read, base, window, at + k + deleted):
            total += np.int64(read.qualities[base])
            if total > sums[0]:
                return
        is_plausible = read.bases[first + k] != GAP and sums[k] >= total
        if is_plausible and first + k < limit:
            out[first + k] = True
