"""What an FM index consists of, as arrays.

Two coordinates: a *position* counts the bases of all contigs, end to end, whatever letter stands
there; the *text* of the FM index is what remains of them without the letters other than ACGT.
Rows are those of the sorted suffixes of that text, row 0 being the empty one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

BLOCK: Final = 64
"""Symbols in a block of occurrences, and positions in a block of bases."""

MAX_BASES: Final = 2**32 - 2**20
"""Positions and rows are 32 bits wide, with some to spare for windows beyond the end."""

SAMPLING: Final = 8
"""Of so many text positions, one is kept in a sampled suffix array."""


@dataclass(frozen=True, slots=True)
class Contigs:
    """The c sequences of a reference.

    Attributes
    ----------
    names
        As in the FASTA file, without descriptions.
    offsets
        int64[c + 1]: the position of the first base of each, and the number of all bases.
    """

    names: tuple[str, ...]
    offsets: NDArray[np.int64]

    @property
    def lengths(self) -> NDArray[np.int64]:
        """int64[c], in bases."""
        return np.diff(self.offsets)


@dataclass(frozen=True, slots=True)
class ReferenceBases:
    """All positions of a reference, two bits a base (A, C, G, T are 0 to 3).

    Position p lies at bit p % 64 of block p // 64 + 1: there is a block of padding before the
    first base, and there are two after the block of the last.

    Attributes
    ----------
    planes
        uint64[2 b]: the low bits of block i at 2 i, the high bits at 2 i + 1.
    others
        uint64[b]: set where the reference has no A, C, G or T (their planes are 0), and in the
        padding.
    letter_positions, letters
        int64[x] ascending and uint8[x]: the positions with a letter other than A, C, G, T and N,
        and that letter, upper case.
    """

    planes: NDArray[np.uint64]
    others: NDArray[np.uint64]
    letter_positions: NDArray[np.int64]
    letters: NDArray[np.uint8]


@dataclass(frozen=True, slots=True)
class SuffixSamples:
    """A suffix array of which some rows are kept; the others are found by walking back.

    Kept are the rows of text positions divisible by `SAMPLING`, of the first one behind each gap
    in the text (so that no walk passes a gap), and row 0.

    Attributes
    ----------
    marks
        uint64[(rows + 63) // 64]: bit r % 64 of word r // 64 is set where row r is kept.
    ranks
        uint32, one per word of `marks`: how many rows before it are kept.
    positions
        uint32: the positions of the suffixes in kept rows.
    """

    marks: NDArray[np.uint64]
    ranks: NDArray[np.uint32]
    positions: NDArray[np.uint32]


@dataclass(frozen=True, slots=True, eq=False, weakref_slot=True)
class FMIndexArrays:
    """An FM index with the reference it was made of; compared by identity.

    Attributes
    ----------
    contigs, bases
        The reference.
    occurrences
        uint32[8 k], k = n // 64 + 1 blocks of 32 bytes for a text of n symbols. The row of `$`
        is left out of the Burrows-Wheeler transform: its symbol i belongs to row i before
        `primary`, to row i + 1 from there on. Block j holds four counts (for each base c, the
        first row of suffixes that begin with c, plus the number of c among symbols 0 to 64 j)
        and symbols 64 j to 64 j + 63 as two uint64, little-endian: their low bits and their
        high bits, 0 beyond the last symbol.
    primary
        The row of the whole text, whose symbol in the transform is `$`.
    jump
        uint32[4**jump_length + 1]: the number of rows whose suffix is less than each word of
        `jump_length` bases, in lexicographic order (the first base is the most significant
        digit), where suffixes shorter than that count as if filled up with A; the last entry is
        the number of rows.
    jump_length
        Of the words in `jump`.
    suffixes
        uint32[n + 1], the position of the suffix in each row (for row 0 the number of all
        positions); or samples of it.
    fasta_bytes, fasta_sha256
        Size and digest of the FASTA file, as it lies on disk.
    """

    contigs: Contigs
    bases: ReferenceBases
    occurrences: NDArray[np.uint32]
    primary: int
    jump: NDArray[np.uint32]
    jump_length: int
    suffixes: NDArray[np.uint32] | SuffixSamples
    fasta_bytes: int
    fasta_sha256: bytes
