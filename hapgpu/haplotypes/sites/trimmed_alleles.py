"""What alleles change of the reference: their text and REF without the ends they share."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.bytes import Integer
from hapgpu.arrays.ragged_view import RaggedView, read_only, view_of
from hapgpu.haplotypes.batches import AlleleKind, Sites
from hapgpu.runtime.jit import njit, njit_inlined


class TrimmedAlleles(NamedTuple):
    """Each of a alleles as a stretch of the reference and the text that takes its place.

    What an allele shares with REF is trimmed, the common suffix first and then the common prefix,
    until nothing is shared: an insertion has no stretch, a deletion no text. REF, an ALT that
    equals it, `*` and symbolic alleles have neither, and change nothing.

    Attributes
    ----------
    starts, ends
        int64[a], 0-based, half-open: the stretch.
    text
        uint8, the letters of all alleles.
    text_begins, text_ends
        int64[a], into `text`.
    changes
        int64[a], the number of bases that change: those that differ where stretch and text have
        one length, else the length of the longer.
    """

    starts: NDArray[np.int64]
    ends: NDArray[np.int64]
    text: NDArray[np.uint8]
    text_begins: NDArray[np.int64]
    text_ends: NDArray[np.int64]
    changes: NDArray[np.int64]


def trimmed_alleles_of(sites: Sites) -> TrimmedAlleles:
    """Trim the alleles of sites."""
    return _trimmed(
        read_only(sites.starts),
        view_of(sites.alleles),
        read_only(sites.kinds),
        read_only(sites.allele_offsets),
    )


@njit_inlined
def changes_nothing(edits: TrimmedAlleles, row: Integer) -> bool:
    """Whether an allele leaves the reference as it is."""
    return bool(
        edits.starts[row] == edits.ends[row] and edits.text_begins[row] == edits.text_ends[row]
    )


@njit
def _trimmed(
    site_starts: NDArray[np.int64],
    alleles: RaggedView,
    kinds: NDArray[np.uint8],
    allele_offsets: NDArray[np.int64],
) -> TrimmedAlleles:
    count, text = kinds.size, alleles.data
    starts, ends = np.empty(count, np.int64), np.empty(count, np.int64)
    begins, stops = np.empty(count, np.int64), np.empty(count, np.int64)
    changes = np.zeros(count, np.int64)
    for site in range(site_starts.size):
        reference = alleles.offsets[allele_offsets[site]]
        reference_end = alleles.offsets[allele_offsets[site] + 1]
        for row in range(allele_offsets[site], allele_offsets[site + 1]):
            if kinds[row] == AlleleKind.SEQUENCE:
                begin, stop = alleles.offsets[row], alleles.offsets[row + 1]
            else:
                begin, stop = reference, reference_end
            prefix, suffix = _shared_ends(text, reference, reference_end, begin, stop)
            starts[row] = site_starts[site] + prefix
            ends[row] = site_starts[site] + reference_end - reference - suffix
            begins[row], stops[row] = begin + prefix, stop - suffix
            changes[row] = _changes(
                text, reference + prefix, reference_end - suffix, begin + prefix, stop - suffix
            )
    return TrimmedAlleles(starts, ends, text, begins, stops, changes)


@njit
def _shared_ends(
    text: NDArray[np.uint8], a: Integer, a_end: Integer, b: Integer, b_end: Integer
) -> tuple[int, int]:
    """Count the letters that two texts share at their beginning and, first of all, at their end."""
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
