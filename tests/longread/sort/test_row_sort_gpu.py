"""Rows sorted on a GPU, byte by byte, against the sort of one row on the CPU."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from hapgpu.arrays.ragged import offsets_of
from hapgpu.longread.seed.radix_sort import radix_sort
from tests.longread.sort.made_keys import KEYS

cupy = pytest.importorskip("cupy")
pytestmark = pytest.mark.gpu

SIZES = {
    "small rows": [0, 1, 2, 63, 64, 0, 64, 1],
    "around the insertion sort": [65, 66, 0, 127, 128, 129, 255, 256, 257],
    "one large row": [40_000],
    "large rows between small rows": [10, 30_000, 64, 0, 500, 65, 9_000, 3],
    "no row": [],
    "empty rows": [0, 0],
}


@pytest.mark.parametrize("keys", KEYS.values(), ids=KEYS.keys())
@pytest.mark.parametrize("sizes", SIZES.values(), ids=SIZES.keys())
@pytest.mark.parametrize("some", [False, True])
def test_rows_are_sorted_as_on_the_cpu(sizes: list[int], keys: object, some: bool) -> None:
    from hapgpu.longread.cuda.row_sort import sorted_rows  # noqa: PLC0415  (imports CuPy)

    random = np.random.default_rng(len(sizes))
    offsets = offsets_of(np.array(sizes, dtype=np.int64))
    columns: NDArray[np.uint64] = keys(random, int(offsets[-1]))  # type: ignore[operator]
    numbers = np.arange(columns.size, dtype=np.uint64)
    unsorted = np.array(sizes, dtype=np.int32)
    if some:  # every other row is sorted already, and stays
        for row in range(0, len(sizes), 2):
            columns[offsets[row] : offsets[row + 1]].sort()
            unsorted[row] = 0
    on_gpu = (columns, numbers.astype(np.uint32), offsets, unsorted)
    found_keys, found_numbers = sorted_rows(*map(cupy.asarray, on_gpu))
    for row in range(len(sizes)):
        if unsorted[row]:
            radix_sort(columns, numbers, offsets[row], offsets[row + 1])
    np.testing.assert_array_equal(found_keys.get(), columns)
    np.testing.assert_array_equal(found_numbers.get(), numbers)
