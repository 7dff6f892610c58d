"""Minimizer index: the minimizers of a reference, for look-up."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from hapgpu.longread.options import SketchOptions

MIX: Final = 0x9E3779B97F4A7C15
"""An odd number near 2**64 / 1.618: multiplication modulo 2**64 spreads keys and is invertible."""


@dataclass(frozen=True, slots=True, eq=False, weakref_slot=True)
class MinimizerIndex:
    """Occurrences of each minimizer of a reference.

    Minimizers have small hashes; `hash * MIX` modulo 2**64 is spread evenly, so its highest bits
    give nearly the row in the ascending `entries`.

    Attributes
    ----------
    names
        Names of the n reference sequences.
    lengths
        int64[n], each below 2**31.
    sketch
        Options of the minimizers.
    directory
        uint32[2**bits + 1], bits >= 1: entry i of `entries` with `hash * MIX >> (64 - bits) == b`
        has `directory[b] <= i < directory[b + 1]`.
    directory_bits
        The number of bits.
    entries
        uint64[2 (d + 1)]: hash * MIX of each of the d distinct minimizers, ascending, each
        followed by the row of its first occurrence; the last pair is 2**64 - 1 and h.
    occurrences
        uint64[h]: sequence << 32 | position << 1 | strand, ascending per minimizer.
    fasta_bytes, fasta_digest
        Size and digest of the FASTA file, as `digest_fasta` gives them.
    """

    names: tuple[str, ...]
    lengths: NDArray[np.int64]
    sketch: SketchOptions
    directory: NDArray[np.uint32]
    directory_bits: int
    entries: NDArray[np.uint64]
    occurrences: NDArray[np.uint64]
    fasta_bytes: int
    fasta_digest: bytes
