"""Sizes of pairs that are on a GPU, counted by a table or by sorting."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from hapgpu.arrays import cuda as ragged
from hapgpu.arrays.batches import PairBatch
from hapgpu.arrays.ragged import Ragged
from hapgpu.errors import InputError
from hapgpu.realign.align.cuda import buckets
from hapgpu.realign.align.cuda.buckets import Extremes, PairLengths, PairSizes
from hapgpu.realign.scoring import PRESETS, Overhang
from tests.emulation.emulator import emulate
from tests.realign.align.cuda.made_batches import made_pairs, uploaded

READ = PRESETS["read-to-haplotype"]


@pytest.fixture(params=["emulated", pytest.param("gpu", marks=pytest.mark.gpu)], autouse=True)
def arrays(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if request.param == "emulated":
        emulate(monkeypatch, buckets, ragged)


def host(values: Any) -> Any:
    return buckets.cupy.asnumpy(values)


@pytest.mark.parametrize("count", [1, 31, 700])
@pytest.mark.parametrize("slots", [0, 1 << 16])
def test_sizes(count: int, slots: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(buckets, "_MOST_SLOTS", slots)
    pairs = made_pairs(count, count)
    rows, columns = pairs.reference_lengths, pairs.query_lengths
    lengths = PairLengths.of(uploaded(pairs))
    assert lengths.extremes == Extremes(rows.max(), columns.max(), rows.min(), columns.min())
    assert host(lengths.rows).tolist() == rows.tolist()
    assert host(lengths.columns).tolist() == columns.tolist()
    for chosen in (np.arange(count), np.arange(0, count, 3)):
        sizes = PairSizes.of(lengths.take(buckets.cupy.asarray(chosen)))
        keys = columns[chosen] * 64 + np.array(
            [int(length).bit_length() for length in rows[chosen]]
        )
        expected = np.unique(keys, return_inverse=True, return_counts=True)
        assert sizes.keys.dtype == sizes.counts.dtype == np.int64
        found = (sizes.keys, sizes.of_slot[host(sizes.slots)], sizes.counts)
        assert [each.tolist() for each in found] == [each.tolist() for each in expected]
        assert host(sizes.rows).tolist() == rows[chosen].tolist()
        assert sizes.max_rows >= rows[chosen].max()
        launch = np.arange(sizes.keys.size) % 3
        order = host(sizes.order(launch))
        ranks = list(zip(launch[expected[1]][order], -rows[chosen][order], strict=True))
        assert ranks == sorted(ranks)


def test_empty_sequences_are_refused() -> None:
    sequences = Ragged.from_sequences(["ACGT", "", "A"])
    rows = np.array([0, 1, 2], dtype=np.int32)
    for pairs, kind in (
        (PairBatch(sequences, sequences, rows, rows * 0), "reference"),
        (PairBatch(sequences, sequences, rows * 0, rows), "query"),
    ):
        lengths = PairLengths.of(uploaded(pairs))
        with pytest.raises(InputError, match=f"pair 1: empty {kind}"):
            lengths.check(READ, Overhang.SOFTCLIP)
