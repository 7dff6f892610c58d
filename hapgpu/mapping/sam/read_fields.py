"""SAM fields of a read: QNAME, SEQ and QUAL.

Each function writes from `out[at]` on, without a bounds check, and returns the offset after the
last character that it wrote.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.bytes import Integer, copy_bytes
from hapgpu.io.text.fields import STAR, TAB, put_text, text_of
from hapgpu.runtime.jit import njit_inlined

_NO_BASES: Final = text_of("*\t*")
_LETTERS: Final = b"ABCDGHKMNRSTUVWY"
_COMPLEMENT: Final = b"TVGHCDMKNYSAABWR"
COMPLEMENTS: Final = np.frombuffer(
    bytes(range(256)).upper().translate(bytes.maketrans(_LETTERS, _COMPLEMENT)), dtype=np.uint8
)
"""uint8[256]: the IUPAC complement of each letter of either case, in upper case."""
_LOWER_A = np.uint8(ord("a"))
_ALPHABET = np.uint8(26)
_CASE_BIT = np.uint8(5)


class ReadText(NamedTuple):
    """Offsets and lengths of one read in a text.

    Attributes
    ----------
    name, bases, qualities
        Offsets.
    length
        The number of bases, and of qualities if there are any.
    """

    name: Integer
    name_length: Integer
    bases: Integer
    qualities: Integer
    length: Integer
    has_qualities: bool


@njit_inlined
def put_name(
    text: NDArray[np.uint8], read: ReadText, out: NDArray[np.uint8], at: Integer
) -> Integer:
    """Write QNAME and a tab; an empty name is written as a star."""
    if read.name_length == 0:
        out[at] = STAR
        at += 1
    copy_bytes(text, read.name, out, at, read.name_length)
    at += read.name_length
    out[at] = TAB
    return at + 1


@njit_inlined
def _put_bases(
    text: NDArray[np.uint8], read: ReadText, strand: Integer, out: NDArray[np.uint8], at: Integer
) -> Integer:
    to, length = np.uint64(at), np.uint64(read.length)
    if strand:
        last = np.uint64(read.bases + read.length - 1)
        for k in range(length):
            out[to + k] = COMPLEMENTS[text[last - k]]
    else:
        first = np.uint64(read.bases)
        for k in range(length):
            letter = text[first + k]
            is_lower = np.uint8(letter - _LOWER_A) < _ALPHABET
            out[to + k] = letter ^ (np.uint8(is_lower) << _CASE_BIT)
    return at + read.length


@njit_inlined
def _put_qualities(
    text: NDArray[np.uint8], read: ReadText, strand: Integer, out: NDArray[np.uint8], at: Integer
) -> Integer:
    if not read.has_qualities:
        out[at] = STAR
        return at + 1
    if strand:
        to, last = np.uint64(at), np.uint64(read.qualities + read.length - 1)
        for k in range(np.uint64(read.length)):
            out[to + k] = text[last - k]
    else:
        copy_bytes(text, read.qualities, out, at, read.length)
    return at + read.length


@njit_inlined
def put_no_sequence(out: NDArray[np.uint8], at: Integer) -> Integer:
    """Write stars for SEQ and QUAL."""
    return put_text(out, at, _NO_BASES)


@njit_inlined
def put_sequence(
    text: NDArray[np.uint8], read: ReadText, strand: Integer, out: NDArray[np.uint8], at: Integer
) -> Integer:
    """Write SEQ, a tab and QUAL."""
    if read.length == 0:
        return put_no_sequence(out, at)
    at = _put_bases(text, read, strand, out, at)
    out[at] = TAB
    return _put_qualities(text, read, strand, out, at + 1)
