"""Settings of the allocator of the C library."""

from __future__ import annotations

import ctypes
from typing import Final

# Parameters of `mallopt` of glibc.
_TRIM_THRESHOLD: Final = -1
_MMAP_THRESHOLD: Final = -3

_LARGEST_KEPT: Final = 32 << 20
"""Bytes of the largest arrays that are kept, which is also the limit of glibc on 64-bit systems."""
_NEVER: Final = 2**31 - 1


def keep_freed_memory() -> None:
    """Keep memory that is freed for later arrays, in this process and in those it forks later.

    Else each batch of arrays is returned to the system and taken again, page by page, and the
    system clears each page: with many processes, this takes as long as some stages.
    """
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)  # glibc only
    if mallopt is not None:
        mallopt(_MMAP_THRESHOLD, _LARGEST_KEPT)
        mallopt(_TRIM_THRESHOLD, _NEVER)
