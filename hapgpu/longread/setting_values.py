"""Settings that a caller of the Python API gives, checked value by value."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Final, TypeAlias

import numpy as np

from hapgpu.arrays.arguments import number_up_to, whole_number
from hapgpu.errors import UsageError
from hapgpu.longread.options import LONGEST_KMER, WIDEST_WINDOW

_MAX_INT: Final = 2**31 - 1
_MAX_LARGE: Final = 2**53 - 1

_Converter: TypeAlias = Callable[[str, Any], object]

_whole = partial(whole_number, minimum=0, maximum=_MAX_INT)


def _one_or_two(name: str, value: Any) -> int | tuple[int, ...]:
    if not isinstance(value, tuple | list):
        return _whole(name, value)
    if len(value) != 2:
        raise UsageError(f"{name}={value!r}: not one or two numbers; give one, or a tuple of two")
    return tuple(_whole(name, number) for number in value)


def _flag(name: str, value: Any) -> bool:
    if not isinstance(value, bool | np.bool_):
        raise UsageError(f"{name}={value!r}: neither True nor False; give one of them")
    return bool(value)


_fraction = partial(number_up_to, maximum=1)
_CONVERTERS: Final[dict[str, _Converter]] = {
    "kmer": partial(whole_number, minimum=1, maximum=LONGEST_KMER),
    "window": partial(whole_number, minimum=1, maximum=WIDEST_WINDOW),
    "repetitive": partial(number_up_to, maximum=_MAX_INT),
    "cap_sw_mem": partial(whole_number, minimum=0, maximum=_MAX_LARGE),
    "max_record": partial(whole_number, minimum=0, maximum=_MAX_LARGE),
    **dict.fromkeys(("read_fraction", "mask_level", "score_ratio"), _fraction),
    **dict.fromkeys(("cutoffs", "bandwidths", "gap_open", "gap_extend", "drops"), _one_or_two),
    **dict.fromkeys(
        (
            *("hpc", "no_long_join", "secondary", "all_chains"),
            *("no_hash_name", "no_end_flt", "eqx"),
        ),
        _flag,
    ),
}
"""The functions that check and convert settings that are not whole numbers from 0 to `_MAX_INT`."""


def checked_settings(settings: Mapping[str, object], known: frozenset[str]) -> dict[str, Any]:
    """Return settings as numbers of Python; those of NumPy are converted.

    Parameters
    ----------
    settings
        Values by name.
    known
        The names that exist.

    Raises
    ------
    UsageError
        A name is unknown, or a value of a wrong type or out of range; the message has the name.
    """
    for name in settings:
        if name not in known:
            raise UsageError(f"{name}: unknown setting; give one of {', '.join(sorted(known))}")
    return {name: _CONVERTERS.get(name, _whole)(name, value) for name, value in settings.items()}
