"""Queries that are substrings of their reference, found on the GPU."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hapgpu.arrays.batches import PairBatch
from hapgpu.arrays.ragged import Ragged

pytestmark = pytest.mark.gpu

LENGTHS = st.sampled_from([1, 2, 7, 8, 9, 31, 32, 33, 70, 200])


def positions_of(pairs: list[tuple[bytes, bytes]]) -> list[int]:
    pytest.importorskip("cupy")
    from hapgpu.realign.align.cuda.batches import DevicePairs  # noqa: PLC0415  (needs CuPy)
    from hapgpu.realign.align.cuda.exact_matches import (  # noqa: PLC0415  (needs CuPy)
        exact_positions,
    )

    rows = np.arange(len(pairs), dtype=np.int32)
    batch = PairBatch(
        Ragged.from_sequences(reference for reference, _ in pairs),
        Ragged.from_sequences(query for _, query in pairs),
        rows,
        rows,
    )
    positions = exact_positions(DevicePairs.upload(batch))
    assert positions.dtype == np.int32
    return positions.get().tolist()


@settings(max_examples=60)
@given(
    st.integers(0, 2**32),
    st.sampled_from([b"A", b"AC", b"ACGT", b"acgtN"]),
    st.lists(st.tuples(LENGTHS, LENGTHS, st.booleans()), min_size=1, max_size=40),
)
def test_last_position(seed: int, letters: bytes, sizes: list[tuple[int, int, bool]]) -> None:
    rng = np.random.default_rng(seed)
    alphabet = np.frombuffer(letters, dtype=np.uint8)
    pairs = []
    for rows, columns, is_part in sizes:
        reference = rng.choice(alphabet, rows).tobytes()
        start = int(rng.integers(0, rows))
        query = reference[start : start + columns]
        if not is_part:
            query = query[: columns // 2] + rng.choice(alphabet, columns).tobytes()
        pairs.append((reference, query))
    assert positions_of(pairs) == [reference.rfind(query) for reference, query in pairs]


def test_repeats() -> None:
    """The last of several positions; and many positions that match up to the last base."""
    pairs = [
        (b"ACGT" * 100, b"ACGT" * 10),
        (b"A" * 300, b"A" * 290 + b"C"),
        (b"A" * 300 + b"C", b"A" * 290 + b"C"),
        (b"C" + b"A" * 300, b"C" + b"A" * 290),
        (b"AC", b"ACG"),
    ]
    assert positions_of(pairs) == [reference.rfind(query) for reference, query in pairs]
