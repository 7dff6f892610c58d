"""Tandem repeats whose lengths variants change: GATK's TandemRepeat."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.bytes import Integer
from hapgpu.arrays.ragged import Ragged
from hapgpu.arrays.ragged_view import RaggedView, read_only, view_of
from hapgpu.calling.batches import VariantCalls
from hapgpu.calling.record_columns import TandemRepeats
from hapgpu.haplotypes.batches import ReferenceSlice
from hapgpu.runtime.jit import njit

_CONTEXT: Final = 500
"""Bases after REF in which repeats are counted."""


def tandem_repeats(calls: VariantCalls, reference: ReferenceSlice) -> TandemRepeats:
    """Find the tandem repeats of records: only if all ALTs are indels of repeat units.

    An ALT has a unit: the shortest of which the longer of REF and ALT, without the first base, is
    a repetition. Its repeats are counted from the base after the first on: in REF, and in the ALT.

    Parameters
    ----------
    calls
        v records.
    reference
        The reference, with at least 500 bases after each REF, unless the contig ends before.
    """
    counts = np.zeros(len(calls.alleles), dtype=np.int64)
    units = np.zeros((len(calls), 2), dtype=np.int64)
    offsets = calls.starts + 1 - reference.start
    _find(
        read_only(calls.allele_offsets),
        view_of(calls.alleles),
        read_only(offsets),
        read_only(reference.bases),
        counts,
        units,
    )
    return TandemRepeats(Ragged.gather(calls.alleles.data, units[:, 0], units[:, 1]), counts)


@njit
def _find(
    allele_offsets: NDArray[np.int64],
    alleles: RaggedView,
    contexts: NDArray[np.int64],
    bases: NDArray[np.uint8],
    counts: NDArray[np.int64],
    units: NDArray[np.int64],
) -> None:
    """Set the counts of alleles, and start and length of units; of records without a unit zeros."""
    for record in range(contexts.size):
        first, end = allele_offsets[record], allele_offsets[record + 1]
        size = alleles.offsets[first + 1] - alleles.offsets[first]
        context = bases[contexts[record] : contexts[record] + size - 1 + _CONTEXT]
        for allele in range(first + 1, end):
            length: Integer = np.int64(0)
            if _is_indel(alleles, first, allele):
                length = _count(alleles, first, allele, context, counts, units[record])
            if length == 0:
                units[record, 1] = 0
                counts[first:end] = 0
                break


@njit
def _is_indel(alleles: RaggedView, reference: Integer, allele: Integer) -> bool:
    start, end = alleles.offsets[allele], alleles.offsets[allele + 1]
    size = alleles.offsets[reference + 1] - alleles.offsets[reference]
    return bool(end - start != size and alleles.data[start] != ord("<"))


@njit
def _count(
    alleles: RaggedView,
    reference: Integer,
    allele: Integer,
    context: NDArray[np.uint8],
    counts: NDArray[np.int64],
    unit: NDArray[np.int64],
) -> Integer:
    """Count the repeats of REF and an ALT, and set their unit; return its length, 0 for none."""
    own, end = np.int64(alleles.offsets[reference]) + 1, np.int64(alleles.offsets[reference + 1])
    other, other_end = np.int64(alleles.offsets[allele]) + 1, np.int64(alleles.offsets[allele + 1])
    bases, none = alleles.data, context[:0]
    start, size = own, end - own
    if other_end - other > size:
        start, size = other, other_end - other
    length = _unit_length(bases, start, size)
    in_allele = _repeats(bases, start, length, own, end, none)
    in_reference = _repeats(bases, start, length, own, end, context) - in_allele
    in_alternate = _repeats(bases, start, length, other, other_end, context) - in_allele
    if in_reference == 0 or in_alternate == 0:
        return np.int64(0)
    if allele == reference + 1:
        counts[reference] = in_reference
    counts[allele] = in_alternate
    unit[0], unit[1] = start, length
    return length


@njit
def _unit_length(bases: NDArray[np.uint8], start: Integer, size: Integer) -> Integer:
    """Return the length of the shortest unit that `size` bases are a repetition of."""
    for length in range(1, size):
        if size % length == 0:
            k = length
            while k < size and bases[start + k] == bases[start + k - length]:
                k += 1
            if k == size:
                return length
    return size


@njit
def _repeats(
    bases: NDArray[np.uint8],
    unit: Integer,
    length: Integer,
    start: Integer,
    end: Integer,
    context: NDArray[np.uint8],
) -> Integer:
    """Return how often a unit of bases is repeated at the start of bases and of their context."""
    size = end - start
    k = np.int64(0)
    while k < size + context.size:
        base = bases[start + k] if k < size else context[k - size]
        if base != bases[unit + k % length]:
            break
        k += 1
    return k // length
