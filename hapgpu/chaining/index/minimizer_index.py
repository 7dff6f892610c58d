"""The minimizers of a reference, to be looked up."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from hapgpu.chaining.options import SketchOptions

MIX: Final = 0x9E3779B97F4A7C15
"""An odd number near 2**64 / 1.618: a product modulo 2**64 with it spreads and loses nothing."""


@dataclass(frozen=True, slots=True, eq=False, weakref_slot=True)
class MinimizerIndex:
    """Where each minimizer of a reference occurs.

    Window minima have small hashes; `hash * MIX` modulo 2**64 is spread evenly, so its highest
    bits tell nearly where in the ascending `entries` it stands.

    Attributes
    ----------
    names
        Of the n reference sequences.
    lengths
        int64[n], each below 2**31.
    sketch
        What the minimizers were made with.
    directory
        uint32[2**bits + 1], bits >= 1: entry i of `entries` with `hash * MIX >> (64 - bits) == b`
        has `directory[b] <= i < directory[b + 1]`.
    directory_bits
        The bits.
    entries
        uint64[2 (d + 1)]: hash * MIX of each of the d distinct minimizers, ascending, each
        followed by the place of its first hit; the last pair is 2**64 - 1 and the number of hits.
    hits
        uint64[h]: sequence << 32 | position << 1 | strand, ascending for each minimizer.
    fasta_bytes, fasta_sha256
        Size and digest of the FASTA file, as `digest_fasta` gives them.
    """

    names: tuple[str, ...]
    lengths: NDArray[np.int64]
    sketch: SketchOptions
    directory: NDArray[np.uint32]
    directory_bits: int
    entries: NDArray[np.uint64]
    hits: NDArray[np.uint64]
    fasta_bytes: int
    fasta_sha256: bytes
