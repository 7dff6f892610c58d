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
