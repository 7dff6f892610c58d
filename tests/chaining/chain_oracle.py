"""Chains of ready-made anchors by the rules of minimap2, in plain Python: slow and short."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from hypothesis import strategies as st

from hapgpu.chaining.batches import Anchors, Chains
from hapgpu.chaining.options import ChainOptions
from hapgpu.chaining.rules import JoinRules, join_rules
from tests.chaining.test_radix_order import moved

Scores = tuple[list[int], list[int]]
"""Score and predecessor of each anchor."""


class Anchor(NamedTuple):
    """A k-mer of the read on a strand of a reference sequence, by the places of its last base."""

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
    """What the long join takes: `JoinRules` without its tables."""

    max_distance: int = 20_000
    inner_distance: int = 1000
    most_candidates: int = 100_000
    bandwidth: int = 20_000
    max_skip: int = 25
    min_count: int = 3
    min_score: int = 40

    def rules(self, k: int) -> JoinRules:
        made = join_rules(ChainOptions(bandwidth=-1, long_bandwidth=self.bandwidth), k)
        assert made is not None
        return replace(made, **vars(self))


def in_order(anchors: Sequence[Anchor]) -> list[Anchor]:
    """Sort anchors by x as minimap2 does."""
    order = moved([(anchor.x, place) for place, anchor in enumerate(anchors)])
    return [anchors[place] for _, place in order]


def cost(gap: int, k: int) -> int:
    """Cost of a gap between diagonals; minimap2 computes it in single precision."""
    if gap == 0:
        return 0
    single = np.float32
    slope = single(float(single(0.8)) * 0.01 * k)
    fraction, exponent = np.frexp(single(gap + 1))  # the fraction is from 0.5 to 1
    m = single(fraction * 2)
    logarithm = single(exponent - 1 - 1) + (
        (single(-0.34484843) * m + single(2.02466578)) * m - single(0.67487759)
    )
    return int(slope * single(gap) + single(0.5) * logarithm)


def gain(before: Anchor, after: Anchor, k: int) -> tuple[int, int]:
    """Return what a chain gains by a step, and the gap between the diagonals."""
    along, ahead = after.target - before.target, after.query - before.query
    gap = abs(along - ahead)
    return min(before.span, along, ahead) - cost(gap, k), gap


class Search:
    """The best predecessor of one anchor, and when to give up looking for it."""

    def __init__(self, least: int, max_skip: int) -> None:
        self.best, self.predecessor = least, -1
        self.skipped, self.max_skip = 0, max_skip
        self.marked: set[int] = set()

    def gives_up_at(self, j: int, score: int, before: int) -> bool:
        if score > self.best:
            self.best, self.predecessor = score, j
            self.skipped = max(self.skipped - 1, 0)
        elif j in self.marked:
            self.skipped += 1
            if self.skipped > self.max_skip:
                return True
        self.marked.add(before)
        return False


class _Chaining:
    """The recursion over the anchors of one read, which are in order."""

    def __init__(self, anchors: Sequence[Anchor], options: ChainOptions, k: int) -> None:
        self.anchors, self.options, self.k = anchors, options, k
        self.reach = max(options.max_gap, options.bandwidth)
        self.f: list[int] = []
        self.p: list[int] = []
        self.peak = -1
        for i in range(len(anchors)):
            self._append(i)

    def _append(self, i: int) -> None:
        first = max(0, i - self.options.max_iterations)
        near = [j for j in range(i - 1, first - 1, -1) if self._is_near(i, j)]
        search = Search(self.anchors[i].span, self.options.max_skip)
        stopped = self._visit(i, near, search)
        if self.peak < 0 or not self._is_near(i, self.peak):
            self.peak = max(near, key=lambda j: self.f[j], default=-1)
        if 0 <= self.peak < stopped:
            score = self._step(i, self.peak)
            if score is not None and score > search.best:
                search.best, search.predecessor = score, self.peak
        self.f.append(search.best)
        self.p.append(search.predecessor)
        if self.peak < 0 or self.f[self.peak] < self.f[i]:
            self.peak = i

    def _visit(self, i: int, near: list[int], search: Search) -> int:
        """Return where the visit ended: at an anchor, or beyond the last one."""
        for j in near:
            score = self._step(i, j)
            if score is not None and search.gives_up_at(j, score, self.p[j]):
                return j
        return near[-1] - 1 if near else i - 1

    def _is_near(self, i: int, j: int) -> bool:
        a, b = self.anchors[i], self.anchors[j]
        return a.sequence == b.sequence and a.target - b.target <= self.reach

    def _step(self, i: int, j: int) -> int | None:
        a, b = self.anchors[i], self.anchors[j]
        gained, gap = gain(b, a, self.k)
        ahead = a.query - b.query
        if not 0 < ahead <= self.reach or a.target == b.target or gap > self.options.bandwidth:
            return None
        return self.f[j] + gained


def chain_scores(anchors: Sequence[Anchor], options: ChainOptions, k: int) -> Scores:
    """Score the anchors of one read, which are in order."""
    chaining = _Chaining(anchors, options, k)
    return chaining.f, chaining.p


def trace(
    anchors: Sequence[Anchor], scores: Scores, max_drop: int, min_count: int, min_score: int
) -> list[Chain]:
    """Trace the chains of one read."""
    f, p = scores
    ends = moved([(score, i) for i, score in enumerate(f) if score >= min_score])
    taken: set[int] = set()
    chains: list[Chain] = []
    for score, end in reversed(ends):
        if end in taken:
            continue
        walk = [end]
        while walk[-1] >= 0 and (len(walk) == 1 or walk[-1] not in taken):
            walk.append(p[walk[-1]])
        left = [score - (f[i] if i >= 0 else 0) for i in walk]
        peak = 0
        for place in range(1, len(walk)):
            if left[place] > left[peak]:
                peak = place
            elif left[peak] - left[place] > max_drop:
                break
        taken.update(walk[:peak])
        if left[peak] >= min_score and peak >= max(min_count, 1):
            chains.append(Chain(left[peak], [anchors[i] for i in reversed(walk[:peak])]))
    order = moved([(chain.anchors[0].x, place) for place, chain in enumerate(chains)])
    return [chains[place] for _, place in order]


def join(chains: list[Chain], length: int, numbers: Join, k: int) -> list[Chain]:
    """Join the chains of one read over long gaps."""
    if len(chains) < 2:
        return chains
    covered = chains[0].anchors[-1].query - chains[0].anchors[0].query
    if length - covered <= 1000 and np.float32(covered) <= np.float32(length) * np.float32(0.1):
        return chains
    anchors = in_order([anchor for chain in chains for anchor in chain.anchors])
    scores = join_scores(anchors, numbers, k)
    return trace(anchors, scores, numbers.bandwidth, numbers.min_count, numbers.min_score)


def join_scores(anchors: Sequence[Anchor], numbers: Join, k: int) -> Scores:
    half_slope = 0.5 * float(np.float32(float(np.float32(0.8)) * 0.01 * k))
    f: list[int] = []
    p: list[int] = []

    def candidates(i: int, distance: int) -> list[int]:
        a = anchors[i]
        before = [j for j in range(i) if anchors[j].x < a.x]
        least = len(before) - numbers.most_candidates
        return [
            j
            for j in before
            if j >= least
            and anchors[j].sequence == a.sequence
            and a.target - anchors[j].target <= distance
        ]

    def priority(j: int) -> float:
        return f[j] + half_slope * (anchors[j].target + anchors[j].query)

    for i, a in enumerate(anchors):
        search = Search(a.span, numbers.max_skip)
        open_to = [
            j
            for j in candidates(i, numbers.max_distance)
            if a.query - numbers.max_distance < anchors[j].query < a.query
            or (j == 0 and anchors[j].query == a.query)
        ]
        if open_to:
            j = max(open_to, key=priority)
            gained, gap = gain(anchors[j], a, k)
            if gap <= numbers.bandwidth and f[j] + gained > search.best:
                search.best, search.predecessor = f[j] + gained, j
            if gap or a.query - anchors[j].query > anchors[j].span:
                nearby = [
                    j
                    for j in candidates(i, numbers.inner_distance)
                    if a.query - numbers.inner_distance <= anchors[j].query < a.query
                ]
                for j in sorted(nearby, key=lambda j: (anchors[j].query, j), reverse=True):
                    gained, gap = gain(anchors[j], a, k)
                    if gap > numbers.bandwidth:
                        continue
                    if search.gives_up_at(j, f[j] + gained, p[j]):
                        break
        f.append(search.best)
        p.append(search.predecessor)
    return f, p


def to_batch(reads: Sequence[Sequence[Anchor]]) -> Anchors:
    """Put the anchors of reads into arrays."""
    x = np.array([anchor.x for read in reads for anchor in read], dtype=np.uint64)
    y = np.array([anchor.y for read in reads for anchor in read], dtype=np.uint64)
    return Anchors(x, y, np.cumsum([0, *map(len, reads)]))


def from_batch(anchors: Anchors) -> list[list[Anchor]]:
    """Take the anchors of reads out of arrays."""
    columns = (anchors.x >> 32, anchors.x & 0xFFFFFFFF, anchors.y & 0xFFFFFFFF, anchors.y >> 32)
    numbers: Any = zip(*(column.tolist() for column in columns), strict=True)
    flat = [
        Anchor(sequence, target, query, span & 255) for sequence, target, query, span in numbers
    ]
    return [flat[begin:end] for begin, end in pairwise(anchors.offsets.tolist())]


def chains_to_batch(reads: Sequence[Sequence[Chain]]) -> Chains:
    """Put the chains of reads into arrays."""
    flat = [chain for read in reads for chain in read]
    batch = to_batch([chain.anchors for chain in flat])
    scores = np.array([chain.score for chain in flat], dtype=np.int32)
    return Chains(batch.x, batch.y, batch.offsets, scores, np.cumsum([0, *map(len, reads)]))


def chains_from_batch(chains: Chains) -> list[list[Chain]]:
    """Take the chains of reads out of arrays."""
    anchors = from_batch(Anchors(chains.x, chains.y, chains.anchor_offsets))
    flat = [Chain(*pair) for pair in zip(chains.scores.tolist(), anchors, strict=True)]
    return [flat[begin:end] for begin, end in pairwise(chains.offsets.tolist())]


@st.composite
def made_reads(draw: st.DrawFn, longest: int = 40) -> list[list[Anchor]]:
    """Draw reads with few places and many diagonals, so that places and scores are often equal."""
    places = st.integers(0, draw(st.sampled_from([6, 40, 300])))
    steps = draw(st.sampled_from([1, 1, 7, 40]))
    anchor = st.builds(
        lambda sequence, target, query, span: Anchor(sequence, target * steps, query * steps, span),
        st.sampled_from([0, 0, 0, 1, 1 << 31, 1 << 31 | 1]),
        places,
        places,
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
