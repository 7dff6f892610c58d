"""Checks of headers: sequences of contigs, and samples."""

from __future__ import annotations

import logging
import re
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path
from typing import Final

from hapgpu.errors import InputError
from hapgpu.io.alignments.alt_contigs import AlignedFile
from hapgpu.io.bam.read_groups import SampleTable

logger = logging.getLogger(__name__)

_SUM: Final = re.compile(
    r"^@SQ\tSN:([^\t\r\n]+)\t(?:[^\r\n]*\t)?M5:([0-9a-fA-F]{32})", re.MULTILINE
)
_COMPRESSED: Final = (".gz", ".bgz")
_MAX_BYTES: Final = 1 << 26
"""Of a dictionary: a million contigs."""


def check_sequences(
    files: Collection[AlignedFile], contigs: Iterable[str], reference: Path
) -> None:
    """Check that contigs have one checksum (M5) in all headers, and in the dictionary.

    The dictionary is a file of GATK beside the reference, such as `ref.dict`. Contigs without a
    checksum are not checked, nor is the dictionary itself.

    Parameters
    ----------
    files
        The inputs.
    contigs
        The contigs that are called.
    reference
        FASTA.

    Raises
    ------
    InputError
        A contig has two checksums.
    """
    found = next(filter(Path.is_file, _dictionaries_of(reference)), None)
    if found is None and len(files) < 2:
        return
    known: dict[str, tuple[str, str]] = {}
    if found is not None:
        known = {name: (total, str(found)) for name, total in _sums(_text_of(found))}
    called = set(contigs)
    for file in files:
        for name, total in _sums(file.header.text):
            if name not in called:
                continue
            first, source = known.setdefault(name, (total, file.name))
            if first != total:
                raise InputError(
                    f"{file.name}: {name} has another sequence (M5) than in {source}; give reads"
                    " and reference that belong together"
                )


def _sums(text: str) -> Iterator[tuple[str, str]]:
    """Yield the names and checksums of the @SQ lines that have one."""
    if "\tM5:" in text:
        for name, total in _SUM.findall(text):
            yield name, total.lower()


def _dictionaries_of(reference: Path) -> Iterator[Path]:
    """Yield the names that the dictionary of a reference may have."""
    plain = reference.with_suffix("") if reference.suffix in _COMPRESSED else reference
    yield from (plain.with_suffix(".dict"), Path(f"{plain}.dict"), Path(f"{reference}.dict"))


def _text_of(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return file.read(_MAX_BYTES).decode("utf-8", "replace")
    except OSError:
        return ""


def warn_of_missing_samples(files: Iterable[AlignedFile], table: SampleTable) -> None:
    """Warn of files whose headers name no sample, given the samples by file."""
    for file, groups in zip(files, table.files, strict=True):
        if not len(groups.identifiers):
            name = table.names[groups.only_sample]
            logger.warning(
                "%s: no sample (SM of an @RG line) in its header; called as sample '%s'",
                file.name,
                name,
            )
