"""What kind of file a text looks like that is not what was asked for."""

from __future__ import annotations

import re
from typing import Final

BAM_MAGIC: Final = b"BAM\1"
_SAM: Final = re.compile(
    rb"@(HD|SQ|RG|PG|CO)\t"
    rb"|[^\t\n]+\t\d{1,5}\t[^\t\n]+\t\d+\t\d+\t[^\t\n]+\t[^\t\n]+\t\d+\t-?\d+\t"
)


def looks_like(head: bytes) -> str | None:
    """Name the kind of file that begins so: BAM, CRAM, SAM, VCF, BCF; None for any other."""
    if head.startswith(BAM_MAGIC):
        return "BAM"
    if head.startswith(b"CRAM"):
        return "CRAM"
    if _SAM.match(head):
        return "SAM"
    if head.startswith(b"##fileformat=VCF"):
        return "VCF"
    return "BCF" if head.startswith(b"BCF") else None
