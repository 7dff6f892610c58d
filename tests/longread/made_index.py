"""Minimizer indexes with given occurrences, and minimizers with given keys."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from hapgpu.longread.batches import Minimizers
from hapgpu.longread.index.minimizer_index import MinimizerIndex
from hapgpu.longread.options import SketchOptions
from tests.longread.index.reference import Index, Occurrence
from tests.longread.sketch.reference import Minimizer

MIX = 0x9E3779B97F4A7C15


def index_of(occurrences: Mapping[int, Sequence[int]], bits: int = 4) -> MinimizerIndex:
    """Return an index of hashes and occurrences (sequence << 32 | position << 1 | strand)."""
    entries: list[int] = []
    listed: list[int] = []
    mixed = sorted((hash_ * MIX % 2**64, hash_) for hash_ in occurrences)
    for product, hash_ in mixed:
        entries += [product, len(listed)]
        listed += sorted(occurrences[hash_])
    entries += [2**64 - 1, len(listed)]
    firsts = [product >> (64 - bits) for product, _ in mixed]
    directory = np.searchsorted(firsts, np.arange(2**bits + 1))
    return MinimizerIndex(
        names=("made",),
        lengths=np.array([2**31 - 1]),
        sketch=SketchOptions(),
        directory=directory.astype(np.uint32),
        directory_bits=bits,
        entries=np.array(entries, dtype=np.uint64),
        occurrences=np.array(listed, dtype=np.uint64),
        fasta_bytes=0,
        fasta_digest=bytes(32),
    )


def minimizers_of(reads: Sequence[Sequence[tuple[int, int, int]]]) -> Minimizers:
    """Make minimizers of (hash, span, position << 1 | strand)."""
    rows = [row for read in reads for row in read]
    return Minimizers(
        keys=np.array([hash_ << 8 | span for hash_, span, _ in rows], dtype=np.uint64),
        positions=np.array([stranded for _, _, stranded in rows], dtype=np.uint32),
        offsets=np.cumsum([0, *map(len, reads)]),
    )


def plain_index_of(occurrences: Mapping[int, Sequence[int]]) -> Index:
    """Return the same index for the reference implementation."""
    return Index(
        names=["made"],
        lengths=[2**31 - 1],
        sketch=SketchOptions(),
        occurrences={
            hash_: [Occurrence(word >> 32, word % 2**32 >> 1, word & 1) for word in sorted(words)]
            for hash_, words in occurrences.items()
        },
    )


def plain_minimizers_of(read: Sequence[tuple[int, int, int]]) -> list[Minimizer]:
    """Make the same minimizers of a read for the reference implementation."""
    return [Minimizer(hash_, span, stranded >> 1, stranded & 1) for hash_, span, stranded in read]


def lengths_of(reads: Sequence[Sequence[tuple[int, int, int]]]) -> NDArray[np.int32]:
    """Return lengths of reads that end ten bases after their last minimizer."""
    ends = [read[-1][2] // 2 + 10 if read else 0 for read in reads]
    return np.array(ends, dtype=np.int32)
