"""Text builders that expect one byte, so that each text is written again."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from hapgpu.io.text.builder import built_text


class TightBuilder:
    """In place of `TextBuilder`: it always expects one byte."""

    def __init__(self, row_bytes: int) -> None:
        assert row_bytes > 0

    def __call__(self, rows: int, write: Callable[[NDArray[np.uint8]], int]) -> NDArray[np.uint8]:
        assert rows >= 0
        return built_text(write, 1)
