"""Alignment of one pair in plain Python, cell by cell, with minimap2's blocks of 16 lanes.

The cells of an antidiagonal hold differences of scores (Suzuki and Kasahara 2018, BMC
Bioinformatics 19:45) in 8 bits. minimap2 computes the lanes in blocks of 16, so that lanes outside
the band hold values that lanes in the band read (Li 2018, Bioinformatics 34:3094).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from hapgpu.longread.align.dp import results
from hapgpu.longread.align.dp.results import (
    DELETION,
    DELETION_STATE,
    INSERTION,
    INSERTION_STATE,
    MATCH,
    PairOptions,
)
from hapgpu.longread.align.parameters import AlignScoring

LOCAL_COLUMNS = 8  # words of a vector in ksw_ll_i16
MAX_LOCAL_SCORE = 32_767  # words of ksw_ll_i16 saturate
NO_SCORE = -(2**30)  # KSW_NEG_INF

_LANES = 16


@dataclass(slots=True)
class PairAlignment:
    """Result of the alignment of a pair; the fields are the columns of `results`."""

    score: int = NO_SCORE
    max_score: int = 0
    max_target: int = -1
    max_query: int = -1
    query_end_score: int = NO_SCORE
    query_end_target: int = -1
    target_end_score: int = NO_SCORE
    target_end_query: int = -1
    dropped: int = 0
    reaches_end: int = 0
    operations: list[tuple[int, int]] = field(default_factory=list)
    """Pairs of length and code."""


@dataclass(slots=True)
class _Row:
    """Direction bytes of one antidiagonal, from lane `first` on."""

    first: int
    directions: list[int]


def _int8(value: int) -> int:
    return (value + 128) % 256 - 128


def _unsigned_max(one: int, other: int) -> int:
    return max(one, other, key=lambda value: value % 256)


class _Differences:
    """Differences of scores on an antidiagonal, as two affine gap costs need them."""

    def __init__(self, scoring: AlignScoring, lanes: int, *, is_right: bool) -> None:
        self.scoring = scoring
        self.is_right = is_right
        self.open = scoring.gap_open + scoring.gap_extend
        self.open2 = scoring.gap_open2 + scoring.gap_extend2
        self.bias = 0
        self.u, self.v, self.x, self.y = ([-self.open] * lanes for _ in range(4))
        self.x2, self.y2 = ([-self.open2] * lanes for _ in range(2))

    def edge(self, r: int) -> int:
        """Return the difference of the border's scores of lengths r and r + 1."""

        def cost(length: int) -> int:
            short = self.open + self.scoring.gap_extend * (length - 1)
            long = self.open2 + self.scoring.gap_extend2 * (length - 1)
            return min(short, long) if length else 0

        return cost(r) - cost(r + 1)

    def left_border(self, r: int) -> tuple[int, int, int]:
        return self.edge(r), -self.open, -self.open2

    def left_of_first_block(self) -> tuple[int, int, int]:
        return -self.open, -self.open, -self.open2

    def set_top_border(self, r: int) -> None:
        self.y[r], self.y2[r], self.u[r] = -self.open, -self.open2, self.edge(r)

    def step(self, t: int, score: int, left: tuple[int, int, int]) -> int:
        """Update lane t, with v, x and x2 of the lane before; return its direction byte."""
        v, x, x2 = left
        u = self.u[t]
        gaps = [x + v, self.y[t] + u, x2 + v, self.y2[t] + u]
        gaps = [_int8(gap) for gap in gaps]
        z, direction = score, 0
        for state, gap in enumerate(gaps, 1):
            if gap > z or (gap == z and self.is_right):
                z, direction = gap, state
        z = min(z, self.scoring.match)
        self.u[t], self.v[t] = _int8(z - v), _int8(z - u)
        opens = [self.scoring.gap_open] * 2 + [self.scoring.gap_open2] * 2
        costs = [self.open] * 2 + [self.open2] * 2
        for state, cost in enumerate(opens):
            gap = gaps[state] = _int8(gaps[state] - (z - cost))
            if gap > 0 or (gap == 0 and self.is_right):
                direction |= 8 << state
        self.x[t], self.y[t], self.x2[t], self.y2[t] = (
            _int8(max(gap, 0) - cost) for gap, cost in zip(gaps, costs, strict=True)
        )
        return direction


