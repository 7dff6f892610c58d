"""Anchors that come from outside: checked before anything is done with them."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from hapgpu.chaining.batches import SPAN_SHIFT, Anchors
from hapgpu.errors import InputError, UsageError

_POSITION: Final = np.uint64(2**32 - 1)
_LARGEST: Final = 2**31 - 1
_SPAN: Final = np.uint64(255)
_SEGMENTS: Final = np.uint64(48)


def checked_anchors(x: NDArray[Any], y: NDArray[Any], offsets: NDArray[Any]) -> Anchors:
    """Return anchors of n reads, if they are such.

    Parameters
    ----------
    x, y
        uint64[a], as in `Anchors`.
    offsets
        int64[n + 1].

    Raises
    ------
    UsageError
        An array has another dtype or shape.
    InputError
        The numbers in them are not those of anchors: the offsets, the order of x within a read,
        a position or a span.
    """
    x, y = _column(x, "x", np.uint64), _column(y, "y", np.uint64)
    offsets = _column(offsets, "offsets", np.int64)
    if x.size != y.size:
        raise UsageError(f"x has {x.size:,} anchors, y {y.size:,}")
    _check_offsets(offsets, x.size)
    anchors = Anchors(x, y, offsets)
    falls = np.zeros(x.size, dtype=np.bool_)
    falls[1:] = x[1:] < x[:-1]
    starts = offsets[:-1]
    falls[starts[starts < x.size]] = False
    _refuse(anchors, falls, "has a smaller x than the one before: sort them within each read")
    query, span = y & _POSITION, y >> np.uint64(SPAN_SHIFT) & _SPAN
    _refuse(anchors, x & _POSITION > _LARGEST, "lies beyond position 2**31 of the reference")
    _refuse(anchors, query > _LARGEST, "lies beyond position 2**31 of the read")
    _refuse(anchors, span == 0, "has no span (bits 32 to 39 of y)")
    _refuse(anchors, span > query + np.uint64(1), "begins before its read (y is the last base)")
    _refuse(anchors, y >> _SEGMENTS != 0, "is of a second segment (bits 48 on of y)")
    return anchors


def _column(array: NDArray[Any], name: str, dtype: Any) -> NDArray[Any]:
    if not isinstance(array, np.ndarray) or array.dtype != dtype or array.ndim != 1:
        given = type(array).__name__
        if isinstance(array, np.ndarray):
            given = f"{array.dtype}, {array.ndim}-dimensional"
        raise UsageError(f"{name} is {given}: give a NumPy array of {np.dtype(dtype)}, flat")
    return np.ascontiguousarray(array)


def _check_offsets(offsets: NDArray[np.int64], anchors: int) -> None:
    if not offsets.size or offsets[0] != 0 or offsets[-1] != anchors:
        raise InputError(f"the offsets do not go from 0 to {anchors:,}, the number of anchors")
    if (offsets[1:] < offsets[:-1]).any():
        read = int(np.argmax(offsets[1:] < offsets[:-1]))
        raise InputError(f"the offsets fall at read {read}")
    if np.diff(offsets).max(initial=0) > _LARGEST:
        raise InputError("a read has 2**31 anchors or more")


def _refuse(anchors: Anchors, is_bad: NDArray[np.bool_], fault: str) -> None:
    """Raise InputError that tells the first anchor with a fault, if there is one."""
    if not is_bad.any():
        return
    place = int(is_bad.argmax())
    read = int(np.searchsorted(anchors.offsets, place, side="right")) - 1
    raise InputError(f"read {read}: anchor {place - int(anchors.offsets[read])} {fault}")
