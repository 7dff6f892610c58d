"""Kind of a file, by its first bytes, plain or compressed.

Inputs are looked at before a run imports NumPy, so this module imports neither NumPy nor Numba.
"""

from __future__ import annotations

import re
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from hapgpu.io.bgzf.marks import EOF_BLOCK, is_bgzf

BAM_MAGIC: Final = b"BAM\1"
PAF_LINE: Final = re.compile(rb"[^\t\n]+\t\d+\t(\d+|\*)\t(\d+|\*)\t[-+*]\t[^\t\n]+\t\d+\t")
_SAM: Final = re.compile(
    rb"@(HD|SQ|RG|PG|CO)\t"
    rb"|[^\t\n]+\t\d{1,5}\t[^\t\n]+\t\d+\t\d+\t[^\t\n]+\t[^\t\n]+\t\d+\t-?\d+\t"
)
_OTHERS: Final = {
    "FASTA": re.compile(rb"\s*>"),
    "FASTQ": re.compile(rb"@"),  # SAM, which may start so too, comes before
    "likelihoods": re.compile(
        rb"read\tmate\t[^\n]|batch\tread\thaplotype\tlog10_likelihood\n|[0-9]+ [0-9]+\n[-0-9.]"
    ),
    "PAF": PAF_LINE,
    ".fai": re.compile(rb"[^\t\n]+(\t\d+){4}\r?(\n|\Z)"),
    "BED": re.compile(rb"((#|track|browser)[^\n]*\n)*[^\s>@#]+\t\d+\t\d+(\t[^\n]*)?\r?(\n|\Z)"),
    "text batches": re.compile(rb"\s*\d+[ \t]+\d+[ \t]*\r?\n"),
    "JSON": re.compile(rb"\s*[\[{]"),
    "npz": re.compile(rb"PK\x03\x04"),
    "hgx": re.compile(rb"\x89HGX\r\n"),
    "hgm": re.compile(rb"\x89HGM\r\n"),
    "BAI": re.compile(rb"BAI\x01"),
    "CSI": re.compile(rb"CSI\x01"),
    "TBI": re.compile(rb"TBI\x01"),
    "bzip2": re.compile(rb"BZh[1-9]"),
    "xz": re.compile(rb"\xfd7zXZ\0"),
    "Zstandard": re.compile(rb"\x28\xb5\x2f\xfd"),
}
"""Kinds in the order in which they are tried, after those of `guess_kind`."""
_GZIP: Final = b"\x1f\x8b"
_CRAM_3: Final = b"CRAM\3"
_CRAM_3_EOF: Final = bytes.fromhex(
    "0f000000ffffffff0fe0454f4600000000010005bdd94f0001000606010001000100ee63014b"
)
HEAD_BYTES: Final = 1 << 16
"""Bytes that are looked at: the first record of SAM may be a long read."""


@dataclass(frozen=True, slots=True)
class FileHead:
    """The first bytes of a file.

    Attributes
    ----------
    packed
        As in the file.
    text
        Inflated, if they are compressed.
    """

    packed: bytes
    text: bytes

    @property
    def is_plain_gzip(self) -> bool:
        """Whether the file is gzip without the blocks of BGZF."""
        return self.packed.startswith(_GZIP) and not is_bgzf(self.packed)

    @property
    def kind(self) -> str | None:
        """The kind of the file, as `kind_of_text`."""
        return kind_of_text(self.text)


def kind_of_text(head: bytes) -> str | None:
    """Return the kind of a file by its first bytes, inflated: any known kind; else None."""
    others = (name for name, pattern in _OTHERS.items() if pattern.match(head))
    return guess_kind(head) or next(others, None)


def guess_kind(head: bytes) -> str | None:
    """Return the kind of alignments or variants: BAM, CRAM, SAM, VCF or BCF; else None."""
    if head.startswith(BAM_MAGIC):
        return "BAM"
    if head.startswith(b"CRAM"):
        return "CRAM"
    if _SAM.match(head):
        return "SAM"
    if head.startswith(b"##fileformat=VCF"):
        return "VCF"
    return "BCF" if head.startswith(b"BCF") else None


def closing_bytes(head: bytes) -> bytes:
    """Return the last bytes of a complete file with this head; none if its format has no mark."""
    if is_bgzf(head):
        return EOF_BLOCK
    return _CRAM_3_EOF if head.startswith(_CRAM_3) else b""


def read_head(path: str | Path) -> FileHead:
    """Read the first bytes of a file, which must not be a pipe: they would be lost.

    Raises
    ------
    OSError
        It cannot be read.
    zlib.error
        It starts as gzip, but cannot be inflated.
    """
    with Path(path).open("rb") as file:
        packed = file.read(HEAD_BYTES)
    return FileHead(packed, inflated_head(packed))


def inflated_head(packed: bytes) -> bytes:
    """Return the first bytes of a file as they are inflated, if they are gzip or BGZF.

    Raises
    ------
    zlib.error
        They start as gzip, but nothing can be inflated.
    """
    if not packed.startswith(_GZIP):
        return packed
    text = b""
    while packed.startswith(_GZIP) and not text:  # members may be empty
        member = zlib.decompressobj(zlib.MAX_WBITS | 16)
        text = member.decompress(packed, HEAD_BYTES)
        if not (text or member.eof):
            message = "incomplete"
            raise zlib.error(message)
        packed = member.unused_data
    return text


def kind_of_file(path: str | Path) -> str | None:
    """Return the kind of a file, as `FileHead.kind`.

    None for any other kind, for a file that cannot be read, and for what is not a regular file.
    """
    try:
        return read_head(path).kind if Path(path).is_file() else None
    except (OSError, zlib.error):
        return None
