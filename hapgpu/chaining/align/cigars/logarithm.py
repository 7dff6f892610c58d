"""Approximate binary logarithm of compiled functions, as in minimap2."""

from __future__ import annotations

import math
from typing import Any, Final

import numpy as np

from hapgpu.arrays.bytes import Integer
from hapgpu.runtime.jit import njit

_SQUARE: Final = np.float32(-0.34484843)
_LINEAR: Final = np.float32(2.02466578)
_CONSTANT: Final = np.float32(0.67487759)


@njit
def logarithm(value: Integer) -> Any:
    """Return the approximate binary logarithm of an integer above 0, as float32.

    A parabola in the mantissa, each operation rounded (`mg_log2`).
    """
    fraction, exponent = math.frexp(np.float32(value))
    mantissa = np.float32(fraction + fraction)
    parabola = np.float32(np.float32(_SQUARE * mantissa) + _LINEAR)
    parabola = np.float32(np.float32(parabola * mantissa) - _CONSTANT)
    return np.float32(np.float32(exponent - 2) + parabola)
