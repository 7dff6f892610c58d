"""Contigs that can be called: those of the reference that the reads are aligned to."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from pathlib import Path

from hapgpu.errors import InputError
from hapgpu.genotyping.reads.inputs import AlignedInput
from hapgpu.io.genome.regions import Region, contig_hint

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
