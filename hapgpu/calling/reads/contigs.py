"""Contigs that can be called: those of the reference that the reads are aligned to."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.batches import ReadBatch
from hapgpu.calling.reads.filters import CallFilter
from hapgpu.errors import InputError
from hapgpu.genotyping.reads.inputs import AlignedInput, IndexedInput, StreamedInput
from hapgpu.genotyping.reads.read_buffer import SamplesOf
from hapgpu.io.genome.regions import Region, contig_hint
from hapgpu.io.text.contig_names import are_contig_names, is_contig_name
from hapgpu.io.vcf.alleles import quoted

logger = logging.getLogger(__name__)


def ordered_contigs(inputs: Iterable[AlignedInput], lengths: Mapping[str, int]) -> dict[str, int]:
    """Return the lengths of all contigs, in the order of the inputs, others last.

    Records follow this order: streams are read once, in theirs.
    """
    names = dict.fromkeys(name for input_ in inputs for name in input_.header.reference_names)
    known = [name for name in names if name in lengths]
    return {name: lengths[name] for name in [*known, *lengths]}


def contigs_of_reads(
    inputs: Iterable[AlignedInput], lengths: Mapping[str, int], reference: Path
) -> dict[str, int]:
    """Return the contigs that some input has, from all contigs and their lengths.

    Raises
    ------
    InputError
        An input has no contig of the reference.
    """
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
    return {name: length for name, length in lengths.items() if name in found}


def finder_of_reads(
    inputs: Iterable[IndexedInput | StreamedInput],
    end_of: Callable[[Region], int],
    read_filter: CallFilter,
    samples_of: Callable[[int, ReadBatch, NDArray[np.int64]], NDArray[np.int32]],
) -> Callable[[Sequence[Region]], bool]:
    """Return a function that tells whether there may be reads of the contig of some intervals.

    It looks contigs with indexed reads up, and reads streams on; contigs are asked for in order.

    Parameters
    ----------
    inputs
        All inputs.
    end_of
        Returns the position before which the reads of an interval start.
    read_filter
        Filter of the reads of streams.
    samples_of
        Returns the samples of reads, given the number of the input.

    Raises
    ------
    InputError
        An index is damaged, or is the index of another file.
    """
    indexed: set[str] = set()
    streams: list[tuple[StreamedInput, SamplesOf]] = []
    for file, input_ in enumerate(inputs):
        if isinstance(input_, StreamedInput):
            streams.append((input_, partial(samples_of, file)))
        else:
            indexed |= input_.contigs_with_reads()

    def has_reads(intervals: Sequence[Region]) -> bool:
        contig, end = intervals[0].contig, end_of(intervals[-1])
        return contig in indexed or any(
            stream.has_reads(contig, end, read_filter, own) for stream, own in streams
        )

    return has_reads


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


def check_contigs_of_intervals(inputs: Iterable[AlignedInput], intervals: Iterable[Region]) -> None:
    """Check that every input has the contigs of some regions of the user.

    Raises
    ------
    InputError
        It lacks one.
    """
    names = dict.fromkeys(interval.contig for interval in intervals)
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
        found = map(input_.header.reference_id, names)
        numbers = [number for number in found if number is not None]
        if not input_.is_indexed and numbers != sorted(numbers):
            raise InputError(
                f"{input_.name}: a stream whose contigs have another order than those of the first"
                " input; give an indexed BAM file"
            )
