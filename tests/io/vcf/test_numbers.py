"""Numbers of INFO and FORMAT, against exact decimal arithmetic on the shortest decimal form."""

from __future__ import annotations

import math
from decimal import ROUND_HALF_UP, Decimal

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from hapgpu.io.vcf.numbers import put_double
from tests.io.text.written import written


def text_of(value: float) -> str:
    return written(put_double, value)


def oracle(value: float) -> str:
    """Write a number as HTSJDK's VCFEncoder does, by Java's rule of rounding."""
    exact = Decimal(repr(value))
    if abs(value) < 1e-20:
        return "0.00"
    if value >= 0.01:
        return f"{exact.quantize(Decimal('0.001' if value < 1 else '0.01'), ROUND_HALF_UP):f}"
    exponent = exact.adjusted()
    mantissa = exact.scaleb(-exponent).quantize(Decimal("0.001"), ROUND_HALF_UP)
    if abs(mantissa) == 10:
        mantissa, exponent = mantissa / 10, exponent + 1
    return f"{mantissa:.3f}e{exponent:+03d}"


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (1.805, "1.81"),
        (7.8125e-03, "7.813e-03"),
        (0.0625, "0.063"),
        (-0.223, "-2.230e-01"),
        (2.136, "2.14"),
        (0.0, "0.00"),
        (-0.0, "0.00"),
        (9.9e-21, "0.00"),
        (-9.9e-21, "0.00"),
        (1.0, "1.00"),
        (0.01, "0.010"),
        (0.005, "5.000e-03"),
        (0.9996, "1.000"),
        (-12.5, "-1.250e+01"),
        (-999.96, "-1.000e+03"),
        (-1e100, "-1.000e+100"),
        (math.nan, "NaN"),
        (math.inf, "Infinity"),
        (-math.inf, "-Infinity"),
    ],
)
def test_cases(value: float, expected: str) -> None:
    assert text_of(value) == expected


HALVES = st.tuples(st.integers(0, 10**7), st.integers(2, 9)).map(
    lambda t: (2 * t[0] + 1) / (2 * 10 ** t[1])
)
NUMBERS = st.one_of(
    st.floats(1e-19, 1e-3),
    st.floats(0, 2),
    st.floats(0, 1e6),
    st.floats(1e6, 4e12),
    HALVES,
    st.tuples(st.integers(1, 99), st.integers(100, 10**5)).map(lambda t: t[0] / t[1]),
)


@given(NUMBERS, st.sampled_from([-1.0, 1.0]))
@example(0.0009995, 1.0)
@example(9.9995, -1.0)
@example(1234.5, -1.0)
@example(12345.0, -1.0)
def test_any_number(size: float, sign: float) -> None:
    value = sign * size
    assert text_of(value) == oracle(value)


def test_many_fractions() -> None:
    """Fractions of small counts, such as AF: all ties of three digits are among them."""
    for total in range(1, 400):
        for count in range(total + 1):
            assert text_of(count / total) == oracle(count / total)
