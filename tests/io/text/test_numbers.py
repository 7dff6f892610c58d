"""Numbers as text read back as the same numbers."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from hapgpu.io.text.numbers import put_float, put_integer
from tests.example_counts import many

LONGEST_INTEGER = 20
LONGEST_FLOAT = 15


def integer_text(value: int) -> str:
    out = np.zeros(LONGEST_INTEGER, dtype=np.uint8)
    return out[: put_integer(out, 0, value)].tobytes().decode()


def float_text(value: float) -> str:
    out = np.zeros(LONGEST_FLOAT, dtype=np.uint8)
    return out[: put_float(out, 0, np.float32(value))].tobytes().decode()


@given(st.integers(-(2**63) + 1, 2**63 - 1))
@example(0)
@example(-1)
@example(-(2**63) + 1)
def test_integers(value: int) -> None:
    assert integer_text(value) == str(value)


@settings(max_examples=many(3000))
@given(st.floats(width=32, allow_nan=False))
@example(float(np.float32(1e-45)))
@example(float(np.float32(1.1754942e-38)))
@example(float(np.finfo(np.float32).max))
@example(-0.0)
@example(0.1)
@example(999999.5)
@example(9999995.0)
@example(80689904.0)
def test_floats_read_back(value: float) -> None:
    text = float_text(value)
    assert np.float32(float(text)).tobytes() == np.float32(value).tobytes()
    if np.float32(float(f"{value:.6g}")) == np.float32(value):
        assert text == f"{value:.6g}"


def test_not_a_number() -> None:
    assert float_text(float("nan")) == "nan"
    assert float_text(float("-inf")) == "-inf"


@pytest.mark.parametrize("exponent", range(-45, 39))
def test_powers_of_ten(exponent: int) -> None:
    value = np.float32(f"1e{exponent}")
    assert np.float32(float(float_text(float(value)))) == value
