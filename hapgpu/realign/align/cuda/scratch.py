"""Scratch memory of the warps of a launch."""

from __future__ import annotations

from typing import Final

from hapgpu.runtime.devices import CudaDevice

_SMALL_WORDS: Final = 1 << 24


def affordable_warps(words: int, warps: int, device: CudaDevice) -> int:
    """Return how many warps, of those wanted, have scratch memory of a number of 32-bit words.

    The GPU is not asked for its memory where little is needed: that takes longer than to align a
    few pairs.
    """
    if device.memory_limit is None and words * warps <= _SMALL_WORDS:
        return warps
    return device.memory_budget() // 4 // words
