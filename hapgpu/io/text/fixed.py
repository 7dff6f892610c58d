"""Numbers with a fixed number of decimals, written by compiled functions as Java's formatter does.

Halves are rounded away from zero. The shortest decimal that reads back as the number counts:
0.0375 is rounded to 0.038, although the float64 is a little less.
"""

from __future__ import annotations

import math
from typing import Final

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.bytes import Integer
from hapgpu.io.text.numbers import put_integer
from hapgpu.runtime.jit import njit

FIXED_WIDTH: Final = 24
"""Bytes of the longest number: sign, 19 digits and the point, rounded up."""

_ZERO, _MINUS, _PLUS, _POINT, _EXPONENT = b"0-+.e"
_TEN: Final = np.int64(10)
_MAX_HALVED: Final = 2**52
"""Larger numbers of units have no exact halves."""
_POWERS: Final = np.array([10.0**k for k in range(23)])  # exact


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
    return _put_digits(out, at, _rounded(value, decimals), decimals)


@njit
def put_scientific(out: NDArray[np.uint8], at: Integer, value: float, decimals: Integer) -> Integer:
    """Write a number from 1e-9 to below 1 with an exponent, as Java's `%.3e` for three decimals."""
    exponent: Integer = np.int64(-math.floor(math.log10(value)))
    mantissa = _rounded(value, decimals + exponent)
    if mantissa < _POWERS[decimals]:  # log10 was rounded up
        exponent += 1
        mantissa = _rounded(value, decimals + exponent)
    elif mantissa >= _POWERS[decimals + 1]:
        exponent -= 1
        mantissa = _rounded(value, decimals + exponent)
    at = _put_digits(out, at, mantissa, decimals)
    out[at], out[at + 1], out[at + 2] = _EXPONENT, _MINUS, _ZERO
    return put_integer(out, at + 3, exponent)


@njit
def _rounded(value: float, decimals: Integer) -> Integer:
    """Return a number that is not negative, in units of the last decimal."""
    below = np.int64(value * _POWERS[decimals])
    if below >= _MAX_HALVED:
        return below
    # The division is rounded once, so that it is the float64 of the decimal between two units.
    half = (2.0 * below + 1.0) / (2.0 * _POWERS[decimals])
    return below + np.int64(value >= half)


@njit
def _put_digits(out: NDArray[np.uint8], at: Integer, units: Integer, decimals: Integer) -> Integer:
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
