"""Made-up anchors, and their scores and chains by the reference implementation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, Final, NamedTuple

import numpy as np
from hypothesis import strategies as st

from hapgpu.longread.batches import Anchors, Chains
from hapgpu.longread.options import ChainOptions
from hapgpu.longread.parameters import JoinParameters, chain_parameters, join_parameters
from tests.longread.anchors import reference
from tests.longread.chains import reference as chains_reference
from tests.longread.join.reference import joined
from tests.longread.scores import reference as scores_reference
from tests.longread.sort.reference import sort_ascending

STRAND: Final = 1 << 31
"""Added to the sequence number of an anchor on the reverse strand."""

Scores = tuple[list[int], list[int]]
"""Score and predecessor of each anchor."""


class Anchor(NamedTuple):
    """A k-mer of the read on a strand of a reference sequence; positions of its last base."""

    sequence: int
    target: int
    query: int
    span: int

    @property
    def x(self) -> int:
        return self.sequence << 32 | self.target

    @property
    def y(self) -> int:
        return self.span << 32 | self.query


class Chain(NamedTuple):
    score: int
    anchors: list[Anchor]


@dataclass(frozen=True)
class Join:
    """`JoinParameters` without its tables."""

    max_distance: int = 20_000
    inner_distance: int = 1000
    max_candidates: int = 100_000
    bandwidth: int = 20_000
    max_skip: int = 25
    min_count: int = 3
    min_score: int = 40

    def parameters(self, k: int) -> JoinParameters:
        made = join_parameters(ChainOptions(bandwidth=-1, long_bandwidth=self.bandwidth), k)
        assert made is not None
        return replace(made, **vars(self))


def in_order(anchors: Sequence[Anchor]) -> list[Anchor]:
    """Sort anchors by x as minimap2 does."""
    return sort_ascending(anchors, key=lambda anchor: anchor.x)


def plain(anchor: Anchor) -> reference.Anchor:
    """Return an anchor of the reference implementation."""
    is_reverse, sequence = bool(anchor.sequence & STRAND), anchor.sequence & ~STRAND
    return reference.Anchor(is_reverse, sequence, anchor.target, anchor.query, anchor.span)


def chain_scores(anchors: Sequence[Anchor], options: ChainOptions, k: int) -> Scores:
    """Score the sorted anchors of one read."""
    found = scores_reference.chain_scores([*map(plain, anchors)], chain_parameters(options, k), k)
    return found.scores, found.predecessors


def trace(anchors: Sequence[Anchor], found: Scores, options: ChainOptions) -> list[Chain]:
    """Trace the chains of one read."""
    parameters = chain_parameters(options, k=15)  # only for the gap costs
    return [
        *map(
            _made,
            chains_reference.chains_of(
                [*map(plain, anchors)], scores_reference.Scores(*found), parameters
            ),
        )
    ]


def join(given: list[Chain], length: int, numbers: Join, k: int) -> list[Chain]:
    """Join the chains of one read over long gaps."""
    read = [chains_reference.Chain(chain.score, [*map(plain, chain.anchors)]) for chain in given]
    return [*map(_made, joined(read, length, numbers.parameters(k), k))]


def _made(chain: chains_reference.Chain) -> Chain:
    return Chain(chain.score, [Anchor(a.x >> 32, *a[2:5]) for a in chain.anchors])


def to_batch(reads: Sequence[Sequence[Anchor]]) -> Anchors:
    """Convert anchors of reads to arrays."""
    x = np.array([anchor.x for read in reads for anchor in read], dtype=np.uint64)
    y = np.array([anchor.y for read in reads for anchor in read], dtype=np.uint64)
    return Anchors(x, y, np.cumsum([0, *map(len, reads)]))


def from_batch(anchors: Anchors) -> list[list[Anchor]]:
    """Convert arrays to anchors of reads."""
    columns = (anchors.x >> 32, anchors.x & 0xFFFFFFFF, anchors.y & 0xFFFFFFFF, anchors.y >> 32)
    numbers: Any = zip(*(column.tolist() for column in columns), strict=True)
    flat = [
        Anchor(sequence, target, query, span & 255) for sequence, target, query, span in numbers
    ]
    return [flat[start:end] for start, end in pairwise(anchors.offsets.tolist())]


def chains_to_batch(reads: Sequence[Sequence[Chain]]) -> Chains:
    """Convert chains of reads to arrays."""
    flat = [chain for read in reads for chain in read]
    batch = to_batch([chain.anchors for chain in flat])
    own = np.array([chain.score for chain in flat], dtype=np.int32)
    return Chains(batch.x, batch.y, batch.offsets, own, np.cumsum([0, *map(len, reads)]))


def chains_from_batch(batch: Chains) -> list[list[Chain]]:
    """Convert arrays to chains of reads."""
    anchors = from_batch(Anchors(batch.x, batch.y, batch.anchor_offsets))
    flat = [Chain(*pair) for pair in zip(batch.scores.tolist(), anchors, strict=True)]
    return [flat[start:end] for start, end in pairwise(batch.offsets.tolist())]


@st.composite
def made_reads(draw: st.DrawFn, longest: int = 40) -> list[list[Anchor]]:
    """Draw reads with few positions and many diagonals, and so many ties."""
    positions = st.integers(0, draw(st.sampled_from([6, 40, 300])))
    steps = draw(st.sampled_from([1, 1, 7, 40]))
    anchor = st.builds(
        lambda sequence, target, query, span: Anchor(sequence, target * steps, query * steps, span),
        st.sampled_from([0, 0, 0, 1, STRAND, STRAND | 1]),
        positions,
        positions,
        st.sampled_from([15, 15, 15, 1, 40, 255]),
    )
    return [
        in_order(read) for read in draw(st.lists(st.lists(anchor, max_size=longest), max_size=3))
    ]


@st.composite
def colinear_reads(draw: st.DrawFn) -> list[list[Anchor]]:
    """Draw reads of one or two copies of a noisy diagonal."""
    reads = []
    for seed in draw(st.lists(st.integers(0, 2**32 - 1), min_size=1, max_size=2)):
        generator = np.random.default_rng(seed)
        count = int(generator.integers(1, 120))
        queries = np.sort(generator.integers(20, 20 + 6 * count, count))
        shifts = np.cumsum(generator.integers(-2, 3, count))
        copies = generator.choice([0, 0, 0, 200, 3000], count)
        targets = np.maximum(queries + shifts + copies + 100, 0)
        spans = generator.choice([15, 15, 19], count)
        rows = zip(targets.tolist(), queries.tolist(), spans.tolist(), strict=True)
        reads.append(in_order([Anchor(0, *row) for row in rows]))
    return reads
