"""Batches of pairs of few sequences, for tests of aligners."""

from __future__ import annotations

import numpy as np

from hapgpu.arrays import cuda as ragged
from hapgpu.arrays.batches import PairBatch
from hapgpu.arrays.ragged import Ragged
from hapgpu.realign.align.cuda.batches import DevicePairs


def made_pairs(seed: int, count: int) -> PairBatch:
    """Make pairs of few sequences of many lengths; some sequences have no pair."""
    rng = np.random.default_rng(seed)
    letters = np.frombuffer(b"ACGT", dtype=np.uint8)
    genome = rng.choice(letters, 600)

    def sequences(longest: int) -> Ragged:
        rows = []
        for _ in range(25):
            length, start = rng.integers(1, longest), rng.integers(0, 300)
            part = genome[start : start + length].copy()
            is_changed = rng.random(part.size) < 0.05
            part[is_changed] = rng.choice(letters, int(is_changed.sum()))
            rows.append(part.tobytes())
        return Ragged.from_sequences(rows)

    references, queries = sequences(300), sequences(200)
    index = rng.integers(0, 20, (2, count)).astype(np.int32)
    return PairBatch(references, queries, *index)


def uploaded(pairs: PairBatch) -> DevicePairs:
    """Copy pairs to a GPU, or to its stand-in."""
    asarray = ragged.cupy.asarray
    return DevicePairs(
        ragged.DeviceRagged.upload(pairs.references),
        ragged.DeviceRagged.upload(pairs.queries),
        asarray(pairs.reference_index),
        asarray(pairs.query_index),
    )
