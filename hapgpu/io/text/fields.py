"""Characters of lines of text, for compiled functions."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

TAB: Final = ord("\t")
STAR: Final = ord("*")
NEWLINE: Final = ord("\n")


def text_of(characters: str) -> NDArray[np.uint8]:
    """Return ASCII characters as uint8."""
    return np.frombuffer(characters.encode("ascii"), dtype=np.uint8)
