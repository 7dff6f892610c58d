"""Anchors: a seed of a read at one of the places of the reference where it occurs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from hapgpu.chaining.seeds.reference import Seed
from hapgpu.chaining.sort.reference import sort_ascending

_REVERSE_BIT: Final = 63
_TANDEM_BIT: Final = 42
_SPAN_SHIFT: Final = 32


class Anchor(NamedTuple):
    """A k-mer that a read shares with the reference.

    Attributes
    ----------
    is_reverse
        The read lies reverse-complemented on the reference.
    sequence
        Number of the reference sequence.
    target, query
        Where the k-mer ends in that sequence, and in the read; in the reverse-complemented read
        if `is_reverse`.
    span
        Bases of the read.
    is_tandem
        As that of the seed.
    """

    is_reverse: bool
    sequence: int
    target: int
    query: int
    span: int
    is_tandem: bool = False

    @property
    def x(self) -> int:
        """By which anchors are sorted: strand, sequence and position on it, in 64 bits."""
        return self.is_reverse << _REVERSE_BIT | self.sequence << 32 | self.target

    @property
    def y(self) -> int:
        """The rest, in 64 bits; of the anchors' order only its hash decides anything."""
        return self.is_tandem << _TANDEM_BIT | self.span << _SPAN_SHIFT | self.query


def anchors_of(seeds: Sequence[Seed], length: int) -> list[Anchor]:
    """Make the anchors of a read of `length` bases, sorted by `Anchor.x` as minimap2 sorts."""
    anchors = []
    for (_, span, position, strand), hits, is_tandem in seeds:
        first_base = position + 1 - span
        for hit in hits:
            is_reverse = hit.strand != strand
            query = length - 1 - first_base if is_reverse else position
            anchors.append(Anchor(is_reverse, hit.sequence, hit.position, query, span, is_tandem))
    return sort_ascending(anchors, key=lambda anchor: anchor.x)
