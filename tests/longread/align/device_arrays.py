"""Batches of base alignment copied to a device, real or emulated, and back."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Upload: TypeAlias = Callable[[NDArray[Any]], Any]
"""Copies an array to the device: `cupy.asarray`, or a function that leaves it where it is."""


def uploaded(batch: Any, upload: Upload) -> Any:
    """Copy an array, the arrays of a batch, or the batches in it; records become int64 words."""
    if isinstance(batch, tuple):
        copies = (uploaded(each, upload) for each in batch)
        return batch._make(copies) if hasattr(batch, "_make") else tuple(copies)
    if batch.dtype.names:
        words = batch.dtype.itemsize // 8
        batch = batch.copy().view(np.int64).reshape(batch.size, words)
    return upload(batch)


def downloaded(array: Any) -> NDArray[Any]:
    """Copy an array to the host, if it is not there."""
    return array.get() if hasattr(array, "get") else array  # type: ignore[no-any-return]


def records(words: Any, dtype: np.dtype[Any]) -> NDArray[np.void]:
    """Return the records of rows of int64 words."""
    return np.ascontiguousarray(downloaded(words)).view(dtype).reshape(-1)
