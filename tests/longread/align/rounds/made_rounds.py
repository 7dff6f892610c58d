"""Cases of drops and inversions for a GPU, real or emulated."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Final

import numpy as np
import pytest

from hapgpu.longread.align import pipeline
from hapgpu.longread.align.batches import (
    FILL,
    INVERSION,
    LEFT,
    MAPPING,
    NO_PARENT,
    PieceAlignments,
    Pieces,
    ReadCodes,
    SequenceCodes,
    TargetCodes,
)
from hapgpu.longread.align.drops import DROP, INVERSION_DROP, NO_DROP
from hapgpu.longread.align.inversions import Stretches
from hapgpu.longread.align.parameters import AlignScoring, align_scoring
from tests.longread.align.cigars.reference import Operation
from tests.longread.align.rounds import made_reads as made
from tests.longread.align.rounds import reference, test_drops, test_rounds, test_splits
from tests.longread.align.rounds.checked_stages import CheckedStages
from tests.longread.align.rounds.made_reads import Event
from tests.longread.align.rounds.test_drops import Fill, inverted, matches
from tests.longread.align.rounds.test_rounds import PARAMETERS, SCORING

SCORINGS = (
    SCORING,
    align_scoring(1, 4, (6, 2), (26, 1), ambiguous=0),
    align_scoring(2, 4, (4, 2), (4, 2), transition=2),
    align_scoring(4, 2, (10, 3), (40, 1), ambiguous=1, transition=5),
)
MANY: Final = 150
"""Fills that have all results."""


def use_stages(stages: CheckedStages, patch: pytest.MonkeyPatch) -> None:
    """Let the tests of the CPU call the stages of a GPU, and align pairs by compiled code."""
    patch.setattr(reference, "align_pair", test_rounds.aligned_pair)
    patch.setattr(test_drops, "find_drops", stages.find_drops)
    checked = test_rounds.CPU_STAGES._replace(find_drops=stages.find_drops)
    patch.setattr(test_rounds, "CPU_STAGES", checked)
    for module in (pipeline, test_splits):
        patch.setattr(module, "find_stretches", stages.find_stretches)
        patch.setattr(module, "insert_inversions", stages.insert_inversions)


def random_fill(draws: random.Random) -> Fill:
    """Return a fill of noisy copies, random bases and gaps, sometimes inverted."""
    if draws.random() < 0.1:
        return inverted(draws.randrange(5, 70))
    if draws.random() < 0.1:
        return matches(*(draws.randrange(40) for _ in range(5)))
    cigar, query, target = [], [], []
    for number in range(draws.randrange(1, 9)):
        letter = "M" if number % 2 == 0 else draws.choice("ID")
        length = draws.randrange(1, 80 if letter == "M" else 12)
        errors = draws.choice([0, 0, 0.1, 0.3, 1])
        of_target = [draws.randrange(4 + (draws.random() < 0.1)) for _ in range(length)]
        of_query = [draws.randrange(5) if draws.random() < errors else code for code in of_target]
        cigar.append(Operation(letter, length))
        query += of_query if letter != "D" else []
        target += of_target if letter != "I" else []
    return Fill(cigar, query, target)


def batch_of(
    fills: Sequence[Fill], scoring: AlignScoring, bands: Sequence[int], kinds: Sequence[int]
) -> tuple[Pieces, PieceAlignments, SequenceCodes]:
    """Return fills with their alignments and bases."""
    count = len(fills)
    sizes = np.array([(len(each.query), len(each.target)) for each in fills], dtype=np.int32)
    ends = np.cumsum(sizes.reshape(count, 2), axis=0, dtype=np.int64)
    starts = ends - sizes.reshape(count, 2)
    numbers = np.zeros(count, dtype=np.int32)
    query_lengths, target_lengths = np.ascontiguousarray(sizes.reshape(count, 2).T)
    query_starts, target_starts = np.ascontiguousarray(starts.T)
    pieces = Pieces(
        np.array(kinds, dtype=np.uint8),
        *(query_starts, query_lengths, target_starts, target_lengths),
        *(np.array(bands, dtype=np.int32), numbers),
    )
    words = [each << 4 | "MID".index(letter) for fill in fills for letter, each in fill.cigar]
    alignments = PieceAlignments(
        np.array([fill.score(scoring) for fill in fills], dtype=np.int32),
        *(numbers, numbers, numbers, numbers),
        *(numbers.astype(np.uint8), numbers.astype(np.uint8)),
        np.array(words, dtype=np.uint32),
        np.cumsum([0, *(len(fill.cigar) for fill in fills)], dtype=np.int64),
    )
    query, target = (
        np.array([code for fill in fills for code in getattr(fill, name)], dtype=np.uint8)
        for name in ("query", "target")
    )
    zero = np.zeros(1, dtype=np.int64)
    sequences = SequenceCodes(
        ReadCodes(query, zero, np.array([query.size], dtype=np.int32)),
        TargetCodes(target, zero, np.array([target.size], dtype=np.int64)),
    )
    return pieces, alignments, sequences


def check_random_fills(stages: CheckedStages, seed: int, count: int) -> None:
    """Compare the results of random fills; many of them have all three."""
    draws = random.Random(seed)  # noqa: S311  (no secret)
    fills = [random_fill(draws) for _ in range(count)]
    scoring = SCORINGS[seed % len(SCORINGS)]
    bands = [draws.choice([1, 10**6]) for _ in fills]
    kinds = [draws.choice([FILL] * 9 + [LEFT]) for _ in fills]
    drop = draws.choice([5, 30, 60])
    parameters = PARAMETERS._replace(
        drop=drop, inversion_drop=drop // 2, min_score=draws.choice([5, 40]), max_gap=1000
    )
    found = stages.find_drops(*batch_of(fills, scoring, bands, kinds), scoring, parameters)
    assert count < MANY or set(found.tolist()) == {NO_DROP, DROP, INVERSION_DROP}


def check_literal_drops() -> None:
    """Run the tests of drops that need no fixtures."""
    test_drops.test_a_drop_must_exceed_the_limit()
    test_drops.test_the_best_part_counts_not_the_end()
    test_drops.test_a_drop_at_the_start_counts_from_the_first_base()
    test_drops.test_gaps_of_both_kinds_cost_all_their_bases()
    test_drops.test_an_inversion_needs_its_own_limit_only()
    test_drops.test_an_inversion_is_long_and_good_enough()
    test_drops.test_a_drop_at_an_inversion_must_exceed_the_limit()
    test_drops.test_a_drop_is_from_the_last_best_score_to_the_first_lowest_one()
    test_drops.test_only_fills_are_tested()
    for letter in "ID":
        test_drops.test_a_gap_costs_no_more_than_to_open_it(letter)
        test_drops.test_neither_side_of_an_inversion_is_too_long(letter)


def check_literal_splits() -> None:
    """Run tests of splits and inversions."""
    for is_reverse in (False, True):
        test_splits.test_an_inversion_lies_behind_the_two_parts(is_reverse=is_reverse)
    test_splits.test_parts_without_own_parent_enclose_no_inversion(3)
    for limits in (
        *(("min_chain_score", 60, 1), ("min_chain_score", 61, 0), ("max_gap", 60, 1)),
        *(("max_gap", 59, 0), ("min_score", 120, 1), ("min_score", 121, 0)),
    ):
        test_splits.test_limits_of_stretches(*limits)
    for splits in (((1, 2), 1), ((3, 3), 1), ((2, 2), 0), ((1, 1), 0)):
        test_splits.test_a_stretch_lies_between_a_part_and_a_later_one(*splits)
    test_splits.test_a_stretch_that_is_not_aligned_is_no_inversion()
    test_splits.test_an_inversion_is_the_neighbour_of_the_next_part()
    test_splits.test_reads_without_mappings()


def check_random_reads(seed: int, count: int) -> int:
    """Align made reads with the stages in use; return the number of inversions."""
    draws = random.Random(seed)  # noqa: S311  (no secret)
    targets = made.made_targets(seed)
    reads = []
    for number in range(count):
        events = [Event("copy", draws.randrange(40, 90))]
        for _ in range(draws.randrange(1, 4)):
            kind = draws.choice(["invert", "invert", *made.KINDS])
            events += [Event(kind, draws.randrange(20, 70)), Event("copy", draws.randrange(30, 80))]
        reads.append(made.made_read([events], targets, seed + number))
    parents = [list(range(len(read.chains))) for read in reads]
    found = test_rounds.compiled(reads, parents, targets, SCORINGS[seed % 2], PARAMETERS)
    return int(found.mappings["is_inversion"].sum())


def check_made_stretches(stages: CheckedStages, seed: int, reads: int) -> None:
    """Insert inversions between the parts of reads; runs of stretches are aligned or not."""
    rng = np.random.default_rng(seed)
    parts = 9
    mappings = np.zeros(reads * parts, dtype=MAPPING)
    rows = np.arange(mappings.size)
    mappings["read"] = rows // parts
    mappings["is_reverse"] = rng.integers(0, 2, reads).repeat(parts)
    mappings["sequence"] = rng.integers(0, 2, mappings.size)
    mappings["next"] = np.where(rows % parts < parts - 1, rows + 1, NO_PARENT)
    left = np.flatnonzero((rows % parts < parts - 1) & (rng.random(rows.size) < 0.8))
    lengths = rng.integers(1, 100, left.size).astype(np.int32)
    starts = rng.integers(0, 500, (2, left.size))
    kinds = np.full(left.size, INVERSION, dtype=np.uint8)
    pieces = Pieces(kinds, starts[0], lengths, starts[1], lengths, lengths, lengths)
    counts = rng.integers(0, 4, left.size)
    numbers = rng.integers(0, 100, (5, left.size)).astype(np.int32)
    operations = rng.integers(0, 1000, counts.sum()).astype(np.uint32)
    alignments = PieceAlignments(
        *(*numbers, kinds, kinds, operations), np.concatenate([[0], np.cumsum(counts)])
    )
    sequences = SequenceCodes(
        ReadCodes(kinds, np.arange(reads) * 700, np.arange(reads, dtype=np.int32) + 300),
        TargetCodes(kinds, np.array([0, 1000]), np.array([1000, 1000])),
    )
    stretches = Stretches(left, left + 1, pieces)
    found = stages.insert_inversions(mappings, stretches, alignments, sequences, 1 << 33)
    assert found.size > mappings.size
