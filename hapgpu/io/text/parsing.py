"""Fields of lines, read at addresses by compiled functions.

The text ends with a newline, whose address is `last`: no function reads beyond it. Functions that
read numbers return 0 in place of the address after one that is malformed.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from hapgpu.arrays.bits import load_u64, trailing_zeros
from hapgpu.arrays.bytes import Integer
from hapgpu.arrays.memory import load_u8_at
from hapgpu.io.text.decimals import POWERS_OF_TEN
from hapgpu.runtime.jit import njit, njit_inlined

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
def control_from(at: Integer, last: Integer) -> Integer:
    """Return the address of the first byte below a blank, such as a tab, from `at` to `last`."""
    while at + 8 <= last:
        word = load_u64(at)
        # The lowest byte of which the sign bit is set is the first one below a blank.
        below = (word - _BLANKS) & ~word & _SIGN_BITS
        if below:
            return at + np.int64(trailing_zeros(below) >> _3)
        at += 8
    while at < last and load_u8_at(at) >= _BLANK:
        at += 1
    return at


@njit_inlined
def after_tab(at: Integer, last: Integer) -> Integer:
    """Return the address after a tab at `at`; `last` if there is none, or after a malformed number.

    At `last` each later function finds a fault, too: only the last one of a line needs a check.
    """
    return at + 1 if at != 0 and load_u8_at(at) == _TAB else last


@njit_inlined
def is_digit(byte: Integer) -> bool:
    """Tell whether a byte is a decimal digit."""
    return bool(np.uint64(byte - _ZERO) < np.uint64(10))


@njit_inlined
def read_count(at: Integer, maximum: Integer) -> tuple[Integer, Integer]:
    """Read a number of at most ten digits, from 0 to a maximum; return the address after it."""
    start = at
    value: Integer = np.int64(0)
    byte = load_u8_at(at)
    while is_digit(byte):
        value = value * _10 + (byte - _ZERO)
        at += 1
        byte = load_u8_at(at)
    is_sound = start < at <= start + _MAX_DIGITS and value <= maximum
    return value, at if is_sound else np.int64(0)


@njit_inlined
def read_integer(at: Integer, minimum: Integer, maximum: Integer) -> tuple[Integer, Integer]:
    """Read a number of at most ten digits, after a minus if it is negative; see `read_count`."""
    if load_u8_at(at) == _MINUS:
        value, at = read_count(at + 1, -minimum)
        return -value, at
    return read_count(at, maximum)


@njit_inlined
def _read_digits(
    at: Integer, mantissa: Integer, power: Integer, shift: Integer
) -> tuple[Integer, Integer, Integer]:
    """Append digits to a mantissa of 17 digits at most; return both numbers and the end.

    `shift` is what each digit adds to the power of ten: -1 after the point, else 0. Digits for
    which there is no room add one more.
    """
    byte = load_u8_at(at)
    while is_digit(byte):
        if mantissa < _MANTISSA_END:
            mantissa = mantissa * _10 + (byte - _ZERO)
            power += shift
        else:
            power += shift + 1
        at += 1
        byte = load_u8_at(at)
    return mantissa, power, at


@njit_inlined
def _read_exponent(at: Integer) -> tuple[Integer, Integer]:
    """Read an exponent with its letter, 0 if there is none."""
    byte = load_u8_at(at)
    if byte not in (_EXPONENT, _CAPITAL_EXPONENT):
        return np.int64(0), at
    at += 1
    sign = load_u8_at(at)
    if sign in (_MINUS, _PLUS):
        at += 1
    exponent, end = read_count(at, _MAX_EXPONENT)
    return -exponent if sign == _MINUS else exponent, end


@njit
def read_float32(at: Integer) -> tuple[Integer, Integer]:
    """Read a decimal as C's `(float) strtod()` does.

    Returns
    -------
    tuple of int
        The bits of the float32, and the address after the decimal: 0 if it is no plain number, or
        too close to the middle between two float32.
    """
    is_negative = load_u8_at(at) == _MINUS
    start = at + np.int64(is_negative)
    mantissa, power, at = _read_digits(start, np.int64(0), np.int64(0), np.int64(0))
    digits = at - start
    if load_u8_at(at) == _POINT:
        start = at + 1
        mantissa, power, at = _read_digits(start, mantissa, power, np.int64(-1))
        digits += at - start
    exponent, at = _read_exponent(at)
    value, is_certain = _float32_of(mantissa, power + exponent)
    if digits == 0 or not is_certain:
        return np.int64(0), np.int64(0)
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
