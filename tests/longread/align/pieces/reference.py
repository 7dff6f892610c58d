"""Reference implementation of the pieces to align of a mapping (minimap2 2.30)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from hapgpu.longread.align.batches import FILL, LEFT, RIGHT
from hapgpu.longread.align.parameters import AlignParameters, AlignScoring

_MIN_GAP: Final = 10
_MIN_CANCELLED: Final = 40
_MAX_STEPS: Final = 10
_MIN_LONG_GAP: Final = 30


class Point(NamedTuple):
    """A position in the read, on the strand of the mapping, and in the reference sequence."""

    query: int
    target: int


class Interval(NamedTuple):
    """Half-open range of bases."""

    start: int
    end: int

    @property
    def length(self) -> int:
        """Number of bases."""
        return self.end - self.start


@dataclass(slots=True)
class Anchor:
    """A k-mer that a read shares with the reference, and what is found out about it.

    Attributes
    ----------
    place
        Strand and number of the reference sequence.
    query, target, span, is_tandem
        As in the reference implementation of anchors.
    is_ignored
        The anchor is no cut point.
    is_long_join
        The gap before the anchor is long; it is always a cut point.
    """

    place: tuple[bool, int]
    query: int
    target: int
    span: int
    is_tandem: bool = False
    is_ignored: bool = False
    is_long_join: bool = False

    @property
    def start(self) -> Point:
        """The first base."""
        return Point(self.query + 1 - self.span, self.target + 1 - self.span)

    @property
    def end(self) -> Point:
        """The end, behind the last base."""
        return Point(self.query + 1, self.target + 1)


class Piece(NamedTuple):
    """A piece of dynamic programming; `end_anchor` as in `PlannedPieces`."""

    kind: int
    query: Interval
    target: Interval
    band: int
    drop: int
    end_anchor: int = -1


@dataclass(slots=True)
class Plan:
    """The pieces of a mapping.

    Attributes
    ----------
    first, size
        The anchors used: the first one among the read's, and their number.
    start
        The first cut point.
    left, fills, right
        The pieces.
    """

    first: int
    size: int
    start: Point
    left: Piece | None = None
    fills: list[Piece] = field(default_factory=list)
    right: Piece | None = None


class Chain(NamedTuple):
    """A mapping before its alignment.

    Attributes
    ----------
    first, size
        Its anchors among the read's.
    matches
        Number of matching bases, estimated from the anchors.
    is_split_inversion
        As in MAPPING.
    """

    first: int
    size: int
    matches: int
    is_split_inversion: bool = False


class Bases(NamedTuple):
    """Codes of the read, on the strand of a mapping, and of its reference sequence."""

    query: Sequence[int]
    target: Sequence[int]


def plan_mapping(
    anchors: Sequence[Anchor],
    chain: Chain,
    bases: Bases,
    scoring: AlignScoring,
    parameters: AlignParameters,
) -> Plan:
    """Return the pieces of a mapping, and mark its anchors.

    Parameters
    ----------
    anchors
        The anchors of all mappings of the read, in the order of the chains.
    chain, bases
        The mapping and its sequences.
    scoring, parameters
        Scores and parameters of base alignment.
    """
    first, size = chain.first, chain.size
    if parameters.filters_ends and size >= 3:
        first, size = _without_bad_ends(anchors, chain, parameters)
    used = anchors[first : first + size]
    _ignore_cancelling(used, parameters.max_gap // 2)
    _ignore_between_long(used, parameters.max_gap // 2)
    start, end = (_cut_of(used[row], bases, parameters) for row in (0, -1))
    plan = Plan(first, size, start)
    if start.query > 0 and start.target > 0:
        limit = _start_limit(anchors, chain.first, start, scoring, parameters)
        plan.left = Piece(
            LEFT,
            Interval(limit.query, start.query),
            Interval(limit.target, start.target),
            parameters.band,
            parameters.inversion_drop if chain.is_split_inversion else parameters.drop,
        )
    plan.fills = _fills(used, start, bases, parameters)
    if end.query < len(bases.query) and end.target < len(bases.target):
        last = chain.first + chain.size - 1
        limit = _end_limit(anchors, last, end, bases, scoring, parameters)
        if end.query < limit.query and end.target < limit.target:
            plan.right = Piece(
                RIGHT,
                Interval(end.query, limit.query),
                Interval(end.target, limit.target),
                parameters.band,
                parameters.drop,
            )
    return plan


def _distances(one: Anchor, other: Anchor) -> tuple[int, int]:
    """Return the shorter and the longer of the distances in read and reference."""
    shorter, longer = sorted((other.query - one.query, other.target - one.target))
    return shorter, longer


def _without_bad_ends(
    anchors: Sequence[Anchor], chain: Chain, parameters: AlignParameters
) -> tuple[int, int]:
    """Drop anchors at the ends beyond gaps that are long for what was visited before.

    Returns the first anchor left and the number left (minimap2's `mm_fix_bad_ends`).
    """
    bandwidth = parameters.bandwidth

    def is_enough(length: int, matched: int) -> bool:
        return (
            length >= 2 * bandwidth
            or (matched >= 2 * parameters.min_chain_score and matched >= bandwidth)
            or matched >= chain.matches >> 1
        )

    first, end = chain.first, chain.first + chain.size
    length = matched = anchors[first].span
    for row in range(chain.first + 1, end - 1):
        if anchors[row].is_long_join:
            break
        shorter, longer = _distances(anchors[row - 1], anchors[row])
        if longer - shorter > length >> 1:
            first = row
        length += shorter
        matched += min(shorter, anchors[row].span)
        if is_enough(length, matched):
            break
    size = end - first
    length = matched = anchors[end - 1].span
    for row in range(end - 2, first, -1):
        if anchors[row + 1].is_long_join:
            break
        shorter, longer = _distances(anchors[row], anchors[row + 1])
        if longer - shorter > length >> 1:
            size = row + 1 - first
        length += shorter
        matched += min(shorter, anchors[row + 1].span)
        if is_enough(length, matched):
            break
    return first, size


def _gaps(anchors: Sequence[Anchor], min_gap: int) -> list[tuple[int, int]]:
    """Return pairs of an anchor and the gap before it, negative for a deletion; no short gaps."""
    gaps = []
    for row in range(1, len(anchors)):
        one, other = anchors[row - 1], anchors[row]
        gap = (other.query - one.query) - (other.target - one.target)
        if abs(gap) > min_gap:
            gaps.append((row, gap))
    return gaps if len(gaps) > 1 else []


def _ignore_cancelling(anchors: Sequence[Anchor], reach: int) -> None:
    """Ignore the anchors between insertions and deletions that cancel each other."""
    gaps = _gaps(anchors, _MIN_GAP)
    best, start, end = 0, -1, -1
    for k in range(len(gaps) + 1):
        if k == len(gaps) or k >= end:
            if end > 0:
                for anchor in anchors[gaps[start][0] : gaps[end][0]]:
                    anchor.is_ignored = True
            best, start, end = 0, -1, -1
        if k == len(gaps):
            break
        before = anchors[gaps[k][0] - 1]
        sums = {True: 0, False: 0}
        sums[gaps[k][1] > 0] += abs(gaps[k][1])
        largest, at_largest = 0, -1
        for other in range(k + 1, min(k + 1 + _MAX_STEPS, len(gaps))):
            row, gap = gaps[other]
            if _distances(before, anchors[row])[1] > reach:
                break
            sums[gap > 0] += abs(gap)
            cancelled = sum(sums.values()) - abs(sums[True] - sums[False])
            if cancelled > largest:
                largest, at_largest = cancelled, other
        if largest > _MIN_CANCELLED and largest > best:
            best, start, end = largest, k, at_largest


def _ignore_between_long(anchors: Sequence[Anchor], reach: int) -> None:
    """Ignore the anchors between long gaps that are longer than what matches between them."""
    gaps = _gaps(anchors, _MIN_LONG_GAP)
    k = 0
    while k < len(gaps):
        row, gap = gaps[k]
        end, last_gap = anchors[row], abs(gap)
        other = k + 1
        while other < len(gaps):
            next_row, next_gap = gaps[other]
            if _distances(end, anchors[next_row])[1] > reach:
                break
            before = anchors[next_row - 1]
            matched = _distances(end, before)[0] + before.span
            if matched > last_gap + abs(next_gap):
                break
            end, last_gap = anchors[next_row], abs(next_gap)
            other += 1
        if other > k + 1:
            last = gaps[other - 1][0]
            for anchor in anchors[row:last]:
                anchor.is_ignored = True
            anchors[last].is_long_join = True
        k = other


def _cut_of(anchor: Anchor, bases: Bases, parameters: AlignParameters) -> Point:
    """Return the middle of a k-mer; if homopolymers are compressed, the start of its last one.

    As in minimap2, that start is never base 0 of the read unless the k-mer ends there.
    """
    if not parameters.is_hpc:
        half = parameters.k // 2
        return Point(anchor.query - half, anchor.target - half)
    query, target = anchor.query - 1, anchor.target
    while query > 0 and bases.query[query] == bases.query[anchor.query]:
        query -= 1
    while target > 0 and bases.target[target - 1] == bases.target[anchor.target]:
        target -= 1
    return Point(query + 1, target)


def _grown(length: int, scoring: AlignScoring) -> int:
    """Return bases of the reference for some of the read, with the longest gap that could pay."""
    score = length * scoring.match
    if score > scoring.gap_open:
        length += (score - scoring.gap_open) // scoring.gap_extend
    return length


def _start_limit(
    anchors: Sequence[Anchor],
    first: int,
    cut: Point,
    scoring: AlignScoring,
    parameters: AlignParameters,
) -> Point:
    """Return how far the extension to lower positions may go, from the first cut point."""
    query_start = anchors[first].start.query
    target_start = max(0, anchors[first].start.target)
    query_limit = target_limit = 0
    visited = 0
    for anchor in reversed(anchors[:first]):
        if anchor.place != anchors[first].place:
            break
        if anchor.start.query < query_start and anchor.start.target < target_start:
            visited += 1
        if visited > parameters.min_anchors:
            distance = max(query_start - anchor.start.query, target_start - anchor.start.target)
            query_limit, target_limit = query_start - distance, max(0, target_start - distance)
            break
    length = min(cut.query, parameters.max_gap)
    query_limit = max(query_limit, cut.query - length)
    length = min(_grown(length, scoring), parameters.max_gap, cut.target)
    target_limit = max(target_limit, cut.target - length)
    return Point(min(query_start, query_limit), min(target_start, target_limit, cut.target))


def _end_limit(
    anchors: Sequence[Anchor],
    last: int,
    cut: Point,
    bases: Bases,
    scoring: AlignScoring,
    parameters: AlignParameters,
) -> Point:
    """Return how far the extension to higher positions may go, from the last cut point."""
    end = anchors[last].end
    query_limit, target_limit = len(bases.query), len(bases.target)
    visited = 0
    for anchor in anchors[last + 1 :]:
        if anchor.place != anchors[last].place:
            break
        if anchor.end.query > end.query and anchor.end.target > end.target:
            visited += 1
        if visited > parameters.min_anchors:
            distance = max(anchor.end.query - end.query, anchor.end.target - end.target)
            query_limit, target_limit = end.query + distance, end.target + distance
            break
    length = min(len(bases.query) - cut.query, parameters.max_gap)
    query_limit = min(query_limit, cut.query + length)
    length = min(_grown(length, scoring), parameters.max_gap, len(bases.target) - cut.target)
    target_limit = min(target_limit, cut.target + length)
    return Point(max(end.query, query_limit), max(end.target, target_limit))


def _fills(
    anchors: Sequence[Anchor], start: Point, bases: Bases, parameters: AlignParameters
) -> list[Piece]:
    """Return the fills between the cut points."""
    fills = []
    last = len(anchors) - 1
    for row, anchor in enumerate(anchors[1:], start=1):
        if row != last and (anchor.is_ignored or anchor.is_tandem):
            continue
        end = _cut_of(anchor, bases, parameters)
        query, target = Interval(start.query, end.query), Interval(start.target, end.target)
        if (
            row == last
            or anchor.is_long_join
            or min(query.length, target.length) >= parameters.min_piece
        ):
            longer = max(query.length, target.length)
            band = longer if anchor.is_long_join else parameters.long_band
            fills.append(Piece(FILL, query, target, band, parameters.drop, row))
            start = end
    return fills
