"""Copies of arrays to a GPU."""

from __future__ import annotations

import numpy as np
import pytest

cupy = pytest.importorskip("cupy")
pytestmark = pytest.mark.gpu

CHUNK = 8 << 20


@pytest.mark.parametrize("size", [0, 1, CHUNK - 1, CHUNK, CHUNK + 1, 9 * CHUNK + 5])
@pytest.mark.parametrize("dtype", [np.uint8, np.int32, np.uint64])
def test_uploaded_is_the_same_array(size: int, dtype: type[np.generic]) -> None:
    from hapgpu.runtime.gpu.staging import uploaded  # noqa: PLC0415  (imports CuPy)

    array = np.random.default_rng(size).integers(0, 200, size).astype(dtype)
    on_gpu = uploaded(array)
    assert on_gpu.dtype == array.dtype
    assert np.array_equal(on_gpu.get(), array)


@pytest.mark.parametrize("size", [0, 1, CHUNK - 1, CHUNK, CHUNK + 1, 9 * CHUNK + 5])
@pytest.mark.parametrize("dtype", [np.uint8, np.uint32])
def test_downloaded_is_the_same_array(size: int, dtype: type[np.generic]) -> None:
    from hapgpu.runtime.gpu.staging import downloaded  # noqa: PLC0415  (imports CuPy)

    array = np.random.default_rng(size).integers(0, 200, size).astype(dtype)
    out = np.empty(size + 2, dtype=dtype)
    downloaded(cupy.asarray(array), out[1:-1])
    assert np.array_equal(out[1:-1], array)
