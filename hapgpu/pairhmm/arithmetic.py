"""Logarithms and powers that have the same bits on every device.

Only IEEE operations, each rounded once: +, -, *, / and the fused multiply-add. The functions of
different libraries differ in the last bit. `cuda/common/arithmetic.cuh` has the same operations.
"""

from __future__ import annotations

import math
from typing import Any, Final

from numba.extending import intrinsic

from hapgpu.runtime.jit import njit

LOG10_OF_2: Final = math.log10(2.0)
_LOG2_OF_10: Final = math.log2(10.0)
_LOG_OF_2: Final = math.log(2.0)
_SQRT_2: Final = math.sqrt(2.0)

_C0, _C1, _C2, _C3, _C4, _C5, _C6, _C7, _C8, _C9, _C10 = (
    2.0 / math.log(10.0) / (2 * k + 1) for k in range(11)
)
"""log10(m) = sum of c_k s^(2k+1), s = (m - 1) / (m + 1). With m from 0.7 to 1.42, the next term is
below 1e-18."""

_E2, _E3, _E4, _E5, _E6, _E7, _E8, _E9, _E10, _E11, _E12, _E13 = (
    1.0 / math.factorial(k) for k in range(2, 14)
)
"""exp(t) = sum of e_k t^k. With t from -0.35 to 0.35, the next term is below 1e-17."""


def _fusing(_typing: Any, number: Any, _factor: Any, _summand: Any) -> Any:
    """Return a * b + c, rounded once; all of one floating-point type."""

    def generate(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        return builder.fma(*arguments)

    return number(number, number, number), generate


fma = intrinsic(_fusing)


@njit
def log10_scaled(value: float, exponent: int) -> float:
    """Return log10(value * 2**exponent) with an error of at most 1e-15 or one rounding.

    Parameters
    ----------
    value
        Normal, positive and finite.
    exponent
        Numbers that are equal, such as 2 * 2**3 and 4 * 2**2, give the same bits.
    """
    mantissa, own = math.frexp(value)
    mantissa, own = 2.0 * mantissa, own - 1
    if mantissa > _SQRT_2:
        mantissa, own = 0.5 * mantissa, own + 1
    s = (mantissa - 1.0) / (mantissa + 1.0)
    t = s * s
    total = fma(_C10, t, _C9)
    total = fma(total, t, _C8)
    total = fma(total, t, _C7)
    total = fma(total, t, _C6)
    total = fma(total, t, _C5)
    total = fma(total, t, _C4)
    total = fma(total, t, _C3)
    total = fma(total, t, _C2)
    total = fma(total, t, _C1)
    total = fma(total, t, _C0)
    return float(fma(float(own + exponent), LOG10_OF_2, s * total))


@njit
def power_of_10(exponent: float) -> float:
    """Return 10**exponent with a relative error of at most 1e-15 * (1 + |exponent|).

    Parameters
    ----------
    exponent
        From -300 to 300.
    """
    scaled = exponent * _LOG2_OF_10
    whole = math.floor(scaled + 0.5)
    t = (scaled - whole) * _LOG_OF_2
    total = fma(_E13, t, _E12)
    total = fma(total, t, _E11)
    total = fma(total, t, _E10)
    total = fma(total, t, _E9)
    total = fma(total, t, _E8)
    total = fma(total, t, _E7)
    total = fma(total, t, _E6)
    total = fma(total, t, _E5)
    total = fma(total, t, _E4)
    total = fma(total, t, _E3)
    total = fma(total, t, _E2)
    total = fma(total, t, 1.0)
    total = fma(total, t, 1.0)
    return math.ldexp(total, int(whole))
