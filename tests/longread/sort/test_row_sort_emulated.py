"""Rows sorted by the kernels, run on the CPU, against the CPU's own sort."""

from __future__ import annotations

import numpy as np
import pytest

from hapgpu.arrays.ragged import offsets_of
from hapgpu.longread.seed.radix_sort import radix_sort
from tests.emulation.emulator import emulate
from tests.longread.sort.made_keys import KEYS


@pytest.mark.parametrize("keys", KEYS)
@pytest.mark.parametrize("sizes", [[], [0, 1, 64, 0, 63], [65, 66, 0, 129, 700], [3, 3000, 64]])
@pytest.mark.parametrize("some", [False, True])
def test_rows_are_sorted_as_on_the_cpu(
    sizes: list[int], keys: str, some: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("cupy")
    from hapgpu.longread.cuda import row_sort  # noqa: PLC0415  (imports CuPy)

    emulate(monkeypatch, row_sort)
    offsets = offsets_of(np.array(sizes, dtype=np.int64))
    columns = KEYS[keys](np.random.default_rng(len(sizes)), int(offsets[-1]))
    numbers = np.arange(columns.size, dtype=np.uint64)
    unsorted = np.array(sizes, dtype=np.int32)
    if some:  # every other row is sorted already, and stays
        for row in range(0, len(sizes), 2):
            columns[offsets[row] : offsets[row + 1]].sort()
            unsorted[row] = 0
    found_keys, found_numbers = row_sort.sorted_rows(
        columns.copy(), numbers.astype(np.uint32), offsets, unsorted
    )
    for row in range(len(sizes)):
        if unsorted[row]:
            radix_sort(columns, numbers, offsets[row], offsets[row + 1])
    np.testing.assert_array_equal(found_keys, columns)
    np.testing.assert_array_equal(found_numbers, numbers)
