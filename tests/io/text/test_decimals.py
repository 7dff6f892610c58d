"""Decimals against exact arithmetic."""

from __future__ import annotations

import math
import re
from decimal import Context, Decimal

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from hapgpu.io.text.decimals import put_decimal
from tests.example_counts import many
from tests.io.text.written import written

EXACT = Context(prec=1200)
UNITS_OFF = Decimal("0.50001")
LARGEST = float(np.finfo(np.float64).max)
MIN_NORMAL = float(np.finfo(np.float64).tiny)
LEAST = 5e-324


def decimal_text(value: float) -> str:
    return written(put_decimal, value)


def digits_of(text: str) -> str:
    return text.lstrip("-").partition("e")[0].replace(".", "").lstrip("0")


def check(value: float) -> None:
    text = decimal_text(value)
    exact = Decimal(value)
    tenth_digit = Decimal(1).scaleb(exact.adjusted() - 9)
    assert abs(EXACT.subtract(Decimal(text), exact)) <= UNITS_OFF * tenth_digit
    assert len(digits_of(text)) <= 10
    assert ("e" in text) == (abs(float(text)) < 1e-9 or abs(float(text)) >= 1e10)
    assert re.fullmatch(r"-?(0|[1-9]\d*)(\.\d*[1-9])?(e[+-]\d\d+)?", text)


@settings(max_examples=many(3000))
@given(st.floats(allow_nan=False, allow_infinity=False).filter(bool))
@example(LARGEST)
@example(MIN_NORMAL)
@example(LEAST)
@example(-LARGEST)
@example(-0.1)
@example(0.99999999999)
@example(9.9999999996e-10)
@example(9999999999.4)
@example(9999999999.6)
def test_any_magnitude(value: float) -> None:
    check(value)


@settings(max_examples=many(3000))
@given(st.floats(-10000, 0, exclude_max=True))
def test_likelihoods(value: float) -> None:
    check(value)


def neighbourhood(value: float) -> list[float]:
    around = (value, math.nextafter(value, math.inf), math.nextafter(value, 0.0))
    return [neighbour for neighbour in around if neighbour]


def test_powers_of_two_and_their_neighbours() -> None:
    for exponent in range(-1074, 1024):
        for value in neighbourhood(math.ldexp(1.0, exponent)):
            check(value)


def test_powers_of_ten_and_their_neighbours() -> None:
    for exponent in range(-323, 309):
        power = float(f"1e{exponent}")
        for value in neighbourhood(power):
            check(value)
        if power >= MIN_NORMAL:
            assert Decimal(decimal_text(power)) == Decimal(f"1e{exponent}")


@settings(max_examples=many(2000))
@given(st.integers(-(10**10) + 1, 10**10 - 1), st.integers(0, 9))
def test_ten_digits_come_back(mantissa: int, exponent: int) -> None:
    written = Decimal(mantissa).scaleb(-exponent)
    assert Decimal(decimal_text(float(written))) == written


def test_special_values() -> None:
    assert decimal_text(0.0) == decimal_text(-0.0) == "0"
    assert decimal_text(math.inf) == "inf"
    assert decimal_text(-math.inf) == "-inf"
    assert decimal_text(math.nan) == decimal_text(math.copysign(math.nan, -1)) == "nan"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (-1.0, "-1"),
        (-12.5, "-12.5"),
        (-1200.0, "-1200"),
        (-0.05, "-0.05"),
        (-1 / 3, "-0.3333333333"),
        (-2e-9 / 3, "-6.666666667e-10"),
        (-1.23456789012e-9, "-0.00000000123456789"),
        (-1.23456789123e-9, "-0.000000001234567891"),
        (1e10, "1e+10"),
        (1e100, "1e+100"),
        (1e-5, "0.00001"),
    ],
)
def test_notation(value: float, text: str) -> None:
    assert decimal_text(value) == text
