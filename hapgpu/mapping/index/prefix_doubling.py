"""The sorted suffixes of a text, by sorting arrays of numbers: made for the GPU.

All suffixes are sorted by their first 32 bases. Those still tied are sorted by the rank of what
follows their 32 bases, which makes 64, and so on (Manber & Myers 1993, with the sorted ones left
out as by Larsson & Sadakane 2007): rounds grow with the logarithm of the longest repeat.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from hapgpu.mapping.index.bwt import words
from hapgpu.mapping.index.encoding import XpArray

MAX_SYMBOLS: Final = 2**31 - 64
BYTES_PER_SYMBOL: Final = 60
"""Memory that is in use at the most, most of it by the first sort."""

_FIRST_WIDTH: Final = 32


def sort_suffixes(text: XpArray, xp: Any) -> XpArray:
    """Sort the suffixes of a text, the empty one included; a shorter one comes first.

    Parameters
    ----------
    text
        uint8[n], codes from 0 to 3, n from 1 to `MAX_SYMBOLS`.
    xp
        The module of the array.

    Returns
    -------
    uint32[n + 1]: the place in the text where the suffix of each row begins; row 0 has n.
    """
    suffixes = xp.empty(text.size + 1, dtype=np.uint32)
    suffixes[0] = text.size
    ranks = xp.empty(text.size, dtype=np.uint32)
    places = xp.arange(text.size, dtype=np.uint32)
    rows = places + np.uint32(1)
    keys = words(text, _FIRST_WIDTH, np.uint64, xp)
    width = _FIRST_WIDTH
    while places.size:
        order = xp.argsort(keys)
        keys, places = keys[order], places[order]
        del order
        is_first = xp.ones(keys.size, dtype=np.bool_)
        is_first[1:] = keys[1:] != keys[:-1]
        group = xp.cumsum(is_first, dtype=np.uint32) - np.uint32(1)
        suffixes[rows] = places
        ranks[places] = rows[is_first][group]
        is_tied = ~is_first
        is_tied[:-1] |= ~is_first[1:]
        rows, places = rows[is_tied], places[is_tied]
        keys = _keys(places, ranks, width, xp)
        width *= 2
    return suffixes


def _keys(places: XpArray, ranks: XpArray, width: int, xp: Any) -> XpArray:
    """uint64: the rank of each suffix above that of the suffix `width` places on.

    Beyond the end, ranks go on falling by one a place: of two suffixes that agree but for filling,
    the shorter one is less. As a suffix is tied only while half of `width` lies within the text,
    they never fall below minus the size (in the first round minus the width).
    """
    size = ranks.size
    following = places.astype(np.int64) + width
    inside = ranks[xp.minimum(following, size - 1)].astype(np.int64)
    second = xp.where(following < size, inside, size - following) + (size + _FIRST_WIDTH)
    return ranks[places].astype(np.uint64) << np.uint64(32) | second.astype(np.uint64)
