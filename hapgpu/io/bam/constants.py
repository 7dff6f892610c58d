"""The layout of BAM: its header, and the constants that reader and writer share."""

from __future__ import annotations

import struct
from typing import Final

from hapgpu.io.bam.header import SamHeader

MAGIC: Final = b"BAM\1"
FIXED_BYTES: Final = 36
"""Bytes of a record before its name, with the four of `block_size`."""
MAX_NAME_BYTES: Final = 254
MAX_CIGAR_OPERATIONS: Final = 65535
"""A longer CIGAR goes to the tag CG and leaves `<bases>S<reference bases>N` in its place."""
UNMAPPED: Final = 4
"""The flag of a read without a place."""
LONG_CIGAR_TAG: Final = int.from_bytes(b"CGBI", "little")
MISSING_QUALITY: Final = 255
NUCLEOTIDES: Final = b"=ACMGRSVTWYHKDBN"

_COUNT = struct.Struct("<i")
_LENGTH = struct.Struct("<I")

QUERY_OPERATIONS: Final = 0b1_1001_0011
"""Bit k is set if the CIGAR operation k (of MIDNSHP=X) takes bases of the read."""
REFERENCE_OPERATIONS: Final = 0b1_1000_1101
"""Bit k is set if the CIGAR operation k (of MIDNSHP=X) takes bases of the reference."""
LAST_OPERATION: Final = 8
SOFT_CLIP: Final = 4
SKIP: Final = 3


def encode_header(header: SamHeader) -> bytes:
    """Write a header as it stands at the beginning of a BAM file."""
    text = header.text.encode("utf-8", "surrogateescape")
    references = zip(header.reference_names, header.reference_lengths, strict=True)
    parts = [MAGIC, _COUNT.pack(len(text)), text, _COUNT.pack(len(header.reference_names))]
    for name, length in references:
        closed = name.encode("utf-8", "surrogateescape") + b"\0"
        parts += [_COUNT.pack(len(closed)), closed, _LENGTH.pack(length)]
    return b"".join(parts)
