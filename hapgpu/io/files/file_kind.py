"""Kind of a file, guessed from its first bytes, for messages on unexpected kinds."""

from __future__ import annotations

import re
import zlib
from pathlib import Path
from typing import Final

BAM_MAGIC: Final = b"BAM\1"
PAF_LINE: Final = re.compile(rb"[^\t\n]+\t\d+\t(\d+|\*)\t(\d+|\*)\t[-+*]\t[^\t\n]+\t\d+\t")
_SAM: Final = re.compile(
    rb"@(HD|SQ|RG|PG|CO)\t"
    rb"|[^\t\n]+\t\d{1,5}\t[^\t\n]+\t\d+\t\d+\t[^\t\n]+\t[^\t\n]+\t\d+\t-?\d+\t"
)
_OTHERS: Final = {
    "FASTA": re.compile(rb">"),
    "FASTQ": re.compile(rb"@[^\n]*(\n[A-Za-z.*=-]*\r?(\n(\+|\Z)|\Z)|\Z)"),
    "PAF": PAF_LINE,
    # Five numbers after a name are a line of .fai.
    "BED": re.compile(
        rb"((#|track|browser)[^\n]*\n)*"
        rb"(?![^\s]+(\t\d+){4}\r?\n)[^\s>@#]+\t\d+\t\d+(\t[^\n]*)?\r?(\n|\Z)"
    ),
    "text batches": re.compile(rb"\d+ \d+\r?\n"),
    "npz": re.compile(rb"PK\x03\x04"),
    "hgx": re.compile(rb"\x89HGX\r\n"),
    "hgm": re.compile(rb"\x89HGM\r\n"),
}
_GZIP: Final = b"\x1f\x8b"
_HEAD_BYTES: Final = 1 << 12


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


def kind_of_file(path: str | Path) -> str | None:
    """Return the kind of a file, plain or compressed: one of `guess_kind`, or of `_OTHERS`.

    None for any other kind, for a file that cannot be read, and for what is not a regular file.
    """
    try:
        if not Path(path).is_file():
            return None
        with Path(path).open("rb") as stream:
            head = stream.read(_HEAD_BYTES)
        if head.startswith(_GZIP):
            head = zlib.decompressobj(zlib.MAX_WBITS | 16).decompress(head, _HEAD_BYTES)
    except (OSError, zlib.error):
        return None
    others = (name for name, pattern in _OTHERS.items() if pattern.match(head))
    return guess_kind(head) or next(others, None)
