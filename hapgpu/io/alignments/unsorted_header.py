"""Header of SAM for reads mapped in their order, and the read group of all of them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from hapgpu.errors import UsageError
from hapgpu.io.bam.header import SamHeader, fields_of
from hapgpu.version import __version__

_FIELD: Final = re.compile(r"[A-Za-z][A-Za-z0-9]:[ -~]+")


@dataclass(frozen=True, slots=True)
class ReadGroup:
    """An @RG header line, without the newline, and its ID."""

    line: str
    identifier: str


def parse_read_group(text: str) -> ReadGroup:
    r"""Parse a line such as `@RG\tID:x\tSM:y`; as in bwa, `\t` stands for a tab too.

    Raises
    ------
    UsageError
        The text is not an @RG line, has no ID, or has a malformed or repeated field.
    """
    kind, *fields = text.replace(r"\t", "\t").split("\t")
    named = fields_of("\t".join([kind, *fields]))
    if kind != "@RG" or not named.get("ID"):
        example = r"@RG\tID:run1\tSM:sample"
        raise UsageError(
            f"read group '{text}': not an @RG line with an ID; write it as '{example}'"
        )
    for field in fields:
        if not _FIELD.fullmatch(field):
            raise UsageError(f"read group '{text}': field '{field}' is not TAG:VALUE; correct it")
    if len(named) < len(fields):
        raise UsageError(f"read group '{text}': a field occurs twice; remove one")
    return ReadGroup("\t".join([kind, *fields]), named["ID"])


def unsorted_header(
    names: Sequence[str],
    lengths: Sequence[int],
    group: ReadGroup | None,
    command_line: str | None,
) -> SamHeader:
    """Make the header of records in the order of the reads.

    Parameters
    ----------
    names, lengths
        Contigs.
    group
        Read group of all reads, if there is one.
    command_line
        Command line for an @PG line of hapgpu; None for no such line.

    Raises
    ------
    InputError
        SAM does not allow a name or length.
    """
    header = SamHeader.from_references(names, lengths, "SO:unsorted\tGO:query")
    if group is not None:
        header = header.with_line(group.line)
    if command_line is None:
        return header
    return header.with_program("hapgpu", __version__, command_line)
