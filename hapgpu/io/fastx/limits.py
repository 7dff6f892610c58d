"""What a read may be, for commands that write SAM and for those that write PAF."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from hapgpu.io.fastx.faults import LONGEST_NAME

_NUCLEOTIDES: Final = b"ACGTNRYSWKMBDHV"
_MASK_BITS: Final = 64
_LOW_BITS: Final = (1 << _MASK_BITS) - 1
UNKNOWN: Final = 255


@dataclass(frozen=True, slots=True)
class ReadLimits:
    """Which records of FASTQ and FASTA are well-formed, beside what the formats say.

    Attributes
    ----------
    longest_name
        In characters.
    max_bases
        Of a read.
    for_sam
        A name loses a closing `/1` or `/2`, and must not begin with `@`.
    letters
        Bytes that are bases, in upper case; in lower case they are too.
    """

    longest_name: int
    max_bases: int
    for_sam: bool
    letters: bytes

    def bit_masks(self) -> tuple[int, int]:
        """Bit i of the first is set if byte i is a base, bit i of the second if byte 64 + i is."""
        mask = sum(1 << byte for byte in {*self.letters, *self.letters.lower()})
        return mask & _LOW_BITS, mask >> _MASK_BITS

    def base_table(self) -> NDArray[np.uint8]:
        """uint8[256]: `UNKNOWN` for each byte that is no base."""
        table = np.full(256, UNKNOWN, dtype=np.uint8)
        both = self.letters + self.letters.lower()
        table[np.frombuffer(both, dtype=np.uint8)] = 0
        return table


SHORT_READS: Final = ReadLimits(LONGEST_NAME, 1_000_000, for_sam=True, letters=_NUCLEOTIDES)
"""Reads that become records of SAM, which has no U."""

LONG_READS: Final = ReadLimits(65_535, 100_000_000, for_sam=False, letters=_NUCLEOTIDES + b"U-*.")
"""Reads that become lines of PAF: of RNA too, and gaps are as good as N."""
