"""Copies of several arrays between host memory and a GPU."""

from __future__ import annotations

import numpy as np
import pytest

cupy = pytest.importorskip("cupy")
pytestmark = pytest.mark.gpu

LARGE = 1 << 24
SIZES = (
    (0, 0, 0),
    (1, 0, 300, 70_000),
    (LARGE - 1, 5, LARGE, LARGE + 1),
)


@pytest.mark.parametrize("sizes", SIZES, ids=str)
def test_arrays_are_the_same(sizes: tuple[int, ...]) -> None:
    from hapgpu.runtime.gpu.transfers import downloaded_together, uploaded_together  # noqa: PLC0415  (imports CuPy)

    rng = np.random.default_rng(1)
    dtypes = (np.uint8, np.int64, np.int32, np.uint32)
    arrays = [
        rng.integers(0, 100, size).astype(dtype) for size, dtype in zip(sizes, dtypes, strict=False)
    ]
    arrays[1] = np.repeat(arrays[1], 2)[::2]
    for _ in range(2):  # the second time with the memory of the first
        copies = uploaded_together(arrays)
        found = downloaded_together(copies)
        for array, copy, again in zip(arrays, copies, found, strict=True):
            assert copy.dtype == again.dtype == array.dtype
            np.testing.assert_array_equal(copy.get(), array)
            np.testing.assert_array_equal(again, array)


def test_arrays_may_change_after_the_return_unless_pinned() -> None:
    from hapgpu.runtime.gpu.context import pinned_array  # noqa: PLC0415  (imports CuPy)
    from hapgpu.runtime.gpu.transfers import uploaded_together  # noqa: PLC0415  (imports CuPy)

    usual, pinned = np.full(3_000_000, 7, np.uint8), pinned_array(3_000_000, np.uint8)
    pinned[:] = 9
    with cupy.cuda.Stream(non_blocking=True) as stream:
        copies = uploaded_together([usual, pinned[5:], usual[:70_000]])
        usual[:] = 0
        stream.synchronize()
        pinned[:] = 0
    assert (copies[0] == 7).all()
    assert (copies[1] == 9).all()
    assert (copies[2] == 7).all()


def test_no_arrays() -> None:
    from hapgpu.runtime.gpu.transfers import downloaded_together, uploaded_together  # noqa: PLC0415  (imports CuPy)

    assert uploaded_together([]) == []
    assert downloaded_together([]) == []
