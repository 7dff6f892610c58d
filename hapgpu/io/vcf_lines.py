"""Lines of VCF, of text as it is and of BCF as it would be."""

from __future__ import annotations

from collections.abc import Generator
from io import StringIO, TextIOWrapper
from itertools import islice
from pathlib import Path
from typing import BinaryIO, Final, cast

import pysam

from hapgpu.errors import InputError
from hapgpu.io.compressed import open_inflated
from hapgpu.io.htslib import silent_htslib

FIRST_LINE_CHARACTERS: Final = 1 << 16

_RECORDS_AT_ONCE: Final = 1000


def text_lines(path: str | Path, name: str) -> Generator[str]:
    """Yield the lines of a text, which may be compressed.

    Of the first, which of a file of another kind may be very long, no more than
    `FIRST_LINE_CHARACTERS` are yielded at once.

    Parameters
    ----------
    path
        A file, or `-` for standard input.
    name
        Of it, for messages.

    Raises
    ------
    InputError
        It cannot be opened, or is damaged or cut short.
    """
    with open_inflated(path, name) as stream:
        text = TextIOWrapper(cast("BinaryIO", stream), "utf-8", "surrogateescape", newline="\n")
        try:
            yield text.readline(FIRST_LINE_CHARACTERS)
            # Of `text` itself, `yield from` would close what it reads, standard input perhaps.
            yield from iter(text.readline, "")
        finally:
            text.detach()


def bcf_lines(path: str | Path, name: str) -> Generator[str]:
    """Yield the lines that a BCF would have as VCF.

    Parameters
    ----------
    path
        A file.
    name
        Of it, for messages.

    Raises
    ------
    InputError
        It is no regular file, or is damaged or cut short.
    """
    if not Path(path).is_file():
        raise InputError(
            f"{name} is BCF, which is read from files only: pipe it as VCF, through bcftools view"
        )
    try:
        with silent_htslib():
            file = pysam.VariantFile(str(path))
        with file:
            yield from StringIO(str(file.header), newline="\n")
            while lines := _next_records(file):
                yield from lines
    except (OSError, ValueError) as error:
        raise InputError(f"{name} is damaged or no BCF: copy it again") from error


def _next_records(file: pysam.VariantFile) -> list[str]:
    with silent_htslib():
        return [str(record) for record in islice(file, _RECORDS_AT_ONCE)]
