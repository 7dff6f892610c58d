"""The chromosome copies of a sample: its variants put into the reference, base by base."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.bytes import Integer
from hapgpu.arrays.ragged import Ragged
from hapgpu.arrays.ragged_view import RaggedView, read_only, view_of
from hapgpu.haplotypes.batches import AlleleKind, ReferenceSlice, Sites
from hapgpu.haplotypes.sites.trimmed_alleles import TrimmedAlleles, trimmed_alleles_of
from hapgpu.runtime.jit import njit
from hapgpu.simulation.phased_variants import PhasedVariants

INSERTED: Final = -1
"""The place of a base that the reference does not have."""


@dataclass(frozen=True, slots=True)
class CopyEdits:
    """e changes of the reference on one chromosome copy, ascending, none over another.

    Attributes
    ----------
    starts, ends
        int64[e], 0-based, half-open: what is replaced; empty for an insertion before `starts`.
    sequences
        uint8 text, e rows: by what. Neither its first nor its last base is that of the reference.
    """

    starts: NDArray[np.int64]
    ends: NDArray[np.int64]
    sequences: Ragged

    def within(self, start: int, end: int) -> CopyEdits:
        """Those that lie wholly within a stretch of the reference."""
        first = int(np.searchsorted(self.starts, start))
        behind = max(int(np.searchsorted(self.ends, end, side="right")), first)
        return CopyEdits(
            self.starts[first:behind],
            self.ends[first:behind],
            self.sequences.slice(first, behind),
        )


@dataclass(frozen=True, slots=True)
class ChromosomeCopy:
    """A stretch of n bases of one chromosome copy.

    Attributes
    ----------
    bases
        uint8 text.
    places
        int64[n], ascending: the position on the reference that each base is aligned to, or
        `INSERTED`. Insertions and deletions lie as far left as they can without a mismatch more.
    """

    bases: NDArray[np.uint8]
    places: NDArray[np.int64]

    def first_from(self, position: int) -> int:
        """Return which base is the first aligned to this position or one behind it; n if none."""
        is_behind = self.places >= position
        return int(is_behind.argmax()) if is_behind.any() else self.places.size


def copy_edits(variants: PhasedVariants) -> list[CopyEdits]:
    """Sort out what each chromosome copy carries.

    Raises
    ------
    ValueError
        Two variants overlap on a copy.
    """
    kinds = np.full(len(variants.alleles), AlleleKind.SEQUENCE, dtype=np.uint8)
    edits = trimmed_alleles_of(
        Sites((), variants.starts, variants.alleles, kinds, variants.allele_offsets)
    )
    return [_edits_of_copy(variants, copy, edits) for copy in range(variants.ploidy)]


def _edits_of_copy(variants: PhasedVariants, copy: int, edits: TrimmedAlleles) -> CopyEdits:
    carriers = np.flatnonzero(variants.genotypes[:, copy] > 0)
    rows = variants.allele_offsets[carriers] + variants.genotypes[carriers, copy]
    starts, ends = edits.starts[rows], edits.ends[rows]
    if (starts[1:] < ends[:-1]).any():
        raise ValueError(f"two variants overlap on chromosome copy {copy + 1}")
    begins = edits.text_begins[rows]
    return CopyEdits(
        starts, ends, Ragged.gather(edits.text, begins, edits.text_ends[rows] - begins)
    )


def chromosome_copy(
    reference: ReferenceSlice, edits: CopyEdits, start: int, end: int
) -> ChromosomeCopy:
    """Make a stretch of a chromosome copy, with the edits that lie wholly within it.

    Parameters
    ----------
    reference
        The contig, or the part of it that is there.
    edits
        Of the copy.
    start, end
        Of the stretch, within `reference`, 0-based, half-open.
    """
    edits = edits.within(start, end)
    grown = int(edits.sequences.offsets[-1] - (edits.ends - edits.starts).sum())
    bases = np.empty(end - start + grown, dtype=np.uint8)
    places = np.empty(bases.size, dtype=np.int64)
    _put_copy(
        read_only(reference.bases[start - reference.start : end - reference.start]),
        start,
        read_only(edits.starts),
        read_only(edits.ends),
        view_of(edits.sequences),
        bases,
        places,
    )
    return ChromosomeCopy(bases, places)


@njit
def _put_copy(  # noqa: PLR0917  (compiled code takes no keywords)
    reference: NDArray[np.uint8],
    start: Integer,
    edit_starts: NDArray[np.int64],
    edit_ends: NDArray[np.int64],
    sequences: RaggedView,
    bases: NDArray[np.uint8],
    places: NDArray[np.int64],
) -> None:
    texts, text_offsets = sequences
    at = 0
    position = start
    for edit in range(edit_starts.size + 1):
        is_last = edit == edit_starts.size
        stop = start + reference.size if is_last else edit_starts[edit]
        while position < stop:
            bases[at], places[at] = reference[position - start], position
            at += 1
            position += 1
        if is_last:
            break
        begin = text_offsets[edit]
        added = text_offsets[edit + 1] - begin
        removed = edit_ends[edit] - position
        for k in range(added):
            bases[at + k] = texts[begin + k]
            beyond = added - k  # a gap lies before what is aligned
            places[at + k] = INSERTED if beyond > removed else edit_ends[edit] - beyond
        if removed == 0:
            _shift_insertion(bases, places, at, added)
        elif added == 0:
            _shift_deletion(reference, start, bases, places, at - 1, edit_ends[edit])
        at += added
        position = edit_ends[edit]


@njit
def _shift_insertion(
    bases: NDArray[np.uint8], places: NDArray[np.int64], first: Integer, count: Integer
) -> None:
    """Move an insertion that begins at `first` to the left, as far as its unit is repeated."""
    while (
        first > 1
        and places[first - 2] != INSERTED
        and places[first - 2] + 1 == places[first - 1]
        and bases[first - 1] == bases[first + count - 1]
    ):
        first -= 1
        places[first + count], places[first] = places[first], INSERTED


@njit
def _shift_deletion(
    reference: NDArray[np.uint8],
    start: Integer,
    bases: NDArray[np.uint8],
    places: NDArray[np.int64],
    last: Integer,
    end: Integer,
) -> None:
    """Move a deletion, behind base `last` and up to `end`, to the left as far as bases repeat."""
    while (
        last > 0
        and places[last - 1] != INSERTED
        and places[last - 1] + 1 == places[last]
        and bases[last] == reference[end - 1 - start]
    ):
        end -= 1
        places[last] = end
        last -= 1
