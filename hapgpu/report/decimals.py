"""Decimals in text, read by compiled functions."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.bytes import Integer
from hapgpu.runtime.jit import njit

_ZERO, _NINE, _POINT, _EXPONENT, _MINUS, _PLUS = b"09.e-+"
_IN_NO_NUMBER: Final = np.isin(np.arange(256), np.frombuffer(b"NAnaif", dtype=np.uint8))
_MAX_EXPONENT: Final = 400


@njit
def read_decimal(text: NDArray[np.uint8], at: Integer, end: Integer) -> tuple[float, bool]:
    """Return a decimal, NaN for NA, nan and inf; and whether it is well-formed."""
    sign = 1.0
    if at < end and text[at] == _MINUS:
        sign = -1.0
        at += 1
    if at < end and _IN_NO_NUMBER[text[at]]:
        while at < end and _IN_NO_NUMBER[text[at]]:
            at += 1
        return np.nan, bool(at == end)
    value, power, is_after, digits = 0.0, 0, False, 0
    while at < end and text[at] != _EXPONENT:
        if _ZERO <= text[at] <= _NINE:
            value = 10.0 * value + (text[at] - _ZERO)
            power -= is_after
            digits += 1
        elif text[at] == _POINT and not is_after:
            is_after = True
        else:
            return np.nan, False
        at += 1
    exponent, is_sound = _exponent(text, at, end)
    return sign * value * 10.0 ** (power + exponent), digits > 0 and is_sound


@njit
def _exponent(text: NDArray[np.uint8], at: Integer, end: Integer) -> tuple[Integer, bool]:
    """Return an exponent with its letter, 0 for no text; and whether it is well-formed."""
    if at == end:
        return 0, True
    at += 1
    is_down = at < end and text[at] == _MINUS
    if at < end and (is_down or text[at] == _PLUS):
        at += 1
    exponent = 0
    for k in range(at, end):
        if not _ZERO <= text[k] <= _NINE or exponent > _MAX_EXPONENT:
            return 0, False
        exponent = 10 * exponent + (text[k] - _ZERO)
    return -exponent if is_down else exponent, bool(at < end)
