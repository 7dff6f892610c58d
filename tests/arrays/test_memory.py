"""Memory of arrays: values against NumPy's, and accesses outside, which are refused if checked."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numba.core import config
from numba.core.errors import TypingError
from numpy.typing import NDArray

from hapgpu.arrays.memory import (
    copy_memory,
    memory_of,
    part_of,
    read_64,
    read_i32,
    read_u8,
    read_u16,
    read_u32,
    write_8,
    write_16,
    write_32,
    write_64,
)
from hapgpu.runtime.jit import njit

checked = pytest.mark.skipif(not config.BOUNDSCHECK, reason="indexes are not checked")


@njit
def read(data: NDArray[np.uint8], at: int) -> tuple[int, int, int, int, int]:
    memory = memory_of(data)
    numbers = read_u8(memory, at), read_u16(memory, at), read_u32(memory, at)
    return *numbers, read_i32(memory, at), read_64(memory, at)


@njit
def write(out: NDArray[np.uint8], at: int, width: int, value: int) -> None:
    memory = memory_of(out)
    if width == 1:
        write_8(memory, at, value)
    elif width == 2:
        write_16(memory, at, value)
    elif width == 4:
        write_32(memory, at, value)
    else:
        write_64(memory, at, value)


@njit
def copy_part(out: NDArray[np.uint8], to: int, data: NDArray[np.uint8], at: int, size: int) -> None:
    part = part_of(memory_of(data), at, size)
    copy_memory(memory_of(out), to, part, 0, size)


@given(st.binary(min_size=8, max_size=40), st.data())
def test_reads_need_no_alignment(text: bytes, data: st.DataObject) -> None:
    at = data.draw(st.integers(0, len(text) - 8))
    rest = text[at:]
    expected = [int.from_bytes(rest[:width], "little") for width in (1, 2, 4)]
    signed = [int.from_bytes(rest[:width], "little", signed=True) for width in (4, 8)]
    assert list(read(np.frombuffer(text, dtype=np.uint8), at)) == [*expected, *signed]


@given(st.sampled_from([1, 2, 4, 8]), st.integers(0, 12), st.integers(-(2**63), 2**63 - 1))
def test_writes_change_their_bytes_only(width: int, at: int, value: int) -> None:
    out = np.full(20, 7, dtype=np.uint8)
    write(out, at, width, value)
    written = value.to_bytes(8, "little", signed=True)[:width]
    assert out.tobytes() == b"\7" * at + written + b"\7" * (20 - at - width)


@given(st.integers(0, 10), st.integers(0, 10), st.integers(0, 10))
def test_copies(to: int, at: int, size: int) -> None:
    data, out = np.arange(20, dtype=np.uint8), np.zeros(20, dtype=np.uint8)
    copy_part(out, to, data, at, size)
    assert out[to : to + size].tolist() == list(range(at, at + size))
    assert np.count_nonzero(out) == np.count_nonzero(data[at : at + size])


@checked
@pytest.mark.parametrize("at", [-1, 13, 20, 2**40, -(2**63), 2**63 - 1])
def test_an_access_outside_is_refused(at: int) -> None:
    array = np.zeros(20, dtype=np.uint8)
    with pytest.raises(IndexError, match="bytes outside of memory"):
        read(array, at)
    with pytest.raises(IndexError, match="bytes outside of memory"):
        write(array, at, 8, 1)


@checked
@pytest.mark.parametrize(("to", "at", "size"), [(0, 15, 6), (15, 0, 6), (0, 0, -1), (0, -1, 2)])
def test_a_copy_outside_is_refused(to: int, at: int, size: int) -> None:
    array = np.zeros(20, dtype=np.uint8)
    with pytest.raises(IndexError, match="bytes outside of memory"):
        copy_part(array, to, array.copy(), at, size)


def test_arrays_with_gaps_do_not_compile() -> None:
    with pytest.raises(TypingError, match="not a C-contiguous array"):
        read(np.zeros(40, dtype=np.uint8)[::2], 0)
