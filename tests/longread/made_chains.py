"""Made-up chains of reads, and the seeds of their anchors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from hapgpu.longread.batches import Chains, Seeds

REVERSE = 1 << 63  # minimap2's mm128_t.x
SPAN_SHIFT = 32  # minimap2's mm128_t.y
TANDEM = 1 << 42  # minimap2's MM_SEED_TANDEM

Anchor: TypeAlias = tuple[int, int]
ScoredChain: TypeAlias = tuple[int, list[Anchor]]

SEQUENCES = 3
_MIN_LENGTH = 200
_MARGIN = 60  # longer than any span


@dataclass(frozen=True)
class MadeChains:
    """Chains, seeds and int32[n] lengths of reads."""

    chains: Chains
    seeds: Seeds
    lengths: NDArray[np.int32]


def made_chains(seed: int, reads: int, width: int) -> MadeChains:
    """Make reads with up to 40 chains each, within `width` bases of a reference.

    The smaller the width, the more chains cross each other and the more anchors share a position.
    Some spans vary, as with homopolymer compression.
    """
    generator = np.random.default_rng(seed)
    lengths = generator.choice([_MIN_LENGTH, 1500, 5000, 30_000], reads)
    made = [_chains_of_read(generator, int(length), width) for length in lengths]
    seeds = [
        _seeds_of_read(generator, chains, int(length))
        for chains, length in zip(made, lengths, strict=True)
    ]
    return MadeChains(_batch(made), _seeds(seeds), lengths.astype(np.int32))


def _chains_of_read(generator: np.random.Generator, length: int, width: int) -> list[ScoredChain]:
    count = int(generator.choice([0, 1, 2, 3, 5, 12, 40]))
    varies = generator.random() < 0.3
    chains = [_chain(generator, length, width, varies=varies) for _ in range(count)]
    return sorted((chain for chain in chains if chain[1]), key=lambda chain: chain[1][0][0])


def _chain(generator: np.random.Generator, length: int, width: int, *, varies: bool) -> ScoredChain:
    max_step = int(generator.choice([1, 5, 20, 100]))
    query = int(generator.integers(_MARGIN, length))
    target = int(generator.integers(_MARGIN, width))
    is_reverse = generator.random() < 0.2
    sequence = int(generator.integers(0, SEQUENCES)) if generator.random() < 0.2 else 0
    strand = (REVERSE if is_reverse else 0) | sequence << 32
    anchors = []
    for _ in range(int(generator.choice([1, 3, 20, 70, 200]))):
        if query >= length:
            break
        span = int(generator.integers(15, _MARGIN)) if varies and not is_reverse else 15
        flag = TANDEM if generator.random() < 0.1 else 0
        anchors.append((strand | target, flag | span << SPAN_SHIFT | query))
        step = int(generator.integers(1, max_step + 1))
        is_even = generator.random() < 0.9
        query += step
        target += step if is_even else int(generator.integers(1, max_step + 1))
    return int(generator.integers(40, 60 + 10 * len(anchors))), anchors


def _seeds_of_read(
    generator: np.random.Generator, chains: list[ScoredChain], length: int
) -> dict[int, int]:
    """Return spans by position in the read on its forward strand."""
    spans = {int(position): 15 for position in generator.integers(15, length, 20)}
    for _, anchors in chains:
        for x, y in anchors:
            span, query = y >> SPAN_SHIFT & 255, y & 0xFFFFFFFF
            spans[length - 2 - query + span if x & REVERSE else query] = span
    return dict(sorted(spans.items()))


def _batch(reads: list[list[ScoredChain]]) -> Chains:
    chains = [chain for read in reads for chain in read]
    anchors = [anchor for _, own in chains for anchor in own]
    return Chains(
        x=np.array([x for x, _ in anchors], dtype=np.uint64),
        y=np.array([y for _, y in anchors], dtype=np.uint64),
        anchor_offsets=_offsets([len(own) for _, own in chains]),
        scores=np.array([score for score, _ in chains], dtype=np.int32),
        offsets=_offsets([len(read) for read in reads]),
    )


def _seeds(reads: list[dict[int, int]]) -> Seeds:
    positions = [position for read in reads for position in read]
    count = len(positions)
    return Seeds(
        positions=np.array(positions, dtype=np.uint32) << np.uint32(1),
        spans=np.array([span for read in reads for span in read.values()], dtype=np.uint8),
        is_tandem=np.zeros(count, dtype=np.uint8),
        first_occurrences=np.zeros(count, dtype=np.int64),
        occurrence_counts=np.ones(count, dtype=np.int32),
        offsets=_offsets([len(read) for read in reads]),
        repeat_lengths=np.arange(len(reads), dtype=np.int32),
    )


def _offsets(counts: list[int]) -> NDArray[np.int64]:
    return np.cumsum([0, *counts], dtype=np.int64)
