"""Likelihoods written as decimal text within compiled functions."""

from __future__ import annotations

import math
from typing import Final

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.bytes import Integer, copy_bytes
from hapgpu.io.text.numbers import put_integer
from hapgpu.runtime.jit import njit

DECIMAL_WIDTH: Final = 21
"""Bytes of the longest decimal: sign, `0.`, eight zeros and ten digits."""

_DIGITS: Final = 10
_MIN_EXPONENT: Final = -9
_MANTISSA_END: Final = np.int64(10**_DIGITS)
_TEN: Final = np.uint64(10)  # unsigned: signed division as in Python takes twice as long
# log10(2) * 2**22: close enough for the power of two below any float64.
_LOG10_OF_2: Final = np.int64(1262611)
_LOG10_SHIFT: Final = 22
_ZERO, _MINUS, _PLUS, _POINT, _EXPONENT = b"0-+.e"
_NOT_A_NUMBER: Final = np.frombuffer(b"nan", dtype=np.uint8)
_INFINITE: Final = np.frombuffer(b"inf", dtype=np.uint8)
_GREATEST_POWER: Final = 308
POWERS_OF_TEN: Final = np.array([float(f"1e{k}") for k in range(_GREATEST_POWER + 1)])
"""float64: the nearest to 10^k, k from 0 to 308."""


@njit
def put_decimal(out: NDArray[np.uint8], at: Integer, value: float) -> Integer:
    """Write a number rounded to ten significant digits, without trailing zeros.

    The text differs from the number by at most 0.50001 units of the tenth digit. It has an
    exponent only below 1e-9 and from 1e10 on. Zero of either sign is `0`.

    Parameters
    ----------
    out
        Must have room for `DECIMAL_WIDTH` bytes from `at` on; not checked.
    at
        Offset of the first byte written.
    value
        Any float64; non-finite values are `nan`, `inf` and `-inf`.

    Returns
    -------
    int
        The end of the number.
    """
    if math.isnan(value):
        copy_bytes(_NOT_A_NUMBER, 0, out, at, 3)
        return at + 3
    if value == 0.0:
        out[at] = _ZERO
        return at + 1
    if value < 0.0:
        out[at] = _MINUS
        at += 1
        value = -value
    if math.isinf(value):
        copy_bytes(_INFINITE, 0, out, at, 3)
        return at + 3
    mantissa, exponent = _rounded(value)
    if exponent < _MIN_EXPONENT or exponent >= _DIGITS:
        return _put_scientific(out, at, mantissa, exponent)
    if exponent >= 0:
        return _put_digits(out, at, mantissa, exponent + 1)
    for k in range(1 - exponent):
        out[at + k] = _ZERO
    out[at + 1] = _POINT
    return _put_digits(out, at + 1 - exponent, mantissa, 0)


@njit
def _rounded(value: float) -> tuple[Integer, Integer]:
    """Return the mantissa, of ten digits, and the exponent of a positive number."""
    exponent = (math.frexp(value)[1] - 1) * _LOG10_OF_2 >> _LOG10_SHIFT  # or one more
    mantissa = _scaled(value, exponent)
    if mantissa >= _MANTISSA_END:
        exponent += 1
        mantissa = _scaled(value, exponent)
    return mantissa, exponent


@njit
def _scaled(value: float, exponent: Integer) -> Integer:
    """Return value * 10**(9 - exponent) as the nearest integer."""
    power = _DIGITS - 1 - exponent
    if power < 0:
        return np.int64(value / POWERS_OF_TEN[-power] + 0.5)
    if power > _GREATEST_POWER:
        value *= POWERS_OF_TEN[_GREATEST_POWER]
        power -= _GREATEST_POWER
    return np.int64(value * POWERS_OF_TEN[power] + 0.5)


@njit
def _put_scientific(
    out: NDArray[np.uint8], at: Integer, mantissa: Integer, exponent: Integer
) -> Integer:
    at = _put_digits(out, at, mantissa, 1)
    out[at] = _EXPONENT
    out[at + 1] = _MINUS if exponent < 0 else _PLUS
    size = -exponent if exponent < 0 else exponent
    out[at + 2] = _ZERO
    return put_integer(out, at + 2 + (size < 10), size)


@njit
def _put_digits(out: NDArray[np.uint8], at: Integer, mantissa: Integer, whole: Integer) -> Integer:
    """Write a mantissa, the first `whole` of its ten digits before the decimal point.

    Trailing zeros of the fraction are dropped, and so is a point without digits on both sides.
    """
    mantissa = np.uint64(mantissa)
    digits = _DIGITS
    while digits > whole and mantissa % _TEN == 0:
        mantissa //= _TEN
        digits -= 1
    has_point = 0 < whole < digits
    end = at + digits + has_point
    to = end
    for _ in range(digits - whole):
        to -= 1
        out[to] = np.uint64(_ZERO) + mantissa % _TEN
        mantissa //= _TEN
    if has_point:
        to -= 1
        out[to] = _POINT
    for _ in range(whole):
        to -= 1
        out[to] = np.uint64(_ZERO) + mantissa % _TEN
        mantissa //= _TEN
    return end
