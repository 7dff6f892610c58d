"""Base alignment of the mappings of one read in plain Python, mapping after mapping.

The order is that of minimap2 2.30 (Li 2018, Bioinformatics 34:3094): the second part of a split
mapping is aligned directly behind the first part, then the inversion between both.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Final, NamedTuple

import numpy as np

from hapgpu.longread.align.batches import (
    FILL,
    INVERSION,
    LEFT,
    NO_PARENT,
    REFILL,
    RIGHT,
    TEMPORARY_PRIMARY,
)
from hapgpu.longread.align.dp import results
from hapgpu.longread.align.dp.results import PairOptions
from hapgpu.longread.align.parameters import AlignParameters, AlignScoring
from tests.longread.align.cigars.reference import (
    Alignment,
    Counts,
    Operation,
    counts_of,
    finished,
    max_score,
)
from tests.longread.align.dp.reference import PairAlignment, align_locally, align_pair
from tests.longread.align.pieces.reference import (
    Anchor,
    Bases,
    Chain,
    Interval,
    Piece,
    Plan,
    Point,
    plan_mapping,
)

_MODES: Final = {
    FILL: results.APPROXIMATE,
    REFILL: 0,
    LEFT: results.BACKWARDS + results.EXTENSION + results.RIGHT + results.REVERSED_OPERATIONS,
    RIGHT: results.EXTENSION,
    INVERSION: results.EXTENSION,
}
_BONUS_KINDS: Final = {LEFT, RIGHT}
_NOWHERE: Final = Interval(0, 0)


class Read(NamedTuple):
    """Codes of the bases of a read and of its reverse complement."""

    forward: list[int]
    reverse: list[int]

    def codes(self, query: Interval, *, is_reverse: bool) -> list[int]:
        """Return codes of a strand; before the reverse one lie the last codes of the other."""
        shift = len(self.forward) * is_reverse
        return (self.forward + self.reverse)[shift + query.start : shift + query.end]


@dataclass(slots=True)
class AlignedMapping:
    """A mapping with its alignment.

    Attributes
    ----------
    sequence, is_reverse
        Reference sequence and strand.
    first, count
        First anchor, numbered within the read, and number of anchors.
    score, number, parent
        Score of the chain, number and parent as in `MAPPING`.
    split, is_split_inversion, is_inversion
        As in `MAPPING`.
    query, target
        Range on the strand of the mapping and in the sequence.
    cigar, dp_score, counts, max_score
        Alignment, its score, its counts and the score of its best part.
    """

    sequence: int
    is_reverse: bool
    first: int
    count: int
    score: int
    number: int
    parent: int
    matches: int = 0
    split: int = 0
    is_split_inversion: bool = False
    is_inversion: bool = False
    query: Interval = _NOWHERE
    target: Interval = _NOWHERE
    cigar: list[Operation] = field(default_factory=list)
    dp_score: int = 0
    counts: Counts | None = None
    max_score: int = 0

    @property
    def is_primary(self) -> bool:
        """True if no other mapping is the parent."""
        return self.parent in {self.number, TEMPORARY_PRIMARY}


class Drop(NamedTuple):
    """Largest drop of the score along an alignment, and the bases between its two ends."""

    size: int = 0
    query: Interval = Interval(-1, -1)
    target: Interval = Interval(-1, -1)


def largest_drop(
    cigar: Sequence[Operation],
    query: Sequence[int],
    target: Sequence[int],
    scoring: AlignScoring,
) -> Drop:
    """Return the largest drop; a gap costs as a short one, and to extend a gap is free."""
    at_query = at_target = score = 0
    ends: list[tuple[int, int, int]] = []
    for letter, length in cigar:
        if letter == "M":
            for k in range(length):
                score += int(scoring.matrix[target[at_target + k], query[at_query + k]])
                ends.append((score, at_query + k, at_target + k))
        at_query += length * (letter != "D")
        at_target += length * (letter != "I")
        if letter != "M":
            score -= scoring.gap_open + scoring.gap_extend * length
            ends.append((score, at_query, at_target))
    largest = Drop()
    best = (-(2**31), -1, -1)
    for end in ends:
        if end[0] >= best[0]:
            best = end
            continue
        shift = abs((end[1] - best[1]) - (end[2] - best[2]))
        size = best[0] - end[0] - scoring.gap_extend * shift
        if size > largest.size:
            largest = Drop(size, Interval(best[1], end[1]), Interval(best[2], end[2]))
    return largest


class ReadAligner:
    """Aligner of the mappings of one read.

    Parameters
    ----------
    anchors
        Anchors of the mappings.
    read
        Codes of the read.
    targets
        Codes of each reference sequence.
    scoring, parameters
        Scores and other parameters.
    """

    def __init__(
        self,
        anchors: Sequence[Anchor],
        read: Read,
        targets: Sequence[list[int]],
        scoring: AlignScoring,
        parameters: AlignParameters,
    ) -> None:
        self.anchors = anchors
        self.read, self.targets = read, targets
        self.scoring, self.parameters = scoring, parameters

    def align(self, mappings: Sequence[AlignedMapping]) -> list[AlignedMapping]:
        """Align mappings; return them with second parts and inversions, in order."""
        aligned = list(mappings)
        k = 0
        while k < len(aligned):
            if not aligned[k].is_inversion:
                part = self._align_chain(aligned[k])
                if part is not None:
                    aligned.insert(k + 1, part)
                inversion = self._inversion(aligned[k - 1], aligned[k]) if k else None
                if inversion is not None:
                    aligned.insert(k + 1, inversion)
            k += 1
        return aligned

    def _align_chain(self, mapping: AlignedMapping) -> AlignedMapping | None:
        """Align a mapping; return its second part if it is split."""
        plan = self._plan(mapping)
        start, end, part = plan.start, plan.start, None
        if plan.left is not None:
            before = self._extend(mapping, plan.left)
            start = Point(end.query - before.query, end.target - before.target)
        for fill in plan.fills:
            found, is_inversion = self._fill(mapping, fill)
            length = Point(fill.query.length, fill.target.length)
            if found.dropped:
                length = Point(found.max_query + 1, found.max_target + 1)
            self._append(mapping, found, found.max_score if found.dropped else found.score)
            end = Point(end.query + length.query, end.target + length.target)
            if found.dropped:
                part = self._split(mapping, plan, fill.end_anchor, end.target)
                if part is not None:
                    part.is_split_inversion = is_inversion
                break
        else:
            if plan.right is not None:
                behind = self._extend(mapping, plan.right)
                end = Point(end.query + behind.query, end.target + behind.target)
        mapping.query = Interval(start.query, end.query)
        mapping.target = Interval(start.target, end.target)
        self._finish(mapping)
        return part

    def _bases(self, mapping: AlignedMapping) -> Bases:
        strand = self.read.reverse if mapping.is_reverse else self.read.forward
        return Bases(strand, self.targets[mapping.sequence])

    def _plan(self, mapping: AlignedMapping) -> Plan:
        chain = Chain(mapping.first, mapping.count, mapping.matches, mapping.is_split_inversion)
        bases = self._bases(mapping)
        return plan_mapping(self.anchors, chain, bases, self.scoring, self.parameters)

    def _run(self, mapping: AlignedMapping, piece: Piece) -> PairAlignment:
        """Align one piece."""
        query, target = self._bases(mapping)
        return align_piece(
            piece.kind,
            query[slice(*piece.query)],
            target[slice(*piece.target)],
            piece.band,
            piece.drop,
            self.scoring,
            self.parameters,
        )

    @staticmethod
    def _append(mapping: AlignedMapping, found: PairAlignment, score: int) -> None:
        """Append the operations of a piece; equal ones at the seam become one."""
        mapping.dp_score += score
        for operation in _cigar_of(found):
            if mapping.cigar and mapping.cigar[-1].letter == operation.letter:
                length = mapping.cigar.pop().length + operation.length
                mapping.cigar.append(Operation(operation.letter, length))
            else:
                mapping.cigar.append(operation)

    def _extend(self, mapping: AlignedMapping, piece: Piece) -> Point:
        """Align an extension; return the bases that it aligns."""
        found = self._run(mapping, piece)
        self._append(mapping, found, found.max_score)
        if found.reaches_end:
            return Point(piece.query.length, found.query_end_target + 1)
        return Point(found.max_query + 1, found.max_target + 1)

    def _fill(self, mapping: AlignedMapping, fill: Piece) -> tuple[PairAlignment, bool]:
        """Align a fill, again if its score drops; return also whether it may be inverted."""
        found = self._run(mapping, fill)
        bases = self._bases(mapping)
        query, target = bases.query[slice(*fill.query)], bases.target[slice(*fill.target)]
        drop = largest_drop(_cigar_of(found), query, target, self.scoring)
        parameters = self.parameters
        is_inversion = (
            drop.size > parameters.inversion_drop
            and drop.query.length < parameters.max_gap
            and drop.target.length < parameters.max_gap
            and self._is_inverted(query[slice(*drop.query)], target[slice(*drop.target)])
        )
        if is_inversion or drop.size > parameters.drop:
            limit = parameters.inversion_drop if is_inversion else parameters.drop
            found = self._run(mapping, fill._replace(kind=REFILL, drop=limit))
        return found, is_inversion

    def _is_inverted(self, query: Sequence[int], target: Sequence[int]) -> bool:
        other_strand = [3 - code if code < 4 else code for code in reversed(query)]
        score, _, _ = align_locally(other_strand, target, self.scoring)
        lowest = self.parameters.min_chain_score * self.scoring.match
        return score >= max(lowest, self.parameters.min_score)

    def _split(
        self, mapping: AlignedMapping, plan: Plan, end_anchor: int, target_end: int
    ) -> AlignedMapping | None:
        """Split a mapping at a dropped fill that ends before `target_end`."""
        own = self.anchors[plan.first : plan.first + plan.size]
        before = [k for k in range(end_anchor) if own[k].target < target_end]
        last = max(before, default=0)
        if plan.size - (last + 1) < self.parameters.min_anchors:
            return None
        kept = plan.first + last + 1 - mapping.first
        left = mapping.count - kept
        ratio = np.float32(left) / np.float32(mapping.count)
        score = int(float(np.float32(mapping.score) * ratio) + 0.499)
        part = replace(
            mapping,
            number=-1,
            parent=TEMPORARY_PRIMARY if mapping.number == mapping.parent else mapping.parent,
            first=mapping.first + kept,
            count=left,
            score=score,
            split=mapping.split | 2,
            cigar=[],
            dp_score=0,
        )
        mapping.count, mapping.score = kept, mapping.score - score
        mapping.split |= 1
        for each in (mapping, part):
            each.matches = _matches(self.anchors[each.first : each.first + each.count])
        return part

    def _finish(self, mapping: AlignedMapping) -> None:
        """Clean up the alignment and count; a removed gap moves the start."""
        if not mapping.cigar:
            return
        query = self.read.codes(mapping.query, is_reverse=mapping.is_reverse)
        target = self.targets[mapping.sequence][slice(*mapping.target)]
        alignment = finished(Alignment(mapping.cigar, query, target))
        mapping.cigar = alignment.cigar
        mapping.query = Interval(mapping.query.end - len(alignment.query), mapping.query.end)
        mapping.target = Interval(mapping.target.end - len(alignment.target), mapping.target.end)
        mapping.counts = counts_of(alignment)
        scoring = self.scoring
        mapping.max_score = max_score(
            alignment, scoring.matrix.tolist(), scoring.gap_open, scoring.gap_extend
        )

    def _inversion(self, left: AlignedMapping, right: AlignedMapping) -> AlignedMapping | None:
        """Return the inversion between the parts of a split mapping, if there is one."""
        query = Interval(left.query.end, right.query.start)
        target = Interval(left.target.end, right.target.start)
        low, high = self.parameters.min_chain_score, self.parameters.max_gap
        if not (
            right.is_split_inversion
            and left.split & 1
            and right.split & 2
            and left.is_primary
            and right.is_primary
            and (left.sequence, left.is_reverse) == (right.sequence, right.is_reverse)
            and low <= min(query.length, target.length)
            and max(query.length, target.length) <= high
        ):
            return None
        return self._inverted(right, query, target)

    def _inverted(
        self, right: AlignedMapping, stretch: Interval, target: Interval
    ) -> AlignedMapping | None:
        """Return the alignment of a stretch with the other strand of the read.

        Its start may lie before the stretch, where minimap2's local alignment pads the query.
        """
        is_reverse = not right.is_reverse
        start = len(self.read.forward) - stretch.end
        query = Interval(start, start + stretch.length)
        sequence = self.targets[right.sequence]
        score, target_end, query_end = align_locally(
            self.read.codes(query, is_reverse=is_reverse)[::-1],
            sequence[slice(*target)][::-1],
            self.scoring,
        )
        if score < self.parameters.min_score:
            return None
        query = Interval(query.end - (query_end + 1), query.end)
        target = Interval(target.end - (target_end + 1), target.end)
        found = align_piece(
            INVERSION,
            self.read.codes(query, is_reverse=is_reverse),
            sequence[slice(*target)],
            self.parameters.inversion_band,
            self.parameters.drop,
            self.scoring,
            self.parameters,
        )
        if not found.operations:
            return None
        mapping = AlignedMapping(right.sequence, is_reverse, 0, 0, 0, -1, NO_PARENT)
        mapping.is_inversion = True
        mapping.query = Interval(query.start, query.start + found.max_query + 1)
        mapping.target = Interval(target.start, target.start + found.max_target + 1)
        self._append(mapping, found, found.max_score)
        self._finish(mapping)
        return mapping


def align_piece(
    kind: int,
    query: Sequence[int],
    target: Sequence[int],
    band: int,
    drop: int,
    scoring: AlignScoring,
    parameters: AlignParameters,
) -> PairAlignment:
    """Align the sequences of one piece."""
    if 0 < parameters.max_cells < len(query) * len(target):
        return PairAlignment(dropped=1)
    end_bonus = parameters.end_bonus if kind in _BONUS_KINDS else -1
    return align_pair(query, target, PairOptions(_MODES[kind], band, drop, end_bonus), scoring)


def _cigar_of(found: PairAlignment) -> list[Operation]:
    return [Operation("MID"[code], length) for length, code in found.operations]


def _matches(anchors: Sequence[Anchor]) -> int:
    """Estimate matching bases from the anchors of a mapping."""
    matches = anchors[0].span
    for before, after in pairwise(anchors):
        matches += min(after.target - before.target, after.query - before.query, after.span)
    return matches
