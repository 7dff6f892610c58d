"""Minimizer indexes of given hits, and minimizers of given keys."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from hapgpu.chaining.batches import Minimizers
from hapgpu.chaining.index.minimizer_index import MinimizerIndex
from hapgpu.chaining.index.reference import Hit, Index
from hapgpu.chaining.options import SketchOptions
from hapgpu.chaining.sketch.reference import Minimizer

MIX = 0x9E3779B97F4A7C15


def index_of(hits: Mapping[int, Sequence[int]], bits: int = 4) -> MinimizerIndex:
    """Index hashes with their hits (sequence << 32 | position << 1 | strand)."""
    entries: list[int] = []
    places: list[int] = []
    mixed = sorted((hash_ * MIX % 2**64, hash_) for hash_ in hits)
    for product, hash_ in mixed:
        entries += [product, len(places)]
        places += sorted(hits[hash_])
    entries += [2**64 - 1, len(places)]
    firsts = [product >> (64 - bits) for product, _ in mixed]
    directory = np.searchsorted(firsts, np.arange(2**bits + 1))
    return MinimizerIndex(
        names=("made",),
        lengths=np.array([2**31 - 1]),
        sketch=SketchOptions(),
        directory=directory.astype(np.uint32),
        directory_bits=bits,
        entries=np.array(entries, dtype=np.uint64),
        hits=np.array(places, dtype=np.uint64),
        fasta_bytes=0,
        fasta_sha256=bytes(32),
    )


def minimizers_of(reads: Sequence[Sequence[tuple[int, int, int]]]) -> Minimizers:
    """Make minimizers of (hash, span, position << 1 | strand)."""
    rows = [row for read in reads for row in read]
    return Minimizers(
        keys=np.array([hash_ << 8 | span for hash_, span, _ in rows], dtype=np.uint64),
        places=np.array([place for _, _, place in rows], dtype=np.uint32),
        offsets=np.cumsum([0, *map(len, reads)]),
    )


def plain_index_of(hits: Mapping[int, Sequence[int]]) -> Index:
    """Index the same hits for the reference."""
    return Index(
        names=["made"],
        lengths=[2**31 - 1],
        sketch=SketchOptions(),
        hits={
            hash_: [Hit(word >> 32, word % 2**32 >> 1, word & 1) for word in sorted(words)]
            for hash_, words in hits.items()
        },
    )


def plain_minimizers_of(read: Sequence[tuple[int, int, int]]) -> list[Minimizer]:
    """Make the same minimizers of a read for the reference."""
    return [Minimizer(hash_, span, place >> 1, place & 1) for hash_, span, place in read]


def lengths_of(reads: Sequence[Sequence[tuple[int, int, int]]]) -> NDArray[np.int32]:
    """Return lengths of reads that end ten bases after their last minimizer."""
    ends = [read[-1][2] // 2 + 10 if read else 0 for read in reads]
    return np.array(ends, dtype=np.int32)
