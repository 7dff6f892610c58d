"""Anchors in compiled functions, and the fields of their words."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.bytes import Integer
from hapgpu.chaining.batches import SPAN_SHIFT
from hapgpu.runtime.jit import njit_inlined

_POSITION: Final = np.uint64(0xFFFFFFFF)
_SPAN: Final = np.uint64(0xFF)
_SHIFT: Final = np.uint64(SPAN_SHIFT)


class AnchorArrays(NamedTuple):
    """`MappedAnchors` for compiled code; only the flags in `y` are written."""

    x: NDArray[np.uint64]
    y: NDArray[np.uint64]
    offsets: NDArray[np.int64]


@njit_inlined
def query_of(anchors: AnchorArrays, anchor: Integer) -> Any:
    """Return the position of the last base in the read, on the strand of the mapping."""
    return np.int64(anchors.y[anchor] & _POSITION)


@njit_inlined
def target_of(anchors: AnchorArrays, anchor: Integer) -> Any:
    """Return the position of the last base in the reference sequence."""
    return np.int64(anchors.x[anchor] & _POSITION)


@njit_inlined
def span_of(anchors: AnchorArrays, anchor: Integer) -> Any:
    """Return the number of bases in the read."""
    return np.int64(anchors.y[anchor] >> _SHIFT & _SPAN)


@njit_inlined
def is_beside(anchors: AnchorArrays, one: Integer, other: Integer) -> Any:
    """Return whether two anchors have the same strand and reference sequence."""
    return anchors.x[one] >> _SHIFT == anchors.x[other] >> _SHIFT


@njit_inlined
def has_flag(anchors: AnchorArrays, anchor: Integer, flags: int) -> Any:
    """Return whether any of some bits is set."""
    return anchors.y[anchor] & np.uint64(flags) != 0


@njit_inlined
def set_flag(anchors: AnchorArrays, anchor: Integer, flag: int) -> None:
    """Set a bit."""
    anchors.y[anchor] |= np.uint64(flag)
