"""Values of text columns: positions and contig names; excerpts for messages."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from functools import lru_cache
from itertools import count
from typing import Final

LAST_POSITION: Final = 2**31 - 1
"""The largest position, and the length of the longest contig."""

MAX_DIGITS: Final = len(str(LAST_POSITION))
"""Digits of the largest position; any number of fewer digits is a position."""

# Section 1.2.1 of the SAM specification; section 1.4.7 of the VCF 4.3 specification is the same.
_PATTERN = r"[0-9A-Za-z!#$%&+./:;?@^_|~-][0-9A-Za-z!#$%&*+./:;=?@^_|~-]*"
_CONTIG_NAME = re.compile(_PATTERN)
_CONTIG_NAMES = re.compile(f"(?:{_PATTERN}\n)*+")

_SHOWN_CHARACTERS: Final = 40
_MAX_KEPT: Final = 4
"""Lists of names whose numbers are kept."""


def parse_position(text: str) -> int | None:
    """Parse a position: a number from 0 to 2**31 - 1, or None for any other text.

    The text may be of any length: `int` raises an error for thousands of digits.
    """
    if not (text.isascii() and text.isdigit()):
        return None
    digits = text.lstrip("0") or "0"
    value = int(digits) if len(digits) <= MAX_DIGITS else LAST_POSITION + 1
    return value if value <= LAST_POSITION else None


def is_contig_name(name: str) -> bool:
    """Tell whether SAM and VCF allow a contig name."""
    return _CONTIG_NAME.fullmatch(name) is not None


def are_contig_names(names: Collection[str]) -> bool:
    """Tell whether SAM and VCF allow all of some contig names."""
    text = "\n".join([*names, ""])
    return text.count("\n") == len(names) and _CONTIG_NAMES.fullmatch(text) is not None


@lru_cache(_MAX_KEPT)
def rows_of(names: tuple[str, ...]) -> Mapping[str, int]:
    """Return the number of each name; the last of a name that occurs twice.

    A reference and its reads mostly have the same contigs: their numbers are found once.
    """
    return dict(zip(names, count()))


def excerpt(text: str) -> str:
    """Return at most 40 characters of a text, with unprintable ones escaped."""
    cut = text[:_SHOWN_CHARACTERS]
    return repr(cut if cut == text else f"{cut}...")[1:-1]
