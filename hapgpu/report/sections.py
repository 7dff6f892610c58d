"""Files to sections of the page, by the kind of each file."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final, TypeAlias

from hapgpu.errors import UsageError
from hapgpu.report.alignments.section import alignment_section
from hapgpu.report.kinds import Kind, kind_of
from hapgpu.report.likelihoods.section import likelihood_section
from hapgpu.report.mappings.section import mapping_section
from hapgpu.report.options import SectionOptions
from hapgpu.report.page import Section
from hapgpu.report.runs.section import run_section
from hapgpu.report.sites.section import site_section

SectionMaker: TypeAlias = Callable[[Path, str, SectionOptions], Section]
"""Takes a file, the `id` of its section, and the options."""


def kinds_of(paths: Sequence[Path], *, has_reads: bool, has_reference: bool) -> list[Kind]:
    """Recognise the kinds of all files, before any of them is read as a whole.

    Parameters
    ----------
    paths
        The files.
    has_reads
        Whether reads are given that belong to a file of variants.
    has_reference
        Whether a reference is given that belongs to variants or alignments.

    Raises
    ------
    InputError
        A file cannot be read, or is of an unknown kind.
    UsageError
        There are reads, but no file of variants, or a reference that no file needs.
    """
    kinds = [kind_of(path) for path in paths]
    if has_reads and Kind.VARIANTS not in kinds:
        raise UsageError("--reads: belongs to sites; give a VCF, too")
    if has_reference and not {Kind.VARIANTS, Kind.ALIGNMENTS} & {*kinds}:
        raise UsageError("--reference: belongs to sites and alignments; drop it")
    return kinds


def sections_of(
    paths: Sequence[Path], kinds: Sequence[Kind], options: SectionOptions
) -> Iterator[Section]:
    """Yield the section of each file.

    Raises
    ------
    InputError
        A file cannot be read or is damaged.
    """
    for number, (path, kind) in enumerate(zip(paths, kinds, strict=True), 1):
        yield _MAKERS[kind](path, f"file-{number}", options)


_MAKERS: Final[Mapping[Kind, SectionMaker]] = {
    Kind.ALIGNMENTS: alignment_section,
    Kind.MAPPINGS: mapping_section,
    Kind.LIKELIHOODS: likelihood_section,
    Kind.STATISTICS: run_section,
    Kind.VARIANTS: site_section,
}
