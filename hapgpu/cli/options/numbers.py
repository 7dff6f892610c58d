"""Numbers that options take, most in the notation of minimap2: `5k`, `500,20000`, `1e-4`."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import Final

import typer

_UNITS: Final = {"": 1.0, "k": 1e3, "m": 1e6, "g": 1e9}
_NUMBER = re.compile(r"(?P<value>[0-9.]+(e[+-]?[0-9]+)?)(?P<unit>[kmg]?)", re.ASCII)
_MAX: Final = 2**31 - 1
_MAX_LARGE: Final = 2**53 - 1  # a float is exact up to it
_ROUNDING: Final = 0.499  # as in minimap2: a half is rounded down


@dataclass(frozen=True, slots=True)
class OneOrTwo:
    """A number, and an optional second number."""

    first: int
    second: int | None = None

    @property
    def values(self) -> int | tuple[int, int]:
        """The number, or both."""
        return self.first if self.second is None else (self.first, self.second)


def parse_count(text: str | int) -> int:
    """Parse a whole number of bases or occurrences: `5000`, `5k`, `1.5m`.

    Raises
    ------
    typer.BadParameter
        The text is not a number, or above 2**31 - 1.
    """
    return int(_number(str(text)) + _ROUNDING)


def parse_large_count(text: str | int) -> int:
    """Parse a whole number as `parse_count` does, up to 2**53 - 1."""
    return int(_number(str(text), _MAX_LARGE) + _ROUNDING)


def parse_one_or_two(text: str) -> OneOrTwo:
    """Parse `A` or `A,B`, each as `parse_count` does."""
    first, comma, second = text.partition(",")
    return OneOrTwo(parse_count(first), parse_count(second) if comma else None)


def parse_repetitive(text: str | float) -> float:
    """Parse `-f`: a fraction, or a number of occurrences.

    Raises
    ------
    typer.BadParameter
        The text is not a number, or has a second number, which is for short reads.
    """
    first, comma, _ = str(text).partition(",")
    if comma:
        raise typer.BadParameter(f"'{text}': a second number is for short reads only")
    value = _number(first)
    return float(int(value + _ROUNDING)) if value >= 1 else value


def parse_fraction(text: str | float) -> float:
    """Parse a number from 0 to 1.

    Raises
    ------
    typer.BadParameter
        The text is not a number, or above 1.
    """
    value = _number(str(text))
    if value > 1:
        raise typer.BadParameter(f"'{text}': must be from 0 to 1")
    return value


def _number(text: str, maximum: int = _MAX) -> float:
    found = _NUMBER.fullmatch(text.strip().lower())
    try:
        value = float(found["value"]) * _UNITS[found["unit"]] if found else None
    except ValueError:
        value = None
    if value is None:
        raise typer.BadParameter(f"'{text}': must be a number of at least 0")
    if value > maximum:
        raise typer.BadParameter(f"'{text}': must be at most {maximum:,}")
    return value


def parse_open_fraction(text: str | float) -> float:
    """Parse a number above 0 and below 1.

    Raises
    ------
    typer.BadParameter
        The text is not such a number.
    """
    value = _plain_number(text)
    if not 0 < value < 1:
        raise typer.BadParameter(f"'{text}': must be a number above 0 and below 1")
    return value


def parse_phred(text: str | float) -> float:
    """Parse a number of at least 0, without units.

    Raises
    ------
    typer.BadParameter
        The text is not such a number.
    """
    value = _plain_number(text)
    if not 0 <= value < math.inf:
        raise typer.BadParameter(f"'{text}': must be a number of at least 0")
    return value


def _plain_number(text: str | float) -> float:
    try:
        return float(text)
    except ValueError:
        return math.nan
