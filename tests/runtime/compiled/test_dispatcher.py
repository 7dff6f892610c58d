"""Compiled functions: calls from Python, and calls from compiled code."""

from __future__ import annotations

import numpy as np
import pytest

from hapgpu.runtime.jit import njit, njit_inlined


@njit
def _add(a: int, b: int) -> int:
    if b > 100:
        raise ValueError("too much")
    return a + b


@njit_inlined
def _sum(values: np.ndarray, first: int) -> int:
    total = first
    for value in values:
        total = _add(total, value)
    return total


@njit
def _twice(values: np.ndarray) -> int:
    return _sum(values, 0) + _sum(values, 1)


@njit
def _factorial(n: int) -> int:
    if n < 2:
        return 1
    return n * _factorial(n - 1)


def test_compiled_code_calls_compiled_code() -> None:
    assert _twice(np.arange(5)) == 21
    assert _sum(np.arange(5), 3) == 13
    assert _add(1, 2) == 3


def test_errors_of_inner_functions() -> None:
    with pytest.raises(ValueError, match="too much"):
        _twice(np.array([101]))


def test_numbers_in_the_source_need_no_versions() -> None:
    assert _twice(np.arange(2)) == 3
    assert len(_sum._linked.versions) <= 1  # none if _twice was in the cache
    assert not _twice._linked.versions


def test_recursion() -> None:
    assert _factorial(5) == 120
