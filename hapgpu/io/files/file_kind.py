"""Kind of a file, guessed from its first bytes, for messages on unexpected kinds."""

from __future__ import annotations

import re
from typing import Final

BAM_MAGIC: Final = b"BAM\1"
_SAM: Final = re.compile(
    rb"@(HD|SQ|RG|PG|CO)\t"
    rb"|[^\t\n]+\t\d{1,5}\t[^\t\n]+\t\d+\t\d+\t[^\t\n]+\t[^\t\n]+\t\d+\t-?\d+\t"
)


def guess_kind(head: bytes) -> str | None:
    """Return the kind of a file by its first bytes: BAM, CRAM, SAM, VCF or BCF; else None."""
    if head.startswith(BAM_MAGIC):
        return "BAM"
    if head.startswith(b"CRAM"):
        return "CRAM"
    if _SAM.match(head):
        return "SAM"
    if head.startswith(b"##fileformat=VCF"):
        return "VCF"
    return "BCF" if head.startswith(b"BCF") else None
