"""Made alignments, and checks of their final CIGARs on a GPU, or its emulation."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.ragged import Ragged
from hapgpu.cigar.encoding import DELETION, INSERTION, MATCH, OPERATIONS
from hapgpu.longread.align import cigars as on_cpu
from hapgpu.longread.align.batches import MAPPING, SequenceCodes
from hapgpu.longread.align.parameters import AlignScoring
from tests.longread.align.cigars.reference import Alignment, Operation
from tests.longread.align.cigars.test_cigars import (
    DEFAULT,
    SCORINGS,
    Batch,
    codes_of,
    operations_of,
)
from tests.longread.align.device_arrays import Upload, downloaded, records, uploaded

CHANCES = ([0.25] * 4 + [0.0], [0.96, 0.04, 0, 0, 0], [1.0, 0, 0, 0, 0], [0.2] * 5)
"""Probabilities of the codes, from usual bases to one base only."""


def made_alignment(
    seed: int, size: int, longest: int, chances: list[float], *, is_clean: bool
) -> Alignment:
    """Make an alignment of so many operations.

    Parameters
    ----------
    longest
        Most bases of an operation.
    is_clean
        M and gaps alternate, and none is empty; otherwise gaps and empty M are neighbours, too.
    """
    draws = np.random.default_rng(seed)
    kinds = np.zeros(size, dtype=np.int64)
    if is_clean:
        kinds[1::2] = draws.integers(1, 3, size // 2)
    else:
        for k in range(1, size):
            kinds[k] = draws.choice([kind for kind in range(3) if kind != kinds[k - 1]])
    lengths = draws.integers(1, longest + 1, size)
    if not is_clean:
        lengths[(kinds == MATCH) & (draws.random(size) < 0.1)] = 0
    query, target = [], []
    for kind, length in zip(kinds, lengths, strict=True):
        bases = draws.choice(5, length, p=chances)
        if kind != DELETION:
            query.append(bases)
        if kind != INSERTION:
            differs = (kind == MATCH) & (draws.random(length) < 0.1)
            target.append(np.where(differs, draws.choice(5, length), bases))
    cigar = [Operation(OPERATIONS[kind], int(n)) for kind, n in zip(kinds, lengths, strict=True)]
    codes = (np.concatenate([*each, []]).astype(int).tolist() for each in (query, target))
    return Alignment(cigar, *codes)


def check_finished(
    upload: Upload,
    mappings: NDArray[np.void],
    rows: NDArray[np.int64],
    operations: NDArray[np.uint32],
    sequences: SequenceCodes,
    scoring: AlignScoring,
) -> None:
    """Finish alignments on both devices, and compare; those of the CPU in place."""
    from hapgpu.longread.cuda.align import cigars  # noqa: PLC0415  (imports CuPy)

    words = uploaded(mappings, upload)
    of_device = upload(operations)
    bases = uploaded(sequences, upload)
    cigars.finish_alignments(words, upload(rows), of_device, bases, scoring)
    on_cpu.finish_alignments(mappings, rows, operations, sequences, scoring)
    found = records(words, MAPPING)
    for name in MAPPING.names or ():
        np.testing.assert_array_equal(found[name], mappings[name], name)
    rests = mappings["first_operation"], mappings["operations"]
    np.testing.assert_array_equal(
        Ragged.gather(downloaded(of_device), *rests).data, Ragged.gather(operations, *rests).data
    )


def check(upload: Upload, batch: Batch, scoring: AlignScoring, rows: NDArray[np.int64]) -> None:
    """Finish a batch on both devices, and compare."""
    sequences = SequenceCodes.of(batch.reads, batch.targets)
    check_finished(upload, batch.mappings, rows, batch.operations, sequences, scoring)


def check_made(upload: Upload, seed: int, size: int, longest: int) -> None:
    """Check made alignments of all kinds of bases, on both strands."""
    batch = Batch(
        [
            (made_alignment(seed, size, longest, chances, is_clean=is_clean), is_reverse)
            for chances in CHANCES
            for is_clean in (True, False)
            for is_reverse in (False, True)
        ]
    )
    rows = np.random.default_rng(seed).permutation(batch.mappings.size)[1:]
    check(upload, batch, SCORINGS[seed % 3], rows)


LITERAL = [
    ("4M1D3M", "ACGGGTT", "ACGGGGTT"),
    ("4M1I3M", "ACGGGGTT", "ACGGGTT"),
    ("6M2I2M", "TACACACAGG", "TACACAGG"),
    ("2M1D2M1D3M", "AGGGTCC", "AGGGGGTCC"),
    ("3M1D3M", "GGGTTT", "GGGGTTT"),
    ("2M1I1M1D2M", "ACCCTA", "ACCTTA"),
    ("2M1I2D3I2M", "ACGTACGT", "TGCAAT"),
    ("2M1D2I3D2M", "ACGTAC", "TGCAATGC"),
    ("2M1I1D0M1I2M", "ACGTAC", "TGCAA"),
    ("2I3M", "ACGTA", "ACG"),
    ("2D3M", "ACG", "ACGTA"),
    ("1I1D3M", "ACGT", "ACGT"),
    ("3M2I", "ACGTA", "ACG"),
    ("3I", "ACG", ""),
    ("0M2I", "AC", ""),
    ("1M", "N", "A"),
    ("4M3I2M2D4M", "ACNNGNACATGCA", "ACGNACNTTGAA"),
]


def check_literal(upload: Upload) -> None:
    """Check short alignments, both strands; one mapping has no alignment."""
    batch = Batch(
        [
            (Alignment(operations_of(cigar), codes_of(query), codes_of(target)), is_reverse)
            for cigar, query, target in LITERAL
            for is_reverse in (False, True)
        ]
    )
    batch.mappings["operations"][4] = 0
    check(upload, batch, DEFAULT, np.arange(batch.mappings.size))
