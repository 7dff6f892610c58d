"""Fields of lines, read by compiled functions.

The text ends with a newline, beyond which no function reads. Functions that read numbers return
`MALFORMED` in place of the offset after one that is malformed.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from hapgpu.arrays.bits import trailing_zeros
from hapgpu.arrays.bytes import Integer
from hapgpu.arrays.memory import Memory, read_64, read_u8
from hapgpu.io.text.decimals import POWERS_OF_TEN
from hapgpu.runtime.jit import njit, njit_inlined

MALFORMED: Final = np.int64(-1)
"""Returned in place of an offset."""

_TAB: Final = ord("\t")
_BLANK: Final = ord(" ")
_MINUS: Final = ord("-")
_POINT: Final = ord(".")
_EXPONENT: Final = ord("e")
_CAPITAL_EXPONENT: Final = ord("E")
_PLUS: Final = ord("+")
_ZERO: Final = np.int64(ord("0"))
_10: Final = np.int64(10)
_3: Final = np.uint64(3)
_BLANKS: Final = np.uint64(0x2020202020202020)
_SIGN_BITS: Final = np.uint64(0x8080808080808080)

_MAX_DIGITS: Final = 10
_MANTISSA_END: Final = np.int64(10**17)
_MAX_EXPONENT: Final = np.int64(10**4)
_MAX_EXACT: Final = np.int64(2**53)
_LAST_EXACT_POWER: Final = 22
_LAST_POWER: Final = 280
# Four roundings to float64 and the digits dropped make less than 1e-15.
_DOUBT: Final = 1e-14


@njit_inlined
def control_from(text: Memory, at: Integer) -> Integer:
    """Return the offset of the first byte below a blank, such as a tab, from `at` on."""
    last = text.size - 1
    while at + 8 <= last:
        word = np.uint64(read_64(text, at))
        # The lowest byte of which the sign bit is set is the first one below a blank.
        below = (word - _BLANKS) & ~word & _SIGN_BITS
        if below:
            return at + np.int64(trailing_zeros(below) >> _3)
        at += 8
    while at < last and read_u8(text, at) >= _BLANK:
        at += 1
    return at


@njit_inlined
def after_tab(text: Memory, at: Integer) -> Integer:
    """Return the offset after a tab at `at`.

    Without a tab, or after a malformed number, it is that of the last newline. There, each later
    function finds a fault, too: only the last one of a line needs a check.
    """
    return at + 1 if at >= 0 and read_u8(text, at) == _TAB else text.size - 1


@njit_inlined
def is_digit(byte: Integer) -> bool:
    """Tell whether a byte is a decimal digit."""
    return bool(np.uint64(byte - _ZERO) < np.uint64(10))


@njit_inlined
def read_count(text: Memory, at: Integer, maximum: Integer) -> tuple[Integer, Integer]:
    """Read a number of at most ten digits, from 0 to a maximum; return the offset after it."""
    start = at
    value: Integer = np.int64(0)
    byte = read_u8(text, at)
    while is_digit(byte):
        value = value * _10 + (byte - _ZERO)
        at += 1
        byte = read_u8(text, at)
    is_sound = start < at <= start + _MAX_DIGITS and value <= maximum
    return value, at if is_sound else MALFORMED


@njit_inlined
def read_integer(
    text: Memory, at: Integer, minimum: Integer, maximum: Integer
) -> tuple[Integer, Integer]:
    """Read a number of at most ten digits, after a minus if it is negative; see `read_count`."""
    if read_u8(text, at) == _MINUS:
        value, at = read_count(text, at + 1, -minimum)
        return -value, at
    return read_count(text, at, maximum)


@njit_inlined
def _read_digits(
    text: Memory, at: Integer, mantissa: Integer, power: Integer, shift: Integer
) -> tuple[Integer, Integer, Integer]:
    """Append digits to a mantissa of 17 digits at most; return both numbers and the end.

    `shift` is what each digit adds to the power of ten: -1 after the point, else 0. Digits for
    which there is no room add one more.
    """
    byte = read_u8(text, at)
    while is_digit(byte):
        if mantissa < _MANTISSA_END:
            mantissa = mantissa * _10 + (byte - _ZERO)
            power += shift
        else:
            power += shift + 1
        at += 1
        byte = read_u8(text, at)
    return mantissa, power, at


@njit_inlined
def _read_exponent(text: Memory, at: Integer) -> tuple[Integer, Integer]:
    """Read an exponent with its letter, 0 if there is none."""
    byte = read_u8(text, at)
    if byte not in (_EXPONENT, _CAPITAL_EXPONENT):
        return np.int64(0), at
    at += 1
    sign = read_u8(text, at)
    if sign in (_MINUS, _PLUS):
        at += 1
    exponent, end = read_count(text, at, _MAX_EXPONENT)
    return -exponent if sign == _MINUS else exponent, end


@njit
def read_float32(text: Memory, at: Integer) -> tuple[Integer, Integer]:
    """Read a decimal as C's `(float) strtod()` does.

    Returns
    -------
    tuple of int
        The bits of the float32, and the offset after the decimal: `MALFORMED` if it is no plain
        number, or too close to the middle between two float32.
    """
    is_negative = read_u8(text, at) == _MINUS
    start = at + np.int64(is_negative)
    mantissa, power, at = _read_digits(text, start, np.int64(0), np.int64(0), np.int64(0))
    digits = at - start
    if read_u8(text, at) == _POINT:
        start = at + 1
        mantissa, power, at = _read_digits(text, start, mantissa, power, np.int64(-1))
        digits += at - start
    exponent, at = _read_exponent(text, at)
    value, is_certain = _float32_of(mantissa, power + exponent)
    if digits == 0 or not is_certain:
        return np.int64(0), MALFORMED
    bits = np.int64(np.float32(value).view(np.int32))
    return bits | np.int64(is_negative) << 31, at


@njit_inlined
def _float32_of(mantissa: Integer, power: Integer) -> tuple[np.float32, bool]:
    """Return mantissa * 10**power, and whether it is certainly rounded as C does.

    C rounds twice: to float64, then to float32. Both roundings keep the order of numbers.
    """
    if mantissa == 0:
        return np.float32(0.0), True
    if not -_LAST_POWER <= power <= _LAST_POWER:
        return np.float32(0.0), False
    value = float(mantissa)
    value = value * POWERS_OF_TEN[power] if power >= 0 else value / POWERS_OF_TEN[-power]
    if mantissa <= _MAX_EXACT and -_LAST_EXACT_POWER <= power <= _LAST_EXACT_POWER:
        return np.float32(value), True  # one rounding of exact numbers, as that of strtod
    low, high = np.float32(value * (1.0 - _DOUBT)), np.float32(value * (1.0 + _DOUBT))
    return low, bool(low == high)
