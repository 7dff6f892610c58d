"""What the lines of a read may hold, and how a fault in them is told."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from hapgpu.errors import InputError
from hapgpu.runtime.jit import njit

LONGEST_NAME: Final = 254

WELL_FORMED, NO_AT, NO_PLUS, UNEQUAL, NO_NAME, LONG_NAME, AT_NAME = range(7)
NO_GREATER, OTHER_NAME, LONG_READ, CUT_SHORT, BAD_NAME, BAD_BASE, BAD_QUALITY = range(7, 14)

_AT: Final = ord("@")

REASONS: Final = {
    NO_AT: "its first line does not start with '@'",
    NO_PLUS: "its third line does not start with '+'"
    " (sequences over several lines are not supported)",
    UNEQUAL: "its sequence and its qualities differ in length",
    NO_NAME: "it has no name",
    LONG_NAME: f"its name is longer than {LONGEST_NAME} characters",
    AT_NAME: "its name begins with '@', which SAM does not allow",
    NO_GREATER: "its first line does not start with '>'",
    OTHER_NAME: "its third line repeats another name than that of its first line",
    CUT_SHORT: "the file ends in the middle of it",
}


def _table(letters: bytes, values: bytes) -> NDArray[np.uint8]:
    """uint8[256]: the value of each letter, 255 for all other bytes."""
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
    """Return the error for a record, numbered from 1 in its file, whose text begins here."""
    return InputError(f"{record_label(file, number, text, marker)}: {reason}")


def record_label(file: str, number: int, text: NDArray[np.uint8], marker: bytes = b"@") -> str:
    """Say which record begins here; it is called by its name if it begins with the marker."""
    header = text[:100].tobytes().partition(b"\n")[0]
    name = header[1:].decode("ascii", "replace").split()[:1]
    called = f" {name[0]!r}" if name and header.startswith(marker) else ""
    return f"{file}: record {number}{called}"


def bad_character(byte: int, part: str) -> str:
    """Return the reason why a record with this byte in this part of it is refused."""
    return f"invalid character {chr(byte)!r} in its {part}"


@njit
def without_mate(text: NDArray[np.uint8], start: int, stop: int) -> int:
    """Length of the name between two places, without a closing /1 or /2."""
    has_mate = (
        stop - start > 2 and text[stop - 2] == 47 and (text[stop - 1] == 49 or text[stop - 1] == 50)
    )
    return stop - start - 2 if has_mate else stop - start


@njit
def is_same_text(text: NDArray[np.uint8], one: int, other: int, length: int) -> bool:
    """Tell whether two parts of a text are the same."""
    same = True
    for k in range(length):
        same &= bool(text[one + k] == text[other + k])
    return same


@njit
def name_fault(text: NDArray[np.uint8], start: int, length: int) -> int:
    """Tell whether a name may stand in SAM, where `@` would make its line one of the header."""
    if length == 0:
        return NO_NAME
    if length > LONGEST_NAME:
        return LONG_NAME
    return AT_NAME if text[start] == _AT else WELL_FORMED
