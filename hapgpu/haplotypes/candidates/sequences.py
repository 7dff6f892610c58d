"""What combinations of edits read, each sequence once."""

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

# A plain 0 would have functions compiled once for it and once more for other numbers.
_0 = np.int64(0)


class Windows(NamedTuple):
    """int64[l] each: what the haplotypes of each locus show, and the locus within."""

    starts: NDArray[np.int64]
    ends: NDArray[np.int64]
    locus_starts: NDArray[np.int64]
    locus_ends: NDArray[np.int64]


class Sequences(NamedTuple):
    """h haplotypes.

    Attributes
    ----------
    offsets
        int64[l + 1]: the haplotypes of each locus.
    sequences
        uint8 rows, h of them.
    sources
        int64[h]: the last combination that makes each with the fewest changes.
    earlier
        int64, of each combination: the one before it that is as good; -1 for none.
    """

    offsets: NDArray[np.int64]
    sequences: RaggedView
    sources: NDArray[np.int64]
    earlier: NDArray[np.int64]


@njit
def sequences_of(
    combinations: Combinations,
    edits: TrimmedAlleles,
    windows: Windows,
    bases: NDArray[np.uint8],
    first_base: int,
    masked: NDArray[np.int64],
) -> Sequences:
    """Write out combinations, and find those that read the same within their locus."""
    loci, most = windows.starts.size, combinations.offsets[-1]
    alleles = combinations.alleles
    offsets, row_offsets = np.zeros(loci + 1, np.int64), np.zeros(most + 1, np.int64)
    sources, earlier = np.empty(most, np.int64), np.empty(most, np.int64)
    hashes, changes = np.empty(most, np.uint64), np.empty(most, np.int64)
    window, data = np.empty(0, np.uint8), np.empty(0, np.uint8)
    count = _0
    for locus in range(loci):
        start, end = windows.starts[locus], windows.ends[locus]
        window = with_room(window, end - start)
        _show_reference(window, windows, locus, bases, first_base, masked)
        first, last = combinations.offsets[locus], combinations.offsets[locus + 1]
        unchanged = _unchanged(alleles, first, last)
        left, right = windows.locus_starts[locus] - start, end - windows.locus_ends[locus]
        for turn in range(first, last):
            combination = turn
            if turn <= unchanged:  # which comes first
                combination = unchanged if turn == first else turn - 1
            growth, changed = _measured(alleles, combination, edits)
            row_offsets[count + 1] = row_offsets[count] + end - start + growth
            data = with_room(data, row_offsets[count + 1])
            _write(data, row_offsets[count], window, start, end, alleles, combination, edits)
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
def _show_reference(
    window: NDArray[np.uint8],
    windows: Windows,
    locus: int,
    bases: NDArray[np.uint8],
    first_base: int,
    masked: NDArray[np.int64],
) -> None:
    """Copy the reference that a locus shows, with the masked positions of its flanks as N."""
    start, end = windows.starts[locus], windows.ends[locus]
    copy_bytes(bases, start - first_base, window, _0, end - start)
    _mask(window, start, masked, start, windows.locus_starts[locus])
    _mask(window, start, masked, windows.locus_ends[locus], end)


@njit
def _mask(
    window: NDArray[np.uint8],
    first: int,
    masked: NDArray[np.int64],
    start: int,
    end: int,
) -> None:
    """Write N at the masked positions of a flank, unless that were more than half of it."""
    low = last_at_most(masked, masked.size, start - 1) + 1
    high = last_at_most(masked, masked.size, end - 1) + 1
    distinct = 0
    for k in range(low, high):
        distinct += k == low or masked[k] != masked[k - 1]
    if 2 * distinct <= end - start:
        for k in range(low, high):
            window[masked[k] - first] = _N


@njit
def _unchanged(alleles: RaggedView, first: int, last: int) -> int:
    """Return the first combination without any change; -1 for none."""
    for combination in range(first, last):
        if alleles.offsets[combination] == alleles.offsets[combination + 1]:
            return combination
    return -1


@njit
def _measured(alleles: RaggedView, combination: int, edits: TrimmedAlleles) -> tuple[int, int]:
    """Return by how much a combination lengthens the reference, and how many bases it changes."""
    growth = changed = 0
    for k in range(alleles.offsets[combination], alleles.offsets[combination + 1]):
        row = alleles.data[k]
        growth += edits.text_ends[row] - edits.text_begins[row]
        growth -= edits.ends[row] - edits.starts[row]
        changed += edits.changes[row]
    return growth, changed


@njit
def _write(  # noqa: PLR0917  (compiled code takes no keywords)
    data: NDArray[np.uint8],
    at: Integer,
    window: NDArray[np.uint8],
    start: int,
    end: int,
    alleles: RaggedView,
    combination: int,
    edits: TrimmedAlleles,
) -> None:
    """Write what a combination makes of a window from start to end."""
    copied = start
    for k in range(alleles.offsets[combination], alleles.offsets[combination + 1]):
        row = alleles.data[k]
        unchanged = edits.starts[row] - copied
        copy_bytes(window, copied - start, data, at, unchanged)
        inserted = edits.text_ends[row] - edits.text_begins[row]
        copy_bytes(edits.text, edits.text_begins[row], data, at + unchanged, inserted)
        at += unchanged + inserted
        copied = edits.ends[row]
    copy_bytes(window, copied - start, data, at, end - copied)


@njit
def _first_equal(  # noqa: PLR0917  (compiled code takes no keywords)
    data: NDArray[np.uint8],
    row_offsets: NDArray[np.int64],
    hashes: NDArray[np.uint64],
    first: Integer,
    row: Integer,
    left: Integer,
    right: Integer,
) -> Integer:
    """Return the first row from `first` on that reads as `row` does, at the latest itself.

    They have the same bases before `left` and the same last `right` bases.
    """
    begin = np.int64(row_offsets[row] + left)
    end = np.int64(row_offsets[row + 1] - right)
    hashes[row] = hash_of(data, begin, end)
    for other in range(first, row):
        shift = row_offsets[row] - row_offsets[other]
        if hashes[other] != hashes[row] or row_offsets[other + 1] + shift != row_offsets[row + 1]:
            continue
        if are_equal(data, begin, begin - shift, end - begin):
            return other
    return row
