"""The arrays of an FM index.

There are two coordinates. A *position* counts the bases of all contigs, end to end, whatever their
letters. A *text position* counts the bases of the *text* of the FM index, which lacks all letters
other than A, C, G and T. Rows are the sorted suffixes of the text; row 0 is the empty suffix.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

BLOCK: Final = 64
"""Symbols per block of occurrences, and positions per block of bases."""

MAX_BASES: Final = 2**32 - 2**20
"""Positions and rows are 32 bits wide; the rest is for hits that extend past the end."""

SAMPLING: Final = 8
"""A sampled suffix array keeps one per SAMPLING text positions."""

_BASES: Final = ("planes", "others", "letter_positions", "letters")
_SAMPLES: Final = ("sample_marks", "sample_ranks", "sample_positions")


@dataclass(frozen=True, slots=True)
class Contigs:
    """The c sequences of a reference.

    Attributes
    ----------
    names
        As in the FASTA file, without descriptions.
    offsets
        int64[c + 1]: the position of the first base of each contig, and the number of all bases.
    """

    names: tuple[str, ...]
    offsets: NDArray[np.int64]

    @property
    def lengths(self) -> NDArray[np.int64]:
        """int64[c]: the length of each contig, in bases."""
        return np.diff(self.offsets)


@dataclass(frozen=True, slots=True)
class ReferenceBases:
    """All positions of a reference, two bits per base (A, C, G, T are 0 to 3).

    Position p is bit p % 64 of block p // 64 + 1: one block of padding precedes the first base,
    and two follow the block of the last base.

    Attributes
    ----------
    planes
        uint64[2 b]: the low bits of block i at 2 i, the high bits at 2 i + 1.
    others
        uint64[b]: set for letters other than A, C, G and T (whose planes are 0), and in the
        padding.
    letter_positions, letters
        int64[x] ascending and uint8[x]: the positions of letters other than A, C, G, T and N,
        and these letters, upper case.
    """

    planes: NDArray[np.uint64]
    others: NDArray[np.uint64]
    letter_positions: NDArray[np.int64]
    letters: NDArray[np.uint8]


@dataclass(frozen=True, slots=True)
class SuffixSamples:
    """A sampled suffix array; the other rows are found by walking back to a sampled row.

    Sampled are the rows of text positions divisible by `SAMPLING`, of the first text position
    after each gap (so that no walk passes a gap), and row 0.

    Attributes
    ----------
    marks
        uint64[(rows + 63) // 64]: bit r % 64 of word r // 64 is set if row r is sampled.
    ranks
        uint32, one per word of `marks`: the number of sampled rows before it.
    positions
        uint32: the positions of the suffixes in sampled rows.
    """

    marks: NDArray[np.uint64]
    ranks: NDArray[np.uint32]
    positions: NDArray[np.uint32]


@dataclass(frozen=True, slots=True, eq=False, weakref_slot=True)
class FMIndexArrays:
    """An FM index with its reference; compared by identity.

    Attributes
    ----------
    contigs, bases
        The reference.
    occurrences
        uint32[8 k], k = n // 64 + 1 blocks of 32 bytes for a text of n symbols. The
        Burrows-Wheeler transform lacks the row of `$`: its symbol i belongs to row i before
        `primary`, and to row i + 1 from there on. Block j holds four counts (for each base c,
        the first row of suffixes that start with c, plus the number of c among symbols 0 to
        64 j) and symbols 64 j to 64 j + 63 as two uint64, little-endian: their low bits and
        their high bits, 0 after the last symbol.
    primary
        The row of the whole text, whose symbol in the transform is `$`.
    jump
        uint32[4**jump_length + 1]: the number of rows whose suffix is less than each k-mer of
        `jump_length` bases, in lexicographic order (the first base is the most significant
        digit); shorter suffixes count as padded with A. The last entry is the number of rows.
    jump_length
        The k-mer length of `jump`.
    suffixes
        uint32[n + 1], the position of the suffix in each row (for row 0 the number of all
        positions); or samples of it.
    fasta_bytes, fasta_digest
        Size and digest of the FASTA file on disk.
    """

    contigs: Contigs
    bases: ReferenceBases
    occurrences: NDArray[np.uint32]
    primary: int
    jump: NDArray[np.uint32]
    jump_length: int
    suffixes: NDArray[np.uint32] | SuffixSamples
    fasta_bytes: int
    fasta_digest: bytes

    @classmethod
    def of(
        cls,
        arrays: Mapping[str, NDArray[Any]],
        *,
        names: tuple[str, ...],
        primary: int,
        jump_length: int,
        fasta_bytes: int,
        fasta_digest: bytes,
    ) -> FMIndexArrays:
        """Make an index from arrays, and the other attributes.

        Parameters
        ----------
        arrays
            uint8, uint32, uint64 or int64, by the names and with the dtypes of the method
            `arrays`.
        names
            Names of the contigs.
        primary, jump_length, fasta_bytes, fasta_digest
            The attributes.

        Raises
        ------
        KeyError
            An array is missing.
        """
        suffixes = arrays.get("suffixes")
        return cls(
            contigs=Contigs(names, arrays["contig_offsets"]),
            bases=ReferenceBases(*(arrays[name] for name in _BASES)),
            occurrences=arrays["occurrences"],
            primary=primary,
            jump=arrays["jump"],
            jump_length=jump_length,
            suffixes=SuffixSamples(*(arrays[name] for name in _SAMPLES))
            if suffixes is None
            else suffixes,
            fasta_bytes=fasta_bytes,
            fasta_digest=fasta_digest,
        )

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return all arrays, uint8, uint32, uint64 or int64, by their names in an index file."""
        bases, suffixes = self.bases, self.suffixes
        arrays: dict[str, NDArray[Any]] = {
            "contig_offsets": self.contigs.offsets,
            **{name: getattr(bases, name) for name in _BASES},
            "occurrences": self.occurrences,
            "jump": self.jump,
        }
        if not isinstance(suffixes, SuffixSamples):
            return {**arrays, "suffixes": suffixes}
        samples = (suffixes.marks, suffixes.ranks, suffixes.positions)
        return {**arrays, **dict(zip(_SAMPLES, samples, strict=True))}

    def changed(self, change: Callable[[NDArray[Any]], NDArray[Any]]) -> FMIndexArrays:
        """Return the index with `change` of each array, which must keep its dtype and shape."""
        return self.of(
            {name: change(array) for name, array in self.arrays().items()},
            names=self.contigs.names,
            primary=self.primary,
            jump_length=self.jump_length,
            fasta_bytes=self.fasta_bytes,
            fasta_digest=self.fasta_digest,
        )
