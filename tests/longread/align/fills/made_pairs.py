"""Pairs of sequences in the arrays that the compiled functions take."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.ragged_view import columns_of
from hapgpu.longread.align.batches import Pieces, ReadCodes, SequenceCodes, TargetCodes

Codes = NDArray[np.uint8]


def packed(pairs: Iterable[tuple[Codes, Codes]]) -> tuple[Pieces, SequenceCodes]:
    """Return pairs of a query and a target as `align_fills` takes them."""
    (queries, *query_spans), (targets, *target_spans) = map(_joined, zip(*pairs, strict=True))
    target_starts, target_lengths = target_spans
    count = query_spans[0].size
    unused = np.zeros(count, np.int32)
    pieces = Pieces(np.zeros(count, np.uint8), *query_spans, *target_spans, unused, unused)
    reads = ReadCodes(queries, *query_spans)
    references = TargetCodes(targets, target_starts, target_lengths.astype(np.int64))
    return columns_of(Pieces, pieces), SequenceCodes.of(reads, references)


def _joined(sequences: Iterable[Codes]) -> tuple[NDArray[np.generic], ...]:
    lengths = np.array([sequence.size for sequence in sequences], np.int32)
    starts = np.cumsum(lengths, dtype=np.int64) - lengths
    return np.concatenate(sequences).astype(np.uint8), starts, lengths


def mutated(generator: np.random.Generator, target: Codes, rate: float) -> Codes:
    """Return a copy of a sequence with single-base errors, and sometimes a long gap."""
    query: list[int] = []
    for base in target:
        kind = generator.random() / rate
        if kind < 0.3:
            query.append(int(base + generator.integers(1, 4)) % 4)
        elif kind < 0.6:
            query.extend((int(base), int(generator.integers(4))))
        elif kind >= 1:
            query.append(int(base))
    if generator.random() < 0.2 and len(query) > 60:
        start = int(generator.integers(len(query) - 50))
        del query[start : start + int(generator.integers(50))]
    return np.array(query, np.uint8)
