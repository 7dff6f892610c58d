"""How far the repeats reach in which an allele could as well be written."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.bytes import Integer
from hapgpu.arrays.ragged_view import read_only
from hapgpu.haplotypes.batches import ReferenceSlice, ShiftRanges, Sites
from hapgpu.haplotypes.sites.trimmed_alleles import (
    TrimmedAlleles,
    changes_nothing,
    trimmed_alleles_of,
)
from hapgpu.runtime.jit import njit

LONGEST_SHIFT: Final = 1000
"""An indel is moved by no more bases than this, so that a contig of one letter is no trap."""


def shift_ranges_of(sites: Sites, reference: ReferenceSlice) -> ShiftRanges:
    """Find the shift ranges of sites.

    An insertion or deletion is moved left and right as long as the next base of the reference is
    the one that this brings into (or out of) it: the sequence that results stays the same. No
    other allele reaches further than its REF.

    Parameters
    ----------
    sites
        s sites, whose REFs lie within the slice.
    reference
        Bases around them, `LONGEST_SHIFT` on either side where the contig has as many.

    Raises
    ------
    ValueError
        A REF reaches beyond the slice.
    """
    starts, ends = sites.starts, sites.ends
    if len(sites) and (starts.min() < reference.start or ends.max() > reference.end):
        message = f"sites beyond the reference at {reference.start} to {reference.end}"
        raise ValueError(message)
    shift_ranges = ShiftRanges(starts.copy(), ends)
    _widen(
        shift_ranges.starts,
        shift_ranges.ends,
        read_only(sites.allele_offsets),
        trimmed_alleles_of(sites),
        read_only(reference.bases),
        reference.start,
    )
    return shift_ranges


@njit
def _widen(
    starts: NDArray[np.int64],
    ends: NDArray[np.int64],
    allele_offsets: NDArray[np.int64],
    edits: TrimmedAlleles,
    bases: NDArray[np.uint8],
    first: int,
) -> None:
    """Widen the REF of each site to where its insertions and deletions could be moved."""
    for site in range(starts.size):
        for row in range(allele_offsets[site], allele_offsets[site + 1]):
            start, end = edits.starts[row], edits.ends[row]
            begin, stop = edits.text_begins[row], edits.text_ends[row]
            if changes_nothing(edits, row):
                continue
            if start == end:
                left = _repeats_before(bases, start - first, edits.text, begin, stop)
                right = _repeats_behind(bases, end - first, edits.text, begin, stop)
            elif begin == stop:
                left = _repeats_before(bases, start - first, bases, start - first, end - first)
                right = _repeats_behind(bases, end - first, bases, start - first, end - first)
            else:
                continue
            starts[site] = min(starts[site], start - left)
            ends[site] = max(ends[site], end + right)


@njit
def _repeats_before(
    bases: NDArray[np.uint8], at: Integer, text: NDArray[np.uint8], begin: Integer, end: Integer
) -> int:
    """Count the bases right before a place that repeat a unit, text[begin:end], backwards."""
    most = min(at, LONGEST_SHIFT)
    shift, letter = 0, end - 1
    while shift < most and bases[at - 1 - shift] == text[letter]:
        shift += 1
        letter = end - 1 if letter == begin else letter - 1
    return shift


@njit
def _repeats_behind(
    bases: NDArray[np.uint8], at: Integer, text: NDArray[np.uint8], begin: Integer, end: Integer
) -> int:
    """Count the bases from a place on that repeat a unit, text[begin:end]."""
    most = min(bases.size - at, LONGEST_SHIFT)
    shift, letter = 0, begin
    while shift < most and bases[at + shift] == text[letter]:
        shift += 1
        letter = begin if letter == end - 1 else letter + 1
    return shift
