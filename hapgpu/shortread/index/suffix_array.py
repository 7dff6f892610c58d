"""Suffix sorting: with libdivsufsort on the CPU, and by prefix doubling on a GPU.

Prefix doubling sorts an array of numbers in each round. All suffixes are sorted by their first 32
bases. Tied suffixes are then sorted by the rank of the suffix that follows their 32 bases, which
makes 64 bases, and so on (Manber & Myers 1993, without the suffixes sorted already, as in Larsson &
Sadakane 2007). The number of rounds grows with the logarithm of the longest repeat.
"""

from __future__ import annotations

import os
from types import ModuleType
from typing import Final

import numpy as np
import pydivsufsort
from numpy.typing import NDArray
from pydivsufsort.dll import libdivsufsort

from hapgpu.shortread.index.bwt import kmers
from hapgpu.shortread.index.encoding import XpArray

_OMP_PAUSE_SOFT: Final = 1  # as in omp.h


def sort_suffixes(text: NDArray[np.uint8]) -> NDArray[np.uint32]:
    """Sort the suffixes of a text, the empty suffix included; a prefix of a suffix comes first.

    Parameters
    ----------
    text
        uint8[n], n at least 1.

    Returns
    -------
    uint32[n + 1]: the text position of the suffix in each row; row 0 has n.
    """
    suffixes = np.empty(text.size + 1, dtype=np.uint32)
    suffixes[0] = text.size
    suffixes[1:] = pydivsufsort.divsufsort(text)
    return suffixes


def _end_threads() -> None:
    """End the threads that OpenMP keeps for the next sort in this thread.

    A forked process does not have these threads, and its first sort would wait for them for ever.
    """
    pause = getattr(libdivsufsort, "omp_pause_resource_all", None)  # missing without OpenMP
    if pause is not None:
        pause(_OMP_PAUSE_SOFT)


os.register_at_fork(before=_end_threads)


MAX_SYMBOLS: Final = 2**31 - 64
BYTES_PER_SYMBOL: Final = 60
"""Peak memory, most of it used by the first sort."""

_FIRST_WIDTH: Final = 32


def double_prefixes(text: XpArray, xp: ModuleType) -> XpArray:
    """Sort the suffixes of a text, the empty suffix included; a prefix of a suffix comes first.

    Parameters
    ----------
    text
        uint8[n], codes from 0 to 3, n from 1 to `MAX_SYMBOLS`.
    xp
        The module of the array.

    Returns
    -------
    uint32[n + 1]: the text position of the suffix in each row; row 0 has n.
    """
    suffixes = xp.empty(text.size + 1, dtype=np.uint32)
    suffixes[0] = text.size
    ranks = xp.empty(text.size, dtype=np.uint32)
    offsets = xp.arange(text.size, dtype=np.uint32)
    rows = offsets + np.uint32(1)
    keys = kmers(text, _FIRST_WIDTH, np.uint64, xp)
    width = _FIRST_WIDTH
    while offsets.size:
        order = xp.argsort(keys)
        keys, offsets = keys[order], offsets[order]
        del order
        is_first = xp.ones(keys.size, dtype=np.bool_)
        is_first[1:] = keys[1:] != keys[:-1]
        group = xp.cumsum(is_first, dtype=np.uint32) - np.uint32(1)
        suffixes[rows] = offsets
        ranks[offsets] = rows[is_first][group]
        is_tied = ~is_first
        is_tied[:-1] |= ~is_first[1:]
        rows, offsets = rows[is_tied], offsets[is_tied]
        keys = _keys(offsets, ranks, width, xp)
        width *= 2
    return suffixes


def _keys(offsets: XpArray, ranks: XpArray, width: int, xp: ModuleType) -> XpArray:
    """Return uint64: the rank of each suffix, above the rank of the suffix `width` bases later.

    After the end of the text, ranks decrease by one per base: of two suffixes that differ in
    padding only, the shorter one is less. A suffix is tied only while half of `width` lies within
    the text, so ranks never fall below minus the size (in the first round minus the width).
    """
    size = ranks.size
    following = offsets.astype(np.int64) + width
    inside = ranks[xp.minimum(following, size - 1)].astype(np.int64)
    second = xp.where(following < size, inside, size - following) + (size + _FIRST_WIDTH)
    return ranks[offsets].astype(np.uint64) << np.uint64(32) | second.astype(np.uint64)
