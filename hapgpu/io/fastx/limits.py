"""Limits of reads, for commands that write SAM or PAF."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from hapgpu.errors import InputError
from hapgpu.runtime.jit import njit

logger = logging.getLogger(__name__)

MAX_NAME: Final = 254
NO_READS: Final = "%s: empty, no reads"
"""The warning on an empty file of reads."""

WELL_FORMED, NO_AT, NO_PLUS, UNEQUAL, NO_NAME, LONG_NAME, AT_NAME = range(7)
NO_GREATER, OTHER_NAME, LONG_READ, TRUNCATED, BAD_NAME, BAD_BASE, BAD_QUALITY = range(7, 14)

_AT: Final = ord("@")
_FIRST_PRINTABLE: Final = 33
# Qualities of Solexa and of Illumina 1.3 to 1.7 are letters from ';' (-5) to 'i' (41), with 64 for
# quality 0. As Phred+33 they would be qualities of 26 to 72: no sequencer gives more than 50 ('S'),
# but for PacBio's consensus, which goes to 93, and none gives only good ones. Made-up qualities
# have few values.
_LOWEST_OLD: Final = ord(";")
_HIGHEST_OLD: Final = ord("i")
_HIGHEST_OF_SEQUENCERS: Final = ord("S")
_FEWEST_VALUES: Final = 5
_FEWEST_QUALITIES: Final = 1000

REASONS: Final = {
    NO_AT: "its first line does not start with '@'; correct it",
    NO_PLUS: "its third line does not start with '+'; write each sequence on one line",
    UNEQUAL: "its sequence and its qualities differ in length; correct or remove it",
    NO_NAME: "it has no name; add one",
    LONG_NAME: f"its name is longer than {MAX_NAME} characters; shorten it",
    AT_NAME: "its name starts with '@', which SAM does not allow; rename it",
    NO_GREATER: "its first line does not start with '>'; correct it",
    OTHER_NAME: "its third line has another name than its first line; correct it",
    TRUNCATED: "the file ends within it; copy the file again",
}

_NUCLEOTIDES: Final = b"ACGTNRYSWKMBDHV"
_MASK_BITS: Final = 64
_LOW_BITS: Final = (1 << _MASK_BITS) - 1
UNKNOWN: Final = 255


def _table(letters: bytes, values: bytes) -> NDArray[np.uint8]:
    """Return uint8[256]: the value of each letter, 255 for all other bytes."""
    table = np.full(256, 255, dtype=np.uint8)
    table[np.frombuffer(letters, dtype=np.uint8)] = np.frombuffer(values, dtype=np.uint8)
    return table


_PRINTABLE = bytes(range(33, 127))


NAME_BYTES: Final = _table(_PRINTABLE, _PRINTABLE)


BASE_BYTES: Final = _table(b"ACGTNRYSWKMBDHVacgtnryswkmbdhv", b"ACGTNRYSWKMBDHV" * 2)


PHRED: Final = _table(_PRINTABLE, bytes(range(94)))


def record_fault(
    file: str, number: int, text: NDArray[np.uint8], reason: str, marker: bytes = b"@"
) -> InputError:
    """Return the error for record `number`, from 1, whose text starts with `text`, uint8."""
    return InputError(f"{record_label(file, number, text, marker)}: {reason}")


def record_label(file: str, number: int, text: NDArray[np.uint8], marker: bytes = b"@") -> str:
    """Return file, number and, if `text`, uint8, starts with the marker, name of a record."""
    header = text[:100].tobytes().partition(b"\n")[0]
    name = header[1:].decode("ascii", "replace").split()[:1]
    suffix = f" {name[0]!r}" if name and header.startswith(marker) else ""
    return f"{file}, record {number}{suffix}"


def bad_character(byte: int, part: str) -> str:
    """Return the fault of a record with an invalid byte in one of its parts."""
    return f"invalid character {chr(byte)!r} in its {part}; correct or remove it"


def warn_of_old_qualities(name: str, text: bytes) -> None:
    """Warn if the qualities at the start of a file look like Phred+64.

    Parameters
    ----------
    name
        The file, for the message.
    text
        Its first bytes; nothing else than FASTQ is looked at.
    """
    found = _old_qualities(np.frombuffer(text, dtype=np.uint8)) if text.startswith(b"@") else None
    if found:
        logger.warning(
            "%s: qualities from '%s' to '%s' look like Phred+64, but are read as Phred+33; convert"
            " them: seqtk seq -Q64 -V",
            name,
            *map(chr, found),
        )


def _old_qualities(text: NDArray[np.uint8]) -> tuple[int, int] | None:
    """Return the lowest and the highest quality of FASTQ if they look like Phred+64."""
    newlines = np.flatnonzero(text == ord("\n"))
    starts_and_ends = np.zeros(text.size, dtype=np.int8)
    starts_and_ends[newlines[2::4]] = 1
    starts_and_ends[newlines[3::4]] = -1
    is_quality = np.cumsum(starts_and_ends, dtype=np.int8).view(np.bool_)
    counts = np.bincount(text[is_quality], minlength=256)
    counts[:_FIRST_PRINTABLE] = 0  # ends of lines
    values = np.flatnonzero(counts)
    if counts.sum() < _FEWEST_QUALITIES or values.size < _FEWEST_VALUES:
        return None
    lowest, highest = int(values[0]), int(values[-1])
    is_old = lowest >= _LOWEST_OLD and _HIGHEST_OF_SEQUENCERS < highest <= _HIGHEST_OLD
    return (lowest, highest) if is_old else None


@njit
def without_mate(text: NDArray[np.uint8], start: int, end: int) -> int:
    """Return the length of a name, uint8 text[start:end], without a trailing /1 or /2."""
    has_mate = (
        end - start > 2 and text[end - 2] == 47 and (text[end - 1] == 49 or text[end - 1] == 50)
    )
    return end - start - 2 if has_mate else end - start


@njit
def is_same_text(text: NDArray[np.uint8], one: int, other: int, length: int) -> bool:
    """Tell whether two parts of a `text`, uint8, are equal."""
    same = True
    for k in range(length):
        same &= bool(text[one + k] == text[other + k])
    return same


@njit
def name_fault(text: NDArray[np.uint8], start: int, length: int) -> int:
    """Return the fault of a name in `text`, uint8, for SAM, where `@` would start a header line."""
    if length == 0:
        return NO_NAME
    if length > MAX_NAME:
        return LONG_NAME
    return AT_NAME if text[start] == _AT else WELL_FORMED


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
