"""Reference implementation of anchors: each seed of a read at each of its occurrences."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from tests.longread.seeds.reference import Seed
from tests.longread.sort.reference import sort_ascending

_REVERSE_BIT: Final = 63
_TANDEM_BIT: Final = 42
_SPAN_SHIFT: Final = 32


class Anchor(NamedTuple):
    """A k-mer that a read shares with the reference.

    Attributes
    ----------
    is_reverse
        The read maps to the reverse strand of the reference.
    sequence
        Number of the reference sequence.
    target, query
        Positions of the last base of the k-mer in the sequence and in the read; in the
        reverse-complemented read if `is_reverse`.
    span
        Number of bases of the k-mer in the read.
    is_tandem
        `Seed.is_tandem`.
    """

    is_reverse: bool
    sequence: int
    target: int
    query: int
    span: int
    is_tandem: bool = False

    @property
    def x(self) -> int:
        """The sort key in 64 bits: strand, sequence and position on the sequence."""
        return self.is_reverse << _REVERSE_BIT | self.sequence << 32 | self.target

    @property
    def y(self) -> int:
        """Flags, span and position in the read in 64 bits; its hash breaks ties between chains."""
        return self.is_tandem << _TANDEM_BIT | self.span << _SPAN_SHIFT | self.query


def anchors_of(seeds: Sequence[Seed], length: int) -> list[Anchor]:
    """Return the anchors of a read of `length` bases, sorted by `Anchor.x` as minimap2 sorts."""
    anchors = []
    for (_, span, position, strand), occurrences, is_tandem in seeds:
        first_base = position + 1 - span
        for occurrence in occurrences:
            is_reverse = occurrence.strand != strand
            query = length - 1 - first_base if is_reverse else position
            anchors.append(
                Anchor(is_reverse, occurrence.sequence, occurrence.position, query, span, is_tandem)
            )
    return sort_ascending(anchors, key=lambda anchor: anchor.x)
