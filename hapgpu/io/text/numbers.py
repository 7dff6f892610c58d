"""Numbers written as decimal text by compiled functions.

Each function writes from `out[at]` on, without a check for room, and returns the end offset.
"""

from __future__ import annotations

import math
from typing import Final

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.bytes import Integer
from hapgpu.runtime.jit import njit

_ZERO, _MINUS, _PLUS, _POINT, _EXPONENT = b"0-+.e"
_NOT_A_NUMBER: Final = np.frombuffer(b"nan", dtype=np.uint8)
_INFINITE: Final = np.frombuffer(b"inf", dtype=np.uint8)
_ONE: Final = np.int64(1)  # not a constant: Numba compiles functions anew for constants
_MIN_DIGITS: Final = 6
_MAX_DIGITS: Final = 9
# A decimal of nine digits is computed with an error of a few 1e-16; float32 is spaced by 6e-8.
_DOUBT: Final = 1e-14
_MAX_EXACT: Final = 2.0**53
_POWERS: Final = np.array([float(f"1e{k}") for k in range(60)])

FIXED_WIDTH: Final = 24
"""Bytes of the longest number: sign, 19 digits and the point, rounded up."""
_TEN: Final = np.int64(10)
_MAX_HALVED: Final = 2**52
"""Larger numbers of units have no exact halves."""
_EXACT_POWERS: Final = np.array([10.0**k for k in range(23)])  # exact


@njit
def put_integer(out: NDArray[np.uint8], at: Integer, value: Integer) -> Integer:
    """Write an integer of at most 64 bits, greater than -2**63."""
    value = np.int64(value)
    if value < 0:
        out[at] = _MINUS
        at += 1
        value = -value
    digits = 1
    rest = value // 10
    while rest:
        digits += 1
        rest //= 10
    to = at + digits
    for _ in range(digits):
        to -= 1
        out[to] = _ZERO + value % 10
        value //= 10
    return at + digits


@njit
def _put_bytes(out: NDArray[np.uint8], at: Integer, text: NDArray[np.uint8]) -> Integer:
    for k in range(text.size):
        out[at + k] = text[k]
    return at + text.size


@njit
def _scaled(value: float, power: Integer) -> float:
    return float(value * _POWERS[power] if power >= 0 else value / _POWERS[-power])


@njit
def _reads_back(value: np.float32, mantissa: Integer, power: Integer) -> bool:
    """Tell whether mantissa * 10**power certainly reads back as this float32."""
    decimal = _scaled(float(mantissa), power)
    if power >= 0 and decimal < _MAX_EXACT:
        return bool(np.float32(decimal) == value)  # also halfway between two float32
    low, high = np.float32(decimal * (1.0 - _DOUBT)), np.float32(decimal * (1.0 + _DOUBT))
    return bool(low == value and high == value)


@njit
def _decimal(value: np.float32) -> tuple[int, int, int]:
    """Return mantissa, exponent and number of digits: the fewest, from six, that read back."""
    exponent = math.floor(math.log10(np.float64(value)))
    mantissa = 0
    for digits in range(_MIN_DIGITS, _MAX_DIGITS + 1):
        mantissa = round(_scaled(np.float64(value), digits - 1 - exponent))
        if mantissa >= 10**digits:
            exponent += 1
            mantissa = round(_scaled(np.float64(value), digits - 1 - exponent))
        elif mantissa < 10 ** (digits - 1):
            exponent -= 1
            mantissa = round(_scaled(np.float64(value), digits - 1 - exponent))
        if _reads_back(value, mantissa, exponent - digits + 1):
            return mantissa, exponent, digits
    return mantissa, exponent, _MAX_DIGITS


@njit
def _put_digits(
    out: NDArray[np.uint8], at: Integer, mantissa: Integer, digits: Integer, point: Integer
) -> Integer:
    """Write digits, `point` of them before the decimal point."""
    end = at + digits + (point < digits)
    to = end
    for k in range(digits - 1, -1, -1):
        to -= 1
        out[to] = _ZERO + mantissa % 10
        mantissa //= 10
        if k == point:
            to -= 1
            out[to] = _POINT
    return end


