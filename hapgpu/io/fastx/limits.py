"""Limits of reads, for commands that write SAM or PAF."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from hapgpu.io.fastx.faults import MAX_NAME

_NUCLEOTIDES: Final = b"ACGTNRYSWKMBDHV"
_MASK_BITS: Final = 64
_LOW_BITS: Final = (1 << _MASK_BITS) - 1
UNKNOWN: Final = 255


@dataclass(frozen=True, slots=True)
class ReadLimits:
    """Limits of well-formed records of FASTQ and FASTA, beside the rules of the formats.

    Attributes
    ----------
    max_name
        Maximum of characters in a name.
    max_bases
        Maximum of bases in a read.
    for_sam
        Whether a name loses a trailing `/1` or `/2`, and must not start with `@`.
    letters
        Bytes that are bases, in upper case; lower case is allowed too.
    """

    max_name: int
    max_bases: int
    for_sam: bool
    letters: bytes

    def bit_masks(self) -> tuple[int, int]:
        """Return two masks: bit i is set if byte i, or byte 64 + i, is a base."""
        mask = sum(1 << byte for byte in {*self.letters, *self.letters.lower()})
        return mask & _LOW_BITS, mask >> _MASK_BITS

    def base_table(self) -> NDArray[np.uint8]:
        """Return uint8[256]: 0 for bases, `UNKNOWN` for other bytes."""
        table = np.full(256, UNKNOWN, dtype=np.uint8)
        both = self.letters + self.letters.lower()
        table[np.frombuffer(both, dtype=np.uint8)] = 0
        return table


SHORT_READS: Final = ReadLimits(MAX_NAME, 1_000_000, for_sam=True, letters=_NUCLEOTIDES)
"""Limits of reads that are written as SAM, which has no U."""

LONG_READS: Final = ReadLimits(65_535, 100_000_000, for_sam=False, letters=_NUCLEOTIDES + b"U-*.")
"""Limits of reads that are written as PAF: RNA is allowed, and gaps count as N."""
