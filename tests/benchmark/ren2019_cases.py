"""Pairs for the design of Ren et al. 2019, and the comparison with the aligner of the CPU."""

from __future__ import annotations

from random import Random
from typing import TypeAlias

import numpy as np

from hapgpu.arrays.batches import PairBatch
from hapgpu.arrays.ragged import Ragged
from hapgpu.benchmark.cuda.ren2019 import align_by_blocks
from hapgpu.realign.align import cpu
from hapgpu.realign.scoring import Overhang, Scoring
from hapgpu.runtime.devices import CpuDevice

Sequences: TypeAlias = list[tuple[bytes, bytes]]


def batch_of(sequences: Sequences) -> PairBatch:
    rows = np.arange(len(sequences), dtype=np.int32)
    return PairBatch(
        Ragged.from_sequences(reference for reference, _ in sequences),
        Ragged.from_sequences(query for _, query in sequences),
        rows,
        rows,
    )


def made_reads(count: int, lengths: tuple[int, int], seed: int) -> Sequences:
    """Return reads with substitutions and gaps, some beyond an end, and some of few letters."""
    random = Random(seed)  # noqa: S311  (the same pairs on every run)
    pairs = []
    for _ in range(count):
        letters = random.choice(["ACGT", "ACGT", "AC"])
        length = random.randint(*lengths)
        text = "".join(random.choices(letters, k=random.randint(length // 2 + 1, 2 * length)))
        start = random.randint(-10, len(text) // 2)
        ends = "".join(random.choices(letters, k=10))
        read = (ends + text + ends)[start + 10 :][:length]
        for _ in range(random.randint(0, 4)):
            at, cut = random.randint(0, len(read)), random.choice([0, 1, 1, 7])
            read = read[:at] + random.choice(["", "A", "C", "GGTTA"]) + read[at + cut :]
        pairs.append((text.encode(), (read[: lengths[1]] or "A").encode()))
    return pairs


def assert_as_on_the_cpu(pairs: PairBatch, scoring: Scoring) -> None:
    expected = cpu.align_pairs(pairs, scoring, Overhang.SOFTCLIP, CpuDevice(2))
    found = align_by_blocks(pairs, scoring, 0)
    np.testing.assert_array_equal(found.scores, expected.scores)
    np.testing.assert_array_equal(found.offsets, expected.offsets)
    np.testing.assert_array_equal(found.cigars.offsets, expected.cigars.offsets)
    np.testing.assert_array_equal(found.cigars.data, expected.cigars.data)
