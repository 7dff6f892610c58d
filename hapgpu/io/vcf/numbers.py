"""Numbers of VCF lines that may be missing, and genotypes, written by compiled functions.

See `hapgpu.io.text.builder` for the arguments `text` and `at`, and for what is returned.
"""

from __future__ import annotations

import math
from typing import Final

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.bytes import Integer
from hapgpu.arrays.called_variants import NO_COPY
from hapgpu.arrays.memory import Memory, memory_of
from hapgpu.arrays.ragged_view import RaggedView
from hapgpu.io.text.builder import put_all, put_byte, put_count, put_integer
from hapgpu.io.text.fields import text_of
from hapgpu.io.text.numbers import put_fixed, put_scientific, put_sign
from hapgpu.runtime.jit import njit

_COMMA, _SLASH, _POINT = b",/."
_NOT_A_NUMBER: Final = text_of("NaN")
_INFINITE: Final = text_of("Infinity")
_SMALL: Final = 0.01
"""HTSJDK writes a number below this with an exponent, and so every negative number."""
_ZERO: Final = 1e-20
"""A smaller number is written as 0."""


@njit
def put_known(text: Memory, at: Integer, value: Integer) -> Integer:
    """Write a number, or `.` if it is negative."""
    return put_byte(text, at, _POINT) if value < 0 else put_count(text, at, value)


@njit
def put_values(text: Memory, at: Integer, rows: RaggedView, row: Integer) -> Integer:
    """Write one of `rows`, any integer dtype, or `.` if it is empty."""
    start, end = rows.offsets[row], rows.offsets[row + 1]
    if start == end:
        return put_byte(text, at, _POINT)
    for k in range(start, end):
        if k > start:
            at = put_byte(text, at, _COMMA)
        at = put_integer(text, at, np.int64(rows.data[k]))
    return at


@njit
def put_genotype(text: Memory, at: Integer, genotypes: NDArray[np.int16], row: Integer) -> Integer:
    """Write GT, unphased: a row of `genotypes`, int16[n, ploidy].

    -1 is no call; from `NO_COPY` on, the sample has no further copies.
    """
    for copy in range(genotypes.shape[1]):
        if genotypes[row, copy] == NO_COPY:
            break
        if copy:
            at = put_byte(text, at, _SLASH)
        at = put_known(text, at, np.int64(genotypes[row, copy]))
    return at


@njit
def put_double(text: Memory, at: Integer, value: float) -> Integer:
    """Write a number of INFO or FORMAT as HTSJDK's `VCFEncoder.formatVCFDouble`.

    It has two decimals, three below 1, and an exponent with three decimals below 0.01. Halves of
    the shortest decimal that reads back are rounded upwards in size.

    Parameters
    ----------
    text, at
        Where to write it; see `hapgpu.io.text.builder`.
    value
        Below 4e12, or infinite, or NaN.

    Returns
    -------
    int
        The end of the number.
    """
    if math.isnan(value):
        return put_all(text, at, memory_of(_NOT_A_NUMBER))
    if math.isinf(value):
        return put_all(text, put_sign(text, at, value), memory_of(_INFINITE))
    if abs(value) < _ZERO:
        return put_fixed(text, at, 0.0, np.int64(2))
    if value < _SMALL:
        return put_scientific(text, put_sign(text, at, value), abs(value), np.int64(3))
    return put_fixed(text, at, value, np.int64(3) if value < 1.0 else np.int64(2))
