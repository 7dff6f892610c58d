"""Pieces that kernels align, and the comparison with the CPU."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from hapgpu.longread.align import cpu
from hapgpu.longread.align.batches import (
    FILL,
    INVERSION,
    LEFT,
    REFILL,
    RIGHT,
    PieceAlignments,
    Pieces,
    ReadCodes,
    SequenceCodes,
    TargetCodes,
)
from hapgpu.longread.align.dp import results
from hapgpu.longread.align.parameters import (
    AlignParameters,
    AlignScoring,
    align_parameters,
    align_scoring,
)
from hapgpu.longread.align.pieces import plan_pieces
from hapgpu.longread.options import LongReadOptions, SketchOptions, preset
from tests.longread.align.dp.made_pairs import DEFAULT, noisy_copy
from tests.longread.align.dp.recorded_cases import recorded_cases
from tests.longread.align.pieces.real_reads import map_reads

PARAMETERS = align_parameters(LongReadOptions(), SketchOptions())
KINDS = (FILL, REFILL, LEFT, RIGHT, INVERSION)

SINGLE = align_scoring(2, 4, (4, 2), (4, 2))
TRANSITIONS = align_scoring(2, 5, (4, 2), (24, 1), transition=1)
FREE_AMBIGUOUS = align_scoring(2, 4, (4, 2), (24, 1), ambiguous=0)
HIGH = align_scoring(10, 24, (40, 6), (70, 5), ambiguous=20)
HIGH_SINGLE = align_scoring(9, 20, (38, 6), (38, 6), ambiguous=0, transition=3)
REJECTED = align_scoring(2, 13, (4, 2), (24, 1))
SCORINGS = (DEFAULT, SINGLE, TRANSITIONS, FREE_AMBIGUOUS, HIGH, HIGH_SINGLE, REJECTED)

HIGHEST_MATCH = align_scoring(124, 6, (1, 2), (3, 1), ambiguous=5, transition=1)
HIGHEST_LONG_GAPS = align_scoring(86, 82, (1, 40), (84, 2), ambiguous=81)
HIGHEST_GAPS = align_scoring(1, 126, (1, 62), (1, 62), ambiguous=125)
HIGHEST_SINGLE = align_scoring(115, 12, (5, 1), (5, 1), ambiguous=0)
HIGHEST_TRANSITION = align_scoring(2, 1, (4, 2), (24, 1), ambiguous=0, transition=12)
EXTREME_SCORINGS = (
    *(HIGHEST_MATCH, HIGHEST_LONG_GAPS, HIGHEST_GAPS),
    *(HIGHEST_SINGLE, HIGHEST_TRANSITION),
)
"""At the limits of what the options may be: numbers wrap around at 8 bits, or only just do not."""


class Piece(NamedTuple):
    """A piece by itself."""

    kind: int
    query: bytes
    target: bytes
    band: int
    drop: int


class Case(NamedTuple):
    """Arguments of `align_pieces`."""

    pieces: Pieces
    sequences: SequenceCodes
    scoring: AlignScoring
    parameters: AlignParameters


def case_of(made: list[Piece], scoring: AlignScoring, **parameters: int) -> Case:
    """Lay out pieces: those of the query in one read, with other codes around them."""
    columns: dict[str, list[Any]] = defaultdict(list)
    codes: dict[str, list[int]] = {"query": [3], "target": [1]}
    for piece in made:
        for name, sequence in (("query", piece.query), ("target", piece.target)):
            columns[f"{name}_starts"].append(len(codes[name]))
            columns[f"{name}_lengths"].append(len(sequence))
            codes[name] += [*sequence, 2]
        columns["kinds"].append(piece.kind)
        columns["bands"].append(piece.band)
        columns["drops"].append(piece.drop)
    types = {"kinds": np.uint8, "query_starts": np.int64, "target_starts": np.int64}
    pieces = Pieces(
        *(np.array(columns[name], types.get(name, np.int32)) for name in Pieces._fields)
    )
    starts, lengths = np.zeros(1, np.int64), [np.array([len(codes[name])]) for name in codes]
    query, target = (np.array(codes[name], np.uint8) for name in codes)
    sequences = SequenceCodes.of(
        ReadCodes(query, starts, lengths[0].astype(np.int32)),
        TargetCodes(target, starts, lengths[1].astype(np.int64)),
    )
    return Case(pieces, sequences, scoring, PARAMETERS._replace(**parameters))


def expected_alignments(case: Case) -> PieceAlignments:
    """Align by the CPU."""
    return cpu.align_pieces(*case)


def assert_equal(found: PieceAlignments, expected: PieceAlignments) -> None:
    for name, column, of_cpu in zip(PieceAlignments._fields, found, expected, strict=True):
        assert column.dtype == of_cpu.dtype, name
        np.testing.assert_array_equal(column, of_cpu, err_msg=name)


def recorded_pieces(data_dir: Path, max_cells: int) -> Iterator[Case]:
    """Yield the recorded cases of minimap2 that a kind of piece stands for."""
    kinds = {
        0: REFILL,
        results.APPROXIMATE: FILL,
        results.EXTENSION: RIGHT,
        results.EXTENSION | results.RIGHT | results.REVERSED_OPERATIONS: LEFT,
    }
    groups: dict[Any, tuple[AlignScoring, list[Piece]]] = {}
    for case in recorded_cases(data_dir):
        kind = kinds.get(case.options.modes)
        if case.function == "ll" or kind is None or case.cells > max_cells:
            continue
        query, target = case.query, case.target
        if kind == LEFT:
            query, target = query[::-1], target[::-1]
        key = (case.options.end_bonus, *case.scoring[:8])
        piece = Piece(kind, query, target, case.options.bandwidth, case.options.zdrop)
        groups.setdefault(key, (case.scoring, []))[1].append(piece)
    for (bonus, *_), (scoring, pieces) in groups.items():
        yield case_of(pieces, scoring, end_bonus=bonus)


def made_pieces(seed: int, count: int, max_length: int) -> list[Piece]:
    """Return pieces of all kinds: copies with errors and gaps, some unrelated, some empty."""
    rng = np.random.default_rng(seed)
    made = []
    for _ in range(count):
        target = rng.integers(0, 4, rng.integers(0, max_length))
        query = noisy_copy(rng, target, rng.choice([0.0, 0.05, 0.2, 1.0]))
        at, gap = rng.integers(0, query.size + 1), rng.choice([0, 0, 3, 30])
        if rng.random() < 0.5:
            query = np.delete(query, slice(at, at + gap))
        else:
            query = np.insert(query, at, rng.integers(0, 4, gap))
        for sequence in (query, target):
            sequence[rng.random(sequence.size) < rng.choice([0, 0.05])] = 4
        made.append(
            Piece(
                int(rng.choice(KINDS)),
                *(bytes(sequence.tolist()) for sequence in (query, target)),
                band=int(rng.choice([0, 1, 2, 5, 15, 16, 17, 30, 80, 751, 30001])),
                drop=int(rng.choice([-1, 0, 5, 20, 60, 400])),
            )
        )
    return made


def long_pieces(seed: int, length: int, bands: tuple[int, ...]) -> list[Piece]:
    """Return long pieces of all kinds: accurate, inaccurate, and unrelated from the middle on."""
    rng = np.random.default_rng(seed)
    made = []
    for band in bands:
        for kind in KINDS:
            for errors in (0.02, 0.2, 1.0):
                target = rng.integers(0, 4, length)
                half = noisy_copy(rng, target[: length // 2], errors)
                query = np.concatenate([half, noisy_copy(rng, target[length // 2 :], 0.1)])
                sequences = (bytes(query.tolist()), bytes(target.tolist()))
                made.append(Piece(kind, *sequences, band=band, drop=100))
    return made


REAL_READS = (
    ("lambda_ont.fq.gz", "genomes/lambda.NC_001416.fa.gz", "map-ont"),
    ("ecoli_clr.fa.gz", "genomes/ecoli.NC_000913.2.fa.gz", "map-pb"),
)
"""Reads, reference and preset."""


def real_pieces(data_dir: Path, reads: str, reference: str, name: str) -> Case:
    """Return the pieces of real reads, and the fills also as fills with a drop."""
    mapped = map_reads(data_dir / reference, data_dir / "longread" / reads, preset(name))
    batch = mapped.batch
    sequences = SequenceCodes.of(batch.reads, batch.targets)
    scoring, parameters = mapped.scoring, mapped.parameters
    planned = plan_pieces(
        *(batch.mappings, np.arange(batch.mappings.size), batch.anchors),
        *(sequences, scoring, parameters),
    )
    pieces = planned.pieces
    again = pieces.take(np.flatnonzero(pieces.kinds == FILL))
    again = again._replace(kinds=np.full_like(again.kinds, REFILL))
    both = Pieces._make(map(np.concatenate, zip(pieces, again, strict=True)))
    return Case(both, sequences, scoring, parameters)
