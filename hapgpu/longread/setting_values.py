"""Checks of the settings that a caller of the Python API gives, value by value."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Final, TypeAlias

from hapgpu.errors import UsageError
from hapgpu.longread.options import LONGEST_KMER, WIDEST_WINDOW

_MAX_INT: Final = 2**31 - 1
_MAX_LARGE: Final = 2**53 - 1

_Check: TypeAlias = Callable[[str, object], None]


def _check_whole(name: str, value: object, minimum: int = 0, maximum: int = _MAX_INT) -> None:
    if not isinstance(value, int) or isinstance(value, bool) or not minimum <= value <= maximum:
        raise UsageError(
            f"{name}={value!r}: out of range; give a whole number from {minimum} to {maximum:,}"
        )


def _check_one_or_two(name: str, value: object) -> None:
    numbers = value if isinstance(value, tuple) else (value,)
    if len(numbers) not in {1, 2}:
        raise UsageError(f"{name}={value!r}: not one or two numbers; give one, or a tuple of two")
    for number in numbers:
        _check_whole(name, number)


def _check_number(name: str, value: object, maximum: int) -> None:
    if not isinstance(value, int | float) or isinstance(value, bool) or not 0 <= value <= maximum:
        raise UsageError(f"{name}={value!r}: out of range; give a number from 0 to {maximum:,}")


def _check_flag(name: str, value: object) -> None:
    if not isinstance(value, bool):
        raise UsageError(f"{name}={value!r}: neither True nor False; give one of them")


_check_fraction = partial(_check_number, maximum=1)
_CHECKS: Final[dict[str, _Check]] = {
    "kmer": partial(_check_whole, minimum=1, maximum=LONGEST_KMER),
    "window": partial(_check_whole, minimum=1, maximum=WIDEST_WINDOW),
    "repetitive": partial(_check_number, maximum=_MAX_INT),
    "cap_sw_mem": partial(_check_whole, maximum=_MAX_LARGE),
    "max_record": partial(_check_whole, maximum=_MAX_LARGE),
    **dict.fromkeys(("read_fraction", "mask_level", "score_ratio"), _check_fraction),
    **dict.fromkeys(
        ("cutoffs", "bandwidths", "gap_open", "gap_extend", "drops"), _check_one_or_two
    ),
    **dict.fromkeys(
        (
            *("hpc", "no_long_join", "secondary", "all_chains"),
            *("no_hash_name", "no_end_flt", "eqx"),
        ),
        _check_flag,
    ),
}
"""The checks of settings that are not whole numbers from 0 to `_MAX_INT`."""


def check_settings(settings: Mapping[str, object], known: frozenset[str]) -> None:
    """Refuse settings with unknown names, of a wrong type or out of range.

    Parameters
    ----------
    settings
        Values by name.
    known
        The names that exist.

    Raises
    ------
    UsageError
        The message names the first such setting.
    """
    for name, value in settings.items():
        if name not in known:
            raise UsageError(f"{name}: unknown setting; give one of {', '.join(sorted(known))}")
        _CHECKS.get(name, _check_whole)(name, value)
