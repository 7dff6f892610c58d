"""Constants of BAM records, for reader and writer."""

from __future__ import annotations

from typing import Final

FIXED_BYTES: Final = 36
"""Bytes of a record before its name, the four of `block_size` included."""
MAX_NAME_BYTES: Final = 254
MAX_CIGAR_OPERATIONS: Final = 65535
"""A longer CIGAR is stored in the tag CG; the CIGAR field is `<bases>S<reference bases>N`."""
MAX_OPERATION_BASES: Final = 2**28 - 1
"""Maximum length of a CIGAR operation, also of the two that stand for a longer CIGAR."""
UNMAPPED: Final = 4
"""The flag of an unmapped read."""
LONG_CIGAR_TAG: Final = int.from_bytes(b"CGBI", "little")
MISSING_QUALITY: Final = 255
NUCLEOTIDES: Final = b"=ACMGRSVTWYHKDBN"


QUERY_OPERATIONS: Final = 0b1_1001_0011
"""Bit k is set if the CIGAR operation k (of MIDNSHP=X) consumes bases of the read."""
REFERENCE_OPERATIONS: Final = 0b1_1000_1101
"""Bit k is set if the CIGAR operation k (of MIDNSHP=X) consumes bases of the reference."""
LAST_OPERATION: Final = 8
SOFT_CLIP: Final = 4
SKIP: Final = 3
