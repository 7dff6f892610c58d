"""Local alignment of pairs on a GPU, real or emulated, against the CPU."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hapgpu.longread.align.batches import ReadCodes, SequenceCodes, TargetCodes
from hapgpu.longread.align.dp import results
from hapgpu.longread.align.dp.local import align_locally
from hapgpu.longread.align.parameters import AMBIGUOUS, AlignScoring, align_scoring
from tests.longread.align.dp.made_pairs import noisy_copy
from tests.longread.align.dp.recorded_cases import recorded_cases

Pair = tuple[NDArray[np.uint8], NDArray[np.uint8]]
"""Codes of a query and of a target."""


def check_pairs(
    pairs: Sequence[Pair],
    scoring: AlignScoring,
    upload: Callable[[NDArray[Any]], Any],
    download: Callable[[Any], NDArray[Any]],
) -> None:
    """Compare the results of pairs, in both directions."""
    for is_backwards in (False, True):
        modes = results.BACKWARDS if is_backwards else 0
        expected = [align_locally(*pair, modes, scoring) for pair in pairs]
        found = _results_of(pairs, scoring, upload, is_backwards=is_backwards)
        columns = [download(column).tolist() for column in found]
        assert list(zip(*columns, strict=True)) == [tuple(map(int, each)) for each in expected]


def _results_of(
    pairs: Sequence[Pair],
    scoring: AlignScoring,
    upload: Callable[[NDArray[Any]], Any],
    *,
    is_backwards: bool,
) -> tuple[Any, ...]:
    from hapgpu.longread.cuda.align.local import (  # noqa: PLC0415  (imports CuPy)
        LocalPairs,
        align_pairs_locally,
    )

    queries, targets = zip(*pairs, strict=True)
    if not is_backwards:  # the query of a pair is the reverse complement of what is aligned
        queries = tuple(_reverse_complement(query) for query in queries)
    sizes = np.array([(query.size, target.size) for query, target in pairs], dtype=np.int64)
    rows = np.zeros((len(pairs), 5), dtype=np.int64)
    rows[:, :2] = np.cumsum(sizes, axis=0) - sizes
    rows[:, 2] = np.cumsum(sizes[:, 1]) - sizes[:, 1]
    rows[:, 3] = sizes[:, 0] | sizes[:, 1] << 32
    zero = upload(np.zeros(1, dtype=np.int64))
    sequences = SequenceCodes(
        ReadCodes(upload(np.concatenate(queries)), zero, upload(np.zeros(1, dtype=np.int32))),
        TargetCodes(upload(np.concatenate(targets)), zero, zero),
    )
    return align_pairs_locally(
        LocalPairs(upload(rows), upload(np.zeros(2, dtype=np.uint64))),
        len(pairs),
        int(sizes[:, 1].sum()),
        sequences,
        scoring,
        is_backwards=is_backwards,
    )


def _reverse_complement(codes: NDArray[np.uint8]) -> NDArray[np.uint8]:
    return np.where(codes == AMBIGUOUS, codes, 3 - codes)[::-1].astype(np.uint8)


def recorded_pairs(data_dir: Path, max_cells: int) -> Iterator[tuple[AlignScoring, list[Pair]]]:
    """Yield recorded pairs by their scores."""
    cases = [
        each
        for each in recorded_cases(data_dir)
        if each.function == "ll" and each.cells <= max_cells
    ]
    by_scores = sorted(cases, key=lambda case: str(case.scoring))
    for _, group in groupby(by_scores, key=lambda case: str(case.scoring)):
        same = list(group)
        yield same[0].scoring, [(_codes(case.query), _codes(case.target)) for case in same]


def _codes(sequence: bytes) -> NDArray[np.uint8]:
    return np.frombuffer(sequence, dtype=np.uint8)


def random_pairs(seed: int, sizes: Sequence[int]) -> list[Pair]:
    """Return noisy copies and unrelated sequences, one pair per size; repeats make ties."""
    rng = np.random.default_rng(seed)
    pairs = []
    for size in sizes:
        target = rng.integers(0, rng.choice([2, 4, 5]), size).astype(np.uint8)
        if rng.random() < 0.3:
            target = np.resize(target[: max(1, size // 5)], size)
        query = noisy_copy(rng, target, rng.choice([0.0, 0.1, 0.4, 1.0]))
        at = int(rng.integers(0, size + 1))
        query = np.delete(query, slice(at, at + int(rng.choice([0, 0, 5]))))
        pairs.append((query.astype(np.uint8), target))
    return pairs


def saturated_pairs() -> list[Pair]:
    """Return equal bases, which score more than 16 bits with `SATURATING`."""
    same = np.zeros(1040, dtype=np.uint8)
    return [(same, same), (same[:700], same)]


SATURATING = align_scoring(100, 4, (4, 2), (24, 1))
EDGES = (1, 2, 7, 8, 9, 31, 32, 33, 63, 64, 65, 255, 256, 257)
