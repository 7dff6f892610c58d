"""Joining of FASTA lines to two lines per record."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.bytes import copy_bytes
from hapgpu.arrays.ragged_view import read_only
from hapgpu.runtime.jit import njit

_NEWLINE, _RETURN, _GREATER = b"\n\r>"
_USED, _LINE, _RETURN_PENDING, _LAST_RECORD, _RECORDS = range(5)
_LINE_START, _SEQUENCE, _HEADER = range(3)


class LineJoiner:
    """Writer of records to a buffer: the header on one line, the sequence on the next.

    Lines of a sequence lose their carriage returns. A record without sequence gets an empty line.

    Parameters
    ----------
    buffer
        uint8.
    """

    def __init__(self, buffer: NDArray[np.uint8]) -> None:
        self.buffer = buffer
        self._state = np.zeros(5, dtype=np.int64)

    def move(self, buffer: NDArray[np.uint8], start: int) -> None:
        """Continue in a buffer that starts with a copy from `start` on: all text, or a record."""
        self.buffer = buffer
        if start:
            self._state[_USED] -= start
            self._state[_LAST_RECORD] = 0
            self._state[_RECORDS] = 1

    @property
    def used(self) -> int:
        """Number of bytes written."""
        return int(self._state[_USED])

    @property
    def records(self) -> int:
        """Number of records started."""
        return int(self._state[_RECORDS])

    @property
    def last_record(self) -> int:
        """Offset of the last record."""
        return int(self._state[_LAST_RECORD])

    def append(self, text: NDArray[np.uint8]) -> int:
        """Write as much of a text as fits; return the number of its bytes written."""
        # `>` and a newline of a record may become three bytes; one may be pending, and `close`
        # needs two.
        room = max((self.buffer.size - self.used - 3) * 2 // 3, 0)
        _join(read_only(text[:room]), self.buffer, self._state)
        return min(room, text.size)

    def close(self) -> None:
        """End the last record."""
        for _ in range(2 if self._state[_LINE] == _HEADER else 1):
            self.buffer[self.used] = _NEWLINE
            self._state[_USED] += 1


@njit
def _join(text: NDArray[np.uint8], out: NDArray[np.uint8], state: NDArray[np.int64]) -> None:
    used, line, records = state[_USED], state[_LINE], state[_RECORDS]
    is_return_pending = state[_RETURN_PENDING]
    at = 0
    while at < text.size:
        byte = text[at]
        if byte == _NEWLINE:
            if line == _HEADER:
                out[used] = byte
                used += 1
            line = _LINE_START
            is_return_pending = 0
            at += 1
            continue
        if line == _LINE_START:
            line = _SEQUENCE
            if byte == _GREATER:
                line = _HEADER
                if records:
                    out[used] = _NEWLINE
                    used += 1
                state[_LAST_RECORD] = used
                records += 1
        elif is_return_pending:
            out[used] = _RETURN
            used += 1
        is_return_pending = line == _SEQUENCE and byte == _RETURN
        end = at + 1
        if not is_return_pending:
            while end < text.size and text[end] != _NEWLINE and text[end] != _RETURN:
                end += 1
            copy_bytes(text, at, out, used, end - at)
            used += end - at
        at = end
    state[_USED], state[_LINE], state[_RECORDS] = used, line, records
    state[_RETURN_PENDING] = is_return_pending
