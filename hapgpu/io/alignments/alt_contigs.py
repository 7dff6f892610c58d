"""ALT contigs, as of GRCh38, to which an aligner treats reads as to any other without a list."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final, NamedTuple

from hapgpu.io.alignments.reader import contigs_with_records
from hapgpu.io.bam.header import SamHeader

logger = logging.getLogger(__name__)

_SUFFIX: Final = "_alt"
_COMPRESSED: Final = (".gz", ".bgz")
_FASTA: Final = (".fa", ".fasta", ".fna")


class AlignedFile(NamedTuple):
    """File of alignments.

    Attributes
    ----------
    name
        Name for messages.
    path
        The file; `-` is standard input.
    header
        Its header.
    """

    name: str
    path: str
    header: SamHeader


def warn_of_alt_contigs(files: Iterable[AlignedFile], reference: Path) -> None:
    """Warn of the first file with reads at ALT contigs, if bwa had no list of these contigs.

    bwa takes the list from a file beside the reference, whose name ends in `.alt`. Without it, the
    reads of a locus with ALT contigs are split among these and get mapping quality 0.

    Raises
    ------
    InputError
        A file cannot be read, or its index is damaged.
    """
    if any(path.is_file() for path in _lists_of(reference)):
        return
    for file in files:
        if count := alt_contigs_with_reads(file):
            logger.warning(
                "%s: %d ALT contigs found, but no %s.alt: without it, bwa gives reads mapping"
                " quality 0 there; add it, and align again",
                file.name,
                count,
                reference,
            )
            return


def _lists_of(reference: Path) -> Iterator[Path]:
    """Yield the names that the list of ALT contigs of a reference may have."""
    name = str(reference)
    yield from (Path(f"{name}.alt"), Path(f"{name}.64.alt"))
    for suffixes in (_COMPRESSED, _FASTA):
        if name.endswith(suffixes):
            name = name[: name.rindex(".")]
            yield from (Path(f"{name}.alt"), Path(f"{name}.64.alt"))


def alt_contigs_with_reads(file: AlignedFile) -> int:
    """Return the number of ALT contigs with reads, by the index; without index, of all of them.

    Raises
    ------
    InputError
        The file cannot be read, or its index is damaged.
    """
    names = file.header.reference_names
    if _SUFFIX not in file.header.text:
        return 0
    alts = [number for number, name in enumerate(names) if name.endswith(_SUFFIX)]
    if not alts or file.path == "-" or not Path(file.path).is_file():
        return len(alts)
    occupied = contigs_with_records(file.path, len(names), needs_index=False)
    return len(alts) if occupied is None else len(occupied.intersection(alts))
