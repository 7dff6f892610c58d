"""Text in memory that grows, against Python's formatting."""

from __future__ import annotations

import numpy as np
from hypothesis import example, given
from hypothesis import strategies as st
from numpy.typing import NDArray

from hapgpu.arrays.memory import memory_of
from hapgpu.io.text import builder
from hapgpu.io.text.builder import (
    TextBuilder,
    built_text,
    put_all,
    put_count,
    put_four_decimals,
    put_number_tag,
    tag_head,
)
from tests.io.text.written import written


@given(st.one_of(st.integers(0, 2**31), st.integers(0, 18).map(lambda k: 10**k)))
@example(10**19 - 1)
def test_counts(value: int) -> None:
    assert written(put_count, np.uint64(value)) == str(value)


@given(st.integers(-(2**31), 2**31 - 1))
def test_number_tags(value: int) -> None:
    assert written(put_number_tag, tag_head("AS", "i"), np.int64(value)) == f"\tAS:i:{value}"


@given(st.one_of(st.integers(1, 10**6), st.integers(1, 5000).map(lambda k: 20_000 * k)), st.data())
def test_fractions_of_counts(whole: int, data: st.DataObject) -> None:
    part = data.draw(st.one_of(st.integers(0, whole), st.integers(max(whole - 500, 0), whole)))
    value = 1.0 - part / whole
    assert written(put_four_decimals, value) == (f"{value:.4f}" if value else "0")


def test_halves() -> None:
    """Thousandths of five, of which some are a little less or more, and exact ones."""
    values = [1.0 - (2 * k + 1) / 20_000 for k in range(10_000)] + [k / 32 for k in range(1, 33)]
    assert [written(put_four_decimals, value) for value in values] == [f"{v:.4f}" for v in values]


@given(st.floats(0, 1, width=32))
def test_fractions_of_single_precision(value: float) -> None:
    assert written(put_four_decimals, value) == (f"{value:.4f}" if value else "0")


def test_a_text_without_room_is_written_again() -> None:
    content = np.arange(1000, dtype=np.uint8)
    sizes: list[int] = []

    def write(out: NDArray[np.uint8]) -> int:
        sizes.append(out.size)
        return put_all(memory_of(out), np.int64(0), memory_of(content))

    assert built_text(write, 10).tobytes() == content.tobytes()
    assert built_text(write, 1000).tobytes() == content.tobytes()
    assert sizes == [10 + builder.SLACK, 1000 + builder.SLACK, 1000 + builder.SLACK]


def test_expected_sizes_follow_the_texts() -> None:
    """Texts of more bytes per row than the first are written twice once, not each time."""
    build, calls = TextBuilder(1), []

    def write(out: NDArray[np.uint8]) -> int:
        calls.append(out.size)
        return 100_000

    assert [build(100, write).size for _ in range(3)] == [100_000] * 3
    assert len(calls) == 4
    assert build(0, lambda _out: 0).size == 0


def test_a_long_row_reserves_no_memory_for_many() -> None:
    build, sizes = TextBuilder(1), []

    def write(out: NDArray[np.uint8]) -> int:
        sizes.append(out.size)
        return 50_000_000

    build(1, write)
    build(10**6, write)
    assert max(sizes) <= 2 * 50_000_000 + builder.SLACK
