"""Checks of anchors that a caller or a file provides."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from hapgpu.chaining.batches import SPAN_SHIFT, Anchors
from hapgpu.errors import InputError, UsageError

_POSITION: Final = np.uint64(2**32 - 1)
_MAX_INT: Final = 2**31 - 1
_SPAN: Final = np.uint64(255)
_SEGMENTS: Final = np.uint64(48)


def checked_anchors(x: NDArray[Any], y: NDArray[Any], offsets: NDArray[Any]) -> Anchors:
    """Return the anchors of n reads after checking every value.

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
        The offsets, the order of x within a read, a position or a span is invalid.
    """
    x, y = _column(x, "x", np.uint64), _column(y, "y", np.uint64)
    offsets = _column(offsets, "offsets", np.int64)
    if x.size != y.size:
        raise UsageError(f"x has {x.size:,} anchors, y {y.size:,}; give arrays of one length")
    _check_offsets(offsets, x.size)
    anchors = Anchors(x, y, offsets)
    is_descending = np.zeros(x.size, dtype=np.bool_)
    is_descending[1:] = x[1:] < x[:-1]
    starts = offsets[:-1]
    is_descending[starts[starts < x.size]] = False
    _refuse(
        anchors,
        is_descending,
        "has a smaller x than the anchor before; sort each read's anchors by x",
    )
    query, span = y & _POSITION, y >> np.uint64(SPAN_SHIFT) & _SPAN
    _refuse(anchors, x & _POSITION > _MAX_INT, "is beyond position 2**31 of the reference")
    _refuse(anchors, query > _MAX_INT, "is beyond position 2**31 of the read")
    _refuse(anchors, span == 0, "has no span; set bits 32 to 39 of y")
    _refuse(
        anchors,
        span > query + np.uint64(1),
        "starts before its read; y holds the position of the last base",
    )
    _refuse(anchors, y >> _SEGMENTS != 0, "has a segment number; clear bits 48 to 63 of y")
    return anchors


def _column(array: NDArray[Any], name: str, dtype: Any) -> NDArray[Any]:
    if not isinstance(array, np.ndarray) or array.dtype != dtype or array.ndim != 1:
        given = type(array).__name__
        if isinstance(array, np.ndarray):
            given = f"{array.dtype}, {array.ndim}-dimensional"
        raise UsageError(
            f"{name} is {given}; give a 1-dimensional NumPy array of {np.dtype(dtype)}"
        )
    return np.ascontiguousarray(array)


def _check_offsets(offsets: NDArray[np.int64], anchors: int) -> None:
    if not offsets.size or offsets[0] != 0 or offsets[-1] != anchors:
        raise InputError(
            f"the offsets do not go from 0 to {anchors:,}, the number of anchors; give n + 1"
            " offsets for n reads"
        )
    if (offsets[1:] < offsets[:-1]).any():
        read = int(np.argmax(offsets[1:] < offsets[:-1]))
        raise InputError(f"read {read}: the offsets decrease; give ascending offsets")
    if np.diff(offsets).max(initial=0) > _MAX_INT:
        raise InputError("a read has 2**31 anchors or more; split the read")


def _refuse(anchors: Anchors, is_bad: NDArray[np.bool_], fault: str) -> None:
    """Raise InputError that names the first anchor with a fault, if there is one."""
    if not is_bad.any():
        return
    anchor = int(is_bad.argmax())
    read = int(np.searchsorted(anchors.offsets, anchor, side="right")) - 1
    raise InputError(f"read {read}: anchor {anchor - int(anchors.offsets[read])} {fault}")
