"""Lines of text files: blocks of whole lines, and decimals and names in compiled functions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from io import BufferedReader
from typing import Final

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.bytes import Integer
from hapgpu.arrays.memory import Memory, memory_of, read_u8
from hapgpu.arrays.ragged import Ragged
from hapgpu.io.files.record_limit import too_long
from hapgpu.runtime.jit import njit

_BLOCK_BYTES: Final = 1 << 22


class LineBlocks:
    """Lines of a file, block by block; what a block leaves over starts the next one.

    Parameters
    ----------
    stream
        The file.
    name
        Its name, for messages.
    max_record
        Bytes of the longest line.
    """

    def __init__(self, stream: BufferedReader, name: str, max_record: int) -> None:
        self._stream = stream
        self._name = name
        self._max_record = max_record
        self._kept = b""
        self.first_line = 1
        self.is_last = False

    def __iter__(self) -> Iterator[NDArray[np.uint8]]:
        """Yield uint8 text that ends after a newline, or with the file.

        `first_line` is the number of its first line; `is_last` whether nothing follows.
        """
        while not self.is_last:
            part = self._stream.read(_BLOCK_BYTES)
            if part and not part.endswith(b"\n"):
                end = self._stream.readline(self._max_record + 1)
                if len(end) > self._max_record:
                    raise too_long(f"{self._name}, after line {self.first_line}", self._max_record)
                part += end
            self.is_last = len(part) < _BLOCK_BYTES
            block = self._kept + part
            self._kept = b""
            yield np.frombuffer(block, dtype=np.uint8)
            self.first_line += block.count(b"\n") - self._kept.count(b"\n")

    def keep(self, rest: NDArray[np.uint8]) -> None:
        """Start the next block with `rest`, uint8, the last lines of this one."""
        self._kept = rest.tobytes()


_ZERO, _NINE, _POINT, _EXPONENT, _MINUS, _PLUS = b"09.e-+"
_IN_NO_NUMBER: Final = np.isin(np.arange(256), np.frombuffer(b"NAnaif", dtype=np.uint8))
_MAX_EXPONENT: Final = 400


@njit
def read_decimal(text: Memory, at: Integer, end: Integer) -> tuple[float, bool]:
    """Return a decimal, NaN for NA, nan and inf; and whether it is well-formed."""
    sign = 1.0
    if at < end and read_u8(text, at) == _MINUS:
        sign = -1.0
        at += 1
    if at < end and _IN_NO_NUMBER[read_u8(text, at)]:
        while at < end and _IN_NO_NUMBER[read_u8(text, at)]:
            at += 1
        return np.nan, bool(at == end)
    value, power, is_after, digits = 0.0, 0, False, 0
    while at < end and read_u8(text, at) != _EXPONENT:
        if _ZERO <= read_u8(text, at) <= _NINE:
            value = 10.0 * value + (read_u8(text, at) - _ZERO)
            power -= is_after
            digits += 1
        elif read_u8(text, at) == _POINT and not is_after:
            is_after = True
        else:
            return np.nan, False
        at += 1
    exponent, is_sound = _exponent(text, at, end)
    return sign * value * 10.0 ** (power + exponent), digits > 0 and is_sound


@njit
def _exponent(text: Memory, at: Integer, end: Integer) -> tuple[Integer, bool]:
    """Return an exponent with its letter, 0 for no text; and whether it is well-formed."""
    if at == end:
        return 0, True
    at += 1
    is_down = at < end and read_u8(text, at) == _MINUS
    if at < end and (is_down or read_u8(text, at) == _PLUS):
        at += 1
    exponent = 0
    for k in range(at, end):
        if not _ZERO <= read_u8(text, k) <= _NINE or exponent > _MAX_EXPONENT:
            return 0, False
        exponent = 10 * exponent + (read_u8(text, k) - _ZERO)
    return -exponent if is_down else exponent, bool(at < end)


@njit
def starts_with(text: Memory, at: Integer, end: Integer, start: NDArray[np.uint8]) -> bool:
    """Tell whether a field, from `at` to `end`, starts with `start`, uint8."""
    if end - at < start.size:
        return False
    same = np.int64(0)
    while same < start.size and read_u8(text, at + same) == start[same]:
        same += 1
    return bool(same == start.size)


_PRIME: Final = 0x100000001B3
_BASIS: Final = -3750763034362895579  # of FNV-1a, as a signed number


@njit
def name_digest(text: Memory, at: Integer, size: Integer) -> Integer:
    """Return the 64-bit digest (FNV-1a) of some bytes."""
    digest = np.int64(_BASIS)
    for k in range(size):
        digest = (digest ^ read_u8(text, at + k)) * np.int64(_PRIME)
    return digest


def digests_of(names: Sequence[str]) -> NDArray[np.int64]:
    """Return int64[n]: the digests of names."""
    text = Ragged.from_names(names)
    out = np.empty(len(names), dtype=np.int64)
    _digest_rows(text.data, text.offsets, out)
    return out


@njit
def _digest_rows(
    data: NDArray[np.uint8], offsets: NDArray[np.int64], out: NDArray[np.int64]
) -> None:
    text = memory_of(data)
    for row in range(out.size):
        out[row] = name_digest(text, offsets[row], offsets[row + 1] - offsets[row])
