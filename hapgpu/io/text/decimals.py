"""Likelihoods written as decimal text within compiled functions."""

from __future__ import annotations

import math
from typing import Final

import numpy as np

from hapgpu.arrays.bytes import Integer
from hapgpu.arrays.memory import Memory, write_8
from hapgpu.io.text.builder import has_room, put_byte, put_count, put_two
from hapgpu.io.text.numbers import put_infinite, put_leading_zeros, put_not_a_number, put_sign
from hapgpu.runtime.jit import njit

_DIGITS: Final = np.int64(10)
_MIN_EXPONENT: Final = -9
_MANTISSA_END: Final = np.int64(10**10)
_TEN: Final = np.uint64(10)  # unsigned: signed division as in Python takes twice as long
_0, _1 = np.int64(0), np.int64(1)  # not constants: Numba compiles functions anew for constants
# log10(2) * 2**22: close enough for the power of two below any float64.
_LOG10_OF_2: Final = np.int64(1262611)
_LOG10_SHIFT: Final = 22
_ZERO, _MINUS, _PLUS, _POINT, _EXPONENT = (np.int64(byte) for byte in b"0-+.e")
_GREATEST_POWER: Final = 308
POWERS_OF_TEN: Final = np.array([float(f"1e{k}") for k in range(_GREATEST_POWER + 1)])
"""float64: the nearest to 10^k, k from 0 to 308."""


@njit
def put_decimal(text: Memory, at: Integer, value: float) -> Integer:
    """Write a number rounded to ten significant digits, without trailing zeros.

    The text differs from the number by at most 0.50001 units of the tenth digit. It has an
    exponent only below 1e-9 and from 1e10 on. Zero of either sign is `0`.

    Parameters
    ----------
    text, at
        Where to write it; see `hapgpu.io.text.builder`.
    value
        Any float64; non-finite values are `nan`, `inf` and `-inf`.

    Returns
    -------
    int
        The end of the number.
    """
    if math.isnan(value):
        return put_not_a_number(text, at)
    if value == 0.0:
        return put_byte(text, at, _ZERO)
    at = put_sign(text, at, value)
    value = abs(value)
    if math.isinf(value):
        return put_infinite(text, at)
    mantissa, exponent = _rounded(value)
    if exponent < _MIN_EXPONENT or exponent >= _DIGITS:
        return _put_scientific(text, at, mantissa, exponent)
    if exponent >= 0:
        return _put_digits(text, at, mantissa, exponent + 1)
    return _put_digits(text, put_leading_zeros(text, at, 1 - exponent), mantissa, _0)


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
def _put_scientific(text: Memory, at: Integer, mantissa: Integer, exponent: Integer) -> Integer:
    at = _put_digits(text, at, mantissa, _1)
    at = put_two(text, at, _EXPONENT, _MINUS if exponent < 0 else _PLUS)
    size: Integer = abs(np.int64(exponent))
    if size < 10:
        at = put_byte(text, at, _ZERO)
    return put_count(text, at, size)


@njit
def _put_digits(text: Memory, at: Integer, mantissa: Integer, whole: Integer) -> Integer:
    """Write a mantissa, the first `whole` of its ten digits before the decimal point.

    Trailing zeros of the fraction are dropped, and so is a point without digits on both sides.
    """
    rest = np.uint64(mantissa)
    digits = _DIGITS
    while digits > whole and rest % _TEN == 0:
        rest //= _TEN
        digits -= 1
    has_point = 0 < whole < digits
    end = at + digits + np.int64(has_point)
    if not has_room(text, end):
        return end
    to = end
    for _ in range(digits - whole):
        to -= 1
        write_8(text, to, _ZERO + np.int64(rest % _TEN))
        rest //= _TEN
    if has_point:
        to -= 1
        write_8(text, to, _POINT)
    for _ in range(whole):
        to -= 1
        write_8(text, to, _ZERO + np.int64(rest % _TEN))
        rest //= _TEN
    return end
