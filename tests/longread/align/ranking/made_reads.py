"""Made-up reads with aligned mappings, to rank on several devices."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final

import numpy as np

from tests.longread.align.ranking.ranked_reads import RULES, RankingInputs, inputs_of, mapping_at
from tests.longread.align.ranking.reference import AlignedMapping, Rules
from tests.longread.mappings.reference import Interval

_PARTS: Final = 8


def any_read(
    generator: np.random.Generator,
    length: int,
    count: int,
    fixed: Sequence[tuple[int, int]],
    *,
    spread: int,
    covers: bool,
) -> list[AlignedMapping]:
    """Return mappings at few different places, so that many overlap and some are equal.

    Parameters
    ----------
    generator
        Source of random numbers.
    length, count
        Bases of the read, and number of mappings.
    fixed
        Places in the read, from one to the other number.
    spread
        Most differences, and differences of scores; hashes are few unless it is 500.
    covers
        Whether other mappings cover the read, so that scores are rescaled.
    """
    read = []
    for number in range(count):
        start, end = sorted(fixed[generator.integers(len(fixed))])
        if generator.random() < 0.3 or end - start < 45:
            start, end = (0, length) if covers else (length // 4, length // 2 + 45)
        is_inversion = bool(generator.random() < 0.15)
        bases = end - start
        matches = bases - int(generator.integers(0, min(bases // 5, spread) + 1))
        gaps = generator.integers(1, 9, generator.integers(0, 5)).tolist()
        target = int(1000 * generator.integers(0, 4))
        score = int(generator.integers(1, bases)) if not is_inversion else 0
        read.append(
            AlignedMapping(
                sequence=int(generator.integers(0, 2)),
                query=Interval(start, end),
                target=Interval(target + start, target + end),
                anchors=0 if is_inversion else int(generator.integers(1, 15)),
                score=score,
                first_score=max(score, int(generator.integers(40, bases + 40))),
                hash=int(generator.integers(0, 3))
                if spread < 500
                else int(generator.integers(2**32)),
                matches=matches,
                length=bases + sum(gaps) - int(generator.integers(0, 2)),
                ambiguous=int(generator.integers(0, 2)),
                dp_max=max(2 * matches - int(generator.integers(0, spread)), 1),
                gaps=gaps,
                is_aligned=bool(generator.random() < 0.95),
                is_inversion=is_inversion,
                second_score=int(generator.integers(0, bases)),
                n_sub=int(generator.integers(0, 4)),
                number=int(generator.choice([number, number, -1])),
                parent=int(generator.choice([number, -1, -2])),
            )
        )
    return read


def any_reads(
    seed: int, counts: Sequence[int], rules: Rules = RULES, *, gaps: int = 5
) -> RankingInputs:
    """Return the arguments with which to rank reads with some numbers of mappings.

    Every third mapping has up to `gaps` more gaps.
    """
    generator = np.random.default_rng(seed)
    lengths = generator.choice([400, 500, 3000], len(counts)).tolist()
    reads = []
    for length, count in zip(lengths, counts, strict=True):
        fixed = generator.integers(0, _PARTS + 1, (3, 2)) * length // _PARTS
        spread = int(generator.choice([3, 30, 500]))
        covers = bool(generator.random() < 0.7)
        read = any_read(generator, length, count, fixed.tolist(), spread=spread, covers=covers)
        for mapping in read[::3]:
            mapping.gaps += generator.integers(1, 3000, generator.integers(gaps)).tolist()
        reads.append(read)
    return inputs_of(reads, lengths, generator.integers(0, 300, len(counts)).tolist(), rules)


def ties(count: int) -> RankingInputs:
    """Return a read whose mappings have few scores and equal hashes, between two others."""
    scores = (1000 + 300 * np.random.default_rng(count).integers(0, 3, count)).tolist()
    read = [
        mapping_at(100 * k, 100 * k + 50, dp_max=score, hash=5) for k, score in enumerate(scores)
    ]
    other = [mapping_at(0, 900)]
    return inputs_of([other, read, other], [900, 100 * count, 900], [0, 7, 0])


def inversions(count: int) -> RankingInputs:
    """Return reads with inversions at the ends, between primaries, and side by side."""
    reads = []
    for seed in range(6):
        generator = np.random.default_rng(seed)
        read = []
        for k in range(count):
            is_inversion = bool(generator.random() < 0.4)
            second_score = int(generator.integers(0, 100))
            mapping = mapping_at(
                *(100 * k, 100 * k + 100),
                score=0 if is_inversion else 100,
                anchors=0 if is_inversion else 20,
                is_inversion=is_inversion,
                second_score=second_score,
                dp_max=int(generator.integers(100, 200)),
            )
            if generator.random() < 0.2:  # several at one place of the reference
                mapping = replace(mapping, target=Interval(10_000, 10_100))
            read.append(mapping)
        reads.append(read)
    return inputs_of(reads, [100 * count] * len(reads), [50] * len(reads))


def long_alignments(seed: int, gaps: int) -> RankingInputs:
    """Return reads with two good mappings of many gaps, whose scores depend on sums of costs."""
    generator = np.random.default_rng(seed)
    reads = []
    for _ in range(3):
        read = []
        for place in range(2):
            lengths = generator.integers(1, 40, generator.integers(gaps)).tolist()
            matches = 100 * gaps - int(generator.integers(10))
            fields = {"matches": matches, "hash": place, "target": 10_000 + 200_000_000 * place}
            mapping = mapping_at(0, 100 * gaps, gaps=lengths, **fields)
            read.append(replace(mapping, length=100 * gaps + sum(lengths)))
        reads.append(read)
    return inputs_of(reads, [100 * gaps] * 3, [0] * 3, RULES._replace(min_score=0))


def any_rules(seed: int) -> Rules:
    """Return rules at random."""
    generator = np.random.default_rng(seed)
    return Rules(
        min_anchors=int(generator.integers(1, 6)),
        min_chain_score=int(generator.choice([10, 40, 90])),
        min_score=int(generator.choice([0, 1, 80, 200])),
        match=int(generator.integers(1, 5)),
        mismatch=int(generator.integers(2, 10)),
        k=int(generator.choice([5, 15, 19])),
        mask_level=float(generator.choice([0.0, 0.5, 0.9])),
        score_ratio=float(generator.choice([0.0, 0.1, 0.8, 1.0])),
        max_secondary=int(generator.integers(0, 7)),
        all_chains=seed % 5 == 4,
    )


def small_cases() -> Iterator[RankingInputs]:
    """Yield reads of all kinds."""
    yield any_reads(0, [])
    yield any_reads(1, [0])
    yield any_reads(2, [0, 1, 0, 0])
    for count in (0, 1, 63, 64, 65, 150):
        yield ties(count)
    for count in (1, 2, 3, 9, 70):
        yield inversions(count)
    yield long_alignments(0, 1)
    yield long_alignments(1, 4000)
    for seed in range(25):
        yield any_reads(seed, [1, 3, 0, 10, 2, 33, 0], any_rules(seed), gaps=1 + 15 * (seed % 4))
    for seed in range(25, 29):
        yield any_reads(seed, [80, 200], any_rules(seed))
