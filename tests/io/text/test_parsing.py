"""Decimals are read as C's `(float) strtod()` reads them, or not at all."""

from __future__ import annotations

from decimal import Decimal

import numpy as np
from hypothesis import example, given, settings
from hypothesis import strategies as st

from hapgpu.arrays.bytes import Integer
from hapgpu.arrays.memory import memory_of
from hapgpu.io.text.parsing import read_float32
from hapgpu.runtime.jit import njit
from tests.example_counts import many
from tests.io.sam_texts import decimals


@njit
def read(text: np.ndarray[tuple[int], np.dtype[np.uint8]]) -> tuple[Integer, Integer]:
    return read_float32(memory_of(text), np.int64(0))


def float_of(text: str) -> np.float32 | None:
    """Return the number, or None if it is not read."""
    data = np.frombuffer(f"{text}\n".encode(), dtype=np.uint8)
    bits, end = read(data)
    assert end in {-1, len(text)}
    return None if end < 0 else np.uint32(bits & 0xFFFFFFFF).view(np.float32)


def expected(text: str) -> np.float32:
    with np.errstate(over="ignore"):
        return np.float64(float(text)).astype(np.float32)


@settings(max_examples=many(10_000))
@given(decimals())
@example("3.4028235677973366e38")
@example("1e-46")
@example("7.006492321624085e-46")
@example("-0.0")
@example("0.00000000000000000000000000000000000000000000000001")
def test_decimals(text: str) -> None:
    value = float_of(text)
    assert value is None or value.tobytes() == expected(text).tobytes()


@given(st.floats(width=32, allow_nan=False, allow_infinity=False))
def test_printed_floats_are_read(value: float) -> None:
    for text in (f"{value:.9g}", f"{value:.6g}", f"{value:.3f}"):
        found = float_of(text)
        assert found is not None
        assert found.tobytes() == expected(text).tobytes()


@settings(max_examples=many(3000))
@given(st.integers(1, 0x7F7FFFFE), st.integers(-2, 2), st.integers(0, 45))
def test_decimals_near_the_middle_of_two_floats(bits: int, units: int, digits: int) -> None:
    low, high = (np.uint32(bits + k).view(np.float32) for k in range(2))
    middle = (Decimal(float(low)) + Decimal(float(high))) / 2
    text = f"{middle + units * Decimal(10) ** (middle.adjusted() - digits):.60e}"
    value = float_of(text)
    assert value is None or value.tobytes() == expected(text).tobytes()