class _SingleDifferences(_Differences):
    """Differences for one affine gap cost, which are stored plus the cost of the first base."""

    def __init__(self, scoring: AlignScoring, lanes: int, *, is_right: bool) -> None:
        super().__init__(scoring, lanes, is_right=is_right)
        self.bias = self.open
        self.u, self.v, self.x, self.y = ([0] * lanes for _ in range(4))

    def edge(self, r: int) -> int:
        return self.scoring.gap_open if r else 0

    def left_border(self, r: int) -> tuple[int, int, int]:
        return self.edge(r), 0, 0

    def left_of_first_block(self) -> tuple[int, int, int]:
        return 0, 0, 0

    def set_top_border(self, r: int) -> None:
        self.y[r], self.u[r] = 0, self.edge(r)

    def step(self, t: int, score: int, left: tuple[int, int, int]) -> int:
        v, x, _ = left
        u = self.u[t]
        z, deletion, insertion = (
            _int8(value) for value in (score + 2 * self.open, x + v, self.y[t] + u)
        )
        direction = 0
        if deletion > z or (deletion == z and self.is_right):
            direction = 1
        z = max(z, deletion)
        if insertion > z or (insertion == z and self.is_right):
            direction = 2
        z = _unsigned_max(z, insertion)
        z = min(z % 256, (self.scoring.match + 2 * self.open) % 256)
        self.u[t], self.v[t] = _int8(z - v), _int8(z - u)
        for state, (gaps, best) in enumerate(((self.x, deletion), (self.y, insertion))):
            gap = _int8(best - (z - self.scoring.gap_open))
            if gap > 0 or (gap == 0 and self.is_right):
                direction |= 8 << state
            gaps[t] = max(gap, 0)
        return direction


def align_pair(
    query: Sequence[int], target: Sequence[int], options: PairOptions, scoring: AlignScoring
) -> PairAlignment:
    """Align a pair as minimap2 2.30's `ksw_extd2_sse41`, with equal gap costs `ksw_extz2_sse41`.

    Parameters
    ----------
    query, target
        Codes of bases, 0 to 4.
    options, scoring
        Options and scores.
    """
    result = PairAlignment()
    rejected = -int(scoring.matrix.min()) > 2 * (scoring.gap_open + scoring.gap_extend)
    if not query or not target or rejected:
        return result
    if options.modes & results.BACKWARDS:
        query, target = query[::-1], target[::-1]
    rows = _fill(query, target, options, scoring, result)
    if not options.modes & results.SCORE_ONLY:
        _trace(rows, len(query), len(target), options, result)
    return result


