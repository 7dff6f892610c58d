"""Numbers as text read back as the same numbers."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from hapgpu.io.text.builder import put_integer
from hapgpu.io.text.numbers import put_float
from tests.example_counts import many
from tests.io.text.written import written


def float_text(value: float) -> str:
    return written(put_float, np.float32(value))


@given(
    st.one_of(
        st.integers(-(2**63), 2**63 - 1),
        st.integers(-1000, 1000),
        st.integers(0, 18).map(lambda k: 10**k),
    )
)
@example(0)
@example(-1)
@example(-(2**63))
def test_integers(value: int) -> None:
    assert written(put_integer, value) == str(value)


@pytest.mark.parametrize("kind", ["i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8"])
def test_integers_of_each_type(kind: str) -> None:
    limits = np.iinfo(kind)
    for value in (limits.min, min(limits.max, 10**19 - 1)):
        assert written(put_integer, np.dtype(kind).type(value)) == str(value)


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
