"""Numbers with fixed decimals, against exact decimal arithmetic."""

from __future__ import annotations

from decimal import ROUND_HALF_UP, Decimal

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from hapgpu.io.text.numbers import put_fixed, put_scientific
from tests.io.text.written import written


def fixed(value: float, decimals: int) -> str:
    return written(put_fixed, value, np.int64(decimals))


def scientific(value: float) -> str:
    return written(put_scientific, value, np.int64(3))


def half_up(value: float, decimals: int) -> str:
    """Round halves of the shortest decimal away from zero."""
    return f"{Decimal(repr(value)).quantize(Decimal(10) ** -decimals, ROUND_HALF_UP):f}"


HALVES = st.tuples(st.integers(0, 10**9), st.integers(2, 5)).map(
    lambda t: (2 * t[0] + 1) / (2 * 10 ** t[1])
)
NUMBERS = st.one_of(st.floats(0, 1e6), st.floats(0, 1e-3), HALVES)


@given(NUMBERS, st.integers(1, 5), st.sampled_from([-1.0, 1.0]))
@example(0.0375, 3, 1.0)
@example(1.005, 2, 1.0)
@example(0.0004, 3, -1.0)
@example(999.9995, 3, 1.0)
def test_half_up(value: float, decimals: int, sign: float) -> None:
    signed = sign * value if value > 0 else value
    assert fixed(signed, decimals) == half_up(signed, decimals)


def test_zero_has_no_sign() -> None:
    assert fixed(-0.0, 3) == "0.000"


@given(st.one_of(st.floats(1e-9, 0.01), st.integers(101, 10**6).map(lambda n: 1 / n)))
def test_scientific(value: float) -> None:
    digits = Decimal(repr(value))
    exponent = digits.adjusted()
    mantissa = digits.scaleb(-exponent).quantize(Decimal("0.001"), ROUND_HALF_UP)
    if mantissa == 10:
        mantissa, exponent = Decimal("1.000"), exponent + 1
    assert scientific(value) == f"{mantissa}e{exponent:03d}"


@pytest.mark.parametrize(
    ("value", "expected"),
    [(0.005, "5.000e-03"), (0.0099996, "1.000e-02"), (1 / 128, "7.813e-03"), (0.001, "1.000e-03")],
)
def test_scientific_cases(value: float, expected: str) -> None:
    assert scientific(value) == expected
