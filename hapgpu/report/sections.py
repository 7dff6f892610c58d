"""Files to sections of the page, by the kind of each file: its first bytes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from enum import Enum, auto
from pathlib import Path
from typing import Final, TypeAlias

from hapgpu.errors import InputError, UsageError
from hapgpu.io.files.compressed import open_inflated
from hapgpu.io.files.file_kind import HEAD_BYTES, kind_of_text
from hapgpu.io.files.reread import is_pipe
from hapgpu.report.alignments import alignment_section
from hapgpu.report.likelihoods import likelihood_section
from hapgpu.report.mappings import mapping_section
from hapgpu.report.page import Section, SectionOptions
from hapgpu.report.runs import run_section
from hapgpu.report.sites.section import site_section

EXPECTED: Final = "give VCF, BCF, PAF, BAM, SAM, CRAM, likelihoods or --json statistics of hapgpu"


class Kind(Enum):
    """Kinds of files that have a section."""

    VARIANTS = auto()
    MAPPINGS = auto()
    ALIGNMENTS = auto()
    LIKELIHOODS = auto()
    STATISTICS = auto()


_KINDS: Final = {
    "BAM": Kind.ALIGNMENTS,
    "CRAM": Kind.ALIGNMENTS,
    "SAM": Kind.ALIGNMENTS,
    "VCF": Kind.VARIANTS,
    "BCF": Kind.VARIANTS,
    "PAF": Kind.MAPPINGS,
    "likelihoods": Kind.LIKELIHOODS,
    "JSON": Kind.STATISTICS,
}


def kind_of(path: Path) -> Kind:
    """Recognise the kind of a file.

    An empty file has the kind of its extension: commands write no line if they find nothing.

    Raises
    ------
    InputError
        The file cannot be read, or is of another kind.
    """
    if is_pipe(str(path)):
        raise InputError(f"{path}: cannot be a pipe: files are read twice; give a file")
    with open_inflated(path, str(path)) as stream:
        head = stream.read(HEAD_BYTES)
    if kind := _KINDS.get(kind_of_text(head) or ""):
        return kind
    if not head and ".paf" in path.suffixes:
        return Kind.MAPPINGS
    raise InputError(f"{path}: {'unknown kind of file' if head else 'empty'}; {EXPECTED}")


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
