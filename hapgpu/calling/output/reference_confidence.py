"""Likelihoods of homozygous REF against any other genotype at positions without a variant."""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.batches import ReadBatch
from hapgpu.arrays.bytes import Integer
from hapgpu.arrays.memory import Memory, memory_of, part_of, read_u8, write_8
from hapgpu.arrays.ragged import offsets_of
from hapgpu.arrays.ragged_view import RaggedView, columns_of, read_only, view_of
from hapgpu.calling.batches import ActiveRegions, RegionReads
from hapgpu.calling.output.copy_likelihoods import (
    DIFFERENT,
    Sums,
    element_table,
    indel_table,
    put_confidence,
)
from hapgpu.calling.output.informative import GAP, Row, find_informative
from hapgpu.calling.ploidies import DIPLOID
from hapgpu.calling.reads.clipping import MATE_REVERSE, REVERSE, has_mapped_mate
from hapgpu.calling.regions.pileup import DELETION_QUALITY
from hapgpu.cigar.encoding import DELETION, INSERTION
from hapgpu.haplotypes.batches import ReferenceSlice
from hapgpu.io.bam.constants import QUERY_OPERATIONS, REFERENCE_OPERATIONS
from hapgpu.runtime.jit import njit, njit_inlined

MAX_INDEL: Final = 10
"""Bases of insertions and deletions that are considered, at most."""
_MAX_TEMPLATE: Final = 100
"""Bases in adaptors are excluded if the fragment is not longer, as signed in the record."""
_INDELS: Final = 1 << INSERTION | 1 << DELETION
_DIPLOID_COLUMNS: Final = 4


class Confidence(NamedTuple):
    """Positions of s spans, span by span.

    Attributes
    ----------
    offsets
        int64[s + 1]: the positions of span k are rows `offsets[k]` to `offsets[k + 1]`.
    depths
        int32[p]: DP, the bases and deletions that count.
    alternate_depths
        int32[p]: of these, the bases and deletions that differ from REF.
    phreds
        int32[p, ploidy]: PL of 1 to `ploidy` copies of ALT, which is any allele but REF; PL of no
        copy is 0.
    """

    offsets: NDArray[np.int64]
    depths: NDArray[np.int32]
    alternate_depths: NDArray[np.int32]
    phreds: NDArray[np.int32]


class _Reads(NamedTuple):
    """Reads of spans, and the interval of each without adaptors; `base_starts` are offsets."""

    offsets: NDArray[np.int64]
    starts: NDArray[np.int64]
    ends: NDArray[np.int64]
    first_positions: NDArray[np.int64]
    end_positions: NDArray[np.int64]
    is_used: NDArray[np.bool_]
    cigars: RaggedView
    bases: NDArray[np.uint8]
    base_starts: NDArray[np.int64]
    qualities: RaggedView


class _Spans(NamedTuple):
    starts: NDArray[np.int64]
    ends: NDArray[np.int64]
    padded_ends: NDArray[np.int64]


class _Scratch(NamedTuple):
    """Working memory of a read: see `Row` and `find_informative`."""

    bases: NDArray[np.uint8]
    qualities: NDArray[np.uint8]
    sums: NDArray[np.int64]
    is_informative: NDArray[np.bool_]


def reference_confidence(
    reads: RegionReads,
    records: ReadBatch,
    spans: ActiveRegions,
    reference: ReferenceSlice,
    is_used: NDArray[np.bool_],
    ploidy: int = DIPLOID,
) -> Confidence:
    """Compute the likelihoods at each position of s spans, as GATK's ReferenceConfidenceModel.

    An element is a base of quality above `MIN_QUALITY`, or a deletion; it differs from REF or not.
    A second set of likelihoods is made from the number of reads without a plausible insertion or
    deletion; of both, the set with less confidence in REF counts.

    Parameters
    ----------
    reads
        m reads of the s spans.
    records
        The reads of the segment.
    spans
        The spans, and padded spans: the reference at which insertions and deletions are considered.
    reference
        Holds the padded spans.
    is_used
        bool[m]: whether a read counts.
    ploidy
        Copies of the sample, at least 1.
    """
    offsets = offsets_of(spans.ends - spans.starts)
    size = int(offsets[-1])
    sums = Sums(np.zeros((size, ploidy + 2)), np.zeros(size, np.int32))
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
        read_only(is_used),
        view_of(reads.cigars),
        read_only(records.bases.data),
        read_only(records.bases.offsets[reads.rows] + reads.base_starts),
        view_of(reads.qualities),
    )
    _add_spans(
        columns,
        columns_of(_Spans, spans),
        read_only(offsets),
        read_only(reference.bases),
        reference.start,
        element_table(ploidy),
        scratch,
        sums,
    )
    found = Confidence(
        offsets,
        np.empty(size, np.int32),
        np.empty(size, np.int32),
        np.empty((size, ploidy), np.int32),
    )
    put_confidence(sums, indel_table(ploidy), *found[1:])
    return found


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


