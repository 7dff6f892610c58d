"""Distinct sequences of combinations of alleles."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.bytes import Integer, are_equal, copy_bytes, hash_of
from hapgpu.arrays.ragged_view import RaggedView, last_at_most, with_room
from hapgpu.haplotypes.candidates.combinations import Combinations
from hapgpu.haplotypes.sites.trimmed_alleles import TrimmedAlleles
from hapgpu.runtime.jit import njit

_N = np.uint8(ord("N"))

# With a plain 0, functions would be compiled twice: for 0, and for other numbers.
_0 = np.int64(0)


class HaplotypeSpans(NamedTuple):
    """Reference intervals of the haplotypes of each locus, and of the locus itself; int64[l]."""

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
    """Write the sequence of each combination, each sequence of a locus once."""
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
