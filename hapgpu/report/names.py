"""Digests of names, by which compiled code compares them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.bytes import Integer
from hapgpu.arrays.memory import load_u8_at
from hapgpu.arrays.ragged import Ragged
from hapgpu.runtime.jit import njit

_PRIME: Final = 0x100000001B3
_BASIS: Final = -3750763034362895579  # of FNV-1a, as a signed number


@njit
def name_digest(at: Integer, size: Integer) -> Integer:
    """Return the 64-bit digest (FNV-1a) of the bytes at an address."""
    digest = np.int64(_BASIS)
    for k in range(size):
        digest = (digest ^ np.int64(load_u8_at(at + k))) * np.int64(_PRIME)
    return digest


def digests_of(names: Sequence[str]) -> NDArray[np.int64]:
    """Return int64[n]: the digests of names."""
    text = Ragged.from_sequences(name.encode("utf-8", "surrogateescape") for name in names)
    out = np.empty(len(names), dtype=np.int64)
    _digest_rows(text.data, text.offsets, out)
    return out


@njit
def _digest_rows(
    data: NDArray[np.uint8], offsets: NDArray[np.int64], out: NDArray[np.int64]
) -> None:
    for row in range(out.size):
        out[row] = name_digest(data.ctypes.data + offsets[row], offsets[row + 1] - offsets[row])
