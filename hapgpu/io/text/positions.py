"""Positions as text: whole numbers no larger than any of BAM and VCF."""

from __future__ import annotations

from typing import Final

LAST_POSITION: Final = 2**31 - 1
"""The largest position, and the length of the longest contig."""

MAX_DIGITS: Final = len(str(LAST_POSITION))
"""Of the largest position; a number of fewer is one."""


def parse_position(text: str) -> int | None:
    """Return the number from 0 to 2**31 - 1 that a text of decimal digits is; None for others.

    However long the text is: Python refuses to read numbers of thousands of digits.
    """
    if not (text.isascii() and text.isdigit()):
        return None
    digits = text.lstrip("0") or "0"
    value = int(digits) if len(digits) <= MAX_DIGITS else LAST_POSITION + 1
    return value if value <= LAST_POSITION else None
