"""Quantiles of the standard normal distribution."""

from __future__ import annotations

import math
from typing import Final

from hapgpu.runtime.jit import njit

# Abramowitz and Stegun, Handbook of Mathematical Functions, 26.2.23: error below 4.5e-4.
_C0, _C1, _C2 = 2.515517, 0.802853, 0.010328
_D1, _D2, _D3 = 1.432788, 0.189269, 0.001308
_STEPS: Final = 3
_SQRT_2: Final = math.sqrt(2.0)
_SQRT_2_PI: Final = math.sqrt(2.0 * math.pi)


@njit
def normal_quantile(p: float) -> float:
    """Return the z below which a standard normal variable is with probability p, 0 < p < 1.

    A rational approximation is refined by Halley's method, to nearly double precision.
    """
    if p > 0.5:
        return -normal_quantile_of_lower_half(1.0 - p)
    return normal_quantile_of_lower_half(p)


@njit
def normal_quantile_of_lower_half(p: float) -> float:
    """Return the quantile of a p of at most 1/2."""
    if p == 0.5:
        return 0.0
    t = math.sqrt(-2.0 * math.log(p))
    fraction = (_C0 + t * (_C1 + t * _C2)) / (1.0 + t * (_D1 + t * (_D2 + t * _D3)))
    z = fraction - t
    for _ in range(_STEPS):
        error = 0.5 * math.erfc(-z / _SQRT_2) - p
        step = error * _SQRT_2_PI * math.exp(0.5 * z * z)
        z -= step / (1.0 + 0.5 * z * step)
    return z
