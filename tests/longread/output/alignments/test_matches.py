"""Runs of equal codes and letters, where codes end at the end of a page of memory."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from hapgpu.longread.output.cigars import UPPER_CASE, WORD, match_length, put_letters

PAGE = 4096


def codes_around_page_ends() -> tuple[NDArray[np.uint8], list[int]]:
    """Return codes, all A, and where in them two pages end, one after the other."""
    codes = np.zeros(3 * PAGE, dtype=np.uint8)
    first = -codes.ctypes.data % PAGE
    return codes, [first + PAGE, first + 2 * PAGE]


@pytest.mark.parametrize(
    ("before", "text"),
    [(WORD, b"AACAAAAA"), (WORD - 1, b"AAC.....")],
    ids=["within", "beyond"],
)
def test_letters_of_the_next_page_are_not_read(before: int, text: bytes) -> None:
    """A word that is within the page is written as a whole."""
    codes, ends = codes_around_page_ends()
    for end in ends:
        codes[end - before + 2] = 1
        found = np.full(WORD, ord("."), dtype=np.uint8)
        stop = put_letters(found.ctypes.data, codes.ctypes.data + end - before, 3, UPPER_CASE)
        assert stop == found.ctypes.data + 3
        assert found.tobytes() == text


@pytest.mark.parametrize("before", range(1, 2 * WORD + 2))
def test_equal_codes_across_pages(before: int) -> None:
    codes, ends = codes_around_page_ends()
    for end in ends:
        at = codes.ctypes.data + end - before
        assert match_length(at, codes.ctypes.data, 40) == 40
        codes[end + 1] = 1
        assert match_length(at, codes.ctypes.data, 40) == before + 1
