"""The read group of all reads of a run."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from hapgpu.errors import UsageError
from hapgpu.io.bam.header import fields_of

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
        raise UsageError(rf"'{text}' is no read group: write it as in '@RG\tID:run1\tSM:sample'")
    for field in fields:
        if not _FIELD.fullmatch(field):
            raise UsageError(f"the read group has a field '{field}', which is not TAG:VALUE")
    if len(named) < len(fields):
        raise UsageError(f"the read group '{text}' has a field twice")
    return ReadGroup("\t".join([kind, *fields]), named["ID"])
