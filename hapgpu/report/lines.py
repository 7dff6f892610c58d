"""Blocks of whole lines of a text file, plain or compressed."""

from __future__ import annotations

from collections.abc import Iterator
from io import BufferedReader
from typing import Final

import numpy as np
from numpy.typing import NDArray

from hapgpu.io.files.record_limit import too_long

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
        """Start the next block with the last lines of this one."""
        self._kept = rest.tobytes()