def _fill(
    query: Sequence[int],
    target: Sequence[int],
    options: PairOptions,
    scoring: AlignScoring,
    result: PairAlignment,
) -> list[_Row]:
    """Fill the matrix by antidiagonals; return their directions."""
    size = -(-len(target) // _LANES) * _LANES
    short, long = (scoring.gap_open, scoring.gap_extend), (scoring.gap_open2, scoring.gap_extend2)
    kind = _SingleDifferences if short == long else _Differences
    cells = kind(scoring, size, is_right=bool(options.modes & results.RIGHT))
    kind_of_scores = _Path if options.modes & results.APPROXIMATE else _Best
    tracker = kind_of_scores(cells, query, target, options)
    scores = [0] * size
    bandwidth = options.bandwidth if options.bandwidth >= 0 else max(len(query), len(target))
    rows: list[_Row] = []
    for r in range(len(query) + len(target) - 1):
        start = max(0, r - len(query) + 1, (r - bandwidth + 1) // 2)
        end = min(len(target) - 1, r, (r + bandwidth) // 2)
        if start > end:
            result.dropped = 1
            break
        first, last = start // _LANES * _LANES, end // _LANES * _LANES + _LANES - 1
        left = cells.left_border(r)
        if first > 0 and rows[-1].first < first:
            left = cells.v[first - 1], cells.x[first - 1], cells.x2[first - 1]
        elif first > 0:
            left = cells.left_of_first_block()
        if last >= r:
            cells.set_top_border(r)
        _refresh_scores(scores, query, target, scoring, r, start, end)
        row = _Row(first, [])
        for t in range(first, last + 1):
            next_left = cells.v[t], cells.x[t], cells.x2[t]
            row.directions.append(cells.step(t, scores[t], left))
            left = next_left
        rows.append(row)
        if tracker.is_dropped(r, start, end, result):
            result.dropped = 1
            break
    return rows


def _refresh_scores(
    scores: list[int],
    query: Sequence[int],
    target: Sequence[int],
    scoring: AlignScoring,
    r: int,
    start: int,
    end: int,
) -> None:
    """Set the scores of the pairs of bases, in blocks of 16 lanes that begin at `start`."""
    stop = end + 1
    if scoring.transition == scoring.mismatch:
        stop = min(start + -(-(stop - start) // _LANES) * _LANES, len(scores))
    for t in range(start, stop):
        target_code = target[t] if t < len(target) else 0
        query_code = query[r - t] if t <= r else 0
        scores[t] = int(scoring.dp_matrix[target_code, query_code])


class _Best:
    """Scores of all lanes, the best cell and the best cells at the ends."""

    def __init__(
        self,
        cells: _Differences,
        query: Sequence[int],
        target: Sequence[int],
        options: PairOptions,
    ) -> None:
        self.cells, self.zdrop = cells, int(options.zdrop)
        self.query_length, self.target_length = len(query), len(target)
        self.scores = [NO_SCORE] * len(target)

    def is_dropped(self, r: int, start: int, end: int, result: PairAlignment) -> bool:
        """Update scores and result by an antidiagonal; return whether the score drops too much."""
        scores, cells = self.scores, self.cells
        if r == 0:
            scores[0] = cells.v[0] - cells.open - cells.bias
        else:
            if end > 0:
                scores[end] = scores[end - 1] + cells.u[end] - cells.bias
            else:
                scores[0] += cells.v[0] - cells.bias
            for t in range(start, end):
                scores[t] += cells.v[t] - cells.bias
        if end == self.target_length - 1 and scores[end] > result.target_end_score:
            result.target_end_score, result.target_end_query = scores[end], r - end
        if r - start == self.query_length - 1 and scores[start] > result.query_end_score:
            result.query_end_score, result.query_end_target = scores[start], start
        best = self._best_lane(start, end)
        if _drops(cells, self.zdrop, scores[best], best, r - best, result):
            return True
        if r == self.query_length + self.target_length - 2:
            result.score = scores[end]
        return False

    def _best_lane(self, start: int, end: int) -> int:
        """Return the lane with the best score; minimap2 compares four lanes at a time."""
        by_fours = start + (end - start) // 4 * 4
        order = sorted(range(start, by_fours), key=lambda t: ((t - start) % 4, t))
        lanes = [end, *order, *range(by_fours, end)]
        best: int = max(lanes, key=self.scores.__getitem__)
        return best


class _Path:
    """The score along one path, which needs no scores of other lanes."""

    def __init__(
        self,
        cells: _Differences,
        query: Sequence[int],
        target: Sequence[int],
        options: PairOptions,
    ) -> None:
        self.cells, self.zdrop = cells, int(options.zdrop)
        self.drops = options.modes & results.APPROXIMATE_DROP
        self.last = len(query) + len(target) - 2
        self.lane = 0
        self.score = 0

    def is_dropped(self, r: int, start: int, end: int, result: PairAlignment) -> bool:
        """Go on to the next antidiagonal; return whether the score drops too much."""
        u, v, lane = self.cells.u, self.cells.v, self.lane
        if r == 0:
            self.score = v[0] - self.cells.open - self.cells.bias
        else:
            stays = start <= lane and (lane == end or v[lane] > u[lane + 1])
            self.lane = lane if stays else lane + 1
            self.score += (v if stays else u)[self.lane] - self.cells.bias
        if self.drops:
            at = self.lane, r - self.lane
            if _drops(self.cells, self.zdrop, self.score, *at, result):
                return True
        if r == self.last:
            result.score = self.score
        return False


def _drops(
    cells: _Differences, zdrop: int, score: int, t: int, j: int, result: PairAlignment
) -> bool:
    """Update the best cell, or return whether the score drops below the best by the z-drop."""
    if score > result.max_score:
        result.max_score, result.max_target, result.max_query = score, t, j
    elif zdrop >= 0 and t >= result.max_target and j >= result.max_query:
        difference = abs((t - result.max_target) - (j - result.max_query))
        limit = zdrop + cells.scoring.gap_extend2 * difference
        return result.max_score - score > limit
    return False


def _trace(
    rows: list[_Row],
    query_length: int,
    target_length: int,
    options: PairOptions,
    result: PairAlignment,
) -> None:
    """Follow the directions from the end cell to the first bases."""
    i, j = result.max_target, result.max_query
    if not result.dropped:
        if not options.modes & results.EXTENSION:
            i, j = target_length - 1, query_length - 1
        elif result.query_end_score + options.end_bonus > result.max_score:
            result.reaches_end = 1
            i, j = result.query_end_target, query_length - 1
    if i < 0 or j < 0:
        return
    codes: list[int] = []
    state = 0
    while i >= 0 and j >= 0:
        state = _state_before(rows[i + j], i, state)
        code = MATCH if state == 0 else DELETION if state % 2 else INSERTION
        i -= code != INSERTION
        j -= code != DELETION
        codes.append(code)
    codes += [DELETION] * (i + 1) + [INSERTION] * (j + 1)
    if not options.modes & results.REVERSED_OPERATIONS:
        codes.reverse()
    for code in codes:
        if result.operations and result.operations[-1][1] == code:
            result.operations[-1] = result.operations[-1][0] + 1, code
        else:
            result.operations.append((1, code))


def _state_before(row: _Row, i: int, state: int) -> int:
    """Return the state in which the path arrives at lane i, given the state after it."""
    if i < row.first:
        return INSERTION_STATE
    if i >= row.first + len(row.directions):
        return DELETION_STATE
    direction = row.directions[i - row.first]
    return state if state and direction >> (state + 2) & 1 else direction & 7


def align_locally(
    query: Sequence[int], target: Sequence[int], scoring: AlignScoring
) -> tuple[int, int, int]:
    """Return score, target end and query end as minimap2 2.30's `ksw_ll_i16` does."""
    vectors = -(-len(query) // LOCAL_COLUMNS)
    columns = range(vectors * LOCAL_COLUMNS)
    opening = scoring.gap_open + scoring.gap_extend
    scores, deletions = ([0] * len(columns) for _ in range(2))
    best, target_end, query_end = 0, -1, -1
    for i, code in enumerate(target):
        before, insertion = [0, *scores], 0
        for p in columns:
            pair_score = int(scoring.matrix[code, query[p]]) if p < len(query) else 0
            score = max(min(before[p] + pair_score, MAX_LOCAL_SCORE), deletions[p], insertion)
            scores[p] = score = max(score, 0)
            deletions[p] = max(deletions[p] - scoring.gap_extend, score - opening)
            insertion = max(insertion - scoring.gap_extend, score - opening)
        if max(scores, default=0) >= best:
            best, target_end = max(scores, default=0), i
            ends = [p for p in columns if scores[p] == best]
            query_end = max(ends, key=lambda p: (p % vectors, p), default=-1)
    return best, target_end, query_end
