"""Shift ranges of sites: the repeats along which their indels can be shifted."""

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
"""Bases that an indel is shifted by, at most; bounds the time on a contig of one letter."""


def shift_ranges_of(sites: Sites, reference: ReferenceSlice) -> ShiftRanges:
    """Return the shift ranges of sites.

    An insertion or deletion is shifted left and right as long as the haplotype stays the same. The
    shift range of any other allele is its REF.

    Parameters
    ----------
    sites
        s sites, whose REFs lie within the slice.
    reference
        Bases around the sites, `LONGEST_SHIFT` on either side as far as the contig has them.

    Raises
    ------
    ValueError
        A REF extends outside the slice.
    """
    starts, ends = sites.starts, sites.ends
    if len(sites) and (starts.min() < reference.start or ends.max() > reference.end):
        message = (
            f"sites: one lies outside the reference slice {reference.start} to {reference.end}"
        )
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
    trimmed: TrimmedAlleles,
    bases: NDArray[np.uint8],
    first: int,
) -> None:
    """Widen the REF of each site to the shift ranges of its insertions and deletions."""
    for site in range(starts.size):
        for row in range(allele_offsets[site], allele_offsets[site + 1]):
            start, end = trimmed.starts[row], trimmed.ends[row]
            text_start, text_end = trimmed.text_starts[row], trimmed.text_ends[row]
            if changes_nothing(trimmed, row):
                continue
            if start == end:
                left = _repeats_before(bases, start - first, trimmed.text, text_start, text_end)
                right = _repeats_after(bases, end - first, trimmed.text, text_start, text_end)
            elif text_start == text_end:
                left = _repeats_before(bases, start - first, bases, start - first, end - first)
                right = _repeats_after(bases, end - first, bases, start - first, end - first)
            else:
                continue
            starts[site] = min(starts[site], start - left)
            ends[site] = max(ends[site], end + right)


@njit
def _repeats_before(
    bases: NDArray[np.uint8],
    at: Integer,
    text: NDArray[np.uint8],
    unit_start: Integer,
    unit_end: Integer,
) -> int:
    """Count the bases that end at offset `at` and repeat the unit leftwards."""
    max_shift = min(at, LONGEST_SHIFT)
    shift, letter = 0, unit_end - 1
    while shift < max_shift and bases[at - 1 - shift] == text[letter]:
        shift += 1
        letter = unit_end - 1 if letter == unit_start else letter - 1
    return shift


@njit
def _repeats_after(
    bases: NDArray[np.uint8],
    at: Integer,
    text: NDArray[np.uint8],
    unit_start: Integer,
    unit_end: Integer,
) -> int:
    """Count the bases that start at offset `at` and repeat the unit rightwards."""
    max_shift = min(bases.size - at, LONGEST_SHIFT)
    shift, letter = 0, unit_start
    while shift < max_shift and bases[at + shift] == text[letter]:
        shift += 1
        letter = unit_start if letter == unit_end - 1 else letter + 1
    return shift
