"""Given alleles: those of a VCF that are called in any case, `--alleles`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import pairwise
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.bytes import Integer
from hapgpu.arrays.ragged import Ragged
from hapgpu.arrays.ragged_view import RaggedView, read_only, view_of
from hapgpu.calling.batches import NO_GIVEN_ALLELES, GivenAlleles
from hapgpu.calling.reads.segments import CallingIntervals
from hapgpu.haplotypes.batches import ReferenceSlice
from hapgpu.haplotypes.sites.columns import sites_of
from hapgpu.haplotypes.sites.reference_check import (
    check_positions,
    check_reference_alleles,
    plain_bases,
    reference_slice,
)
from hapgpu.haplotypes.sites.shift_ranges import LONGEST_SHIFT
from hapgpu.haplotypes.sites.trimmed_alleles import (
    TrimmedAlleles,
    changes_nothing,
    trimmed_alleles_of,
)
from hapgpu.io.genome.reference import ReferenceFasta
from hapgpu.io.vcf.batches import VcfBatch
from hapgpu.io.vcf.source import open_vcf
from hapgpu.runtime.jit import njit

_FILTER: Final = 6
"""Column of `VcfBatch.columns`."""
_SPAN: Final = 1 << 20
"""Records are compared with the reference in stretches of so many bases."""


class GivenSites:
    """Given alleles by contig, of a VCF that is read whole.

    Parameters
    ----------
    contigs
        The alleles of each contig, by its name.
    """

    def __init__(self, contigs: Mapping[str, GivenAlleles]) -> None:
        self._contigs = dict(contigs)
        self._longest = {
            contig: int((alleles.ends - alleles.starts).max(initial=0))
            for contig, alleles in self._contigs.items()
        }

    def within(self, contig: str, start: int, end: int) -> GivenAlleles:
        """Return the alleles of a contig whose REF overlaps the bases start to end."""
        alleles = self._contigs.get(contig, NO_GIVEN_ALLELES)
        first = np.searchsorted(alleles.starts, start - self._longest.get(contig, 0))
        last = np.searchsorted(alleles.starts, end)
        rows = np.arange(first, last)
        return alleles.take(rows[alleles.ends[rows] > start])

    def count_in(self, intervals: CallingIntervals) -> int:
        """Return how many alleles start in calling intervals."""
        count, bounds = 0, intervals.runs()
        for first, end in pairwise(bounds):
            alleles = self._contigs.get(intervals.contigs[first], NO_GIVEN_ALLELES)
            edges = np.searchsorted(
                alleles.starts, (intervals.starts[first:end], intervals.ends[first:end])
            )
            count += int((edges[1] - edges[0]).sum())
        return count


def read_given_alleles(
    path: Path, reference: ReferenceFasta, max_record: int, *, keeps_filtered: bool
) -> GivenSites:
    """Read the given alleles of a VCF or BCF.

    Symbolic alleles, `*` and alleles that equal REF are left out. Bases that an allele shares with
    REF are removed, and insertions and deletions are left-aligned, so that each allele is the event
    that a haplotype with it has.

    Parameters
    ----------
    path
        Sorted; it needs no index.
    reference
        The reference of the reads.
    max_record
        Bytes of a record or a header, at most.
    keeps_filtered
        Whether records count whose FILTER is neither missing nor PASS.

    Raises
    ------
    InputError
        The file cannot be read, is not sorted, or does not fit the reference: contig, position or
        bases of REF.
    """
    found: dict[str, list[GivenAlleles]] = {}
    with open_vcf(path, max_record) as source:
        for batch in source.batches():
            kept = batch if keeps_filtered else batch.take(_are_unfiltered(batch))
            for part in _stretches(kept):
                alleles = _alleles_of(part, reference, source.name)
                found.setdefault(batch.contig, []).append(alleles)
    return GivenSites({contig: _joined(parts) for contig, parts in found.items()})


def _are_unfiltered(batch: VcfBatch) -> NDArray[np.bool_]:
    """Return bool[n]: whether FILTER is missing or PASS."""
    starts = batch.columns[:, _FILTER]
    lengths = batch.columns[:, _FILTER + 1] - 1 - starts
    are: NDArray[np.bool_] = np.zeros(len(batch), dtype=np.bool_)
    for word in (b".", b"PASS"):
        rows = np.flatnonzero(lengths == len(word))
        texts = batch.text[starts[rows, np.newaxis] + np.arange(len(word))]
        are[rows] = (texts == np.frombuffer(word, dtype=np.uint8)).all(axis=1)
    return are


def _stretches(batch: VcfBatch) -> Iterator[VcfBatch]:
    """Yield records in parts that start in one stretch of the contig."""
    if len(batch):
        firsts = np.flatnonzero(np.diff(batch.starts // _SPAN)) + 1
        for start, end in pairwise([0, *firsts.tolist(), len(batch)]):
            yield batch[start:end]


def _alleles_of(batch: VcfBatch, reference: ReferenceFasta, source: str) -> GivenAlleles:
    """Return the alleles of records, at least one, of a contig; in their order."""
    sites = sites_of(batch, reference.lengths.get(batch.contig, -1))
    check_positions(sites, reference, source)
    start, end = int(sites.starts[0]) - LONGEST_SHIFT - 1, int(sites.ends.max())
    bases = reference_slice(reference, batch.contig, start, end)
    check_reference_alleles(sites, bases, reference, source)
    trimmed = trimmed_alleles_of(sites)
    columns = np.empty((2, trimmed.starts.size), dtype=np.int64)
    lengths = np.maximum(trimmed.text_ends - trimmed.text_starts, 0) + 1
    text = np.empty(int(lengths.sum()), dtype=np.uint8)
    offsets = np.zeros(trimmed.starts.size + 1, dtype=np.int64)
    count = _put_events(trimmed, _view(plain_bases(bases)), columns, text, offsets)
    return GivenAlleles(
        columns[0, :count], columns[1, :count], Ragged(text[: offsets[count]], offsets[: count + 1])
    )


class _Reference(NamedTuple):
    """Bases of a contig from a position on."""

    start: int
    bases: NDArray[np.uint8]


def _view(bases: ReferenceSlice) -> _Reference:
    return _Reference(bases.start, read_only(bases.bases))


@njit
def _put_events(
    trimmed: TrimmedAlleles,
    reference: _Reference,
    columns: NDArray[np.int64],
    text: NDArray[np.uint8],
    offsets: NDArray[np.int64],
) -> Integer:
    """Write REF and ALT of the alleles that change something; return their number.

    An insertion or deletion before the first base of a contig is left out: no event has it.
    """
    count: Integer = np.int64(0)
    for row in range(trimmed.starts.size):
        if changes_nothing(trimmed, row):
            continue
        start, end = trimmed.starts[row], trimmed.ends[row]
        first, last = trimmed.text_starts[row], trimmed.text_ends[row]
        shift: Integer = np.int64(0)
        at = offsets[count]
        if start == end or first == last:
            shift = _shift(trimmed, row, reference)
            start -= shift + 1
            end -= shift
            if start < 0:
                continue
            text[at] = reference.bases[start - reference.start]
            at += 1
        length = last - first
        for k in range(length):
            # An insertion that moves left by a base starts with its last one.
            text[at + k] = trimmed.text[first + (k - shift) % length]
        columns[0, count], columns[1, count] = start, end
        count += 1
        offsets[count] = at + length
    return count


@njit
def _shift(trimmed: TrimmedAlleles, row: Integer, reference: _Reference) -> Integer:
    """Return by how many bases an insertion or deletion can be shifted left."""
    start, end = trimmed.starts[row] - reference.start, trimmed.ends[row] - reference.start
    first, last = trimmed.text_starts[row], trimmed.text_ends[row]
    shift: Integer = np.int64(0)
    while shift < min(start, LONGEST_SHIFT):
        if start < end:
            base = reference.bases[end - 1 - shift]
        else:
            base = trimmed.text[last - 1 - shift % (last - first)]
        if reference.bases[start - 1 - shift] != base:
            break
        shift += 1
    return shift


def _joined(parts: list[GivenAlleles]) -> GivenAlleles:
    """Return the alleles of a contig, sorted, each once."""
    starts = np.concatenate([part.starts for part in parts])
    ends = np.concatenate([part.ends for part in parts])
    texts = Ragged.concatenate([part.alternates for part in parts])
    order = np.lexsort((ends, starts))
    sorted_ = GivenAlleles(starts[order], ends[order], texts.take(order))
    is_new = np.ones(order.size, dtype=np.bool_)
    _mark_new(
        read_only(sorted_.starts), read_only(sorted_.ends), view_of(sorted_.alternates), is_new
    )
    return sorted_.take(np.flatnonzero(is_new))


@njit
def _mark_new(
    starts: NDArray[np.int64],
    ends: NDArray[np.int64],
    alternates: RaggedView,
    is_new: NDArray[np.bool_],
) -> None:
    """Mark rows that equal none before them, of those with the same REF."""
    for row in range(starts.size):
        other = row - 1
        while other >= 0 and starts[other] == starts[row] and ends[other] == ends[row]:
            if _are_equal(alternates, row, other):
                is_new[row] = False
                break
            other -= 1


@njit
def _are_equal(texts: RaggedView, row: Integer, other: Integer) -> bool:
    start, other_start = texts.offsets[row], texts.offsets[other]
    length = texts.offsets[row + 1] - start
    if length != texts.offsets[other + 1] - other_start:
        return False
    k = 0
    while k < length and texts.data[start + k] == texts.data[other_start + k]:
        k += 1
    return bool(k == length)
