"""Made reads with deletions, insertions, inversions, duplications and errors, and their chains."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import accumulate, pairwise
from typing import Final, NamedTuple

import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray

from hapgpu.longread.align.batches import (
    LONG_JOIN,
    MAPPING,
    NO_PARENT,
    MappedAnchors,
    ReadCodes,
    TargetCodes,
)
from hapgpu.longread.batches import TANDEM
from tests.longread.align.pieces.reference import Anchor
from tests.longread.align.rounds.reference import AlignedMapping, Read

K: Final = 5
TARGET_LENGTH: Final = 900
PADDING: Final = 16
"""Codes before the first read and behind the last one."""

ERRORS: Final = {"exact": 0.0, "copy": 0.02, "noise": 0.4}
"""Fraction of bases with errors in the kinds of copies."""
KINDS: Final = ("copy", "noise", "delete", "insert", "invert", "repeat")


class Event(NamedTuple):
    """A stretch of a made read: its kind and its number of bases."""

    kind: str
    length: int


class Chain(NamedTuple):
    """A chain of a made read."""

    sequence: int
    is_reverse: bool
    score: int
    anchors: list[Anchor]


@dataclass(slots=True)
class Made:
    """A read, on its forward strand, with its chains."""

    codes: list[int] = field(default_factory=list)
    chains: list[Chain] = field(default_factory=list)


def reverse_complement(codes: Sequence[int]) -> list[int]:
    return [3 - code if code < 4 else code for code in reversed(codes)]


class _Walk:
    """A walk along a sequence, whose bases and anchors become a part of a read."""

    def __init__(self, target: list[int], at: int, draws: random.Random) -> None:
        self.target, self.at, self.random = target, at, draws
        self.codes: list[int] = []
        self.sources: list[int] = []
        """Position of each base on the target; -1 without one."""

    def go(self, event: Event) -> None:
        length = event.length
        if event.kind == "delete":
            self.at += length
        elif event.kind == "repeat":
            self.at = max(0, self.at - length)
        elif event.kind == "insert":
            self._add([self.random.randrange(4) for _ in range(length)], [-1] * length)
        elif event.kind == "invert":
            stretch = self.target[self.at : self.at + length]
            self._add(reverse_complement(stretch), [-1] * len(stretch))
            self.at += length
        else:
            self._copy(length, ERRORS[event.kind])

    def _add(self, codes: list[int], sources: list[int]) -> None:
        self.codes += codes
        self.sources += sources

    def _copy(self, length: int, errors: float) -> None:
        for at in range(self.at, min(self.at + length, len(self.target))):
            if self.random.random() < errors:
                self._add([self.random.randrange(5)], [-1])
            elif self.random.random() >= errors / 2:
                self._add([self.target[at]], [at])
        self.at += length

    def kmers(self) -> list[tuple[int, int]]:
        """Return last base and position on the target of the k-mers without errors."""
        ends = []
        for end in range(K - 1, len(self.codes)):
            sources = self.sources[end - K + 1 : end + 1]
            if sources[0] >= 0 and all(b == a + 1 for a, b in pairwise(sources)):
                ends.append((end, sources[-1]))
        return ends

    def anchors(self, sequence: int, shift: int, *, is_reverse: bool) -> list[Anchor]:
        """Return anchors that ascend, at some of the k-mers without errors."""
        found: list[Anchor] = []
        for end, target in self.kmers():
            ascends = not found or target > found[-1].target
            if ascends and self.random.random() < 0.3:
                is_tandem = self.random.random() < 0.1
                found.append(Anchor((is_reverse, sequence), shift + end, target, K, is_tandem))
        return found


def made_read(parts: Sequence[Sequence[Event]], targets: list[list[int]], seed: int) -> Made:
    """Make a read of one or more parts, each copied from a sequence and with a chain."""
    draws = random.Random(seed)  # noqa: S311  (no secret)
    walks = []
    for events in parts:
        sequence = draws.randrange(len(targets))
        walk = _Walk(targets[sequence], draws.randrange(TARGET_LENGTH // 3), draws)
        for event in events:
            walk.go(event)
        walks.append((sequence, draws.random() < 0.5, walk))
    made = Made()
    length = sum(len(walk.codes) for _, _, walk in walks)
    for sequence, is_reverse, walk in walks:
        end = len(made.codes) + len(walk.codes)
        shift = length - end if is_reverse else len(made.codes)
        made.codes += reverse_complement(walk.codes) if is_reverse else walk.codes
        anchors = walk.anchors(sequence, shift, is_reverse=is_reverse)
        if len(anchors) > 1:
            score = draws.randrange(20, 4000)
            made.chains.append(Chain(sequence, is_reverse, score, anchors))
    made.chains.sort(key=lambda chain: (chain.anchors[0].place, chain.anchors[0].target))
    return made


def exact_read(
    events: Sequence[Event], targets: list[list[int]], step: int, *, is_reverse: bool = False
) -> Made:
    """Make a read from the start of the first sequence, with an anchor at every `step` k-mers."""
    walk = _Walk(targets[0], 0, random.Random(1))  # noqa: S311  (no secret)
    for event in events:
        walk.go(event)
    anchors = [
        Anchor((is_reverse, 0), end, target, K)
        for end, target in walk.kmers()
        if target % step == 0
    ]
    codes = reverse_complement(walk.codes) if is_reverse else walk.codes
    return Made(codes, [Chain(0, is_reverse, 1000, anchors)])


def made_targets(seed: int) -> list[list[int]]:
    draws = random.Random(seed)  # noqa: S311  (no secret)
    return [[draws.randrange(4) for _ in range(TARGET_LENGTH)] for _ in range(2)]


@st.composite
def events(draw: st.DrawFn) -> list[Event]:
    """Draw stretches, with a copied one at each end."""
    inner = draw(st.lists(st.tuples(st.sampled_from(KINDS), st.integers(5, 90)), max_size=7))
    ends = [Event("copy", draw(st.integers(10, 90))) for _ in range(2)]
    return [ends[0], *(Event(*event) for event in inner), ends[1]]


def aligned_mappings(made: Made, parents: Sequence[int]) -> list[AlignedMapping]:
    """Return the mappings of the chains for the reference implementation."""
    mappings = []
    first = 0
    for number, chain in enumerate(made.chains):
        count = len(chain.anchors)
        mapping = AlignedMapping(
            *(chain.sequence, chain.is_reverse, first, count),
            *(chain.score, number, parents[number]),
        )
        mapping.matches = _matches(chain.anchors)
        mappings.append(mapping)
        first += count
    return mappings


def _matches(anchors: Sequence[Anchor]) -> int:
    return K + sum(min(K, b.query - a.query, b.target - a.target) for a, b in pairwise(anchors))


def anchors_of(made: Made) -> list[Anchor]:
    """Return copies of the anchors of all chains."""
    return [
        Anchor(each.place, each.query, each.target, each.span, each.is_tandem)
        for chain in made.chains
        for each in chain.anchors
    ]


def read_of(made: Made) -> Read:
    return Read(made.codes, reverse_complement(made.codes))


def read_codes(batch: Sequence[Made]) -> ReadCodes:
    both = [made.codes + reverse_complement(made.codes) for made in batch]
    padding = [0] * PADDING
    return ReadCodes(
        np.array(padding + [code for codes in both for code in codes] + padding, dtype=np.uint8),
        np.array(list(accumulate([PADDING, *map(len, both)]))[: len(both)], dtype=np.int64),
        np.array([len(made.codes) for made in batch], dtype=np.int32),
    )


def target_codes(targets: list[list[int]]) -> TargetCodes:
    lengths = np.array([len(target) for target in targets], dtype=np.int64)
    codes = np.array([code for target in targets for code in target], dtype=np.uint8)
    return TargetCodes(codes, np.cumsum(lengths) - lengths, lengths)


def mapped_anchors(batch: Sequence[Made]) -> MappedAnchors:
    anchors = [anchor for made in batch for anchor in anchors_of(made)]
    counts = [len(anchors_of(made)) for made in batch]
    x = [each.place[0] << 63 | each.place[1] << 32 | each.target for each in anchors]
    y = [each.is_tandem * TANDEM | each.span << 32 | each.query for each in anchors]
    assert not any(value & LONG_JOIN for value in y)
    return MappedAnchors(
        np.array(x, dtype=np.uint64), np.array(y, dtype=np.uint64), np.cumsum([0, *counts])
    )


def mapping_rows(batch: Sequence[Made], parents: Sequence[Sequence[int]]) -> NDArray[np.void]:
    """Return the mappings of the chains as rows."""
    rows = np.zeros(sum(len(made.chains) for made in batch), dtype=MAPPING)
    row = first = 0
    for read, made in enumerate(batch):
        for number, chain in enumerate(made.chains):
            mapping = rows[row]
            mapping["first_anchor"], mapping["anchors"] = first, len(chain.anchors)
            mapping["read"], mapping["sequence"] = read, chain.sequence
            mapping["is_reverse"] = chain.is_reverse
            mapping["score"] = mapping["first_score"] = chain.score
            mapping["matches"] = _matches(chain.anchors)
            mapping["number"], mapping["parent"] = number, parents[read][number]
            mapping["hash"] = row + 1000
            first += len(chain.anchors)
            row += 1
            mapping["next"] = row if number + 1 < len(made.chains) else NO_PARENT
    return rows
