"""Made-up chains of reads, to plan by both implementations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random
from typing import Any, Final, Protocol

import numpy as np
from hypothesis import strategies as st

from hapgpu.longread.align.batches import (
    MAPPING,
    MappedAnchors,
    PlannedPieces,
    ReadCodes,
    SequenceCodes,
    TargetCodes,
)
from hapgpu.longread.align.parameters import (
    AlignParameters,
    AlignScoring,
    align_parameters,
    align_scoring,
)
from hapgpu.longread.align.pieces import plan_pieces
from hapgpu.longread.options import LongReadOptions, SketchOptions
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

IGNORED = 1 << 41  # minimap2's MM_SEED_IGNORE
LONG_JOIN = 1 << 40  # minimap2's MM_SEED_LONG_JOIN

REVERSE = 1 << 63  # minimap2's mm128_t.x
SPAN_SHIFT = 32  # minimap2's mm128_t.y
TANDEM = 1 << 42  # minimap2's MM_SEED_TANDEM

PARAMETERS: Final = align_parameters(LongReadOptions(), SketchOptions())
SCORING: Final = align_scoring(2, 4, (4, 2), (24, 1))


@dataclass
class Read:
    """A read, and its mappings before alignment.

    Attributes
    ----------
    codes
        The forward strand.
    anchors, chains
        As in the reference implementation.
    """

    codes: list[int]
    anchors: list[Anchor]
    chains: list[Chain]


@dataclass
class Case:
    """Reads, reference sequences, scores and parameters."""

    reads: list[Read]
    targets: list[list[int]]
    scoring: AlignScoring = SCORING
    parameters: AlignParameters = PARAMETERS


def complement(codes: Sequence[int]) -> list[int]:
    """Return the reverse complement."""
    return [code if code == 4 else 3 - code for code in reversed(codes)]


def plain_plans(case: Case) -> list[Plan]:
    """Plan the mappings of all reads by the reference implementation, and mark the anchors."""
    plans = []
    for read in case.reads:
        strands = (read.codes, complement(read.codes))
        for chain in read.chains:
            is_reverse, sequence = read.anchors[chain.first].place
            bases = Bases(strands[is_reverse], case.targets[sequence])
            plans.append(plan_mapping(read.anchors, chain, bases, case.scoring, case.parameters))
    return plans


def words(anchors: Sequence[Anchor]) -> tuple[Any, Any]:
    """Return x and y of anchors."""
    x = [a.place[0] * REVERSE | a.place[1] << 32 | a.target for a in anchors]
    y = [
        a.is_tandem * TANDEM
        | a.is_ignored * IGNORED
        | a.is_long_join * LONG_JOIN
        | a.span << SPAN_SHIFT
        | a.query
        for a in anchors
    ]
    return np.array(x, dtype=np.uint64), np.array(y, dtype=np.uint64)


@dataclass
class Batch:
    """A case as arrays."""

    mappings: Any
    anchors: MappedAnchors
    reads: ReadCodes
    targets: TargetCodes


def to_batch(case: Case) -> Batch:
    """Convert a case to arrays."""
    reads = case.reads
    x, y = words([anchor for read in reads for anchor in read.anchors])
    offsets = np.cumsum([0, *(len(read.anchors) for read in reads)])
    rows = [
        (number, int(offset), chain, read.anchors[chain.first].place)
        for number, (read, offset) in enumerate(zip(reads, offsets, strict=False))
        for chain in read.chains
    ]
    mappings = np.zeros(len(rows), dtype=MAPPING)
    for row, (number, offset, chain, (is_reverse, sequence)) in zip(mappings, rows, strict=True):
        row["first_anchor"], row["anchors"] = offset + chain.first, chain.size
        row["read"], row["sequence"], row["is_reverse"] = number, sequence, is_reverse
        row["matches"], row["is_split_inversion"] = chain.matches, chain.is_split_inversion
    padding = 3
    lengths = [len(read.codes) for read in reads]
    codes = [code for read in reads for code in [*read.codes, *complement(read.codes)]]
    return Batch(
        mappings,
        MappedAnchors(x, y, offsets),
        ReadCodes(
            np.array([4] * padding + codes, dtype=np.uint8),
            padding + np.cumsum([0, *(2 * length for length in lengths)])[:-1],
            np.array(lengths, dtype=np.int32),
        ),
        TargetCodes(
            np.array([code for target in case.targets for code in target], dtype=np.uint8),
            np.cumsum([0, *map(len, case.targets)])[:-1],
            np.array([len(target) for target in case.targets]),
        ),
    )


class Scored(Protocol):
    """What has scores and parameters."""

    scoring: AlignScoring
    parameters: AlignParameters


def compiled_plans(scored: Scored, batch: Batch) -> PlannedPieces:
    """Plan all mappings by compiled code, and mark the anchors."""
    rows = np.arange(batch.mappings.size)
    return plan_pieces(
        batch.mappings,
        rows,
        batch.anchors,
        SequenceCodes.of(batch.reads, batch.targets),
        scored.scoring,
        scored.parameters,
    )


def from_batch(planned: PlannedPieces, batch: Batch) -> list[Plan]:
    """Convert arrays to the plans of the reference implementation."""
    pieces, plans = planned.pieces, []
    for plan in planned.plans:
        mapping = batch.mappings[plan["mapping"]]
        read, sequence = mapping["read"], mapping["sequence"]
        shift = batch.reads.starts[read] + mapping["is_reverse"] * batch.reads.lengths[read]

        def piece(row: int, shift: int = shift, sequence: int = sequence) -> Piece:
            query = int(pieces.query_starts[row] - shift)
            target = int(pieces.target_starts[row] - batch.targets.starts[sequence])
            return Piece(
                int(pieces.kinds[row]),
                Interval(query, query + int(pieces.query_lengths[row])),
                Interval(target, target + int(pieces.target_lengths[row])),
                int(pieces.bands[row]),
                int(pieces.drops[row]),
                int(planned.end_anchors[row]),
            )

        first, fills = int(plan["first_fill"]), int(plan["fills"])
        plans.append(
            Plan(
                int(plan["first_anchor"] - batch.anchors.offsets[read]),
                int(plan["anchors"]),
                Point(int(plan["query_start"]), int(plan["target_start"])),
                None if plan["left"] < 0 else piece(plan["left"]),
                [piece(row) for row in range(first, first + fills)],
                None if plan["right"] < 0 else piece(plan["right"]),
            )
        )
    return plans


def _codes(random: Random, size: int) -> list[int]:
    """Return random bases with homopolymers; a few are ambiguous."""
    codes: list[int] = []
    stay = random.choice([0.0, 0.3, 0.8])
    while len(codes) < size:
        is_same = codes and random.random() < stay
        codes.append(codes[-1] if is_same else random.choice([0, 0, 0, 1, 2, 3] * 4 + [4]))
    return codes


def _step(random: Random) -> tuple[int, int]:
    """Return the distances to the next anchor."""
    size = random.choice([1, 5, 20, 60, 250])
    query = random.randint(1, size)
    gap = random.choice([0, 0, 0, 0, 1, 12, 30, 60, 300])
    shift = random.randint(-gap, gap)
    return (query, query + shift) if shift > 0 else (query - shift, query)


def _chain(random: Random, k: int, place: tuple[bool, int], *, is_hpc: bool) -> list[Anchor]:
    query = random.choice([0, 3, 40, 400]) + k - 1
    target = random.choice([0, 3, 40, 400]) + k - 1
    anchors = []
    for _ in range(random.choice([1, 2, 3, 5, 12, 40])):
        span = min(k + random.randint(0, 5), query + 1) if is_hpc else k
        anchors.append(
            Anchor(
                place,
                query,
                target,
                span,
                is_tandem=random.random() < 0.1,
                is_ignored=random.random() < 0.02,
                is_long_join=random.random() < 0.02,
            )
        )
        query_step, target_step = _step(random)
        query, target = query + query_step, target + target_step
    return anchors


def _split(random: Random, chain: Chain) -> list[Chain]:
    """Return the chain, or the second part after a split, with or without the first one."""
    if chain.size < 2 or random.random() < 0.7:
        return [chain]
    cut = random.randrange(1, chain.size)
    parts = [
        Chain(chain.first, cut, chain.matches // 2),
        Chain(chain.first + cut, chain.size - cut, chain.matches // 2, random.random() < 0.5),
    ]
    return parts[random.randrange(2) :]


def _read(random: Random, k: int, places: Sequence[tuple[bool, int]], *, is_hpc: bool) -> Read:
    anchors: list[Anchor] = []
    chains: list[Chain] = []
    for place in places:
        made = _chain(random, k, place, is_hpc=is_hpc)
        matches = random.choice([len(made) * k, 10**6])
        chains += _split(random, Chain(len(anchors), len(made), matches))
        anchors += made
    length = max(anchor.query for anchor in anchors) + 1
    return Read(_codes(random, length + random.choice([0, 1, 50, 900])), anchors, chains)


def made_case(seed: int) -> Case:
    """Return reads with chains of all kinds."""
    random = Random(seed)  # noqa: S311  (no secrets)
    is_hpc, k = random.random() < 0.4, random.choice([1, 2, 15, 19])
    places = [(bool(number & 1), number >> 1) for number in range(4)]
    reads = [
        _read(random, k, sorted(random.choices(places, k=random.randint(1, 3))), is_hpc=is_hpc)
        for _ in range(random.randint(1, 3))
    ]
    sizes = [
        max(
            (a.target + 1 for read in reads for a in read.anchors if a.place[1] == sequence),
            default=1,
        )
        + random.choice([0, 1, 50, 900])
        for sequence in range(2)
    ]
    scoring = align_scoring(random.choice([1, 2, 4]), 4, random.choice([(4, 2), (6, 3)]), (30, 1))
    return Case(
        reads, [_codes(random, size) for size in sizes], scoring, _parameters(random, k, is_hpc)
    )


def _parameters(random: Random, k: int, is_hpc: bool) -> AlignParameters:
    return PARAMETERS._replace(
        k=k,
        is_hpc=int(is_hpc),
        min_anchors=random.choice([1, 3]),
        min_chain_score=random.choice([5, 40]),
        max_gap=random.choice([50, 200, 5000]),
        bandwidth=random.choice([20, 100, 500]),
        band=random.choice([31, 751]),
        min_piece=random.choice([1, 20, 50, 200]),
        filters_ends=int(random.random() < 0.7),
    )


CASES: Final = st.integers(0, 2**32 - 1).map(made_case)
"""Cases of all kinds."""
