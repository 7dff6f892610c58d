"""What a GPU can sort, told before it starts; needs no GPU."""

from __future__ import annotations

import numpy as np
import pytest

from hapgpu.errors import DeviceError
from hapgpu.shortread.index.suffixes.buckets import Buckets

cuda = pytest.importorskip("hapgpu.shortread.index.suffixes.cuda")
NAME = "cuda:0 (made)"


@pytest.mark.parametrize(
    ("bases", "needed"),
    [
        (1_000, 250 + 16 + 64_000),  # text, counts of its blocks, rows of a part
        (3_100_000_000, 775_000_000 + 8 * (3_100_000_000 // 8192 + 2) + (64 << 24)),
    ],
)
def test_memory(bases: int, needed: int) -> None:
    cuda.check_memory(bases, needed, NAME)
    with pytest.raises(DeviceError, match=rf"made\): too little free memory to index {bases:,} ba"):
        cuda.check_memory(bases, needed - 1, NAME)


def test_largest_bucket() -> None:
    def buckets(largest: int) -> Buckets:
        bounds = np.array([0, 5, 5 + largest, 7 + largest])
        return Buckets(62, np.zeros(2, np.int64), np.diff(bounds)[None], bounds)

    cuda.check_buckets(buckets(2**28 - 1), NAME)
    message = r"made\): 268,435,456 suffixes start with the same bases, .* use --device cpu"
    with pytest.raises(DeviceError, match=message):
        cuda.check_buckets(buckets(2**28), NAME)
