"""Fractional numbers written as decimal text by compiled functions.

See `hapgpu.io.text.builder` for the arguments `text` and `at`, and for what is returned.
"""

from __future__ import annotations

import math
from typing import Final

import numpy as np

from hapgpu.arrays.bytes import Integer
from hapgpu.arrays.memory import Memory, memory_of, write_8, write_16, write_64
from hapgpu.io.text.builder import has_room, put_all, put_byte, put_count, put_two
from hapgpu.runtime.jit import njit, njit_inlined

_ZERO, _MINUS, _PLUS, _POINT, _EXPONENT = (np.int64(byte) for byte in b"0-+.e")
_ZEROS: Final = np.int64(int.from_bytes(b"0.000000", "little"))
_NOT_A_NUMBER: Final = np.frombuffer(b"nan", dtype=np.uint8)
_INFINITE: Final = np.frombuffer(b"inf", dtype=np.uint8)
_ONE: Final = np.int64(1)  # not a constant: Numba compiles functions anew for constants
_MIN_DIGITS: Final = 6
_MAX_DIGITS: Final = 9
# A decimal of nine digits is computed with an error of a few 1e-16; float32 is spaced by 6e-8.
_DOUBT: Final = 1e-14
_MAX_EXACT: Final = 2.0**53
_POWERS: Final = np.array([float(f"1e{k}") for k in range(60)])

_10: Final = np.uint64(10)
_TENS: Final = np.array([10**k for k in range(20)], dtype=np.uint64)
_MAX_HALVED: Final = 2**52
"""Larger numbers of units have no exact halves."""
_MAX_EXACT_POWER: Final = np.int64(22)
_EXACT_POWERS: Final = np.array([10.0**k for k in range(23)])  # exact


@njit_inlined
def put_not_a_number(text: Memory, at: Integer) -> Integer:
    """Write `nan`."""
    return put_all(text, at, memory_of(_NOT_A_NUMBER))


@njit_inlined
def put_infinite(text: Memory, at: Integer) -> Integer:
    """Write `inf`."""
    return put_all(text, at, memory_of(_INFINITE))


@njit_inlined
def put_sign(text: Memory, at: Integer, value: float) -> Integer:
    """Write a minus if a number is less than 0."""
    return put_byte(text, at, _MINUS) if value < 0.0 else at


@njit_inlined
def put_leading_zeros(text: Memory, at: Integer, size: Integer) -> Integer:
    """Write a zero, the point, and zeros: from two to ten characters in all."""
    end = at + size
    if has_room(text, end):
        write_64(text, at, _ZEROS)
        write_16(text, at + 8, _ZERO | _ZERO << np.int64(8))
    return end


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
    text: Memory, at: Integer, mantissa: Integer, digits: Integer, point: Integer
) -> Integer:
    """Write digits, `point` of them before the decimal point."""
    end = at + digits + np.int64(point < digits)
    if not has_room(text, end):
        return end
    to = end
    for k in range(digits - 1, -1, -1):
        to -= 1
        write_8(text, to, _ZERO + mantissa % 10)
        mantissa //= 10
        if k == point:
            to -= 1
            write_8(text, to, _POINT)
    return end


@njit
def put_float(text: Memory, at: Integer, value: np.float32) -> Integer:
    """Write a float32 as C's `%g` does, with more than six digits where needed to read back."""
    if math.isnan(value):
        return put_not_a_number(text, at)
    if math.copysign(1.0, value) < 0:
        at = put_byte(text, at, _MINUS)
        value = -value
    if math.isinf(value):
        return put_infinite(text, at)
    if value == 0:
        return put_byte(text, at, _ZERO)
    mantissa, exponent, precision = _decimal(value)
    digits = precision
    while mantissa % 10 == 0:
        mantissa //= 10
        digits -= 1
    if exponent < -4 or exponent >= precision:
        at = _put_digits(text, at, mantissa, digits, _ONE)
        at = put_two(text, at, _EXPONENT, _MINUS if exponent < 0 else _PLUS)
        return put_two(text, at, _ZERO + abs(exponent) // 10, _ZERO + abs(exponent) % 10)
    if exponent < 0:
        at = put_leading_zeros(text, at, 1 - exponent)
        return _put_digits(text, at, mantissa, digits, digits)
    for _ in range(exponent + 1 - digits):
        mantissa *= 10
        digits += 1
    return _put_digits(text, at, mantissa, digits, exponent + 1)


@njit
def put_fixed(text: Memory, at: Integer, value: float, decimals: Integer) -> Integer:
    """Write a number with at least one decimal, as Java's `%.3f` for three.

    Parameters
    ----------
    text, at
        Where to write it.
    value
        Finite, and less than 9e18 in units of the last decimal; not checked.
    decimals
        From 1 to 18.

    Returns
    -------
    int
        The end of the number.
    """
    at = put_sign(text, at, value)
    return put_units(text, at, in_units(abs(value), decimals), decimals)


@njit
def put_scientific(text: Memory, at: Integer, value: float, decimals: Integer) -> Integer:
    """Write a number with an exponent, as Java's `%.3e` for three decimals.

    Parameters
    ----------
    text, at
        Where to write it.
    value
        Positive and finite; halves are exact from 1e-19 to 1e22.
    decimals
        From 1 to 3.

    Returns
    -------
    int
        The end of the number.
    """
    exponent: Integer = np.int64(math.floor(math.log10(value)))
    mantissa = _in_scaled_units(value, decimals - exponent)
    if mantissa < _EXACT_POWERS[decimals]:  # log10 was rounded up
        exponent -= 1
        mantissa = _in_scaled_units(value, decimals - exponent)
    elif mantissa >= _EXACT_POWERS[decimals + 1]:
        exponent += 1
        mantissa = _in_scaled_units(value, decimals - exponent)
    at = put_units(text, at, mantissa, decimals)
    at = put_two(text, at, _EXPONENT, _MINUS if exponent < 0 else _PLUS)
    size: Integer = -exponent if exponent < 0 else exponent
    if size < 10:
        at = put_byte(text, at, _ZERO)
    return put_count(text, at, size)


@njit
def _in_scaled_units(value: float, power: Integer) -> Integer:
    """Return a positive number in units of 10**-power, at most a few digits, halves upwards."""
    if power > _MAX_EXACT_POWER:
        return in_units(value * 10.0 ** (power - _MAX_EXACT_POWER), _MAX_EXACT_POWER)
    if power >= 0:
        return in_units(value, power)
    unit = 10.0**-power
    below = np.int64(value / unit)
    return below + np.int64(value >= (below + 0.5) * unit)


@njit
def in_units(value: float, decimals: Integer) -> Integer:
    """Return a number that is not negative, in units of the last decimal."""
    below = np.int64(value * _EXACT_POWERS[decimals])
    if below >= _MAX_HALVED:
        return below
    # The division is rounded once, so that it is the float64 of the decimal between two units.
    half = (2.0 * below + 1.0) / (2.0 * _EXACT_POWERS[decimals])
    return below + np.int64(value >= half)


@njit
def put_units(text: Memory, at: Integer, units: Integer, decimals: Integer) -> Integer:
    """Write a number that is not negative, given in units of its last decimal."""
    power = _TENS[decimals]
    rest = np.uint64(units)
    at = put_count(text, at, rest // power)
    end = at + 1 + decimals
    if has_room(text, end):
        write_8(text, at, _POINT)
        for k in range(decimals, 0, -1):
            write_8(text, at + k, _ZERO + np.int64(rest % _10))
            rest //= _10
    return end
