"""Numbers copied from a GPU."""

from __future__ import annotations

import numpy as np
import pytest

pytestmark = pytest.mark.gpu


def test_last_values() -> None:
    import cupy  # noqa: PLC0415  (only where there is a GPU)

    from hapgpu.runtime.gpu.scalars import last_values  # noqa: PLC0415  (needs CuPy)

    arrays = [
        cupy.asarray(np.array(values, dtype=dtype))
        for values, dtype in [
            ([1, -2], np.int32),
            ([2**40], np.int64),
            ([3, 2**32 - 1], np.uint32),
            ([255], np.uint8),
        ]
    ]
    assert last_values(*arrays) == (-2, 2**40, 2**32 - 1, 255)
    assert last_values(arrays[1]) == (2**40,)
