"""Trimmed alleles: REF and ALT without the bases that they share at their ends."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.bytes import Integer
from hapgpu.arrays.ragged_view import RaggedView, read_only, view_of
from hapgpu.haplotypes.batches import AlleleKind, Sites
from hapgpu.runtime.jit import njit, njit_inlined


class TrimmedAlleles(NamedTuple):
    """a alleles, each as an interval of the reference and the text that replaces it.

    The bases shared with REF are trimmed, the common suffix first and then the common prefix: an
    insertion has an empty interval, a deletion an empty text. REF, an ALT that equals it, `*` and
    symbolic alleles have both empty, and change nothing.

    Attributes
    ----------
    starts, ends
        int64[a], 0-based, half-open: the interval.
    text
        uint8, the letters of all alleles.
    text_starts, text_ends
        int64[a], into `text`.
    changes
        int64[a], the number of bases that change: mismatches if interval and text are equally
        long, else the length of the longer.
    """

    starts: NDArray[np.int64]
    ends: NDArray[np.int64]
    text: NDArray[np.uint8]
    text_starts: NDArray[np.int64]
    text_ends: NDArray[np.int64]
    changes: NDArray[np.int64]


def trimmed_alleles_of(sites: Sites) -> TrimmedAlleles:
    """Return the trimmed alleles of sites."""
    return _trimmed(
        read_only(sites.starts),
        view_of(sites.alleles),
        read_only(sites.kinds),
        read_only(sites.allele_offsets),
    )


@njit_inlined
def changes_nothing(trimmed: TrimmedAlleles, row: Integer) -> bool:
    """Return whether an allele leaves the reference as it is."""
    return bool(
        trimmed.starts[row] == trimmed.ends[row]
        and trimmed.text_starts[row] == trimmed.text_ends[row]
    )


@njit
def _trimmed(
    site_starts: NDArray[np.int64],
    alleles: RaggedView,
    kinds: NDArray[np.uint8],
    allele_offsets: NDArray[np.int64],
) -> TrimmedAlleles:
    """Return each allele without the bases that it shares with REF at its ends."""
    count, text = kinds.size, alleles.data
    starts, ends = np.empty(count, np.int64), np.empty(count, np.int64)
    text_starts, text_ends = np.empty(count, np.int64), np.empty(count, np.int64)
    changes = np.zeros(count, np.int64)
    for site in range(site_starts.size):
        reference = alleles.offsets[allele_offsets[site]]
        reference_end = alleles.offsets[allele_offsets[site] + 1]
        for row in range(allele_offsets[site], allele_offsets[site + 1]):
            if kinds[row] == AlleleKind.SEQUENCE:
                text_start, text_end = alleles.offsets[row], alleles.offsets[row + 1]
            else:
                text_start, text_end = reference, reference_end
            prefix, suffix = _shared_ends(text, reference, reference_end, text_start, text_end)
            starts[row] = site_starts[site] + prefix
            ends[row] = site_starts[site] + reference_end - reference - suffix
            text_starts[row], text_ends[row] = text_start + prefix, text_end - suffix
            changes[row] = _changes(
                text,
                reference + prefix,
                reference_end - suffix,
                text_start + prefix,
                text_end - suffix,
            )
    return TrimmedAlleles(starts, ends, text, text_starts, text_ends, changes)


@njit
def _shared_ends(
    text: NDArray[np.uint8], a: Integer, a_end: Integer, b: Integer, b_end: Integer
) -> tuple[int, int]:
    """Count the letters shared at the starts of two texts and, counted first, at their ends."""
    shorter = min(a_end - a, b_end - b)
    suffix = 0
    while suffix < shorter and text[a_end - 1 - suffix] == text[b_end - 1 - suffix]:
        suffix += 1
    prefix = 0
    while prefix < shorter - suffix and text[a + prefix] == text[b + prefix]:
        prefix += 1
    return prefix, suffix


@njit
def _changes(
    text: NDArray[np.uint8], a: Integer, a_end: Integer, b: Integer, b_end: Integer
) -> Integer:
    if a_end - a != b_end - b:
        return max(a_end - a, b_end - b)
    different = 0
    for k in range(a_end - a):
        different += text[a + k] != text[b + k]
    return different