@njit
def _add_spans(
    reads: _Reads,
    spans: _Spans,
    offsets: NDArray[np.int64],
    reference: NDArray[np.uint8],
    reference_start: int,
    table: NDArray[np.float64],
    scratch: _Scratch,
    out: Sums,
) -> None:
    """Add all reads to the positions of their spans."""
    # A call with arrays would take longer than most reads do: see `Memory`.
    all_bases, all_qualities = memory_of(reads.bases), memory_of(reads.qualities.data)
    sums, is_informative = memory_of(scratch.sums), memory_of(scratch.is_informative)
    text = memory_of(reference)
    for span in range(spans.starts.size):
        start, end = spans.starts[span], spans.ends[span]
        window_end = spans.padded_ends[span] - reference_start
        for read in range(reads.offsets[span], reads.offsets[span + 1]):
            read_start = reads.starts[read]
            first = max(reads.first_positions[read], start) - read_start
            last = min(reads.end_positions[read], end) - read_start
            if first >= last or not reads.is_used[read]:
                continue
            quality = reads.qualities.offsets[read]
            size = reads.qualities.offsets[read + 1] - quality
            bases = part_of(all_bases, reads.base_starts[read], size)
            qualities = part_of(all_qualities, quality, size)
            is_plain = reads.cigars.offsets[read + 1] - reads.cigars.offsets[read] == 1
            if not is_plain:
                _lay_out(reads.cigars, read, bases, qualities, scratch)
                bases, qualities = memory_of(scratch.bases), memory_of(scratch.qualities)
            window_start = read_start - reference_start
            window = part_of(text, window_start, window_end - window_start)
            row = Row(bases, qualities, reads.ends[read] - read_start, size, window)
            at = offsets[span] + read_start + first - start
            if table.shape[1] == _DIPLOID_COLUMNS:
                _add_elements(row, first, last, at, table, out.elements)
            else:
                _add_elements_of_any(row, first, last, at, table, out.elements)
            find_informative(row, first, last, MAX_INDEL, sums, is_informative)
            if not is_plain:
                _exclude_indels(reads.cigars, read, is_informative, first, last)
            _add_informative(is_informative, first, last, at, out.informative)


@njit
def _lay_out(
    cigars: RaggedView, read: Integer, bases: Memory, qualities: Memory, out: _Scratch
) -> None:
    """Write the base and the quality of a read at each position; deletions have one, too."""
    base, at = np.int64(0), np.int64(0)
    for k in range(cigars.offsets[read], cigars.offsets[read + 1]):
        operation, length = cigars.data[k] & 15, np.int64(cigars.data[k] >> 4)
        is_query = QUERY_OPERATIONS >> operation & 1
        if REFERENCE_OPERATIONS >> operation & 1:
            for i in range(length):
                out.bases[at + i] = read_u8(bases, base + i) if is_query else GAP
                quality = read_u8(qualities, base + i) if is_query else DELETION_QUALITY
                out.qualities[at + i] = quality
            at += length
        if is_query:
            base += length


@njit_inlined
def _add_elements(
    row: Row,
    first: Integer,
    last: Integer,
    at: Integer,
    table: NDArray[np.float64],
    out: NDArray[np.float64],
) -> None:
    """Add the diploid likelihoods of the bases and deletions of a part of a read."""
    # Numba does not test unsigned indices for negative ones. All loads come before all stores, so
    # that the columns are added as a vector.
    target = np.uint64(at)
    zero, one, two, three = np.uint64(0), np.uint64(1), np.uint64(2), np.uint64(3)
    for k in range(first, last):
        element = np.uint64(read_u8(row.qualities, k))
        if read_u8(row.bases, k) != read_u8(row.window, k):
            element += np.uint64(DIFFERENT)
        reference = out[target, zero] + table[element, zero]
        heterozygous = out[target, one] + table[element, one]
        homozygous = out[target, two] + table[element, two]
        depth = out[target, three] + table[element, three]
        out[target, zero], out[target, one] = reference, heterozygous
        out[target, two], out[target, three] = homozygous, depth
        target += one


@njit
def _add_elements_of_any(
    row: Row,
    first: Integer,
    last: Integer,
    at: Integer,
    table: NDArray[np.float64],
    out: NDArray[np.float64],
) -> None:
    """Add the likelihoods of the bases and deletions of a part of a read, of any ploidy."""
    for k in range(first, last):
        element = np.int64(read_u8(row.qualities, k))
        if read_u8(row.bases, k) != read_u8(row.window, k):
            element += DIFFERENT
        for column in range(table.shape[1]):
            out[at + k - first, column] += table[element, column]


@njit
def _exclude_indels(
    cigars: RaggedView, read: Integer, is_informative: Memory, first: Integer, last: Integer
) -> None:
    """Make the positions first to last that are deleted, or before an indel, not informative."""
    at = np.int64(0)
    for k in range(cigars.offsets[read], cigars.offsets[read + 1]):
        operation, length = cigars.data[k] & 15, np.int64(cigars.data[k] >> 4)
        start = at - 1  # inserted bases are at no position
        if REFERENCE_OPERATIONS >> operation & 1:
            at += length
        if _INDELS >> operation & 1:
            for position in range(max(start, first), min(at, last)):
                write_8(is_informative, position, 0)


@njit
def _add_informative(
    is_informative: Memory, first: Integer, last: Integer, at: Integer, out: NDArray[np.int32]
) -> None:
    """Count the informative positions first to last of a read."""
    target = np.uint64(at)
    for k in range(first, last):
        out[target] += np.int32(read_u8(is_informative, k))
        target += np.uint64(1)
