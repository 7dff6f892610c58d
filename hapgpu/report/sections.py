"""Files to sections of the page, by the kind of each file."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from hapgpu.errors import InputError
from hapgpu.report.kinds import Kind, kind_of
from hapgpu.report.page import Section


@dataclass(frozen=True, slots=True)
class SectionOptions:
    """What sections need besides their file.

    Attributes
    ----------
    reads
        Alignments that belong to files of variants.
    reference
        The reference, FASTA, of variants and of CRAM.
    threads
        CPU threads.
    max_record
        Bytes of the longest record that is read.
    advance
        Called with the number of records that were read, for progress.
    """

    reads: Sequence[str]
    reference: Path | None
    threads: int
    max_record: int
    advance: Callable[[int], None]


SectionMaker = Callable[[Path, str, SectionOptions], Section]
"""Takes a file, the `id` of its section, and the options."""


def sections_of(paths: Sequence[Path], options: SectionOptions) -> Iterator[Section]:
    """Yield the section of each file.

    Raises
    ------
    InputError
        A file cannot be read, is damaged, or is of an unknown kind.
    """
    for number, path in enumerate(paths, 1):
        maker = _MAKERS.get(kind_of(path))
        if maker is None:
            raise InputError(f"{path}: this kind of file has no section")
        yield maker(path, f"file-{number}", options)


_MAKERS: Final[Mapping[Kind, SectionMaker]] = {}
