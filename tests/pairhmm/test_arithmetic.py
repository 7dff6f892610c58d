"""Logarithms and powers against Python's decimal arithmetic, and the fused multiply-add."""

from __future__ import annotations

import math
from decimal import Decimal, localcontext
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hapgpu.pairhmm.arithmetic import fma, log10_scaled, power_of_10
from hapgpu.runtime.jit import njit


@njit
def fused(a: Any, b: Any, c: Any) -> Any:
    return fma(a, b, c)


def exact_log10(value: float, exponent: int) -> float:
    with localcontext(prec=60):
        return float((Decimal(value) * Decimal(2) ** exponent).log10())


NORMAL = st.floats(np.finfo(np.float64).tiny, np.finfo(np.float64).max)


@given(NORMAL | st.floats(0.5, 2.0), st.integers(-10_000, 10_000) | st.just(0))
def test_logarithms(value: float, exponent: int) -> None:
    expected = exact_log10(value, exponent)
    assert log10_scaled(value, exponent) == pytest.approx(expected, rel=4e-16, abs=4e-16)
    mantissa, own = math.frexp(value)
    assert log10_scaled(mantissa, exponent + own) == log10_scaled(value, exponent)


def test_logarithms_of_powers_of_10() -> None:
    assert [log10_scaled(10.0**k, 0) for k in range(-5, 6)] == list(range(-5, 6))
    assert log10_scaled(0.5, 1) == 0.0


@given(st.floats(-300.0, 300.0) | st.floats(-4.5, 0.0))
def test_powers(exponent: float) -> None:
    with localcontext(prec=60):
        expected = float(Decimal(10) ** Decimal(exponent))
    assert power_of_10(exponent) == pytest.approx(expected, rel=1e-15 * (1 + abs(exponent)))


def test_the_power_of_0_is_1() -> None:
    assert power_of_10(0.0) == 1.0


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_multiply_adds_are_rounded_once(dtype: type[np.floating[Any]]) -> None:
    rng = np.random.default_rng(1)
    for _ in range(200):
        a, b = (dtype(value) for value in rng.uniform(0.5, 2.0, 2))
        c = dtype(-a * b)  # so that the difference is the rounding error of the product
        expected = Fraction(float(a)) * Fraction(float(b)) + Fraction(float(c))
        assert Fraction(float(fused(a, b, c))) == expected
