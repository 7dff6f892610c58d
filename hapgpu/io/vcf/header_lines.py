"""Lines that headers of VCF have in common, and the names that they allow."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from hapgpu.errors import OutputError
from hapgpu.io.text.contig_names import is_contig_name

_COLUMNS: Final = ("#CHROM", "POS", "ID", "REF", "ALT", "QUAL", "FILTER", "INFO", "FORMAT")
_SAMPLE_NAME: Final = re.compile(r"[^\t\n\r\0]+")


def check_samples(samples: Sequence[str]) -> None:
    """Check the names of samples.

    Raises
    ------
    OutputError
        VCF does not allow the name of a sample, or two samples have the same name.
    """
    remedy = "change SM in the @RG lines of the reads, or the file's name if it has none"
    for name, count in Counter(samples).items():
        if not _SAMPLE_NAME.fullmatch(name):
            raise OutputError(f"sample name {name!r}: VCF does not allow it; {remedy}")
        if count > 1:
            raise OutputError(f"sample name {name!r}: {count} samples have it; {remedy}")


def contig_lines(contigs: Mapping[str, int]) -> list[str]:
    """Return a line for each contig, by name and length; none for names that VCF does not allow."""
    return [
        f"##contig=<ID={name},length={length}>"
        for name, length in contigs.items()
        if is_contig_name(name)
    ]


def definition_line(kind: str, name: str, number: str, value_type: str, description: str) -> str:
    """Return the definition of a field; `kind` is INFO or FORMAT."""
    return f'##{kind}=<ID={name},Number={number},Type={value_type},Description="{description}">'


def run_lines(command: str, command_line: str, version: str) -> list[str]:
    """Return the lines of a run of a command of hapgpu; white space becomes single blanks."""
    return [
        f"##hapgpu_{command}Version={version}",
        f"##hapgpu_{command}Command={' '.join(command_line.split())}",
    ]


def column_line(samples: Sequence[str]) -> str:
    """Return the #CHROM line."""
    return "\t".join([*_COLUMNS, *samples])


def header_text(lines: Iterable[str]) -> bytes:
    """Return lines, each with a newline; bytes of names that are not UTF-8 are kept."""
    return "".join(f"{line}\n" for line in lines).encode("utf-8", "surrogateescape")
