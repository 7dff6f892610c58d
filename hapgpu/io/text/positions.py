"""Positions as text: whole numbers in the range of BAM and VCF."""

from __future__ import annotations

from typing import Final

LAST_POSITION: Final = 2**31 - 1
"""The largest position, and the length of the longest contig."""

MAX_DIGITS: Final = len(str(LAST_POSITION))
"""Digits of the largest position; any number of fewer digits is a position."""


def parse_position(text: str) -> int | None:
    """Parse a position: a number from 0 to 2**31 - 1, or None for any other text.

    The text may be of any length: `int` raises an error for thousands of digits.
    """
    if not (text.isascii() and text.isdigit()):
        return None
    digits = text.lstrip("0") or "0"
    value = int(digits) if len(digits) <= MAX_DIGITS else LAST_POSITION + 1
    return value if value <= LAST_POSITION else None
