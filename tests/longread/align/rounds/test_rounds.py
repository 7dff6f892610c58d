"""Rounds of base alignment against the reference implementation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hapgpu.arrays.ragged import Ragged
from hapgpu.longread.align.batches import AlignedMappings, PieceAlignments, Pieces, SequenceCodes
from hapgpu.longread.align.dp.results import PairOptions
from hapgpu.longread.align.parameters import AlignParameters, AlignScoring, align_scoring
from hapgpu.longread.align.pipeline import CPU_STAGES, MappingAligner
from hapgpu.longread.options import MappingOptions
from tests.longread.align.dp.compiled_pairs import align_pairs
from tests.longread.align.dp.reference import PairAlignment
from tests.longread.align.rounds import made_reads as made
from tests.longread.align.rounds import reference
from tests.longread.align.rounds.made_reads import Event, Made
from tests.longread.align.rounds.reference import AlignedMapping, ReadAligner

PARAMETERS = AlignParameters(
    k=made.K,
    is_hpc=0,
    min_anchors=2,
    min_chain_score=6,
    max_gap=200,
    bandwidth=60,
    band=91,
    long_band=301,
    inversion_band=90,
    drop=30,
    inversion_drop=15,
    end_bonus=-1,
    min_score=12,
    min_piece=20,
    max_cells=100_000,
    filters_ends=1,
)
SCORING = align_scoring(2, 4, (4, 2), (24, 1))
SCORINGS = [SCORING, align_scoring(1, 4, (6, 2), (26, 1)), align_scoring(2, 4, (4, 2), (4, 2))]


def aligned_pair(
    query: Sequence[int], target: Sequence[int], options: PairOptions, scoring: AlignScoring
) -> PairAlignment:
    """Align a pair by compiled code, which other tests compare with plain Python."""
    rows = (Ragged.from_sequences([bytes(codes)]) for codes in (query, target))
    found = align_pairs(*rows, options, scoring)
    pairs = [(int(each) >> 4, int(each) & 15) for each in found.operations]
    return PairAlignment(*found.results[0].tolist(), pairs)


def align_pieces(
    pieces: Pieces,
    sequences: SequenceCodes,
    scoring: AlignScoring,
    parameters: AlignParameters,
) -> PieceAlignments:
    """Align pieces one by one."""
    found = [
        reference.align_piece(
            int(pieces.kinds[k]),
            sequences.reads.codes[start : start + pieces.query_lengths[k]].tolist(),
            sequences.targets.codes[
                pieces.target_starts[k] : pieces.target_starts[k] + pieces.target_lengths[k]
            ].tolist(),
            int(pieces.bands[k]),
            int(pieces.drops[k]),
            scoring,
            parameters,
        )
        for k, start in enumerate(pieces.query_starts)
    ]
    columns = [
        (each.score, each.max_score, each.max_target, each.max_query, each.query_end_target)
        for each in found
    ]
    scores = np.ascontiguousarray(np.array(columns, dtype=np.int32).reshape(-1, 5).T)
    operations = [length << 4 | code for each in found for length, code in each.operations]
    return PieceAlignments(
        *scores,
        np.array([each.reaches_end for each in found], dtype=np.uint8),
        np.array([each.dropped for each in found], dtype=np.uint8),
        np.array(operations, dtype=np.uint32),
        np.cumsum([0, *(len(each.operations) for each in found)]),
    )


def aligner_of(
    targets: list[list[int]], scoring: AlignScoring, parameters: AlignParameters
) -> MappingAligner:
    """Return an aligner that aligns pieces by plain Python."""
    stages = CPU_STAGES._replace(align_pieces=align_pieces)
    codes = made.target_codes(targets)
    return MappingAligner(codes, MappingOptions(), scoring, parameters, stages)


def compiled(
    batch: Sequence[Made],
    parents: Sequence[Sequence[int]],
    targets: list[list[int]],
    scoring: AlignScoring,
    parameters: AlignParameters,
) -> AlignedMappings:
    aligner = aligner_of(targets, scoring, parameters)
    rows = made.mapping_rows(batch, parents)
    return aligner.align(rows, made.mapped_anchors(batch), made.read_codes(batch))


def plain(
    read: Made,
    parents: Sequence[int],
    targets: list[list[int]],
    scoring: AlignScoring,
    parameters: AlignParameters,
) -> list[AlignedMapping]:
    aligner = ReadAligner(made.anchors_of(read), made.read_of(read), targets, scoring, parameters)
    return aligner.align(made.aligned_mappings(read, parents))


def plain_rows(mappings: Sequence[AlignedMapping], length: int, first: int) -> list[object]:
    """Return what there is to compare of the mappings of a read."""
    rows: list[object] = []
    for each in mappings:
        query = (each.query.start, each.query.end)
        if each.is_reverse:
            query = (length - each.query.end, length - each.query.start)
        rows.append(
            (
                *(each.sequence, each.is_reverse, *query, *each.target),
                *(0 if each.is_inversion else first + each.first, each.count, each.score),
                *(each.number, each.parent, each.split),
                *(each.is_split_inversion, each.is_inversion, each.dp_score, each.max_score),
                *(each.counts or (each.matches, 0, 0, 0, 0)),
                [(length, letter) for letter, length in each.cigar],
            )
        )
    return rows


COLUMNS = [
    *("sequence", "is_reverse", "query_start", "query_end", "target_start", "target_end"),
    *("first_anchor", "anchors", "score", "number", "parent", "split", "is_split_inversion"),
    *("is_inversion", "dp_score", "dp_max", "matches", "length", "ambiguous", "gaps"),
    "gap_bases",
]


def compiled_rows(aligned: AlignedMappings) -> list[list[object]]:
    """Return what there is to compare of the mappings of each read."""
    rows: list[object] = []
    for mapping in aligned.mappings:
        first = mapping["first_operation"]
        operations = aligned.operations[first : first + mapping["operations"]].tolist()
        columns = [mapping[name].item() for name in COLUMNS]
        if not operations:
            columns[-4] = 0  # length is the chain's
        rows.append((*columns, [(each >> 4, "MID"[each & 15]) for each in operations]))
    return [rows[a:b] for a, b in zip(aligned.offsets, aligned.offsets[1:], strict=False)]


class Recipe(NamedTuple):
    """How to make a batch: a short text if a test fails."""

    seed: int
    reads: list[list[list[Event]]]
    parents: list[int]

    def batch(self) -> tuple[list[Made], list[list[int]], list[list[int]]]:
        """Return reads, the parents of their chains, and sequences."""
        targets = made.made_targets(self.seed)
        reads = [
            made.made_read(parts, targets, self.seed + k) for k, parts in enumerate(self.reads)
        ]
        parents = [
            [parent if parent < 1 else number for number, parent in enumerate(self.parents)]
            for _ in reads
        ]
        return reads, parents, targets


def recipes() -> st.SearchStrategy[Recipe]:
    reads = st.lists(st.lists(made.events(), max_size=2), max_size=2)
    parents = st.lists(st.integers(-1, 6), min_size=2, max_size=2)
    return st.builds(Recipe, st.integers(0, 2**16), reads, parents)


@given(
    recipes(),
    st.sampled_from(SCORINGS),
    st.sampled_from([(30, 15), (15, 15), (60, 20), (-1, -1)]),
    st.sampled_from([100_000, 1500]),
    st.sampled_from([-1, 10]),
    st.sampled_from([(60, 91, 301), (10, 16, 31)]),
)
@settings(max_examples=150)
def test_rounds_equal_the_reference_implementation(
    recipe: Recipe,
    scoring: AlignScoring,
    drops: tuple[int, int],
    max_cells: int,
    end_bonus: int,
    bands: tuple[int, int, int],
) -> None:
    reads, parents, targets = recipe.batch()
    parameters = PARAMETERS._replace(
        drop=drops[0],
        inversion_drop=drops[1],
        max_cells=max_cells,
        end_bonus=end_bonus,
        bandwidth=bands[0],
        band=bands[1],
        long_band=bands[2],
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(reference, "align_pair", aligned_pair)
        found = compiled_rows(compiled(reads, parents, targets, scoring, parameters))
        first = 0
        for read, of_read, rows in zip(reads, parents, found, strict=True):
            expected = plain(read, of_read, targets, scoring, parameters)
            assert rows == plain_rows(expected, len(read.codes), first)
            first += len(made.anchors_of(read))
