"""Newlines of a text."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hapgpu.runtime.jit import njit

_NEWLINE = ord("\n")


@njit
def count_newlines(text: NDArray[np.uint8]) -> int:
    """Count the newlines of a text."""
    count = 0
    for k in range(text.size):
        count += text[k] == _NEWLINE
    return count


@njit
def end_without_lines(text: NDArray[np.uint8], lines: int) -> int:
    """Return the end of a text without its last `lines` lines and the unended line after them."""
    at = text.size
    while at > 0:
        if text[at - 1] == _NEWLINE:
            if lines == 0:
                return at
            lines -= 1
        at -= 1
    return 0