@njit
def put_float(out: NDArray[np.uint8], at: Integer, value: np.float32) -> Integer:
    """Write a float32 as C's `%g` does, with more than six digits where needed to read back."""
    if math.isnan(value):
        return _put_bytes(out, at, _NOT_A_NUMBER)
    if math.copysign(1.0, value) < 0:
        out[at] = _MINUS
        at += 1
        value = -value
    if math.isinf(value):
        return _put_bytes(out, at, _INFINITE)
    if value == 0:
        out[at] = _ZERO
        return at + 1
    mantissa, exponent, precision = _decimal(value)
    digits = precision
    while mantissa % 10 == 0:
        mantissa //= 10
        digits -= 1
    if exponent < -4 or exponent >= precision:
        at = _put_digits(out, at, mantissa, digits, _ONE)
        out[at] = _EXPONENT
        out[at + 1] = _MINUS if exponent < 0 else _PLUS
        out[at + 2] = _ZERO + abs(exponent) // 10
        out[at + 3] = _ZERO + abs(exponent) % 10
        return at + 4
    if exponent < 0:
        out[at] = _ZERO
        out[at + 1] = _POINT
        for k in range(-exponent - 1):
            out[at + 2 + k] = _ZERO
        return _put_digits(out, at + 1 - exponent, mantissa, digits, digits)
    for _ in range(exponent + 1 - digits):
        mantissa *= 10
        digits += 1
    return _put_digits(out, at, mantissa, digits, exponent + 1)


@njit
def put_fixed(out: NDArray[np.uint8], at: Integer, value: float, decimals: Integer) -> Integer:
    """Write a number with at least one decimal, as Java's `%.3f` for three.

    Parameters
    ----------
    out
        Must have room for `FIXED_WIDTH` bytes from `at` on; not checked.
    at
        Offset of the first byte written.
    value
        Finite, and less than 9e18 in units of the last decimal; not checked.
    decimals
        From 1 to 18.

    Returns
    -------
    int
        The end of the number.
    """
    if value < 0.0:
        out[at] = _MINUS
        at += 1
        value = -value
    return _put_units(out, at, _rounded(value, decimals), decimals)


@njit
def put_scientific(out: NDArray[np.uint8], at: Integer, value: float, decimals: Integer) -> Integer:
    """Write a number from 1e-9 to below 1 with an exponent, as Java's `%.3e` for three decimals."""
    exponent: Integer = np.int64(-math.floor(math.log10(value)))
    mantissa = _rounded(value, decimals + exponent)
    if mantissa < _EXACT_POWERS[decimals]:  # log10 was rounded up
        exponent += 1
        mantissa = _rounded(value, decimals + exponent)
    elif mantissa >= _EXACT_POWERS[decimals + 1]:
        exponent -= 1
        mantissa = _rounded(value, decimals + exponent)
    at = _put_units(out, at, mantissa, decimals)
    out[at], out[at + 1], out[at + 2] = _EXPONENT, _MINUS, _ZERO
    return put_integer(out, at + 3, exponent)


@njit
def _rounded(value: float, decimals: Integer) -> Integer:
    """Return a number that is not negative, in units of the last decimal."""
    below = np.int64(value * _EXACT_POWERS[decimals])
    if below >= _MAX_HALVED:
        return below
    # The division is rounded once, so that it is the float64 of the decimal between two units.
    half = (2.0 * below + 1.0) / (2.0 * _EXACT_POWERS[decimals])
    return below + np.int64(value >= half)


@njit
def _put_units(out: NDArray[np.uint8], at: Integer, units: Integer, decimals: Integer) -> Integer:
    """Write a number given in units of its last decimal."""
    whole: Integer = units
    for _ in range(decimals):
        whole //= _TEN
    at = put_integer(out, at, whole)
    out[at] = _POINT
    rest: Integer = units
    for k in range(decimals, 0, -1):
        out[at + k] = _ZERO + rest % _TEN
        rest //= _TEN
    return at + 1 + decimals
