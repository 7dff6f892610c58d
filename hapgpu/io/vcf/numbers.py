"""Numbers of VCF lines that may be missing, and genotypes, written by compiled functions.

See `hapgpu.io.text.builder` for the arguments `text` and `at`, and for what is returned.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.bytes import Integer
from hapgpu.arrays.called_variants import NO_COPY
from hapgpu.arrays.memory import Memory
from hapgpu.arrays.ragged_view import RaggedView
from hapgpu.io.text.builder import put_byte, put_count, put_integer
from hapgpu.runtime.jit import njit

_COMMA, _SLASH, _POINT = b",/."


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
