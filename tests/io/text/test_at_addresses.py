"""Text written at addresses against Python's formatting."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from hypothesis import example, given
from hypothesis import strategies as st

from hapgpu.io.text.at_addresses import put_count_at, put_fraction, put_number_tag, tag_head

ROOM = 40


def text_of(put: Callable[..., int], *arguments: object) -> str:
    out = np.full(ROOM, ord("?"), dtype=np.uint8)
    at = out.ctypes.data
    end = put(at, *arguments)
    return out[: end - at].tobytes().decode()


@given(st.one_of(st.integers(0, 2**31), st.integers(0, 18).map(lambda k: 10**k)))
@example(10**19 - 1)
def test_counts(value: int) -> None:
    assert text_of(put_count_at, np.uint64(value)) == str(value)


@given(st.integers(-(2**31), 2**31 - 1))
def test_number_tags(value: int) -> None:
    assert text_of(put_number_tag, tag_head("AS", "i"), np.int64(value)) == f"\tAS:i:{value}"


@given(st.one_of(st.integers(1, 10**6), st.integers(1, 5000).map(lambda k: 20_000 * k)), st.data())
def test_fractions_of_counts(whole: int, data: st.DataObject) -> None:
    part = data.draw(st.one_of(st.integers(0, whole), st.integers(max(whole - 500, 0), whole)))
    value = 1.0 - part / whole
    assert text_of(put_fraction, value) == (f"{value:.4f}" if value else "0")


def test_halves() -> None:
    """Thousandths of five, of which some are a little less or more, and exact ones."""
    values = [1.0 - (2 * k + 1) / 20_000 for k in range(10_000)] + [k / 32 for k in range(1, 33)]
    assert [text_of(put_fraction, value) for value in values] == [f"{v:.4f}" for v in values]


@given(st.floats(0, 1, width=32))
def test_fractions_of_single_precision(value: float) -> None:
    assert text_of(put_fraction, value) == (f"{value:.4f}" if value else "0")
