"""Encoding of a reference: codes of letters, bit planes, and the text to be indexed.

Every pass takes its array module, NumPy or CuPy, as `xp`: the index does not depend on the device
that built it. Temporary arrays are as long as a chunk, not as the reference.
"""

from __future__ import annotations

from collections.abc import Iterator
from types import ModuleType
from typing import Final, TypeAlias

import numpy as np

from hapgpu.runtime.gpu_array import GpuArray
from hapgpu.shortread.index.fm_index import BLOCK, ReferenceBases

OTHER: Final = 4
"""The code of letters other than A, C, G and T, whose codes are 0 to 3."""

CHUNK = 1 << 20
"""Symbols per chunk; a multiple of `BLOCK`."""

XpArray: TypeAlias = GpuArray
"""An array of NumPy or CuPy."""

_UPPER: Final = 0xDF  # clears the bit of lower case


def chunks(size: int, at_least: int = 0) -> Iterator[slice]:
    """Split a range into chunks; the last chunk may be shorter."""
    length = max(CHUNK, at_least)
    for start in range(0, size, length):
        yield slice(start, min(start + length, size))


def block_count(bases: int) -> int:
    """Return the number of blocks in the planes of `bases` bases, padding included."""
    return -(-bases // BLOCK) + 3


def encode(letters: XpArray, xp: ModuleType) -> XpArray:
    """Encode letters.

    Parameters
    ----------
    letters
        uint8[p], text of either case.
    xp
        The module of the array.

    Returns
    -------
    uint8[64 * block_count(p)]: codes, padded with `OTHER` as in `ReferenceBases`.
    """
    padded = xp.full(BLOCK * block_count(letters.size), OTHER, dtype=np.uint8)
    codes = unpadded(padded, letters.size)
    for part in chunks(letters.size):
        upper = letters[part] & np.uint8(_UPPER)
        is_base = (upper == ord("A")) | (upper == ord("C")) | (upper == ord("G"))
        is_base |= upper == ord("T")
        # Bits 1 and 2 of the ASCII codes of A, C, G and T give 0 to 3.
        code = ((upper >> 1) ^ (upper >> 2)) & np.uint8(3)
        codes[part] = xp.where(is_base, code, np.uint8(OTHER))
    return padded


def unpadded(padded: XpArray, bases: int) -> XpArray:
    """Return the codes of the bases alone, sharing memory."""
    return padded[BLOCK : BLOCK + bases]


def pack_bits(bits: XpArray, xp: ModuleType) -> XpArray:
    """Pack uint8 zeros and ones into uint64 words, the first into the lowest bit.

    The size must be a multiple of 64.
    """
    return xp.packbits(bits, bitorder="little").view(np.uint64)


def pack_bases(letters: XpArray, padded: XpArray, xp: ModuleType) -> ReferenceBases:
    """Pack the reference into bit planes for comparison with reads, in arrays of `xp`.

    Parameters
    ----------
    letters
        uint8[p], text of either case.
    padded
        Their codes, from `encode`.
    xp
        The module of the arrays.
    """
    planes = xp.empty((padded.size // BLOCK, 2), dtype=np.uint64)
    others = xp.empty(padded.size // BLOCK, dtype=np.uint64)
    for part in chunks(padded.size):
        codes = padded[part]
        blocks = slice(part.start // BLOCK, part.stop // BLOCK)
        planes[blocks, 0] = pack_bits(codes & np.uint8(1), xp)
        planes[blocks, 1] = pack_bits((codes >> 1) & np.uint8(1), xp)
        others[blocks] = pack_bits(codes >> 2, xp)
    positions = _other_letters(letters, unpadded(padded, letters.size), xp)
    return ReferenceBases(
        planes.reshape(-1), others, positions, letters[positions] & np.uint8(_UPPER)
    )


def _other_letters(letters: XpArray, codes: XpArray, xp: ModuleType) -> XpArray:
    """Return int64: the positions of letters other than A, C, G, T and N."""
    found = []
    for part in chunks(codes.size):
        is_named = (letters[part] & np.uint8(_UPPER)) != ord("N")
        found.append(xp.flatnonzero(is_named & (codes[part] == OTHER)) + part.start)
    return xp.concatenate(found).astype(np.int64)


def text_of(codes: XpArray) -> XpArray:
    """Return uint8[n]: the codes without `OTHER`; shares memory if there are none."""
    is_base = codes != OTHER
    return codes if bool(is_base.all()) else codes[is_base]
