"""Reads that `call` uses, and the contigs that have such reads."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.batches import ReadBatch
from hapgpu.arrays.bytes import Integer
from hapgpu.arrays.memory import Memory, read_u32
from hapgpu.arrays.ragged_memory import ragged_memory_of, row_memory
from hapgpu.arrays.ragged_view import RaggedView, read_only, view_of
from hapgpu.calling.options import CallOptions
from hapgpu.calling.read_options import MoreFilter
from hapgpu.calling.reads.group_masks import GroupMask
from hapgpu.calling.reads.more_filters import mask_of
from hapgpu.cigar.encoding import DELETION, HARD_CLIP, INSERTION, PADDING, SKIP
from hapgpu.errors import InputError
from hapgpu.genotyping.reads.filters import AnyReadFilter, FilterOptions, ReadFilter
from hapgpu.genotyping.reads.inputs import AlignedInput, IndexedInput, StreamedInput
from hapgpu.genotyping.reads.read_buffer import SamplesOf
from hapgpu.io.bam.constants import (
    LAST_OPERATION,
    QUERY_OPERATIONS,
    REFERENCE_OPERATIONS,
    SOFT_CLIP,
)
from hapgpu.io.genome.regions import contig_hint
from hapgpu.io.text.values import are_contig_names, is_contig_name
from hapgpu.io.vcf.records import quoted
from hapgpu.runtime.jit import njit, njit_inlined

logger = logging.getLogger(__name__)

_UNAVAILABLE: Final = 255
"""MAPQ of SAM for an unknown mapping quality."""
_NO_QUALITY: Final = 256
"""No MAPQ."""
_REASONS: Final = 6
"""Counts of the default filters."""
_INDELS: Final = 1 << INSERTION | 1 << DELETION
_CLIPS: Final = 1 << SOFT_CLIP | 1 << HARD_CLIP
_NONE: Final = LAST_OPERATION + 1
_CIGAR_BYTES: Final = 4


class CallFilter(ReadFilter):
    """Filter of reads, with counts; safe to use from several threads.

    Attributes
    ----------
    counts
        As of `ReadFilter`; `without_alignment` also without a position. Then `unusable_cigar`:
        invalid, not as long as the bases, with skipped bases, with adjacent indels, a deletion at
        an end, or no base on the reference. Others add `reads_over_limit` (`windows.in_crowds`).
        Last the filters that are off by default, each of the reads that all before it keep.
    """

    def __init__(self, options: CallOptions) -> None:
        super().__init__(
            FilterOptions(
                exclude_flags=options.reads.exclude_flags,
                min_mapping_quality=options.min_mapping_quality,
            )
        )
        self._reads = options.reads
        self.counts |= {"unusable_cigar": 0, "reads_over_limit": 0}
        self.counts |= {name.excluded: 0 for name in options.reads.filters}

    def keeps(self, reads: ReadBatch, new: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Return bool[n]: which reads are kept; count those that are `new`, bool[n]."""
        return self.keeps_of(reads, new, {})

    def keeps_of(
        self,
        reads: ReadBatch,
        new: NDArray[np.bool_],
        groups: Mapping[MoreFilter, GroupMask],
    ) -> NDArray[np.bool_]:
        """Return bool[n], as `keeps`, given the masks of the filters by read group."""
        kept = self._keeps(reads, new)
        for name in self._reads.filters:
            mask = mask_of(name, reads, self._reads, groups)
            self.add({name.excluded: int(np.count_nonzero(kept & new & ~mask))})
            kept &= mask
        return kept

    def _keeps(self, reads: ReadBatch, new: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Apply the default filters."""
        kept = np.empty(len(reads), dtype=np.bool_)
        counts = np.zeros(_REASONS, dtype=np.int64)
        takes_all = self._reads.takes_unknown_mapping_quality
        _keep(
            read_only(reads.flags),
            read_only(reads.reference_ids),
            read_only(reads.positions),
            read_only(reads.mapping_qualities),
            view_of(reads.cigars),
            read_only(reads.bases.offsets),
            read_only(new),
            self.options.exclude_flags,
            _NO_QUALITY if takes_all else _UNAVAILABLE,
            self.options.min_mapping_quality,
            kept,
            counts,
        )
        self.add(dict(zip(self.counts, counts.tolist(), strict=False)))
        return kept


@njit
def _keep(
    flags: NDArray[np.uint16],
    contigs: NDArray[np.int32],
    positions: NDArray[np.int32],
    mapping_qualities: NDArray[np.uint8],
    cigars: RaggedView,
    base_offsets: NDArray[np.int64],
    new: NDArray[np.bool_],
    exclude_flags: int,
    unavailable: int,
    min_mapping_quality: int,
    kept: NDArray[np.bool_],
    counts: NDArray[np.int64],
) -> None:
    """Write which reads are kept; add to the counts, in the order of `CallFilter.counts`."""
    all_cigars = ragged_memory_of(cigars)
    for row in range(kept.size):
        bases = base_offsets[row + 1] - base_offsets[row]
        cigar = row_memory(all_cigars, row, _CIGAR_BYTES)
        reason = 0
        if np.int64(flags[row]) & exclude_flags:
            reason = 1
        elif bases == 0 or cigar.size == 0 or contigs[row] < 0 or positions[row] < 0:
            reason = 2
        elif mapping_qualities[row] == unavailable:
            reason = 3
        elif mapping_qualities[row] < min_mapping_quality:
            reason = 4
        elif not _is_usable(cigar, bases):
            reason = 5
        kept[row] = reason == 0
        if new[row]:
            counts[0] += 1
            if reason > 0:
                counts[reason] += 1


@njit
def _is_usable(cigar: Memory, read_bases: Integer) -> bool:
    """Tell whether a CIGAR is valid and has no adjacent indels, deletions at an end, or skips.

    Padding does not separate indels.
    """
    first, last = _without_clips(cigar)
    bases, span, previous = np.int64(0), np.int64(0), np.int64(_NONE)
    for k in range(cigar.size // _CIGAR_BYTES):
        length, operation = _length_at(cigar, k), _operation_at(cigar, k)
        if length == 0 or operation > LAST_OPERATION or operation == SKIP:
            return False
        if QUERY_OPERATIONS >> operation & 1:
            bases += length
        if REFERENCE_OPERATIONS >> operation & 1:
            span += length
        if not first <= k <= last or operation == PADDING:
            continue
        is_indel = _INDELS >> operation & 1
        is_first_deletion = operation == DELETION and previous == _NONE
        is_adjacent = is_indel and _INDELS >> previous & 1
        if _CLIPS >> operation & 1 or is_first_deletion or is_adjacent:
            return False
        previous = np.int64(operation)
    return bool(bases == read_bases and span > 0 and previous != DELETION)


@njit_inlined
def _length_at(cigar: Memory, element: Integer) -> Integer:
    return read_u32(cigar, _CIGAR_BYTES * element) >> 4


@njit_inlined
def _operation_at(cigar: Memory, element: Integer) -> Integer:
    return read_u32(cigar, _CIGAR_BYTES * element) & 15


@njit_inlined
def _without_clips(cigar: Memory) -> tuple[Integer, Integer]:
    """Return the first and last element inside of the clips; none is if first > last."""
    first, last = np.int64(0), np.int64(cigar.size // _CIGAR_BYTES - 1)
    if _operation_at(cigar, first) == HARD_CLIP:
        first += 1
    if last > first and _operation_at(cigar, last) == HARD_CLIP:
        last -= 1
    if first <= last and _operation_at(cigar, first) == SOFT_CLIP:
        first += 1
    if last >= first and _operation_at(cigar, last) == SOFT_CLIP:
        last -= 1
    return first, last


def ordered_contigs(inputs: Iterable[AlignedInput], lengths: Mapping[str, int]) -> dict[str, int]:
    """Return the lengths of all contigs, in the order of the inputs, others last.

    Records follow this order: streams are read once, in theirs.
    """
    if _have_contigs(inputs, lengths):
        return dict(lengths)
    names = chain.from_iterable(input_.header.reference_names for input_ in inputs)
    ordered = dict.fromkeys(chain(filter(lengths.__contains__, names), lengths))
    return dict(zip(ordered, map(lengths.__getitem__, ordered), strict=True))


def _have_contigs(inputs: Iterable[AlignedInput], contigs: Iterable[str]) -> bool:
    """Tell whether each input has these contigs and no others, in this order."""
    names = tuple(contigs)
    return bool(names) and all(input_.header.reference_names == names for input_ in inputs)


def contigs_of_reads(
    inputs: Iterable[AlignedInput], lengths: Mapping[str, int], reference: Path
) -> dict[str, int]:
    """Return the contigs that some input has, from all contigs and their lengths.

    Raises
    ------
    InputError
        An input has no contig of the reference.
    """
    if _have_contigs(inputs, lengths):
        return dict(lengths)
    found: set[str] = set()
    for input_ in inputs:
        names = input_.header.reference_names
        own = lengths.keys() & set(names)
        if not own:
            hint = contig_hint(names[0], lengths) if names else ""
            raise InputError(
                f"{input_.name}: none of its {len(names)} contigs is in {reference}{hint}; give the"
                " reference that the reads were aligned to"
            )
        if unknown := len(names) - len(own):
            logger.warning("%s: %d contigs not called: not in %s", input_.name, unknown, reference)
        found |= own
    if len(found) == len(lengths):
        return dict(lengths)
    return {name: length for name, length in lengths.items() if name in found}


def finder_of_reads(
    inputs: Iterable[IndexedInput | StreamedInput],
    end_of: Callable[[str, int], int],
    filter_of: Callable[[int], AnyReadFilter],
    samples_of: Callable[[int, ReadBatch, NDArray[np.int64]], NDArray[np.int32]],
) -> Callable[[Iterable[str], Iterable[int]], Iterator[bool]]:
    """Return a function that tells of contigs whether there may be reads up to an end of each.

    It looks contigs with indexed reads up, and reads streams on as its results are taken; contigs
    are in order.

    Parameters
    ----------
    inputs
        All inputs.
    end_of
        Returns the position before which the reads of an interval start, given contig and end.
    filter_of
        Returns the filter of the reads of a stream, given the number of the input.
    samples_of
        Returns int32[k], the samples of reads, given the number of the input, the reads, and
        their rows, int64[k].

    Raises
    ------
    InputError
        An index is damaged, or is the index of another file.
    """
    indexed: set[str] = set()
    streams: list[tuple[StreamedInput, AnyReadFilter, SamplesOf]] = []
    for file, input_ in enumerate(inputs):
        if isinstance(input_, StreamedInput):
            streams.append((input_, filter_of(file), partial(samples_of, file)))
        else:
            indexed |= input_.contigs_with_reads()

    def is_in_streams(contig: str, end: int) -> bool:
        last = end_of(contig, end)
        return any(stream.has_reads(contig, last, keep, own) for stream, keep, own in streams)

    def have_reads(contigs: Iterable[str], ends: Iterable[int]) -> Iterator[bool]:
        if not streams:
            return map(indexed.__contains__, contigs)
        pairs = zip(contigs, ends, strict=True)
        return (contig in indexed or is_in_streams(contig, end) for contig, end in pairs)

    return have_reads


def check_names_for_vcf(contigs: Sequence[str], reference: Path) -> None:
    """Check that VCF allows the names of contigs: `bcftools` cannot read others.

    Raises
    ------
    InputError
        It does not allow one.
    """
    if not are_contig_names(contigs):
        name = next(name for name in contigs if not is_contig_name(name))
        raise InputError(
            f"{reference}: contig {quoted(name)} is a name that VCF does not allow; rename the"
            " contig, also in the reads"
        )


def check_contigs_of_intervals(inputs: Iterable[AlignedInput], contigs: Iterable[str]) -> None:
    """Check that every input has the contigs of the regions of the user.

    Raises
    ------
    InputError
        It lacks one.
    """
    names = dict.fromkeys(contigs)
    for input_ in inputs:
        for name in names:
            if input_.header.reference_id(name) is None:
                hint = contig_hint(name, input_.header.reference_names)
                raise InputError(
                    f"{input_.name}: no contig '{name}', which a region names{hint}; give reads"
                    " aligned to the same reference"
                )


def check_order_of_streams(inputs: Iterable[AlignedInput], contigs: Iterable[str]) -> None:
    """Check that every stream has the contigs in the order in which they are called.

    Raises
    ------
    InputError
        It has another order.
    """
    names = list(contigs)
    for input_ in inputs:
        if input_.is_indexed:
            continue
        found = map(input_.header.reference_id, names)
        numbers = [number for number in found if number is not None]
        if numbers != sorted(numbers):
            raise InputError(
                f"{input_.name}: a stream whose contigs have another order than those of the first"
                " input; give an indexed BAM file"
            )
